"""The ops that a program becomes: one for each thing it says, with nothing around that need not be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ml_dtypes import finfo

import transload
from transload.errors import ConversionError
from transload.ir import FloatType, dtype_of
from transload.ir.verify import check
from transload.passes.manager import Pipeline
from transload.text import parse_type

from tests.plugins.stablehlo.raising import raising


def _tensor(shape: Any, element: str = "f32") -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def _constant(name: str, shape: Any, rng: np.random.Generator) -> str:
    values = rng.normal(size=shape).astype(np.float32)
    text = f'dense<"0x{values.tobytes().hex().upper()}"> : {_tensor(shape)}'
    return f'{name} = "stablehlo.constant"() <{{value = {text}}}> : () -> {_tensor(shape)}'


def _splat(name: str, number: Any, shape: Any = (), element: str = "f32") -> str:
    type_ = _tensor(shape, element)
    return f'{name} = "stablehlo.constant"() <{{value = dense<{number}> : {type_}}}> : () -> {type_}'


def _raised(arguments: list[tuple[str, str]], lines: list[str], result: tuple[str, str]) -> tuple[Any, Any]:
    module = raising.load(raising.function_text(arguments, "\n".join(lines), [result]))
    return module, transload.legalize(module)


def _same(module: Any, top: Any, *arrays: Any, rtol: float = 1e-5) -> None:
    want = raising.run(module, arrays)
    for form in (top, transload.lower(top, "tosa")):
        for mine, theirs in zip(raising.run(form, arrays), want, strict=True):
            np.testing.assert_allclose(raising.as_dtype(mine, theirs.dtype), theirs, rtol=rtol, atol=1e-5)


@pytest.mark.parametrize("which", range(3))
def test_padding_without_end_is_said_of_the_op(which: int) -> None:
    """It was said of a `top.Reshape` which nobody wrote."""
    amounts = [_splat(f"%{name}", 2**62 if which == place else 0, (1,), "i64") for place, name in enumerate("lhi")]
    pad = '%y = "stablehlo.dynamic_pad"(%x, %v, %l, %h, %i) : (tensor<4xf32>, tensor<f32>, ' + ", ".join(
        3 * ["tensor<1xi64>"]) + ") -> tensor<?xf32>"
    with pytest.raises(ConversionError) as caught:
        _raised([("%x", _tensor((4,)))], [_splat("%v", 0.0), *amounts, pad], ("%y", "tensor<?xf32>"))
    finding, = caught.value.findings
    assert finding.what == "stablehlo.dynamic_pad" and finding.why.startswith("with its padding the operand has ")


CONVOLUTIONS = {
    "channels last": ((1, 8, 8, 3), (3, 3, 3, 5), "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", 1, (1, 6, 6, 5)),
    "channels second": ((1, 3, 8, 8), (5, 3, 3, 3), "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", 1, (1, 5, 6, 6)),
    "depthwise": ((1, 8, 8, 4), (3, 3, 1, 4), "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", 4, (1, 6, 6, 4)),
}


@pytest.mark.parametrize("form", CONVOLUTIONS)
def test_convolution_with_constant_weights_is_one_op(form: str) -> None:
    rng = np.random.default_rng(0)
    shape, kernel, dims, groups, made = CONVOLUTIONS[form]
    line = (
        f'%y = "stablehlo.convolution"(%x, %w) <{{dimension_numbers = #stablehlo.conv<{dims}>, '
        f"feature_group_count = {groups} : i64, batch_group_count = 1 : i64}}> "
        f": ({_tensor(shape)}, {_tensor(kernel)}) -> {_tensor(made)}")
    module, top = _raised([("%x", _tensor(shape))], [_constant("%w", kernel, rng), line], ("%y", _tensor(made)))
    assert raising.names_of(top) == ["top.Conv"]
    conv = next(op for op in top.ops() if op.name == "top.Conv")
    assert (conv.group, conv.layout) == (groups, "NCHW" if form == "channels second" else "NHWC")
    _same(module, top, rng.normal(size=shape).astype(np.float32))


@pytest.mark.parametrize(("end", "names"), [(2, ["top.Deconv"]), (3, ["top.Deconv", "top.Pad"])])
def test_transposed_convolution_is_one_op(end: int, names: list[str]) -> None:
    """And zeros around it, where the windows reach farther than the kernel's own size."""
    rng = np.random.default_rng(1)
    made = _tensor((1, 8 + end, 8 + end, 4))
    line = (
        '%y = "stablehlo.convolution"(%x, %w) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, '
        f"lhs_dilation = array<i64: 2, 2>, padding = dense<[[1, {end}], [1, {end}]]> : tensor<2x2xi64>, "
        "feature_group_count = 1 : i64, batch_group_count = 1 : i64}> "
        f": (tensor<1x5x5x3xf32>, tensor<3x3x3x4xf32>) -> {made}")
    module, top = _raised([("%x", "tensor<1x5x5x3xf32>")], [_constant("%w", (3, 3, 3, 4), rng), line], ("%y", made))
    assert raising.names_of(top) == names
    _same(module, top, rng.normal(size=(1, 5, 5, 3)).astype(np.float32))


