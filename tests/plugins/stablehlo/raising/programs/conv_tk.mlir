"builtin.module"() ({
  "func.func"() <{function_type = (tensor<1x5x5x3xf32>, tensor<3x3x4x3xf32>) -> tensor<1x10x10x4xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<1x5x5x3xf32>, %arg1: tensor<3x3x4x3xf32>):
    %0 = "stablehlo.reverse"(%arg1) <{dimensions = array<i64: 0>}> : (tensor<3x3x4x3xf32>) -> tensor<3x3x4x3xf32>
    %1 = "stablehlo.reverse"(%0) <{dimensions = array<i64: 1>}> : (tensor<3x3x4x3xf32>) -> tensor<3x3x4x3xf32>
    %2 = "stablehlo.transpose"(%1) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<3x3x4x3xf32>) -> tensor<3x3x3x4xf32>
    %3 = "stablehlo.convolution"(%arg0, %2) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 2, 2>, padding = dense<[[2, 1], [2, 1]]> : tensor<2x2xi64>}> : (tensor<1x5x5x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x10x10x4xf32>
    "func.return"(%3) : (tensor<1x10x10x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
