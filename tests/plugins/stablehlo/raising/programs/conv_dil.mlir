"builtin.module"() ({
  "func.func"() <{function_type = (tensor<1x9x12x3xf32>, tensor<3x3x3x5xf32>) -> tensor<1x5x6x5xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<1x9x12x3xf32>, %arg1: tensor<3x3x3x5xf32>):
    %0 = "stablehlo.convolution"(%arg0, %arg1) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, rhs_dilation = array<i64: 2, 3>}> : (tensor<1x9x12x3xf32>, tensor<3x3x3x5xf32>) -> tensor<1x5x6x5xf32>
    "func.return"(%0) : (tensor<1x5x6x5xf32>) -> ()
  }) : () -> ()
}) : () -> ()
