"builtin.module"() ({
  "func.func"() <{function_type = (tensor<5xf32>) -> tensor<5xui8>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<5xf32>):
    %0 = "stablehlo.convert"(%arg0) : (tensor<5xf32>) -> tensor<5xui8>
    "func.return"(%0) : (tensor<5xui8>) -> ()
  }) : () -> ()
}) : () -> ()
