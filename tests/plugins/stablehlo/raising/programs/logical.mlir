"builtin.module"() ({
  "func.func"() <{function_type = (tensor<6xi1>, tensor<6xi1>) -> (tensor<6xi1>, tensor<6xi1>, tensor<6xi1>, tensor<6xi1>), sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<6xi1>, %arg1: tensor<6xi1>):
    %0 = "stablehlo.and"(%arg0, %arg1) : (tensor<6xi1>, tensor<6xi1>) -> tensor<6xi1>
    %1 = "stablehlo.or"(%arg0, %arg1) : (tensor<6xi1>, tensor<6xi1>) -> tensor<6xi1>
    %2 = "stablehlo.xor"(%arg0, %arg1) : (tensor<6xi1>, tensor<6xi1>) -> tensor<6xi1>
    %3 = "stablehlo.not"(%arg0) : (tensor<6xi1>) -> tensor<6xi1>
    "func.return"(%0, %1, %2, %3) : (tensor<6xi1>, tensor<6xi1>, tensor<6xi1>, tensor<6xi1>) -> ()
  }) : () -> ()
}) : () -> ()
