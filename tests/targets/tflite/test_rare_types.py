"""The target `tflite` and types that LiteRT has few kernels for: computed in others, or refused before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import transload
from transload.errors import ConversionError, TargetError, TransloadError
from transload.ir import (
    F32,
    F64,
    I4,
    I8,
    I16,
    I32,
    I64,
    UI8,
    UI16,
    UI32,
    UI64,
    FloatType,
    IntegerType,
    TensorType,
    Value,
    dtype_of,
)
from transload.ir.build import Builder
from transload.ir.constants import element_type_of
from transload_converters.tflite.writer import ModelWriter
from transload_converters.tflite.writer_module import serialize

from .test_scatter import operators
from .test_target import network
from tests.support.graphs import Graph
from tests.support.litert import run_litert
from tests.support.onnx_models import make_model, node

pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")


def converted(model: Any, given: dict[str, np.ndarray], folder: Path, **options: Any) -> Any:
    path = folder / "model.onnx"
    onnx.save(model, path)
    return transload.convert(path, "tflite", folder / "out", input_data=given, options=options)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
@pytest.mark.parametrize("operator", ["Less", "Equal", "GreaterOrEqual"])
def test_small_integers_are_compared(operator: str, dtype: Any, tmp_path: Path) -> None:
    """LiteRT ends the process of who compares 8-bit integers that stand for no quantized numbers."""
    low = np.iinfo(dtype).min
    given = {"a": np.array([low, 3, 100, 7], dtype), "b": np.array([1, 3, 7, 100], dtype)}
    model = make_model([node(operator, ["a", "b"], ["c"]), node("Cast", ["c"], ["y"], to=1)], given, ["y"])
    assert converted(model, given, tmp_path).verification.passed


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_computed_subscripts_count_from_the_end(dtype: Any, tmp_path: Path) -> None:
    given = {"x": np.arange(15).reshape(5, 3).astype(dtype) * 2**20, "i": np.array([[-1, 2], [0, -3], [4, 0]])}
    model = make_model([node("GatherND", ["x", "i"], ["y"])], given, ["y"])
    verification = converted(model, given, tmp_path).verification
    assert verification.passed and verification.tensors[0].metrics["max_abs"] == 0


def test_indices_and_data_of_64_bits_are_gathered(tmp_path: Path) -> None:
    given = {"x": np.arange(15).reshape(5, 3) * 2**40, "i": np.array([-1, 2])}
    model = make_model([node("Gather", ["x", "i"], ["y"], axis=0)], given, ["y"])
    verification = converted(model, given, tmp_path).verification
    assert verification.passed and verification.tensors[0].metrics["max_abs"] == 0


@pytest.mark.parametrize("element", [F32, I8, I64])
def test_gathers_by_no_subscripts_are_none(element: Any) -> None:
    """LiteRT's GATHER_ND takes one subscript or more."""
    module = network(lambda b, x, i: b.emit("top.GatherND", x, i), TensorType((2, 3), element), TensorType((4, 0), I32))
    x = np.arange(6).reshape(2, 3).astype(dtype_of(element))
    (found,) = run_litert(serialize(transload.lower(module, "tfl")), [x, np.zeros((4, 0), np.int32)])
    np.testing.assert_array_equal(found, np.stack([x] * 4), strict=True)


@pytest.mark.parametrize(("operator", "dtype", "name"), [
    ("Add", np.float64, "tfl.add"), ("Pow", np.int64, "tfl.pow")])
def test_operators_without_a_kernel_of_a_type_are_refused_one_by_one(
    operator: str, dtype: Any, name: str, tmp_path: Path,
) -> None:
    given = {"a": np.ones(4, dtype), "b": np.ones(4, dtype)}
    model = make_model([node(operator, ["a", "b"], ["y"])], given, ["y"])
    with pytest.raises(TargetError) as raised:
        converted(model, given, tmp_path, f64="kept")
    (finding,) = raised.value.findings
    assert finding.what == name and finding.why.startswith("LiteRT says: ") and finding.names == ("y",)
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").glob("*.tflite"))


