func.func @main(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
 %0 = stablehlo.power %x, %y : tensor<4xi32>
 return %0 : tensor<4xi32> }