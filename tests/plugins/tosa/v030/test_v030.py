"""TOSA 0.30: kernels against the specification's pseudo-code, text, and the ways to and from 1.0."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.conversion import apply_conversion
from transload.engine import run_function
from transload.errors import ConversionError, ReadError, RunError
from transload.ir import (
    BOOL,
    F32,
    I8,
    I32,
    I48,
    UI8,
    Block,
    Module,
    Op,
    Region,
    TensorType,
    dtype_of,
    element_type_of,
    new_module,
    set_results,
    verify,
)
from transload.ir.attributes import IntAttr
from transload.ir.build import Builder
from transload.plugin_host import host
from transload.text import parse_module, print_module
from transload_plugins.tosa.flatbuffer.writer import serialize
from transload_plugins.tosa.v030.dialect import TOSA030
from transload_plugins.tosa.v030.text import detect, parse_030, print_030
from transload_plugins.tosa.v030.upgrade import make_signless

from tests.plugins.tosa.v030 import catalogue, pseudocode

CASES = catalogue.all_cases()
TOLERANCE = {2: 4e-3, 4: 2e-5}
ONE = {"input_zp": 0, "output_zp": 0, "scale32": False, "double_round": False, "per_channel": False, "multiplier": (1 << 14,),
       "shift": (14,)}


def build_case(case: Any) -> tuple[Module, list[np.ndarray]]:
    """A module whose function is the case's op, and its inputs x0, x1, ..."""
    module = new_module()
    arrays = [operand for operand in case.operands if isinstance(operand, np.ndarray)]
    function = module.add_function(
        "main", [TensorType(array.shape, element_type_of(array.dtype)) for array in arrays],
        [f"x{i}" for i in range(len(arrays))])
    block = function.regions[0].block
    builder = Builder(block)
    arguments: Iterator[Any] = iter(block.arguments)
    values = [
        builder.constant(operand.array, operand.element, dialect="tosa030") if isinstance(operand, catalogue.Const)
        else next(arguments) for operand in case.operands]
    results = builder.emit(f"tosa030.{case.op}", *values, element=case.element, location="the op", **case.attributes)
    results = results if isinstance(results, tuple) else (results,)
    # The reference model cannot hand out i48: such a result goes through a rescale by 1, which keeps i32 numbers.
    handed = [
        builder.emit("tosa030.rescale", v, element=I32, **ONE) if v.element == I48 else v for v in results]
    set_results(function, handed, [f"y{index}" for index in range(len(handed))])
    verify(module)
    return module, arrays


def run(module: Module, arrays: list[np.ndarray]) -> list[np.ndarray]:
    return list(run_function(module, {f"x{index}": array for index, array in enumerate(arrays)}).values())


def converted(module: Module, name: str) -> Module:
    copy = module.clone()
    apply_conversion(host().conversions[name], copy)
    verify(copy)
    return copy


def near(ours: np.ndarray, theirs: np.ndarray, what: str) -> None:
    """Integers equal; floats by the greatest number, for sums cancel."""
    assert ours.shape == theirs.shape
    if ours.dtype.kind in "iub":
        np.testing.assert_array_equal(ours, theirs, what)
        return
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    tolerance = 2e-2 if ours.dtype.name == "bfloat16" else TOLERANCE[ours.dtype.itemsize]
    with np.errstate(all="ignore"):
        size = np.max(np.abs(np.where(np.isfinite(b), b, 0)), initial=1e-6)
        good = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= tolerance * size)
    assert good.all(), f"{what}: {a[~good][:5]} where {b[~good][:5]} is expected"


@pytest.mark.parametrize("one_op", CASES, ids=str)
def test_kernel_computes_the_pseudocode(one_op: Any) -> None:
    module, arrays = build_case(one_op)
    op = next(op for op in module.ops() if op.name == f"tosa030.{one_op.op}")
    given = iter(arrays)
    inputs = [operand.array if isinstance(operand, catalogue.Const) else next(given) for operand in one_op.operands]
    expected = [
        np.zeros(result.shape, np.float64 if dtype_of(result.element).kind not in "iub" else dtype_of(result.element))
        for result in op.results]
    attributes = {key: op.attribute(key) for key in op.declaration.attributes}
    pseudocode.OPERATORS[one_op.op](attributes, *expected, *inputs)
    for ours, theirs in zip(run(module, arrays), expected, strict=True):
        with np.errstate(all="ignore"):
            near(ours, theirs.astype(ours.dtype), str(one_op))


@pytest.mark.parametrize("one_op", CASES, ids=str)
def test_text_keeps_everything(one_op: Any) -> None:
    module, _ = build_case(one_op)
    text = print_030(module)
    assert '"tosa.' in text and "tosa030" not in text
    again = parse_030(text)
    assert print_030(again) == text
    for before, after in zip(module.ops(), again.ops(), strict=True):
        assert before.name == after.name and [v.type for v in before.results] == [v.type for v in after.results]
        for key in getattr(before.declaration, "attributes", {}):
            assert before.attribute(key) == after.attribute(key), key
    assert print_module(parse_module(print_module(module))) == print_module(module)


