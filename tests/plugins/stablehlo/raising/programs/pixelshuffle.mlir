"builtin.module"() ({
  "func.func"() <{function_type = (tensor<1x3x3x16xf32>) -> tensor<1x6x6x4xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<1x3x3x16xf32>):
    %0 = "stablehlo.reshape"(%arg0) : (tensor<1x3x3x16xf32>) -> tensor<1x3x3x2x2x4xf32>
    %1 = "stablehlo.transpose"(%0) <{permutation = array<i64: 0, 1, 3, 2, 4, 5>}> : (tensor<1x3x3x2x2x4xf32>) -> tensor<1x3x2x3x2x4xf32>
    %2 = "stablehlo.reshape"(%1) : (tensor<1x3x2x3x2x4xf32>) -> tensor<1x6x6x4xf32>
    "func.return"(%2) : (tensor<1x6x6x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