@pytest.mark.parametrize("over", [0, 1])
def test_a_constant_right_side_is_a_layers_weight(over: int) -> None:
    rng = np.random.default_rng(2)
    kernel = (4, 5) if over == 0 else (5, 4)
    line = (
        '%y = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], '
        f"rhs_contracting_dimensions = [{over}]>}}> : (tensor<2x3x4xf32>, {_tensor(kernel)}) -> tensor<2x3x5xf32>")
    module, top = _raised([("%x", "tensor<2x3x4xf32>")], [_constant("%w", kernel, rng), line], ("%y", "tensor<2x3x5xf32>"))
    assert raising.names_of(top) == ["top.MatMul"]
    product = next(op for op in top.ops() if op.name == "top.MatMul")
    assert product.right_transpose
    assert product.right.shape == (5, 4)
    _same(module, top, rng.normal(size=(2, 3, 4)).astype(np.float32))


def _pool(x: str, shape: Any, made: Any, padding: str, body: str = "add", name: str = "%s") -> list[str]:
    own = name[1:]
    return [
        f'{name} = "stablehlo.reduce_window"({x}, %init) <{{window_dimensions = array<i64: 1, 3, 3, 1>, '
        f"window_strides = array<i64: 1, 2, 2, 1>, padding = dense<{padding}> : tensor<4x2xi64>}}> ({{\n"
        f'^bb0(%a{own}: tensor<f32>, %b{own}: tensor<f32>):\n%c{own} = "stablehlo.{body}"(%a{own}, %b{own}) '
        f': (tensor<f32>, tensor<f32>) -> tensor<f32>\n"stablehlo.return"(%c{own}) : (tensor<f32>) -> ()\n}}) '
        f": ({_tensor(shape)}, tensor<f32>) -> {_tensor(made)}"]


PADDED, SHAPE, MADE = "[[0, 0], [1, 1], [1, 1], [0, 0]]", (1, 7, 7, 2), (1, 4, 4, 2)


@pytest.mark.parametrize("counted", [True, False])
def test_average_pooling_is_one_op(counted: bool) -> None:
    """A window's sum divided by its size, or by how many elements there are, which is summed from ones."""
    t = _tensor(MADE)
    lines = [_splat("%init", "0.0"), *_pool("%x", SHAPE, MADE, PADDED)]
    if counted:
        lines += [_splat("%n", "9.0", MADE)]
    else:
        lines += [_splat("%ones", "1.0", SHAPE), *_pool("%ones", SHAPE, MADE, PADDED, name="%n")]
    lines.append(f'%y = "stablehlo.divide"(%s, %n) : ({t}, {t}) -> {t}')
    module, top = _raised([("%x", _tensor(SHAPE))], lines, ("%y", t))
    assert raising.names_of(top) == ["top.AvgPool"]
    assert next(op for op in top.ops() if op.name == "top.AvgPool").count_include_pad == counted
    _same(module, top, np.random.default_rng(3).normal(size=SHAPE).astype(np.float32))