@pytest.mark.parametrize("one_op", CASES, ids=str)
def test_version_1_0_computes_the_same(one_op: Any, reference_model: Any) -> None:
    module, arrays = build_case(one_op)
    if not one_op.newer:
        with pytest.raises(ConversionError, match=r"beyond what 1\.0 allows"):
            converted(module, "tosa030-to-tosa")
        return
    newer = converted(module, "tosa030-to-tosa")
    ours = run(module, arrays)
    for a, b in zip(run(newer, arrays), ours, strict=True):
        near(a, b.view(a.dtype) if b.dtype.kind == "u" else b, "1.0 in our engine")
    for a, b in zip(reference_model(serialize(newer), arrays), ours, strict=True):
        near(a.view(b.dtype) if a.dtype != b.dtype else a, b, "1.0 in the reference model")
    assert not [op for op in newer.ops() if op.dialect == "tosa030"]
    if one_op.back:
        again = converted(newer, "tosa-to-tosa030")
        for a, b in zip(run(again, arrays), ours, strict=True):
            near(a, b, "0.30 again")


def test_every_operator_has_a_case_or_a_test_of_its_own() -> None:
    elsewhere = {"const", "custom", "cond_if", "while_loop", "yield"}
    assert {name[8:] for name in TOSA030.ops} - elsewhere == {case.op for case in CASES}
    assert set(pseudocode.OPERATORS) == {case.op for case in CASES}


def test_every_operator_is_documented() -> None:
    for declaration in TOSA030.ops.values():
        assert len(declaration.doc) > 5, declaration.name
        for slot in (*declaration.operands, *declaration.results):
            assert slot.doc, f"{declaration.name} {slot.name}"


def control() -> Module:
    """Adds y to x while x[0] < 10, then negates it if the flag is set."""
    four, flag = TensorType((4,), I32), TensorType((), BOOL)
    module = new_module()
    function = module.add_function("main", [four, four, flag], ["x0", "x1", "x2"])
    block = function.regions[0].block
    x, y, chosen = block.arguments
    cond, body = Block([four, four]), Block([four, four])
    builder = Builder(cond)
    first = builder.emit("tosa030.slice", cond.arguments[0], start=(0,), size=(1,))
    ten = builder.constant(np.array([10], np.int32), dialect="tosa030")
    less = builder.emit("tosa030.greater", ten, first)
    cond.append(Op("tosa030.yield", [builder.emit("tosa030.reshape", less, new_shape=())]))
    body.append(Op("tosa030.yield", [Builder(body).emit("tosa030.add", *body.arguments), body.arguments[1]]))
    builder = Builder(block)
    loop = builder.create("tosa030.while_loop", [x, y], [four, four], {}, [Region([cond]), Region([body])])
    then, otherwise = Block([four]), Block([four])
    then.append(Op("tosa030.yield", [Builder(then).emit("tosa030.negate", then.arguments[0])]))
    otherwise.append(Op("tosa030.yield", [Builder(otherwise).emit("tosa030.identity", otherwise.arguments[0])]))
    choice = builder.create("tosa030.cond_if", [chosen, loop.results[0]], [four], {}, [Region([then]), Region([otherwise])])
    set_results(function, choice.results, ["y0"])
    verify(module)
    return module


def test_control_flow(reference_model: Any) -> None:
    module = control()
    newer = converted(module, "tosa030-to-tosa")
    older = converted(newer, "tosa-to-tosa030")
    text = parse_030(print_030(module))
    x, y = np.array([1, 2, 3, 4], np.int32), np.array([3, 1, 0, -1], np.int32)
    for flag in (True, False):
        arrays = [x, y, np.array(flag)]
        expected = (x + 3 * y) * (-1 if flag else 1)
        for version in (module, newer, older, text):
            np.testing.assert_array_equal(run(version, arrays)[0], expected)
        np.testing.assert_array_equal(reference_model(serialize(newer), arrays)[0], expected)


def test_custom_operators_are_carried_along() -> None:
    module = new_module()
    function = module.add_function("main", [TensorType((2,), F32)], ["x0"])
    block = function.regions[0].block
    made = Builder(block).create(
        "tosa030.custom", block.arguments, [TensorType((3,), F32)],
        {"identifier": "spline", "config": "acme", "implementation_attrs": "7"})
    set_results(function, made.results)
    verify(module)
    newer = converted(module, "tosa030-to-tosa")
    (op,) = [op for op in newer.ops() if op.name == "tosa.custom"]
    assert (op.operator_name, op.domain_name, op.implementation_attrs) == ("spline", "acme", "7")
    assert print_module(converted(newer, "tosa-to-tosa030")) == print_module(module) == print_module(parse_030(print_030(module)))
    with pytest.raises(RunError, match="spline"):
        run(module, [np.zeros(2, np.float32)])


