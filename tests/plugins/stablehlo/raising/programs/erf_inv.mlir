"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x6xf32>) -> tensor<3x6xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x6xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0x7F800000> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %1 = "stablehlo.constant"() <{value = dense<1.0> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %2 = "stablehlo.constant"() <{value = dense<2.8329768> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %3 = "stablehlo.constant"() <{value = dense<1.5014094> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %4 = "stablehlo.constant"() <{value = dense<1.001674> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %5 = "stablehlo.constant"() <{value = dense<0.24664073> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %6 = "stablehlo.constant"() <{value = dense<0.0094388705> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %7 = "stablehlo.constant"() <{value = dense<-0.0041776816> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %8 = "stablehlo.constant"() <{value = dense<-0.0076224613> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %9 = "stablehlo.constant"() <{value = dense<-0.001253725> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %10 = "stablehlo.constant"() <{value = dense<0.0057395077> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %11 = "stablehlo.constant"() <{value = dense<0.00021858087> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %12 = "stablehlo.constant"() <{value = dense<-0.0036734284> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %13 = "stablehlo.constant"() <{value = dense<-4.3915065e-06> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %14 = "stablehlo.constant"() <{value = dense<0.0013493432> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %15 = "stablehlo.constant"() <{value = dense<-3.5233877e-06> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %16 = "stablehlo.constant"() <{value = dense<0.00010095056> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %17 = "stablehlo.constant"() <{value = dense<3.4327394e-07> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %18 = "stablehlo.constant"() <{value = dense<-0.00020021426> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %19 = "stablehlo.constant"() <{value = dense<2.8102264e-08> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %20 = "stablehlo.constant"() <{value = dense<3.0> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %21 = "stablehlo.constant"() <{value = dense<2.5> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %22 = "stablehlo.constant"() <{value = dense<5.0> : tensor<3x6xf32>}> : () -> tensor<3x6xf32>
    %23 = "stablehlo.negate"(%arg0) : (tensor<3x6xf32>) -> tensor<3x6xf32>
    %24 = "stablehlo.multiply"(%arg0, %23) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %25 = "stablehlo.log_plus_one"(%24) : (tensor<3x6xf32>) -> tensor<3x6xf32>
    %26 = "stablehlo.negate"(%25) : (tensor<3x6xf32>) -> tensor<3x6xf32>
    %27 = "stablehlo.compare"(%26, %22) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xi1>
    %28 = "stablehlo.subtract"(%26, %21) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %29 = "stablehlo.sqrt"(%26) : (tensor<3x6xf32>) -> tensor<3x6xf32>
    %30 = "stablehlo.subtract"(%29, %20) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %31 = "stablehlo.select"(%27, %28, %30) : (tensor<3x6xi1>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %32 = "stablehlo.select"(%27, %19, %18) : (tensor<3x6xi1>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %33 = "stablehlo.select"(%27, %17, %16) : (tensor<3x6xi1>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %34 = "stablehlo.multiply"(%32, %31) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %35 = "stablehlo.add"(%33, %34) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %36 = "stablehlo.select"(%27, %15, %14) : (tensor<3x6xi1>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %37 = "stablehlo.multiply"(%35, %31) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %38 = "stablehlo.add"(%36, %37) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %39 = "stablehlo.select"(%27, %13, %12) : (tensor<3x6xi1>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %40 = "stablehlo.multiply"(%38, %31) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %41 = "stablehlo.add"(%39, %40) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %42 = "stablehlo.select"(%27, %11, %10) : (tensor<3x6xi1>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %43 = "stablehlo.multiply"(%41, %31) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %44 = "stablehlo.add"(%42, %43) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %45 = "stablehlo.select"(%27, %9, %8) : (tensor<3x6xi1>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %46 = "stablehlo.multiply"(%44, %31) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %47 = "stablehlo.add"(%45, %46) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %48 = "stablehlo.select"(%27, %7, %6) : (tensor<3x6xi1>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %49 = "stablehlo.multiply"(%47, %31) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %50 = "stablehlo.add"(%48, %49) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %51 = "stablehlo.select"(%27, %5, %4) : (tensor<3x6xi1>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %52 = "stablehlo.multiply"(%50, %31) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %53 = "stablehlo.add"(%51, %52) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %54 = "stablehlo.select"(%27, %3, %2) : (tensor<3x6xi1>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %55 = "stablehlo.multiply"(%53, %31) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %56 = "stablehlo.add"(%54, %55) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %57 = "stablehlo.multiply"(%56, %arg0) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %58 = "stablehlo.abs"(%arg0) : (tensor<3x6xf32>) -> tensor<3x6xf32>
    %59 = "stablehlo.compare"(%58, %1) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xi1>
    %60 = "stablehlo.multiply"(%arg0, %0) : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %61 = "stablehlo.select"(%59, %60, %57) : (tensor<3x6xi1>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    "func.return"(%61) : (tensor<3x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()
