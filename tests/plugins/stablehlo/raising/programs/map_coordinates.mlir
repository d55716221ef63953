"builtin.module"() ({
  "func.func"() <{function_type = (tensor<5x6xf32>, tensor<2x7xf32>) -> tensor<7xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<5x6xf32>, %arg1: tensor<2x7xf32>):
    %0 = "stablehlo.slice"(%arg1) <{limit_indices = array<i64: 1, 7>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<2x7xf32>) -> tensor<1x7xf32>
    %1 = "stablehlo.reshape"(%0) : (tensor<1x7xf32>) -> tensor<7xf32>
    %2 = "stablehlo.slice"(%arg1) <{limit_indices = array<i64: 2, 7>, start_indices = array<i64: 1, 0>, strides = array<i64: 1, 1>}> : (tensor<2x7xf32>) -> tensor<1x7xf32>
    %3 = "stablehlo.reshape"(%2) : (tensor<1x7xf32>) -> tensor<7xf32>
    %4 = "func.call"(%arg0, %1, %3) <{callee = @_map_coordinates}> : (tensor<5x6xf32>, tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    "func.return"(%4) : (tensor<7xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<5x6xf32>, tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>, sym_name = "_map_coordinates", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<5x6xf32>, %arg1: tensor<7xf32>, %arg2: tensor<7xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<6> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %3 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %4 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %5 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %6 = "stablehlo.floor"(%arg1) : (tensor<7xf32>) -> tensor<7xf32>
    %7 = "stablehlo.subtract"(%arg1, %6) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %8 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<7xf32>
    %9 = "stablehlo.subtract"(%8, %7) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %10 = "stablehlo.convert"(%6) : (tensor<7xf32>) -> tensor<7xi32>
    %11 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %12 = "stablehlo.add"(%10, %11) : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %13 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %14 = "stablehlo.compare"(%10, %13) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %15 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %16 = "stablehlo.compare"(%10, %15) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %17 = "stablehlo.and"(%14, %16) : (tensor<7xi1>, tensor<7xi1>) -> tensor<7xi1>
    %18 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %19 = "stablehlo.compare"(%12, %18) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %20 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %21 = "stablehlo.compare"(%12, %20) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %22 = "stablehlo.and"(%19, %21) : (tensor<7xi1>, tensor<7xi1>) -> tensor<7xi1>
    %23 = "stablehlo.floor"(%arg2) : (tensor<7xf32>) -> tensor<7xf32>
    %24 = "stablehlo.subtract"(%arg2, %23) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %25 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<7xf32>
    %26 = "stablehlo.subtract"(%25, %24) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %27 = "stablehlo.convert"(%23) : (tensor<7xf32>) -> tensor<7xi32>
    %28 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %29 = "stablehlo.add"(%27, %28) : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %30 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %31 = "stablehlo.compare"(%27, %30) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %32 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %33 = "stablehlo.compare"(%27, %32) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %34 = "stablehlo.and"(%31, %33) : (tensor<7xi1>, tensor<7xi1>) -> tensor<7xi1>
    %35 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %36 = "stablehlo.compare"(%29, %35) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %37 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %38 = "stablehlo.compare"(%29, %37) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %39 = "stablehlo.and"(%36, %38) : (tensor<7xi1>, tensor<7xi1>) -> tensor<7xi1>
    %40 = "stablehlo.and"(%17, %34) : (tensor<7xi1>, tensor<7xi1>) -> tensor<7xi1>
    %41 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %42 = "stablehlo.compare"(%10, %41) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %43 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %44 = "stablehlo.add"(%10, %43) : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %45 = "stablehlo.select"(%42, %44, %10) : (tensor<7xi1>, tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %46 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %47 = "stablehlo.compare"(%27, %46) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %48 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %49 = "stablehlo.add"(%27, %48) : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %50 = "stablehlo.select"(%47, %49, %27) : (tensor<7xi1>, tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %51 = "stablehlo.broadcast_in_dim"(%45) <{broadcast_dimensions = array<i64: 0>}> : (tensor<7xi32>) -> tensor<7x1xi32>
    %52 = "stablehlo.broadcast_in_dim"(%50) <{broadcast_dimensions = array<i64: 0>}> : (tensor<7xi32>) -> tensor<7x1xi32>
    %53 = "stablehlo.concatenate"(%51, %52) <{dimension = 1 : i64}> : (tensor<7x1xi32>, tensor<7x1xi32>) -> tensor<7x2xi32>
    %54 = "stablehlo.gather"(%arg0, %53) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x6xf32>, tensor<7x2xi32>) -> tensor<7xf32>
    %55 = "func.call"(%40, %54, %0) <{callee = @_where}> : (tensor<7xi1>, tensor<7xf32>, tensor<f32>) -> tensor<7xf32>
    %56 = "stablehlo.multiply"(%9, %26) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %57 = "stablehlo.multiply"(%56, %55) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %58 = "stablehlo.and"(%17, %39) : (tensor<7xi1>, tensor<7xi1>) -> tensor<7xi1>
    %59 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %60 = "stablehlo.compare"(%10, %59) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %61 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %62 = "stablehlo.add"(%10, %61) : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %63 = "stablehlo.select"(%60, %62, %10) : (tensor<7xi1>, tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %64 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %65 = "stablehlo.compare"(%29, %64) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %66 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %67 = "stablehlo.add"(%29, %66) : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %68 = "stablehlo.select"(%65, %67, %29) : (tensor<7xi1>, tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %69 = "stablehlo.broadcast_in_dim"(%63) <{broadcast_dimensions = array<i64: 0>}> : (tensor<7xi32>) -> tensor<7x1xi32>
    %70 = "stablehlo.broadcast_in_dim"(%68) <{broadcast_dimensions = array<i64: 0>}> : (tensor<7xi32>) -> tensor<7x1xi32>
    %71 = "stablehlo.concatenate"(%69, %70) <{dimension = 1 : i64}> : (tensor<7x1xi32>, tensor<7x1xi32>) -> tensor<7x2xi32>
    %72 = "stablehlo.gather"(%arg0, %71) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x6xf32>, tensor<7x2xi32>) -> tensor<7xf32>
    %73 = "func.call"(%58, %72, %0) <{callee = @_where}> : (tensor<7xi1>, tensor<7xf32>, tensor<f32>) -> tensor<7xf32>
    %74 = "stablehlo.multiply"(%9, %24) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %75 = "stablehlo.multiply"(%74, %73) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %76 = "stablehlo.and"(%22, %34) : (tensor<7xi1>, tensor<7xi1>) -> tensor<7xi1>
    %77 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %78 = "stablehlo.compare"(%12, %77) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %79 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %80 = "stablehlo.add"(%12, %79) : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %81 = "stablehlo.select"(%78, %80, %12) : (tensor<7xi1>, tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %82 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %83 = "stablehlo.compare"(%27, %82) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %84 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %85 = "stablehlo.add"(%27, %84) : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %86 = "stablehlo.select"(%83, %85, %27) : (tensor<7xi1>, tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %87 = "stablehlo.broadcast_in_dim"(%81) <{broadcast_dimensions = array<i64: 0>}> : (tensor<7xi32>) -> tensor<7x1xi32>
    %88 = "stablehlo.broadcast_in_dim"(%86) <{broadcast_dimensions = array<i64: 0>}> : (tensor<7xi32>) -> tensor<7x1xi32>
    %89 = "stablehlo.concatenate"(%87, %88) <{dimension = 1 : i64}> : (tensor<7x1xi32>, tensor<7x1xi32>) -> tensor<7x2xi32>
    %90 = "stablehlo.gather"(%arg0, %89) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x6xf32>, tensor<7x2xi32>) -> tensor<7xf32>
    %91 = "func.call"(%76, %90, %0) <{callee = @_where}> : (tensor<7xi1>, tensor<7xf32>, tensor<f32>) -> tensor<7xf32>
    %92 = "stablehlo.multiply"(%7, %26) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %93 = "stablehlo.multiply"(%92, %91) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %94 = "stablehlo.and"(%22, %39) : (tensor<7xi1>, tensor<7xi1>) -> tensor<7xi1>
    %95 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %96 = "stablehlo.compare"(%12, %95) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %97 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %98 = "stablehlo.add"(%12, %97) : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %99 = "stablehlo.select"(%96, %98, %12) : (tensor<7xi1>, tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %100 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %101 = "stablehlo.compare"(%29, %100) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %102 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<7xi32>
    %103 = "stablehlo.add"(%29, %102) : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %104 = "stablehlo.select"(%101, %103, %29) : (tensor<7xi1>, tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %105 = "stablehlo.broadcast_in_dim"(%99) <{broadcast_dimensions = array<i64: 0>}> : (tensor<7xi32>) -> tensor<7x1xi32>
    %106 = "stablehlo.broadcast_in_dim"(%104) <{broadcast_dimensions = array<i64: 0>}> : (tensor<7xi32>) -> tensor<7x1xi32>
    %107 = "stablehlo.concatenate"(%105, %106) <{dimension = 1 : i64}> : (tensor<7x1xi32>, tensor<7x1xi32>) -> tensor<7x2xi32>
    %108 = "stablehlo.gather"(%arg0, %107) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x6xf32>, tensor<7x2xi32>) -> tensor<7xf32>
    %109 = "func.call"(%94, %108, %0) <{callee = @_where}> : (tensor<7xi1>, tensor<7xf32>, tensor<f32>) -> tensor<7xf32>
    %110 = "stablehlo.multiply"(%7, %24) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %111 = "stablehlo.multiply"(%110, %109) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %112 = "stablehlo.add"(%57, %75) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %113 = "stablehlo.add"(%112, %93) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %114 = "stablehlo.add"(%113, %111) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    "func.return"(%114) : (tensor<7xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<7xi1>, tensor<7xf32>, tensor<f32>) -> tensor<7xf32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<7xi1>, %arg1: tensor<7xf32>, %arg2: tensor<f32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<7xf32>
    %1 = "stablehlo.select"(%arg0, %arg1, %0) : (tensor<7xi1>, tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    "func.return"(%1) : (tensor<7xf32>) -> ()
  }) : () -> ()
}) : () -> ()
