"""The hub to ONNX: ONNX's own tests of single operators come back as what they were, for the checker and onnxruntime."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import FloatType, dtype_of, new_module
from transload.ir.build import Builder
from transload.text import parse_module

pytest.importorskip("onnxruntime")

from transload_converters.onnx.lowering.common import transposed
from transload_converters.onnx.writer import model_of

from tests.support.graphs import Graph
from tests.support.hub_text import one_op, tensor
from tests.support.judge_versions import is_before
from tests.support.onnx_models import make_model, node, read_model
from tests.support.onnx_ops.measure import cell_of, node_cases
from tests.support.onnx_out.roundtrip import outcome, run_model

# What opset 21 has no types for, or runtimes no kernels.
REFUSED = (
    "int2", "INT2", "UINT2", "FLOAT4", "float4", "optional",
    "bitcast_", "TO_FLOAT8E8M0", "to_FLOAT8E8M0",  # bits of floats, before opset 26
    "downsample_sizes_nearest_not_smaller",  # reads beyond its end, by scales that do not give its sizes
)

# onnxruntime before 1.24 turns a sequence of no elements round as if it were whole.
OTHERWISE = ("test_reversesequence_batch",) if is_before("onnxruntime", 1, 24) else ()


@pytest.mark.one_in(16)
@pytest.mark.parametrize("part", range(16))
def test_operators_come_back_right(part: int) -> None:
    cases = [case for case in node_cases()[part::16] if cell_of(case) is not None and case.name not in OTHERWISE]
    ends = {case.name: outcome(case) for case in cases}
    wrong = {name: end for name, end in ends.items() if end[0] not in ("right", "not read", "refused")}
    assert not wrong
    refused = {name: said for name, (word, said) in ends.items() if word == "refused" and not any(key in name for key in REFUSED)}
    assert not refused
    assert sum(word == "right" for word, _ in ends.values()) > 0.9 * len(ends)


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64", "ui8", "ui32"])
def test_the_floor_of_a_quotient_of_the_greatest_numbers(element: str) -> None:
    """A remainder that is taken from a number of the other sign may be beyond the type."""
    dtype = np.dtype(element.replace("i", "int"))
    ends = np.iinfo(dtype)
    t = f"tensor<5x5x{element}>"
    module = parse_module(f"""
        "func.func"() ({{
        ^bb0(%a: {t} loc("a"), %b: {t} loc("b")):
          %c = "top.FloorDiv"(%a, %b) : ({t}, {t}) -> {t} loc("c")
          "func.return"(%c) : ({t}) -> ()
        }}) {{function_type = ({t}, {t}) -> {t}, sym_name = "main"}} : () -> ()""")
    some = np.array([ends.min + 1, ends.max, 7, ends.min + 2, ends.max - 5], dtype)
    a, b = (np.ascontiguousarray(each) for each in np.meshgrid(some, np.where(some == 0, 3, some)))
    found, = run_model(model_of(transload.lower(module, "onnx")), {"a": a, "b": b})
    np.testing.assert_array_equal(found, np.floor_divide(a, b))


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("direction", ["Left", "Right"])
@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"])
def test_bits_are_moved(element: str, direction: str, is_known: bool) -> None:
    """Of 64 bits those of signed numbers were refused; by the width or more, unsigned ones went as the processor has it."""
    dtype = np.dtype(element.replace("i", "int"))
    ends, width = np.iinfo(dtype), 8 * dtype.itemsize
    some = np.array([ends.min, ends.min + 1, ends.min + 9, 0, 3, 77, ends.max - 1, ends.max], dtype)
    by = np.array([0, 1, 5, width - 2, width - 1, width, width + 1, 100], dtype)
    a, b = (np.ascontiguousarray(each) for each in np.meshgrid(some, by))
    held = f'%b = "top.Weight"() <{{value = dense<{b.tolist()}> : tensor<8x8x{element}>}}> : () -> tensor<8x8x{element}>'
    t = f"tensor<8x8x{element}>"
    module = parse_module(f"""
        "func.func"() ({{
        ^bb0(%a: {t} loc("a"){"" if is_known else f', %b: {t} loc("b")'}):
          {held if is_known else ""}
          %c = "top.Shift{direction}"(%a, %b) : ({t}, {t}) -> {t} loc("c")
          "func.return"(%c) : ({t}) -> ()
        }}) {{function_type = ({t}{"" if is_known else f", {t}"}) -> {t}, sym_name = "main"}} : () -> ()""")
    found, = run_model(model_of(transload.lower(module, "onnx")), {"a": a} if is_known else {"a": a, "b": b})
    exact = [int(x) << int(n) if direction == "Left" else int(x) >> int(n) for x, n in zip(a.flat, b.flat, strict=True)]
    wrapped = [(each - ends.min) % (1 << width) + ends.min for each in exact]
    np.testing.assert_array_equal(found, np.array(wrapped, dtype).reshape(a.shape))


@pytest.mark.parametrize("name", ["Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Erf", "GELU"])
def test_hyperbolic_and_error_functions_of_f64(name: str) -> None:
    """onnxruntime has none of f64: the file could not be run."""
    x = np.array([*np.linspace(-7, 7, 501), 0, -0.0, 1, -1, 1e-300, 5e-324, 1e-9, -1e-5, 709.9, -710.4, 720, 1e8, -1e9, 1e200,
                  1.7e308, np.inf, -np.inf, np.nan, *np.linspace(-1, 1, 99), 1 + 1e-9, 1 - 1e-12])
    t = f"tensor<{x.size}xf64>"
    module = one_op(f"top.{name}", "", {"x": t}, t)
    found, = run_model(model_of(transload.lower(module, "onnx")), {"x": x})
    with np.errstate(all="ignore"):
        if name in ("Erf", "GELU"):
            erf = np.vectorize(math.erf, otypes=[np.float64])
            wanted = erf(x) if name == "Erf" else 0.5 * x * (1 + erf(x * math.sqrt(0.5)))
        else:
            wanted = getattr(np, name.lower().replace("a", "arc", 1))(x)
    np.testing.assert_allclose(found, wanted, rtol=2e-15, atol=1e-15 if name == "GELU" else 0)
    np.testing.assert_array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize("name", ["Atan", "Asin", "Acos", "Tan", "Atan2"])
def test_functions_of_f64_that_onnxruntime_does_not_have(name: str) -> None:
    ends = 1 if name in ("Asin", "Acos") else 5
    x = np.concatenate([np.linspace(-ends, ends, 991), [0.0, -0.0, 1e-9, np.nan, 1, -1, 0.66, 2.4142135623730951, 1e300]])
    x = np.append(np.where(np.abs(x) > 1, np.nan, x) if ends == 1 else x, np.inf if name.startswith("Atan") else 0.5)
    t, two = f"tensor<{x.size}xf64>", name == "Atan2"
    module = parse_module(f"""
        "func.func"() ({{
        ^bb0(%a: {t} loc("a"){f', %b: {t} loc("b")' if two else ''}):
          %c = "top.{name}"(%a{', %b' if two else ''}) : ({f'{t}, {t}' if two else t}) -> {t} loc("c")
          "func.return"(%c) : ({t}) -> ()
        }}) {{function_type = ({f'{t}, {t}' if two else t}) -> {t}, sym_name = "main"}} : () -> ()""")
    given = {"a": x, "b": np.roll(x, 7)} if two else {"a": x}
    found, = run_model(model_of(transload.lower(module, "onnx")), given)
    with np.errstate(all="ignore"):
        want = getattr(np, name.lower().replace("a", "arc", 1) if name != "Tan" else "tan")(*given.values())
    # The sine and cosine of f64 are exact to 1e-14 in onnxruntime.
    np.testing.assert_allclose(found, want, rtol=1e-12 if name == "Tan" else 2e-15, atol=1e-15 if name == "Acos" else 0)
    np.testing.assert_array_equal(np.signbit(found[want == 0]), np.signbit(want[want == 0]))


@pytest.mark.parametrize(("mode", "element", "way"), [
    ("ReduceSum", "i32", "top"), ("ReduceSum", "i32", "tosa"), ("ReduceProd", "i32", "top"), ("ReduceProd", "i32", "tosa"),
    ("ReduceProd", "i64", "top")])
@pytest.mark.parametrize("keeps", [True, False])
def test_integers_that_are_reduced_wrap_round(mode: str, element: str, keeps: bool, way: str) -> None:
    """As everywhere else; onnxruntime's reductions of these saturate."""
    given, made = f"tensor<3x5x7x{element}>", f"tensor<{'1x5x1' if keeps else '5'}x{element}>"
    module = parse_module(f"""
        func.func @main(%x: {given}) -> {made} {{
          %y = "top.Reduce"(%x) <{{axes = array<i64: 0, 2>, keepdims = {str(keeps).lower()}, mode = "{mode}"}}> :
            ({given}) -> {made}
          return %y : {made}
        }}""")
    x = np.random.default_rng(0).integers(-2**30, 2**30, (3, 5, 7)).astype(element.replace("i", "int"))
    (name,) = module.inputs
    found, = run_model(model_of(transload.lower(transload.lower(module, way), "onnx")), {name: x})
    reduced = {"ReduceSum": np.sum, "ReduceProd": np.prod}[mode]
    np.testing.assert_array_equal(found, reduced(x, (0, 2), dtype=x.dtype, keepdims=keeps))


