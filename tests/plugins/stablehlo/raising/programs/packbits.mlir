"builtin.module"() ({
  "func.func"() <{function_type = (tensor<16xui8>) -> tensor<2xui8>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<16xui8>):
    %0 = "func.call"(%arg0) <{callee = @packbits}> : (tensor<16xui8>) -> tensor<2xui8>
    "func.return"(%0) : (tensor<2xui8>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<16xui8>) -> tensor<2xui8>, sym_name = "packbits", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<16xui8>):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<ui32>}> : () -> tensor<ui32>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<ui8>}> : () -> tensor<ui8>
    %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<16xui8>
    %3 = "stablehlo.compare"(%arg0, %2) <{compare_type = #stablehlo<comparison_type UNSIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<16xui8>, tensor<16xui8>) -> tensor<16xi1>
    %4 = "stablehlo.convert"(%3) : (tensor<16xi1>) -> tensor<16xui8>
    %5 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<8xui8>
    %6 = "stablehlo.reverse"(%5) <{dimensions = array<i64: 0>}> : (tensor<8xui8>) -> tensor<8xui8>
    %7 = "stablehlo.reshape"(%4) : (tensor<16xui8>) -> tensor<2x8xui8>
    %8 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 1>}> : (tensor<8xui8>) -> tensor<1x8xui8>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x8xui8>) -> tensor<2x8xui8>
    %10 = "stablehlo.shift_left"(%7, %9) : (tensor<2x8xui8>, tensor<2x8xui8>) -> tensor<2x8xui8>
    %11 = "stablehlo.convert"(%10) : (tensor<2x8xui8>) -> tensor<2x8xui32>
    %12 = "stablehlo.reduce"(%11, %0) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg1: tensor<ui32>, %arg2: tensor<ui32>):
      %13 = "stablehlo.add"(%arg1, %arg2) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
      "stablehlo.return"(%13) : (tensor<ui32>) -> ()
    }) : (tensor<2x8xui32>, tensor<ui32>) -> tensor<2xui32>
    %14 = "stablehlo.convert"(%12) : (tensor<2xui32>) -> tensor<2xui8>
    "func.return"(%14) : (tensor<2xui8>) -> ()
  }) : () -> ()
}) : () -> ()
