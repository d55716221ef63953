"""Integers of 64 bits in i32: narrowed where that is proved to change no number, refused where not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.api import lower, run
from transload.conversion import apply_conversion
from transload.errors import ConversionError, UsageError
from transload.ir import (
    BOOL,
    F32,
    I8,
    I32,
    I64,
    UI32,
    UI64,
    Block,
    FloatType,
    IntegerType,
    Module,
    Region,
    TensorType,
    dtype_of,
    new_module,
)
from transload.ir.build import Builder
from transload.ir.module import set_results
from transload.plugin_host import host
from transload_hub.build import padded

IDS = np.array([0, 1, -1, 7, 1 << 20, (1 << 30) - 1, -(1 << 30), 12345], np.int64)
MOST = np.iinfo(np.int64).max


def number(rw: Any, value: int, dtype: Any = np.int64) -> Any:
    return rw.constant(np.array([value], dtype))


def module_of(make: Callable[..., Any], *types: TensorType) -> Module:
    module = new_module()
    module.add_function("main", list(types), [f"x{i}" for i in range(len(types))])
    block = module.body_of_main
    set_results(module.main, [make(Builder(block, None, "y"), *block.arguments)], ["y"])
    return module


def refusal(make: Callable[..., Any], *types: TensorType, int64: str = "proved") -> str:
    with pytest.raises(ConversionError) as caught:
        lower(module_of(make, *types), int64=int64)
    assert all(finding.hint for finding in caught.value.findings)
    return str(caught.value)


EIGHT = TensorType((8,), I64)


# --- what is proved

@pytest.mark.parametrize("make", [
    lambda rw, x: rw.emit("top.Add", x, number(rw, 1)),
    lambda rw, x: rw.emit("top.Add", x, x),
    lambda rw, x: rw.emit("top.FloorMod", rw.emit("top.Add", x, number(rw, 5)), number(rw, 100)),
    lambda rw, x: rw.emit("top.Min", x, number(rw, MOST)),
    lambda rw, x: rw.emit("top.Compare", x, number(rw, MOST), mode="Less"),
    lambda rw, x: rw.emit("top.Compare", number(rw, -MOST), x, mode="GreaterOrEqual"),
    lambda rw, x: rw.emit("top.Mul", rw.emit("top.Clip", x, min=0.0, max=1000.0), number(rw, 1000)),
    lambda rw, x: rw.emit("top.Cast", rw.emit("top.Mul", x, x), element=I32),
    lambda rw, x: rw.emit("top.BitwiseAnd", rw.emit("top.Mul", x, number(rw, -0x61C8864680B583EB)), number(rw, 0xFFFF)),
    lambda rw, x: rw.emit("top.ShiftRight", x, number(rw, 40)),
    lambda rw, x: rw.emit("top.Reduce", rw.emit(
        "top.Cast", rw.emit("top.Compare", x, number(rw, 0), mode="Greater"), element=I64), axes=(0,), mode="ReduceSum"),
    lambda rw, x: rw.emit("top.Cast", rw.emit("top.Cast", rw.emit("top.Bitcast", x, element=UI64), element=I32), element=F32),
], ids=range(12))
def test_proved(lowered: Callable, make: Callable) -> None:
    lowered(make, IDS)


def test_sums_wrap_round(lowered: Callable) -> None:
    """TOSA does not say what a sum beyond i32 is; every engine keeps the low bits, and Arm's reference model complains."""
    half = 1 << 31
    lowered(lambda rw, x: rw.emit("top.Sub", rw.emit("top.Add", x, number(rw, half)), number(rw, half)), IDS, official=False)
    x = np.array([0, 1, 1 << 31, (1 << 32) - 1], np.uint32)
    lowered(lambda rw, x: rw.emit("top.Add", rw.emit("top.Mul", x, number(rw, 1664525, np.uint32)),
                                  number(rw, 3000000000, np.uint32)), x, official=False)


