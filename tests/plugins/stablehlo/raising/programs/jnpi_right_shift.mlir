"builtin.module"() ({
  "func.func"() <{function_type = (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<6xi32>, %arg1: tensor<6xi32>):
    %0 = "stablehlo.shift_right_arithmetic"(%arg0, %arg1) : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    "func.return"(%0) : (tensor<6xi32>) -> ()
  }) : () -> ()
}) : () -> ()
