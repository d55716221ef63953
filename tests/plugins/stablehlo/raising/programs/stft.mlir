"builtin.module"() ({
  "func.func"() <{function_type = (tensor<64xf32>) -> tensor<9x9xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<64xf32>):
    %0 = "stablehlo.constant"() <{value = dense<80> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<8> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %4 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %5 = "stablehlo.constant"() <{value = dense<3.1415927> : tensor<f32>}> : () -> tensor<f32>
    %6 = "func.call"(%4, %5) <{callee = @_linspace}> : (tensor<i32>, tensor<f32>) -> tensor<16xf32>
    %7 = "stablehlo.sine"(%6) : (tensor<16xf32>) -> tensor<16xf32>
    %8 = "stablehlo.multiply"(%7, %7) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %9 = "func.call"(%arg0, %3) <{callee = @_pad}> : (tensor<64xf32>, tensor<f32>) -> tensor<80xf32>
    %10 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<0xf32>
    %11 = "stablehlo.concatenate"(%9, %10) <{dimension = 0 : i64}> : (tensor<80xf32>, tensor<0xf32>) -> tensor<80xf32>
    %12 = "stablehlo.reduce"(%8, %3) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %13 = "stablehlo.add"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%13) : (tensor<f32>) -> ()
    }) : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
    %14 = "stablehlo.multiply"(%12, %12) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %15 = "stablehlo.divide"(%2, %14) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %16 = "stablehlo.sqrt"(%15) : (tensor<f32>) -> tensor<f32>
    %17 = "stablehlo.convert"(%16) : (tensor<f32>) -> tensor<complex<f32>>
    %18 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<9xi32>
    %19 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<9xi32>
    %20 = "stablehlo.multiply"(%19, %18) : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi32>
    %21 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<9xi32>
    %22 = "stablehlo.add"(%21, %20) : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi32>
    %23 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<9xi32>
    %24 = "stablehlo.compare"(%22, %23) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi1>
    %25 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<9xi32>
    %26 = "stablehlo.add"(%22, %25) : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi32>
    %27 = "stablehlo.select"(%24, %26, %22) : (tensor<9xi1>, tensor<9xi32>, tensor<9xi32>) -> tensor<9xi32>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64: 0>}> : (tensor<9xi32>) -> tensor<9x1xi32>
    %29 = "stablehlo.gather"(%11, %28) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 16>}> : (tensor<80xf32>, tensor<9x1xi32>) -> tensor<9x16xf32>
    %30 = "stablehlo.reshape"(%8) : (tensor<16xf32>) -> tensor<1x16xf32>
    %31 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x16xf32>) -> tensor<9x16xf32>
    %32 = "stablehlo.multiply"(%31, %29) : (tensor<9x16xf32>, tensor<9x16xf32>) -> tensor<9x16xf32>
    %33 = "func.call"(%32, %4) <{callee = @_pad_0}> : (tensor<9x16xf32>, tensor<i32>) -> tensor<9x16xf32>
    %34 = "func.call"(%33) <{callee = @fft}> : (tensor<9x16xf32>) -> tensor<9x9xcomplex<f32>>
    %35 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64>}> : (tensor<complex<f32>>) -> tensor<9x9xcomplex<f32>>
    %36 = "stablehlo.multiply"(%34, %35) : (tensor<9x9xcomplex<f32>>, tensor<9x9xcomplex<f32>>) -> tensor<9x9xcomplex<f32>>
    %37 = "stablehlo.transpose"(%36) <{permutation = array<i64: 1, 0>}> : (tensor<9x9xcomplex<f32>>) -> tensor<9x9xcomplex<f32>>
    %38 = "stablehlo.abs"(%37) : (tensor<9x9xcomplex<f32>>) -> tensor<9x9xf32>
    "func.return"(%38) : (tensor<9x9xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i32>, tensor<f32>) -> tensor<16xf32>, sym_name = "_linspace", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<i32>, %arg1: tensor<f32>):
    %0 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<16.0> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.convert"(%arg0) : (tensor<i32>) -> tensor<f32>
    %3 = "stablehlo.convert"(%arg1) : (tensor<f32>) -> tensor<f32>
    %4 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<16xf32>
    %5 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16xf32>
    %6 = "stablehlo.divide"(%4, %5) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %7 = "stablehlo.reshape"(%2) : (tensor<f32>) -> tensor<1xf32>
    %8 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16xf32>
    %9 = "stablehlo.subtract"(%8, %6) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %10 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<16xf32>
    %11 = "stablehlo.multiply"(%10, %9) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %12 = "stablehlo.reshape"(%3) : (tensor<f32>) -> tensor<1xf32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<16xf32>
    %14 = "stablehlo.multiply"(%13, %6) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %15 = "stablehlo.add"(%11, %14) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    "func.return"(%15) : (tensor<16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<64xf32>, tensor<f32>) -> tensor<80xf32>, sym_name = "_pad", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<64xf32>, %arg1: tensor<f32>):
    %0 = "stablehlo.convert"(%arg1) : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.pad"(%arg0, %0) <{edge_padding_high = array<i64: 8>, edge_padding_low = array<i64: 8>, interior_padding = array<i64: 0>}> : (tensor<64xf32>, tensor<f32>) -> tensor<80xf32>
    "func.return"(%1) : (tensor<80xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<9x16xf32>, tensor<i32>) -> tensor<9x16xf32>, sym_name = "_pad_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<9x16xf32>, %arg1: tensor<i32>):
    %0 = "stablehlo.convert"(%arg1) : (tensor<i32>) -> tensor<f32>
    %1 = "stablehlo.pad"(%arg0, %0) <{edge_padding_high = array<i64: 0, 0>, edge_padding_low = array<i64: 0, 0>, interior_padding = array<i64: 0, 0>}> : (tensor<9x16xf32>, tensor<f32>) -> tensor<9x16xf32>
    "func.return"(%1) : (tensor<9x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<9x16xf32>) -> tensor<9x9xcomplex<f32>>, sym_name = "fft", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<9x16xf32>):
    %0 = "stablehlo.fft"(%arg0) <{fft_length = array<i64: 16>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<9x16xf32>) -> tensor<9x9xcomplex<f32>>
    "func.return"(%0) : (tensor<9x9xcomplex<f32>>) -> ()
  }) : () -> ()
}) : () -> ()
