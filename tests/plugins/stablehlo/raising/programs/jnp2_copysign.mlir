"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x1x3xf32>, tensor<5x3xf32>) -> tensor<4x5x3xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4x1x3xf32>, %arg1: tensor<5x3xf32>):
    %0 = "func.call"(%arg0, %arg1) <{callee = @copysign}> : (tensor<4x1x3xf32>, tensor<5x3xf32>) -> tensor<4x5x3xf32>
    "func.return"(%0) : (tensor<4x5x3xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x1x3xf32>, tensor<5x3xf32>) -> tensor<4x5x3xf32>, sym_name = "copysign", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4x1x3xf32>, %arg1: tensor<5x3xf32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<5x3xf32>) -> tensor<1x5x3xf32>
    %1 = "func.call"(%0) <{callee = @signbit}> : (tensor<1x5x3xf32>) -> tensor<1x5x3xi1>
    %2 = "stablehlo.abs"(%arg0) : (tensor<4x1x3xf32>) -> tensor<4x1x3xf32>
    %3 = "stablehlo.negate"(%2) : (tensor<4x1x3xf32>) -> tensor<4x1x3xf32>
    %4 = "stablehlo.abs"(%arg0) : (tensor<4x1x3xf32>) -> tensor<4x1x3xf32>
    %5 = "func.call"(%1, %3, %4) <{callee = @_where}> : (tensor<1x5x3xi1>, tensor<4x1x3xf32>, tensor<4x1x3xf32>) -> tensor<4x5x3xf32>
    "func.return"(%5) : (tensor<4x5x3xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x5x3xf32>) -> tensor<1x5x3xi1>, sym_name = "signbit", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x5x3xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<31> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.bitcast_convert"(%arg0) : (tensor<1x5x3xf32>) -> tensor<1x5x3xi32>
    %3 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x5x3xi32>
    %4 = "stablehlo.shift_right_arithmetic"(%2, %3) : (tensor<1x5x3xi32>, tensor<1x5x3xi32>) -> tensor<1x5x3xi32>
    %5 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x5x3xi32>
    %6 = "stablehlo.compare"(%4, %5) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<1x5x3xi32>, tensor<1x5x3xi32>) -> tensor<1x5x3xi1>
    %7 = "stablehlo.convert"(%6) : (tensor<1x5x3xi1>) -> tensor<1x5x3xi1>
    "func.return"(%7) : (tensor<1x5x3xi1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x5x3xi1>, tensor<4x1x3xf32>, tensor<4x1x3xf32>) -> tensor<4x5x3xf32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x5x3xi1>, %arg1: tensor<4x1x3xf32>, %arg2: tensor<4x1x3xf32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x5x3xi1>) -> tensor<4x5x3xi1>
    %1 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x1x3xf32>) -> tensor<4x5x3xf32>
    %2 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x1x3xf32>) -> tensor<4x5x3xf32>
    %3 = "stablehlo.select"(%0, %1, %2) : (tensor<4x5x3xi1>, tensor<4x5x3xf32>, tensor<4x5x3xf32>) -> tensor<4x5x3xf32>
    "func.return"(%3) : (tensor<4x5x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()
