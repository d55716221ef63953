"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x6xf32>) -> tensor<3x6xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x6xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.constant"() <{value = dense<0.7978846> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.constant"() <{value = dense<0.044715> : tensor<f32>}> : () -> tensor<f32>
    %4 = "stablehlo.multiply"(%arg0, %arg0) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %5 = "stablehlo.multiply"(%4, %arg0) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %6 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x6xf32>
    %7 = "stablehlo.multiply"(%6, %5) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %8 = "stablehlo.add"(%arg0, %7) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %9 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x6xf32>
    %10 = "stablehlo.multiply"(%9, %8) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %11 = "stablehlo.tanh"(%10) : (tensor<3x6xf32>) -> tensor<3x6xf32>
    %12 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x6xf32>
    %13 = "stablehlo.add"(%12, %11) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %14 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x6xf32>
    %15 = "stablehlo.multiply"(%14, %13) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %16 = "stablehlo.multiply"(%arg0, %15) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    "func.return"(%16) : (tensor<3x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()
