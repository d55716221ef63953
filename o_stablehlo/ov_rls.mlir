"builtin.module"() ({
  "func.func"() <{sym_name = "main", function_type = (tensor<3x4xi32>) -> tensor<3x1xi32>, arg_attrs = [{ml_program.identifier = "x"}], res_attrs = [{ml_program.identifier = "y"}]}> ({
  ^bb0(%arg0: tensor<3x4xi32> loc("x")):
    %0 = "stablehlo.convert"(%arg0) : (tensor<3x4xi32>) -> tensor<3x4xf64> loc(fused<"top.Reduce">["y"])
    %1 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f64>}> : () -> tensor<f64> loc(fused<"top.Reduce">["y"])
    %2 = "stablehlo.reduce"(%0, %1) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %3 = "stablehlo.add"(%arg1, %arg2) : (tensor<f64>, tensor<f64>) -> tensor<f64> loc(fused<"top.Reduce">["y"])
      "stablehlo.return"(%3) : (tensor<f64>) -> () loc(fused<"top.Reduce">["y"])
    }) : (tensor<3x4xf64>, tensor<f64>) -> tensor<3xf64> loc(fused<"top.Reduce">["y"])
    %4 = "stablehlo.reshape"(%2) : (tensor<3xf64>) -> tensor<3x1xf64> loc(fused<"top.Reduce">["y"])
    %5 = "stablehlo.log"(%4) : (tensor<3x1xf64>) -> tensor<3x1xf64> loc(fused<"top.Reduce">["y"])
    %6 = "stablehlo.convert"(%5) : (tensor<3x1xf64>) -> tensor<3x1xi32> loc("y")
    "func.return"(%6) : (tensor<3x1xi32>) -> ()
  }) : () -> ()
}) : () -> ()