def test_division_of_integers_is_not_tried_on_zeros_alone(tmp_path: Path) -> None:
    given = {"a": np.array([-7, 7], np.int64), "b": np.array([2, -2], np.int64)}
    model = make_model([node("Mod", ["a", "b"], ["y"])], given, ["y"])
    assert converted(model, given, tmp_path).verification.passed


def test_what_nobody_can_give_is_not_tried_out(tmp_path: Path) -> None:
    """A handle of a resource is no number: whether LiteRT runs the op is found by running it, and nobody can."""
    model = ModelWriter()
    handle = model.add_tensor("r", (2,), "resource")
    x, y = (model.add_tensor(name, (2,), "int32") for name in "xy")
    model.add_operator("BITWISE_XOR", [handle, x], [y])
    model.inputs, model.outputs = [handle, x], [y]
    path = tmp_path / "model.tflite"
    path.write_bytes(model.finish())
    transload.convert(path, "tflite", tmp_path / "out", verify=False)


def integers(dtype: Any, *shape: int) -> np.ndarray:
    numbers = np.random.default_rng(0).integers(0, 100, shape)
    return numbers % 2 == 0 if dtype is np.bool_ else numbers.astype(dtype)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8, np.uint16, np.int64])
def test_sequences_of_rare_types_are_turned_round(dtype: Any, tmp_path: Path) -> None:
    """Masks of recurrent layers are turned round, too; LiteRT's kernel takes no truth values."""
    given = {"x": integers(dtype, 2, 5, 3)}
    model = make_model(
        [node("ReverseSequence", ["x", "n"], ["y"], batch_axis=0, time_axis=1)], given, ["y"], {"n": np.array([3, 5])})
    assert converted(model, given, tmp_path).verification.passed


@pytest.mark.parametrize("dtype", [np.bool_, np.uint16, np.float64])
def test_parts_of_rare_types(dtype: Any, tmp_path: Path) -> None:
    given = {"x": integers(dtype, 4, 3)}
    model = make_model([node("Split", ["x", "n"], ["y", "z"], axis=0)], given, ["y", "z"], {"n": np.array([1, 3])})
    assert converted(model, given, tmp_path).verification.passed


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [np.bool_, np.uint16, np.int16, np.int64])
def test_tensors_of_rare_types_are_taken_apart(dtype: Any, axis: int, tmp_path: Path) -> None:
    """Edges of a graph are two rows of subscripts of 64 bits; LiteRT's UNPACK takes none, nor u16."""
    graph = Graph(TensorType((2, 3), element_type_of(dtype)))
    parts = graph.emit("Unpack", graph.inputs[0], axis=axis, types=[TensorType((3 - axis,), element_type_of(dtype))] * (2 + axis))
    x = integers(dtype, 2, 3)
    found = run_litert(serialize(transload.lower(graph.done(*parts), "tfl")), [x])
    for made, wanted in zip(found, np.moveaxis(x, axis, 0), strict=True):
        np.testing.assert_array_equal(made, wanted)


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.int64])
def test_places_of_extremes_of_rare_types(dtype: Any, operator: str, last: int) -> None:
    """LiteRT's ARG_MAX takes none of them: ties, ends of the types, and what f32 and int32 do not tell apart."""
    limits, rng = np.iinfo(dtype), np.random.default_rng(4)
    x = rng.choice(np.array([limits.min, limits.max, limits.max - 1, 3, limits.min + 1], dtype), (2, 1, 3, 2, 5))
    graph = Graph(TensorType(x.shape, element_type_of(dtype)))
    module = graph.done(graph.Arg(graph.inputs[0], axis=4, mode=operator, keepdims=False, select_last_index=bool(last)))
    [made] = run_litert(serialize(transload.lower(module, "tfl")), [x])
    find = np.argmax if operator == "ArgMax" else np.argmin
    np.testing.assert_array_equal(made, 4 - find(x[..., ::-1], -1) if last else find(x, -1))


@pytest.mark.parametrize("nodes", [
    [node("Concat", ["x", "x"], ["y"], axis=1)], [node("Gather", ["x", "i"], ["y"], axis=1)],
    [node("GatherElements", ["x", "i"], ["y"], axis=1)], [node("GatherND", ["x", "i"], ["y"])]])
