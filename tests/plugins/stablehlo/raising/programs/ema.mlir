"builtin.module"() ({
  "func.func"() <{function_type = (tensor<9x2xf32>) -> (tensor<9x2xf32>, tensor<9x2xf32>), sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<9x2xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0.1> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.constant"() <{value = dense<0.9> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<9x2xf32>
    %4 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<9x2xf32>
    %5 = "stablehlo.multiply"(%arg0, %4) : (tensor<9x2xf32>, tensor<9x2xf32>) -> tensor<9x2xf32>
    %6 = "stablehlo.slice"(%3) <{limit_indices = array<i64: 8, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 2, 1>}> : (tensor<9x2xf32>) -> tensor<4x2xf32>
    %7 = "stablehlo.slice"(%5) <{limit_indices = array<i64: 8, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 2, 1>}> : (tensor<9x2xf32>) -> tensor<4x2xf32>
    %8 = "stablehlo.slice"(%3) <{limit_indices = array<i64: 9, 2>, start_indices = array<i64: 1, 0>, strides = array<i64: 2, 1>}> : (tensor<9x2xf32>) -> tensor<4x2xf32>
    %9 = "stablehlo.slice"(%5) <{limit_indices = array<i64: 9, 2>, start_indices = array<i64: 1, 0>, strides = array<i64: 2, 1>}> : (tensor<9x2xf32>) -> tensor<4x2xf32>
    %10 = "stablehlo.multiply"(%6, %8) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %11 = "stablehlo.multiply"(%7, %8) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %12 = "stablehlo.add"(%11, %9) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %13 = "stablehlo.slice"(%10) <{limit_indices = array<i64: 3, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 2, 1>}> : (tensor<4x2xf32>) -> tensor<2x2xf32>
    %14 = "stablehlo.slice"(%12) <{limit_indices = array<i64: 3, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 2, 1>}> : (tensor<4x2xf32>) -> tensor<2x2xf32>
    %15 = "stablehlo.slice"(%10) <{limit_indices = array<i64: 4, 2>, start_indices = array<i64: 1, 0>, strides = array<i64: 2, 1>}> : (tensor<4x2xf32>) -> tensor<2x2xf32>
    %16 = "stablehlo.slice"(%12) <{limit_indices = array<i64: 4, 2>, start_indices = array<i64: 1, 0>, strides = array<i64: 2, 1>}> : (tensor<4x2xf32>) -> tensor<2x2xf32>
    %17 = "stablehlo.multiply"(%13, %15) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %18 = "stablehlo.multiply"(%14, %15) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %19 = "stablehlo.add"(%18, %16) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %20 = "stablehlo.slice"(%17) <{limit_indices = array<i64: 1, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 2, 1>}> : (tensor<2x2xf32>) -> tensor<1x2xf32>
    %21 = "stablehlo.slice"(%19) <{limit_indices = array<i64: 1, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 2, 1>}> : (tensor<2x2xf32>) -> tensor<1x2xf32>
    %22 = "stablehlo.slice"(%17) <{limit_indices = array<i64: 2, 2>, start_indices = array<i64: 1, 0>, strides = array<i64: 2, 1>}> : (tensor<2x2xf32>) -> tensor<1x2xf32>
    %23 = "stablehlo.slice"(%19) <{limit_indices = array<i64: 2, 2>, start_indices = array<i64: 1, 0>, strides = array<i64: 2, 1>}> : (tensor<2x2xf32>) -> tensor<1x2xf32>
    %24 = "stablehlo.multiply"(%20, %22) : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %25 = "stablehlo.multiply"(%21, %22) : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %26 = "stablehlo.add"(%25, %23) : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %27 = "stablehlo.slice"(%24) <{limit_indices = array<i64: 0, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<1x2xf32>) -> tensor<0x2xf32>
    %28 = "stablehlo.slice"(%26) <{limit_indices = array<i64: 0, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<1x2xf32>) -> tensor<0x2xf32>
    %29 = "stablehlo.slice"(%17) <{limit_indices = array<i64: 2, 2>, start_indices = array<i64: 2, 0>, strides = array<i64: 2, 1>}> : (tensor<2x2xf32>) -> tensor<0x2xf32>
    %30 = "stablehlo.slice"(%19) <{limit_indices = array<i64: 2, 2>, start_indices = array<i64: 2, 0>, strides = array<i64: 2, 1>}> : (tensor<2x2xf32>) -> tensor<0x2xf32>
    %31 = "stablehlo.multiply"(%27, %29) : (tensor<0x2xf32>, tensor<0x2xf32>) -> tensor<0x2xf32>
    %32 = "stablehlo.multiply"(%28, %29) : (tensor<0x2xf32>, tensor<0x2xf32>) -> tensor<0x2xf32>
    %33 = "stablehlo.add"(%32, %30) : (tensor<0x2xf32>, tensor<0x2xf32>) -> tensor<0x2xf32>
    %34 = "stablehlo.slice"(%17) <{limit_indices = array<i64: 1, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<2x2xf32>) -> tensor<1x2xf32>
    %35 = "stablehlo.concatenate"(%34, %31) <{dimension = 0 : i64}> : (tensor<1x2xf32>, tensor<0x2xf32>) -> tensor<1x2xf32>
    %36 = "stablehlo.slice"(%19) <{limit_indices = array<i64: 1, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<2x2xf32>) -> tensor<1x2xf32>
    %37 = "stablehlo.concatenate"(%36, %33) <{dimension = 0 : i64}> : (tensor<1x2xf32>, tensor<0x2xf32>) -> tensor<1x2xf32>
    %38 = "stablehlo.pad"(%35, %0) <{edge_padding_high = array<i64: 1, 0>, edge_padding_low = array<i64: 0, 0>, interior_padding = array<i64: 1, 0>}> : (tensor<1x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %39 = "stablehlo.pad"(%24, %0) <{edge_padding_high = array<i64: 0, 0>, edge_padding_low = array<i64: 1, 0>, interior_padding = array<i64: 1, 0>}> : (tensor<1x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %40 = "stablehlo.add"(%38, %39) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %41 = "stablehlo.pad"(%37, %0) <{edge_padding_high = array<i64: 1, 0>, edge_padding_low = array<i64: 0, 0>, interior_padding = array<i64: 1, 0>}> : (tensor<1x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %42 = "stablehlo.pad"(%26, %0) <{edge_padding_high = array<i64: 0, 0>, edge_padding_low = array<i64: 1, 0>, interior_padding = array<i64: 1, 0>}> : (tensor<1x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %43 = "stablehlo.add"(%41, %42) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %44 = "stablehlo.slice"(%40) <{limit_indices = array<i64: 1, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<2x2xf32>) -> tensor<1x2xf32>
    %45 = "stablehlo.slice"(%43) <{limit_indices = array<i64: 1, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<2x2xf32>) -> tensor<1x2xf32>
    %46 = "stablehlo.slice"(%10) <{limit_indices = array<i64: 4, 2>, start_indices = array<i64: 2, 0>, strides = array<i64: 2, 1>}> : (tensor<4x2xf32>) -> tensor<1x2xf32>
    %47 = "stablehlo.slice"(%12) <{limit_indices = array<i64: 4, 2>, start_indices = array<i64: 2, 0>, strides = array<i64: 2, 1>}> : (tensor<4x2xf32>) -> tensor<1x2xf32>
    %48 = "stablehlo.multiply"(%44, %46) : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %49 = "stablehlo.multiply"(%45, %46) : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %50 = "stablehlo.add"(%49, %47) : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %51 = "stablehlo.slice"(%10) <{limit_indices = array<i64: 1, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x2xf32>) -> tensor<1x2xf32>
    %52 = "stablehlo.concatenate"(%51, %48) <{dimension = 0 : i64}> : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
    %53 = "stablehlo.slice"(%12) <{limit_indices = array<i64: 1, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x2xf32>) -> tensor<1x2xf32>
    %54 = "stablehlo.concatenate"(%53, %50) <{dimension = 0 : i64}> : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
    %55 = "stablehlo.pad"(%52, %0) <{edge_padding_high = array<i64: 1, 0>, edge_padding_low = array<i64: 0, 0>, interior_padding = array<i64: 1, 0>}> : (tensor<2x2xf32>, tensor<f32>) -> tensor<4x2xf32>
    %56 = "stablehlo.pad"(%40, %0) <{edge_padding_high = array<i64: 0, 0>, edge_padding_low = array<i64: 1, 0>, interior_padding = array<i64: 1, 0>}> : (tensor<2x2xf32>, tensor<f32>) -> tensor<4x2xf32>
    %57 = "stablehlo.add"(%55, %56) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %58 = "stablehlo.pad"(%54, %0) <{edge_padding_high = array<i64: 1, 0>, edge_padding_low = array<i64: 0, 0>, interior_padding = array<i64: 1, 0>}> : (tensor<2x2xf32>, tensor<f32>) -> tensor<4x2xf32>
    %59 = "stablehlo.pad"(%43, %0) <{edge_padding_high = array<i64: 0, 0>, edge_padding_low = array<i64: 1, 0>, interior_padding = array<i64: 1, 0>}> : (tensor<2x2xf32>, tensor<f32>) -> tensor<4x2xf32>
    %60 = "stablehlo.add"(%58, %59) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %61 = "stablehlo.slice"(%3) <{limit_indices = array<i64: 9, 2>, start_indices = array<i64: 2, 0>, strides = array<i64: 2, 1>}> : (tensor<9x2xf32>) -> tensor<4x2xf32>
    %62 = "stablehlo.slice"(%5) <{limit_indices = array<i64: 9, 2>, start_indices = array<i64: 2, 0>, strides = array<i64: 2, 1>}> : (tensor<9x2xf32>) -> tensor<4x2xf32>
    %63 = "stablehlo.multiply"(%57, %61) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %64 = "stablehlo.multiply"(%60, %61) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %65 = "stablehlo.add"(%64, %62) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %66 = "stablehlo.slice"(%3) <{limit_indices = array<i64: 1, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<9x2xf32>) -> tensor<1x2xf32>
    %67 = "stablehlo.concatenate"(%66, %63) <{dimension = 0 : i64}> : (tensor<1x2xf32>, tensor<4x2xf32>) -> tensor<5x2xf32>
    %68 = "stablehlo.slice"(%5) <{limit_indices = array<i64: 1, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<9x2xf32>) -> tensor<1x2xf32>
    %69 = "stablehlo.concatenate"(%68, %65) <{dimension = 0 : i64}> : (tensor<1x2xf32>, tensor<4x2xf32>) -> tensor<5x2xf32>
    %70 = "stablehlo.pad"(%67, %0) <{edge_padding_high = array<i64: 0, 0>, edge_padding_low = array<i64: 0, 0>, interior_padding = array<i64: 1, 0>}> : (tensor<5x2xf32>, tensor<f32>) -> tensor<9x2xf32>
    %71 = "stablehlo.pad"(%57, %0) <{edge_padding_high = array<i64: 1, 0>, edge_padding_low = array<i64: 1, 0>, interior_padding = array<i64: 1, 0>}> : (tensor<4x2xf32>, tensor<f32>) -> tensor<9x2xf32>
    %72 = "stablehlo.add"(%70, %71) : (tensor<9x2xf32>, tensor<9x2xf32>) -> tensor<9x2xf32>
    %73 = "stablehlo.pad"(%69, %0) <{edge_padding_high = array<i64: 0, 0>, edge_padding_low = array<i64: 0, 0>, interior_padding = array<i64: 1, 0>}> : (tensor<5x2xf32>, tensor<f32>) -> tensor<9x2xf32>
    %74 = "stablehlo.pad"(%60, %0) <{edge_padding_high = array<i64: 1, 0>, edge_padding_low = array<i64: 1, 0>, interior_padding = array<i64: 1, 0>}> : (tensor<4x2xf32>, tensor<f32>) -> tensor<9x2xf32>
    %75 = "stablehlo.add"(%73, %74) : (tensor<9x2xf32>, tensor<9x2xf32>) -> tensor<9x2xf32>
    "func.return"(%72, %75) : (tensor<9x2xf32>, tensor<9x2xf32>) -> ()
  }) : () -> ()
}) : () -> ()