def test_angles_of_points_in_every_quadrant() -> None:
    """Atan2, which ONNX has not: of signed zeros and infinities, too, and of tensors that broadcast."""
    ends = np.array([0.0, -0.0, 1e-30, -1e-30, 0.5, -0.5, 3, -3, np.inf, -np.inf, np.nan], np.float32)
    y, x = np.repeat(ends, len(ends)).reshape(-1, 1), np.tile(ends, len(ends)).reshape(-1, 1)
    wide = np.concatenate([x, -x], 1)
    lowered = transload.lower(parse_module(f"""
      module {{
        func.func @main(%y: tensor<{len(y)}x1xf32>, %x: tensor<{len(y)}x2xf32>) -> tensor<{len(y)}x2xf32> {{
          %0 = "top.Atan2"(%y, %x) : (tensor<{len(y)}x1xf32>, tensor<{len(y)}x2xf32>) -> tensor<{len(y)}x2xf32>
          return %0 : tensor<{len(y)}x2xf32>
        }}
      }}"""), "onnx")
    for optimized in (False, True):
        (found,) = run_model(model_of(lowered), dict(zip(lowered.inputs, (y, wide), strict=True)), optimized)
        wanted = np.arctan2(y, wide)
        np.testing.assert_allclose(found, wanted, rtol=3e-7)  # onnxruntime's Where gives 0 for -0