def test_unsigned_numbers_of_16_bits_are_joined_and_taken(nodes: Any, tmp_path: Path) -> None:
    given = {"x": np.array([[65535, 3, 40000], [0, 32768, 7]], np.uint16)}
    constants = {"i": np.array([[0, 1], [1, 0]])}
    model = make_model(nodes, given, ["y"], {name: constants[name] for name in nodes[0].input if name in constants})
    assert converted(model, given, tmp_path).verification.passed


def test_f64_becomes_f32_which_is_said(tmp_path: Path) -> None:
    """At the borders and within; LiteRT has a kernel for hardly any of it."""
    given = {"a": np.linspace(-3, 3, 7), "b": np.linspace(1, 2, 7)}
    constants = {"c": np.array([0.1, 0.2, 1e300, 4, 5, 6, 7])}
    nodes = [node("Add", ["a", "b"], ["s"]), node("CumSum", ["s", "axis"], ["t"]), node("Min", ["t", "c"], ["y"])]
    model = make_model(nodes, given, ["y"], {**constants, "axis": np.array(0)})
    made = converted(model, given, tmp_path)
    assert made.verification.passed and any("are f64 in the model, and f32 here: a, b, " in note for note in made.report.notes)
    with pytest.raises(ConversionError, match="LiteRT computes in f32") as refused:
        converted(model, given, tmp_path, f64="refused")
    assert {finding.what for finding in refused.value.findings} >= {"an input", "a constant", "top.Add"}


def test_the_bits_of_f64_are_refused() -> None:
    graph = Graph(TensorType((4,), F64))
    module = graph.done(graph.emit("Bitcast", graph.inputs[0], types=[TensorType((4,), I64)]))
    with pytest.raises(ConversionError, match=r"takes the bits of f64[^→]*→ --option f64=kept"):
        transload.lower(module, "tfl")
    [bits] = run_litert(serialize(transload.lower(module, "tfl", f64="kept")), [np.arange(4.0)])
    np.testing.assert_array_equal(bits, np.arange(4.0).view(np.int64))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("operator", ["Abs", "Sign"])
def test_signs_of_integers(operator: str, dtype: Any, tmp_path: Path) -> None:
    limits = np.iinfo(dtype)
    given = {"x": np.array([limits.min, limits.max, 0, 1, limits.min + 3], dtype)}
    model = make_model([node(operator, ["x"], ["y"])], given, ["y"])
    verification = converted(model, given, tmp_path).verification
    assert not verification.failed and verification.tensors[0].metrics["max_abs"] == 0


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int8, np.int64])
@pytest.mark.parametrize("reduction", ["none", "add"])
def test_elements_at_subscripts(reduction: str, dtype: Any, computed: bool, tmp_path: Path) -> None:
    """The subscripts of one dimension, constant or computed, count from the end, too; of two updates the last stays."""
    places = {"i": np.array([[2, 0], [-3, 1], [0, 3]])}
    given = {"x": integers(dtype, 3, 4), "u": integers(dtype, 3, 2), **(places if computed else {})}
    nodes = [node("ScatterElements", ["x", "i", "u"], ["y"], axis=1, reduction=reduction),
             node("GatherElements", ["x", "i"], ["z"], axis=1)]
    model = make_model(nodes, given, ["y", "z"], {} if computed else places, opset=18)
    verification = converted(model, given, tmp_path).verification
    assert verification.passed and all(tensor.metrics["max_abs"] == 0 for tensor in verification.tensors)


@pytest.mark.parametrize("element", ["i32", "ui8", "ui16", "ui32", "ui64"])
def test_bits_that_move_up_are_products(element: str) -> None:
    """The hint was to cast to a signed type of more bits, of which there is none for ui64, and which is refused as well."""
    text = """module @m {{
      func.func public @main(%a: tensor<4x{0}>, %b: tensor<4x{0}>) -> tensor<4x{0}> {{
        %0 = stablehlo.{1} %a, %b : tensor<4x{0}>
        return %0 : tensor<4x{0}>
      }}
    }}"""
    with pytest.raises(TransloadError) as refused:
        transload.lower(transload.load(text=text.format(element, "shift_left"), format="stablehlo"), "tfl")
    (finding,) = refused.value.findings
    assert "moves bits down alone" in finding.why and "multiply by powers of two" in finding.hint
    wide = "i32" if element == "i32" else "i64"
    assert transload.lower(transload.load(text=text.format(wide, "multiply"), format="stablehlo"), "tfl")


