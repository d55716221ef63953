"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3x8x8xf32>, tensor<5x3x3x2xf32>) -> tensor<2x5x7x5xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x3x8x8xf32>, %arg1: tensor<5x3x3x2xf32>):
    %0 = "stablehlo.convolution"(%arg0, %arg1) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>, feature_group_count = 1 : i64, padding = dense<[[1, 0], [2, 1]]> : tensor<2x2xi64>, window_strides = array<i64: 1, 2>}> : (tensor<2x3x8x8xf32>, tensor<5x3x3x2xf32>) -> tensor<2x5x7x5xf32>
    "func.return"(%0) : (tensor<2x5x7x5xf32>) -> ()
  }) : () -> ()
}) : () -> ()
