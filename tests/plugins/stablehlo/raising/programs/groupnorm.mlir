"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x4x6xf32>) -> tensor<2x4x4x6xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x4x4x6xf32>):
    %0 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<1.0e-05> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.constant"() <{value = dense<48.0> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %4 = "stablehlo.reshape"(%arg0) : (tensor<2x4x4x6xf32>) -> tensor<2x16x2x3xf32>
    %5 = "stablehlo.transpose"(%4) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x16x2x3xf32>) -> tensor<2x2x16x3xf32>
    %6 = "stablehlo.reshape"(%5) : (tensor<2x2x16x3xf32>) -> tensor<2x2x48xf32>
    %7 = "stablehlo.reduce"(%6, %3) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %8 = "stablehlo.add"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%8) : (tensor<f32>) -> ()
    }) : (tensor<2x2x48xf32>, tensor<f32>) -> tensor<2x2xf32>
    %9 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x2xf32>) -> tensor<2x2x1xf32>
    %10 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x1xf32>
    %11 = "stablehlo.divide"(%9, %10) : (tensor<2x2x1xf32>, tensor<2x2x1xf32>) -> tensor<2x2x1xf32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x2x1xf32>) -> tensor<2x2x48xf32>
    %13 = "stablehlo.subtract"(%6, %12) : (tensor<2x2x48xf32>, tensor<2x2x48xf32>) -> tensor<2x2x48xf32>
    %14 = "stablehlo.multiply"(%13, %13) : (tensor<2x2x48xf32>, tensor<2x2x48xf32>) -> tensor<2x2x48xf32>
    %15 = "stablehlo.reduce"(%14, %3) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %16 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%16) : (tensor<f32>) -> ()
    }) : (tensor<2x2x48xf32>, tensor<f32>) -> tensor<2x2xf32>
    %17 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x2xf32>) -> tensor<2x2x1xf32>
    %18 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x1xf32>
    %19 = "stablehlo.divide"(%17, %18) : (tensor<2x2x1xf32>, tensor<2x2x1xf32>) -> tensor<2x2x1xf32>
    %20 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x1xf32>
    %21 = "stablehlo.add"(%19, %20) : (tensor<2x2x1xf32>, tensor<2x2x1xf32>) -> tensor<2x2x1xf32>
    %22 = "stablehlo.rsqrt"(%21) : (tensor<2x2x1xf32>) -> tensor<2x2x1xf32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x2x1xf32>) -> tensor<2x2x48xf32>
    %24 = "stablehlo.multiply"(%13, %23) : (tensor<2x2x48xf32>, tensor<2x2x48xf32>) -> tensor<2x2x48xf32>
    %25 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x48xf32>
    %26 = "stablehlo.multiply"(%24, %25) : (tensor<2x2x48xf32>, tensor<2x2x48xf32>) -> tensor<2x2x48xf32>
    %27 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x48xf32>
    %28 = "stablehlo.add"(%26, %27) : (tensor<2x2x48xf32>, tensor<2x2x48xf32>) -> tensor<2x2x48xf32>
    %29 = "stablehlo.reshape"(%28) : (tensor<2x2x48xf32>) -> tensor<2x2x16x3xf32>
    %30 = "stablehlo.transpose"(%29) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x2x16x3xf32>) -> tensor<2x16x2x3xf32>
    %31 = "stablehlo.reshape"(%30) : (tensor<2x16x2x3xf32>) -> tensor<2x4x4x6xf32>
    "func.return"(%31) : (tensor<2x4x4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()