def test_max_pooling_is_one_op_and_a_start_that_is_no_identity_stays() -> None:
    x = np.random.default_rng(4).normal(size=SHAPE).astype(np.float32)
    for init, names in (("0xFF800000", ["top.MaxPool"]), ("0.5", ["top.Pad", "top.MaxPool", "top.Max"])):
        lines = [_splat("%init", init), *_pool("%x", SHAPE, MADE, PADDED, "maximum")]
        module, top = _raised([("%x", _tensor(SHAPE))], lines, ("%s", _tensor(MADE)))
        assert raising.names_of(top) == names
        _same(module, top, x)


ARGMAX = {
    # of equal values the lesser number, NaN first (JAX); asked by >= without the numbers (TensorFlow); by minimum (PyTorch)
    "jax": """%g = "stablehlo.compare"(%v, %w) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (F, F) -> B
%u = "stablehlo.compare"(%v, %v) <{comparison_direction = #stablehlo<comparison_direction NE>}> : (F, F) -> B
%o = "stablehlo.or"(%g, %u) : (B, B) -> B
%e = "stablehlo.compare"(%v, %w) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (F, F) -> B
%l = "stablehlo.compare"(%i, %j) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (I, I) -> B
%n = "stablehlo.and"(%e, %l) : (B, B) -> B
%p = "stablehlo.or"(%o, %n) : (B, B) -> B
%a = "stablehlo.select"(%o, %v, %w) : (B, F, F) -> F
%b = "stablehlo.select"(%p, %i, %j) : (B, I, I) -> I""",
    "tensorflow": """%g = "stablehlo.compare"(%v, %w) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (F, F) -> B
%a = "stablehlo.select"(%g, %v, %w) : (B, F, F) -> F
%b = "stablehlo.select"(%g, %i, %j) : (B, I, I) -> I""",
    "pytorch": """%g = "stablehlo.compare"(%v, %w) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (F, F) -> B
%a = "stablehlo.select"(%g, %v, %w) : (B, F, F) -> F
%e = "stablehlo.compare"(%v, %w) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (F, F) -> B
%m = "stablehlo.minimum"(%i, %j) : (I, I) -> I
%s = "stablehlo.select"(%g, %i, %j) : (B, I, I) -> I
%b = "stablehlo.select"(%e, %m, %s) : (B, I, I) -> I"""}


@pytest.mark.parametrize("style", ARGMAX)
@pytest.mark.parametrize("least", [False, True])
def test_the_place_of_the_extreme_is_one_op(style: str, least: bool) -> None:
    body = ARGMAX[style].replace("F)", "tensor<f32>)")
    for letter, type_ in (("F", "tensor<f32>"), ("I", "tensor<i32>"), ("B", "tensor<i1>")):
        for mark in ("(", ", ", "-> "):
            for end in (",", ")", "\n", ""):
                body = body.replace(f"{mark}{letter}{end}", f"{mark}{type_}{end}") if end else body
        body = body.replace(f"-> {letter}\n", f"-> {type_}\n")
        body = body[:-1] + type_ if body.endswith(f"-> {letter}") else body
    if least:
        body = body.replace("direction GT>", "direction LESS>").replace("direction GE>", "direction LE>").replace("LESS", "LT")
    lines = [
        _splat("%init", "0x7F800000" if least else "0xFF800000"), _splat("%zero", 0, element="i32"),
        '%n0 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<3x7xi32>',
        '%r:2 = "stablehlo.reduce"(%x, %n0, %init, %zero) <{dimensions = array<i64: 1>}> ({\n'
        "^bb0(%v: tensor<f32>, %i: tensor<i32>, %w: tensor<f32>, %j: tensor<i32>):\n" + body +
        '\n"stablehlo.return"(%a, %b) : (tensor<f32>, tensor<i32>) -> ()\n}) '
        ": (tensor<3x7xf32>, tensor<3x7xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)"]
    _, top = _raised([("%x", "tensor<3x7xf32>")], lines, ("%r#1", "tensor<3xi32>"))
    assert raising.names_of(top) == ["top.Arg"]
    x = np.random.default_rng(5).integers(0, 4, (3, 7)).astype(np.float32)
    want = (x.argmin if least else x.argmax)(1)
    for form in (top, transload.lower(top, "tosa")):
        np.testing.assert_array_equal(raising.run(form, [x])[0], want)


