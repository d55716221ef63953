"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x16xf32>) -> tensor<3x16xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x16xf32>):
    %0 = "stablehlo.constant"() <{value = dense<(2.0,0.0)> : tensor<complex<f32>>}> : () -> tensor<complex<f32>>
    %1 = "func.call"(%arg0) <{callee = @fft}> : (tensor<3x16xf32>) -> tensor<3x9xcomplex<f32>>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<complex<f32>>) -> tensor<3x9xcomplex<f32>>
    %3 = "stablehlo.multiply"(%1, %2) : (tensor<3x9xcomplex<f32>>, tensor<3x9xcomplex<f32>>) -> tensor<3x9xcomplex<f32>>
    %4 = "func.call"(%3) <{callee = @fft_0}> : (tensor<3x9xcomplex<f32>>) -> tensor<3x16xf32>
    "func.return"(%4) : (tensor<3x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x16xf32>) -> tensor<3x9xcomplex<f32>>, sym_name = "fft", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x16xf32>):
    %0 = "stablehlo.fft"(%arg0) <{fft_length = array<i64: 16>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<3x16xf32>) -> tensor<3x9xcomplex<f32>>
    "func.return"(%0) : (tensor<3x9xcomplex<f32>>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x9xcomplex<f32>>) -> tensor<3x16xf32>, sym_name = "fft_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x9xcomplex<f32>>):
    %0 = "stablehlo.fft"(%arg0) <{fft_length = array<i64: 16>, fft_type = #stablehlo<fft_type IRFFT>}> : (tensor<3x9xcomplex<f32>>) -> tensor<3x16xf32>
    "func.return"(%0) : (tensor<3x16xf32>) -> ()
  }) : () -> ()
}) : () -> ()
