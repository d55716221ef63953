"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x5x8xf32>) -> tensor<2x5x8xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x5x8xf32>):
    %0 = "stablehlo.constant"() <{value = dense<10000.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<4.0> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<5xi32>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0>}> : (tensor<5xi32>) -> tensor<5x1xi32>
    %4 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4xi32>
    %5 = "stablehlo.negate"(%4) : (tensor<4xi32>) -> tensor<4xi32>
    %6 = "stablehlo.convert"(%5) : (tensor<4xi32>) -> tensor<4xf32>
    %7 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %8 = "stablehlo.divide"(%6, %7) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %9 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %10 = "stablehlo.power"(%9, %8) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %11 = "stablehlo.convert"(%3) : (tensor<5x1xi32>) -> tensor<5x1xf32>
    %12 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<1x4xf32>
    %13 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<5x1xf32>) -> tensor<5x4xf32>
    %14 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x4xf32>) -> tensor<5x4xf32>
    %15 = "stablehlo.multiply"(%13, %14) : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
    %16 = "stablehlo.cosine"(%15) : (tensor<5x4xf32>) -> tensor<5x4xf32>
    %17 = "stablehlo.sine"(%15) : (tensor<5x4xf32>) -> tensor<5x4xf32>
    %18 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 2, 5, 4>, start_indices = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<2x5x8xf32>) -> tensor<2x5x4xf32>
    %19 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 2, 5, 8>, start_indices = array<i64: 0, 0, 4>, strides = array<i64: 1, 1, 1>}> : (tensor<2x5x8xf32>) -> tensor<2x5x4xf32>
    %20 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<5x4xf32>) -> tensor<1x5x4xf32>
    %21 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x5x4xf32>) -> tensor<2x5x4xf32>
    %22 = "stablehlo.multiply"(%18, %21) : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
    %23 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<5x4xf32>) -> tensor<1x5x4xf32>
    %24 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x5x4xf32>) -> tensor<2x5x4xf32>
    %25 = "stablehlo.multiply"(%19, %24) : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
    %26 = "stablehlo.subtract"(%22, %25) : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
    %27 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<5x4xf32>) -> tensor<1x5x4xf32>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x5x4xf32>) -> tensor<2x5x4xf32>
    %29 = "stablehlo.multiply"(%18, %28) : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
    %30 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<5x4xf32>) -> tensor<1x5x4xf32>
    %31 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x5x4xf32>) -> tensor<2x5x4xf32>
    %32 = "stablehlo.multiply"(%19, %31) : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
    %33 = "stablehlo.add"(%29, %32) : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
    %34 = "stablehlo.concatenate"(%26, %33) <{dimension = 2 : i64}> : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x8xf32>
    "func.return"(%34) : (tensor<2x5x8xf32>) -> ()
  }) : () -> ()
}) : () -> ()
