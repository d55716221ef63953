"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x7xf32>, tensor<2x4xi32>) -> tensor<3x2x4xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x7xf32>, %arg1: tensor<2x4xi32>):
    %0 = "stablehlo.constant"() <{value = dense<7> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x4xi32>
    %3 = "stablehlo.compare"(%arg1, %2) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %4 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x4xi32>
    %5 = "stablehlo.add"(%arg1, %4) : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi32>
    %6 = "stablehlo.select"(%3, %5, %arg1) : (tensor<2x4xi1>, tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi32>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x4xi32>) -> tensor<2x4x1xi32>
    %8 = "stablehlo.gather"(%arg0, %7) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 3, 1>}> : (tensor<3x7xf32>, tensor<2x4x1xi32>) -> tensor<3x2x4xf32>
    "func.return"(%8) : (tensor<3x2x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
