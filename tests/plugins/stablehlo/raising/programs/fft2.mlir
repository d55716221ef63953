"builtin.module"() ({
  "func.func"() <{function_type = (tensor<6x8xf32>) -> tensor<6x8xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<6x8xf32>):
    %0 = "func.call"(%arg0) <{callee = @fft}> : (tensor<6x8xf32>) -> tensor<6x8xcomplex<f32>>
    %1 = "stablehlo.abs"(%0) : (tensor<6x8xcomplex<f32>>) -> tensor<6x8xf32>
    "func.return"(%1) : (tensor<6x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<6x8xf32>) -> tensor<6x8xcomplex<f32>>, sym_name = "fft", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<6x8xf32>):
    %0 = "stablehlo.convert"(%arg0) : (tensor<6x8xf32>) -> tensor<6x8xcomplex<f32>>
    %1 = "stablehlo.fft"(%0) <{fft_length = array<i64: 6, 8>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<6x8xcomplex<f32>>) -> tensor<6x8xcomplex<f32>>
    "func.return"(%1) : (tensor<6x8xcomplex<f32>>) -> ()
  }) : () -> ()
}) : () -> ()
