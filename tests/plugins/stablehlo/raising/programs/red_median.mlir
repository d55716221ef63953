"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x5x4xf32>) -> tensor<3x4xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x5x4xf32>):
    %0 = "func.call"(%arg0) <{callee = @median}> : (tensor<3x5x4xf32>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x5x4xf32>) -> tensor<3x4xf32>, sym_name = "median", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x5x4xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
    %1 = "func.call"(%arg0, %0) <{callee = @quantile}> : (tensor<3x5x4xf32>, tensor<f32>) -> tensor<3x4xf32>
    "func.return"(%1) : (tensor<3x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x5x4xf32>, tensor<f32>) -> tensor<3x4xf32>, sym_name = "quantile", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x5x4xf32>, %arg1: tensor<f32>):
    %0 = "stablehlo.constant"() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.constant"() <{value = dense<5.0> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %4 = "stablehlo.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32>
    %5 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %6 = "stablehlo.compare"(%arg0, %arg0) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<3x5x4xf32>, tensor<3x5x4xf32>) -> tensor<3x5x4xi1>
    %7 = "stablehlo.reduce"(%6, %5) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg2: tensor<i1>, %arg3: tensor<i1>):
      %8 = "stablehlo.or"(%arg2, %arg3) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%8) : (tensor<i1>) -> ()
    }) : (tensor<3x5x4xi1>, tensor<i1>) -> tensor<3x4xi1>
    %9 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<3x4xi1>) -> tensor<3x1x4xi1>
    %10 = "func.call"(%9, %4, %arg0) <{callee = @_where}> : (tensor<3x1x4xi1>, tensor<f32>, tensor<3x5x4xf32>) -> tensor<3x5x4xf32>
    %11 = "stablehlo.sort"(%10) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %12 = "stablehlo.compare"(%arg4, %3) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %13 = "stablehlo.select"(%12, %3, %arg4) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %14 = "stablehlo.compare"(%arg4, %arg4) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %15 = "stablehlo.select"(%14, %4, %13) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %16 = "stablehlo.compare"(%arg5, %3) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %17 = "stablehlo.select"(%16, %3, %arg5) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %18 = "stablehlo.compare"(%arg5, %arg5) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %19 = "stablehlo.select"(%18, %4, %17) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %20 = "stablehlo.compare"(%15, %19) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%20) : (tensor<i1>) -> ()
    }) : (tensor<3x5x4xf32>) -> tensor<3x5x4xf32>
    %21 = "stablehlo.subtract"(%2, %1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %22 = "stablehlo.multiply"(%arg1, %21) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %23 = "stablehlo.floor"(%22) : (tensor<f32>) -> tensor<f32>
    %24 = "stablehlo.ceil"(%22) : (tensor<f32>) -> tensor<f32>
    %25 = "stablehlo.subtract"(%2, %1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %26 = "stablehlo.clamp"(%3, %23, %25) : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %27 = "stablehlo.subtract"(%2, %1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %28 = "stablehlo.clamp"(%3, %24, %27) : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %29 = "stablehlo.convert"(%26) : (tensor<f32>) -> tensor<i32>
    %30 = "stablehlo.convert"(%28) : (tensor<f32>) -> tensor<i32>
    %31 = "stablehlo.broadcast_in_dim"(%29) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1xi32>
    %32 = "stablehlo.gather"(%11, %31) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], collapsed_slice_dims = [1], start_index_map = [1]>, slice_sizes = array<i64: 3, 1, 4>}> : (tensor<3x5x4xf32>, tensor<1xi32>) -> tensor<3x4xf32>
    %33 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1xi32>
    %34 = "stablehlo.gather"(%11, %33) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], collapsed_slice_dims = [1], start_index_map = [1]>, slice_sizes = array<i64: 3, 1, 4>}> : (tensor<3x5x4xf32>, tensor<1xi32>) -> tensor<3x4xf32>
    %35 = "stablehlo.add"(%32, %34) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %36 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x4xf32>
    %37 = "stablehlo.multiply"(%35, %36) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    "func.return"(%37) : (tensor<3x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x1x4xi1>, tensor<f32>, tensor<3x5x4xf32>) -> tensor<3x5x4xf32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x1x4xi1>, %arg1: tensor<f32>, %arg2: tensor<3x5x4xf32>):
    %0 = "stablehlo.convert"(%arg1) : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<3x1x4xi1>) -> tensor<3x5x4xi1>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x5x4xf32>
    %3 = "stablehlo.select"(%1, %2, %arg2) : (tensor<3x5x4xi1>, tensor<3x5x4xf32>, tensor<3x5x4xf32>) -> tensor<3x5x4xf32>
    "func.return"(%3) : (tensor<3x5x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
