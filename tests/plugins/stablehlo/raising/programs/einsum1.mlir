"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3x2x4xf32>, tensor<2x5x2x4xf32>) -> tensor<2x2x3x5xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x3x2x4xf32>, %arg1: tensor<2x5x2x4xf32>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>}> : (tensor<2x3x2x4xf32>, tensor<2x5x2x4xf32>) -> tensor<2x2x3x5xf32>
    "func.return"(%0) : (tensor<2x2x3x5xf32>) -> ()
  }) : () -> ()
}) : () -> ()
