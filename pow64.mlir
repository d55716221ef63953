func.func @main(%x: tensor<4xi64>, %y: tensor<4xi64>) -> tensor<4xi64> {
 %0 = stablehlo.power %x, %y : tensor<4xi64>
 return %0 : tensor<4xi64> }