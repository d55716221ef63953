"builtin.module"() ({
  "func.func"() <{function_type = (tensor<20xf32>) -> tensor<5xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<20xf32>):
    %0 = "stablehlo.constant"() <{value = dense<6> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %3 = "stablehlo.constant"() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
    %4 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %5 = "stablehlo.constant"() <{value = dense<[-2.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
    %6 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<20xf32>
    %8 = "func.call"(%5) <{callee = @_ptp}> : (tensor<2xf32>) -> tensor<f32>
    %9 = "stablehlo.compare"(%8, %4) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %10 = "stablehlo.slice"(%5) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<2xf32>) -> tensor<1xf32>
    %11 = "stablehlo.reshape"(%10) : (tensor<1xf32>) -> tensor<f32>
    %12 = "stablehlo.subtract"(%11, %3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %13 = "stablehlo.slice"(%5) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<2xf32>) -> tensor<1xf32>
    %14 = "stablehlo.reshape"(%13) : (tensor<1xf32>) -> tensor<f32>
    %15 = "func.call"(%9, %12, %14) <{callee = @_where}> : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %16 = "func.call"(%5) <{callee = @_ptp}> : (tensor<2xf32>) -> tensor<f32>
    %17 = "stablehlo.compare"(%16, %4) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %18 = "stablehlo.slice"(%5) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<2xf32>) -> tensor<1xf32>
    %19 = "stablehlo.reshape"(%18) : (tensor<1xf32>) -> tensor<f32>
    %20 = "stablehlo.add"(%19, %3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %21 = "stablehlo.slice"(%5) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<2xf32>) -> tensor<1xf32>
    %22 = "stablehlo.reshape"(%21) : (tensor<1xf32>) -> tensor<f32>
    %23 = "func.call"(%17, %20, %22) <{callee = @_where}> : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %24 = "func.call"(%15, %23) <{callee = @_linspace}> : (tensor<f32>, tensor<f32>) -> tensor<6xf32>
    %25 = "func.call"(%24, %arg0) <{callee = @searchsorted}> : (tensor<6xf32>, tensor<20xf32>) -> tensor<20xi32>
    %26 = "stablehlo.slice"(%24) <{limit_indices = array<i64: 6>, start_indices = array<i64: 5>, strides = array<i64: 1>}> : (tensor<6xf32>) -> tensor<1xf32>
    %27 = "stablehlo.reshape"(%26) : (tensor<1xf32>) -> tensor<f32>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<20xf32>
    %29 = "stablehlo.compare"(%arg0, %28) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<20xf32>, tensor<20xf32>) -> tensor<20xi1>
    %30 = "func.call"(%29, %2, %25) <{callee = @_where_1}> : (tensor<20xi1>, tensor<i32>, tensor<20xi32>) -> tensor<20xi32>
    %31 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6xf32>
    %32 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<20xi32>
    %33 = "stablehlo.compare"(%30, %32) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<20xi32>, tensor<20xi32>) -> tensor<20xi1>
    %34 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<20xi32>
    %35 = "stablehlo.add"(%30, %34) : (tensor<20xi32>, tensor<20xi32>) -> tensor<20xi32>
    %36 = "stablehlo.select"(%33, %35, %30) : (tensor<20xi1>, tensor<20xi32>, tensor<20xi32>) -> tensor<20xi32>
    %37 = "stablehlo.broadcast_in_dim"(%36) <{broadcast_dimensions = array<i64: 0>}> : (tensor<20xi32>) -> tensor<20x1xi32>
    %38 = "stablehlo.scatter"(%31, %37, %7) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %39 = "stablehlo.add"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%39) : (tensor<f32>) -> ()
    }) : (tensor<6xf32>, tensor<20x1xi32>, tensor<20xf32>) -> tensor<6xf32>
    %40 = "stablehlo.slice"(%38) <{limit_indices = array<i64: 6>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<6xf32>) -> tensor<5xf32>
    "func.return"(%40) : (tensor<5xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2xf32>) -> tensor<f32>, sym_name = "_ptp", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0x7F800000> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.reduce"(%arg0, %1) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %3 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%3) : (tensor<f32>) -> ()
    }) : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %4 = "stablehlo.reduce"(%arg0, %0) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %5 = "stablehlo.minimum"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%5) : (tensor<f32>) -> ()
    }) : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %6 = "stablehlo.subtract"(%2, %4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "func.return"(%6) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<f32>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    "func.return"(%0) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<f32>, tensor<f32>) -> tensor<6xf32>, sym_name = "_linspace", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<f32>, %arg1: tensor<f32>):
    %0 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<5.0> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<5xf32>
    %3 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %4 = "stablehlo.divide"(%2, %3) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %5 = "stablehlo.reshape"(%arg0) : (tensor<f32>) -> tensor<1xf32>
    %6 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %7 = "stablehlo.subtract"(%6, %4) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %8 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<5xf32>
    %9 = "stablehlo.multiply"(%8, %7) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %10 = "stablehlo.reshape"(%arg1) : (tensor<f32>) -> tensor<1xf32>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<5xf32>
    %12 = "stablehlo.multiply"(%11, %4) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %13 = "stablehlo.add"(%9, %12) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %14 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1xf32>
    %15 = "stablehlo.concatenate"(%13, %14) <{dimension = 0 : i64}> : (tensor<5xf32>, tensor<1xf32>) -> tensor<6xf32>
    "func.return"(%15) : (tensor<6xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<6xf32>, tensor<20xf32>) -> tensor<20xi32>, sym_name = "searchsorted", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<6xf32>, %arg1: tensor<20xf32>):
    %0 = "func.call"(%arg0, %arg1) <{callee = @_searchsorted_scan_impl}> : (tensor<6xf32>, tensor<20xf32>) -> tensor<20xi32>
    "func.return"(%0) : (tensor<20xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<6xf32>, tensor<20xf32>) -> tensor<20xi32>, sym_name = "_searchsorted_scan_impl", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<6xf32>, %arg1: tensor<20xf32>):
    %0 = "func.call"(%arg0, %arg1) <{callee = @_searchsorted_scan_impl_0}> : (tensor<6xf32>, tensor<20xf32>) -> tensor<20xi32>
    "func.return"(%0) : (tensor<20xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<6xf32>, tensor<20xf32>) -> tensor<20xi32>, sym_name = "_searchsorted_scan_impl_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<6xf32>, %arg1: tensor<20xf32>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %3 = "stablehlo.constant"() <{value = dense<6> : tensor<ui32>}> : () -> tensor<ui32>
    %4 = "stablehlo.constant"() <{value = dense<0> : tensor<ui32>}> : () -> tensor<ui32>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<20xui32>
    %6 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<20xui32>
    %7:5 = "stablehlo.while"(%arg0, %arg1, %2, %5, %6) ({
    ^bb0(%arg2: tensor<6xf32>, %arg3: tensor<20xf32>, %arg4: tensor<i32>, %arg5: tensor<20xui32>, %arg6: tensor<20xui32>):
      %8 = "stablehlo.compare"(%arg4, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%8) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg7: tensor<6xf32>, %arg8: tensor<20xf32>, %arg9: tensor<i32>, %arg10: tensor<20xui32>, %arg11: tensor<20xui32>):
      %9:2 = "func.call"(%arg7, %arg8, %arg10, %arg11) <{callee = @closed_call}> : (tensor<6xf32>, tensor<20xf32>, tensor<20xui32>, tensor<20xui32>) -> (tensor<20xui32>, tensor<20xui32>)
      %10 = "stablehlo.add"(%arg9, %0) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%arg7, %arg8, %10, %9#0, %9#1) : (tensor<6xf32>, tensor<20xf32>, tensor<i32>, tensor<20xui32>, tensor<20xui32>) -> ()
    }) : (tensor<6xf32>, tensor<20xf32>, tensor<i32>, tensor<20xui32>, tensor<20xui32>) -> (tensor<6xf32>, tensor<20xf32>, tensor<i32>, tensor<20xui32>, tensor<20xui32>)
    %11 = "stablehlo.convert"(%7#4) : (tensor<20xui32>) -> tensor<20xi32>
    "func.return"(%11) : (tensor<20xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<6xf32>, tensor<20xf32>, tensor<20xui32>, tensor<20xui32>) -> (tensor<20xui32>, tensor<20xui32>), sym_name = "closed_call", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<6xf32>, %arg1: tensor<20xf32>, %arg2: tensor<20xui32>, %arg3: tensor<20xui32>):
    %0 = "stablehlo.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %3 = "stablehlo.subtract"(%arg3, %arg2) : (tensor<20xui32>, tensor<20xui32>) -> tensor<20xui32>
    %4 = "func.call"(%3, %2) <{callee = @floor_divide}> : (tensor<20xui32>, tensor<i32>) -> tensor<20xui32>
    %5 = "stablehlo.add"(%arg2, %4) : (tensor<20xui32>, tensor<20xui32>) -> tensor<20xui32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64: 0>}> : (tensor<20xui32>) -> tensor<20x1xui32>
    %7 = "stablehlo.gather"(%arg0, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<6xf32>, tensor<20x1xui32>) -> tensor<20x1xf32>
    %8 = "stablehlo.reshape"(%7) : (tensor<20x1xf32>) -> tensor<20xf32>
    %9 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<20xf32>
    %10 = "stablehlo.compare"(%arg1, %9) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<20xf32>, tensor<20xf32>) -> tensor<20xi1>
    %11 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<20xf32>
    %12 = "stablehlo.select"(%10, %11, %arg1) : (tensor<20xi1>, tensor<20xf32>, tensor<20xf32>) -> tensor<20xf32>
    %13 = "stablehlo.compare"(%arg1, %arg1) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<20xf32>, tensor<20xf32>) -> tensor<20xi1>
    %14 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<20xf32>
    %15 = "stablehlo.select"(%13, %14, %12) : (tensor<20xi1>, tensor<20xf32>, tensor<20xf32>) -> tensor<20xf32>
    %16 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<20xf32>
    %17 = "stablehlo.compare"(%8, %16) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<20xf32>, tensor<20xf32>) -> tensor<20xi1>
    %18 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<20xf32>
    %19 = "stablehlo.select"(%17, %18, %8) : (tensor<20xi1>, tensor<20xf32>, tensor<20xf32>) -> tensor<20xf32>
    %20 = "stablehlo.compare"(%8, %8) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<20xf32>, tensor<20xf32>) -> tensor<20xi1>
    %21 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<20xf32>
    %22 = "stablehlo.select"(%20, %21, %19) : (tensor<20xi1>, tensor<20xf32>, tensor<20xf32>) -> tensor<20xf32>
    %23 = "stablehlo.compare"(%15, %22) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<20xf32>, tensor<20xf32>) -> tensor<20xi1>
    %24 = "stablehlo.select"(%23, %arg2, %5) : (tensor<20xi1>, tensor<20xui32>, tensor<20xui32>) -> tensor<20xui32>
    %25 = "stablehlo.select"(%23, %5, %arg3) : (tensor<20xi1>, tensor<20xui32>, tensor<20xui32>) -> tensor<20xui32>
    "func.return"(%24, %25) : (tensor<20xui32>, tensor<20xui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<20xui32>, tensor<i32>) -> tensor<20xui32>, sym_name = "floor_divide", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<20xui32>, %arg1: tensor<i32>):
    %0 = "stablehlo.convert"(%arg1) : (tensor<i32>) -> tensor<ui32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<20xui32>
    %2 = "stablehlo.divide"(%arg0, %1) : (tensor<20xui32>, tensor<20xui32>) -> tensor<20xui32>
    "func.return"(%2) : (tensor<20xui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<20xi1>, tensor<i32>, tensor<20xi32>) -> tensor<20xi32>, sym_name = "_where_1", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<20xi1>, %arg1: tensor<i32>, %arg2: tensor<20xi32>):
    %0 = "stablehlo.convert"(%arg1) : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<20xi32>
    %2 = "stablehlo.select"(%arg0, %1, %arg2) : (tensor<20xi1>, tensor<20xi32>, tensor<20xi32>) -> tensor<20xi32>
    "func.return"(%2) : (tensor<20xi32>) -> ()
  }) : () -> ()
}) : () -> ()