def test_other_spellings_of_the_time_are_read() -> None:
    """MLIR 14 had dictionaries for zero points, MLIR 16 arrays for lists."""
    head = '"builtin.module"() ({\n"func.func"() ({\n^bb0(%x: tensor<1x4x4x2xi8>):\n'
    tail = '"func.return"(%y) : (tensor<1x2x2x2xi8>) -> ()\n}) {sym_name = "main", function_type = ' \
        '(tensor<1x4x4x2xi8>) -> tensor<1x2x2x2xi8>} : () -> ()\n}) : () -> ()\n'
    pool = '%y = "tosa.avg_pool2d"(%x) {{kernel = {0}, stride = {0}, pad = {1}, quantization_info = {2}}} : ' \
        "(tensor<1x4x4x2xi8>) -> tensor<1x2x2x2xi8>\n"
    quantized = ("#tosa.unary_quant<input_zp = 3, output_zp = -4>", "{input_zp = 3 : i32, output_zp = -4 : i32}")
    for lists, info in zip((("[2, 2]", "[0, 0, 0, 0]"), ("array<i64: 2, 2>", "array<i64: 0, 0, 0, 0>")), quantized, strict=True):
        module = parse_030(head + pool.format(*lists, info) + tail)
        (op,) = [op for op in module.ops() if op.name == "tosa030.avg_pool2d"]
        assert (op.kernel, op.pad, op.input_zp, op.output_zp) == ((2, 2), (0, 0, 0, 0), 3, -4)
    with pytest.raises(ReadError, match=r"tosa\.erf.*no operator of TOSA 0\.30"):
        parse_030(head + '%z = "tosa.erf"(%x) : (tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>\n'
                  + pool.format("[2, 2]", "[0, 0, 0, 0]", quantized[0]) + tail)


def newer(name: str, *operands: Any, element: Any = None, **attributes: Any) -> Module:
    """A module of one 1.0 op on arrays, all arguments."""
    module = new_module()
    function = module.add_function("main", [TensorType(shape, type_) for shape, type_ in operands])
    block = function.regions[0].block
    value = Builder(block).emit(f"tosa.{name}", *block.arguments, element=element, location="the op", **attributes)
    set_results(function, [value])
    return module


@pytest.mark.parametrize(("module", "why"), [
    (lambda: newer("erf", ((2,), F32)), "no conversion of tosa.erf"),
    (lambda: newer("maximum", ((2,), F32), ((2,), F32), nan_mode="IGNORE"), "in 0.30 a NaN always wins"),
    (lambda: newer("negate", ((2,), I8), ((1,), I8), ((1,), I8)), "computed at run time"),
    (lambda: newer("reduce_sum", ((1, 2, 3, 4, 5), F32), axis=1), "rank 5, where 0.30 takes 1 to 4"),
    (lambda: newer("cast", ((2,), F32), element=element_type_of(np.float16)), "no mode of the operator"),
])
def test_what_0_30_cannot_say_is_refused_by_name(module: Any, why: str) -> None:
    with pytest.raises(ConversionError) as error:
        converted(module(), "tosa-to-tosa030")
    assert why in str(error.value) and "'the op'" in str(error.value)


@pytest.mark.parametrize(("changes", "message"), [
    ({"scale32": False, "double_round": True}, "double_round without scale32"), ({"shift": (1,)}, "shifts are from 2 to 62"),
    ({"input_zp": 300}, "300 for i8"), ({"per_channel": True}, "where 50 are expected"),
])
def test_rules_of_rescale(changes: dict[str, Any], message: str) -> None:
    from transload.errors import VerifyError

    case = next(case for case in CASES if case.op == "rescale" and case.element == catalogue.UI8)
    with pytest.raises(VerifyError, match=message):
        build_case(type(case)("rescale", case.operands, {**case.attributes, **changes}, case.element))


def test_clamp_keeps_the_type_of_its_bounds() -> None:
    case = next(case for case in CASES if case.op == "clamp" and case.operands[0].dtype == np.int8)
    module = parse_030(print_030(build_case(case)[0]))
    (op,) = [op for op in module.ops() if op.name == "tosa030.clamp"]
    assert op.min_val == IntAttr(-20, I8) and op.max_val == IntAttr(30, I8)


