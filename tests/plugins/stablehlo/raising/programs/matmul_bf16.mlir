"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x4xf32>, %arg1: tensor<4x5xf32>):
    %0 = "stablehlo.convert"(%arg0) : (tensor<3x4xf32>) -> tensor<3x4xbf16>
    %1 = "stablehlo.convert"(%arg1) : (tensor<4x5xf32>) -> tensor<4x5xbf16>
    %2 = "stablehlo.dot_general"(%0, %1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<3x4xbf16>, tensor<4x5xbf16>) -> tensor<3x5xf32>
    "func.return"(%2) : (tensor<3x5xf32>) -> ()
  }) : () -> ()
}) : () -> ()
