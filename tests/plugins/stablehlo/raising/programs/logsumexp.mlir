"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x6xf32>) -> tensor<3x1xf32>, sym_name = "main", sym_visibility = "public"}> ({
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
    %7 = "stablehlo.is_finite"(%6) : (tensor<3x1xf32>) -> tensor<3x1xi1>
    %8 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x1xf32>
    %9 = "stablehlo.select"(%7, %6, %8) : (tensor<3x1xi1>, tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<3x1xf32>) -> tensor<3x6xf32>
    %11 = "stablehlo.subtract"(%arg0, %10) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %12 = "stablehlo.exponential"(%11) : (tensor<3x6xf32>) -> tensor<3x6xf32>
    %13 = "stablehlo.reduce"(%12, %0) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %14 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%14) : (tensor<f32>) -> ()
    }) : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
    %15 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64: 0>}> : (tensor<3xf32>) -> tensor<3x1xf32>
    %16 = "stablehlo.abs"(%15) : (tensor<3x1xf32>) -> tensor<3x1xf32>
    %17 = "stablehlo.log"(%16) : (tensor<3x1xf32>) -> tensor<3x1xf32>
    %18 = "stablehlo.add"(%17, %9) : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
    "func.return"(%18) : (tensor<3x1xf32>) -> ()
  }) : () -> ()
}) : () -> ()
