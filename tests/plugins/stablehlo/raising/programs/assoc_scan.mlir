"builtin.module"() ({
  "func.func"() <{function_type = (tensor<7x2xf32>) -> tensor<7x2xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<7x2xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 6, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 2, 1>}> : (tensor<7x2xf32>) -> tensor<3x2xf32>
    %2 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 7, 2>, start_indices = array<i64: 1, 0>, strides = array<i64: 2, 1>}> : (tensor<7x2xf32>) -> tensor<3x2xf32>
    %3 = "stablehlo.multiply"(%1, %2) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    %4 = "stablehlo.slice"(%3) <{limit_indices = array<i64: 2, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 2, 1>}> : (tensor<3x2xf32>) -> tensor<1x2xf32>
    %5 = "stablehlo.slice"(%3) <{limit_indices = array<i64: 3, 2>, start_indices = array<i64: 1, 0>, strides = array<i64: 2, 1>}> : (tensor<3x2xf32>) -> tensor<1x2xf32>
    %6 = "stablehlo.multiply"(%4, %5) : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %7 = "stablehlo.slice"(%3) <{limit_indices = array<i64: 3, 2>, start_indices = array<i64: 2, 0>, strides = array<i64: 2, 1>}> : (tensor<3x2xf32>) -> tensor<1x2xf32>
    %8 = "stablehlo.multiply"(%6, %7) : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %9 = "stablehlo.slice"(%3) <{limit_indices = array<i64: 1, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<3x2xf32>) -> tensor<1x2xf32>
    %10 = "stablehlo.concatenate"(%9, %8) <{dimension = 0 : i64}> : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
    %11 = "stablehlo.pad"(%10, %0) <{edge_padding_high = array<i64: 0, 0>, edge_padding_low = array<i64: 0, 0>, interior_padding = array<i64: 1, 0>}> : (tensor<2x2xf32>, tensor<f32>) -> tensor<3x2xf32>
    %12 = "stablehlo.pad"(%6, %0) <{edge_padding_high = array<i64: 1, 0>, edge_padding_low = array<i64: 1, 0>, interior_padding = array<i64: 1, 0>}> : (tensor<1x2xf32>, tensor<f32>) -> tensor<3x2xf32>
    %13 = "stablehlo.add"(%11, %12) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    %14 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 7, 2>, start_indices = array<i64: 2, 0>, strides = array<i64: 2, 1>}> : (tensor<7x2xf32>) -> tensor<3x2xf32>
    %15 = "stablehlo.multiply"(%13, %14) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    %16 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 1, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<7x2xf32>) -> tensor<1x2xf32>
    %17 = "stablehlo.concatenate"(%16, %15) <{dimension = 0 : i64}> : (tensor<1x2xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
    %18 = "stablehlo.pad"(%17, %0) <{edge_padding_high = array<i64: 0, 0>, edge_padding_low = array<i64: 0, 0>, interior_padding = array<i64: 1, 0>}> : (tensor<4x2xf32>, tensor<f32>) -> tensor<7x2xf32>
    %19 = "stablehlo.pad"(%13, %0) <{edge_padding_high = array<i64: 1, 0>, edge_padding_low = array<i64: 1, 0>, interior_padding = array<i64: 1, 0>}> : (tensor<3x2xf32>, tensor<f32>) -> tensor<7x2xf32>
    %20 = "stablehlo.add"(%18, %19) : (tensor<7x2xf32>, tensor<7x2xf32>) -> tensor<7x2xf32>
    "func.return"(%20) : (tensor<7x2xf32>) -> ()
  }) : () -> ()
}) : () -> ()
