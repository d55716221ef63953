# ruff: noqa: E501 - lines of programs
"""Valid programs that, with `tests.converters.stablehlo.programs`, have every op of StableHLO and of CHLO, and what holds ops."""

from __future__ import annotations

from tests.converters.stablehlo.programs import PROGRAMS, REDUCER

_FLOATS = ("abs", "ceil", "floor", "round_nearest_even", "sign", "tan", "sqrt", "not")
_BINARY = ("atan2", "divide", "maximum", "minimum", "power", "remainder", "subtract")
_INTEGERS = ("and", "or", "xor", "shift_left", "shift_right_logical", "shift_right_arithmetic", "divide", "remainder", "power")
_CHLO = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "conj", "cosh", "digamma", "erf", "erf_inv", "erfc",
    "lgamma", "sinh", "square", "tan")
_BROADCAST = (
    "add", "atan2", "divide", "maximum", "minimum", "multiply", "next_after", "polygamma", "power", "remainder", "subtract", "zeta")


def _elementwise() -> str:
    lines = [f'"stablehlo.{op}"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>' for op in _FLOATS if op != "not"]
    lines += [f'"stablehlo.{op}"(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>' for op in _BINARY]
    lines += [f'"stablehlo.{op}"(%i, %i) : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi8>' for op in _INTEGERS]
    lines += ['"stablehlo.not"(%i) : (tensor<3xi8>) -> tensor<3xi8>', '"stablehlo.imag"(%c) : (tensor<2xcomplex<f64>>) -> tensor<2xf64>',
              '"stablehlo.real"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>', '"stablehlo.abs"(%c) : (tensor<2xcomplex<f64>>) -> tensor<2xf64>']
    body = "\n".join(f"%r{number} = {line}" for number, line in enumerate(lines))
    return f"func.func @main(%x: tensor<2x3xf32>, %i: tensor<3xi8>, %c: tensor<2xcomplex<f64>>) -> tensor<2x3xf32> {{\n{body}\nreturn %r0 : tensor<2x3xf32>\n}}"


def _chlo() -> str:
    lines = [f'"chlo.{op}"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>' for op in _CHLO]
    lines += [f'"chlo.broadcast_{op}"(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>' for op in _BROADCAST]
    lines += [f'"chlo.{op}"(%x) : (tensor<2x3xf32>) -> tensor<2x3xi1>' for op in ("is_inf", "is_neg_inf", "is_pos_inf")]
    lines += [f'"chlo.{op}"(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>' for op in ("next_after", "polygamma", "zeta")]
    lines += ['"chlo.broadcast_compare"(%x, %y) <{comparison_direction = #chlo<comparison_direction LT>}> : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>',
              '"chlo.constant_like"(%x) <{value = 2.5 : f32}> : (tensor<2x3xf32>) -> tensor<2x3xf32>',
              '"chlo.constant"() <{value = dense<1.0> : tensor<2xf32>}> : () -> tensor<2xf32>',
              '"chlo.broadcast_complex"(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xcomplex<f32>>']
    body = "\n".join(f"%r{number} = {line}" for number, line in enumerate(lines))
    return (f"func.func @main(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {{\n{body}\n"
            "%v, %k = chlo.top_k(%x, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)\nreturn %r0 : tensor<2x3xf32>\n}")


_ID = "(tensor<2xf32>) -> tensor<2xf32>"

