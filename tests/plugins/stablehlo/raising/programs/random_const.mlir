"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x4xf32>) -> tensor<3x4xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x4xf32>):
    %0 = "stablehlo.constant"() <{value = dense<-1> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.constant"() <{value = dense<32> : tensor<i32>}> : () -> tensor<i32>
    %3 = "stablehlo.shift_right_logical"(%1, %2) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %4 = "stablehlo.convert"(%3) : (tensor<i32>) -> tensor<ui32>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<1xui32>
    %6 = "stablehlo.and"(%1, %0) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %7 = "stablehlo.convert"(%6) : (tensor<i32>) -> tensor<ui32>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<1xui32>
    %9 = "stablehlo.concatenate"(%5, %8) <{dimension = 0 : i64}> : (tensor<1xui32>, tensor<1xui32>) -> tensor<2xui32>
    %10 = "func.call"(%9) <{callee = @_normal}> : (tensor<2xui32>) -> tensor<3x4xf32>
    %11 = "stablehlo.add"(%arg0, %10) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    "func.return"(%11) : (tensor<3x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2xui32>) -> tensor<3x4xf32>, sym_name = "_normal", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2xui32>):
    %0 = "func.call"(%arg0) <{callee = @_normal_real}> : (tensor<2xui32>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2xui32>) -> tensor<3x4xf32>, sym_name = "_normal_real", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2xui32>):
    %0 = "stablehlo.constant"() <{value = dense<0x7F800000> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %1 = "stablehlo.constant"() <{value = dense<1.0> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %2 = "stablehlo.constant"() <{value = dense<2.8329768> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %3 = "stablehlo.constant"() <{value = dense<1.5014094> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %4 = "stablehlo.constant"() <{value = dense<1.001674> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %5 = "stablehlo.constant"() <{value = dense<0.24664073> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %6 = "stablehlo.constant"() <{value = dense<0.0094388705> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %7 = "stablehlo.constant"() <{value = dense<-0.0041776816> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %8 = "stablehlo.constant"() <{value = dense<-0.0076224613> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %9 = "stablehlo.constant"() <{value = dense<-0.001253725> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %10 = "stablehlo.constant"() <{value = dense<0.0057395077> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %11 = "stablehlo.constant"() <{value = dense<0.00021858087> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %12 = "stablehlo.constant"() <{value = dense<-0.0036734284> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %13 = "stablehlo.constant"() <{value = dense<-4.3915065e-06> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %14 = "stablehlo.constant"() <{value = dense<0.0013493432> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %15 = "stablehlo.constant"() <{value = dense<-3.5233877e-06> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %16 = "stablehlo.constant"() <{value = dense<0.00010095056> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %17 = "stablehlo.constant"() <{value = dense<3.4327394e-07> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %18 = "stablehlo.constant"() <{value = dense<-0.00020021426> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %19 = "stablehlo.constant"() <{value = dense<2.8102264e-08> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %20 = "stablehlo.constant"() <{value = dense<3.0> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %21 = "stablehlo.constant"() <{value = dense<2.5> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %22 = "stablehlo.constant"() <{value = dense<5.0> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
    %23 = "stablehlo.constant"() <{value = dense<1.4142135> : tensor<f32>}> : () -> tensor<f32>
    %24 = "stablehlo.constant"() <{value = dense<-0.99999994> : tensor<f32>}> : () -> tensor<f32>
    %25 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %26 = "func.call"(%arg0, %24, %25) <{callee = @_uniform}> : (tensor<2xui32>, tensor<f32>, tensor<f32>) -> tensor<3x4xf32>
    %27 = "stablehlo.negate"(%26) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %28 = "stablehlo.multiply"(%26, %27) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %29 = "stablehlo.log_plus_one"(%28) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %30 = "stablehlo.negate"(%29) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %31 = "stablehlo.compare"(%30, %22) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
    %32 = "stablehlo.subtract"(%30, %21) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %33 = "stablehlo.sqrt"(%30) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %34 = "stablehlo.subtract"(%33, %20) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %35 = "stablehlo.select"(%31, %32, %34) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %36 = "stablehlo.select"(%31, %19, %18) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %37 = "stablehlo.select"(%31, %17, %16) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %38 = "stablehlo.multiply"(%36, %35) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %39 = "stablehlo.add"(%37, %38) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %40 = "stablehlo.select"(%31, %15, %14) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %41 = "stablehlo.multiply"(%39, %35) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %42 = "stablehlo.add"(%40, %41) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %43 = "stablehlo.select"(%31, %13, %12) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %44 = "stablehlo.multiply"(%42, %35) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %45 = "stablehlo.add"(%43, %44) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %46 = "stablehlo.select"(%31, %11, %10) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %47 = "stablehlo.multiply"(%45, %35) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %48 = "stablehlo.add"(%46, %47) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %49 = "stablehlo.select"(%31, %9, %8) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %50 = "stablehlo.multiply"(%48, %35) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %51 = "stablehlo.add"(%49, %50) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %52 = "stablehlo.select"(%31, %7, %6) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %53 = "stablehlo.multiply"(%51, %35) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %54 = "stablehlo.add"(%52, %53) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %55 = "stablehlo.select"(%31, %5, %4) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %56 = "stablehlo.multiply"(%54, %35) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %57 = "stablehlo.add"(%55, %56) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %58 = "stablehlo.select"(%31, %3, %2) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %59 = "stablehlo.multiply"(%57, %35) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %60 = "stablehlo.add"(%58, %59) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %61 = "stablehlo.multiply"(%60, %26) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %62 = "stablehlo.abs"(%26) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %63 = "stablehlo.compare"(%62, %1) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
    %64 = "stablehlo.multiply"(%26, %0) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %65 = "stablehlo.select"(%63, %64, %61) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %66 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x4xf32>
    %67 = "stablehlo.multiply"(%66, %65) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    "func.return"(%67) : (tensor<3x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2xui32>, tensor<f32>, tensor<f32>) -> tensor<3x4xf32>, sym_name = "_uniform", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2xui32>, %arg1: tensor<f32>, %arg2: tensor<f32>):
    %0 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<1065353216> : tensor<ui32>}> : () -> tensor<ui32>
    %2 = "stablehlo.constant"() <{value = dense<9> : tensor<ui32>}> : () -> tensor<ui32>
    %3 = "stablehlo.constant"() <{value = dense<32> : tensor<ui64>}> : () -> tensor<ui64>
    %4 = "stablehlo.constant"() <{value = dense<1> : tensor<ui64>}> : () -> tensor<ui64>
    %5 = "stablehlo.constant"() <{value = dense<4> : tensor<ui64>}> : () -> tensor<ui64>
    %6 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x1xf32>
    %7 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x1xf32>
    %8 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %9 = "stablehlo.reshape"(%8) : (tensor<1xui32>) -> tensor<ui32>
    %10 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %11 = "stablehlo.reshape"(%10) : (tensor<1xui32>) -> tensor<ui32>
    %12 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<3x4xui64>
    %13 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<3x4xui64>
    %14 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<3x4xui64>
    %15 = "stablehlo.multiply"(%14, %12) : (tensor<3x4xui64>, tensor<3x4xui64>) -> tensor<3x4xui64>
    %16 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<3x4xui64>
    %17 = "stablehlo.multiply"(%16, %13) : (tensor<3x4xui64>, tensor<3x4xui64>) -> tensor<3x4xui64>
    %18 = "stablehlo.add"(%15, %17) : (tensor<3x4xui64>, tensor<3x4xui64>) -> tensor<3x4xui64>
    %19 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<3x4xui64>
    %20 = "stablehlo.shift_right_logical"(%18, %19) : (tensor<3x4xui64>, tensor<3x4xui64>) -> tensor<3x4xui64>
    %21 = "stablehlo.convert"(%18) : (tensor<3x4xui64>) -> tensor<3x4xui32>
    %22 = "stablehlo.convert"(%20) : (tensor<3x4xui64>) -> tensor<3x4xui32>
    %23:2 = "func.call"(%9, %11, %22, %21) <{callee = @threefry2x32}> : (tensor<ui32>, tensor<ui32>, tensor<3x4xui32>, tensor<3x4xui32>) -> (tensor<3x4xui32>, tensor<3x4xui32>)
    %24 = "stablehlo.xor"(%23#0, %23#1) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %25 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3x4xui32>
    %26 = "stablehlo.shift_right_logical"(%24, %25) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %27 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3x4xui32>
    %28 = "stablehlo.or"(%26, %27) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %29 = "stablehlo.bitcast_convert"(%28) : (tensor<3x4xui32>) -> tensor<3x4xf32>
    %30 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x4xf32>
    %31 = "stablehlo.subtract"(%29, %30) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %32 = "stablehlo.subtract"(%7, %6) : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
    %33 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x1xf32>) -> tensor<3x4xf32>
    %34 = "stablehlo.multiply"(%31, %33) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %35 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x1xf32>) -> tensor<3x4xf32>
    %36 = "stablehlo.add"(%34, %35) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %37 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x1xf32>) -> tensor<3x4xf32>
    %38 = "stablehlo.maximum"(%37, %36) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    "func.return"(%38) : (tensor<3x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<ui32>, tensor<ui32>, tensor<3x4xui32>, tensor<3x4xui32>) -> (tensor<3x4xui32>, tensor<3x4xui32>), sym_name = "threefry2x32", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<ui32>, %arg1: tensor<ui32>, %arg2: tensor<3x4xui32>, %arg3: tensor<3x4xui32>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %3 = "stablehlo.constant"() <{value = dense<466688986> : tensor<ui32>}> : () -> tensor<ui32>
    %4 = "stablehlo.constant"() <{value = dense<[13, 15, 26, 6]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %5 = "stablehlo.constant"() <{value = dense<[17, 29, 16, 24]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %6 = "stablehlo.xor"(%arg0, %arg1) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %7 = "stablehlo.xor"(%6, %3) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %8 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3x4xui32>
    %9 = "stablehlo.add"(%arg2, %8) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %10 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3x4xui32>
    %11 = "stablehlo.add"(%arg3, %10) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %12:9 = "stablehlo.while"(%2, %2, %9, %11, %arg1, %7, %arg0, %4, %5) ({
    ^bb0(%arg4: tensor<i32>, %arg5: tensor<i32>, %arg6: tensor<3x4xui32>, %arg7: tensor<3x4xui32>, %arg8: tensor<ui32>, %arg9: tensor<ui32>, %arg10: tensor<ui32>, %arg11: tensor<4xui32>, %arg12: tensor<4xui32>):
      %13 = "stablehlo.compare"(%arg4, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%13) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg13: tensor<i32>, %arg14: tensor<i32>, %arg15: tensor<3x4xui32>, %arg16: tensor<3x4xui32>, %arg17: tensor<ui32>, %arg18: tensor<ui32>, %arg19: tensor<ui32>, %arg20: tensor<4xui32>, %arg21: tensor<4xui32>):
      %14:8 = "func.call"(%arg14, %arg15, %arg16, %arg17, %arg18, %arg19, %arg20, %arg21) <{callee = @closed_call}> : (tensor<i32>, tensor<3x4xui32>, tensor<3x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<3x4xui32>, tensor<3x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
      %15 = "stablehlo.add"(%arg13, %0) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%15, %14#0, %14#1, %14#2, %14#3, %14#4, %14#5, %14#6, %14#7) : (tensor<i32>, tensor<i32>, tensor<3x4xui32>, tensor<3x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> ()
    }) : (tensor<i32>, tensor<i32>, tensor<3x4xui32>, tensor<3x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<i32>, tensor<3x4xui32>, tensor<3x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
    "func.return"(%12#2, %12#3) : (tensor<3x4xui32>, tensor<3x4xui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i32>, tensor<3x4xui32>, tensor<3x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<3x4xui32>, tensor<3x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>), sym_name = "closed_call", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<i32>, %arg1: tensor<3x4xui32>, %arg2: tensor<3x4xui32>, %arg3: tensor<ui32>, %arg4: tensor<ui32>, %arg5: tensor<ui32>, %arg6: tensor<4xui32>, %arg7: tensor<4xui32>):
    %0 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %1 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.add"(%arg0, %1) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %3 = "stablehlo.slice"(%arg6) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %4 = "stablehlo.reshape"(%3) : (tensor<1xui32>) -> tensor<ui32>
    %5 = "stablehlo.add"(%arg1, %arg2) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %6 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3x4xui32>
    %7 = "stablehlo.shift_left"(%arg2, %6) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %8 = "stablehlo.subtract"(%0, %4) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3x4xui32>
    %10 = "stablehlo.shift_right_logical"(%arg2, %9) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %11 = "stablehlo.or"(%7, %10) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %12 = "stablehlo.xor"(%5, %11) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %13 = "stablehlo.slice"(%arg6) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %14 = "stablehlo.reshape"(%13) : (tensor<1xui32>) -> tensor<ui32>
    %15 = "stablehlo.add"(%5, %12) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %16 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3x4xui32>
    %17 = "stablehlo.shift_left"(%12, %16) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %18 = "stablehlo.subtract"(%0, %14) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %19 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3x4xui32>
    %20 = "stablehlo.shift_right_logical"(%12, %19) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %21 = "stablehlo.or"(%17, %20) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %22 = "stablehlo.xor"(%15, %21) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %23 = "stablehlo.slice"(%arg6) <{limit_indices = array<i64: 3>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %24 = "stablehlo.reshape"(%23) : (tensor<1xui32>) -> tensor<ui32>
    %25 = "stablehlo.add"(%15, %22) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %26 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3x4xui32>
    %27 = "stablehlo.shift_left"(%22, %26) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %28 = "stablehlo.subtract"(%0, %24) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %29 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3x4xui32>
    %30 = "stablehlo.shift_right_logical"(%22, %29) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %31 = "stablehlo.or"(%27, %30) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %32 = "stablehlo.xor"(%25, %31) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %33 = "stablehlo.slice"(%arg6) <{limit_indices = array<i64: 4>, start_indices = array<i64: 3>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %34 = "stablehlo.reshape"(%33) : (tensor<1xui32>) -> tensor<ui32>
    %35 = "stablehlo.add"(%25, %32) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %36 = "stablehlo.broadcast_in_dim"(%34) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3x4xui32>
    %37 = "stablehlo.shift_left"(%32, %36) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %38 = "stablehlo.subtract"(%0, %34) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %39 = "stablehlo.broadcast_in_dim"(%38) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3x4xui32>
    %40 = "stablehlo.shift_right_logical"(%32, %39) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %41 = "stablehlo.or"(%37, %40) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %42 = "stablehlo.xor"(%35, %41) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %43 = "stablehlo.broadcast_in_dim"(%arg3) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3x4xui32>
    %44 = "stablehlo.add"(%35, %43) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %45 = "stablehlo.broadcast_in_dim"(%arg4) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3x4xui32>
    %46 = "stablehlo.add"(%42, %45) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    %47 = "stablehlo.add"(%arg0, %1) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %48 = "stablehlo.convert"(%47) : (tensor<i32>) -> tensor<ui32>
    %49 = "stablehlo.broadcast_in_dim"(%48) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<3x4xui32>
    %50 = "stablehlo.add"(%46, %49) : (tensor<3x4xui32>, tensor<3x4xui32>) -> tensor<3x4xui32>
    "func.return"(%2, %44, %50, %arg4, %arg5, %arg3, %arg7, %arg6) : (tensor<i32>, tensor<3x4xui32>, tensor<3x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> ()
  }) : () -> ()
}) : () -> ()