def test_a_complement_of_ui64_is_refused_for_its_type_alone() -> None:
    """Its constant was -1, of which numpy said besides that the type does not hold it."""
    with pytest.raises(ConversionError) as refused:
        transload.lower(network(lambda build, x: build.emit("top.BitwiseNot", x), TensorType((4,), UI64)), "tfl")
    assert [finding.why for finding in refused.value.findings] == ["LiteRT has no kernel of it for ui64"]


def test_no_wider_type_is_advised_where_there_is_none() -> None:
    text = """module @m {{
      func.func public @main(%a: tensor<4xui64>) -> tensor<4x{0}> {{
        %0 = stablehlo.{1} : {2}
        return %0 : tensor<4x{0}>
      }}
    }}"""
    for operator, type_, result in (
            ("add %a, %a", "tensor<4xui64>", "ui64"), ("maximum %a, %a", "tensor<4xui64>", "ui64"),
            ("multiply %a, %a", "tensor<4xui64>", "ui64"), ("convert %a", "(tensor<4xui64>) -> tensor<4xi64>", "i64"),
            ("compare LT, %a, %a", "(tensor<4xui64>, tensor<4xui64>) -> tensor<4xi1>", "i1")):
        with pytest.raises(TransloadError) as refused:
            transload.lower(transload.load(text=text.format(result, operator, type_), format="stablehlo"), "tfl")
        assert "make it i64 from the start, where the numbers are below" in refused.value.findings[0].hint, operator


_QUOTIENTS = ("FloorDiv", "Div")  # there are none of 64 bits
_OF_ONE = ("CumSum", "Neg", "Abs", "Sign", "Square", "BitwiseNot", "Clip")


@pytest.mark.parametrize(("name", "element"), [
    (name, element) for element in (I8, I16, UI8, UI16, UI32, I32, I64)
    for name in ("Add", "Sub", "Mul", "Max", "Min", "FloorMod", "TruncMod", "SquaredDifference", "Compare", *_OF_ONE, *_QUOTIENTS)
    if name not in _QUOTIENTS or element not in (UI32, I64)], ids=str)
def test_arithmetic_of_integers_without_a_kernel(name: str, element: IntegerType) -> None:
    """It is computed in a wider type, and wraps round; the remainder by FLOOR_MOD, as there is no quotient of 64 bits."""
    rng, dtype = np.random.default_rng(0), dtype_of(element)
    ends = np.iinfo(dtype)
    a = rng.integers(ends.min, ends.max, (3, 4), dtype)
    b = rng.integers(1, 5, (3, 4)).astype(dtype)
    if not element.unsigned:
        b *= rng.choice([-1, 1], (3, 4)).astype(dtype)
    types = [TensorType((3, 4), element)] * (1 if name in _OF_ONE else 2)
    known: dict[str, dict[str, Any]] = {
        "CumSum": {"axis": 1, "reverse": True}, "Compare": {"mode": "Less"}, "Clip": {"min": 3.0, "max": 100.0}}
    options = known.get(name, {})
    module = network(lambda build, *values: build.emit(f"top.{name}", *values, **options), *types)
    arrays = [a, b][: len(types)]
    with np.errstate(over="ignore"):
        wanted: dict[str, Any] = {
            "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum, "FloorMod": np.mod,
            "TruncMod": np.fmod, "FloorDiv": np.floor_divide, "Div": lambda x, y: (x - np.fmod(x, y)) // y,
            "SquaredDifference": lambda x, y: (x - y) * (x - y), "Compare": np.less, "Neg": np.negative,
            "Abs": np.abs, "Sign": np.sign, "Square": np.square, "BitwiseNot": np.invert, "Clip": lambda x: np.clip(x, 3, 100),
            "CumSum": lambda x: np.cumsum(x[:, ::-1], 1, dtype)[:, ::-1]}
        right = wanted[name](*arrays)
    [found] = run_litert(serialize(transload.lower(module, "tfl")), arrays)
    np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("element", [I8, I16, UI8, UI16, UI32], ids=str)
