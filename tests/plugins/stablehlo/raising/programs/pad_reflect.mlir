"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x5xf32>) -> tensor<7x8xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4x5xf32>):
    %0 = "func.call"(%arg0) <{callee = @_pad}> : (tensor<4x5xf32>) -> tensor<7x8xf32>
    "func.return"(%0) : (tensor<7x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x5xf32>) -> tensor<7x8xf32>, sym_name = "_pad", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4x5xf32>):
    %0 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 2, 5>, start_indices = array<i64: 1, 0>, strides = array<i64: 1, 1>}> : (tensor<4x5xf32>) -> tensor<1x5xf32>
    %1 = "func.call"(%0) <{callee = @_flip}> : (tensor<1x5xf32>) -> tensor<1x5xf32>
    %2 = "stablehlo.concatenate"(%1, %arg0) <{dimension = 0 : i64}> : (tensor<1x5xf32>, tensor<4x5xf32>) -> tensor<5x5xf32>
    %3 = "stablehlo.slice"(%2) <{limit_indices = array<i64: 4, 5>, start_indices = array<i64: 2, 0>, strides = array<i64: 1, 1>}> : (tensor<5x5xf32>) -> tensor<2x5xf32>
    %4 = "func.call"(%3) <{callee = @_flip_0}> : (tensor<2x5xf32>) -> tensor<2x5xf32>
    %5 = "stablehlo.concatenate"(%2, %4) <{dimension = 0 : i64}> : (tensor<5x5xf32>, tensor<2x5xf32>) -> tensor<7x5xf32>
    %6 = "stablehlo.slice"(%5) <{limit_indices = array<i64: 7, 4>, start_indices = array<i64: 0, 1>, strides = array<i64: 1, 1>}> : (tensor<7x5xf32>) -> tensor<7x3xf32>
    %7 = "func.call"(%6) <{callee = @_flip_1}> : (tensor<7x3xf32>) -> tensor<7x3xf32>
    %8 = "stablehlo.concatenate"(%5, %7) <{dimension = 1 : i64}> : (tensor<7x5xf32>, tensor<7x3xf32>) -> tensor<7x8xf32>
    "func.return"(%8) : (tensor<7x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x5xf32>) -> tensor<1x5xf32>, sym_name = "_flip", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x5xf32>):
    %0 = "stablehlo.reverse"(%arg0) <{dimensions = array<i64: 0>}> : (tensor<1x5xf32>) -> tensor<1x5xf32>
    "func.return"(%0) : (tensor<1x5xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x5xf32>) -> tensor<2x5xf32>, sym_name = "_flip_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x5xf32>):
    %0 = "stablehlo.reverse"(%arg0) <{dimensions = array<i64: 0>}> : (tensor<2x5xf32>) -> tensor<2x5xf32>
    "func.return"(%0) : (tensor<2x5xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<7x3xf32>) -> tensor<7x3xf32>, sym_name = "_flip_1", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<7x3xf32>):
    %0 = "stablehlo.reverse"(%arg0) <{dimensions = array<i64: 1>}> : (tensor<7x3xf32>) -> tensor<7x3xf32>
    "func.return"(%0) : (tensor<7x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()
