"builtin.module"() ({
  "func.func"() <{function_type = (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<6xi32>, %arg1: tensor<6xi32>):
    %0 = "func.call"(%arg0, %arg1) <{callee = @floor_divide}> : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    "func.return"(%0) : (tensor<6xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>, sym_name = "floor_divide", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<6xi32>, %arg1: tensor<6xi32>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.divide"(%arg0, %arg1) : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %3 = "stablehlo.sign"(%arg0) : (tensor<6xi32>) -> tensor<6xi32>
    %4 = "stablehlo.sign"(%arg1) : (tensor<6xi32>) -> tensor<6xi32>
    %5 = "stablehlo.compare"(%3, %4) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %6 = "stablehlo.remainder"(%arg0, %arg1) : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %7 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %8 = "stablehlo.compare"(%6, %7) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %9 = "stablehlo.and"(%5, %8) : (tensor<6xi1>, tensor<6xi1>) -> tensor<6xi1>
    %10 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %11 = "stablehlo.subtract"(%2, %10) : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %12 = "func.call"(%9, %11, %2) <{callee = @_where}> : (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    "func.return"(%12) : (tensor<6xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<6xi1>, %arg1: tensor<6xi32>, %arg2: tensor<6xi32>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    "func.return"(%0) : (tensor<6xi32>) -> ()
  }) : () -> ()
}) : () -> ()