@pytest.mark.parametrize("quantize", [None, "int8"])
def test_what_is_written_is_read_back(
    examples: Path, tmp_path: Path, cli: Callable[..., tuple[int, str, str]], quantize: str | None,
) -> None:
    """It was taken for text of 1.0, which has operands where 0.30 has attributes."""
    model, out = examples / "digits" / ("digits_int8.tflite" if quantize else "digits_float.tflite"), tmp_path / "out"
    assert cli("convert", model, "-t", "tosa", "--option", "tosa_version=0.30", "-o", out)[0] == 0
    (file,) = out.glob("*.mlir")
    for path in (out, file):
        assert cli("run", path)[0] == 0 and "tosa-0.30" in cli("inspect", path)[1]
        code, shown, told = cli("compare", model, path)
        assert code == 0, (shown, told)
    assert transload.load(file).source_format == "tosa-0.30"


@pytest.mark.parametrize("one_op", [case for case in CASES if case.op in (
    "conv2d", "mul", "pad", "transpose", "fully_connected", "clamp") and case.element != catalogue.UI8], ids=str)
def test_older_text_is_known_by_its_attributes(one_op: Any) -> None:
    """Others write no first line that says it."""
    module, _ = build_case(one_op)
    text = print_030(module).encode()
    assert detect(text, Path("m.mlir")) and text.startswith(b"// TOSA 0.30\n")
    is_plain = one_op.op in ("conv2d", "clamp", "mul") and b"_quant<" not in text
    assert detect(text.partition(b"\n")[2], Path("m.mlir")) or is_plain
    newer = print_module(converted(module, "tosa030-to-tosa"))
    assert not detect(newer.encode(), Path("m.mlir"))


CONV = """
"func.func"() <{function_type = (tensor<1x4x4x2xf32>) -> tensor<1x4x4x3xf32>, sym_name = "main"}> ({
^bb0(%a: tensor<1x4x4x2xf32>):
  %w = "tosa.const"() <{values = dense<1.0> : tensor<3x1x1x2xf32>}> : () -> tensor<3x1x1x2xf32>
  %b = "tosa.const"() <{values = dense<1.0> : tensor<3xf32>}> : () -> tensor<3xf32>
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %r = "tosa.conv2d"(%a, %w, %b, %z, %z) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>,
      stride = array<i64: 1, 1>}> : (tensor<1x4x4x2xf32>, tensor<3x1x1x2xf32>, tensor<3xf32>, tensor<1xf32>, tensor<1xf32>)
      -> tensor<1x4x4x3xf32>
  "func.return"(%r) : (tensor<1x4x4x3xf32>) -> ()
}) : () -> ()
"""


def test_a_misspelt_attribute_makes_no_text_one_of_another_version(tmp_path: Path) -> None:
    """Of 1.0 with one `value`, and of 0.30 with one `values`: the one op is named, and not all others."""
    path = tmp_path / "m.mlir"
    path.write_text(CONV.replace("values = dense<1.0> : tensor<3xf32>", "value = dense<1.0> : tensor<3xf32>"))
    with pytest.raises(ReadError) as refused:
        transload.load(path)
    assert {finding.what for finding in refused.value.findings} == {"tosa.const"}
    assert "the nearest is 'values'" in str(refused.value) and "0.30" not in refused.value.message
    old = CONV.replace("values =", "value =").replace(", %z, %z)", ")").replace(", tensor<1xf32>, tensor<1xf32>)", ")")
    old = "\n".join(line for line in old.replace("acc_type = f32, ", "").splitlines() if "%z" not in line)
    path.write_text(old)
    assert transload.load(path).source_format == "tosa-0.30"
    path.write_text(old.replace("value = dense<1.0> : tensor<3xf32>", "values = dense<1.0> : tensor<3xf32>"))
    with pytest.raises(ReadError, match=r"TOSA 0\.30"):
        transload.load(path)


def test_operands_of_a_convolution_say_of_which_version_it_is() -> None:
    """Of 1.0 it has zero points, and of 0.30 none, whatever blanks stand between."""
    later = b'%r = "tosa.conv2d"(%a, %w, %b, %z, %z)\n'
    earlier = b'%c = "tosa.const"() <{value = dense<1.0> : tensor<3xf32>}>\n'
    assert not detect(later + earlier, Path("m.mlir")) and not detect(later.replace(b", ", b",") + earlier, Path("m.mlir"))
    assert detect(later.replace(b", %z, %z", b"") + earlier, Path("m.mlir"))


@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_constants_without_a_sign_keep_their_shape_and_bits(shape: tuple[int, ...]) -> None:
    """A single number became a vector of one."""
    module = new_module()
    block = module.add_function("main", [], []).regions[0].block
    held = Builder(block).constant(np.full(shape, 200, np.uint8), UI8, dialect="tosa")
    assert make_signless(module)
    (op,) = block
    stored = op.attributes["values"].numpy()
    assert held.type == TensorType(shape, I8) and np.array_equal(stored, np.full(shape, -56, np.int8))
