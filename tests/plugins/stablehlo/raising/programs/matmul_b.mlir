"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x1x3x4xf32>, tensor<5x4x6xf32>) -> tensor<2x5x3x6xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x1x3x4xf32>, %arg1: tensor<5x4x6xf32>):
    %0 = "stablehlo.reshape"(%arg0) : (tensor<2x1x3x4xf32>) -> tensor<2x3x4xf32>
    %1 = "stablehlo.dot_general"(%0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<2x3x4xf32>, tensor<5x4x6xf32>) -> tensor<2x3x5x6xf32>
    %2 = "stablehlo.transpose"(%1) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x3x5x6xf32>) -> tensor<2x5x3x6xf32>
    "func.return"(%2) : (tensor<2x5x3x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()
