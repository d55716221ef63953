"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3xf32>) -> tensor<3x3xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3xf32>):
    %0 = "stablehlo.constant"() <{value = dense<2.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<3x3xi32>
    %3 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<3x3xi32>
    %4 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<3x3xi32>
    %5 = "stablehlo.add"(%2, %4) : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi32>
    %6 = "stablehlo.compare"(%5, %3) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>
    %7 = "stablehlo.convert"(%6) : (tensor<3x3xi1>) -> tensor<3x3xf32>
    %8 = "stablehlo.slice"(%7) <{limit_indices = array<i64: 3, 3>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<3x3xf32>) -> tensor<3x3xf32>
    %9 = "stablehlo.convert"(%8) : (tensor<3x3xf32>) -> tensor<3x3xf32>
    %10 = "stablehlo.sine"(%arg0) : (tensor<3xf32>) -> tensor<3xf32>
    %11 = "stablehlo.cosine"(%arg0) : (tensor<3xf32>) -> tensor<3xf32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>) -> tensor<1x3xf32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x3xf32>) -> tensor<3x3xf32>
    %14 = "stablehlo.multiply"(%9, %13) : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    %15 = "stablehlo.cosine"(%arg0) : (tensor<3xf32>) -> tensor<3xf32>
    %16 = "stablehlo.sine"(%arg0) : (tensor<3xf32>) -> tensor<3xf32>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>) -> tensor<1x3xf32>
    %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x3xf32>) -> tensor<3x3xf32>
    %19 = "stablehlo.multiply"(%9, %18) : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    %20 = "stablehlo.negate"(%19) : (tensor<3x3xf32>) -> tensor<3x3xf32>
    %21 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %22 = "stablehlo.multiply"(%21, %10) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %23 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x3xf32>
    %24 = "stablehlo.multiply"(%23, %14) : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    %25 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<1x1xi32>
    %26 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<1x1xi32>
    %27 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x1xi32>
    %28 = "stablehlo.add"(%25, %27) : (tensor<1x1xi32>, tensor<1x1xi32>) -> tensor<1x1xi32>
    %29 = "stablehlo.compare"(%28, %26) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<1x1xi32>, tensor<1x1xi32>) -> tensor<1x1xi1>
    %30 = "stablehlo.convert"(%29) : (tensor<1x1xi1>) -> tensor<1x1xf32>
    %31 = "stablehlo.slice"(%30) <{limit_indices = array<i64: 1, 1>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<1x1xf32>) -> tensor<1x1xf32>
    %32 = "stablehlo.reshape"(%31) : (tensor<1x1xf32>) -> tensor<1xf32>
    %33 = "stablehlo.convert"(%32) : (tensor<1xf32>) -> tensor<1xf32>
    %34 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<1x3xf32>
    %35 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>) -> tensor<1x3xf32>
    %36 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<3x3xf32>) -> tensor<3x1x3xf32>
    %37 = "stablehlo.multiply"(%34, %35) : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
    %38 = "stablehlo.broadcast_in_dim"(%34) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<1x3xf32>) -> tensor<1x1x3xf32>
    %39 = "stablehlo.broadcast_in_dim"(%38) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x3xf32>) -> tensor<3x1x3xf32>
    %40 = "stablehlo.multiply"(%39, %36) : (tensor<3x1x3xf32>, tensor<3x1x3xf32>) -> tensor<3x1x3xf32>
    %41 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>) -> tensor<1x3xf32>
    %42 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<3x3xf32>) -> tensor<3x1x3xf32>
    %43 = "stablehlo.broadcast_in_dim"(%41) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<1x3xf32>) -> tensor<1x1x3xf32>
    %44 = "stablehlo.broadcast_in_dim"(%43) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x3xf32>) -> tensor<3x1x3xf32>
    %45 = "stablehlo.multiply"(%40, %44) : (tensor<3x1x3xf32>, tensor<3x1x3xf32>) -> tensor<3x1x3xf32>
    %46 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<1x3xf32>) -> tensor<1x1x3xf32>
    %47 = "stablehlo.broadcast_in_dim"(%46) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x3xf32>) -> tensor<3x1x3xf32>
    %48 = "stablehlo.multiply"(%47, %42) : (tensor<3x1x3xf32>, tensor<3x1x3xf32>) -> tensor<3x1x3xf32>
    %49 = "stablehlo.add"(%45, %48) : (tensor<3x1x3xf32>, tensor<3x1x3xf32>) -> tensor<3x1x3xf32>
    %50 = "stablehlo.slice"(%49) <{limit_indices = array<i64: 3, 1, 3>, start_indices = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<3x1x3xf32>) -> tensor<3x1x3xf32>
    %51 = "stablehlo.reshape"(%50) : (tensor<3x1x3xf32>) -> tensor<3x3xf32>
    %52 = "stablehlo.transpose"(%51) <{permutation = array<i64: 1, 0>}> : (tensor<3x3xf32>) -> tensor<3x3xf32>
    %53 = "stablehlo.slice"(%52) <{limit_indices = array<i64: 3, 3>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<3x3xf32>) -> tensor<3x3xf32>
    "func.return"(%53) : (tensor<3x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()
