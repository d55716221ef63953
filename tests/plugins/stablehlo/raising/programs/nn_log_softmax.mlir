"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x6xf32>) -> tensor<3x6xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x6xf32>):
    %0 = "func.call"(%arg0) <{callee = @log_softmax}> : (tensor<3x6xf32>) -> tensor<3x6xf32>
    "func.return"(%0) : (tensor<3x6xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x6xf32>) -> tensor<3x6xf32>, sym_name = "log_softmax", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x6xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.reduce"(%arg0, %1) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %3 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%3) : (tensor<f32>) -> ()
    }) : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
    %4 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %5 = "stablehlo.maximum"(%4, %2) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64: 0>}> : (tensor<3xf32>) -> tensor<3x1xf32>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<3x1xf32>) -> tensor<3x6xf32>
    %8 = "stablehlo.subtract"(%arg0, %7) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %9 = "stablehlo.exponential"(%8) : (tensor<3x6xf32>) -> tensor<3x6xf32>
    %10 = "stablehlo.reduce"(%9, %0) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %11 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%11) : (tensor<f32>) -> ()
    }) : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
    %12 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64: 0>}> : (tensor<3xf32>) -> tensor<3x1xf32>
    %13 = "stablehlo.log"(%12) : (tensor<3x1xf32>) -> tensor<3x1xf32>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<3x1xf32>) -> tensor<3x6xf32>
    %15 = "stablehlo.subtract"(%8, %14) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    "func.return"(%15) : (tensor<3x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()
