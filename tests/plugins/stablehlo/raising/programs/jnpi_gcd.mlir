"builtin.module"() ({
  "func.func"() <{function_type = (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<6xi32>, %arg1: tensor<6xi32>):
    %0 = "func.call"(%arg0, %arg1) <{callee = @gcd}> : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    "func.return"(%0) : (tensor<6xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>, sym_name = "gcd", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<6xi32>, %arg1: tensor<6xi32>):
    %0 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.abs"(%arg0) : (tensor<6xi32>) -> tensor<6xi32>
    %3 = "stablehlo.abs"(%arg1) : (tensor<6xi32>) -> tensor<6xi32>
    %4:2 = "stablehlo.while"(%2, %3) ({
    ^bb0(%arg2: tensor<6xi32>, %arg3: tensor<6xi32>):
      %5 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
      %6 = "stablehlo.compare"(%arg3, %5) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
      %7 = "stablehlo.reduce"(%6, %0) <{dimensions = array<i64: 0>}> ({
      ^bb0(%arg4: tensor<i1>, %arg5: tensor<i1>):
        %8 = "stablehlo.or"(%arg4, %arg5) : (tensor<i1>, tensor<i1>) -> tensor<i1>
        "stablehlo.return"(%8) : (tensor<i1>) -> ()
      }) : (tensor<6xi1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%7) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg6: tensor<6xi32>, %arg7: tensor<6xi32>):
      %9 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
      %10 = "stablehlo.compare"(%arg7, %9) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
      %11 = "func.call"(%10, %arg7, %arg6) <{callee = @_where}> : (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
      %12 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
      %13 = "stablehlo.compare"(%arg7, %12) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
      %14 = "stablehlo.remainder"(%arg6, %arg7) : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
      %15 = "func.call"(%13, %14, %1) <{callee = @_where_0}> : (tensor<6xi1>, tensor<6xi32>, tensor<i32>) -> tensor<6xi32>
      %16 = "stablehlo.compare"(%11, %15) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
      %17 = "func.call"(%16, %15, %11) <{callee = @_where}> : (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
      %18 = "stablehlo.compare"(%11, %15) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
      %19 = "func.call"(%18, %11, %15) <{callee = @_where}> : (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
      "stablehlo.return"(%17, %19) : (tensor<6xi32>, tensor<6xi32>) -> ()
    }) : (tensor<6xi32>, tensor<6xi32>) -> (tensor<6xi32>, tensor<6xi32>)
    "func.return"(%4#0) : (tensor<6xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<6xi1>, %arg1: tensor<6xi32>, %arg2: tensor<6xi32>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    "func.return"(%0) : (tensor<6xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<6xi1>, tensor<6xi32>, tensor<i32>) -> tensor<6xi32>, sym_name = "_where_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<6xi1>, %arg1: tensor<6xi32>, %arg2: tensor<i32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %1 = "stablehlo.select"(%arg0, %arg1, %0) : (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    "func.return"(%1) : (tensor<6xi32>) -> ()
  }) : () -> ()
}) : () -> ()
