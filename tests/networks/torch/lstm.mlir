module {
  func.func @main(%arg0: tensor<2x5x6xf32>) -> tensor<2x3xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<2x10xf32>
    %cst_0 = stablehlo.constant dense_resource<torch_tensor_3_torch.float32> : tensor<3xf32>
    %cst_1 = stablehlo.constant dense_resource<torch_tensor_3_10_torch.float32> : tensor<3x10xf32>
    %cst_2 = stablehlo.constant dense_resource<torch_tensor_40_torch.float32_1> : tensor<40xf32>
    %cst_3 = stablehlo.constant dense_resource<torch_tensor_40_6_torch.float32> : tensor<40x6xf32>
    %cst_4 = stablehlo.constant dense_resource<torch_tensor_40_torch.float32> : tensor<40xf32>
    %cst_5 = stablehlo.constant dense_resource<torch_tensor_40_10_torch.float32> : tensor<40x10xf32>
    %cst_6 = arith.constant dense<1> : tensor<1xi64>
    %0 = stablehlo.slice %arg0 [0:2, 0:1, 0:6] : (tensor<2x5x6xf32>) -> tensor<2x1x6xf32>
    %1 = stablehlo.reshape %0 : (tensor<2x1x6xf32>) -> tensor<2x6xf32>
    %2 = stablehlo.transpose %cst_5, dims = [1, 0] : (tensor<40x10xf32>) -> tensor<10x40xf32>
    %3 = stablehlo.dot_general %cst, %2, contracting_dims = [1] x [0] : (tensor<2x10xf32>, tensor<10x40xf32>) -> tensor<2x40xf32>
    %4 = stablehlo.convert %cst_6 : (tensor<1xi64>) -> tensor<1xf32>
    %5 = stablehlo.reshape %4 : (tensor<1xf32>) -> tensor<f32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<2x40xf32>
    %7 = stablehlo.multiply %3, %6 : tensor<2x40xf32>
    %8 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<40xf32>
    %9 = stablehlo.multiply %8, %cst_4 : tensor<40xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [1] : (tensor<40xf32>) -> tensor<2x40xf32>
    %11 = stablehlo.add %7, %10 : tensor<2x40xf32>
    %12 = stablehlo.transpose %cst_3, dims = [1, 0] : (tensor<40x6xf32>) -> tensor<6x40xf32>
    %13 = stablehlo.dot_general %1, %12, contracting_dims = [1] x [0] : (tensor<2x6xf32>, tensor<6x40xf32>) -> tensor<2x40xf32>
    %14 = stablehlo.multiply %13, %6 : tensor<2x40xf32>
    %15 = stablehlo.multiply %8, %cst_2 : tensor<40xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1] : (tensor<40xf32>) -> tensor<2x40xf32>
    %17 = stablehlo.add %14, %16 : tensor<2x40xf32>
    %18 = stablehlo.add %11, %17 : tensor<2x40xf32>
    %19 = stablehlo.slice %18 [0:2, 0:10] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %20 = stablehlo.slice %18 [0:2, 10:20] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %21 = stablehlo.slice %18 [0:2, 20:30] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %22 = stablehlo.slice %18 [0:2, 30:40] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %23 = stablehlo.logistic %19 : tensor<2x10xf32>
    %24 = stablehlo.logistic %20 : tensor<2x10xf32>
    %25 = stablehlo.tanh %21 : tensor<2x10xf32>
    %26 = stablehlo.logistic %22 : tensor<2x10xf32>
    %27 = stablehlo.multiply %24, %cst : tensor<2x10xf32>
    %28 = stablehlo.multiply %23, %25 : tensor<2x10xf32>
    %29 = stablehlo.add %27, %28 : tensor<2x10xf32>
    %30 = stablehlo.tanh %29 : tensor<2x10xf32>
    %31 = stablehlo.multiply %26, %30 : tensor<2x10xf32>
    %32 = stablehlo.slice %arg0 [0:2, 1:2, 0:6] : (tensor<2x5x6xf32>) -> tensor<2x1x6xf32>
    %33 = stablehlo.reshape %32 : (tensor<2x1x6xf32>) -> tensor<2x6xf32>
    %34 = stablehlo.dot_general %31, %2, contracting_dims = [1] x [0] : (tensor<2x10xf32>, tensor<10x40xf32>) -> tensor<2x40xf32>
    %35 = stablehlo.multiply %34, %6 : tensor<2x40xf32>
    %36 = stablehlo.add %35, %10 : tensor<2x40xf32>
    %37 = stablehlo.dot_general %33, %12, contracting_dims = [1] x [0] : (tensor<2x6xf32>, tensor<6x40xf32>) -> tensor<2x40xf32>
    %38 = stablehlo.multiply %37, %6 : tensor<2x40xf32>
    %39 = stablehlo.add %38, %16 : tensor<2x40xf32>
    %40 = stablehlo.add %36, %39 : tensor<2x40xf32>
    %41 = stablehlo.slice %40 [0:2, 0:10] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %42 = stablehlo.slice %40 [0:2, 10:20] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %43 = stablehlo.slice %40 [0:2, 20:30] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %44 = stablehlo.slice %40 [0:2, 30:40] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %45 = stablehlo.logistic %41 : tensor<2x10xf32>
    %46 = stablehlo.logistic %42 : tensor<2x10xf32>
    %47 = stablehlo.tanh %43 : tensor<2x10xf32>
    %48 = stablehlo.logistic %44 : tensor<2x10xf32>
    %49 = stablehlo.multiply %46, %29 : tensor<2x10xf32>
    %50 = stablehlo.multiply %45, %47 : tensor<2x10xf32>
    %51 = stablehlo.add %49, %50 : tensor<2x10xf32>
    %52 = stablehlo.tanh %51 : tensor<2x10xf32>
    %53 = stablehlo.multiply %48, %52 : tensor<2x10xf32>
    %54 = stablehlo.slice %arg0 [0:2, 2:3, 0:6] : (tensor<2x5x6xf32>) -> tensor<2x1x6xf32>
    %55 = stablehlo.reshape %54 : (tensor<2x1x6xf32>) -> tensor<2x6xf32>
    %56 = stablehlo.dot_general %53, %2, contracting_dims = [1] x [0] : (tensor<2x10xf32>, tensor<10x40xf32>) -> tensor<2x40xf32>
    %57 = stablehlo.multiply %56, %6 : tensor<2x40xf32>
    %58 = stablehlo.add %57, %10 : tensor<2x40xf32>
    %59 = stablehlo.dot_general %55, %12, contracting_dims = [1] x [0] : (tensor<2x6xf32>, tensor<6x40xf32>) -> tensor<2x40xf32>
    %60 = stablehlo.multiply %59, %6 : tensor<2x40xf32>
    %61 = stablehlo.add %60, %16 : tensor<2x40xf32>
    %62 = stablehlo.add %58, %61 : tensor<2x40xf32>
    %63 = stablehlo.slice %62 [0:2, 0:10] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %64 = stablehlo.slice %62 [0:2, 10:20] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %65 = stablehlo.slice %62 [0:2, 20:30] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %66 = stablehlo.slice %62 [0:2, 30:40] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %67 = stablehlo.logistic %63 : tensor<2x10xf32>
    %68 = stablehlo.logistic %64 : tensor<2x10xf32>
    %69 = stablehlo.tanh %65 : tensor<2x10xf32>
    %70 = stablehlo.logistic %66 : tensor<2x10xf32>
    %71 = stablehlo.multiply %68, %51 : tensor<2x10xf32>
    %72 = stablehlo.multiply %67, %69 : tensor<2x10xf32>
    %73 = stablehlo.add %71, %72 : tensor<2x10xf32>
    %74 = stablehlo.tanh %73 : tensor<2x10xf32>
    %75 = stablehlo.multiply %70, %74 : tensor<2x10xf32>
    %76 = stablehlo.slice %arg0 [0:2, 3:4, 0:6] : (tensor<2x5x6xf32>) -> tensor<2x1x6xf32>
    %77 = stablehlo.reshape %76 : (tensor<2x1x6xf32>) -> tensor<2x6xf32>
    %78 = stablehlo.dot_general %75, %2, contracting_dims = [1] x [0] : (tensor<2x10xf32>, tensor<10x40xf32>) -> tensor<2x40xf32>
    %79 = stablehlo.multiply %78, %6 : tensor<2x40xf32>
    %80 = stablehlo.add %79, %10 : tensor<2x40xf32>
    %81 = stablehlo.dot_general %77, %12, contracting_dims = [1] x [0] : (tensor<2x6xf32>, tensor<6x40xf32>) -> tensor<2x40xf32>
    %82 = stablehlo.multiply %81, %6 : tensor<2x40xf32>
    %83 = stablehlo.add %82, %16 : tensor<2x40xf32>
    %84 = stablehlo.add %80, %83 : tensor<2x40xf32>
    %85 = stablehlo.slice %84 [0:2, 0:10] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %86 = stablehlo.slice %84 [0:2, 10:20] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %87 = stablehlo.slice %84 [0:2, 20:30] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %88 = stablehlo.slice %84 [0:2, 30:40] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %89 = stablehlo.logistic %85 : tensor<2x10xf32>
    %90 = stablehlo.logistic %86 : tensor<2x10xf32>
    %91 = stablehlo.tanh %87 : tensor<2x10xf32>
    %92 = stablehlo.logistic %88 : tensor<2x10xf32>
    %93 = stablehlo.multiply %90, %73 : tensor<2x10xf32>
    %94 = stablehlo.multiply %89, %91 : tensor<2x10xf32>
    %95 = stablehlo.add %93, %94 : tensor<2x10xf32>
    %96 = stablehlo.tanh %95 : tensor<2x10xf32>
    %97 = stablehlo.multiply %92, %96 : tensor<2x10xf32>
    %98 = stablehlo.slice %arg0 [0:2, 4:5, 0:6] : (tensor<2x5x6xf32>) -> tensor<2x1x6xf32>
    %99 = stablehlo.reshape %98 : (tensor<2x1x6xf32>) -> tensor<2x6xf32>
    %100 = stablehlo.dot_general %97, %2, contracting_dims = [1] x [0] : (tensor<2x10xf32>, tensor<10x40xf32>) -> tensor<2x40xf32>
    %101 = stablehlo.multiply %100, %6 : tensor<2x40xf32>
    %102 = stablehlo.add %101, %10 : tensor<2x40xf32>
    %103 = stablehlo.dot_general %99, %12, contracting_dims = [1] x [0] : (tensor<2x6xf32>, tensor<6x40xf32>) -> tensor<2x40xf32>
    %104 = stablehlo.multiply %103, %6 : tensor<2x40xf32>
    %105 = stablehlo.add %104, %16 : tensor<2x40xf32>
    %106 = stablehlo.add %102, %105 : tensor<2x40xf32>
    %107 = stablehlo.slice %106 [0:2, 0:10] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %108 = stablehlo.slice %106 [0:2, 10:20] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %109 = stablehlo.slice %106 [0:2, 20:30] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %110 = stablehlo.slice %106 [0:2, 30:40] : (tensor<2x40xf32>) -> tensor<2x10xf32>
    %111 = stablehlo.logistic %107 : tensor<2x10xf32>
    %112 = stablehlo.logistic %108 : tensor<2x10xf32>
    %113 = stablehlo.tanh %109 : tensor<2x10xf32>
    %114 = stablehlo.logistic %110 : tensor<2x10xf32>
    %115 = stablehlo.multiply %112, %95 : tensor<2x10xf32>
    %116 = stablehlo.multiply %111, %113 : tensor<2x10xf32>
    %117 = stablehlo.add %115, %116 : tensor<2x10xf32>
    %118 = stablehlo.tanh %117 : tensor<2x10xf32>
    %119 = stablehlo.multiply %114, %118 : tensor<2x10xf32>
    %120 = stablehlo.transpose %cst_1, dims = [1, 0] : (tensor<3x10xf32>) -> tensor<10x3xf32>
    %121 = stablehlo.dot_general %119, %120, contracting_dims = [1] x [0] : (tensor<2x10xf32>, tensor<10x3xf32>) -> tensor<2x3xf32>
    %122 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %123 = stablehlo.multiply %121, %122 : tensor<2x3xf32>
    %124 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %125 = stablehlo.multiply %124, %cst_0 : tensor<3xf32>
    %126 = stablehlo.broadcast_in_dim %125, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %127 = stablehlo.add %123, %126 : tensor<2x3xf32>
    return %127 : tensor<2x3xf32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      torch_tensor_3_torch.float32: "0x04000000F7C08A3ED813CE3D6C65783E",
      torch_tensor_3_10_torch.float32: "0x040000004E3496BE0990063E78EF62BD6AE1753D943014BB1CEB2B3E6842513D62D964BE776AC73DA55DE83DCF087C3ED05C563E843A52BEFA0D38BD681B833DB0A249BDD4D60CBD1BFF493D0B39983D3789A9BD76CB1F3D5356BD3DFA8BFC3DB0C5103EF7738C3E69767A3E02DC873E42CA06BEF38C63BDE004EDBD",
      torch_tensor_40_torch.float32_1: "0x04000000B16E33BD70AC3DBE454182BC9CF937BE579521BE40EFC5BD8AFBCEBD80EB0F3ECD4797BE2E16403E8ED317BE4EAAA7BC0E4D65BED5FF92BEBB7B593D200E623E79AA0A3E1B4F993C162B4B3D438F14BEF6FF903D97FCE2BCE1F495BE057A8F3E681C4F3E64B06C3E89748BBC7A70FBBC1790D9BC29913EBE649077BDFF8E113E140B8CBDE28B893EC6155A3E77EA583ECC4C3D3C59136E3E88567D3E49AA84BE",
      torch_tensor_40_6_torch.float32: "0x04000000007F1A3DC314193D174B84BEDACF3BBE32949FBEC64A95BE969B9F3EEDC5853E7C97993D7F9D993EB68EEABDE3AF38BECD078A3E8D3589BCEEF5753DBA6D3F3E3FA42A3E7D6A39BED176FABDA16C95BEAD44643CD52FE8BD78158B3D1B0B713C72088A3E601DDF3C8147223EB95CCC3D66A68F3E079D06BEB430873EDE41683EE73D01BEFA7D463E16AF953EFE1737BE8A9CFCBD36865D3ECB8C823E28D8AA3DD4E0C63D44D76F3EC7E48D3EBACC4CBE9D3205BE6C52883E74E62E3E25F017BED3BEDBBDC31F9D3E7AD04ABE704E503E48E73B3E30479BBEBC9FA1BEDFFED63D14E11E3EE9838F3EDEA51F3DEAAE5B3E8F2166BE9E4A413E74F99BBE14F2523E726D0C3DF905483E1BD3FF3DEC0460BE1937573BB9D5233DCE343A3D8EC28DBE209023BE358918BEFF0230BEA8DD893E2E2C373E3D56053E3126C2BDD25D83BE5BD1893DB998953E861D103E82B782BE0BABE5BC1670523CF7814D3EC4CB083EAC5B64BE82B098BEE54CC03DD3141E3E59B9393E0AE95E3ED51F8F3E3E2B07BE1F7C9DBE69941E3E202D9C3E36DD6BBEE30223BE99A08A3ED1E97C3E41C4F7BC2AD438BE69756D3D65949EBE18CFFFBDF69E27BDC15A9ABD696D053EB143DB3B63217FBE9720FEBC7FAAF03C52544A3ECFDC913C0CD4E1BDCB3BFC3D2E36153E96D9753DFBE12DBEDD30AF3DB02B393D12C6353E2EF4B0BDE940A8BC06F8283EFD132CBD41FD283EE51D50BDB3338E3ED23E1FBB689D88BD7890E03D1E2883BCB99B813ED7BD35BDC6B3593ED977A7BD7C92E33C7208D23D16F597BE7C4D793D1117303E17ACFF3DFC0CFE3B6BCB05BD6ED2CB3D5F11C43D84FE1BBE25C9FC3D3DA78ABE93A64B3C49ACDEBD5D7D07BEB04F83BE0D8B7E3EFCA1EE3C3028B23CE6F642BD024A06BEBC597ABEA6BB763D429D7CBE2E930ABEBEC7223E0479873E77FECEBD667F9FBED2579E3EB44B2F3E62B0693E3E3E6CBDE07285BD4650FD3C6E809E3D84EB053C571028BE769F903E833A173E120CEABC4DEC89BEA07B1FBE36E1E1BD2E0A58BDF73CB33DF27458BDC919E03DA35452BE25B68DBD125B123E29039F3E51C788BEF3A7063DFA022B3E91BB0BBDC9E2963D122C4A3EC2E0A0BE25BF3F3E45BE90BE42A0703D0101443EB03213BE6E133B3B016F9BBE828E9FBCCC7A363E5F65213ECC13AD3D9C92D4BCA4AD04BE329C833E2646BF3DDB6FE63DD0AC1D3EB40EB7BD26A2C5BCE0C6983E05EC903EC5B1A0BEF62B8ABEC41BBABD16B4A33D257329BE6972203EFB4291BEC7921CBD64BA503E1451A5BDD1C9A5BDEC7A8C3D150F783E7347913D8D61003CA63400BC213589BEC73E00BE4B43A13E",
      torch_tensor_40_torch.float32: "0x04000000DA60843E4A346DBECE08E03CA0DE8C3EE81595BE13F71B3E1C0B0EBD7F85C63DE25101BB9D7DB33DA5BB5A3E714A243E488F893E6B5942BE1681A1BEE2A501BE8E054E3E07FF953EE26C333EBE2752BE834665BEBD8E29BE521647BE380F29BE767D71BD2299913ECC518E3E771F90BEFC57423E4B1FAF3D06D453BE575A15BECFBA6E3C620F35BEDFC019BBD56E383ED2D509BEC7AB4CBC4D90913D0C1188BE",
      torch_tensor_40_10_torch.float32: "0x04000000E7B958BE59CB183E77E4E0BD1F32DB3D97C10F3EF801653E42EF48BEF55824BD27BC5CBE62FC833D0B4719BE7E08003D0C3485BEC32D92BD7B4087BEFCFE88BE73A7DF3D968B533C193EEEBDFAA80EBEBEE18C3E9C98093D3FFAB33DD578A13E9B799C3EBA9589BD44A7233E60FE53BB792D79BE3BB8513E604423BDCC1102BD6C0B9A3DDAC2803EA2C23ABD801D16BDBA150A3E7518663D42C4193E99B69E3E49CDC0BD5D7A6D3EB49A8ABE2A7B403D0DDFD03DD9BF95BE48A49FBE6ECBB4BDDE7526BD937E4F3EA9F305BECC3F853E6015E0BDD415A93D9C2A663E1F412C3EDCFD02BE0CC3133EDF7FBA3DAAD683BE63EA653E3727973E04250ABB8AB29D3EA487FBBCB2402CBC66A006BDF697903D0E45123ED66D7EBE3EE8DABD14436BBEB00F7ABD2A22B63D0D3C4CBE5FCE5D3D320E9BBE87A7003EC4D9433E972CD5BD89AA363E46DE3FBD0AA45CBE420396BEEC9091BE3F2FC33D4B284D3DCC6B72BE45C929BD4680A53CFFAF2D3CAFDF2E3E849E9B3E3F8B493E5398163EC025463ECFA621BEF77802BEC5F212BE7D495C3D1761923DA6D2943D6A454DBE587E9FBE7C43BCBD61FB173E862397BEF764043EC1E3F03D8F7635BEE4DB773EAD2234BEC288113E76C99BBC22E776BE54D1EFBD38C41C3E54A87FBEEE74893E19DFEEBD3C7DE6BDD07F86BE27B685BE8E9F93BE6D359E3DACAA833EE5ECDE3DCE2B813E194D6EBEF99381BEC761923E18DC113DFA6D373EDDDE133E8390A03D50E216BED41E903EFB6673BD82F795BE65EAF33DE7FA5FBE2C5D8E3D259B9A3E256004BED1DEF4BDCBCE5EBC5FEA5FBDBA4BA93C7B7712BD642A9B3E10543A3E373885BBCB13AFBD157BE33C39E8623E87831DBEF3E9DEBD9972723E5CCD14BEB3D3253E1AEE8ABE80B025BE769E46BDCE959ABEDE5C573E032929BE5A375D3EEED0D8BB79B3DD3DFBD81F3E9A8139BE03530BBDB017F03C83C296BDEC479A3EAE729CBEC08D85BE25EB29BDEC8357BE402F0BBEE311843E9D0FEB3A616E863E3BC5833EDAC82F3E2908763EC42249BE58AC97BE2F6C0EBE70F833BE1572BB3D91C7BC3D721374BBA2B347BEBD81F93C03C393BE218F3CBE073FFEBDD6FB603EE2F4983E93163D3E0850613EF35839BD8F7E41BEB3DA563EB5989C3E3953E43C18FD1B3EDD0B3ABE58F4CE3D8168B9BD93C6013ED018D9BD0181A03E31308C3ECAFB7A3DCF7794BE681CB53DD6CF743ECDEB6F3E9186133EC44C233E1BC62F3ECC9496BB85DFCF3C6FB09C3E0EDA2ABDD6E014BD11E7BBBD25771A3EE74AA13EC15C9CBEA73D613E0ECA4DBE869144BEF30E4FBE66169C3E9372A13CC6F6073E3ECB9B3E275BA1BD25333D3D3C3424BE09A737BE0EDF623E46900DBE6D769FBEC622E9BC2CAE53BEB1D78B3EB7838ABEB4B4A43D582589BCD01CE13D15BB253ED7959DBE5F5842BE1AB725BE80BD9CBEAC123ABEC02A413D71476D3E29DDEBBBAFA0963EF7EAA23B2CC39EBDBBE8CCBD77C6283E66228E3E9BEF583EF3B0EBBDCF69F3BD82E780BEA43B95BE8BD3D23DBF6BFD3D6F31F23DBE2314BE458E4ABE4F90603DF58E383D3EF46FBE974D8EBE0895B9BCE15DCE3CA2E68C3EACF7CCBC24A9043E811C2BBCB582EC3D4F379EBE6DA0FBBD89472C3DCAA6273E6163943EADDB6C3EDEFC3D3EEF49CA3DF18F6E3E9B5B41BE2A4C83BBBF5F693ED0F4963E4B1F9F3E6449A23DBBAB9D3E5E661A3E3591393E9A6950BE1C394E3EE998453E4FCBB33DE2554C3E1F094BBE7AA0E3BC65B7033E1CE16FBE45B4E83D82CF9EBABB89863DA59772BE4E690EBEC671E03D738ABEBCC9A4FD3CBD409C3ED6778B3D793AF6BDF9C20ABC5A67A23DE227DB3D18C3753DE9F3A13D51F0623EC463853E4FDA62BEBB28E13CC7CA9BBE2AAEF5BDD2A42A3EF42EDDBD5AFA87BDD4B4303E517355BE73F0743E480883BE6A206B3D13A39BBE970CA13D08AFA43D3B3592BDD737913E4E25363E0420973D3ADBD83D284397BE702CF93C39529F3ECDCC333EF4010A3E296111BEA42F1F3E13DCD13D82C42BBE86D689BE67709E3EE156033EC9966F3DF35B42BE8601213D399D853EE11E5F3D05BD9DBC301F873EFE002BBEEB0AC6BD4156623D8DEF81BE0151513E9F75063EF86C763E8684183D0DBD823DDC5A083EC3EE93BE7F5FCD3D2CFB4C3E616874BE5CBC8D3E9C66DA3DDD658ABE415560BE260DB23DA5A8153EA3B8903E68D2353E0A18CCBD220500BD1B2596BEED11013D"
    }
  }
#-}
