func.func @main(%x: tensor<4xui64>, %y: tensor<4xui64>) -> tensor<4xui64> {
 %0 = stablehlo.remainder %x, %y : tensor<4xui64>
 return %0 : tensor<4xui64> }