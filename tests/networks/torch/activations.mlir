module {
  func.func @main(%arg0: tensor<3x6xf32>) -> (tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3xf32>, tensor<3x6xf32>, tensor<3x3xf32>) {
    %c = stablehlo.constant dense<20> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<-1.000000e+00> : tensor<f32>
    %cst_2 = stablehlo.constant dense<6.000000e+00> : tensor<f32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<3x6xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<3x6xf32>
    %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<3x6xf32>
    %cst_7 = stablehlo.constant dense<3.000000e+00> : tensor<3x6xf32>
    %cst_8 = stablehlo.constant dense<5.000000e-01> : tensor<3x6xf32>
    %cst_9 = stablehlo.constant dense<0.636619746> : tensor<3x6xf32>
    %cst_10 = stablehlo.constant dense<4.471500e-02> : tensor<3x6xf32>
    %cst_11 = stablehlo.constant dense<-4.000000e+00> : tensor<3x6xf32>
    %cst_12 = stablehlo.constant dense<4.000000e+00> : tensor<3x6xf32>
    %cst_13 = stablehlo.constant dense<-2.72614237E-10> : tensor<3x6xf32>
    %cst_14 = stablehlo.constant dense<2.77068146E-8> : tensor<3x6xf32>
    %cst_15 = stablehlo.constant dense<-2.10102394E-6> : tensor<3x6xf32>
    %cst_16 = stablehlo.constant dense<-5.69250624E-5> : tensor<3x6xf32>
    %cst_17 = stablehlo.constant dense<-7.34990637E-4> : tensor<3x6xf32>
    %cst_18 = stablehlo.constant dense<-2.954600e-03> : tensor<3x6xf32>
    %cst_19 = stablehlo.constant dense<-0.0160960332> : tensor<3x6xf32>
    %cst_20 = stablehlo.constant dense<-1.45660715E-5> : tensor<3x6xf32>
    %cst_21 = stablehlo.constant dense<-2.13374049E-4> : tensor<3x6xf32>
    %cst_22 = stablehlo.constant dense<-0.00168282702> : tensor<3x6xf32>
    %cst_23 = stablehlo.constant dense<-0.00737332925> : tensor<3x6xf32>
    %cst_24 = stablehlo.constant dense<-0.0142647391> : tensor<3x6xf32>
    %cst_25 = stablehlo.constant dense<-1.000000e+00> : tensor<3x6xf32>
    %cst_26 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %cst_27 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_28 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_29 = arith.constant dense<1> : tensor<1xi64>
    %cst_30 = arith.constant dense<1.000000e+00> : tensor<1xf64>
    %cst_31 = arith.constant dense<1.0507009873554805> : tensor<1xf64>
    %cst_32 = arith.constant dense<1.6732632423543772> : tensor<1xf64>
    %cst_33 = arith.constant dense<0> : tensor<1xi64>
    %cst_34 = arith.constant dense<1.000000e-02> : tensor<1xf64>
    %cst_35 = arith.constant dense<3> : tensor<1xi64>
    %cst_36 = arith.constant dense<6> : tensor<1xi64>
    %cst_37 = arith.constant dense<1.000000e-05> : tensor<1xf64>
    %cst_38 = arith.constant dense<2.000000e+00> : tensor<1xf64>
    %cst_39 = arith.constant dense<9.9999999999999998E-13> : tensor<1xf64>
    %cst_40 = arith.constant dense<0x7FF0000000000000> : tensor<1xf64>
    %0 = stablehlo.maximum %arg0, %cst_4 : tensor<3x6xf32>
    %1 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %2 = stablehlo.maximum %arg0, %1 : tensor<3x6xf32>
    %3 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %4 = stablehlo.minimum %2, %3 : tensor<3x6xf32>
    %5 = stablehlo.convert %cst_29 : (tensor<1xi64>) -> tensor<1xf32>
    %6 = stablehlo.reshape %5 : (tensor<1xf32>) -> tensor<f32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %8 = stablehlo.multiply %2, %7 : tensor<3x6xf32>
    %9 = stablehlo.minimum %arg0, %1 : tensor<3x6xf32>
    %10 = stablehlo.multiply %9, %7 : tensor<3x6xf32>
    %11 = stablehlo.exponential %10 : tensor<3x6xf32>
    %12 = stablehlo.convert %cst_30 : (tensor<1xf64>) -> tensor<1xf32>
    %13 = stablehlo.reshape %12 : (tensor<1xf32>) -> tensor<f32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %15 = stablehlo.subtract %11, %14 : tensor<3x6xf32>
    %16 = stablehlo.multiply %15, %7 : tensor<3x6xf32>
    %17 = stablehlo.multiply %16, %14 : tensor<3x6xf32>
    %18 = stablehlo.add %8, %17 : tensor<3x6xf32>
    %19 = stablehlo.convert %cst_31 : (tensor<1xf64>) -> tensor<1xf32>
    %20 = stablehlo.reshape %19 : (tensor<1xf32>) -> tensor<f32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %22 = stablehlo.multiply %2, %21 : tensor<3x6xf32>
    %23 = stablehlo.multiply %15, %21 : tensor<3x6xf32>
    %24 = stablehlo.convert %cst_32 : (tensor<1xf64>) -> tensor<1xf32>
    %25 = stablehlo.reshape %24 : (tensor<1xf32>) -> tensor<f32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %27 = stablehlo.multiply %23, %26 : tensor<3x6xf32>
    %28 = stablehlo.add %22, %27 : tensor<3x6xf32>
    %29 = stablehlo.exponential_minus_one %arg0 : tensor<3x6xf32>
    %30 = stablehlo.convert %c_0 : (tensor<i64>) -> tensor<f32>
    %31 = stablehlo.broadcast_in_dim %30, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %32 = stablehlo.compare GT, %arg0, %31, FLOAT : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xi1>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1] : (tensor<3x6xi1>) -> tensor<3x6xi1>
    %34 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<3x6xf32>) -> tensor<3x6xf32>
    %35 = stablehlo.broadcast_in_dim %29, dims = [0, 1] : (tensor<3x6xf32>) -> tensor<3x6xf32>
    %36 = stablehlo.select %33, %34, %35 : tensor<3x6xi1>, tensor<3x6xf32>
    %37 = stablehlo.convert %cst_34 : (tensor<1xf64>) -> tensor<1xf32>
    %38 = stablehlo.reshape %37 : (tensor<1xf32>) -> tensor<f32>
    %39 = stablehlo.broadcast_in_dim %38, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %40 = stablehlo.multiply %9, %39 : tensor<3x6xf32>
    %41 = stablehlo.add %2, %40 : tensor<3x6xf32>
    %42 = stablehlo.multiply %arg0, %cst_8 : tensor<3x6xf32>
    %43 = stablehlo.rsqrt %cst_6 : tensor<3x6xf32>
    %44 = stablehlo.multiply %arg0, %43 : tensor<3x6xf32>
    %45 = stablehlo.clamp %cst_11, %44, %cst_12 : tensor<3x6xf32>
    %46 = stablehlo.multiply %45, %45 : tensor<3x6xf32>
    %47 = stablehlo.multiply %cst_13, %46 : tensor<3x6xf32>
    %48 = stablehlo.add %47, %cst_14 : tensor<3x6xf32>
    %49 = stablehlo.multiply %48, %46 : tensor<3x6xf32>
    %50 = stablehlo.add %49, %cst_15 : tensor<3x6xf32>
    %51 = stablehlo.multiply %50, %46 : tensor<3x6xf32>
    %52 = stablehlo.add %51, %cst_16 : tensor<3x6xf32>
    %53 = stablehlo.multiply %52, %46 : tensor<3x6xf32>
    %54 = stablehlo.add %53, %cst_17 : tensor<3x6xf32>
    %55 = stablehlo.multiply %54, %46 : tensor<3x6xf32>
    %56 = stablehlo.add %55, %cst_18 : tensor<3x6xf32>
    %57 = stablehlo.multiply %56, %46 : tensor<3x6xf32>
    %58 = stablehlo.add %57, %cst_19 : tensor<3x6xf32>
    %59 = stablehlo.multiply %cst_20, %46 : tensor<3x6xf32>
    %60 = stablehlo.add %59, %cst_21 : tensor<3x6xf32>
    %61 = stablehlo.multiply %60, %46 : tensor<3x6xf32>
    %62 = stablehlo.add %61, %cst_22 : tensor<3x6xf32>
    %63 = stablehlo.multiply %62, %46 : tensor<3x6xf32>
    %64 = stablehlo.add %63, %cst_23 : tensor<3x6xf32>
    %65 = stablehlo.multiply %64, %46 : tensor<3x6xf32>
    %66 = stablehlo.add %65, %cst_24 : tensor<3x6xf32>
    %67 = stablehlo.multiply %45, %58 : tensor<3x6xf32>
    %68 = stablehlo.divide %67, %66 : tensor<3x6xf32>
    %69 = stablehlo.clamp %cst_25, %68, %cst_5 : tensor<3x6xf32>
    %70 = stablehlo.add %69, %cst_5 : tensor<3x6xf32>
    %71 = stablehlo.multiply %70, %42 : tensor<3x6xf32>
    %72 = stablehlo.sqrt %cst_9 : tensor<3x6xf32>
    %73 = stablehlo.power %arg0, %cst_7 : tensor<3x6xf32>
    %74 = stablehlo.multiply %cst_10, %73 : tensor<3x6xf32>
    %75 = stablehlo.add %arg0, %74 : tensor<3x6xf32>
    %76 = stablehlo.multiply %72, %75 : tensor<3x6xf32>
    %77 = stablehlo.tanh %76 : tensor<3x6xf32>
    %78 = stablehlo.add %77, %cst_5 : tensor<3x6xf32>
    %79 = stablehlo.multiply %78, %42 : tensor<3x6xf32>
    %80 = stablehlo.logistic %arg0 : tensor<3x6xf32>
    %81 = stablehlo.multiply %arg0, %80 : tensor<3x6xf32>
    %82 = stablehlo.exponential %arg0 : tensor<3x6xf32>
    %83 = stablehlo.log_plus_one %82 : tensor<3x6xf32>
    %84 = stablehlo.convert %c : (tensor<i64>) -> tensor<f32>
    %85 = stablehlo.broadcast_in_dim %84, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %86 = stablehlo.compare GT, %arg0, %85, FLOAT : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xi1>
    %87 = stablehlo.broadcast_in_dim %86, dims = [0, 1] : (tensor<3x6xi1>) -> tensor<3x6xi1>
    %88 = stablehlo.broadcast_in_dim %83, dims = [0, 1] : (tensor<3x6xf32>) -> tensor<3x6xf32>
    %89 = stablehlo.select %87, %34, %88 : tensor<3x6xi1>, tensor<3x6xf32>
    %90 = stablehlo.tanh %89 : tensor<3x6xf32>
    %91 = stablehlo.multiply %arg0, %90 : tensor<3x6xf32>
    %92 = stablehlo.abs %arg0 : tensor<3x6xf32>
    %93 = stablehlo.add %92, %7 : tensor<3x6xf32>
    %94 = stablehlo.divide %arg0, %93 : tensor<3x6xf32>
    %95 = stablehlo.convert %cst_35 : (tensor<1xi64>) -> tensor<1xf32>
    %96 = stablehlo.reshape %95 : (tensor<1xf32>) -> tensor<f32>
    %97 = stablehlo.broadcast_in_dim %96, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %98 = stablehlo.add %arg0, %97 : tensor<3x6xf32>
    %99 = stablehlo.convert %cst_33 : (tensor<1xi64>) -> tensor<1xf32>
    %100 = stablehlo.reshape %99 : (tensor<1xf32>) -> tensor<f32>
    %101 = stablehlo.clamp %100, %98, %cst_26 : (tensor<f32>, tensor<3x6xf32>, tensor<f32>) -> tensor<3x6xf32>
    %102 = stablehlo.convert %cst_36 : (tensor<1xi64>) -> tensor<1xf32>
    %103 = stablehlo.reshape %102 : (tensor<1xf32>) -> tensor<f32>
    %104 = stablehlo.clamp %cst_27, %101, %103 : (tensor<f32>, tensor<3x6xf32>, tensor<f32>) -> tensor<3x6xf32>
    %105 = stablehlo.multiply %arg0, %104 : tensor<3x6xf32>
    %106 = stablehlo.broadcast_in_dim %103, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %107 = stablehlo.divide %105, %106 : tensor<3x6xf32>
    %108 = stablehlo.divide %104, %106 : tensor<3x6xf32>
    %109 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %110 = stablehlo.maximum %arg0, %109 : tensor<3x6xf32>
    %111 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %112 = stablehlo.minimum %110, %111 : tensor<3x6xf32>
    %113 = stablehlo.tanh %arg0 : tensor<3x6xf32>
    %114 = stablehlo.negate %92 : tensor<3x6xf32>
    %115 = stablehlo.exponential %114 : tensor<3x6xf32>
    %116 = stablehlo.log_plus_one %115 : tensor<3x6xf32>
    %117 = stablehlo.subtract %9, %116 : tensor<3x6xf32>
    %118 = stablehlo.reduce(%arg0 init: %cst_27) applies stablehlo.maximum across dimensions = [1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
    %119 = stablehlo.reshape %118 : (tensor<3xf32>) -> tensor<3x1xf32>
    %120 = stablehlo.broadcast_in_dim %119, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x6xf32>
    %121 = stablehlo.subtract %arg0, %120 : tensor<3x6xf32>
    %122 = stablehlo.exponential %121 : tensor<3x6xf32>
    %123 = stablehlo.reduce(%122 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
    %124 = stablehlo.reshape %123 : (tensor<3xf32>) -> tensor<3x1xf32>
    %125 = stablehlo.broadcast_in_dim %124, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x6xf32>
    %126 = stablehlo.divide %122, %125 : tensor<3x6xf32>
    %127 = stablehlo.log %124 : tensor<3x1xf32>
    %128 = stablehlo.broadcast_in_dim %127, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x6xf32>
    %129 = stablehlo.subtract %121, %128 : tensor<3x6xf32>
    %130 = stablehlo.convert %arg0 : (tensor<3x6xf32>) -> tensor<3x6xf64>
    %131 = stablehlo.reduce(%130 init: %cst_28) applies stablehlo.add across dimensions = [1] : (tensor<3x6xf64>, tensor<f64>) -> tensor<3xf64>
    %132 = stablehlo.reshape %131 : (tensor<3xf64>) -> tensor<3x1xf64>
    %133 = stablehlo.convert %cst_36 : (tensor<1xi64>) -> tensor<1xf64>
    %134 = stablehlo.reshape %133 : (tensor<1xf64>) -> tensor<f64>
    %135 = stablehlo.broadcast_in_dim %134, dims = [] : (tensor<f64>) -> tensor<3x1xf64>
    %136 = stablehlo.divide %132, %135 : tensor<3x1xf64>
    %137 = stablehlo.broadcast_in_dim %136, dims = [0, 1] : (tensor<3x1xf64>) -> tensor<3x6xf64>
    %138 = stablehlo.subtract %130, %137 : tensor<3x6xf64>
    %139 = stablehlo.multiply %138, %138 : tensor<3x6xf64>
    %140 = stablehlo.reduce(%139 init: %cst_28) applies stablehlo.add across dimensions = [1] : (tensor<3x6xf64>, tensor<f64>) -> tensor<3xf64>
    %141 = stablehlo.reshape %140 : (tensor<3xf64>) -> tensor<3x1xf64>
    %142 = stablehlo.divide %141, %135 : tensor<3x1xf64>
    %143 = stablehlo.convert %142 : (tensor<3x1xf64>) -> tensor<3x1xf32>
    %144 = stablehlo.reduce(%arg0 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
    %145 = stablehlo.reshape %144 : (tensor<3xf32>) -> tensor<3x1xf32>
    %146 = stablehlo.broadcast_in_dim %103, dims = [] : (tensor<f32>) -> tensor<3x1xf32>
    %147 = stablehlo.divide %145, %146 : tensor<3x1xf32>
    %148 = stablehlo.convert %cst_37 : (tensor<1xf64>) -> tensor<1xf32>
    %149 = stablehlo.reshape %148 : (tensor<1xf32>) -> tensor<f32>
    %150 = stablehlo.broadcast_in_dim %149, dims = [] : (tensor<f32>) -> tensor<3x1xf32>
    %151 = stablehlo.add %143, %150 : tensor<3x1xf32>
    %152 = stablehlo.rsqrt %151 : tensor<3x1xf32>
    %153 = stablehlo.broadcast_in_dim %147, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x6xf32>
    %154 = stablehlo.subtract %arg0, %153 : tensor<3x6xf32>
    %155 = stablehlo.broadcast_in_dim %152, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x6xf32>
    %156 = stablehlo.multiply %154, %155 : tensor<3x6xf32>
    %157 = stablehlo.convert %cst_38 : (tensor<1xf64>) -> tensor<1xf32>
    %158 = stablehlo.reshape %157 : (tensor<1xf32>) -> tensor<f32>
    %159 = stablehlo.broadcast_in_dim %158, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %160 = stablehlo.power %92, %159 : tensor<3x6xf32>
    %161 = stablehlo.reduce(%160 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
    %162 = stablehlo.divide %cst, %158 : tensor<f32>
    %163 = stablehlo.broadcast_in_dim %162, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %164 = stablehlo.power %161, %163 : tensor<3xf32>
    %165 = stablehlo.reshape %164 : (tensor<3xf32>) -> tensor<3x1xf32>
    %166 = stablehlo.convert %cst_39 : (tensor<1xf64>) -> tensor<1xf32>
    %167 = stablehlo.reshape %166 : (tensor<1xf32>) -> tensor<f32>
    %168 = stablehlo.clamp %167, %165, %cst_26 : (tensor<f32>, tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
    %169 = stablehlo.broadcast_in_dim %168, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x6xf32>
    %170 = stablehlo.divide %arg0, %169 : tensor<3x6xf32>
    %171 = stablehlo.clamp %cst_11, %arg0, %cst_12 : tensor<3x6xf32>
    %172 = stablehlo.multiply %171, %171 : tensor<3x6xf32>
    %173 = stablehlo.multiply %cst_13, %172 : tensor<3x6xf32>
    %174 = stablehlo.add %173, %cst_14 : tensor<3x6xf32>
    %175 = stablehlo.multiply %174, %172 : tensor<3x6xf32>
    %176 = stablehlo.add %175, %cst_15 : tensor<3x6xf32>
    %177 = stablehlo.multiply %176, %172 : tensor<3x6xf32>
    %178 = stablehlo.add %177, %cst_16 : tensor<3x6xf32>
    %179 = stablehlo.multiply %178, %172 : tensor<3x6xf32>
    %180 = stablehlo.add %179, %cst_17 : tensor<3x6xf32>
    %181 = stablehlo.multiply %180, %172 : tensor<3x6xf32>
    %182 = stablehlo.add %181, %cst_18 : tensor<3x6xf32>
    %183 = stablehlo.multiply %182, %172 : tensor<3x6xf32>
    %184 = stablehlo.add %183, %cst_19 : tensor<3x6xf32>
    %185 = stablehlo.multiply %cst_20, %172 : tensor<3x6xf32>
    %186 = stablehlo.add %185, %cst_21 : tensor<3x6xf32>
    %187 = stablehlo.multiply %186, %172 : tensor<3x6xf32>
    %188 = stablehlo.add %187, %cst_22 : tensor<3x6xf32>
    %189 = stablehlo.multiply %188, %172 : tensor<3x6xf32>
    %190 = stablehlo.add %189, %cst_23 : tensor<3x6xf32>
    %191 = stablehlo.multiply %190, %172 : tensor<3x6xf32>
    %192 = stablehlo.add %191, %cst_24 : tensor<3x6xf32>
    %193 = stablehlo.multiply %171, %184 : tensor<3x6xf32>
    %194 = stablehlo.divide %193, %192 : tensor<3x6xf32>
    %195 = stablehlo.clamp %cst_25, %194, %cst_5 : tensor<3x6xf32>
    %196 = stablehlo.abs %119 : tensor<3x1xf32>
    %197 = stablehlo.convert %cst_40 : tensor<1xf64>
    %198 = stablehlo.reshape %197 : (tensor<1xf64>) -> tensor<f64>
    %199 = stablehlo.convert %198 : (tensor<f64>) -> tensor<f32>
    %200 = stablehlo.broadcast_in_dim %199, dims = [] : (tensor<f32>) -> tensor<3x1xf32>
    %201 = stablehlo.compare EQ, %196, %200, FLOAT : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x1xi1>
    %202 = stablehlo.broadcast_in_dim %201, dims = [0, 1] : (tensor<3x1xi1>) -> tensor<3x1xi1>
    %203 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<3x1xf32>
    %204 = stablehlo.broadcast_in_dim %119, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x1xf32>
    %205 = stablehlo.select %202, %203, %204 : tensor<3x1xi1>, tensor<3x1xf32>
    %206 = stablehlo.reshape %205 : (tensor<3x1xf32>) -> tensor<3xf32>
    %207 = stablehlo.broadcast_in_dim %205, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x6xf32>
    %208 = stablehlo.subtract %arg0, %207 : tensor<3x6xf32>
    %209 = stablehlo.exponential %208 : tensor<3x6xf32>
    %210 = stablehlo.reduce(%209 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
    %211 = stablehlo.log %210 : tensor<3xf32>
    %212 = stablehlo.add %211, %206 : tensor<3xf32>
    %213 = stablehlo.multiply %arg0, %arg0 : tensor<3x6xf32>
    %214 = stablehlo.reduce(%213 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
    %215 = stablehlo.reshape %214 : (tensor<3xf32>) -> tensor<3x1xf32>
    %216 = stablehlo.divide %215, %146 : tensor<3x1xf32>
    %217 = stablehlo.rsqrt %216 : tensor<3x1xf32>
    %218 = stablehlo.broadcast_in_dim %217, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x6xf32>
    %219 = stablehlo.multiply %arg0, %218 : tensor<3x6xf32>
    %220 = stablehlo.slice %arg0 [0:3, 0:3] : (tensor<3x6xf32>) -> tensor<3x3xf32>
    %221 = stablehlo.slice %arg0 [0:3, 3:6] : (tensor<3x6xf32>) -> tensor<3x3xf32>
    %222 = stablehlo.logistic %221 : tensor<3x3xf32>
    %223 = stablehlo.multiply %220, %222 : tensor<3x3xf32>
    return %0, %4, %18, %28, %36, %41, %71, %79, %81, %91, %89, %94, %107, %108, %112, %80, %113, %117, %126, %129, %156, %170, %195, %212, %219, %223 : tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3xf32>, tensor<3x6xf32>, tensor<3x3xf32>
  }
}