def test_a_subscript_lies_in_its_dimension(lowered: Callable) -> None:
    """A sum of many arguments is refused, but as a subscript it is one of a table."""
    table = np.arange(100, dtype=np.float32).reshape(20, 5)
    mask = np.array([1, 1, 0, 1, 0, 1, 1, 1], np.int64)
    places: Callable = lambda rw, x: rw.emit("top.Mul", rw.emit("top.CumSum", x, axis=0), x)  # noqa: E731
    lowered(lambda rw, x, table: rw.emit("top.Gather", table, places(rw, x), axis=0), mask, table)
    assert "may need more than 32 bits" in refusal(places, EIGHT)


def test_floats(lowered: Callable) -> None:
    x = np.linspace(-7, 7, 8).astype(np.float32)
    lowered(lambda rw, x: rw.emit("top.Cast", rw.emit("top.Clip", x, min=-5.0, max=1e6), element=I64), x)
    lowered(lambda rw, x: rw.emit(
        "top.Cast", rw.emit("top.Mul", rw.emit("top.Sigmoid", x), rw.constant(np.float32([255]))), element=I64), x)
    lowered(lambda rw, x: rw.emit("top.Clip", rw.emit("top.Cast", x, element=I64), min=0.0, max=5.0), x * 1e12)
    found = refusal(lambda rw, x: rw.emit("top.Cast", x, element=I64), TensorType((8,), F32))
    assert "a float cast to i64 may be too large for 32 bits" in found


