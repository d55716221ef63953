"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x1x3xf32>, tensor<5x3xf32>) -> tensor<4x5x3xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4x1x3xf32>, %arg1: tensor<5x3xf32>):
    %0 = "func.call"(%arg0, %arg1) <{callee = @remainder}> : (tensor<4x1x3xf32>, tensor<5x3xf32>) -> tensor<4x5x3xf32>
    "func.return"(%0) : (tensor<4x5x3xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x1x3xf32>, tensor<5x3xf32>) -> tensor<4x5x3xf32>, sym_name = "remainder", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4x1x3xf32>, %arg1: tensor<5x3xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<5x3xf32>) -> tensor<1x5x3xf32>
    %2 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x1x3xf32>) -> tensor<4x5x3xf32>
    %3 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x5x3xf32>) -> tensor<4x5x3xf32>
    %4 = "stablehlo.remainder"(%2, %3) : (tensor<4x5x3xf32>, tensor<4x5x3xf32>) -> tensor<4x5x3xf32>
    %5 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x5x3xf32>
    %6 = "stablehlo.compare"(%4, %5) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<4x5x3xf32>, tensor<4x5x3xf32>) -> tensor<4x5x3xi1>
    %7 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x5x3xf32>
    %8 = "stablehlo.compare"(%4, %7) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4x5x3xf32>, tensor<4x5x3xf32>) -> tensor<4x5x3xi1>
    %9 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x5x3xf32>
    %10 = "stablehlo.compare"(%1, %9) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<1x5x3xf32>, tensor<1x5x3xf32>) -> tensor<1x5x3xi1>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x5x3xi1>) -> tensor<4x5x3xi1>
    %12 = "stablehlo.compare"(%8, %11) <{compare_type = #stablehlo<comparison_type UNSIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<4x5x3xi1>, tensor<4x5x3xi1>) -> tensor<4x5x3xi1>
    %13 = "stablehlo.and"(%12, %6) : (tensor<4x5x3xi1>, tensor<4x5x3xi1>) -> tensor<4x5x3xi1>
    %14 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x5x3xf32>) -> tensor<4x5x3xf32>
    %15 = "stablehlo.add"(%4, %14) : (tensor<4x5x3xf32>, tensor<4x5x3xf32>) -> tensor<4x5x3xf32>
    %16 = "stablehlo.select"(%13, %15, %4) : (tensor<4x5x3xi1>, tensor<4x5x3xf32>, tensor<4x5x3xf32>) -> tensor<4x5x3xf32>
    "func.return"(%16) : (tensor<4x5x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()
