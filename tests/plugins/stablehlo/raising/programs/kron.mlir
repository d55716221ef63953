"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<6x6xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x3xf32>, %arg1: tensor<3x2xf32>):
    %0 = "func.call"(%arg0, %arg1) <{callee = @kron}> : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<6x6xf32>
    "func.return"(%0) : (tensor<6x6xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<6x6xf32>, sym_name = "kron", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x3xf32>, %arg1: tensor<3x2xf32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<2x3xf32>) -> tensor<2x1x3x1xf32>
    %1 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<3x2xf32>) -> tensor<1x3x1x2xf32>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x1x3x1xf32>) -> tensor<2x3x3x2xf32>
    %3 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x3x1x2xf32>) -> tensor<2x3x3x2xf32>
    %4 = "stablehlo.multiply"(%2, %3) : (tensor<2x3x3x2xf32>, tensor<2x3x3x2xf32>) -> tensor<2x3x3x2xf32>
    %5 = "stablehlo.reshape"(%4) : (tensor<2x3x3x2xf32>) -> tensor<6x6xf32>
    "func.return"(%5) : (tensor<6x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()
