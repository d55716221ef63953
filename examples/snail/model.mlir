// A model of the hub's ops to try the chip with, one of them its own instruction. Any file that Transload reads can stand in its
// place.
"builtin.module"() ({
  "func.func"() <{sym_name = "main", function_type = (tensor<1x4x9x9xf32>) -> tensor<1x4x8x8xf32>, arg_attrs = [{ml_program.identifier = "x"}], res_attrs = [{ml_program.identifier = "y"}]}> ({
  ^bb0(%x: tensor<1x4x9x9xf32>):
    %0 = "top.MaxPool"(%x) <{kernel_shape = array<i64: 2, 2>}> : (tensor<1x4x9x9xf32>) -> tensor<1x4x8x8xf32> loc("pooled")
    %1 = "top.Softsign"(%0) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> loc("y")
    "func.return"(%1) : (tensor<1x4x8x8xf32>) -> ()
  }) : () -> ()
}) : () -> ()
