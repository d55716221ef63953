"builtin.module"() ({
  "func.func"() <{function_type = (tensor<1x4x5x6x2xf32>, tensor<2x3x3x2x3xf32>) -> tensor<1x4x3x6x3xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<1x4x5x6x2xf32>, %arg1: tensor<2x3x3x2x3xf32>):
    %0 = "stablehlo.convolution"(%arg0, %arg1) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f]>, feature_group_count = 1 : i64, padding = dense<[[0, 1], [1, 1], [1, 1]]> : tensor<3x2xi64>, window_strides = array<i64: 1, 2, 1>}> : (tensor<1x4x5x6x2xf32>, tensor<2x3x3x2x3xf32>) -> tensor<1x4x3x6x3xf32>
    "func.return"(%0) : (tensor<1x4x3x6x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()
