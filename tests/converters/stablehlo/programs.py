# ruff: noqa: E501 - lines of programs
"""Programs that use every form of StableHLO, as pretty text: what readers and writers are tried on."""

from __future__ import annotations

REDUCER = """{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }"""

ELEMENTS = (
    "i1", "i2", "i4", "i8", "i16", "i32", "i64", "ui2", "ui4", "ui8", "ui16", "ui32", "ui64", "bf16", "f16", "f32", "f64",
    "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ", "f8E4M3", "f8E3M4", "f8E8M0FNU", "f4E2M1FN",
    "f6E2M3FN", "f6E3M2FN", "complex<f32>", "complex<f64>",
)


def _constants(element: str) -> str:
    """Constants of an element type: empty, one, the same, different, many."""
    def literal(number: int) -> str:
        if element == "i1":
            return "true" if number % 3 == 0 else "false"
        if element.startswith("complex"):
            return f"({number}.0, -{number}.5)"
        if element == "f8E8M0FNU":
            return f"{2 ** (number % 4)}.0"
        if element.startswith(("f", "bf")):
            return f"{number % 4}.0"
        return str(number % 2 if element in ("i2", "ui2") else number % 7)

    lines, results = [], []
    for name, shape, numbers in (
        ("e", "0x3x", None), ("o", "", [5]), ("p", "1x", [3]), ("s", "3x4x", [1]), ("z", "9x", [0]), ("d", "2x3x", range(6)),
        ("v", "3x", [0, 1, 0]), ("l", "75x", range(75)), ("m", "8x", range(8)),
    ):
        type_ = f"tensor<{shape}{element}>"
        if numbers is None:
            text = ""
        elif len(numbers) == 1:
            text = literal(numbers[0]) if name != "p" else f"[{literal(numbers[0])}]"
        elif name == "d":
            text = str([[literal(n) for n in range(3)], [literal(n) for n in range(3, 6)]]).replace("'", "")
        else:
            text = f"[{', '.join(map(literal, numbers))}]"
        lines.append(f"%{name} = stablehlo.constant dense<{text}> : {type_}")
        results.append((f"%{name}", type_))
    returned, types = ", ".join(n for n, _ in results), ", ".join(t for _, t in results)
    return f"func.func @main() -> ({types}) {{\n{chr(10).join(lines)}\nreturn {returned} : {types}\n}}"


def _unary(number: int, op: str, extra: str = "") -> str:
    return f'%r{number} = "stablehlo.{op}"(%x){extra} : (tensor<2x3xf32>) -> tensor<2x3xf32>'


