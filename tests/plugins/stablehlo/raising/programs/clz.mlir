"builtin.module"() ({
  "func.func"() <{function_type = (tensor<8xi32>) -> tensor<8xi32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<8xi32>):
    %0 = "stablehlo.count_leading_zeros"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
    "func.return"(%0) : (tensor<8xi32>) -> ()
  }) : () -> ()
}) : () -> ()
