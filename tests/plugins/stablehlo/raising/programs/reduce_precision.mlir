"builtin.module"() ({
  "func.func"() <{function_type = (tensor<9xf32>) -> tensor<9xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<9xf32>):
    %0 = "stablehlo.reduce_precision"(%arg0) <{exponent_bits = 5 : i32, mantissa_bits = 4 : i32}> : (tensor<9xf32>) -> tensor<9xf32>
    "func.return"(%0) : (tensor<9xf32>) -> ()
  }) : () -> ()
}) : () -> ()
