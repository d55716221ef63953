"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x5xf32>, tensor<i32>) -> tensor<2x5xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x5xf32>, %arg1: tensor<i32>):
    %0 = "func.call"(%arg0, %arg1) <{callee = @_roll_dynamic}> : (tensor<2x5xf32>, tensor<i32>) -> tensor<2x5xf32>
    "func.return"(%0) : (tensor<2x5xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x5xf32>, tensor<i32>) -> tensor<2x5xf32>, sym_name = "_roll_dynamic", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x5xf32>, %arg1: tensor<i32>):
    %0 = "stablehlo.constant"() <{value = dense<10> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %3 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %4 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1xi32>
    %5 = "stablehlo.slice"(%4) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<1xi32>) -> tensor<1xi32>
    %6 = "stablehlo.reshape"(%5) : (tensor<1xi32>) -> tensor<i32>
    %7 = "stablehlo.maximum"(%3, %2) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %8 = "func.call"(%6, %7) <{callee = @remainder}> : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %9 = "stablehlo.concatenate"(%arg0, %arg0) <{dimension = 1 : i64}> : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x10xf32>
    %10 = "stablehlo.subtract"(%3, %8) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %11 = "stablehlo.compare"(%10, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %12 = "stablehlo.add"(%10, %0) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %13 = "stablehlo.select"(%11, %12, %10) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %14 = "stablehlo.dynamic_slice"(%9, %1, %13) <{slice_sizes = array<i64: 2, 5>}> : (tensor<2x10xf32>, tensor<i32>, tensor<i32>) -> tensor<2x5xf32>
    "func.return"(%14) : (tensor<2x5xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i32>, tensor<i32>) -> tensor<i32>, sym_name = "remainder", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<i32>, %arg1: tensor<i32>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.compare"(%arg1, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = "func.call"(%2, %0, %arg1) <{callee = @_where}> : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %4 = "stablehlo.remainder"(%arg0, %3) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %5 = "stablehlo.compare"(%4, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = "stablehlo.compare"(%4, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = "stablehlo.compare"(%3, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %8 = "stablehlo.compare"(%6, %7) <{compare_type = #stablehlo<comparison_type UNSIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %9 = "stablehlo.and"(%8, %5) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %10 = "stablehlo.add"(%4, %3) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %11 = "stablehlo.select"(%9, %10, %4) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    "func.return"(%11) : (tensor<i32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    "func.return"(%0) : (tensor<i32>) -> ()
  }) : () -> ()
}) : () -> ()
