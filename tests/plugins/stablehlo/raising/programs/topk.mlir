"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x9xf32>) -> (tensor<3x3xf32>, tensor<3x3xi32>), sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x9xf32>):
    %0:2 = "stablehlo.composite"(%arg0) <{composite_attributes = {k = 3 : i64}, decomposition = @chlo.top_k.impl, name = "chlo.top_k", version = 1 : i32}> : (tensor<3x9xf32>) -> (tensor<3x3xf32>, tensor<3x3xi32>)
    "func.return"(%0#0, %0#1) : (tensor<3x3xf32>, tensor<3x3xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x9xf32>) -> (tensor<3x3xf32>, tensor<3x3xi32>), sym_name = "chlo.top_k.impl", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x9xf32>):
    %0 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<3x9xi32>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i32>):
      %2 = "stablehlo.compare"(%arg1, %arg2) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%2) : (tensor<i1>) -> ()
    }) : (tensor<3x9xf32>, tensor<3x9xi32>) -> (tensor<3x9xf32>, tensor<3x9xi32>)
    %3 = "stablehlo.slice"(%1#0) <{limit_indices = array<i64: 3, 3>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<3x9xf32>) -> tensor<3x3xf32>
    %4 = "stablehlo.slice"(%1#1) <{limit_indices = array<i64: 3, 3>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<3x9xi32>) -> tensor<3x3xi32>
    "func.return"(%3, %4) : (tensor<3x3xf32>, tensor<3x3xi32>) -> ()
  }) : () -> ()
}) : () -> ()
