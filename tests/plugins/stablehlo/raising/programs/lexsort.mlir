"builtin.module"() ({
  "func.func"() <{function_type = (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<12xi32>, %arg1: tensor<12xi32>):
    %0 = "func.call"(%arg0, %arg1) <{callee = @lexsort}> : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi32>
    "func.return"(%0) : (tensor<12xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi32>, sym_name = "lexsort", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<12xi32>, %arg1: tensor<12xi32>):
    %0 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<12xi32>
    %1:3 = "stablehlo.sort"(%arg1, %arg0, %0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>, %arg5: tensor<i32>, %arg6: tensor<i32>, %arg7: tensor<i32>):
      %2 = "stablehlo.compare"(%arg4, %arg5) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %3 = "stablehlo.compare"(%arg2, %arg3) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %4 = "stablehlo.compare"(%arg2, %arg3) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %5 = "stablehlo.and"(%4, %2) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %6 = "stablehlo.or"(%3, %5) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%6) : (tensor<i1>) -> ()
    }) : (tensor<12xi32>, tensor<12xi32>, tensor<12xi32>) -> (tensor<12xi32>, tensor<12xi32>, tensor<12xi32>)
    "func.return"(%1#2) : (tensor<12xi32>) -> ()
  }) : () -> ()
}) : () -> ()
