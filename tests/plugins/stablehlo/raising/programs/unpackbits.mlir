"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3xui8>) -> tensor<24xui8>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3xui8>):
    %0 = "func.call"(%arg0) <{callee = @unpackbits}> : (tensor<3xui8>) -> tensor<24xui8>
    "func.return"(%0) : (tensor<24xui8>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3xui8>) -> tensor<24xui8>, sym_name = "unpackbits", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3xui8>):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<ui8>}> : () -> tensor<ui8>
    %1 = "stablehlo.constant"() <{value = dense<1> : tensor<ui8>}> : () -> tensor<ui8>
    %2 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<8xui8>
    %3 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<8xui8>
    %4 = "stablehlo.shift_left"(%3, %2) : (tensor<8xui8>, tensor<8xui8>) -> tensor<8xui8>
    %5 = "stablehlo.reverse"(%4) <{dimensions = array<i64: 0>}> : (tensor<8xui8>) -> tensor<8xui8>
    %6 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0>}> : (tensor<3xui8>) -> tensor<3x1xui8>
    %7 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64: 1>}> : (tensor<8xui8>) -> tensor<1x8xui8>
    %8 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<3x1xui8>) -> tensor<3x8xui8>
    %9 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x8xui8>) -> tensor<3x8xui8>
    %10 = "stablehlo.and"(%8, %9) : (tensor<3x8xui8>, tensor<3x8xui8>) -> tensor<3x8xui8>
    %11 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<3x8xui8>
    %12 = "stablehlo.compare"(%10, %11) <{compare_type = #stablehlo<comparison_type UNSIGNED>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<3x8xui8>, tensor<3x8xui8>) -> tensor<3x8xi1>
    %13 = "stablehlo.convert"(%12) : (tensor<3x8xi1>) -> tensor<3x8xui8>
    %14 = "stablehlo.reshape"(%13) : (tensor<3x8xui8>) -> tensor<24xui8>
    "func.return"(%14) : (tensor<24xui8>) -> ()
  }) : () -> ()
}) : () -> ()
