"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>):
    %0 = "stablehlo.constant"() <{value = dense<(0.0,2.0)> : tensor<complex<f32>>}> : () -> tensor<complex<f32>>
    %1 = "stablehlo.constant"() <{value = dense<(0.0,1.0)> : tensor<complex<f32>>}> : () -> tensor<complex<f32>>
    %2 = "stablehlo.convert"(%arg1) : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
    %3 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<complex<f32>>) -> tensor<4xcomplex<f32>>
    %4 = "stablehlo.multiply"(%3, %2) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %5 = "stablehlo.convert"(%arg0) : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
    %6 = "stablehlo.add"(%5, %4) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %7 = "stablehlo.convert"(%arg0) : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
    %8 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<complex<f32>>) -> tensor<4xcomplex<f32>>
    %9 = "stablehlo.multiply"(%8, %7) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %10 = "stablehlo.convert"(%arg1) : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
    %11 = "stablehlo.subtract"(%10, %9) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %12 = "stablehlo.multiply"(%6, %11) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %13 = "stablehlo.real"(%12) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    "func.return"(%13) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
