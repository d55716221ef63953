"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>):
    %0 = "stablehlo.constant"() <{value = dense<(0.0,1.0)> : tensor<complex<f32>>}> : () -> tensor<complex<f32>>
    %1 = "stablehlo.convert"(%arg1) : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<complex<f32>>) -> tensor<4xcomplex<f32>>
    %3 = "stablehlo.multiply"(%2, %1) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %4 = "stablehlo.convert"(%arg0) : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
    %5 = "stablehlo.add"(%4, %3) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %6 = "func.call"(%5) <{callee = @angle}> : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    "func.return"(%6) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xcomplex<f32>>) -> tensor<4xf32>, sym_name = "angle", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4xcomplex<f32>>):
    %0 = "stablehlo.real"(%arg0) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %1 = "stablehlo.imag"(%arg0) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %2 = "stablehlo.atan2"(%1, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%2) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