def _accuracies() -> str:
    lines: list[str] = []
    for op in ("cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "rsqrt", "sine", "sqrt", "tan", "tanh"):
        for extra in ("", " <{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>}>",
                      " <{result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-5, rtol = 0.25, ulps = 3, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}>"):
            lines.append(_unary(len(lines), op, extra))
    body = "\n".join(lines)
    return f"func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {{\n{body}\nreturn %r0 : tensor<2x3xf32>\n}}"


def _plain_accuracies() -> str:
    return "\n".join(line for line in _accuracies().splitlines() if "result_accuracy" not in line)


PROGRAMS: dict[str, str] = {
    **{f"constants_{element}".replace("<", "_").replace(">", ""): _constants(element) for element in ELEMENTS},
    "accuracies": _accuracies(),
    "no_accuracies": _plain_accuracies(),
    "arguments": """module @named attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32, some.list = [1, "a", true, unit, @main, f32], some.dict = {b = 2.5 : f32, a = 3 : i8, c = array<i64: 1, 2>, d = array<i1: true, false>, e = array<f32: 0.1>, f = array<i64>, g = dense<[1, 2]> : tensor<2xi32>}} {
  func.func public @main(%arg0: tensor<2x3xf32> {jax.buffer_donor = true, mhlo.sharding = "{replicated}"}, %arg1: tensor<i32>) -> (tensor<2x3xf32> {jax.result_info = "result"}) {
    %0 = call @helper(%arg0) {mhlo.frontend_attributes = {a = "b"}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
  func.func private @helper(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    return %x : tensor<2x3xf32>
  }
  func.func private @nothing() {
    return
  }
}""",
    "locations": """#a = loc("a.py":3:4)
#b = loc("b.py":5:6 to :9)
#c = loc("c.py":7:8 to 10:2)
module {
  func.func @main(%arg0: tensor<2xf32> loc("x")) -> tensor<2xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32> loc("plain")
    %1 = stablehlo.add %0, %0 : tensor<2xf32> loc("named"(#a))
    %2 = stablehlo.add %1, %1 : tensor<2xf32> loc(callsite("f"(#a) at "g"(callsite(#b at #c))))
    %3 = stablehlo.add %2, %2 : tensor<2xf32> loc(fused["p", "q"])
    %4 = stablehlo.add %3, %3 : tensor<2xf32> loc(fused<"meta">["p", #a])
    %5 = stablehlo.add %4, %4 : tensor<2xf32> loc(fused<{a = 1 : i32}>["p", #b])
    %6 = stablehlo.add %5, %5 : tensor<2xf32> loc(unknown)
    %7 = stablehlo.add %6, %6 : tensor<2xf32> loc(#c)
    return %7 : tensor<2xf32> loc("quote \\" and \\\\ and \\n")
  } loc("function")
}""",
    "quantized": """func.func @main(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5:-3>>, %b: tensor<2x3x!quant.uniform<u8<1:254>:f32, 1.5e-3:128>>, %c: tensor<2x3x!quant.uniform<i8<-127:127>:f32:1, {0.1,0.2:1,3.5:-2}>>, %d: tensor<2x!quant.uniform<i32:f32, 2.0>>, %e: tensor<?x!quant.uniform<i4:bf16, 0.25>>) -> (tensor<2x3xf32>, tensor<2x3x!quant.uniform<i8:f32, 0.5:-3>>) {
  %0 = stablehlo.uniform_dequantize %a : (tensor<2x3x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<2x3xf32>
  %1 = stablehlo.uniform_quantize %0 : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32, 0.5:-3>>
  %2 = stablehlo.uniform_dequantize %c : (tensor<2x3x!quant.uniform<i8<-127:127>:f32:1, {0.1,0.2:1,3.5:-2}>>) -> tensor<2x3xf32>
  %3 = stablehlo.add %1, %1 : tensor<2x3x!quant.uniform<i8:f32, 0.5:-3>>
  return %2, %3 : tensor<2x3xf32>, tensor<2x3x!quant.uniform<i8:f32, 0.5:-3>>
}""",
    "dynamic": """func.func @main(%a: tensor<?x3xf32>, %b: tensor<?x4xf32, #stablehlo.bounds<7, ?>>, %s: tensor<2xi32>, %i: tensor<i32>) -> (tensor<?x3xf32>, tensor<?x?xf32>, tensor<i32>, tensor<?x4xf32, #stablehlo.bounds<7, ?>>) {
  %0 = stablehlo.add %a, %a : tensor<?x3xf32>
  %1 = stablehlo.dynamic_broadcast_in_dim %0, %s, dims = [0, 1] : (tensor<?x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %2 = "stablehlo.dynamic_broadcast_in_dim"(%0, %s) <{broadcast_dimensions = array<i64: 0, 1>, known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>}> : (tensor<?x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %3 = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %4 = stablehlo.set_dimension_size %b, %i, dim = 0 : (tensor<?x4xf32, #stablehlo.bounds<7, ?>>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<7, ?>>
  %5 = stablehlo.dynamic_reshape %a, %s : (tensor<?x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %6 = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi32>) -> tensor<?x?xf32>
  %7 = stablehlo.dynamic_pad %a, %f, %s, %s, %s : (tensor<?x3xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  %8 = stablehlo.real_dynamic_slice %a, %s, %s, %s : (tensor<?x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  return %0, %2, %3, %4 : tensor<?x3xf32>, tensor<?x?xf32>, tensor<i32>, tensor<?x4xf32, #stablehlo.bounds<7, ?>>
}""".replace("  %0 = stablehlo.add %a", "  %f = stablehlo.constant dense<1.0> : tensor<f32>\n  %0 = stablehlo.add %a", 1),
    "contraction": """func.func @main(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x2x6xf32>, %w1: tensor<3x3x4x6xf32>, %l: tensor<2x3x4xf32>, %r: tensor<2x4x5xf32>, %p: tensor<2x2xi64>) -> tensor<2x3x5xf32> {
  %0 = stablehlo.convolution(%x, %w1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  %1 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 1, 0, f], window = {stride = [2, 1], pad = [[1, 2], [0, 1]], lhs_dilate = [1, 2], rhs_dilate = [2, 1], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x4xf32>, tensor<3x3x2x6xf32>) -> tensor<1x14x4x6xf32>
  %2 = "stablehlo.dynamic_conv"(%x, %w1, %p) <{batch_group_count = 1 : i64, feature_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<1x?x?x6xf32>
  %3 = stablehlo.dot_general %l, %r, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, DEFAULT] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %4 = stablehlo.dot_general %l, %r, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return %3 : tensor<2x3x5xf32>
}""",
    "algorithm": """func.func @main(%l: tensor<2x3x4xf32>, %r: tensor<2x4x5xf32>) -> tensor<2x3x5xf32> {
  %0 = stablehlo.dot_general %l, %r, batching_dims = [0] x [0], contracting_dims = [2] x [1], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}""",
    "deprecated": """func.func @main(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = stablehlo.dot %x, %y, precision = [HIGH, DEFAULT] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = stablehlo.dot %x, %y : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %2 = stablehlo.broadcast %x, sizes = [2] : (tensor<2x3xf32>) -> tensor<2x2x3xf32>
  %3 = "stablehlo.einsum"(%x, %y) <{einsum_config = "ab,bc->ac"}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %4 = "stablehlo.unary_einsum"(%x) <{einsum_config = "ab->a"}> : (tensor<2x3xf32>) -> tensor<2xf32>
  %i = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
  %5 = "stablehlo.torch_index_select"(%x, %i) <{batch_dims = 0 : i64, dim = 1 : i64}> : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  %6 = stablehlo.create_token : !stablehlo.token
  %a = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.constant dense<[2, 2]> : tensor<2xi64>
  %7 = stablehlo.rng %a, %a, %s, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x2xf32>
  %8 = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<[[0]]> : tensor<1x1xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x4xf32>
}""",
    "windows": f"""func.func @main(%x: tensor<2x8x8x3xf32>, %z: tensor<f32>, %m: tensor<3x4xf32>) -> tensor<3xf32> {{
  %0 = "stablehlo.reduce_window"(%x, %z) <{{window_dimensions = array<i64: 1, 2, 2, 1>}}> ({REDUCER}) : (tensor<2x8x8x3xf32>, tensor<f32>) -> tensor<2x7x7x3xf32>
  %1 = "stablehlo.reduce_window"(%x, %z) <{{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>, base_dilations = array<i64: 1, 2, 1, 1>, window_dilations = array<i64: 1, 1, 3, 1>, padding = dense<[[0, 0], [1, 1], [0, 2], [0, 0]]> : tensor<4x2xi64>}}> ({REDUCER}) : (tensor<2x8x8x3xf32>, tensor<f32>) -> tensor<2x8x4x3xf32>
  %2 = stablehlo.reduce(%m init: %z) applies stablehlo.add across dimensions = [1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
  %3 = "stablehlo.select_and_scatter"(%x, %0, %z) <{{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 1, 1, 1>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }}, {REDUCER}) : (tensor<2x8x8x3xf32>, tensor<2x7x7x3xf32>, tensor<f32>) -> tensor<2x8x8x3xf32>
  %4:2 = "stablehlo.sort"(%m, %m) <{{dimension = 0 : i64, is_stable = true}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    %e = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %e : tensor<i1>
  }}) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
  %5 = "stablehlo.sort"(%m) ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %e = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %e : tensor<i1>
  }}) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %6 = "stablehlo.map"(%m, %m) <{{dimensions = array<i64: 0, 1>}}> ({REDUCER}) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %2 : tensor<3xf32>
}}""",
    "indexing": f"""func.func @main(%x: tensor<4x5x6xf32>, %i: tensor<3x2xi32>, %j: tensor<4x3x1xi64>, %u: tensor<3x5xf32>, %q: tensor<3xi32>) -> tensor<4x5x6xf32> {{
  %0 = "stablehlo.gather"(%x, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 2], start_index_map = [0, 2], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5, 1>, indices_are_sorted = true}}> : (tensor<4x5x6xf32>, tensor<3x2xi32>) -> tensor<3x5xf32>
  %1 = "stablehlo.gather"(%x, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 2], start_index_map = [0, 2], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5, 1>}}> : (tensor<4x5x6xf32>, tensor<3x2xi32>) -> tensor<3x5xf32>
  %3 = "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 2], scatter_dims_to_operand_dims = [0, 2], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = true}}> ({REDUCER}) : (tensor<4x5x6xf32>, tensor<3x2xi32>, tensor<3x5xf32>) -> tensor<4x5x6xf32>
  %4 = "stablehlo.dynamic_gather"(%x, %i, %q) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 2], start_index_map = [0, 2], index_vector_dim = 1>}}> : (tensor<4x5x6xf32>, tensor<3x2xi32>, tensor<3xi32>) -> tensor<3x?xf32>
  return %3 : tensor<4x5x6xf32>
}}""",
    "batched_indexing": f"""func.func @main(%x: tensor<4x5x6xf32>, %j: tensor<4x3x1xi64>, %u: tensor<4x3x6xf32>) -> tensor<4x5x6xf32> {{
  %2 = "stablehlo.gather"(%x, %j) <{{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 6>}}> : (tensor<4x5x6xf32>, tensor<4x3x1xi64>) -> tensor<4x3x6xf32>
  %5 = "stablehlo.scatter"(%x, %j, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}}> ({REDUCER}) : (tensor<4x5x6xf32>, tensor<4x3x1xi64>, tensor<4x3x6xf32>) -> tensor<4x5x6xf32>
  return %5 : tensor<4x5x6xf32>
}}""",
    "control": """func.func @main(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<2xf32>) -> (tensor<2xf32>, tuple<tensor<2xf32>, tensor<i32>>) {
  %0 = "stablehlo.if"(%p) ({
    %a = stablehlo.add %x, %x : tensor<2xf32>
    stablehlo.return %a : tensor<2xf32>
  }, {
    stablehlo.return %x : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  %1 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<2xf32>
  }, {
    stablehlo.return %0 : tensor<2xf32>
  }, {
    %b = stablehlo.negate %0 : tensor<2xf32>
    stablehlo.return %b : tensor<2xf32>
  }) : (tensor<i32>) -> tensor<2xf32>
  %2:2 = stablehlo.while(%k = %i, %y = %1) : tensor<i32>, tensor<2xf32>
  cond {
    %n = stablehlo.constant dense<4> : tensor<i32>
    %c = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %k2 = stablehlo.add %k, %one : tensor<i32>
    %inner = "stablehlo.if"(%p) ({
      %a = stablehlo.multiply %y, %x : tensor<2xf32>
      stablehlo.return %a : tensor<2xf32>
    }, {
      stablehlo.return %y : tensor<2xf32>
    }) : (tensor<i1>) -> tensor<2xf32>
    stablehlo.return %k2, %inner : tensor<i32>, tensor<2xf32>
  }
  %3 = stablehlo.tuple %2#1, %2#0 : tuple<tensor<2xf32>, tensor<i32>>
  %4 = stablehlo.get_tuple_element %3[0] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<2xf32>
  %5:2 = stablehlo.optimization_barrier %4, %2#0 : tensor<2xf32>, tensor<i32>
  return %5#0, %3 : tensor<2xf32>, tuple<tensor<2xf32>, tensor<i32>>
}""",
    "calls": """module {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.composite "my.op" %x {composite_attributes = {axis = 1 : i64, name = "n"}, decomposition = @impl, version = 2 : i32} : (tensor<2xf32>) -> tensor<2xf32>
    %1 = stablehlo.composite "my.other" %0 {decomposition = @impl} : (tensor<2xf32>) -> tensor<2xf32>
    %2 = stablehlo.custom_call @plain(%1) : (tensor<2xf32>) -> tensor<2xf32>
    %3:2 = stablehlo.custom_call @full(%2, %x) {has_side_effect = true, backend_config = "some text", api_version = 2 : i32, called_computations = [@impl], operand_layouts = [dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>], result_layouts = [dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>]} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    return %3#0 : tensor<2xf32>
  }
  func.func private @impl(%x: tensor<2xf32>) -> tensor<2xf32> {
    return %x : tensor<2xf32>
  }
}""",
    "plain_calls": """module {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %2 = stablehlo.custom_call @plain(%x) : (tensor<2xf32>) -> tensor<2xf32>
    %3 = stablehlo.custom_call @other(%2) {has_side_effect = true, backend_config = "text"} : (tensor<2xf32>) -> tensor<2xf32>
    %4 = call @impl(%3) : (tensor<2xf32>) -> tensor<2xf32>
    return %4 : tensor<2xf32>
  }
  func.func private @impl(%x: tensor<2xf32>) -> tensor<2xf32> {
    return %x : tensor<2xf32>
  }
}""",
    "typed_custom_call": """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @ffi(%x) {api_version = 4 : i32, backend_config = {mode = 3 : i64, eps = 1.000000e-05 : f32, name = "a", flag = true, list = [1 : i32, 2 : i32], deep = {x = 1 : i8}}} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}""",
    "collectives": f"""func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {{
  %0 = "stablehlo.all_gather"(%x) <{{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> : (tensor<2x4xf32>) -> tensor<2x8xf32>
  %1 = "stablehlo.all_gather"(%x) <{{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 0>, use_global_device_ids}}> : (tensor<2x4xf32>) -> tensor<2x8xf32>
  %2 = "stablehlo.all_reduce"(%x) <{{replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids}}> ({REDUCER}) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = "stablehlo.all_to_all"(%x) <{{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %4 = "stablehlo.collective_permute"(%x) <{{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>}}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = "stablehlo.reduce_scatter"(%x) <{{scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> ({REDUCER}) : (tensor<2x4xf32>) -> tensor<2x2xf32>
  %6 = stablehlo.replica_id : tensor<ui32>
  %7 = stablehlo.partition_id : tensor<ui32>
  return %2 : tensor<2x4xf32>
}}""",
    "newer_collectives": f"""func.func @main(%x: tensor<2x4xf32>, %y: tensor<3xf32>) -> tensor<2x4xf32> {{
  %0 = "stablehlo.collective_broadcast"(%x) <{{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>}}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1:2 = "stablehlo.all_reduce"(%x, %y) <{{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> ({REDUCER}) : (tensor<2x4xf32>, tensor<3xf32>) -> (tensor<2x4xf32>, tensor<3xf32>)
  %2:2 = "stablehlo.all_gather"(%x, %y) <{{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> : (tensor<2x4xf32>, tensor<3xf32>) -> (tensor<4x4xf32>, tensor<6xf32>)
  %3:2 = "stablehlo.all_to_all"(%x, %x) <{{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> : (tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>)
  return %1#0 : tensor<2x4xf32>
}}""",
    "tokens": """func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, !stablehlo.token) {
  %t = stablehlo.after_all : !stablehlo.token
  %0:2 = "stablehlo.infeed"(%t) <{infeed_config = "c", layout = [[0]]}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  %1:2 = "stablehlo.infeed"(%0#1) : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  %2 = "stablehlo.outfeed"(%1#0, %1#1) <{outfeed_config = "o"}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  %3 = "stablehlo.outfeed"(%1#0, %2) : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  %4 = "stablehlo.send"(%x, %3) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  %5:2 = "stablehlo.recv"(%4) <{channel_handle = #stablehlo.channel_handle<handle = 6, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  %6 = stablehlo.after_all %5#1, %t : !stablehlo.token
  return %5#0, %6 : tensor<2xf32>, !stablehlo.token
}""",
    "transfers": """func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, !stablehlo.token) {
  %t = stablehlo.after_all : !stablehlo.token
  %4 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  %5:2 = "stablehlo.recv"(%4) <{channel_handle = #stablehlo.channel_handle<handle = 6, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return %5#0, %5#1 : tensor<2xf32>, !stablehlo.token
}""",
    "numeric": """func.func @main(%x: tensor<3x3xf32>, %v: tensor<3xf32>, %k: tensor<2xui64>, %b: tensor<2x3xf32>, %c: tensor<4xcomplex<f32>>) -> tensor<3x3xf32> {
  %0 = stablehlo.cholesky %x, lower = true : tensor<3x3xf32>
  %1 = stablehlo.cholesky %x, lower = false : tensor<3x3xf32>
  %2 = "stablehlo.triangular_solve"(%x, %x) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %3, %4 = stablehlo.rng_bit_generator %k, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  %5 = stablehlo.fft %c, type = IFFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %6 = stablehlo.reduce_precision %x, format = e5m2 : tensor<3x3xf32>
  %7 = "stablehlo.batch_norm_inference"(%b, %v, %v, %v, %v) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %8:3 = "stablehlo.batch_norm_training"(%b, %v, %v) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  %9:3 = "stablehlo.batch_norm_grad"(%b, %v, %v, %v, %b) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0 : tensor<3x3xf32>
}""",
    "movement": """func.func @main(%x: tensor<2x3xf32>, %i: tensor<i32>, %z: tensor<f32>) -> tensor<2x3xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.reverse %x, dims = [0, 1] : tensor<2x3xf32>
  %2 = stablehlo.pad %x, %z, low = [0, 1], high = [2, -1], interior = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<4x5xf32>
  %3 = stablehlo.slice %x [0:2, 1:3:2] : (tensor<2x3xf32>) -> tensor<2x1xf32>
  %4 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 2] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
  %5 = stablehlo.dynamic_update_slice %x, %4, %i, %i : (tensor<2x3xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  %6 = stablehlo.concatenate %x, %5, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %7 = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  %8 = stablehlo.iota dim = 1 : tensor<2x3xi32>
  %9 = stablehlo.bitcast_convert %x : (tensor<2x3xf32>) -> tensor<2x3xi32>
  %10 = stablehlo.convert %8 : (tensor<2x3xi32>) -> tensor<2x3xf32>
  %11 = stablehlo.clamp %z, %x, %z : (tensor<f32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %12 = stablehlo.compare EQ, %8, %9, SIGNED : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi1>
  %13 = stablehlo.select %12, %x, %x : tensor<2x3xi1>, tensor<2x3xf32>
  %14 = stablehlo.popcnt %8 : tensor<2x3xi32>
  %15 = stablehlo.count_leading_zeros %8 : tensor<2x3xi32>
  %16 = stablehlo.shift_right_arithmetic %8, %8 : tensor<2x3xi32>
  %17 = stablehlo.is_finite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %18 = stablehlo.round_nearest_afz %x : tensor<2x3xf32>
  %19 = stablehlo.complex %x, %x : tensor<2x3xcomplex<f32>>
  %20 = stablehlo.real %19 : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
  %21 = stablehlo.transpose %8, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  return %11 : tensor<2x3xf32>
}""",
}
