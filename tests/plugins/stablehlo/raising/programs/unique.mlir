"builtin.module"() ({
  "func.func"() <{function_type = (tensor<9xi32>) -> tensor<4xi32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<9xi32>):
    %0 = "stablehlo.constant"() <{value = dense<9> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %3 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %4:2 = "func.call"(%arg0) <{callee = @_unique_sorted_mask}> : (tensor<9xi32>) -> (tensor<9xi32>, tensor<9xi1>)
    %5 = "func.call"(%4#1) <{callee = @cumsum}> : (tensor<9xi1>) -> tensor<9xi32>
    %6 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %7 = "func.call"(%5, %3) <{callee = @clip}> : (tensor<9xi32>, tensor<i32>) -> tensor<9xi32>
    %8 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<9xi32>
    %9 = "stablehlo.compare"(%7, %8) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi1>
    %10 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<9xi32>
    %11 = "stablehlo.add"(%7, %10) : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi32>
    %12 = "stablehlo.select"(%9, %11, %7) : (tensor<9xi1>, tensor<9xi32>, tensor<9xi32>) -> tensor<9xi32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0>}> : (tensor<9xi32>) -> tensor<9x1xi32>
    %14 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<9xi32>
    %15 = "stablehlo.scatter"(%6, %13, %14) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %16 = "stablehlo.add"(%arg1, %arg2) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%16) : (tensor<i32>) -> ()
    }) : (tensor<4xi32>, tensor<9x1xi32>, tensor<9xi32>) -> tensor<4xi32>
    %17 = "func.call"(%15) <{callee = @cumsum_1}> : (tensor<4xi32>) -> tensor<4xi32>
    %18 = "func.call"(%17, %1) <{callee = @floor_divide}> : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
    %19 = "func.call"(%18, %0) <{callee = @remainder}> : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
    %20 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %21 = "stablehlo.compare"(%19, %20) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %22 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %23 = "stablehlo.add"(%19, %22) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %24 = "stablehlo.select"(%21, %23, %19) : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %25 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xi32>) -> tensor<4x1xi32>
    %26 = "stablehlo.gather"(%4#0, %25) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<9xi32>, tensor<4x1xi32>) -> tensor<4xi32>
    %27 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4xi32>
    %28 = "stablehlo.convert"(%4#1) : (tensor<9xi1>) -> tensor<9xi32>
    %29 = "stablehlo.reduce"(%28, %3) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      %30 = "stablehlo.add"(%arg3, %arg4) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%30) : (tensor<i32>) -> ()
    }) : (tensor<9xi32>, tensor<i32>) -> tensor<i32>
    %31 = "stablehlo.broadcast_in_dim"(%29) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %32 = "stablehlo.compare"(%27, %31) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %33 = "func.call"(%32, %26, %3) <{callee = @_where_4}> : (tensor<4xi1>, tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
    "func.return"(%33) : (tensor<4xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<9xi32>) -> (tensor<9xi32>, tensor<9xi1>), sym_name = "_unique_sorted_mask", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<9xi32>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %2 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %3 = "stablehlo.constant"() <{value = dense<9> : tensor<i32>}> : () -> tensor<i32>
    %4 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %5 = "stablehlo.reshape"(%arg0) : (tensor<9xi32>) -> tensor<9x1xi32>
    %6 = "stablehlo.transpose"(%5) <{permutation = array<i64: 1, 0>}> : (tensor<9x1xi32>) -> tensor<1x9xi32>
    %7 = "stablehlo.reverse"(%6) <{dimensions = array<i64: 0>}> : (tensor<1x9xi32>) -> tensor<1x9xi32>
    %8 = "func.call"(%7) <{callee = @lexsort}> : (tensor<1x9xi32>) -> tensor<9xi32>
    %9 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<9xi32>
    %10 = "stablehlo.compare"(%8, %9) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi1>
    %11 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<9xi32>
    %12 = "stablehlo.add"(%8, %11) : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi32>
    %13 = "stablehlo.select"(%10, %12, %8) : (tensor<9xi1>, tensor<9xi32>, tensor<9xi32>) -> tensor<9xi32>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64: 0>}> : (tensor<9xi32>) -> tensor<9x1xi32>
    %15 = "stablehlo.gather"(%arg0, %14) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<9xi32>, tensor<9x1xi32>) -> tensor<9xi32>
    %16 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<9xi1>
    %17 = "stablehlo.slice"(%15) <{limit_indices = array<i64: 9>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<9xi32>) -> tensor<8xi32>
    %18 = "stablehlo.slice"(%15) <{limit_indices = array<i64: 8>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<9xi32>) -> tensor<8xi32>
    %19 = "stablehlo.compare"(%17, %18) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %20 = "stablehlo.reduce"(%19, %1) <{dimensions = array<i64>}> ({
    ^bb0(%arg1: tensor<i1>, %arg2: tensor<i1>):
      %21 = "stablehlo.or"(%arg1, %arg2) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%21) : (tensor<i1>) -> ()
    }) : (tensor<8xi1>, tensor<i1>) -> tensor<8xi1>
    %22 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1xi32>
    %23 = "stablehlo.scatter"(%16, %22, %20) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg3: tensor<i1>, %arg4: tensor<i1>):
      "stablehlo.return"(%arg4) : (tensor<i1>) -> ()
    }) : (tensor<9xi1>, tensor<1xi32>, tensor<8xi1>) -> tensor<9xi1>
    "func.return"(%15, %23) : (tensor<9xi32>, tensor<9xi1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x9xi32>) -> tensor<9xi32>, sym_name = "lexsort", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x9xi32>):
    %0 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 1, 9>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<1x9xi32>) -> tensor<1x9xi32>
    %1 = "stablehlo.reshape"(%0) : (tensor<1x9xi32>) -> tensor<9xi32>
    %2 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<9xi32>
    %3:2 = "stablehlo.sort"(%1, %2) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>):
      %4 = "stablehlo.compare"(%arg1, %arg2) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%4) : (tensor<i1>) -> ()
    }) : (tensor<9xi32>, tensor<9xi32>) -> (tensor<9xi32>, tensor<9xi32>)
    "func.return"(%3#1) : (tensor<9xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<9xi1>) -> tensor<9xi32>, sym_name = "cumsum", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<9xi1>):
    %0 = "stablehlo.convert"(%arg0) : (tensor<9xi1>) -> tensor<9xi32>
    %1 = "func.call"(%0) <{callee = @cumsum_0}> : (tensor<9xi32>) -> tensor<9xi32>
    "func.return"(%1) : (tensor<9xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<9xi32>) -> tensor<9xi32>, sym_name = "cumsum_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<9xi32>):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<i32>
    %2 = "stablehlo.reduce_window"(%arg0, %1) <{padding = dense<[[8, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 9>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %3 = "stablehlo.add"(%arg1, %arg2) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%3) : (tensor<i32>) -> ()
    }) : (tensor<9xi32>, tensor<i32>) -> tensor<9xi32>
    "func.return"(%2) : (tensor<9xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<9xi32>, tensor<i32>) -> tensor<9xi32>, sym_name = "clip", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<9xi32>, %arg1: tensor<i32>):
    %0 = "stablehlo.convert"(%arg1) : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<9xi32>
    %2 = "stablehlo.maximum"(%1, %arg0) : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi32>
    "func.return"(%2) : (tensor<9xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xi32>) -> tensor<4xi32>, sym_name = "cumsum_1", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4xi32>):
    %0 = "func.call"(%arg0) <{callee = @cumsum_2}> : (tensor<4xi32>) -> tensor<4xi32>
    "func.return"(%0) : (tensor<4xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xi32>) -> tensor<4xi32>, sym_name = "cumsum_2", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4xi32>):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<i32>
    %2 = "stablehlo.reduce_window"(%arg0, %1) <{padding = dense<[[3, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 4>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %3 = "stablehlo.add"(%arg1, %arg2) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%3) : (tensor<i32>) -> ()
    }) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
    "func.return"(%2) : (tensor<4xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>, sym_name = "floor_divide", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4xi32>, %arg1: tensor<i32>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %3 = "stablehlo.divide"(%arg0, %2) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %4 = "stablehlo.sign"(%arg0) : (tensor<4xi32>) -> tensor<4xi32>
    %5 = "stablehlo.sign"(%arg1) : (tensor<i32>) -> tensor<i32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %7 = "stablehlo.compare"(%4, %6) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %8 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %9 = "stablehlo.remainder"(%arg0, %8) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %10 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %11 = "stablehlo.compare"(%9, %10) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %12 = "stablehlo.and"(%7, %11) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    %13 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %14 = "stablehlo.subtract"(%3, %13) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %15 = "func.call"(%12, %14, %3) <{callee = @_where}> : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    "func.return"(%15) : (tensor<4xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4xi1>, %arg1: tensor<4xi32>, %arg2: tensor<4xi32>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    "func.return"(%0) : (tensor<4xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>, sym_name = "remainder", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4xi32>, %arg1: tensor<i32>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.convert"(%arg1) : (tensor<i32>) -> tensor<i32>
    %3 = "stablehlo.compare"(%2, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = "func.call"(%3, %0, %2) <{callee = @_where_3}> : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %6 = "stablehlo.remainder"(%arg0, %5) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %7 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %8 = "stablehlo.compare"(%6, %7) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %9 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %10 = "stablehlo.compare"(%6, %9) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %11 = "stablehlo.compare"(%4, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<4xi1>
    %13 = "stablehlo.compare"(%10, %12) <{compare_type = #stablehlo<comparison_type UNSIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    %14 = "stablehlo.and"(%13, %8) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    %15 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %16 = "stablehlo.add"(%6, %15) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %17 = "stablehlo.select"(%14, %16, %6) : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    "func.return"(%17) : (tensor<4xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>, sym_name = "_where_3", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    "func.return"(%0) : (tensor<i32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xi1>, tensor<4xi32>, tensor<i32>) -> tensor<4xi32>, sym_name = "_where_4", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4xi1>, %arg1: tensor<4xi32>, %arg2: tensor<i32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %1 = "stablehlo.select"(%arg0, %arg1, %0) : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    "func.return"(%1) : (tensor<4xi32>) -> ()
  }) : () -> ()
}) : () -> ()
