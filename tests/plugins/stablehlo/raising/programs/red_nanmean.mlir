"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x5x4xf32>) -> tensor<3x4xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x5x4xf32>):
    %0 = "func.call"(%arg0) <{callee = @nanmean}> : (tensor<3x5x4xf32>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x5x4xf32>) -> tensor<3x4xf32>, sym_name = "nanmean", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x5x4xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.compare"(%arg0, %arg0) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<3x5x4xf32>, tensor<3x5x4xf32>) -> tensor<3x5x4xi1>
    %2 = "stablehlo.not"(%1) : (tensor<3x5x4xi1>) -> tensor<3x5x4xi1>
    %3 = "stablehlo.convert"(%2) : (tensor<3x5x4xi1>) -> tensor<3x5x4xi32>
    %4 = "stablehlo.convert"(%3) : (tensor<3x5x4xi32>) -> tensor<3x5x4xf32>
    %5 = "stablehlo.reduce"(%4, %0) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %6 = "stablehlo.add"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%6) : (tensor<f32>) -> ()
    }) : (tensor<3x5x4xf32>, tensor<f32>) -> tensor<3x4xf32>
    %7 = "func.call"(%arg0) <{callee = @nansum}> : (tensor<3x5x4xf32>) -> tensor<3x4xf32>
    %8 = "stablehlo.divide"(%7, %5) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    "func.return"(%8) : (tensor<3x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x5x4xf32>) -> tensor<3x4xf32>, sym_name = "nansum", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x5x4xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.compare"(%arg0, %arg0) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<3x5x4xf32>, tensor<3x5x4xf32>) -> tensor<3x5x4xi1>
    %2 = "func.call"(%1, %0, %arg0) <{callee = @_where}> : (tensor<3x5x4xi1>, tensor<f32>, tensor<3x5x4xf32>) -> tensor<3x5x4xf32>
    %3 = "stablehlo.reduce"(%2, %0) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %4 = "stablehlo.add"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%4) : (tensor<f32>) -> ()
    }) : (tensor<3x5x4xf32>, tensor<f32>) -> tensor<3x4xf32>
    "func.return"(%3) : (tensor<3x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x5x4xi1>, tensor<f32>, tensor<3x5x4xf32>) -> tensor<3x5x4xf32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x5x4xi1>, %arg1: tensor<f32>, %arg2: tensor<3x5x4xf32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x5x4xf32>
    %1 = "stablehlo.select"(%arg0, %0, %arg2) : (tensor<3x5x4xi1>, tensor<3x5x4xf32>, tensor<3x5x4xf32>) -> tensor<3x5x4xf32>
    "func.return"(%1) : (tensor<3x5x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
