"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x5xf32>) -> tensor<4xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4x5xf32>):
    %0 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 4, 4>, start_indices = array<i64: 0, 3>, strides = array<i64: 1, 1>}> : (tensor<4x5xf32>) -> tensor<4x1xf32>
    %1 = "stablehlo.reverse"(%0) <{dimensions = array<i64: 0>}> : (tensor<4x1xf32>) -> tensor<4x1xf32>
    %2 = "stablehlo.reshape"(%1) : (tensor<4x1xf32>) -> tensor<4xf32>
    "func.return"(%2) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
