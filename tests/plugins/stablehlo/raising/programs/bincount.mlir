"builtin.module"() ({
  "func.func"() <{function_type = (tensor<12xi32>) -> tensor<6xi32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<12xi32>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<6> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %4 = "func.call"(%arg0, %2) <{callee = @clip}> : (tensor<12xi32>, tensor<i32>) -> tensor<12xi32>
    %5 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<12xi32>
    %6 = "stablehlo.compare"(%4, %5) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi1>
    %7 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<12xi32>
    %8 = "stablehlo.add"(%4, %7) : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi32>
    %9 = "stablehlo.select"(%6, %8, %4) : (tensor<12xi1>, tensor<12xi32>, tensor<12xi32>) -> tensor<12xi32>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64: 0>}> : (tensor<12xi32>) -> tensor<12x1xi32>
    %11 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<12xi32>
    %12 = "stablehlo.scatter"(%3, %10, %11) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %13 = "stablehlo.add"(%arg1, %arg2) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%13) : (tensor<i32>) -> ()
    }) : (tensor<6xi32>, tensor<12x1xi32>, tensor<12xi32>) -> tensor<6xi32>
    "func.return"(%12) : (tensor<6xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<12xi32>, tensor<i32>) -> tensor<12xi32>, sym_name = "clip", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<12xi32>, %arg1: tensor<i32>):
    %0 = "stablehlo.convert"(%arg1) : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<12xi32>
    %2 = "stablehlo.maximum"(%1, %arg0) : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi32>
    "func.return"(%2) : (tensor<12xi32>) -> ()
  }) : () -> ()
}) : () -> ()
