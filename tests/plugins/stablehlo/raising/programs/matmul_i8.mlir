"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x4xi8>, tensor<4x5xi8>) -> tensor<3x5xi32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x4xi8>, %arg1: tensor<4x5xi8>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<3x4xi8>, tensor<4x5xi8>) -> tensor<3x5xi32>
    "func.return"(%0) : (tensor<3x5xi32>) -> ()
  }) : () -> ()
}) : () -> ()
