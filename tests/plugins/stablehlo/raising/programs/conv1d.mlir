"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x9x3xf32>, tensor<4x3x5xf32>) -> tensor<2x5x5xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x9x3xf32>, %arg1: tensor<4x3x5xf32>):
    %0 = "stablehlo.convolution"(%arg0, %arg1) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, padding = dense<[[1, 2]]> : tensor<1x2xi64>, window_strides = array<i64: 2>}> : (tensor<2x9x3xf32>, tensor<4x3x5xf32>) -> tensor<2x5x5xf32>
    "func.return"(%0) : (tensor<2x5x5xf32>) -> ()
  }) : () -> ()
}) : () -> ()
