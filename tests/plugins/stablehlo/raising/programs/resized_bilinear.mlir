"builtin.module"() ({
  "func.func"() <{function_type = (tensor<1x6x8x2xf32>) -> tensor<1x3x4x2xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<1x6x8x2xf32>):
    %0 = "func.call"(%arg0) <{callee = @_resize}> : (tensor<1x6x8x2xf32>) -> tensor<1x3x4x2xf32>
    "func.return"(%0) : (tensor<1x3x4x2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x6x8x2xf32>) -> tensor<1x3x4x2xf32>, sym_name = "_resize", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x6x8x2xf32>):
    %0 = "stablehlo.constant"() <{value = dense<7.5> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<5.5> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.constant"() <{value = dense<-0.5> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %4 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %5 = "stablehlo.constant"() <{value = dense<0.00011920929> : tensor<f32>}> : () -> tensor<f32>
    %6 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %7 = "stablehlo.constant"() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
    %8 = "stablehlo.constant"() <{value = dense<2.0> : tensor<f32>}> : () -> tensor<f32>
    %9 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %10 = "stablehlo.maximum"(%8, %9) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %11 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<3xf32>
    %12 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %13 = "stablehlo.add"(%11, %12) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %14 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %15 = "stablehlo.multiply"(%13, %14) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %16 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %17 = "stablehlo.subtract"(%15, %16) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %18 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %19 = "stablehlo.subtract"(%17, %18) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %20 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<6xf32>
    %21 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>) -> tensor<1x3xf32>
    %22 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64: 0>}> : (tensor<6xf32>) -> tensor<6x1xf32>
    %23 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x3xf32>) -> tensor<6x3xf32>
    %24 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<6x1xf32>) -> tensor<6x3xf32>
    %25 = "stablehlo.subtract"(%23, %24) : (tensor<6x3xf32>, tensor<6x3xf32>) -> tensor<6x3xf32>
    %26 = "stablehlo.abs"(%25) : (tensor<6x3xf32>) -> tensor<6x3xf32>
    %27 = "stablehlo.convert"(%10) : (tensor<f32>) -> tensor<f32>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6x3xf32>
    %29 = "stablehlo.divide"(%26, %28) : (tensor<6x3xf32>, tensor<6x3xf32>) -> tensor<6x3xf32>
    %30 = "stablehlo.abs"(%29) : (tensor<6x3xf32>) -> tensor<6x3xf32>
    %31 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6x3xf32>
    %32 = "stablehlo.subtract"(%31, %30) : (tensor<6x3xf32>, tensor<6x3xf32>) -> tensor<6x3xf32>
    %33 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6x3xf32>
    %34 = "stablehlo.maximum"(%33, %32) : (tensor<6x3xf32>, tensor<6x3xf32>) -> tensor<6x3xf32>
    %35 = "stablehlo.reduce"(%34, %6) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %36 = "stablehlo.add"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%36) : (tensor<f32>) -> ()
    }) : (tensor<6x3xf32>, tensor<f32>) -> tensor<3xf32>
    %37 = "stablehlo.broadcast_in_dim"(%35) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>) -> tensor<1x3xf32>
    %38 = "stablehlo.abs"(%37) : (tensor<1x3xf32>) -> tensor<1x3xf32>
    %39 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x3xf32>
    %40 = "stablehlo.compare"(%38, %39) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xi1>
    %41 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x3xf32>
    %42 = "stablehlo.compare"(%37, %41) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xi1>
    %43 = "func.call"(%42, %37, %4) <{callee = @_where}> : (tensor<1x3xi1>, tensor<1x3xf32>, tensor<i32>) -> tensor<1x3xf32>
    %44 = "stablehlo.broadcast_in_dim"(%43) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x3xf32>) -> tensor<6x3xf32>
    %45 = "stablehlo.divide"(%34, %44) : (tensor<6x3xf32>, tensor<6x3xf32>) -> tensor<6x3xf32>
    %46 = "func.call"(%40, %45, %3) <{callee = @_where_0}> : (tensor<1x3xi1>, tensor<6x3xf32>, tensor<i32>) -> tensor<6x3xf32>
    %47 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %48 = "stablehlo.compare"(%19, %47) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %49 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %50 = "stablehlo.compare"(%19, %49) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %51 = "stablehlo.and"(%48, %50) : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
    %52 = "stablehlo.broadcast_in_dim"(%51) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xi1>) -> tensor<1x3xi1>
    %53 = "func.call"(%52, %46, %3) <{callee = @_where_0}> : (tensor<1x3xi1>, tensor<6x3xf32>, tensor<i32>) -> tensor<6x3xf32>
    %54 = "stablehlo.maximum"(%8, %9) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %55 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4xf32>
    %56 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %57 = "stablehlo.add"(%55, %56) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %58 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %59 = "stablehlo.multiply"(%57, %58) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %60 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %61 = "stablehlo.subtract"(%59, %60) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %62 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %63 = "stablehlo.subtract"(%61, %62) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %64 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<8xf32>
    %65 = "stablehlo.broadcast_in_dim"(%63) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<1x4xf32>
    %66 = "stablehlo.broadcast_in_dim"(%64) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8x1xf32>
    %67 = "stablehlo.broadcast_in_dim"(%65) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x4xf32>) -> tensor<8x4xf32>
    %68 = "stablehlo.broadcast_in_dim"(%66) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x4xf32>
    %69 = "stablehlo.subtract"(%67, %68) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %70 = "stablehlo.abs"(%69) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %71 = "stablehlo.convert"(%54) : (tensor<f32>) -> tensor<f32>
    %72 = "stablehlo.broadcast_in_dim"(%71) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x4xf32>
    %73 = "stablehlo.divide"(%70, %72) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %74 = "stablehlo.abs"(%73) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %75 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x4xf32>
    %76 = "stablehlo.subtract"(%75, %74) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %77 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x4xf32>
    %78 = "stablehlo.maximum"(%77, %76) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %79 = "stablehlo.reduce"(%78, %6) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %80 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%80) : (tensor<f32>) -> ()
    }) : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    %81 = "stablehlo.broadcast_in_dim"(%79) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<1x4xf32>
    %82 = "stablehlo.abs"(%81) : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %83 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x4xf32>
    %84 = "stablehlo.compare"(%82, %83) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xi1>
    %85 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x4xf32>
    %86 = "stablehlo.compare"(%81, %85) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xi1>
    %87 = "func.call"(%86, %81, %4) <{callee = @_where_1}> : (tensor<1x4xi1>, tensor<1x4xf32>, tensor<i32>) -> tensor<1x4xf32>
    %88 = "stablehlo.broadcast_in_dim"(%87) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x4xf32>) -> tensor<8x4xf32>
    %89 = "stablehlo.divide"(%78, %88) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %90 = "func.call"(%84, %89, %3) <{callee = @_where_2}> : (tensor<1x4xi1>, tensor<8x4xf32>, tensor<i32>) -> tensor<8x4xf32>
    %91 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %92 = "stablehlo.compare"(%63, %91) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %93 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %94 = "stablehlo.compare"(%63, %93) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %95 = "stablehlo.and"(%92, %94) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    %96 = "stablehlo.broadcast_in_dim"(%95) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xi1>) -> tensor<1x4xi1>
    %97 = "func.call"(%96, %90, %3) <{callee = @_where_2}> : (tensor<1x4xi1>, tensor<8x4xf32>, tensor<i32>) -> tensor<8x4xf32>
    %98 = "stablehlo.dot_general"(%53, %arg0) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<6x3xf32>, tensor<1x6x8x2xf32>) -> tensor<3x1x8x2xf32>
    %99 = "stablehlo.dot_general"(%98, %97) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<3x1x8x2xf32>, tensor<8x4xf32>) -> tensor<3x1x2x4xf32>
    %100 = "stablehlo.transpose"(%99) <{permutation = array<i64: 1, 0, 3, 2>}> : (tensor<3x1x2x4xf32>) -> tensor<1x3x4x2xf32>
    "func.return"(%100) : (tensor<1x3x4x2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x3xi1>, tensor<1x3xf32>, tensor<i32>) -> tensor<1x3xf32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x3xi1>, %arg1: tensor<1x3xf32>, %arg2: tensor<i32>):
    %0 = "stablehlo.convert"(%arg2) : (tensor<i32>) -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x3xf32>
    %2 = "stablehlo.select"(%arg0, %arg1, %1) : (tensor<1x3xi1>, tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
    "func.return"(%2) : (tensor<1x3xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x3xi1>, tensor<6x3xf32>, tensor<i32>) -> tensor<6x3xf32>, sym_name = "_where_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x3xi1>, %arg1: tensor<6x3xf32>, %arg2: tensor<i32>):
    %0 = "stablehlo.convert"(%arg2) : (tensor<i32>) -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x3xi1>) -> tensor<6x3xi1>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6x3xf32>
    %3 = "stablehlo.select"(%1, %arg1, %2) : (tensor<6x3xi1>, tensor<6x3xf32>, tensor<6x3xf32>) -> tensor<6x3xf32>
    "func.return"(%3) : (tensor<6x3xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x4xi1>, tensor<1x4xf32>, tensor<i32>) -> tensor<1x4xf32>, sym_name = "_where_1", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x4xi1>, %arg1: tensor<1x4xf32>, %arg2: tensor<i32>):
    %0 = "stablehlo.convert"(%arg2) : (tensor<i32>) -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x4xf32>
    %2 = "stablehlo.select"(%arg0, %arg1, %1) : (tensor<1x4xi1>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
    "func.return"(%2) : (tensor<1x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x4xi1>, tensor<8x4xf32>, tensor<i32>) -> tensor<8x4xf32>, sym_name = "_where_2", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x4xi1>, %arg1: tensor<8x4xf32>, %arg2: tensor<i32>):
    %0 = "stablehlo.convert"(%arg2) : (tensor<i32>) -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x4xi1>) -> tensor<8x4xi1>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x4xf32>
    %3 = "stablehlo.select"(%1, %arg1, %2) : (tensor<8x4xi1>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    "func.return"(%3) : (tensor<8x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