@pytest.mark.parametrize("mode", ["Equal", "NotEqual", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"])
def test_ui32_is_compared_by_its_bits(lowered: Callable, mode: str) -> None:
    x = np.array([0, 1, 5, 1 << 31, (1 << 31) - 1, (1 << 32) - 1], np.uint32)
    lowered(lambda rw, a, b: rw.emit("top.Compare", a, b, mode=mode), x[:, None].repeat(6, 1), x[None].repeat(6, 0))


@pytest.mark.parametrize("make", [
    lambda rw, x: rw.emit("top.ShiftRight", x, number(rw, 3, np.uint32)),
    lambda rw, x: rw.emit("top.BitwiseOr", rw.emit("top.ShiftRight", x, number(rw, 15, np.uint32)),
                          rw.emit("top.ShiftLeft", x, number(rw, 17, np.uint32))),
    lambda rw, x: rw.emit("top.Max", x, number(rw, 1 << 31, np.uint32)),
    lambda rw, x: rw.emit("top.Min", x, number(rw, 1 << 31, np.uint32)),
    lambda rw, x: rw.emit("top.Cast", x, element=F32),
    lambda rw, x: rw.emit("top.Cast", x, element=BOOL),
    lambda rw, x: rw.emit("top.Bitcast", x, element=I32),
], ids=["shift", "rotate", "max", "min", "float", "bool", "bits"])
def test_all_numbers_of_ui32(lowered: Callable, make: Callable) -> None:
    x = np.array([0, 1, 5, 1 << 31, (1 << 31) - 1, (1 << 32) - 1, 3000000001, 16777217 * 129], np.uint32)
    lowered(make, x, tolerance=0.0)


def test_padding_of_ui32_with_2_to_the_31_and_more(lowered: Callable) -> None:
    x = np.array([0, 5, 1 << 31, (1 << 32) - 1], np.uint32)
    for make in (lambda rw, x: rw.emit("top.Pad", x, paddings=(1, 1), val=3e9), lambda rw, x: padded(rw, x, (1, 1), 3 * 10**9)):
        lowered(make, x)
        lowered(lambda rw, x, make=make: rw.emit("top.Compare", make(rw, x), number(rw, 9, np.uint32), mode="Greater"), x)


def test_bits_of_ui32_in_64(lowered: Callable) -> None:
    x = np.array([0, 1, 1 << 31, (1 << 32) - 1], np.uint32)
    lowered(lambda rw, x: rw.emit("top.Cast", rw.emit("top.Cast", x, element=I64), element=UI32), x)
    assert "32 bits do not hold" in refusal(lambda rw, x: rw.emit("top.Div", x, number(rw, 3, np.uint32)), TensorType((8,), UI32))


# --- loops

def loop(rw: Any, start: int, end: Any, mode: str, op: str, step: int) -> Any:
    """`i = start; while i <mode> end: i = op(i, step)`: the last i."""
    first = number(rw, start)
    end = number(rw, end) if isinstance(end, int) else end
    test, body = Region([Block([first.type])]), Region([Block([first.type])])
    inside = Builder(test.block)
    inside.create("top.Yield", (inside.emit("top.Compare", test.block.arguments[0], end, mode=mode),))
    inside = Builder(body.block)
    inside.create("top.Yield", (inside.emit(f"top.{op}", body.block.arguments[0], number(inside, step)),))
    return rw.create("top.While", (first,), (first.type,), {}, [test, body]).result


@pytest.mark.parametrize("case", [
    (0, 5, "Less", "Add", 1), (9, 5, "Greater", "Sub", 1), (1, 1000, "Less", "Mul", 3),
    (0, 100_000, "LessOrEqual", "Add", 40_000),
    (1 << 20, 5, "Greater", "Div", 2)], ids=["up", "down", "products", "leaps", "halves"])
def test_loops(lowered: Callable, case: Any) -> None:
    lowered(lambda rw, x: rw.emit("top.Add", x, loop(rw, *case)), IDS)
    start, _, mode, op, step = case
    if op != "Mul":  # what comes after the greatest argument does not fit
        lowered(lambda rw, x: loop(rw, start, x, mode, op, step), np.array([40]))


def test_a_loop_that_may_leave_32_bits() -> None:
    why = "round to round may need more than 32 bits"
    assert why in refusal(lambda rw, x: rw.emit("top.Add", x, loop(rw, 1, 1 << 40, "Less", "Mul", 3)), EIGHT)
    assert why in refusal(lambda rw, x: rw.emit("top.Add", x, loop(rw, 1, 5, "NotEqual", "Mul", 3)), EIGHT)


# --- what is not

@pytest.mark.parametrize(("make", "why"), [
    (lambda rw, x: rw.emit("top.Mul", x, x), "may need more than 32 bits: they lie from 0 to 1152921504606846976"),
    (lambda rw, x: rw.emit("top.Reduce", x, axes=(0,), mode="ReduceSum"), "to 8589934584"),
    (lambda rw, x: rw.emit("top.Reduce", x, axes=(0,), mode="ReduceL1"), "the sum of 8 numbers may need more than 32 bits"),
    (lambda rw, x: rw.emit("top.Compare", rw.emit("top.Mul", x, number(rw, 3)), x, mode="Less"), "top.Compare 'y' needs all of"),
    (lambda rw, x: rw.emit("top.Pad", x, paddings=(1, 1), val=2.0**40), "to 1099511627776, and func.return"),
    (lambda rw, x: padded(rw, x, (1, 1), MOST), "to 9223372036854775807, and func.return"),
    (lambda rw, x: rw.emit("top.Add", x, number(rw, MOST)), "to 9223372036854775807"),
    (lambda rw, x: rw.emit("top.ShiftRight", rw.emit("top.Bitcast", x, element=UI64), number(rw, 1, np.uint64)), "of ui64"),
], ids=["product", "sum", "norm", "comparison", "padding", "padding by an operand", "constant", "bits"])
def test_refused(make: Callable, why: str) -> None:
    assert why in refusal(make, EIGHT)


def test_all_at_once_and_once_each() -> None:
    def make(rw: Any, x: Any) -> Any:
        square = rw.emit("top.Mul", x, x)
        other = rw.emit("top.Mul", x, number(rw, 1 << 20))
        return rw.emit("top.Max", rw.emit("top.Max", square, other), square)

    with pytest.raises(ConversionError) as caught:
        lower(module_of(make, EIGHT))
    assert [finding.what for finding in caught.value.findings] == ["top.Mul", "top.Mul"]


# --- assumed

def test_assumed(lowered: Callable) -> None:
    lowered(lambda rw, x: rw.emit("top.Mul", x, x), np.arange(8), int64="assumed")
    lowered(lambda rw, x: rw.emit("top.Reduce", x, axes=(0,), mode="ReduceMean"), np.arange(8), int64="assumed")
    lowered(lambda rw, x: rw.emit("top.Cast", x, element=I64), np.float32([1, -5, 3000]), int64="assumed")


def test_assumed_of_what_begins_with_a_sentinel(lowered: Callable) -> None:
    """The least so far, and the greatest of a segment: the hint said to assume, and was given again where that was done."""
    least = lambda rw, x: rw.emit("top.Reduce", padded(rw, x, (1, 0), MOST), axes=(0,), mode="ReduceMin")  # noqa: E731
    most = lambda rw, x: rw.emit(  # noqa: E731
        "top.ScatterND", number(rw, -MOST - 1), rw.constant(np.zeros((8, 1), np.int32)), x, reduction="max")
    for make in (least, most):
        assert "`--option int64=assumed` narrows" in refusal(make, EIGHT)
        lowered(make, IDS, int64="assumed")


def chosen(mode: str, sentinel: int) -> Callable[..., Any]:
    """A sentinel in place of negative numbers, and what is chosen of that and of its reverse, or of that and of a limit."""
    def make(rw: Any, x: Any) -> Any:
        some = rw.emit("top.Where", rw.emit("top.Compare", x, number(rw, 0), mode="Less"), number(rw, sentinel), x)
        if mode == "Clip":
            return rw.emit("top.Clip", some, min=-float(MOST), max=6.0)
        return rw.emit(f"top.{mode}", some, rw.emit("top.Reverse", some, axes=(0,)))
    return make


@pytest.mark.parametrize(("mode", "sentinel", "is_outdone"), [
    ("Max", -MOST - 1, True), ("Min", MOST, True), ("Max", MOST, False), ("Min", -MOST - 1, False), ("Max", 1 << 40, False),
    ("Clip", -MOST - 1, False)])
def test_sentinels_that_a_maximum_shows_are_not_assumed_away(
    mode: str, sentinel: int, is_outdone: bool, lowered: Callable,
) -> None:
    """A maximum with 2**63 - 1 is that, and i32's end was given for it."""
    make = chosen(mode, sentinel)
    if is_outdone:
        lowered(make, IDS, int64="assumed")
    else:
        assert "int64=assumed` does not narrow these" in refusal(make, EIGHT, int64="assumed")
        assert "assumed` narrows" not in refusal(make, EIGHT)


def test_what_assuming_would_not_narrow_is_told_with_the_rest() -> None:
    """The hint was followed, and led to another refusal."""
    def make(rw: Any, x: Any) -> Any:
        product = rw.emit("top.Mul", x, x)
        return rw.emit("top.Where", rw.emit("top.Compare", x, number(rw, 0), mode="Less"), number(rw, MOST), product)

    found = refusal(make, EIGHT)
    assert "assumed` narrows" in found and "assumed` does not narrow these" in found


def test_what_fills_is_not_assumed_and_the_hint_is_another(lowered: Callable) -> None:
    """A sentinel that shows is none that a maximum leaves behind."""
    def make(rw: Any, x: Any) -> Any:
        return rw.emit("top.Where", rw.emit("top.Compare", x, number(rw, 0), mode="Less"), number(rw, -MOST - 1), x)

    for int64 in ("proved", "assumed"):
        found = refusal(make, EIGHT, int64=int64)
        assert "int64=assumed` does not narrow these" in found and "assumed` narrows" not in found


@pytest.mark.parametrize("make", [
    lambda rw, x: rw.emit("top.Compare", rw.emit("top.Add", x, number(rw, MOST)), x, mode="Less"),
    lambda rw, x: rw.emit("top.ShiftRight", rw.emit("top.Bitcast", x, element=UI64), number(rw, 1, np.uint64)),
    lambda rw, x: rw.emit("top.Cast", rw.emit("top.BitwiseNot", rw.emit("top.Cast", x, element=UI64)), element=F32),
], ids=["constant", "bits", "not"])
def test_certainly_wrong(make: Callable) -> None:
    refusal(make, EIGHT, int64="assumed")


def test_option_is_declared() -> None:
    conversion = host().conversions["top-to-tosa"]
    with pytest.raises(UsageError, match="proved or assumed"):
        apply_conversion(conversion, module_of(lambda rw, x: x, EIGHT), int64="never")


# --- numbers of less than 8 bits

@pytest.mark.parametrize("name", ["Add", "Sub", "Mul"])
def test_i4_wraps(name: str) -> None:
    i4 = IntegerType(4)
    x = np.arange(-8, 8, dtype=np.int8)
    module = module_of(lambda rw, a, b: rw.emit("top.Cast", rw.emit(
        f"top.{name}", rw.emit("top.Cast", a, element=i4), rw.emit("top.Cast", b, element=i4)), element=I32),
        TensorType((16, 1), I8), TensorType((1, 16), I8))
    given = {"x0": x[:, None], "x1": x[None]}
    exact = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}[name](x[:, None].astype(int), x[None])
    np.testing.assert_array_equal(next(iter(run(lower(module), given).values())), (exact + 8) % 16 - 8)


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("name", ["Abs", "Neg", "Div", "FloorDiv"])
def test_the_least_number_has_no_opposite(name: str, width: int) -> None:
    element = IntegerType(width)
    least = element.range[0]
    x = np.arange(least, -least, dtype=np.int8)
    operands = 2 if name.endswith("Div") else 1
    module = module_of(lambda rw, x, *by: rw.emit("top.Cast", rw.emit(
        f"top.{name}", *(rw.emit("top.Cast", each, element=element) for each in (x, *by))), element=I32),
        *[TensorType(x.shape, I8)] * operands)
    given = {"x0": x, "x1": np.full_like(x, -1)}
    opposite = -x.astype(int)
    exact = np.abs(opposite) if name == "Abs" else opposite
    made = next(iter(run(lower(module), {each: given[each] for each in module.inputs}).values()))
    np.testing.assert_array_equal(made, (exact - least) % (1 << width) + least)


def test_the_sign_of_ui4_read_as_i4() -> None:
    i4, ui4 = IntegerType(4), IntegerType(4, "u")
    module = module_of(lambda rw, x: rw.emit("top.Cast", rw.emit("top.ShiftRight", rw.emit(
        "top.Bitcast", rw.emit("top.Cast", x, element=ui4), element=i4), rw.emit("top.Cast", number(rw, 1, np.int8), element=i4)),
        element=I32), TensorType((16,), I8))
    x = np.arange(16, dtype=np.int8)
    np.testing.assert_array_equal(next(iter(run(lower(module), {"x0": x}).values())), np.where(x < 8, x, x - 16) >> 1)


# --- floats of 8 bits

@pytest.mark.parametrize("name", ["Round", "Log1p", "Tan"])
@pytest.mark.parametrize("format_", ["f8E4M3FN", "f8E5M2"])
def test_floats_of_8_bits_are_computed_in_32(name: str, format_: str) -> None:
    element = FloatType(format_)
    dtype = dtype_of(element)
    x = np.arange(256, dtype=np.uint8).view(dtype)
    wide = x.astype(np.float32)
    x = x[np.isfinite(wide) & ((wide > -1) | (name != "Log1p"))]
    module = module_of(lambda rw, a: rw.emit(f"top.{name}", a), TensorType(x.shape, element))
    function: Any = {"Round": np.rint, "Log1p": np.log1p, "Tan": np.tan}[name]
    wanted = function(x.astype(np.float32)).astype(dtype)
    mine = next(iter(run(lower(module), {"x0": x}).values()))
    np.testing.assert_array_equal(mine.astype(np.float32), wanted.astype(np.float32))
