"builtin.module"() ({
  "func.func"() <{function_type = (tensor<5x4xf32>, tensor<4x4xf32>) -> tensor<5x4xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<5x4xf32>, %arg1: tensor<4x4xf32>):
    %0 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 5, 4>, start_indices = array<i64: 0, 2>, strides = array<i64: 1, 1>}> : (tensor<5x4xf32>) -> tensor<5x2xf32>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<5x2xf32>) -> tensor<5x1x2xf32>
    %4 = "stablehlo.slice"(%arg1) <{limit_indices = array<i64: 4, 4>, start_indices = array<i64: 0, 2>, strides = array<i64: 1, 1>}> : (tensor<4x4xf32>) -> tensor<4x2xf32>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<4x2xf32>) -> tensor<1x4x2xf32>
    %6 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<5x1x2xf32>) -> tensor<5x4x2xf32>
    %7 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x4x2xf32>) -> tensor<5x4x2xf32>
    %8 = "stablehlo.minimum"(%6, %7) : (tensor<5x4x2xf32>, tensor<5x4x2xf32>) -> tensor<5x4x2xf32>
    %9 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 5, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<5x4xf32>) -> tensor<5x2xf32>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<5x2xf32>) -> tensor<5x1x2xf32>
    %11 = "stablehlo.slice"(%arg1) <{limit_indices = array<i64: 4, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x4xf32>) -> tensor<4x2xf32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<4x2xf32>) -> tensor<1x4x2xf32>
    %13 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<5x1x2xf32>) -> tensor<5x4x2xf32>
    %14 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x4x2xf32>) -> tensor<5x4x2xf32>
    %15 = "stablehlo.maximum"(%13, %14) : (tensor<5x4x2xf32>, tensor<5x4x2xf32>) -> tensor<5x4x2xf32>
    %16 = "stablehlo.subtract"(%8, %15) : (tensor<5x4x2xf32>, tensor<5x4x2xf32>) -> tensor<5x4x2xf32>
    %17 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x4x2xf32>
    %18 = "stablehlo.maximum"(%17, %16) : (tensor<5x4x2xf32>, tensor<5x4x2xf32>) -> tensor<5x4x2xf32>
    %19 = "stablehlo.reduce"(%18, %0) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %20 = "stablehlo.multiply"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%20) : (tensor<f32>) -> ()
    }) : (tensor<5x4x2xf32>, tensor<f32>) -> tensor<5x4xf32>
    "func.return"(%19) : (tensor<5x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