SEEDS: dict[str, str] = {
    **PROGRAMS,
    "elementwise": _elementwise(),
    "chlo": _chlo(),
    "scan": """func.func @main(%x: tensor<4x3xf32>, %i: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>) {
  %0:2 = "chlo.scan"(%x, %i) <{dimension = 0 : i64, is_reverse = true, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
    %s = stablehlo.add %a, %b : tensor<3xf32>
    stablehlo.return %s, %s : tensor<3xf32>, tensor<3xf32>
  }) : (tensor<4x3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>)
  return %0#0, %0#1 : tensor<4x3xf32>, tensor<3xf32>
}""",
    "functions": f"""module @outer attributes {{some.note = "a", mhlo.num_replicas = 2 : i32}} {{
  func.func public @main(%x: tensor<2xf32> {{some.name = "x"}}, %t: !stablehlo.token) -> (tensor<2xf32>, !stablehlo.token) attributes {{some.thing}} {{
    %0 = call @first(%x) : {_ID}
    %1:2 = call @pair(%0, %x) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<i64>)
    call @nothing() : () -> ()
    return %1#0, %t : tensor<2xf32>, !stablehlo.token
  }}
  func.func private @first(%x: tensor<2xf32>) -> tensor<2xf32> {{
    %0 = call @second(%x) : {_ID}
    return %0 : tensor<2xf32>
  }}
  func.func private @second(%x: tensor<2xf32>) -> tensor<2xf32> {{
    %0 = stablehlo.composite "a.b" %x {{composite_attributes = {{n = [1, 2.5 : f32, "s", @first]}}, decomposition = @third, version = 1 : i32}} : {_ID}
    return %0 : tensor<2xf32>
  }}
  func.func private @third(%x: tensor<2xf32>) -> tensor<2xf32> {{
    %0 = "stablehlo.cosine"(%x) : {_ID}
    return %0 : tensor<2xf32>
  }}
  func.func private @pair(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<i64> {{some.result}}) {{
    %c = stablehlo.constant dense<-3> : tensor<i64>
    return %y, %c : tensor<2xf32>, tensor<i64>
  }}
  func.func private @nothing() {{
    return
  }}
}}""",
    "shardings": """module @sharded attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, mhlo.sharding = "{devices=[2,2]<=[4]}"}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %0 = stablehlo.add %x, %x {mhlo.sharding = "{replicated}"} : tensor<8x4xf32>
    %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[2,2]<=[4]}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %1 : tensor<8x4xf32>
  }
}""",
    "async": f"""func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {{
  %0 = "stablehlo.async_start"(%x) ({{
  ^bb0(%y: tensor<2x4xf32>):
    %1 = "stablehlo.all_reduce"(%y) <{{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> ({REDUCER}) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    stablehlo.return %1 : tensor<2x4xf32>
  }}) : (tensor<2x4xf32>) -> !stablehlo.future<tensor<2x4xf32>>
  %2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<2x4xf32>>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}}""",
    "bounded": """func.func @main(%x: tensor<?x3xf32, #stablehlo.bounds<8, ?>>, %n: tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<8, ?>> {
  %0 = stablehlo.add %x, %x : tensor<?x3xf32, #stablehlo.bounds<8, ?>>
  %1 = "stablehlo.set_dimension_size"(%0, %n) <{dimension = 0 : i64}> : (tensor<?x3xf32, #stablehlo.bounds<8, ?>>, tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<8, ?>>
  %2 = "stablehlo.get_dimension_size"(%1) <{dimension = 0 : i64}> : (tensor<?x3xf32, #stablehlo.bounds<8, ?>>) -> tensor<i32>
  %3 = stablehlo.transpose %1, dims = [1, 0] : (tensor<?x3xf32, #stablehlo.bounds<8, ?>>) -> tensor<3x?xf32, #stablehlo.bounds<?, 8>>
  return %1 : tensor<?x3xf32, #stablehlo.bounds<8, ?>>
}""",
    "quantized_forms": """func.func @main(%x: tensor<2x4x!quant.uniform<i8<-127:127>:f32, 0.5:-3>>, %y: tensor<4x2x!quant.uniform<i8<-127:127>:f32:1, {0.5, 0.25}>>, %s: tensor<4x4x!quant.uniform<u8:f32:{0:2, 1:2}, {{0.5, 0.25:3}, {1.0, 2.0}}>>, %f: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = "stablehlo.uniform_dequantize"(%x) : (tensor<2x4x!quant.uniform<i8<-127:127>:f32, 0.5:-3>>) -> tensor<2x4xf32>
  %1 = "stablehlo.uniform_quantize"(%f) : (tensor<2x4xf32>) -> tensor<2x4x!quant.uniform<u8:f32, 2.0:128>>
  %2 = "stablehlo.uniform_quantize"(%1) : (tensor<2x4x!quant.uniform<u8:f32, 2.0:128>>) -> tensor<2x4x!quant.uniform<i4:f32, 0.125>>
  %3 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x4x!quant.uniform<i8<-127:127>:f32, 0.5:-3>>, tensor<4x2x!quant.uniform<i8<-127:127>:f32:1, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i32:f32:1, {0.25, 0.125}>>
  %4 = "stablehlo.transpose"(%y) <{permutation = array<i64: 1, 0>}> : (tensor<4x2x!quant.uniform<i8<-127:127>:f32:1, {0.5, 0.25}>>) -> tensor<2x4x!quant.uniform<i8<-127:127>:f32:0, {0.5, 0.25}>>
  return %0 : tensor<2x4xf32>
}""",
    "buffers": """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "Pin", api_version = 4 : i32}> : (tensor<2xf32>) -> memref<2xf32>
  %1 = "stablehlo.custom_call"(%0) <{call_target_name = "work", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]}> : (memref<2xf32>) -> memref<2xf32>
  %3 = "stablehlo.custom_call"() <{call_target_name = "CreateBuffer"}> : () -> memref<2xf32>
  %4:3 = "stablehlo.custom_call"(%x, %3, %1) <{call_target_name = "two", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 2, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [2], operand_index = 1, operand_tuple_indices = []>]}> : (tensor<2xf32>, memref<2xf32>, memref<2xf32>) -> (tensor<2xf32>, memref<2xf32>, memref<2xf32>)
  %2 = "stablehlo.custom_call"(%4#2) <{call_target_name = "Unpin"}> : (memref<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}""",
    "literals": """func.func @main() -> tensor<2x2xf32> {
  %0 = stablehlo.constant dense<"0x0000803F000000400000404000008040"> : tensor<2x2xf32>
  %1 = stablehlo.constant dense<0x7FC00000> : tensor<3xf32>
  %2 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %3 = stablehlo.constant dense<"0x05"> : tensor<8xi1>
  %4 = stablehlo.constant dense<(1.0, -2.0)> : tensor<2xcomplex<f32>>
  %5 = stablehlo.constant dense<[(0x7F800000, 1.0), (-0.0, 2.0e+00)]> : tensor<2xcomplex<f32>>
  %6 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
  %7 = stablehlo.constant dense<18446744073709551615> : tensor<2xui64>
  %8 = stablehlo.constant dense<[0x7FF0000000000000, 1.0e-320]> : tensor<2xf64>
  %9 = stablehlo.constant dense<> : tensor<0x4xi16>
  %10 = stablehlo.constant dense<"0xFF"> : tensor<i8>
  return %0 : tensor<2x2xf32>
}""",
    "host": """func.func @main(%x: tensor<2xf32>, %f: tensor<2x4x6xf64>, %s: tensor<4xi64>) -> tensor<2x4x4xcomplex<f64>> {
  %0 = "stablehlo.fft"(%f) <{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 6>}> : (tensor<2x4x6xf64>) -> tensor<2x4x4xcomplex<f64>>
  %1 = "stablehlo.fft"(%0) <{fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 4, 6>}> : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x6xf64>
  %a = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = "stablehlo.rng"(%a, %a, %s) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<4xi64>) -> tensor<1x2x3x4xf32>
  return %0 : tensor<2x4x4xcomplex<f64>>
}""",
}