@pytest.mark.parametrize(("common", "axis", "indexed", "rank"), [
    (1, 2, 2, 3), (1, 2, 1, 3), (1, 3, 2, 4), (2, 3, 3, 4), (1, 2, 3, 4), (1, 1, 2, 3), (2, 3, 2, 5)])
def test_gathering_behind_dimensions_in_common(common: int, axis: int, indexed: int, rank: int) -> None:
    random = np.random.default_rng(axis)
    shape = tuple(range(2, 2 + rank))
    places = (*shape[:common], *range(3, 3 + indexed - common))
    result = (*shape[:axis], *places[common:], *shape[axis + 1 :])
    module = one_op("top.Gather", f"axis = {axis} : i64, batch_dims = {common} : i64",
                     {"x": tensor(shape), "i": tensor(places, "i32")}, tensor(result))
    x, i = random.random(shape, np.float32), random.integers(0, shape[axis], places).astype(np.int32)
    found, = run_model(model_of(transload.lower(module, "onnx")), {"x": x, "i": i})
    wanted = np.stack([np.take(x[at], i[at], axis - common) for at in np.ndindex(shape[:common])]).reshape(result)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("mode", ["ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"])
def test_reductions_over_nothing_are_written(mode: str, dtype: type) -> None:
    x = np.array([[1, 2, 3], [4, 5, 9]], dtype) if "Log" in mode else np.array([[-1, 2, 0], [4, -5, 9]], dtype)
    given = make_model([node(mode, ["x"], ["y"], noop_with_empty_axes=1)], {"x": x}, ["y"], opset=18)
    wanted, = run_model(given, {"x": x})
    found, = run_model(model_of(transload.lower(transload.legalize(read_model(given)), "onnx")), {"x": x})
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    if dtype is np.float32:
        found, = transload.run(transload.lower(read_model(given), "tfl"), {"x": x}).values()
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("element", ["f32", "i32"])
def test_one_place_alone_is_one_hot(axis: int, element: str) -> None:
    """ONNX's OneHot takes no indices of rank 0, which the greatest element of a vector has: onnxruntime refused the file."""
    scalar = f"tensor<{element}>"
    module = one_op("top.OneHot", f"depth = 4 : i64, axis = {axis} : i64", {"i": "tensor<i64>", "on": scalar, "off": scalar},
                     f"tensor<4x{element}>")
    dtype = np.float32 if element == "f32" else np.int32
    given = {"i": np.array(2), "on": np.array(5, dtype), "off": np.array(-1, dtype)}
    found, = run_model(model_of(transload.lower(module, "onnx")), given)
    np.testing.assert_array_equal(found, np.where(np.arange(4) == 2, given["on"], given["off"]))


