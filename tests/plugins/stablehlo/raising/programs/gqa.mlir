"builtin.module"() ({
  "func.func"() <{function_type = (tensor<1x5x4x4xf32>, tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>) -> tensor<1x5x4x4xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<1x5x4x4xf32>, %arg1: tensor<1x5x2x4xf32>, %arg2: tensor<1x5x2x4xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.constant"() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.reshape"(%arg0) : (tensor<1x5x4x4xf32>) -> tensor<1x5x2x2x4xf32>
    %4 = "stablehlo.dot_general"(%3, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>}> : (tensor<1x5x2x2x4xf32>, tensor<1x5x2x4xf32>) -> tensor<1x2x5x2x5xf32>
    %5 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x2x5x2x5xf32>
    %6 = "stablehlo.multiply"(%4, %5) : (tensor<1x2x5x2x5xf32>, tensor<1x2x5x2x5xf32>) -> tensor<1x2x5x2x5xf32>
    %7 = "stablehlo.reduce"(%6, %1) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %8 = "stablehlo.maximum"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%8) : (tensor<f32>) -> ()
    }) : (tensor<1x2x5x2x5xf32>, tensor<f32>) -> tensor<1x2x5x2xf32>
    %9 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x2x5x2xf32>
    %10 = "stablehlo.maximum"(%9, %7) : (tensor<1x2x5x2xf32>, tensor<1x2x5x2xf32>) -> tensor<1x2x5x2xf32>
    %11 = "stablehlo.transpose"(%10) <{permutation = array<i64: 3, 0, 1, 2>}> : (tensor<1x2x5x2xf32>) -> tensor<2x1x2x5xf32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x1x2x5xf32>) -> tensor<2x1x2x5x1xf32>
    %13 = "stablehlo.transpose"(%6) <{permutation = array<i64: 3, 0, 1, 2, 4>}> : (tensor<1x2x5x2x5xf32>) -> tensor<2x1x2x5x5xf32>
    %14 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<2x1x2x5x1xf32>) -> tensor<2x1x2x5x5xf32>
    %15 = "stablehlo.subtract"(%13, %14) : (tensor<2x1x2x5x5xf32>, tensor<2x1x2x5x5xf32>) -> tensor<2x1x2x5x5xf32>
    %16 = "stablehlo.exponential"(%15) : (tensor<2x1x2x5x5xf32>) -> tensor<2x1x2x5x5xf32>
    %17 = "stablehlo.reduce"(%16, %0) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %18 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%18) : (tensor<f32>) -> ()
    }) : (tensor<2x1x2x5x5xf32>, tensor<f32>) -> tensor<2x1x2x5xf32>
    %19 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x1x2x5xf32>) -> tensor<2x1x2x5x1xf32>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<2x1x2x5x1xf32>) -> tensor<2x1x2x5x5xf32>
    %21 = "stablehlo.divide"(%16, %20) : (tensor<2x1x2x5x5xf32>, tensor<2x1x2x5x5xf32>) -> tensor<2x1x2x5x5xf32>
    %22 = "stablehlo.dot_general"(%arg2, %21) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [1, 2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>}> : (tensor<1x5x2x4xf32>, tensor<2x1x2x5x5xf32>) -> tensor<1x2x4x2x5xf32>
    %23 = "stablehlo.transpose"(%22) <{permutation = array<i64: 3, 0, 4, 1, 2>}> : (tensor<1x2x4x2x5xf32>) -> tensor<2x1x5x2x4xf32>
    %24 = "stablehlo.transpose"(%23) <{permutation = array<i64: 1, 2, 3, 0, 4>}> : (tensor<2x1x5x2x4xf32>) -> tensor<1x5x2x2x4xf32>
    %25 = "stablehlo.reshape"(%24) : (tensor<1x5x2x2x4xf32>) -> tensor<1x5x4x4xf32>
    "func.return"(%25) : (tensor<1x5x4x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