def test_expansions_are_left_to_broadcasting() -> None:
    t = "tensor<2x3x4xf32>"
    lines = [
        f'%b = "stablehlo.broadcast_in_dim"(%v) <{{broadcast_dimensions = array<i64: 2>}}> : (tensor<4xf32>) -> {t}',
        _splat("%two", "2.0", (2, 3, 4)), f'%m = "stablehlo.multiply"(%x, %two) : ({t}, {t}) -> {t}',
        f'%y = "stablehlo.add"(%m, %b) : ({t}, {t}) -> {t}']
    _, top = _raised([("%x", t), ("%v", "tensor<4xf32>")], lines, ("%y", t))
    assert raising.names_of(top) == ["top.Mul", "top.Add"]
    assert next(op for op in top.ops() if op.name == "top.Add").operands[1].shape == (4,)


@pytest.mark.parametrize("exponent", [0.5, -0.5])
def test_powers_of_a_half_are_no_roots_of_what_is_below_zero(exponent: float, tmp_path: Path) -> None:
    """By IEEE 754's `pow`, as numpy, XLA and onnxruntime have it: a root is NaN of -infinity, and keeps a zero's sign."""
    onnxruntime = pytest.importorskip("onnxruntime")
    x = np.array([4, 0.25, 0, -0.0, np.inf, -np.inf, -1, np.nan], np.float32)
    of = _tensor((8,))
    module, top = _raised([("%x", of)], [_splat("%e", exponent, (8,)), f'%y = "stablehlo.power"(%x, %e) : ({of}, {of}) -> {of}'],
                          ("%y", of))
    with np.errstate(all="ignore"):
        want = np.power(x, np.full_like(x, exponent))  # numpy takes roots, too, where the exponent is a scalar
    for form in (module, top, transload.lower(top, "tosa")):
        _same_with_signs(raising.run(form, [x])[0], want)
    transload.convert(module, "onnx", tmp_path, verify=False)
    session = onnxruntime.InferenceSession(next(tmp_path.glob("*.onnx")))
    _same_with_signs(session.run(None, {session.get_inputs()[0].name: x})[0], want)


def _same_with_signs(found: Any, want: Any) -> None:
    np.testing.assert_allclose(found, want, rtol=1e-6)
    known = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(want)[known])


def test_rows_by_subscripts_are_one_gather() -> None:
    line = (
        '%y = "stablehlo.gather"(%x, %k) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], '
        "start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 3>}> "
        ": (tensor<7x3xf32>, tensor<2x5xi32>) -> tensor<2x5x3xf32>")
    module, top = _raised([("%x", "tensor<7x3xf32>"), ("%k", "tensor<2x5xi32>")], [line], ("%y", "tensor<2x5x3xf32>"))
    assert raising.names_of(top) == ["top.Clip", "top.Gather"]
    rng = np.random.default_rng(6)
    _same(module, top, rng.normal(size=(7, 3)).astype(np.float32), rng.integers(-3, 12, (2, 5)).astype(np.int32))


@pytest.mark.parametrize("rows", [3, 4, 0])
@pytest.mark.parametrize("batching", [False, True])
def test_slices_of_no_elements_leave_zeros(batching: bool, rows: int) -> None:
    """By XLA. Where the dimension without elements is collapsed, a place behind the last was read, or the operand."""
    dims, sizes = "collapsed_slice_dims = [0, 1], start_index_map = [0, 1]", "0, 1"
    shape, places = (rows, 4), (4, 2)
    if batching:
        dims = ("collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], "
                "start_index_map = [1]")
        sizes, shape, places = "1, 0", (4, rows), (4, 1)
    line = (f'%y = "stablehlo.gather"(%x, %k) <{{dimension_numbers = #stablehlo.gather<{dims}, index_vector_dim = 1>, '
            f"slice_sizes = array<i64: {sizes}>}}> : ({_tensor(shape)}, {_tensor(places, 'i32')}) -> tensor<4xf32>")
    module, top = _raised([("%x", _tensor(shape)), ("%k", _tensor(places, "i32"))], [line], ("%y", "tensor<4xf32>"))
    arrays = [np.ones(shape, np.float32), np.full(places, rows, np.int32)]
    for made in (module, top):
        for engine in ("reference", "xla"):
            (found,) = transload.run(made, dict(zip(made.inputs, arrays, strict=True)), engine=engine).values()
            np.testing.assert_array_equal(found, np.zeros(4, np.float32))


