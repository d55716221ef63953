"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3x4xf32>, tensor<3x5x4xf32>) -> tensor<2x5xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x3x4xf32>, %arg1: tensor<3x5x4xf32>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1, 2], rhs_contracting_dimensions = [0, 2]>}> : (tensor<2x3x4xf32>, tensor<3x5x4xf32>) -> tensor<2x5xf32>
    "func.return"(%0) : (tensor<2x5xf32>) -> ()
  }) : () -> ()
}) : () -> ()
