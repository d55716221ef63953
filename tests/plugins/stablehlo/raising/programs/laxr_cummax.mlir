"builtin.module"() ({
  "func.func"() <{function_type = (tensor<6x3xf32>) -> tensor<6x3xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<6x3xf32>):
    %0 = "func.call"(%arg0) <{callee = @cummax}> : (tensor<6x3xf32>) -> tensor<6x3xf32>
    "func.return"(%0) : (tensor<6x3xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<6x3xf32>) -> tensor<6x3xf32>, sym_name = "cummax", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<6x3xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<f32>
    %2 = "stablehlo.reduce_window"(%arg0, %1) <{padding = dense<[[0, 5], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 6, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %3 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%3) : (tensor<f32>) -> ()
    }) : (tensor<6x3xf32>, tensor<f32>) -> tensor<6x3xf32>
    "func.return"(%2) : (tensor<6x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()
