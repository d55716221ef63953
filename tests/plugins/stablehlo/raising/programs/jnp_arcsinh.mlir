"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x5xf32>) -> tensor<3x5xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x5xf32>):
    %0 = "stablehlo.composite"(%arg0) <{decomposition = @chlo.asinh.impl, name = "chlo.asinh", version = 1 : i32}> : (tensor<3x5xf32>) -> tensor<3x5xf32>
    "func.return"(%0) : (tensor<3x5xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x5xf32>) -> tensor<3x5xf32>, sym_name = "chlo.asinh.impl", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x5xf32>):
    %0 = "stablehlo.constant"() <{value = dense<1.0> : tensor<3x5xf32>}> : () -> tensor<3x5xf32>
    %1 = "stablehlo.constant"() <{value = dense<2.0> : tensor<3x5xf32>}> : () -> tensor<3x5xf32>
    %2 = "stablehlo.constant"() <{value = dense<3.4028235e+38> : tensor<3x5xf32>}> : () -> tensor<3x5xf32>
    %3 = "stablehlo.sign"(%arg0) : (tensor<3x5xf32>) -> tensor<3x5xf32>
    %4 = "stablehlo.abs"(%arg0) : (tensor<3x5xf32>) -> tensor<3x5xf32>
    %5 = "stablehlo.sqrt"(%2) : (tensor<3x5xf32>) -> tensor<3x5xf32>
    %6 = "stablehlo.compare"(%4, %5) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
    %7 = "stablehlo.log"(%1) : (tensor<3x5xf32>) -> tensor<3x5xf32>
    %8 = "stablehlo.log"(%4) : (tensor<3x5xf32>) -> tensor<3x5xf32>
    %9 = "stablehlo.add"(%7, %8) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    %10 = "stablehlo.multiply"(%4, %4) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    %11 = "stablehlo.add"(%0, %10) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    %12 = "stablehlo.sqrt"(%11) : (tensor<3x5xf32>) -> tensor<3x5xf32>
    %13 = "stablehlo.add"(%0, %12) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    %14 = "stablehlo.divide"(%10, %13) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    %15 = "stablehlo.add"(%4, %14) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    %16 = "stablehlo.log_plus_one"(%15) : (tensor<3x5xf32>) -> tensor<3x5xf32>
    %17 = "stablehlo.select"(%6, %9, %16) : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    %18 = "stablehlo.multiply"(%3, %17) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    "func.return"(%18) : (tensor<3x5xf32>) -> ()
  }) : () -> ()
}) : () -> ()