@pytest.mark.parametrize(("name", "options"), [
    ("Add", {}), ("Sub", {}), ("Mul", {"relu_limit": 6.0}), ("Add", {"relu_limit": 6.0, "coeff": (1.0, 3.0)}),
    ("Sub", {"relu_limit": 9.0}), ("AddConst", {"const_val": 100.0}), ("MulConst", {"const_val": 3.0, "relu_limit": 100.0})])
def test_integers_wrap_round_before_they_are_activated(name: str, options: dict[str, Any], element: IntegerType) -> None:
    dtype = dtype_of(element)
    ends = np.iinfo(dtype)
    arrays = [np.random.default_rng(index).integers(ends.min, ends.max, (5, 8), dtype) for index in range(2)]
    arrays = arrays[: 1 if name.endswith("Const") else 2]
    module = network(lambda build, *values: build.emit(f"top.{name}", *values, do_relu=True, **options),
                     *[TensorType((5, 8), element)] * len(arrays))
    first, second = arrays[0], arrays[-1]
    made = {"Add": lambda: first + second * dtype.type(options.get("coeff", (1, 1))[1]), "Sub": lambda: first - second,
            "Mul": lambda: first * second, "AddConst": lambda: first + dtype.type(100), "MulConst": lambda: first * dtype.type(3)}
    limit = int(min(options.get("relu_limit", ends.max), ends.max))
    [found] = run_litert(serialize(transload.lower(module, "tfl")), arrays)
    np.testing.assert_array_equal(found, np.clip(made[name](), 0, limit))


@pytest.mark.parametrize("element", [I8, UI8, I16, I32, I64], ids=str)
def test_integers_to_a_constant_power_wrap_round(element: IntegerType) -> None:
    dtype = dtype_of(element)
    ends = np.iinfo(dtype)
    x = np.random.default_rng(3).integers(ends.min, ends.max, (3, 4), dtype)
    for exponent in (1, 2, 7):
        module = network(lambda build, value, power=exponent: build.emit(
            "top.Pow", value, build.constant(np.array([power], np.int32))), TensorType((3, 4), element))
        [found] = run_litert(serialize(transload.lower(module, "tfl")), [x])
        np.testing.assert_array_equal(found, np.power(x, dtype.type(exponent)))


@pytest.mark.parametrize("element", [I8, I16, I32, I64], ids=str)
def test_integers_to_powers_of_their_own_wrap_round(element: IntegerType) -> None:
    """By numpy: LiteRT's POW goes by way of doubles, and cuts what they have beyond 32 bits."""
    dtype = dtype_of(element)
    base, exponent = np.array([3, -3, 7, -11, 0, 1, -1], dtype)[:, None], np.array([0, 1, 2, 11, 25, 35, 41, 62], np.int32)
    module = network(lambda build, *values: build.emit("top.Pow", *values), TensorType((7, 1), element), TensorType((8,), I32))
    [found] = run_litert(serialize(transload.lower(module, "tfl")), [base, exponent])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, base ** exponent.astype(dtype), strict=True)


@pytest.mark.parametrize("exponents", [(21, 20, 12, 2), (90, 90, 90, 90)], ids=["others", "all great"])
def test_powers_by_constants_of_their_own_wrap_round(exponents: tuple[int, ...]) -> None:
    """Where the numbers may come to more than 32 bits, of which the type of the result tells nothing."""
    base = np.array([3, -3, 7, 46341], np.int32)
    power = np.array(exponents, np.int32)
    module = network(lambda build, x: build.emit("top.Pow", x, build.constant(power)), TensorType((4,), I32))
    lowered = transload.lower(module, "tfl")
    assert "tfl.pow" not in {op.name for op in lowered.ops()}
    [found] = run_litert(serialize(lowered), [base])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, base ** power, strict=True)