QUANTIZED = "!quant.uniform<i8:f32, 0.05:3>"


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "subtract", "divide", "tanh", "logistic", "negate", "abs"])
def test_quantized_ops_differ_by_at_most_one_step(name: str) -> None:
    t = f"tensor<40x{QUANTIZED}>"
    operands = 1 if name in ("tanh", "logistic", "negate", "abs") else 2
    arguments = [(f"%x{i}", t) for i in range(operands)]
    line = f'%y = "stablehlo.{name}"({", ".join(a for a, _ in arguments)}) : ({", ".join([t] * operands)}) -> {t}'
    module, top = _raised(arguments, [line], ("%y", t))
    rng = np.random.default_rng(7)
    arrays = [rng.integers(-128, 128, 40).astype(np.int8) for _ in range(operands)]
    want = raising.run(module, arrays)[0].astype(int)
    for form in (top, transload.lower(top, "tosa")):
        assert np.abs(raising.run(form, arrays)[0].astype(int) - want).max() <= 1


def test_quantize_and_dequantize_are_casts() -> None:
    t, q = "tensor<50xf32>", f"tensor<50x{QUANTIZED}>"
    lines = [
        f'%q = "stablehlo.uniform_quantize"(%x) : ({t}) -> {q}', f'%y = "stablehlo.uniform_dequantize"(%q) : ({q}) -> {t}']
    module, top = _raised([("%x", t)], lines, ("%y", t))
    assert raising.names_of(top) == ["top.Cast", "top.Cast"]
    _same(module, top, (np.random.default_rng(8).normal(size=50) * 5).astype(np.float32))


def _combined(kind: str, given: str, attributes: str, made: Any) -> list[str]:
    """An op that combines the elements of `%x` by a function that gives `given`, whatever its two arguments are."""
    return [
        _splat("%init", "0.5"),
        f'%y = "stablehlo.{kind}"(%x, %init) <{{{attributes}}}> ({{\n^bb0(%p: tensor<f32>, %q: tensor<f32>):',
        _splat("%k", "2.5"),
        f'"stablehlo.return"({given}) : (tensor<f32>) -> ()\n}}) : ({_tensor(SHAPE)}, tensor<f32>) -> {_tensor(made)}']


WINDOWS = ("window_dimensions = array<i64: 1, 3, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>, "
           "padding = dense<[[0, 0], [1, 1], [0, 1], [0, 0]]> : tensor<4x2xi64>")


@pytest.mark.parametrize("given", ["%k", "%init", "%p", "%q"])
def test_a_function_may_give_a_number_whatever_its_arguments_are(given: str) -> None:
    x = np.random.default_rng(5).normal(size=SHAPE).astype(np.float32)
    for kind, attributes, made in (
        ("reduce_window", WINDOWS, MADE), ("reduce", "dimensions = array<i64: 1, 2>", (1, 2)),
        ("reduce", "dimensions = array<i64: 0, 3>", (7, 7)),
    ):
        module, top = _raised([("%x", _tensor(SHAPE))], _combined(kind, given, attributes, made), ("%y", _tensor(made)))
        _same(module, top, x)
        if given in ("%k", "%init"):  # of one of two arguments XLA's order decides
            judge = transload.run(module, dict(zip(module.inputs, [x], strict=True)), engine="xla")
            mine = transload.run(top, dict(zip(top.inputs, [x], strict=True)))
            np.testing.assert_array_equal(*(next(iter(each.values())) for each in (mine, judge)))


