"builtin.module"() ({
  "func.func"() <{function_type = (tensor<1x8x2x4xf32>, tensor<1x1x2x4xf32>, tensor<i32>) -> tensor<1x8x2x4xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<1x8x2x4xf32>, %arg1: tensor<1x1x2x4xf32>, %arg2: tensor<i32>):
    %0 = "stablehlo.constant"() <{value = dense<8> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.compare"(%arg2, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = "stablehlo.add"(%arg2, %0) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %4 = "stablehlo.select"(%2, %3, %arg2) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %5 = "stablehlo.dynamic_update_slice"(%arg0, %arg1, %1, %4, %1, %1) : (tensor<1x8x2x4xf32>, tensor<1x1x2x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x2x4xf32>
    "func.return"(%5) : (tensor<1x8x2x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