@pytest.mark.parametrize("of", [I8, I16, I32, I64], ids=str)
@pytest.mark.parametrize("by", [I8, I32, I64], ids=str)
def test_small_powers_have_kernels(of: IntegerType, by: IntegerType) -> None:
    """POW takes int32 alone: models were written that LiteRT did not load, or that failed as they ran."""
    def small(build: Any, base: Any, exponent: Any) -> Any:
        few, low = build.emit("top.Clip", base, min=-3.0, max=3.0), build.emit("top.Clip", exponent, min=0.0, max=2.0)
        return build.emit("top.Pow", few, low)

    types = TensorType((4, 1), of), TensorType((3,), by)
    base, exponent = np.array([[-3], [3], [1], [0]], dtype_of(of)), np.array([0, 1, 2], dtype_of(by))
    [found] = run_litert(serialize(transload.lower(network(small, *types), "tfl")), [base, exponent])
    np.testing.assert_array_equal(found, base ** exponent.astype(base.dtype), strict=True)
    if by == I64 != of:  # of i64 the target says that it has no kernel
        with pytest.raises(ConversionError) as caught:
            transload.lower(network(lambda build, *values: build.emit("top.Pow", *values), *types), "tfl")
        assert ["64 bits" in finding.why for finding in caught.value.findings] == [True]


def test_no_factor_with_a_fraction_is_cut_off() -> None:
    for name, options in (("MulConst", {"const_val": 0.5}), ("Add", {"coeff": (0.5, 1.0)})):
        count = 2 if name == "Add" else 1
        module = network(lambda build, *values, name=name, options=options: build.emit(f"top.{name}", *values, **options),
                         *[TensorType((4,), I32)] * count)
        with pytest.raises(TransloadError, match=r"multiplies integers by integers, and not by 0\.5"):
            transload.lower(module, "tfl")


@pytest.mark.parametrize(("element", "at"), [
    ("f8E4M3FN", "targets onnx, tosa and stablehlo"), ("f8E5M2FNUZ", "targets onnx and stablehlo"),
    ("f8E3M4", "the target stablehlo"), ("f4E2M1FN", "the target stablehlo")])
def test_small_floats_go_where_there_are_casts_of_them(element: str, at: str) -> None:
    """Targets were named that refuse them, too."""
    graph = Graph((4,))
    small = graph.emit("Cast", graph.inputs[0], element=FloatType(element))
    module = graph.done(graph.emit("Cast", small, element=F32))
    with pytest.raises(ConversionError, match=f"computes in {element}") as caught:
        transload.lower(module, "tfl")
    assert f"{at} take" in caught.value.findings[0].hint
    for target in ("onnx", "tosa", "stablehlo"):
        if target in at:
            transload.lower(module, target)
        else:
            with pytest.raises(ConversionError, match=element) as caught:
                transload.lower(module, target)
            assert "contradict" not in str(caught.value)


@pytest.mark.parametrize("least", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64])
def test_integers_are_sorted_up_and_down(dtype: Any, least: bool, tmp_path: Path) -> None:
    """LiteRT finds the greatest; the negative of the least integer is that itself. Of equals the first comes first."""
    ends = np.iinfo(dtype)
    x = np.array([[3, ends.max, 3, ends.min, 0, ends.min + 1], [ends.min, 7, ends.max - 1, 7, ends.max, 7]], dtype)
    model = make_model([node("TopK", ["x", "k"], ["v", "i"], largest=int(not least))], {"x": x}, ["v", "i"],
                       {"k": np.array([5], np.int64)})
    onnx.save(model, tmp_path / "model.onnx")
    made = transload.convert(tmp_path / "model.onnx", "tflite", tmp_path / "out", verify=False)
    (path,) = made.directory.glob("*.tflite")
    wide = x.astype(object)
    order = np.argsort(wide if least else -wide, axis=1, kind="stable")[:, :5]
    values, places = run_litert(path.read_bytes(), {"x": x})
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))
    np.testing.assert_array_equal(places, order)


@pytest.mark.parametrize(("common", "indices"), [
    (1, [[[1], [-1]], [[0], [3]]]), (1, [[1, 0], [-1, 2]]), (2, [[[2], [0], [1], [-1]]] * 2)])
