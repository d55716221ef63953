"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x5xf32>) -> tensor<7x8xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4x5xf32>):
    %0 = "func.call"(%arg0) <{callee = @_pad}> : (tensor<4x5xf32>) -> tensor<7x8xf32>
    "func.return"(%0) : (tensor<7x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x5xf32>) -> tensor<7x8xf32>, sym_name = "_pad", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4x5xf32>):
    %0 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 1, 5>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x5xf32>) -> tensor<1x5xf32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<1x5xf32>) -> tensor<1x1x5xf32>
    %2 = "stablehlo.reshape"(%1) : (tensor<1x1x5xf32>) -> tensor<1x5xf32>
    %3 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 4, 5>, start_indices = array<i64: 3, 0>, strides = array<i64: 1, 1>}> : (tensor<4x5xf32>) -> tensor<1x5xf32>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<1x5xf32>) -> tensor<1x2x5xf32>
    %5 = "stablehlo.reshape"(%4) : (tensor<1x2x5xf32>) -> tensor<2x5xf32>
    %6 = "stablehlo.concatenate"(%2, %arg0, %5) <{dimension = 0 : i64}> : (tensor<1x5xf32>, tensor<4x5xf32>, tensor<2x5xf32>) -> tensor<7x5xf32>
    %7 = "stablehlo.slice"(%6) <{limit_indices = array<i64: 7, 1>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<7x5xf32>) -> tensor<7x1xf32>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<7x1xf32>) -> tensor<7x1x0xf32>
    %9 = "stablehlo.reshape"(%8) : (tensor<7x1x0xf32>) -> tensor<7x0xf32>
    %10 = "stablehlo.slice"(%6) <{limit_indices = array<i64: 7, 5>, start_indices = array<i64: 0, 4>, strides = array<i64: 1, 1>}> : (tensor<7x5xf32>) -> tensor<7x1xf32>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<7x1xf32>) -> tensor<7x1x3xf32>
    %12 = "stablehlo.reshape"(%11) : (tensor<7x1x3xf32>) -> tensor<7x3xf32>
    %13 = "stablehlo.concatenate"(%9, %6, %12) <{dimension = 1 : i64}> : (tensor<7x0xf32>, tensor<7x5xf32>, tensor<7x3xf32>) -> tensor<7x8xf32>
    "func.return"(%13) : (tensor<7x8xf32>) -> ()
  }) : () -> ()
}) : () -> ()
