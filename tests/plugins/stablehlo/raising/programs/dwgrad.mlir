"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x6x6x4xf32>, tensor<3x3x1x4xf32>) -> tensor<3x3x1x4xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x6x6x4xf32>, %arg1: tensor<3x3x1x4xf32>):
    %0 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.convolution"(%arg0, %arg1) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 4 : i64, padding = dense<1> : tensor<2x2xi64>}> : (tensor<2x6x6x4xf32>, tensor<3x3x1x4xf32>) -> tensor<2x6x6x4xf32>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x6x6x4xf32>
    %3 = "stablehlo.multiply"(%1, %2) : (tensor<2x6x6x4xf32>, tensor<2x6x6x4xf32>) -> tensor<2x6x6x4xf32>
    %4 = "stablehlo.multiply"(%2, %1) : (tensor<2x6x6x4xf32>, tensor<2x6x6x4xf32>) -> tensor<2x6x6x4xf32>
    %5 = "stablehlo.add"(%3, %4) : (tensor<2x6x6x4xf32>, tensor<2x6x6x4xf32>) -> tensor<2x6x6x4xf32>
    %6 = "stablehlo.convolution"(%arg0, %5) <{batch_group_count = 4 : i64, dimension_numbers = #stablehlo.conv<[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]>, feature_group_count = 1 : i64, padding = dense<1> : tensor<2x2xi64>}> : (tensor<2x6x6x4xf32>, tensor<2x6x6x4xf32>) -> tensor<3x3x1x4xf32>
    "func.return"(%6) : (tensor<3x3x1x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
