"builtin.module"() ({
  "func.func"() <{function_type = (tensor<f32>, tensor<f32>, tensor<i32>, tensor<i32>) -> tensor<i1>, sym_name = "top_k_gt_f32_comparator"}> ({
  ^bb0(%arg0: tensor<f32>, %arg1: tensor<f32>, %arg2: tensor<i32>, %arg3: tensor<i32>):
    %0 = "stablehlo.compare"(%arg0, %arg1) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "func.return"(%0) : (tensor<i1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x9xf32>) -> (tensor<3x3xf32>, tensor<3x3xi32>), sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x9xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<-1> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<3x9xi32>
    %3:2 = "stablehlo.custom_call"(%arg0, %2, %0, %1) <{call_target_name = "ApproxTopK", called_computations = [@top_k_gt_f32_comparator]}> {mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.949999988079071 : f32, reduction_dim = 1 : i64, reduction_input_size_override = -1 : i64, top_k = 3 : i64}} : (tensor<3x9xf32>, tensor<3x9xi32>, tensor<f32>, tensor<i32>) -> (tensor<3x3xf32>, tensor<3x3xi32>)
    "func.return"(%3#0, %3#1) : (tensor<3x3xf32>, tensor<3x3xi32>) -> ()
  }) : () -> ()
}) : () -> ()
