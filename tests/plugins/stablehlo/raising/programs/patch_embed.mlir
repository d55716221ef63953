"builtin.module"() ({
  "func.func"() <{function_type = (tensor<1x8x8x3xf32>, tensor<48x6xf32>) -> tensor<1x2x2x6xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<1x8x8x3xf32>, %arg1: tensor<48x6xf32>):
    %0 = "stablehlo.reshape"(%arg0) : (tensor<1x8x8x3xf32>) -> tensor<1x2x4x2x4x3xf32>
    %1 = "stablehlo.transpose"(%0) <{permutation = array<i64: 0, 1, 3, 2, 4, 5>}> : (tensor<1x2x4x2x4x3xf32>) -> tensor<1x2x2x4x4x3xf32>
    %2 = "stablehlo.reshape"(%1) : (tensor<1x2x2x4x4x3xf32>) -> tensor<1x2x2x48xf32>
    %3 = "stablehlo.dot_general"(%2, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [0]>}> : (tensor<1x2x2x48xf32>, tensor<48x6xf32>) -> tensor<1x2x2x6xf32>
    "func.return"(%3) : (tensor<1x2x2x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()