def test_open_sizes_between_static_ones_are_no_trouble() -> None:
    """Bits that are read as unsigned are numbers of another type, which the program says without its first size."""
    lines = [
        _splat("%k", 3, (2, 3), "i32"),
        '%a = "stablehlo.bitcast_convert"(%x) : (tensor<?x3xui8>) -> tensor<2x3xi8>',
        '%b = "stablehlo.bitcast_convert"(%a) : (tensor<2x3xi8>) -> tensor<?x3xui8>',
        '%c = "stablehlo.convert"(%b) : (tensor<?x3xui8>) -> tensor<2x3xi32>',
        '%d = "stablehlo.add"(%c, %k) : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>',
        '%e = "stablehlo.convert"(%d) : (tensor<2x3xi32>) -> tensor<2x3xi8>',
        '%y = "stablehlo.reshape"(%e) : (tensor<2x3xi8>) -> tensor<6xi8>']
    _, top = _raised([("%x", "tensor<?x3xui8>")], lines, ("%y", "tensor<6xi8>"))
    assert top.outputs


@pytest.mark.parametrize("element", ["f16", "bf16", "f8E4M3FN"])
def test_sums_in_f32_of_narrow_products(element: str) -> None:
    """Which are beyond the range of f16, and have more bits than bf16."""
    x, w = _tensor((1, 5, 6, 4), element), _tensor((2, 2, 4, 3), element)
    y, z = _tensor((1, 4, 5, 3)), _tensor((1, 5, 6, 3, 2, 2))
    lines = [
        '%y = "stablehlo.convolution"(%x, %w) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, '
        f"feature_group_count = 1 : i64, batch_group_count = 1 : i64}}> : ({x}, {w}) -> {y}",
        f'%z = "stablehlo.einsum"(%x, %w) <{{einsum_config = "abcd,efdg->abcgef"}}> : ({x}, {w}) -> {z}']
    module = raising.load(raising.function_text([("%x", x), ("%w", w)], "\n".join(lines), [("%y", y), ("%z", z)]))
    top = transload.legalize(module)
    assert not check(top)
    arrays = np.full((1, 5, 6, 4), 192), np.full((2, 2, 4, 3), 104)
    for form in (module, top, transload.lower(top, "tosa")):
        convolved, contracted = raising.run(form, arrays)
        assert convolved.dtype == contracted.dtype == np.float32
        factors = [np.array(number).astype(dtype_of(parse_type(element))) for number in (192, 104)]
        product = float(factors[0]) * float(factors[1])
        assert (convolved == 16 * product).all() and (contracted == 4 * product).all()


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize(("name", "function"), [("cbrt", np.cbrt), ("exponential_minus_one", np.expm1)])
def test_narrow_functions_are_rounded_once(name: str, function: Any, element: str) -> None:
    """1/3 is no number of theirs, nor are those in between: cbrt(1e6) was 101 in bf16. By numpy in f64."""
    dtype = dtype_of(FloatType(element))
    x = np.array([27, 1000, 3e4, -3e4, 1e-4, 0.3, -0.7, 5, 9.5] if name == "cbrt" else [1e-3, -2e-3, 0.3, -0.7, 3, 7, 9.5], dtype)
    of = _tensor(x.shape, element)
    _, top = _raised([("%x", of)], [f'%y = "stablehlo.{name}"(%x) : ({of}) -> {of}'], ("%y", of))
    want = function(x.astype(np.float64)).astype(dtype).astype(np.float64)
    for form in (top, transload.lower(top, "tosa")):
        (found,) = raising.run(form, [x])
        np.testing.assert_allclose(raising.as_dtype(found, dtype).astype(np.float64), want, rtol=float(finfo(dtype).eps))