@pytest.mark.parametrize(("element", "depth"), [("f64", 3), ("f64", 0), ("i8", 0)])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_one_hot_of_what_onnxruntime_refuses(shape: tuple[int, ...], element: str, depth: int) -> None:
    """It has no OneHot of f64, and takes no depth of 0 for one."""
    scalar, sizes = f"tensor<{element}>", "".join(f"{size}x" for size in shape)
    module = one_op("top.OneHot", f"depth = {depth} : i64, axis = -1 : i64",
                     {"i": f"tensor<{sizes}i64>", "on": scalar, "off": scalar}, f"tensor<{sizes}{depth}x{element}>")
    dtype = np.float64 if element == "f64" else np.int8
    given = {"i": np.full(shape, 2), "on": np.array(5, dtype), "off": np.array(-1, dtype)}
    found, = run_model(model_of(transload.lower(module, "onnx")), given)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.where(np.arange(depth) == given["i"][..., None], given["on"], given["off"]))


@pytest.mark.parametrize("paddings", [(1, 2, 0, 3, 2, 1), (0, 3, 0, 0, 0, 4), (0, 0, 0, 0, 0, 0)])
def test_mirroring_with_the_outermost_element(paddings: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).random((3, 3, 4), np.float32)
    wanted = np.pad(x, list(zip(paddings[:3], paddings[3:], strict=True)), mode="symmetric")
    module = one_op("top.Pad", f'mode = "symmetric", paddings = array<i64: {", ".join(map(str, paddings))}>',
                     {"x": tensor(x.shape)}, tensor(wanted.shape))
    found, = run_model(model_of(transload.lower(module, "onnx")), {"x": x})
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("mode", ["symmetric", "reflect", "edge"])
def test_negative_padding_takes_off_behind_what_is_mirrored(mode: str) -> None:
    """A mirrored element may be one that is taken away at the other end, so that this is no padding of what is left."""
    x = np.random.default_rng(1).random((3, 3, 4), np.float32)
    grown = np.pad(x, [(0, 0), (0, 2), (3, 0)], mode=mode)  # type: ignore[call-overload]
    wanted = grown[1:, 2:, :-2]
    module = one_op("top.Pad", f'mode = "{mode}", paddings = array<i64: -1, -2, 3, 0, 2, -2>',
                     {"x": tensor(x.shape)}, tensor(wanted.shape))
    found, = run_model(model_of(transload.lower(module, "onnx")), {"x": x})
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("element", ["ui8", "i8", "ui16", "i16", "ui32", "i32", "ui64", "i64"])
@pytest.mark.parametrize(("op", "number"), [("AddConst", -7), ("MulConst", 3)])
def test_integers_are_activated(op: str, number: int, element: str) -> None:
    """onnxruntime has no Relu of integers of 64 bits, nor of unsigned ones; what is added below 0 wraps round."""
    dtype = np.dtype(element.replace("ui", "uint") if element.startswith("u") else element.replace("i", "int"))
    x = np.array([0, 1, 9, np.iinfo(dtype).max], dtype)
    if dtype.itemsize < 8:
        x[2] = np.iinfo(dtype).min
    module = one_op(f"top.{op}", f"const_val = {number}.0 : f64, do_relu = true",
                     {"x": tensor(x.shape, element)}, tensor(x.shape, element))
    (found,) = run_model(model_of(transload.lower(module, "onnx")), {"x": x})
    other = np.asarray(number).astype(dtype)
    np.testing.assert_array_equal(found, np.maximum(x + other if op == "AddConst" else x * other, 0))
    np.testing.assert_array_equal(found, transload.run(module, {"x": x}, engine="reference")["r"])


