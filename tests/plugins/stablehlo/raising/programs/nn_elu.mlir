"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x6xf32>) -> tensor<3x6xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x6xf32>):
    %0 = "func.call"(%arg0) <{callee = @elu}> : (tensor<3x6xf32>) -> tensor<3x6xf32>
    "func.return"(%0) : (tensor<3x6xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x6xf32>) -> tensor<3x6xf32>, sym_name = "elu", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x6xf32>):
    %0 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x6xf32>
    %3 = "stablehlo.compare"(%arg0, %2) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xi1>
    %4 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x6xf32>
    %5 = "stablehlo.compare"(%arg0, %4) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xi1>
    %6 = "func.call"(%5, %1, %arg0) <{callee = @_where}> : (tensor<3x6xi1>, tensor<f32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %7 = "stablehlo.exponential_minus_one"(%6) : (tensor<3x6xf32>) -> tensor<3x6xf32>
    %8 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x6xf32>
    %9 = "stablehlo.multiply"(%8, %7) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %10 = "func.call"(%3, %arg0, %9) <{callee = @_where_0}> : (tensor<3x6xi1>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    "func.return"(%10) : (tensor<3x6xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x6xi1>, tensor<f32>, tensor<3x6xf32>) -> tensor<3x6xf32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x6xi1>, %arg1: tensor<f32>, %arg2: tensor<3x6xf32>):
    %0 = "stablehlo.convert"(%arg1) : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x6xf32>
    %2 = "stablehlo.select"(%arg0, %1, %arg2) : (tensor<3x6xi1>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    "func.return"(%2) : (tensor<3x6xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x6xi1>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>, sym_name = "_where_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x6xi1>, %arg1: tensor<3x6xf32>, %arg2: tensor<3x6xf32>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<3x6xi1>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    "func.return"(%0) : (tensor<3x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()
