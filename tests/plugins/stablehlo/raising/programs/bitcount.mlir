"builtin.module"() ({
  "func.func"() <{function_type = (tensor<8xi32>) -> tensor<8xui8>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<8xi32>):
    %0 = "func.call"(%arg0) <{callee = @bitwise_count}> : (tensor<8xi32>) -> tensor<8xui8>
    "func.return"(%0) : (tensor<8xui8>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<8xi32>) -> tensor<8xui8>, sym_name = "bitwise_count", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<8xi32>):
    %0 = "stablehlo.abs"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
    %1 = "stablehlo.popcnt"(%0) : (tensor<8xi32>) -> tensor<8xi32>
    %2 = "stablehlo.convert"(%1) : (tensor<8xi32>) -> tensor<8xui8>
    "func.return"(%2) : (tensor<8xui8>) -> ()
  }) : () -> ()
}) : () -> ()
