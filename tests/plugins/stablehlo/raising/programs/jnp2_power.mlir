"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x1x3xf32>, tensor<5x3xf32>) -> tensor<4x5x3xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4x1x3xf32>, %arg1: tensor<5x3xf32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<5x3xf32>) -> tensor<1x5x3xf32>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x1x3xf32>) -> tensor<4x5x3xf32>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x5x3xf32>) -> tensor<4x5x3xf32>
    %3 = "stablehlo.power"(%1, %2) : (tensor<4x5x3xf32>, tensor<4x5x3xf32>) -> tensor<4x5x3xf32>
    "func.return"(%3) : (tensor<4x5x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()
