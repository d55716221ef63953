"builtin.module"() ({
  "func.func"() <{function_type = (tensor<5xf32>) -> tensor<5xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<5xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0x7F800000> : tensor<5xf32>}> : () -> tensor<5xf32>
    %1 = "stablehlo.constant"() <{value = dense<1.1447299> : tensor<5xf32>}> : () -> tensor<5xf32>
    %2 = "stablehlo.constant"() <{value = dense<3.1415927> : tensor<5xf32>}> : () -> tensor<5xf32>
    %3 = "stablehlo.constant"() <{value = dense<0.9189385> : tensor<5xf32>}> : () -> tensor<5xf32>
    %4 = "stablehlo.constant"() <{value = dense<2.014903> : tensor<5xf32>}> : () -> tensor<5xf32>
    %5 = "stablehlo.constant"() <{value = dense<7.5> : tensor<5xf32>}> : () -> tensor<5xf32>
    %6 = "stablehlo.constant"() <{value = dense<8.0> : tensor<5xf32>}> : () -> tensor<5xf32>
    %7 = "stablehlo.constant"() <{value = dense<1.5056327e-07> : tensor<5xf32>}> : () -> tensor<5xf32>
    %8 = "stablehlo.constant"() <{value = dense<7.0> : tensor<5xf32>}> : () -> tensor<5xf32>
    %9 = "stablehlo.constant"() <{value = dense<9.984369e-06> : tensor<5xf32>}> : () -> tensor<5xf32>
    %10 = "stablehlo.constant"() <{value = dense<6.0> : tensor<5xf32>}> : () -> tensor<5xf32>
    %11 = "stablehlo.constant"() <{value = dense<-0.1385711> : tensor<5xf32>}> : () -> tensor<5xf32>
    %12 = "stablehlo.constant"() <{value = dense<5.0> : tensor<5xf32>}> : () -> tensor<5xf32>
    %13 = "stablehlo.constant"() <{value = dense<12.507343> : tensor<5xf32>}> : () -> tensor<5xf32>
    %14 = "stablehlo.constant"() <{value = dense<4.0> : tensor<5xf32>}> : () -> tensor<5xf32>
    %15 = "stablehlo.constant"() <{value = dense<-176.61504> : tensor<5xf32>}> : () -> tensor<5xf32>
    %16 = "stablehlo.constant"() <{value = dense<3.0> : tensor<5xf32>}> : () -> tensor<5xf32>
    %17 = "stablehlo.constant"() <{value = dense<771.3234> : tensor<5xf32>}> : () -> tensor<5xf32>
    %18 = "stablehlo.constant"() <{value = dense<2.0> : tensor<5xf32>}> : () -> tensor<5xf32>
    %19 = "stablehlo.constant"() <{value = dense<-1259.1392> : tensor<5xf32>}> : () -> tensor<5xf32>
    %20 = "stablehlo.constant"() <{value = dense<676.5204> : tensor<5xf32>}> : () -> tensor<5xf32>
    %21 = "stablehlo.constant"() <{value = dense<1.0> : tensor<5xf32>}> : () -> tensor<5xf32>
    %22 = "stablehlo.constant"() <{value = dense<0.5> : tensor<5xf32>}> : () -> tensor<5xf32>
    %23 = "stablehlo.compare"(%arg0, %22) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %24 = "stablehlo.negate"(%arg0) : (tensor<5xf32>) -> tensor<5xf32>
    %25 = "stablehlo.subtract"(%arg0, %21) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %26 = "stablehlo.select"(%23, %24, %25) : (tensor<5xi1>, tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %27 = "stablehlo.add"(%26, %21) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %28 = "stablehlo.divide"(%20, %27) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %29 = "stablehlo.add"(%21, %28) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %30 = "stablehlo.add"(%26, %18) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %31 = "stablehlo.divide"(%19, %30) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %32 = "stablehlo.add"(%29, %31) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %33 = "stablehlo.add"(%26, %16) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %34 = "stablehlo.divide"(%17, %33) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %35 = "stablehlo.add"(%32, %34) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %36 = "stablehlo.add"(%26, %14) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %37 = "stablehlo.divide"(%15, %36) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %38 = "stablehlo.add"(%35, %37) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %39 = "stablehlo.add"(%26, %12) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %40 = "stablehlo.divide"(%13, %39) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %41 = "stablehlo.add"(%38, %40) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %42 = "stablehlo.add"(%26, %10) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %43 = "stablehlo.divide"(%11, %42) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %44 = "stablehlo.add"(%41, %43) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %45 = "stablehlo.add"(%26, %8) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %46 = "stablehlo.divide"(%9, %45) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %47 = "stablehlo.add"(%44, %46) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %48 = "stablehlo.add"(%26, %6) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %49 = "stablehlo.divide"(%7, %48) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %50 = "stablehlo.add"(%47, %49) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %51 = "stablehlo.add"(%5, %26) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %52 = "stablehlo.divide"(%26, %5) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %53 = "stablehlo.log_plus_one"(%52) : (tensor<5xf32>) -> tensor<5xf32>
    %54 = "stablehlo.add"(%4, %53) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %55 = "stablehlo.divide"(%51, %54) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %56 = "stablehlo.add"(%26, %22) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %57 = "stablehlo.subtract"(%56, %55) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %58 = "stablehlo.multiply"(%57, %54) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %59 = "stablehlo.log"(%50) : (tensor<5xf32>) -> tensor<5xf32>
    %60 = "stablehlo.add"(%3, %58) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %61 = "stablehlo.add"(%60, %59) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %62 = "stablehlo.abs"(%arg0) : (tensor<5xf32>) -> tensor<5xf32>
    %63 = "stablehlo.floor"(%62) : (tensor<5xf32>) -> tensor<5xf32>
    %64 = "stablehlo.subtract"(%62, %63) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %65 = "stablehlo.compare"(%22, %64) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %66 = "stablehlo.subtract"(%21, %64) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %67 = "stablehlo.select"(%65, %66, %64) : (tensor<5xi1>, tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %68 = "stablehlo.multiply"(%2, %67) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %69 = "stablehlo.sine"(%68) : (tensor<5xf32>) -> tensor<5xf32>
    %70 = "stablehlo.log"(%69) : (tensor<5xf32>) -> tensor<5xf32>
    %71 = "stablehlo.subtract"(%1, %70) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %72 = "stablehlo.subtract"(%71, %61) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %73 = "stablehlo.is_finite"(%70) : (tensor<5xf32>) -> tensor<5xi1>
    %74 = "stablehlo.negate"(%70) : (tensor<5xf32>) -> tensor<5xf32>
    %75 = "stablehlo.select"(%73, %72, %74) : (tensor<5xi1>, tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %76 = "stablehlo.select"(%23, %75, %61) : (tensor<5xi1>, tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %77 = "stablehlo.abs"(%arg0) : (tensor<5xf32>) -> tensor<5xf32>
    %78 = "stablehlo.compare"(%77, %0) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %79 = "stablehlo.select"(%78, %0, %76) : (tensor<5xi1>, tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    "func.return"(%79) : (tensor<5xf32>) -> ()
  }) : () -> ()
}) : () -> ()
