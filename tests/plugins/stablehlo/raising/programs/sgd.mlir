"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x3xf32>, tensor<5x4xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4x3xf32>, %arg1: tensor<5x4xf32>, %arg2: tensor<5x3xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.1> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.dot_general"(%arg1, %arg0) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<5x4xf32>, tensor<4x3xf32>) -> tensor<5x3xf32>
    %3:2 = "func.call"(%2) <{callee = @log_softmax}> : (tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<5x1xf32>)
    %4 = "stablehlo.negate"(%1) : (tensor<f32>) -> tensor<f32>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x3xf32>
    %6 = "stablehlo.multiply"(%5, %arg2) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %7 = "func.call"(%3#0, %3#1, %6) <{callee = @log_softmax_0}> : (tensor<5x3xf32>, tensor<5x1xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %8 = "stablehlo.dot_general"(%7, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<5x3xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
    %9 = "stablehlo.transpose"(%8) <{permutation = array<i64: 1, 0>}> : (tensor<3x4xf32>) -> tensor<4x3xf32>
    %10 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x3xf32>
    %11 = "stablehlo.multiply"(%10, %9) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %12 = "stablehlo.subtract"(%arg0, %11) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    "func.return"(%12) : (tensor<4x3xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<5x1xf32>), sym_name = "log_softmax", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<5x3xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.reduce"(%arg0, %1) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %3 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%3) : (tensor<f32>) -> ()
    }) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5xf32>
    %4 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %5 = "stablehlo.maximum"(%4, %2) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64: 0>}> : (tensor<5xf32>) -> tensor<5x1xf32>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<5x1xf32>) -> tensor<5x3xf32>
    %8 = "stablehlo.subtract"(%arg0, %7) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %9 = "stablehlo.exponential"(%8) : (tensor<5x3xf32>) -> tensor<5x3xf32>
    %10 = "stablehlo.reduce"(%9, %0) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %11 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%11) : (tensor<f32>) -> ()
    }) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5xf32>
    %12 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64: 0>}> : (tensor<5xf32>) -> tensor<5x1xf32>
    "func.return"(%9, %12) : (tensor<5x3xf32>, tensor<5x1xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<5x3xf32>, tensor<5x1xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>, sym_name = "log_softmax_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<5x3xf32>, %arg1: tensor<5x1xf32>, %arg2: tensor<5x3xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.negate"(%arg2) : (tensor<5x3xf32>) -> tensor<5x3xf32>
    %2 = "stablehlo.reduce"(%1, %0) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %3 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%3) : (tensor<f32>) -> ()
    }) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5xf32>
    %4 = "stablehlo.reshape"(%2) : (tensor<5xf32>) -> tensor<5x1xf32>
    %5 = "stablehlo.divide"(%4, %arg1) : (tensor<5x1xf32>, tensor<5x1xf32>) -> tensor<5x1xf32>
    %6 = "stablehlo.reduce"(%5, %0) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %7 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%7) : (tensor<f32>) -> ()
    }) : (tensor<5x1xf32>, tensor<f32>) -> tensor<5xf32>
    %8 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 0>}> : (tensor<5xf32>) -> tensor<5x3xf32>
    %9 = "stablehlo.multiply"(%8, %arg0) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %10 = "stablehlo.add"(%arg2, %9) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    "func.return"(%10) : (tensor<5x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()
