"builtin.module"() ({
  "func.func"() <{function_type = (tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>) -> tensor<1x5x2x4xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<1x5x2x4xf32>, %arg1: tensor<1x5x2x4xf32>, %arg2: tensor<1x5x2x4xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.constant"() <{value = dense<-2.3819763e+38> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %4 = "stablehlo.constant"() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
    %5 = "stablehlo.reshape"(%arg0) : (tensor<1x5x2x4xf32>) -> tensor<1x5x2x1x4xf32>
    %6 = "stablehlo.dot_general"(%5, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>}> : (tensor<1x5x2x1x4xf32>, tensor<1x5x2x4xf32>) -> tensor<1x2x5x1x5xf32>
    %7 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x2x5x1x5xf32>
    %8 = "stablehlo.multiply"(%6, %7) : (tensor<1x2x5x1x5xf32>, tensor<1x2x5x1x5xf32>) -> tensor<1x2x5x1x5xf32>
    %9 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<1x2x5x5xi1>
    %10 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<5x5xi1>
    %11 = "func.call"(%10) <{callee = @tril}> : (tensor<5x5xi1>) -> tensor<5x5xi1>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<5x5xi1>) -> tensor<1x1x5x5xi1>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x5x5xi1>) -> tensor<1x2x5x5xi1>
    %14 = "stablehlo.and"(%9, %13) : (tensor<1x2x5x5xi1>, tensor<1x2x5x5xi1>) -> tensor<1x2x5x5xi1>
    %15 = "func.call"(%14, %8, %2) <{callee = @_where}> : (tensor<1x2x5x5xi1>, tensor<1x2x5x1x5xf32>, tensor<f32>) -> tensor<1x1x2x5x5xf32>
    %16 = "stablehlo.reduce"(%15, %1) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %17 = "stablehlo.maximum"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%17) : (tensor<f32>) -> ()
    }) : (tensor<1x1x2x5x5xf32>, tensor<f32>) -> tensor<1x1x2x5xf32>
    %18 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x1x2x5xf32>
    %19 = "stablehlo.maximum"(%18, %16) : (tensor<1x1x2x5xf32>, tensor<1x1x2x5xf32>) -> tensor<1x1x2x5xf32>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x2x5xf32>) -> tensor<1x1x2x5x1xf32>
    %21 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x1x2x5x1xf32>) -> tensor<1x1x2x5x5xf32>
    %22 = "stablehlo.subtract"(%15, %21) : (tensor<1x1x2x5x5xf32>, tensor<1x1x2x5x5xf32>) -> tensor<1x1x2x5x5xf32>
    %23 = "stablehlo.exponential"(%22) : (tensor<1x1x2x5x5xf32>) -> tensor<1x1x2x5x5xf32>
    %24 = "stablehlo.reduce"(%23, %0) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %25 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%25) : (tensor<f32>) -> ()
    }) : (tensor<1x1x2x5x5xf32>, tensor<f32>) -> tensor<1x1x2x5xf32>
    %26 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x2x5xf32>) -> tensor<1x1x2x5x1xf32>
    %27 = "stablehlo.broadcast_in_dim"(%26) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x1x2x5x1xf32>) -> tensor<1x1x2x5x5xf32>
    %28 = "stablehlo.divide"(%23, %27) : (tensor<1x1x2x5x5xf32>, tensor<1x1x2x5x5xf32>) -> tensor<1x1x2x5x5xf32>
    %29 = "stablehlo.dot_general"(%arg2, %28) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [1, 2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>}> : (tensor<1x5x2x4xf32>, tensor<1x1x2x5x5xf32>) -> tensor<1x2x4x1x5xf32>
    %30 = "stablehlo.transpose"(%29) <{permutation = array<i64: 3, 0, 4, 1, 2>}> : (tensor<1x2x4x1x5xf32>) -> tensor<1x1x5x2x4xf32>
    %31 = "stablehlo.transpose"(%30) <{permutation = array<i64: 1, 2, 3, 0, 4>}> : (tensor<1x1x5x2x4xf32>) -> tensor<1x5x2x1x4xf32>
    %32 = "stablehlo.reshape"(%31) : (tensor<1x5x2x1x4xf32>) -> tensor<1x5x2x4xf32>
    "func.return"(%32) : (tensor<1x5x2x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<5x5xi1>) -> tensor<5x5xi1>, sym_name = "tril", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<5x5xi1>):
    %0 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<5x5xi32>
    %3 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<5x5xi32>
    %4 = "stablehlo.add"(%2, %3) : (tensor<5x5xi32>, tensor<5x5xi32>) -> tensor<5x5xi32>
    %5 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<5x5xi32>
    %6 = "stablehlo.compare"(%4, %5) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<5x5xi32>, tensor<5x5xi32>) -> tensor<5x5xi1>
    %7 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<5x5xi1>
    %8 = "stablehlo.select"(%6, %arg0, %7) : (tensor<5x5xi1>, tensor<5x5xi1>, tensor<5x5xi1>) -> tensor<5x5xi1>
    "func.return"(%8) : (tensor<5x5xi1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x2x5x5xi1>, tensor<1x2x5x1x5xf32>, tensor<f32>) -> tensor<1x1x2x5x5xf32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x2x5x5xi1>, %arg1: tensor<1x2x5x1x5xf32>, %arg2: tensor<f32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x2x5x5xf32>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<1x2x5x5xi1>) -> tensor<1x1x2x5x5xi1>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<1x2x5x5xf32>) -> tensor<1x1x2x5x5xf32>
    %3 = "stablehlo.transpose"(%arg1) <{permutation = array<i64: 3, 0, 1, 2, 4>}> : (tensor<1x2x5x1x5xf32>) -> tensor<1x1x2x5x5xf32>
    %4 = "stablehlo.select"(%1, %3, %2) : (tensor<1x1x2x5x5xi1>, tensor<1x1x2x5x5xf32>, tensor<1x1x2x5x5xf32>) -> tensor<1x1x2x5x5xf32>
    "func.return"(%4) : (tensor<1x1x2x5x5xf32>) -> ()
  }) : () -> ()
}) : () -> ()