@pytest.mark.parametrize("element", ["f16", "f32", "f64"])
def test_logarithms_near_one_are_exact(element: str) -> None:
    """By numpy in f64: `1 + x` loses what is small, of f16 three digits of four."""
    dtype = dtype_of(FloatType(element))
    x = np.array([3.6e-4, -1.2e-3, 1e-7, -0.4, 0.49, 0.51, 3, 6e4, 0, -0.0, -1, -2, np.inf, np.nan], dtype)
    module = one_op("top.Log1p", "", {"x": tensor(x.shape, element)}, tensor(x.shape, element))
    (found,) = run_model(model_of(transload.lower(module, "onnx")), {"x": x})
    with np.errstate(all="ignore"):
        wanted = np.log1p(x.astype(np.float64)).astype(dtype)
    np.testing.assert_allclose(found, wanted, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize(("low", "high"), [("0.0", "0x7FF0000000000000"), ("0xFFF0000000000000", "2.0")])
def test_infinity_stays_where_nothing_limits_it(low: str, high: str) -> None:
    """onnxruntime's Clip of one limit takes it for the greatest finite number."""
    x = np.array([np.inf, -np.inf, 1, np.nan], np.float32)
    module = one_op("top.Clip", f"min = {low} : f64, max = {high} : f64", {"x": tensor(x.shape)}, tensor(x.shape))
    wanted = np.maximum(x, 0) if low == "0.0" else np.minimum(x, 2)
    for made in (module, transload.lower(module, "tosa")):
        (found,) = run_model(model_of(transload.lower(made, "onnx")), {"x": x})
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", ["u8<1:255>:f32, 0.5:129", "i8:f32, 0.7:-5", "u16<0:32767>:f32, 9.155552834272385e-05:10922"])
def test_halves_go_up(kind: str) -> None:
    """QuantizeLinear makes them even: it is written out. f16 is counted in f32, as everywhere."""
    by, point = (float(each) for each in kind.split(", ")[1].split(":"))
    for element, dtype in (("f32", np.float32), ("f16", np.float16)):
        steps = np.concatenate([np.arange(-300, 300) + 0.5, [-1e9, 1e9] if dtype == np.float32 else [-4e4, 4e4]])
        x = (steps * by).astype(dtype)
        made = one_op("top.Cast", 'round_mode = "HalfUp"', {"x": tensor(x.shape, element)}, f"tensor<602x!quant.uniform<{kind}>>")
        (wanted,) = transload.run(made, {"x": x}, engine="reference").values()
        (found,) = run_model(model_of(transload.lower(made, "onnx")), {"x": x})
        np.testing.assert_array_equal(found, wanted)
        if by == 0.5:
            np.testing.assert_array_equal(wanted, np.clip(np.floor(x.astype(float) / by + point + 0.5), 1, 255))


def test_no_factor_with_a_fraction_is_cut_off() -> None:
    module = one_op("top.MulConst", "const_val = 0.5 : f64", {"x": tensor((4,), "i32")}, tensor((4,), "i32"))
    with pytest.raises(ConversionError, match=r"multiplies integers by integers, and not by 0\.5"):
        transload.lower(module, "onnx")


@pytest.mark.parametrize(("time", "batch"), list(itertools.permutations(range(4), 2)))
def test_reversing_sequences_along_any_dimensions(time: int, batch: int) -> None:
    shape = (2, 3, 4, 5)
    module = one_op("top.ReverseSequence", f"seq_axis = {time} : i64, batch_axis = {batch} : i64",
                     {"x": tensor(shape), "n": tensor((shape[batch],), "i32")}, tensor(shape))
    x = np.random.default_rng(2).random(shape, np.float32)
    lengths = np.arange(shape[batch], dtype=np.int32) % shape[time] + 1
    found, = run_model(model_of(transload.lower(module, "onnx")), {"x": x, "n": lengths})
    moved = np.moveaxis(x, (batch, time), (0, 1)).copy()
    for row, length in zip(moved, lengths, strict=True):
        row[:length] = row[:length][::-1].copy()
    np.testing.assert_array_equal(found, np.moveaxis(moved, (0, 1), (batch, time)))


@pytest.mark.parametrize("element", ["f8E3M4", "f8E4M3B11FNUZ"])
def test_floats_that_onnx_has_not_are_told_so(element: str) -> None:
    module = one_op("top.Cast", "", {"x": "tensor<2xf32>"}, f"tensor<2x{element}>")
    with pytest.raises(ConversionError, match=f"ONNX has no element type {element}"):
        transload.lower(module, "onnx")


@pytest.mark.parametrize(("equation", "shapes", "stays"), [
    ("...ij,...jk->...ik", ((2, 3, 4), (2, 4, 5)), True), ("...ij, jk -> ...ik", ((2, 3, 4), (4, 5)), True),
    ("...ij,...jk->...ik", ((2, 1, 3, 4), (5, 4, 2)), False), ("...,i...->...i", ((3,), (2,)), False),
    (",i->i", ((), (3,)), False), ("i,->i", ((3,), ()), False), ("B,bB", ((3,), (2, 3)), False),
    ("ki,kj", ((3, 2), (3, 4)), False)])
def test_sums_are_written_as_runtimes_take_them(equation: str, shapes: tuple[tuple[int, ...], ...], stays: bool) -> None:
    """onnxruntime refuses dots of several lengths, terms without subscripts, and large letters without an arrow."""
    random = np.random.default_rng(0)
    arrays = {f"x{place}": random.standard_normal(shape).astype(np.float32) for place, shape in enumerate(shapes)}
    graph = Graph(*shapes)
    lowered = transload.lower(graph.done(graph.emit("Einsum", *graph.inputs, equation=equation)), "onnx")
    found, = run_model(model_of(lowered), arrays)
    np.testing.assert_allclose(found, np.einsum(equation, *arrays.values()), rtol=1e-5, atol=1e-6)
    assert (next(op for op in lowered.ops() if op.name == "onnx.Einsum").attributes["equation"] == equation) is stays


@pytest.mark.parametrize(("shape", "order"), [((), ()), ((2, 3), (1, 0))])
def test_a_constant_is_turned_into_the_shape_that_it_has_then(shape: tuple[int, ...], order: tuple[int, ...]) -> None:
    """A single number became a vector of one."""
    rw = Builder(new_module().add_function("main", [], []).regions[0].block)
    numbers = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    turned = transposed(rw, rw.constant(numbers, dialect="onnx"), order)
    stored = turned.op.attributes["value"].numpy()  # type: ignore[union-attr]
    assert turned.static_shape == stored.shape and np.array_equal(stored, numbers.transpose(order))


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize(("op", "shapes", "attributes", "out"), [
    ("MatMul", ((2, 64), (64, 3)), "", (2, 3)), ("MatMul", ((2, 2, 64), (2, 64, 3)), "", (2, 2, 3)),
    ("Conv", ((1, 64, 2, 2), (3, 64, 1, 1)), "kernel_shape = array<i64: 1, 1>", (1, 3, 2, 2)),
    ("Deconv", ((1, 64, 2, 2), (64, 3, 1, 1)), "kernel_shape = array<i64: 1, 1>", (1, 3, 2, 2))])
def test_products_are_summed_in_the_type_of_the_result(
    element: str, op: str, shapes: tuple[tuple[int, ...], ...], attributes: str, out: tuple[int, ...],
) -> None:
    """Summed in the operands' type they were rounded to it, or beyond it, before they were cast."""
    module = one_op(f"top.{op}", attributes, dict(zip("ab", (tensor(shape, element) for shape in shapes), strict=True)),
                    tensor(out, "f32"))
    graph = model_of(transload.lower(module, "onnx")).graph
    product = next(each for each in graph.node if each.op_type in ("MatMul", "Gemm", "Conv", "ConvTranspose"))
    assert {*product.input} <= {each.output[0] for each in graph.node if each.op_type in ("Cast", "Transpose")}
    given = {name: np.full(shape, 201.0).astype(dtype_of(FloatType(element))) for name, shape in zip("ab", shapes, strict=True)}
    one = given["a"].astype(np.float64).flat[0]
    (found,) = transload.run(transload.lower(module, "onnx"), given).values()
    np.testing.assert_array_equal(found, np.full(out, 64 * one * one, np.float32))


def test_a_resize_to_the_sizes_that_it_has_is_no_copy() -> None:
    """By scales other than 1 places move all the same, and onnxruntime would give its input."""
    shape = tensor((1, 1, 10, 10))
    module = one_op("top.Interp", 'sizes = array<i64: 10, 10>, scales = array<f64: 1.05, 1.05>, mode = "linear", '
                                  'layout = "NCHW", coord_mode = "half_pixel"', {"x": shape}, shape)
    with pytest.raises(ConversionError, match="of which onnxruntime makes a copy"):
        transload.lower(module, "onnx")
