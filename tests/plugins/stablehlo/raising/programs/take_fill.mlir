"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x7xf32>, tensor<2x2xi32>) -> tensor<3x2x2xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x7xf32>, %arg1: tensor<2x2xi32>):
    %0 = "func.call"(%arg0, %arg1) <{callee = @_take}> : (tensor<3x7xf32>, tensor<2x2xi32>) -> tensor<3x2x2xf32>
    "func.return"(%0) : (tensor<3x2x2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x7xf32>, tensor<2x2xi32>) -> tensor<3x2x2xf32>, sym_name = "_take", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x7xf32>, %arg1: tensor<2x2xi32>):
    %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %2 = "stablehlo.constant"() <{value = dense<6> : tensor<1xi32>}> : () -> tensor<1xi32>
    %3 = "stablehlo.constant"() <{value = dense<7> : tensor<i32>}> : () -> tensor<i32>
    %4 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x2xi32>
    %6 = "stablehlo.compare"(%arg1, %5) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi1>
    %7 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x2xi32>
    %8 = "stablehlo.add"(%arg1, %7) : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
    %9 = "func.call"(%6, %8, %arg1) <{callee = @_where}> : (tensor<2x2xi1>, tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x2xi32>) -> tensor<2x2x1xi32>
    %11 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x2x1xi32>
    %12 = "stablehlo.compare"(%10, %11) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<2x2x1xi32>, tensor<2x2x1xi32>) -> tensor<2x2x1xi1>
    %13 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 2>}> : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x1xi32>) -> tensor<2x2x1xi32>
    %15 = "stablehlo.compare"(%10, %14) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<2x2x1xi32>, tensor<2x2x1xi32>) -> tensor<2x2x1xi1>
    %16 = "stablehlo.and"(%12, %15) : (tensor<2x2x1xi1>, tensor<2x2x1xi1>) -> tensor<2x2x1xi1>
    %17 = "stablehlo.reduce"(%16, %1) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg2: tensor<i1>, %arg3: tensor<i1>):
      %18 = "stablehlo.and"(%arg2, %arg3) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%18) : (tensor<i1>) -> ()
    }) : (tensor<2x2x1xi1>, tensor<i1>) -> tensor<2x2xi1>
    %19 = "stablehlo.gather"(%arg0, %10) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 3, 1>}> : (tensor<3x7xf32>, tensor<2x2x1xi32>) -> tensor<3x2x2xf32>
    %20 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<2x2xi1>) -> tensor<3x2x2xi1>
    %21 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x2x2xf32>
    %22 = "stablehlo.select"(%20, %19, %21) : (tensor<3x2x2xi1>, tensor<3x2x2xf32>, tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
    "func.return"(%22) : (tensor<3x2x2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x2xi1>, tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x2xi1>, %arg1: tensor<2x2xi32>, %arg2: tensor<2x2xi32>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<2x2xi1>, tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
    "func.return"(%0) : (tensor<2x2xi32>) -> ()
  }) : () -> ()
}) : () -> ()
