"builtin.module"() ({
  "func.func"() <{function_type = (tensor<1x5x7x2xf32>) -> tensor<1x10x14x2xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<1x5x7x2xf32>):
    %0 = "func.call"(%arg0) <{callee = @_resize}> : (tensor<1x5x7x2xf32>) -> tensor<1x10x14x2xf32>
    "func.return"(%0) : (tensor<1x10x14x2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x5x7x2xf32>) -> tensor<1x10x14x2xf32>, sym_name = "_resize", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x5x7x2xf32>):
    %0 = "stablehlo.constant"() <{value = dense<6.5> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<4.5> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %3 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %4 = "stablehlo.constant"() <{value = dense<0.00011920929> : tensor<f32>}> : () -> tensor<f32>
    %5 = "stablehlo.constant"() <{value = dense<2.0> : tensor<f32>}> : () -> tensor<f32>
    %6 = "stablehlo.constant"() <{value = dense<4.0> : tensor<f32>}> : () -> tensor<f32>
    %7 = "stablehlo.constant"() <{value = dense<-0.5> : tensor<f32>}> : () -> tensor<f32>
    %8 = "stablehlo.constant"() <{value = dense<2.5> : tensor<f32>}> : () -> tensor<f32>
    %9 = "stablehlo.constant"() <{value = dense<1.5> : tensor<f32>}> : () -> tensor<f32>
    %10 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %11 = "stablehlo.constant"() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
    %12 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %13 = "stablehlo.maximum"(%11, %12) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %14 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<10xf32>
    %15 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<10xf32>
    %16 = "stablehlo.add"(%14, %15) : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
    %17 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<10xf32>
    %18 = "stablehlo.multiply"(%16, %17) : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
    %19 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<10xf32>
    %20 = "stablehlo.subtract"(%18, %19) : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
    %21 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<10xf32>
    %22 = "stablehlo.subtract"(%20, %21) : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
    %23 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<5xf32>
    %24 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 1>}> : (tensor<10xf32>) -> tensor<1x10xf32>
    %25 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64: 0>}> : (tensor<5xf32>) -> tensor<5x1xf32>
    %26 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x10xf32>) -> tensor<5x10xf32>
    %27 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<5x1xf32>) -> tensor<5x10xf32>
    %28 = "stablehlo.subtract"(%26, %27) : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    %29 = "stablehlo.abs"(%28) : (tensor<5x10xf32>) -> tensor<5x10xf32>
    %30 = "stablehlo.convert"(%13) : (tensor<f32>) -> tensor<f32>
    %31 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x10xf32>
    %32 = "stablehlo.divide"(%29, %31) : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    %33 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x10xf32>
    %34 = "stablehlo.multiply"(%33, %32) : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    %35 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x10xf32>
    %36 = "stablehlo.subtract"(%34, %35) : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    %37 = "stablehlo.multiply"(%36, %32) : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    %38 = "stablehlo.multiply"(%37, %32) : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    %39 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x10xf32>
    %40 = "stablehlo.add"(%38, %39) : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    %41 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x10xf32>
    %42 = "stablehlo.compare"(%32, %41) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xi1>
    %43 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x10xf32>
    %44 = "stablehlo.multiply"(%43, %32) : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    %45 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x10xf32>
    %46 = "stablehlo.add"(%44, %45) : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    %47 = "stablehlo.multiply"(%46, %32) : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    %48 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x10xf32>
    %49 = "stablehlo.subtract"(%47, %48) : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    %50 = "stablehlo.multiply"(%49, %32) : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    %51 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x10xf32>
    %52 = "stablehlo.add"(%50, %51) : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    %53 = "func.call"(%42, %52, %40) <{callee = @_where}> : (tensor<5x10xi1>, tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    %54 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x10xf32>
    %55 = "stablehlo.compare"(%32, %54) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xi1>
    %56 = "func.call"(%55, %10, %53) <{callee = @_where_0}> : (tensor<5x10xi1>, tensor<f32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    %57 = "stablehlo.reduce"(%56, %10) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %58 = "stablehlo.add"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%58) : (tensor<f32>) -> ()
    }) : (tensor<5x10xf32>, tensor<f32>) -> tensor<10xf32>
    %59 = "stablehlo.broadcast_in_dim"(%57) <{broadcast_dimensions = array<i64: 1>}> : (tensor<10xf32>) -> tensor<1x10xf32>
    %60 = "stablehlo.abs"(%59) : (tensor<1x10xf32>) -> tensor<1x10xf32>
    %61 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x10xf32>
    %62 = "stablehlo.compare"(%60, %61) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<1x10xf32>, tensor<1x10xf32>) -> tensor<1x10xi1>
    %63 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x10xf32>
    %64 = "stablehlo.compare"(%59, %63) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<1x10xf32>, tensor<1x10xf32>) -> tensor<1x10xi1>
    %65 = "func.call"(%64, %59, %3) <{callee = @_where_1}> : (tensor<1x10xi1>, tensor<1x10xf32>, tensor<i32>) -> tensor<1x10xf32>
    %66 = "stablehlo.broadcast_in_dim"(%65) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x10xf32>) -> tensor<5x10xf32>
    %67 = "stablehlo.divide"(%56, %66) : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    %68 = "func.call"(%62, %67, %2) <{callee = @_where_2}> : (tensor<1x10xi1>, tensor<5x10xf32>, tensor<i32>) -> tensor<5x10xf32>
    %69 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<10xf32>
    %70 = "stablehlo.compare"(%22, %69) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xi1>
    %71 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<10xf32>
    %72 = "stablehlo.compare"(%22, %71) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xi1>
    %73 = "stablehlo.and"(%70, %72) : (tensor<10xi1>, tensor<10xi1>) -> tensor<10xi1>
    %74 = "stablehlo.broadcast_in_dim"(%73) <{broadcast_dimensions = array<i64: 1>}> : (tensor<10xi1>) -> tensor<1x10xi1>
    %75 = "func.call"(%74, %68, %2) <{callee = @_where_2}> : (tensor<1x10xi1>, tensor<5x10xf32>, tensor<i32>) -> tensor<5x10xf32>
    %76 = "stablehlo.maximum"(%11, %12) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %77 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<14xf32>
    %78 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<14xf32>
    %79 = "stablehlo.add"(%77, %78) : (tensor<14xf32>, tensor<14xf32>) -> tensor<14xf32>
    %80 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<14xf32>
    %81 = "stablehlo.multiply"(%79, %80) : (tensor<14xf32>, tensor<14xf32>) -> tensor<14xf32>
    %82 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<14xf32>
    %83 = "stablehlo.subtract"(%81, %82) : (tensor<14xf32>, tensor<14xf32>) -> tensor<14xf32>
    %84 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<14xf32>
    %85 = "stablehlo.subtract"(%83, %84) : (tensor<14xf32>, tensor<14xf32>) -> tensor<14xf32>
    %86 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<7xf32>
    %87 = "stablehlo.broadcast_in_dim"(%85) <{broadcast_dimensions = array<i64: 1>}> : (tensor<14xf32>) -> tensor<1x14xf32>
    %88 = "stablehlo.broadcast_in_dim"(%86) <{broadcast_dimensions = array<i64: 0>}> : (tensor<7xf32>) -> tensor<7x1xf32>
    %89 = "stablehlo.broadcast_in_dim"(%87) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x14xf32>) -> tensor<7x14xf32>
    %90 = "stablehlo.broadcast_in_dim"(%88) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<7x1xf32>) -> tensor<7x14xf32>
    %91 = "stablehlo.subtract"(%89, %90) : (tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    %92 = "stablehlo.abs"(%91) : (tensor<7x14xf32>) -> tensor<7x14xf32>
    %93 = "stablehlo.convert"(%76) : (tensor<f32>) -> tensor<f32>
    %94 = "stablehlo.broadcast_in_dim"(%93) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<7x14xf32>
    %95 = "stablehlo.divide"(%92, %94) : (tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    %96 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<7x14xf32>
    %97 = "stablehlo.multiply"(%96, %95) : (tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    %98 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<7x14xf32>
    %99 = "stablehlo.subtract"(%97, %98) : (tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    %100 = "stablehlo.multiply"(%99, %95) : (tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    %101 = "stablehlo.multiply"(%100, %95) : (tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    %102 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<7x14xf32>
    %103 = "stablehlo.add"(%101, %102) : (tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    %104 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<7x14xf32>
    %105 = "stablehlo.compare"(%95, %104) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xi1>
    %106 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<7x14xf32>
    %107 = "stablehlo.multiply"(%106, %95) : (tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    %108 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<7x14xf32>
    %109 = "stablehlo.add"(%107, %108) : (tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    %110 = "stablehlo.multiply"(%109, %95) : (tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    %111 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<7x14xf32>
    %112 = "stablehlo.subtract"(%110, %111) : (tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    %113 = "stablehlo.multiply"(%112, %95) : (tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    %114 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<7x14xf32>
    %115 = "stablehlo.add"(%113, %114) : (tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    %116 = "func.call"(%105, %115, %103) <{callee = @_where_3}> : (tensor<7x14xi1>, tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    %117 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<7x14xf32>
    %118 = "stablehlo.compare"(%95, %117) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xi1>
    %119 = "func.call"(%118, %10, %116) <{callee = @_where_4}> : (tensor<7x14xi1>, tensor<f32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    %120 = "stablehlo.reduce"(%119, %10) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %121 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%121) : (tensor<f32>) -> ()
    }) : (tensor<7x14xf32>, tensor<f32>) -> tensor<14xf32>
    %122 = "stablehlo.broadcast_in_dim"(%120) <{broadcast_dimensions = array<i64: 1>}> : (tensor<14xf32>) -> tensor<1x14xf32>
    %123 = "stablehlo.abs"(%122) : (tensor<1x14xf32>) -> tensor<1x14xf32>
    %124 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x14xf32>
    %125 = "stablehlo.compare"(%123, %124) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<1x14xf32>, tensor<1x14xf32>) -> tensor<1x14xi1>
    %126 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x14xf32>
    %127 = "stablehlo.compare"(%122, %126) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<1x14xf32>, tensor<1x14xf32>) -> tensor<1x14xi1>
    %128 = "func.call"(%127, %122, %3) <{callee = @_where_5}> : (tensor<1x14xi1>, tensor<1x14xf32>, tensor<i32>) -> tensor<1x14xf32>
    %129 = "stablehlo.broadcast_in_dim"(%128) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x14xf32>) -> tensor<7x14xf32>
    %130 = "stablehlo.divide"(%119, %129) : (tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    %131 = "func.call"(%125, %130, %2) <{callee = @_where_6}> : (tensor<1x14xi1>, tensor<7x14xf32>, tensor<i32>) -> tensor<7x14xf32>
    %132 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<14xf32>
    %133 = "stablehlo.compare"(%85, %132) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<14xf32>, tensor<14xf32>) -> tensor<14xi1>
    %134 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<14xf32>
    %135 = "stablehlo.compare"(%85, %134) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<14xf32>, tensor<14xf32>) -> tensor<14xi1>
    %136 = "stablehlo.and"(%133, %135) : (tensor<14xi1>, tensor<14xi1>) -> tensor<14xi1>
    %137 = "stablehlo.broadcast_in_dim"(%136) <{broadcast_dimensions = array<i64: 1>}> : (tensor<14xi1>) -> tensor<1x14xi1>
    %138 = "func.call"(%137, %131, %2) <{callee = @_where_6}> : (tensor<1x14xi1>, tensor<7x14xf32>, tensor<i32>) -> tensor<7x14xf32>
    %139 = "stablehlo.dot_general"(%138, %arg0) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [2]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<7x14xf32>, tensor<1x5x7x2xf32>) -> tensor<14x1x5x2xf32>
    %140 = "stablehlo.dot_general"(%139, %75) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<14x1x5x2xf32>, tensor<5x10xf32>) -> tensor<14x1x2x10xf32>
    %141 = "stablehlo.transpose"(%140) <{permutation = array<i64: 1, 3, 0, 2>}> : (tensor<14x1x2x10xf32>) -> tensor<1x10x14x2xf32>
    "func.return"(%141) : (tensor<1x10x14x2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<5x10xi1>, tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<5x10xi1>, %arg1: tensor<5x10xf32>, %arg2: tensor<5x10xf32>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<5x10xi1>, tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    "func.return"(%0) : (tensor<5x10xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<5x10xi1>, tensor<f32>, tensor<5x10xf32>) -> tensor<5x10xf32>, sym_name = "_where_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<5x10xi1>, %arg1: tensor<f32>, %arg2: tensor<5x10xf32>):
    %0 = "stablehlo.convert"(%arg1) : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x10xf32>
    %2 = "stablehlo.select"(%arg0, %1, %arg2) : (tensor<5x10xi1>, tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    "func.return"(%2) : (tensor<5x10xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x10xi1>, tensor<1x10xf32>, tensor<i32>) -> tensor<1x10xf32>, sym_name = "_where_1", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x10xi1>, %arg1: tensor<1x10xf32>, %arg2: tensor<i32>):
    %0 = "stablehlo.convert"(%arg2) : (tensor<i32>) -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x10xf32>
    %2 = "stablehlo.select"(%arg0, %arg1, %1) : (tensor<1x10xi1>, tensor<1x10xf32>, tensor<1x10xf32>) -> tensor<1x10xf32>
    "func.return"(%2) : (tensor<1x10xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x10xi1>, tensor<5x10xf32>, tensor<i32>) -> tensor<5x10xf32>, sym_name = "_where_2", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x10xi1>, %arg1: tensor<5x10xf32>, %arg2: tensor<i32>):
    %0 = "stablehlo.convert"(%arg2) : (tensor<i32>) -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x10xi1>) -> tensor<5x10xi1>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x10xf32>
    %3 = "stablehlo.select"(%1, %arg1, %2) : (tensor<5x10xi1>, tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
    "func.return"(%3) : (tensor<5x10xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<7x14xi1>, tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>, sym_name = "_where_3", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<7x14xi1>, %arg1: tensor<7x14xf32>, %arg2: tensor<7x14xf32>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<7x14xi1>, tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    "func.return"(%0) : (tensor<7x14xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<7x14xi1>, tensor<f32>, tensor<7x14xf32>) -> tensor<7x14xf32>, sym_name = "_where_4", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<7x14xi1>, %arg1: tensor<f32>, %arg2: tensor<7x14xf32>):
    %0 = "stablehlo.convert"(%arg1) : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<7x14xf32>
    %2 = "stablehlo.select"(%arg0, %1, %arg2) : (tensor<7x14xi1>, tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    "func.return"(%2) : (tensor<7x14xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x14xi1>, tensor<1x14xf32>, tensor<i32>) -> tensor<1x14xf32>, sym_name = "_where_5", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x14xi1>, %arg1: tensor<1x14xf32>, %arg2: tensor<i32>):
    %0 = "stablehlo.convert"(%arg2) : (tensor<i32>) -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x14xf32>
    %2 = "stablehlo.select"(%arg0, %arg1, %1) : (tensor<1x14xi1>, tensor<1x14xf32>, tensor<1x14xf32>) -> tensor<1x14xf32>
    "func.return"(%2) : (tensor<1x14xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x14xi1>, tensor<7x14xf32>, tensor<i32>) -> tensor<7x14xf32>, sym_name = "_where_6", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x14xi1>, %arg1: tensor<7x14xf32>, %arg2: tensor<i32>):
    %0 = "stablehlo.convert"(%arg2) : (tensor<i32>) -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x14xi1>) -> tensor<7x14xi1>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<7x14xf32>
    %3 = "stablehlo.select"(%1, %arg1, %2) : (tensor<7x14xi1>, tensor<7x14xf32>, tensor<7x14xf32>) -> tensor<7x14xf32>
    "func.return"(%3) : (tensor<7x14xf32>) -> ()
  }) : () -> ()
}) : () -> ()
