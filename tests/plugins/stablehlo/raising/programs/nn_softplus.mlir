"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x6xf32>) -> tensor<3x6xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x6xf32>):
    %0 = "func.call"(%arg0) <{callee = @softplus}> : (tensor<3x6xf32>) -> tensor<3x6xf32>
    "func.return"(%0) : (tensor<3x6xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x6xf32>) -> tensor<3x6xf32>, sym_name = "softplus", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x6xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x6xf32>
    %2 = "stablehlo.maximum"(%arg0, %1) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %3 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x6xf32>
    %4 = "stablehlo.subtract"(%arg0, %3) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %5 = "stablehlo.compare"(%4, %4) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xi1>
    %6 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x6xf32>
    %7 = "stablehlo.add"(%arg0, %6) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %8 = "stablehlo.abs"(%4) : (tensor<3x6xf32>) -> tensor<3x6xf32>
    %9 = "stablehlo.negate"(%8) : (tensor<3x6xf32>) -> tensor<3x6xf32>
    %10 = "stablehlo.exponential"(%9) : (tensor<3x6xf32>) -> tensor<3x6xf32>
    %11 = "stablehlo.log_plus_one"(%10) : (tensor<3x6xf32>) -> tensor<3x6xf32>
    %12 = "stablehlo.add"(%2, %11) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %13 = "stablehlo.select"(%5, %7, %12) : (tensor<3x6xi1>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    "func.return"(%13) : (tensor<3x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()
