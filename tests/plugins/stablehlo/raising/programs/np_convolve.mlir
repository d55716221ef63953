"builtin.module"() ({
  "func.func"() <{function_type = (tensor<12xf32>, tensor<5xf32>) -> tensor<12xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<12xf32>, %arg1: tensor<5xf32>):
    %0 = "func.call"(%arg0, %arg1) <{callee = @convolve}> : (tensor<12xf32>, tensor<5xf32>) -> tensor<12xf32>
    "func.return"(%0) : (tensor<12xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<12xf32>, tensor<5xf32>) -> tensor<12xf32>, sym_name = "convolve", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<12xf32>, %arg1: tensor<5xf32>):
    %0 = "func.call"(%arg0, %arg1) <{callee = @_conv}> : (tensor<12xf32>, tensor<5xf32>) -> tensor<12xf32>
    "func.return"(%0) : (tensor<12xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<12xf32>, tensor<5xf32>) -> tensor<12xf32>, sym_name = "_conv", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<12xf32>, %arg1: tensor<5xf32>):
    %0 = "func.call"(%arg1) <{callee = @_flip}> : (tensor<5xf32>) -> tensor<5xf32>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 2>}> : (tensor<12xf32>) -> tensor<1x1x12xf32>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64: 2>}> : (tensor<5xf32>) -> tensor<1x1x5xf32>
    %3 = "stablehlo.convolution"(%1, %2) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, padding = dense<2> : tensor<1x2xi64>}> : (tensor<1x1x12xf32>, tensor<1x1x5xf32>) -> tensor<1x1x12xf32>
    %4 = "stablehlo.reshape"(%3) : (tensor<1x1x12xf32>) -> tensor<12xf32>
    "func.return"(%4) : (tensor<12xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<5xf32>) -> tensor<5xf32>, sym_name = "_flip", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<5xf32>):
    %0 = "stablehlo.reverse"(%arg0) <{dimensions = array<i64: 0>}> : (tensor<5xf32>) -> tensor<5xf32>
    "func.return"(%0) : (tensor<5xf32>) -> ()
  }) : () -> ()
}) : () -> ()
