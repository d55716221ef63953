"builtin.module"() ({
  "func.func"() <{function_type = (tensor<6x3xf32>) -> (tensor<3xf32>, tensor<6x3xf32>), sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<6x3xf32>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<6> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %3 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %5 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6x3xf32>
    %6:4 = "stablehlo.while"(%arg0, %2, %4, %5) ({
    ^bb0(%arg1: tensor<6x3xf32>, %arg2: tensor<i32>, %arg3: tensor<3xf32>, %arg4: tensor<6x3xf32>):
      %7 = "stablehlo.compare"(%arg2, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%7) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg5: tensor<6x3xf32>, %arg6: tensor<i32>, %arg7: tensor<3xf32>, %arg8: tensor<6x3xf32>):
      %8 = "stablehlo.subtract"(%1, %arg6) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %9 = "stablehlo.subtract"(%8, %0) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %10 = "func.call"(%arg5, %9) <{callee = @dynamic_index_in_dim}> : (tensor<6x3xf32>, tensor<i32>) -> tensor<3xf32>
      %11:2 = "func.call"(%arg7, %10) <{callee = @closed_call}> : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
      %12 = "func.call"(%arg8, %11#1, %9) <{callee = @dynamic_update_index_in_dim}> : (tensor<6x3xf32>, tensor<3xf32>, tensor<i32>) -> tensor<6x3xf32>
      %13 = "stablehlo.add"(%arg6, %0) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%arg5, %13, %11#0, %12) : (tensor<6x3xf32>, tensor<i32>, tensor<3xf32>, tensor<6x3xf32>) -> ()
    }) : (tensor<6x3xf32>, tensor<i32>, tensor<3xf32>, tensor<6x3xf32>) -> (tensor<6x3xf32>, tensor<i32>, tensor<3xf32>, tensor<6x3xf32>)
    "func.return"(%6#2, %6#3) : (tensor<3xf32>, tensor<6x3xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<6x3xf32>, tensor<i32>) -> tensor<3xf32>, sym_name = "dynamic_index_in_dim", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<6x3xf32>, %arg1: tensor<i32>):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.dynamic_slice"(%arg0, %arg1, %0) <{slice_sizes = array<i64: 1, 3>}> : (tensor<6x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
    %2 = "stablehlo.reshape"(%1) : (tensor<1x3xf32>) -> tensor<3xf32>
    "func.return"(%2) : (tensor<3xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>), sym_name = "closed_call", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>):
    %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %1 = "stablehlo.multiply"(%arg0, %arg1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    "func.return"(%0, %1) : (tensor<3xf32>, tensor<3xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<6x3xf32>, tensor<3xf32>, tensor<i32>) -> tensor<6x3xf32>, sym_name = "dynamic_update_index_in_dim", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<6x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<i32>):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>) -> tensor<1x3xf32>
    %2 = "stablehlo.dynamic_update_slice"(%arg0, %1, %arg2, %0) : (tensor<6x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<6x3xf32>
    "func.return"(%2) : (tensor<6x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()