@pytest.mark.parametrize("element", ["i2", "i4", "ui2", "ui4"])
@pytest.mark.parametrize("name", ["shift_left", "shift_right_arithmetic", "shift_right_logical"])
def test_shifts_of_few_bits_by_any_amount(name: str, element: str) -> None:
    """i2 has no number for its own width; amounts outside of the width leave nothing but the sign's copies."""
    width, signed = int(element.lstrip("ui")), not element.startswith("u")
    low = -(1 << (width - 1)) if signed else 0
    numbers = np.arange(low, low + (1 << width))
    x, amount = (each.reshape(-1) for each in np.meshgrid(numbers, numbers))
    type_ = _tensor(x.shape, element)
    module = raising.load(raising.function_text(
        [("%x", type_), ("%amount", type_)],
        f'%y = "stablehlo.{name}"(%x, %amount) : ({type_}, {type_}) -> {type_}', [("%y", type_)]))
    places = np.where((amount < 0) | (amount > width), width, amount)
    bits = x % (1 << width)
    value = np.where(bits >> (width - 1), bits - (1 << width), bits) if name == "shift_right_arithmetic" else bits
    exact = (value << places if name == "shift_left" else value >> places) - low
    exact = exact % (1 << width) + low
    dtype = dtype_of(parse_type(element))
    given = [x.astype(dtype), amount.astype(dtype)]
    for form in (module, transload.legalize(module), transload.lower(module, "tosa")):
        (mine,) = raising.run(form, given)
        np.testing.assert_array_equal(np.asarray(mine).astype(int), exact)


_FOLDED = {
    "one of several": """%t = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
^bb0(%a: tensor<i32>, %b: tensor<i32>):
%less = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}>
: (tensor<i32>, tensor<i32>) -> tensor<i1>
"stablehlo.return"(%less) : (tensor<i1>) -> ()
}) : (tensor<4xi32>) -> tensor<4xi32> loc("t")""",
    "the input": '%t = "stablehlo.convert"(%x) : (tensor<4xi32>) -> tensor<4xi32> loc("t")',
    "another": """%s = "stablehlo.negate"(%x) : (tensor<4xi32>) -> tensor<4xi32> loc("s")
%r = "stablehlo.reverse"(%s) <{dimensions = array<i64: 0>}> : (tensor<4xi32>) -> tensor<4xi32> loc("r")
%t = "stablehlo.reverse"(%r) <{dimensions = array<i64: 0>}> : (tensor<4xi32>) -> tensor<4xi32> loc("t")""",
}
"""Programs whose result `t` becomes another value: one of several of an op, or what is left where ops fold away."""


@pytest.mark.parametrize("program", _FOLDED)
@pytest.mark.parametrize("to", ["top", "tosa", "onnx", "tfl"])
def test_results_keep_their_names(program: str, to: str) -> None:
    module = raising.load(raising.function_text([("%x", "tensor<4xi32>")], _FOLDED[program], [("%t", "tensor<4xi32>")]))
    made = transload.lower(module, to)
    assert list(made.outputs) == list(module.outputs) == ["t"]
    assert list(made.inputs) == list(module.inputs)


@pytest.mark.parametrize("program", _FOLDED)
def test_passes_alone_keep_the_names_of_results(program: str) -> None:
    module = raising.load(raising.function_text([("%x", "tensor<4xi32>")], _FOLDED[program], [("%t", "tensor<4xi32>")]))
    Pipeline.parse("stablehlo-to-top,canonicalize").run(module)
    assert list(module.outputs) == ["t"]


@pytest.mark.parametrize("bits", ["e3m0", "e8m0", "e4m1", "e5m2"])
@pytest.mark.parametrize("element", ["f32", "bf16", "f16"])
def test_halves_go_to_the_even_mantissa_which_may_be_of_the_exponent(element: str, bits: str) -> None:
    """Without mantissa 3 is as far from 2 as from 4, and 1.5 from 1 as from 2: the even ones have an even exponent field."""
    exponent, mantissa = bits[1], bits[3]
    attributes = f"exponent_bits = {exponent} : i32, mantissa_bits = {mantissa} : i32"
    type_ = _tensor((12,), element)
    module, top = _raised(
        [("%x", type_)], [f'%y = "stablehlo.reduce_precision"(%x) <{{{attributes}}}> : ({type_}) -> {type_}'], ("%y", type_))
    x = np.array([3, 1.5, 6, 0.75, -3, -1.5, 12, 2.9, 0.375, 1.25, 1.375, np.inf], dtype_of(FloatType(element)))
    if bits == "e8m0":
        want = np.array([2, 2, 8, 0.5, -2, -2, 8, 2, 0.5, 1, 1, np.inf])
        np.testing.assert_array_equal(np.asarray(raising.run(top, (x,))[0], np.float64), want)
    _same(module, top, x, rtol=0)
