"builtin.module"() ({
  "func.func"() <{function_type = (tensor<6x2x3xf32>, tensor<3x16xf32>, tensor<4x16xf32>, tensor<16xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<6x2x4xf32>), sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<6x2x3xf32>, %arg1: tensor<3x16xf32>, %arg2: tensor<4x16xf32>, %arg3: tensor<16xf32>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<6> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %3 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4xf32>
    %5 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4xf32>
    %6 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6x2x4xf32>
    %7:8 = "stablehlo.while"(%arg0, %arg1, %arg2, %arg3, %2, %4, %5, %6) ({
    ^bb0(%arg4: tensor<6x2x3xf32>, %arg5: tensor<3x16xf32>, %arg6: tensor<4x16xf32>, %arg7: tensor<16xf32>, %arg8: tensor<i32>, %arg9: tensor<2x4xf32>, %arg10: tensor<2x4xf32>, %arg11: tensor<6x2x4xf32>):
      %8 = "stablehlo.compare"(%arg8, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%8) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg12: tensor<6x2x3xf32>, %arg13: tensor<3x16xf32>, %arg14: tensor<4x16xf32>, %arg15: tensor<16xf32>, %arg16: tensor<i32>, %arg17: tensor<2x4xf32>, %arg18: tensor<2x4xf32>, %arg19: tensor<6x2x4xf32>):
      %9 = "func.call"(%arg12, %arg16) <{callee = @dynamic_index_in_dim}> : (tensor<6x2x3xf32>, tensor<i32>) -> tensor<2x3xf32>
      %10:3 = "func.call"(%arg13, %arg14, %arg15, %arg17, %arg18, %9) <{callee = @closed_call}> : (tensor<3x16xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
      %11 = "func.call"(%arg19, %10#2, %arg16) <{callee = @dynamic_update_index_in_dim}> : (tensor<6x2x4xf32>, tensor<2x4xf32>, tensor<i32>) -> tensor<6x2x4xf32>
      %12 = "stablehlo.add"(%arg16, %0) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%arg12, %arg13, %arg14, %arg15, %12, %10#0, %10#1, %11) : (tensor<6x2x3xf32>, tensor<3x16xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<i32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<6x2x4xf32>) -> ()
    }) : (tensor<6x2x3xf32>, tensor<3x16xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<i32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<6x2x4xf32>) -> (tensor<6x2x3xf32>, tensor<3x16xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<i32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<6x2x4xf32>)
    "func.return"(%7#5, %7#6, %7#7) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<6x2x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<6x2x3xf32>, tensor<i32>) -> tensor<2x3xf32>, sym_name = "dynamic_index_in_dim", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<6x2x3xf32>, %arg1: tensor<i32>):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.dynamic_slice"(%arg0, %arg1, %0, %0) <{slice_sizes = array<i64: 1, 2, 3>}> : (tensor<6x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf32>
    %2 = "stablehlo.reshape"(%1) : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
    "func.return"(%2) : (tensor<2x3xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x16xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>), sym_name = "closed_call", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x16xf32>, %arg1: tensor<4x16xf32>, %arg2: tensor<16xf32>, %arg3: tensor<2x4xf32>, %arg4: tensor<2x4xf32>, %arg5: tensor<2x3xf32>):
    %0 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.dot_general"(%arg5, %arg0) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x16xf32>) -> tensor<2x16xf32>
    %2 = "stablehlo.dot_general"(%arg3, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x4xf32>, tensor<4x16xf32>) -> tensor<2x16xf32>
    %3 = "stablehlo.add"(%1, %2) : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
    %4 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64: 1>}> : (tensor<16xf32>) -> tensor<1x16xf32>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x16xf32>) -> tensor<2x16xf32>
    %6 = "stablehlo.add"(%3, %5) : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
    %7 = "stablehlo.slice"(%6) <{limit_indices = array<i64: 2, 4>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<2x16xf32>) -> tensor<2x4xf32>
    %8 = "stablehlo.slice"(%6) <{limit_indices = array<i64: 2, 8>, start_indices = array<i64: 0, 4>, strides = array<i64: 1, 1>}> : (tensor<2x16xf32>) -> tensor<2x4xf32>
    %9 = "stablehlo.slice"(%6) <{limit_indices = array<i64: 2, 12>, start_indices = array<i64: 0, 8>, strides = array<i64: 1, 1>}> : (tensor<2x16xf32>) -> tensor<2x4xf32>
    %10 = "stablehlo.slice"(%6) <{limit_indices = array<i64: 2, 16>, start_indices = array<i64: 0, 12>, strides = array<i64: 1, 1>}> : (tensor<2x16xf32>) -> tensor<2x4xf32>
    %11 = "stablehlo.negate"(%8) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %12 = "stablehlo.exponential"(%11) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %13 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4xf32>
    %14 = "stablehlo.add"(%13, %12) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %15 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4xf32>
    %16 = "stablehlo.divide"(%15, %14) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %17 = "stablehlo.multiply"(%16, %arg4) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %18 = "stablehlo.negate"(%7) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %19 = "stablehlo.exponential"(%18) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %20 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4xf32>
    %21 = "stablehlo.add"(%20, %19) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %22 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4xf32>
    %23 = "stablehlo.divide"(%22, %21) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %24 = "stablehlo.tanh"(%9) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %25 = "stablehlo.multiply"(%23, %24) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %26 = "stablehlo.add"(%17, %25) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %27 = "stablehlo.negate"(%10) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %28 = "stablehlo.exponential"(%27) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %29 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4xf32>
    %30 = "stablehlo.add"(%29, %28) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %31 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4xf32>
    %32 = "stablehlo.divide"(%31, %30) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %33 = "stablehlo.tanh"(%26) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %34 = "stablehlo.multiply"(%32, %33) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    "func.return"(%34, %26, %34) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<6x2x4xf32>, tensor<2x4xf32>, tensor<i32>) -> tensor<6x2x4xf32>, sym_name = "dynamic_update_index_in_dim", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<6x2x4xf32>, %arg1: tensor<2x4xf32>, %arg2: tensor<i32>):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
    %2 = "stablehlo.dynamic_update_slice"(%arg0, %1, %arg2, %0, %0) : (tensor<6x2x4xf32>, tensor<1x2x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<6x2x4xf32>
    "func.return"(%2) : (tensor<6x2x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