@pytest.mark.parametrize("is_known", [True, False])
def test_subscripts_behind_dimensions_in_common(common: int, indices: Any, is_known: bool, tmp_path: Path) -> None:
    """LiteRT's GATHER_ND has no such dimensions."""
    x, i = np.arange(24, dtype=np.float32).reshape(2, 4, 3), np.array(indices, np.int64)
    given, held = ({"x": x}, {"i": i}) if is_known else ({"x": x, "i": i}, {})
    model = make_model([node("GatherND", ["x", "i"], ["y"], batch_dims=common)], given, ["y"], held)
    onnx.save(model, tmp_path / "model.onnx")
    made = transload.convert(tmp_path / "model.onnx", "tflite", tmp_path / "out", verify=False)
    (path,) = made.directory.glob("*.tflite")
    want = np.stack([x[(*place[:common], *i[place])] for place in np.ndindex(i.shape[:-1])])
    found, = run_litert(path.read_bytes(), given)
    np.testing.assert_array_equal(found.reshape(want.shape), want)


def test_products_of_plain_integers_are_refused_with_ways_that_go(tmp_path: Path) -> None:
    """The advice was to make the model float32, which no option does."""
    rng = np.random.default_rng(0)
    x, w = rng.integers(0, 256, (2, 6)).astype(np.uint8), rng.integers(-127, 128, (6, 3)).astype(np.int8)
    model = make_model([node("MatMulInteger", ["x", "w"], ["y"])], {"x": x}, ["y"], {"w": w})
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(ConversionError) as raised:
        transload.convert(tmp_path / "model.onnx", "tflite", tmp_path / "out")
    (finding,) = raised.value.findings
    assert "has no product of" in finding.why and "--quantize dynamic" in finding.hint
    for target in ("onnx", "tosa", "stablehlo"):
        assert target in finding.hint
        transload.convert(tmp_path / "model.onnx", target, tmp_path / target, verify=False)
        (y,) = transload.run(tmp_path / target, {"x": x}).values()
        np.testing.assert_array_equal(y, x.astype(np.int32) @ w.astype(np.int32))


@pytest.mark.parametrize("element", [I4, I8, UI8, I16, UI16, I32, I64])
def test_limits_of_integers(element: IntegerType) -> None:
    """Of i4 it was a bug report: what limits it can have was asked of a type that numpy does not know. LiteRT casts it to f32."""
    top, bottom = element.range[1], element.range[0]
    x = np.array([[top, bottom, 3], [5, 1, top // 2]]).astype(dtype_of(element))
    made: list[Callable[[Builder, Value], Value]] = [
        lambda b, x: b.emit("top.Relu", x), lambda b, x: b.emit("top.Relu", x, relu_limit=1000.0),
        lambda b, x: b.emit("top.Clip", x, min=-2.0, max=3.5), lambda b, x: b.emit("top.Clip", x, min=2.0, max=2.0**70),
        lambda b, x: b.emit("top.Max", x, b.constant(np.array([2]).astype(dtype_of(element)), element)),
        lambda b, x: b.emit("top.Min", x, b.constant(np.array([2]).astype(dtype_of(element)), element))]
    for make in made:
        if element == I4:  # which LiteRT is given as bytes
            def within(b: Builder, x: Value, make: Any = make) -> Value:
                return b.emit("top.Cast", make(b, b.emit("top.Cast", x, element=I4)), element=F32)

            operators(network(within, TensorType(x.shape, F32)), x.astype(np.float32))
        else:
            operators(network(make, TensorType(x.shape, element)), x)


@pytest.mark.parametrize("element", [I8, UI8, I16, UI16, I32, I64])
def test_integers_that_an_op_activates(element: IntegerType) -> None:
    """LiteRT ended at a scale of narrow integers, and a limit that their type does not have was an error of ours."""
    top = element.range[1]
    x = np.array([[[[top], [3]], [[5], [top // 2]]]]).astype(dtype_of(element))
    for limit in ({}, {"relu_limit": 6.0}, {"relu_limit": 1e20}):
        made: list[Callable[[Builder, Value], Value]] = [
            lambda b, x, limit=limit: b.emit("top.Scale", x, x, x, do_relu=True, **limit),  # type: ignore[misc]
            lambda b, x, limit=limit: b.emit("top.Concat", x, x, axis=1, do_relu=True, **limit)]  # type: ignore[misc]
        for make in made[:1] if element == UI16 else made:
            operators(network(make, TensorType(x.shape, element)), x)
