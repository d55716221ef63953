"builtin.module"() ({
  "func.func"() <{function_type = (tensor<9xf32>, tensor<5xf32>) -> tensor<5xi32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<9xf32>, %arg1: tensor<5xf32>):
    %0 = "func.call"(%arg0, %arg1) <{callee = @searchsorted}> : (tensor<9xf32>, tensor<5xf32>) -> tensor<5xi32>
    "func.return"(%0) : (tensor<5xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<9xf32>, tensor<5xf32>) -> tensor<5xi32>, sym_name = "searchsorted", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<9xf32>, %arg1: tensor<5xf32>):
    %0 = "func.call"(%arg0, %arg1) <{callee = @_searchsorted_scan_impl}> : (tensor<9xf32>, tensor<5xf32>) -> tensor<5xi32>
    "func.return"(%0) : (tensor<5xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<9xf32>, tensor<5xf32>) -> tensor<5xi32>, sym_name = "_searchsorted_scan_impl", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<9xf32>, %arg1: tensor<5xf32>):
    %0 = "func.call"(%arg0, %arg1) <{callee = @_searchsorted_scan_impl_0}> : (tensor<9xf32>, tensor<5xf32>) -> tensor<5xi32>
    "func.return"(%0) : (tensor<5xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<9xf32>, tensor<5xf32>) -> tensor<5xi32>, sym_name = "_searchsorted_scan_impl_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<9xf32>, %arg1: tensor<5xf32>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %3 = "stablehlo.constant"() <{value = dense<9> : tensor<ui32>}> : () -> tensor<ui32>
    %4 = "stablehlo.constant"() <{value = dense<0> : tensor<ui32>}> : () -> tensor<ui32>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<5xui32>
    %6 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<5xui32>
    %7:5 = "stablehlo.while"(%arg0, %arg1, %2, %5, %6) ({
    ^bb0(%arg2: tensor<9xf32>, %arg3: tensor<5xf32>, %arg4: tensor<i32>, %arg5: tensor<5xui32>, %arg6: tensor<5xui32>):
      %8 = "stablehlo.compare"(%arg4, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%8) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg7: tensor<9xf32>, %arg8: tensor<5xf32>, %arg9: tensor<i32>, %arg10: tensor<5xui32>, %arg11: tensor<5xui32>):
      %9:2 = "func.call"(%arg7, %arg8, %arg10, %arg11) <{callee = @closed_call}> : (tensor<9xf32>, tensor<5xf32>, tensor<5xui32>, tensor<5xui32>) -> (tensor<5xui32>, tensor<5xui32>)
      %10 = "stablehlo.add"(%arg9, %0) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%arg7, %arg8, %10, %9#0, %9#1) : (tensor<9xf32>, tensor<5xf32>, tensor<i32>, tensor<5xui32>, tensor<5xui32>) -> ()
    }) : (tensor<9xf32>, tensor<5xf32>, tensor<i32>, tensor<5xui32>, tensor<5xui32>) -> (tensor<9xf32>, tensor<5xf32>, tensor<i32>, tensor<5xui32>, tensor<5xui32>)
    %11 = "stablehlo.convert"(%7#4) : (tensor<5xui32>) -> tensor<5xi32>
    "func.return"(%11) : (tensor<5xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<9xf32>, tensor<5xf32>, tensor<5xui32>, tensor<5xui32>) -> (tensor<5xui32>, tensor<5xui32>), sym_name = "closed_call", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<9xf32>, %arg1: tensor<5xf32>, %arg2: tensor<5xui32>, %arg3: tensor<5xui32>):
    %0 = "stablehlo.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %3 = "stablehlo.subtract"(%arg3, %arg2) : (tensor<5xui32>, tensor<5xui32>) -> tensor<5xui32>
    %4 = "func.call"(%3, %2) <{callee = @floor_divide}> : (tensor<5xui32>, tensor<i32>) -> tensor<5xui32>
    %5 = "stablehlo.add"(%arg2, %4) : (tensor<5xui32>, tensor<5xui32>) -> tensor<5xui32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64: 0>}> : (tensor<5xui32>) -> tensor<5x1xui32>
    %7 = "stablehlo.gather"(%arg0, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<9xf32>, tensor<5x1xui32>) -> tensor<5x1xf32>
    %8 = "stablehlo.reshape"(%7) : (tensor<5x1xf32>) -> tensor<5xf32>
    %9 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %10 = "stablehlo.compare"(%arg1, %9) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %11 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %12 = "stablehlo.select"(%10, %11, %arg1) : (tensor<5xi1>, tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %13 = "stablehlo.compare"(%arg1, %arg1) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %14 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %15 = "stablehlo.select"(%13, %14, %12) : (tensor<5xi1>, tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %16 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %17 = "stablehlo.compare"(%8, %16) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %18 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %19 = "stablehlo.select"(%17, %18, %8) : (tensor<5xi1>, tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %20 = "stablehlo.compare"(%8, %8) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %21 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %22 = "stablehlo.select"(%20, %21, %19) : (tensor<5xi1>, tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %23 = "stablehlo.compare"(%15, %22) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %24 = "stablehlo.select"(%23, %arg2, %5) : (tensor<5xi1>, tensor<5xui32>, tensor<5xui32>) -> tensor<5xui32>
    %25 = "stablehlo.select"(%23, %5, %arg3) : (tensor<5xi1>, tensor<5xui32>, tensor<5xui32>) -> tensor<5xui32>
    "func.return"(%24, %25) : (tensor<5xui32>, tensor<5xui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<5xui32>, tensor<i32>) -> tensor<5xui32>, sym_name = "floor_divide", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<5xui32>, %arg1: tensor<i32>):
    %0 = "stablehlo.convert"(%arg1) : (tensor<i32>) -> tensor<ui32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<5xui32>
    %2 = "stablehlo.divide"(%arg0, %1) : (tensor<5xui32>, tensor<5xui32>) -> tensor<5xui32>
    "func.return"(%2) : (tensor<5xui32>) -> ()
  }) : () -> ()
}) : () -> ()
