"builtin.module"() ({
  "func.func"() <{function_type = (tensor<1x5x5x3xf32>, tensor<3x4x3x4xf32>) -> tensor<1x11x16x4xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<1x5x5x3xf32>, %arg1: tensor<3x4x3x4xf32>):
    %0 = "stablehlo.convolution"(%arg0, %arg1) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 2, 3>, padding = dense<[[2, 2], [3, 3]]> : tensor<2x2xi64>}> : (tensor<1x5x5x3xf32>, tensor<3x4x3x4xf32>) -> tensor<1x11x16x4xf32>
    "func.return"(%0) : (tensor<1x11x16x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
