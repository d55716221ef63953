"builtin.module"() ({
  "func.func"() <{function_type = (tensor<5xi32>) -> (tensor<5xi32>, tensor<5xi32>), sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<5xi32>):
    %0 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<-1> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %3 = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
    %4 = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %5:2 = "func.call"(%arg0, %4) <{callee = @divmod}> : (tensor<5xi32>, tensor<i32>) -> (tensor<5xi32>, tensor<5xi32>)
    %6:2 = "func.call"(%5#0, %3) <{callee = @divmod}> : (tensor<5xi32>, tensor<i32>) -> (tensor<5xi32>, tensor<5xi32>)
    %7 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<5xi32>
    %8 = "stablehlo.compare"(%6#0, %7) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
    %9 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<5xi32>
    %10 = "stablehlo.compare"(%6#0, %9) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
    %11 = "func.call"(%10, %2, %6#1) <{callee = @_where_1}> : (tensor<5xi1>, tensor<i32>, tensor<5xi32>) -> tensor<5xi32>
    %12 = "func.call"(%8, %0, %11) <{callee = @_where_1}> : (tensor<5xi1>, tensor<i32>, tensor<5xi32>) -> tensor<5xi32>
    %13 = "func.call"(%10, %2, %5#1) <{callee = @_where_1}> : (tensor<5xi1>, tensor<i32>, tensor<5xi32>) -> tensor<5xi32>
    %14 = "func.call"(%8, %3, %13) <{callee = @_where_1}> : (tensor<5xi1>, tensor<i32>, tensor<5xi32>) -> tensor<5xi32>
    "func.return"(%12, %14) : (tensor<5xi32>, tensor<5xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<5xi32>, tensor<i32>) -> (tensor<5xi32>, tensor<5xi32>), sym_name = "divmod", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<5xi32>, %arg1: tensor<i32>):
    %0 = "stablehlo.convert"(%arg1) : (tensor<i32>) -> tensor<i32>
    %1 = "func.call"(%arg0, %0) <{callee = @floor_divide}> : (tensor<5xi32>, tensor<i32>) -> tensor<5xi32>
    %2 = "func.call"(%arg0, %0) <{callee = @remainder}> : (tensor<5xi32>, tensor<i32>) -> tensor<5xi32>
    "func.return"(%1, %2) : (tensor<5xi32>, tensor<5xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<5xi32>, tensor<i32>) -> tensor<5xi32>, sym_name = "floor_divide", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<5xi32>, %arg1: tensor<i32>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<5xi32>
    %3 = "stablehlo.divide"(%arg0, %2) : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>
    %4 = "stablehlo.sign"(%arg0) : (tensor<5xi32>) -> tensor<5xi32>
    %5 = "stablehlo.sign"(%arg1) : (tensor<i32>) -> tensor<i32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<5xi32>
    %7 = "stablehlo.compare"(%4, %6) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
    %8 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<5xi32>
    %9 = "stablehlo.remainder"(%arg0, %8) : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>
    %10 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<5xi32>
    %11 = "stablehlo.compare"(%9, %10) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
    %12 = "stablehlo.and"(%7, %11) : (tensor<5xi1>, tensor<5xi1>) -> tensor<5xi1>
    %13 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<5xi32>
    %14 = "stablehlo.subtract"(%3, %13) : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>
    %15 = "func.call"(%12, %14, %3) <{callee = @_where}> : (tensor<5xi1>, tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>
    "func.return"(%15) : (tensor<5xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<5xi1>, tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<5xi1>, %arg1: tensor<5xi32>, %arg2: tensor<5xi32>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<5xi1>, tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>
    "func.return"(%0) : (tensor<5xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<5xi32>, tensor<i32>) -> tensor<5xi32>, sym_name = "remainder", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<5xi32>, %arg1: tensor<i32>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.compare"(%arg1, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = "func.call"(%2, %0, %arg1) <{callee = @_where_0}> : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<5xi32>
    %5 = "stablehlo.remainder"(%arg0, %4) : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>
    %6 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<5xi32>
    %7 = "stablehlo.compare"(%5, %6) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
    %8 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<5xi32>
    %9 = "stablehlo.compare"(%5, %8) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
    %10 = "stablehlo.compare"(%3, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<5xi1>
    %12 = "stablehlo.compare"(%9, %11) <{compare_type = #stablehlo<comparison_type UNSIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<5xi1>, tensor<5xi1>) -> tensor<5xi1>
    %13 = "stablehlo.and"(%12, %7) : (tensor<5xi1>, tensor<5xi1>) -> tensor<5xi1>
    %14 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<5xi32>
    %15 = "stablehlo.add"(%5, %14) : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>
    %16 = "stablehlo.select"(%13, %15, %5) : (tensor<5xi1>, tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>
    "func.return"(%16) : (tensor<5xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>, sym_name = "_where_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    "func.return"(%0) : (tensor<i32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<5xi1>, tensor<i32>, tensor<5xi32>) -> tensor<5xi32>, sym_name = "_where_1", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<5xi1>, %arg1: tensor<i32>, %arg2: tensor<5xi32>):
    %0 = "stablehlo.convert"(%arg1) : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<5xi32>
    %2 = "stablehlo.select"(%arg0, %1, %arg2) : (tensor<5xi1>, tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>
    "func.return"(%2) : (tensor<5xi32>) -> ()
  }) : () -> ()
}) : () -> ()
