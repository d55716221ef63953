"""The interval analysis: numbers lie where it says, through moves, arithmetic, branches and loops, in every dialect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transload.analysis.dataflow import Branches, Loop, control_of
from transload.analysis.intervals import EVERYTHING, Interval, Intervals, interval_of_constant, limits
from transload.api import run
from transload.ir import BOOL, F32, I8, I32, UI8, Block, Dense, Module, QuantType, Region, TensorType, Value
from transload.ir.build import Builder
from transload.testing.models import build_module

SIX, FLOATS = TensorType((6,), I32), TensorType((6,), F32)
RANDOM = np.random.default_rng(0)


def interval_in(build: Any, *types: TensorType, intervals: Intervals | None = None) -> Interval:
    """Of what `build` returns, the first result of the module."""
    module: Module = build_module(list(types), build)
    return (intervals or Intervals()).of(module.body_of_main.terminator.operands[0])


def clipped(b: Builder, x: Value, low: float, high: float) -> Value:
    return b.emit("top.Clip", x, min=low, max=high)  # type: ignore[no-any-return]


# --- what it starts from

def test_of_what_is_not_computed_the_type_is_known():
    assert interval_in(lambda b, x: x, SIX) == (-(1 << 31), (1 << 31) - 1)
    assert interval_in(lambda b, x: x, TensorType((2,), UI8)) == (0, 255)
    assert interval_in(lambda b, x: x, TensorType((2,), BOOL)) == (0, 1)
    assert interval_in(lambda b, x: x, FLOATS) == EVERYTHING
    assert interval_in(lambda b, x: x, TensorType((2,), QuantType(I8, F32, (0.5,), (28,)))) == (-78.0, 49.5)


def test_constants_are_looked_at_but_for_large_ones():
    def constant(b: Builder, x: Value) -> Value:
        return b.constant(np.array([3, -7, 5], np.int32))

    assert interval_in(constant, SIX) == (-7, 5)
    assert interval_in(constant, SIX, intervals=Intervals(largest=2)) == limits(SIX)
    assert interval_of_constant(Dense(np.array([1.0, np.nan], np.float32))) == EVERYTHING
    assert interval_of_constant(Dense(np.zeros((0,), np.int32))) == (0, 0)


# --- what ops do

UNARY: list[tuple[str, dict[str, Any]]] = [
    ("Neg", {}), ("Abs", {}), ("Square", {}), ("Relu", {}), ("Relu", {"relu_limit": 3.0}), ("AddConst", {"const_val": -4.0}),
    ("MulConst", {"const_val": -3.0}), ("CumSum", {"axis": 0}), ("Reverse", {"axes": (0,)}), ("Tile", {"tile": (2,)}),
    ("Pad", {"paddings": (1, 1), "val": -99.0}), ("Clip", {"min": -2.0, "max": 5.0}), ("Sign", {}),
    ("Arg", {"axis": 0, "mode": "ArgMax"}),
    ("TopK", {"axis": 0, "k": 2}),
    *(("Reduce", {"axes": (0,), "mode": f"Reduce{mode}"}) for mode in ("Sum", "Max", "Min", "Mean", "L1")),
]
FLOAT_ONLY: list[tuple[str, dict[str, Any]]] = [
    ("Sigmoid", {}), ("Sigmoid", {"scale": -2.0, "bias": 0.5}), ("Tanh", {}), ("Softmax", {"axis": 0}), ("Exp", {}), ("Sqrt", {}),
    ("Floor", {}), ("Ceil", {}), ("Round", {}), ("Sin", {}), ("Erf", {}),
]
BINARY = ("Add", "Sub", "Mul", "Max", "Min", "SquaredDifference")
QUOTIENTS: list[tuple[str, dict[str, Any]]] = [("FloorDiv", {"quotient": word}) for word in ("rounded", "exact", "fmod")]
INTEGER_ONLY = ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "FloorMod", "FloorDiv")


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
@pytest.mark.parametrize("ends", [((-9, 4), (2, 7)), ((0, 5), (-3, -1)), ((-6, -2), (-5, 8))])
@pytest.mark.parametrize(("name", "attributes"), [
    *UNARY, *FLOAT_ONLY, *QUOTIENTS, *((name, {}) for name in (*BINARY, *INTEGER_ONLY))])
def test_results_lie_in_their_interval(name: str, attributes: dict[str, Any], ends: Any, dtype: Any):
    of_floats = (name, attributes) in FLOAT_ONLY + QUOTIENTS
    if (dtype == np.int32 and of_floats) or (dtype == np.float32 and name in INTEGER_ONLY and not of_floats):
        pytest.skip("not of these numbers")
    count = 2 if name in (*BINARY, *INTEGER_ONLY) else 1
    type_ = SIX if dtype == np.int32 else FLOATS

    def build(b: Builder, *values: Value) -> Any:
        return b.emit(f"top.{name}", *(clipped(b, x, *end) for x, end in zip(values, ends, strict=False)), **attributes)

    module = build_module([type_] * count, build)
    analysis = Intervals()
    found = [analysis.of(value) for value in module.body_of_main.terminator.operands]
    for _ in range(30):
        given = {f"x{i}": RANDOM.uniform(low, high + 1, 6).astype(dtype) for i, (low, high) in enumerate(ends[:count])}
        for array, (low, high) in zip(run(module, given).values(), found, strict=True):
            known = array[np.isfinite(array)].tolist()
            assert all(low <= number <= high for number in known), (array, low, high)
    if name in ("Add", "Neg", "Max", "Clip", "Reverse") and dtype == np.int32:
        assert found[0] != limits(type_), "something is known"


@pytest.mark.parametrize(("name", "attributes"), [
    ("Div", {}), ("FloorDiv", {}), ("FloorMod", {}), ("TruncMod", {}), ("Pow", {}), ("Round", {})])
def test_floats_behind_a_relu_are_no_integers(name: str, attributes: dict[str, Any]):
    """The end that it sets is 0, as that of integers: 6 by 0.01 was among those that are no more than 6."""
    def build(b: Builder, *values: Value) -> Any:
        return b.emit(f"top.{name}", *(b.emit("top.Relu", x, relu_limit=5.6) for x in values), **attributes)

    count = 1 if name == "Round" else 2
    low, high = interval_in(build, *[FLOATS] * count)
    given = {"x0": np.array([5.6, 5.6, 0.5, 0, 3, 1], np.float32), "x1": np.array([0.01, 5.59, 3, 2, 5.6, 5.5], np.float32)}
    (made,) = run(build_module([FLOATS] * count, build), dict(list(given.items())[:count])).values()
    assert all(low <= number <= high for number in made.tolist()), (made, low, high)


@pytest.mark.parametrize(("name", "limit", "ends"), [
    ("Floor", {"min": -0.5, "max": np.inf}, (-1.0, np.inf)), ("Round", {"min": -0.7, "max": np.inf}, (-1.0, np.inf)),
    ("Ceil", {"min": -np.inf, "max": 0.5}, (-np.inf, 1.0)), ("Ceil", {"min": -0.5, "max": 0.5}, (-1.0, 1.0))])
def test_each_end_is_rounded(name: str, limit: dict[str, float], ends: tuple[float, float]):
    """With an infinite end the other one was left as it was: what is from -0.5 up is rounded down to -1."""
    assert interval_in(lambda b, x: b.emit(f"top.{name}", b.emit("top.Clip", x, **limit)), FLOATS) == ends


def test_where_integers_may_wrap_round_the_type_is_all_that_is_known():
    assert interval_in(lambda b, x: b.emit("top.Mul", x, x), SIX) == limits(SIX)


def test_a_relu_at_the_end_of_whatever_op_is_counted():
    def conv(b: Builder, x: Value, w: Value) -> Value:
        return b.emit("top.Conv", x, w, kernel_shape=(1, 1), layout="NHWC", do_relu=True, relu_limit=6.0)  # type: ignore[no-any-return]

    image, filters = TensorType((1, 2, 2, 3), F32), TensorType((4, 1, 1, 3), F32)
    assert interval_in(conv, image, filters) == (0, 6.0)
    assert interval_in(lambda b, x: b.emit("top.Concat", clipped(b, x, -5, 9), axis=0, do_relu=True), FLOATS) == (0, 9.0)


def test_moved_numbers_need_no_rule():
    def moved(b: Builder, x: Value, i: Value) -> Value:
        few = b.emit("top.Gather", clipped(b, x, 3, 8), i, axis=0)
        return b.emit("top.Pack", b.emit("top.Roll", few, axes=(0,), shifts=(1,)), b.emit("top.Trilu", few), axis=0)  # type: ignore[no-any-return]

    assert interval_in(moved, TensorType((6, 6), I32), TensorType((6,), I32)) == (0, 8)


def test_long_chains_are_no_matter_and_may_be_cut_short():
    def chain(b: Builder, x: Value) -> Value:
        x = clipped(b, x, 0, 1)
        for _ in range(5000):
            x = b.emit("top.Reshape", x, shape=(6,))
        return x

    assert interval_in(chain, FLOATS) == (0, 1.0)
    assert interval_in(chain, FLOATS, intervals=Intervals(reach=100)) == EVERYTHING


def test_of_a_chain_that_is_cut_short_what_its_end_says_is_kept():
    def chain(b: Builder, x: Value) -> Value:
        for _ in range(200):
            x = b.emit("top.AddConst", x, const_val=1.0)
        return b.emit("top.Relu", x, relu_limit=6.0)  # type: ignore[no-any-return]

    assert interval_in(chain, FLOATS, intervals=Intervals(reach=100)) == (0, 6.0)


def test_what_is_known_well_enough_is_not_looked_into():
    def rectified(b: Builder, x: Value) -> Value:
        for _ in range(200):
            x = b.emit("top.AddConst", x, const_val=1.0)
        return b.emit("top.Relu", x)  # type: ignore[no-any-return]

    def many(b: Builder, x: Value) -> Value:
        """Each of them is farther than the analysis reaches, had it to go through all that one of them is made of."""
        return b.emit("top.Concat", *(rectified(b, x) for _ in range(9)), axis=0)  # type: ignore[no-any-return]

    analysis = Intervals(reach=100, enough=lambda interval: interval[0] >= 0)
    assert interval_in(many, FLOATS, intervals=analysis)[0] == 0
    assert len(analysis.known) == 10
    assert interval_in(many, FLOATS, intervals=Intervals(reach=100, enough=lambda interval: interval[0] >= 1))[0] == 0


# --- regions


def region(build: Any, *types: TensorType) -> Region:
    block = Block(list(types))
    ends = build(Builder(block), *block.arguments)
    Builder(block).create("top.Yield", ends)
    return Region([block])


def test_a_branch_gives_either():
    def either(b: Builder, x: Value, condition: Value) -> Value:
        regions = [region(lambda inner, low=low: [clipped(inner, x, low, low + 2)]) for low in (1, 7)]
        return b.create("top.If", [condition], [SIX], regions=regions).result

    assert interval_in(either, SIX, TensorType((), BOOL)) == (1, 9)


def loop(b: Builder, first: list[Value], test: Any, body: Any) -> Any:
    types: Any = [value.type for value in first]
    return b.create("top.While", first, types, regions=[region(test, *types), region(body, *types)])


def test_a_loop_gives_what_holds_after_any_round():
    def build(b: Builder, x: Value) -> Value:
        def test(inner: Builder, kept: Value, grown: Value) -> list[Value]:
            return [inner.emit("top.Reduce", inner.emit("top.Compare", kept, grown, mode="Less"), axes=(0,), mode="ReduceMax")]

        def body(inner: Builder, kept: Value, grown: Value) -> list[Value]:
            one = inner.constant(np.ones(6, np.int32))
            return [inner.emit("top.Min", inner.emit("top.Add", kept, one), inner.constant(np.full(6, 20, np.int32))),
                    inner.emit("top.Add", grown, one)]

        made = loop(b, [clipped(b, x, 3, 8), clipped(b, x, 3, 8)], test, body)
        assert isinstance(control_of(made), Loop)
        known.extend(made.results)
        return made.results[0]

    known: list[Value] = []
    analysis = Intervals()
    assert interval_in(build, SIX, intervals=analysis) == (3, 20)
    assert analysis.of(known[1]) == limits(SIX)  # it may grow until it wraps round
    (argument, _) = known[0].op.regions[1].block.arguments  # type: ignore[union-attr]
    assert analysis.of(argument) == (3, 20)


def test_what_is_in_a_loop_may_be_asked_for_first():
    made: list[Any] = []

    def build(b: Builder, x: Value) -> Value:
        made.append(loop(b, [clipped(b, x, 3, 8)], lambda inner, a: [inner.constant(np.array(False))],
                         lambda inner, a: [inner.emit("top.Neg", inner.emit("top.Abs", a))]))
        return made[0].results[0]

    build_module([SIX], build)
    negated = made[0].regions[1].block.terminator.operands[0]
    assert Intervals().of(negated) == (-8, 0)
    assert Intervals().of(made[0].results[0]) == (-8, 8)


def test_control_is_known_of_every_dialect():
    from transload.plugin_host import host

    control = host().facts("control")
    for dialect, branches, loops in (("top", "If", "While"), ("tosa", "cond_if", "while_loop"), ("stablehlo", "if", "while")):
        assert isinstance(control[f"{dialect}.{branches}"], Branches) and isinstance(control[f"{dialect}.{loops}"], Loop)


# --- StableHLO, by the same analysis


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "minimum", "and"])
def test_stablehlo_results_lie_in_their_interval(name: str):
    ends = ((-9, 4), (2, 7))

    def build(b: Builder, *values: Value) -> Value:
        def number(value: int) -> Value:
            return b.constant(np.array(value, np.int32), dialect="stablehlo")

        held = [b.emit("stablehlo.clamp", number(low), x, number(high)) for x, (low, high) in zip(values, ends, strict=True)]
        return b.emit(f"stablehlo.{name}", *held)  # type: ignore[no-any-return]

    module = build_module([SIX, SIX], build)
    low, high = Intervals().of(module.body_of_main.terminator.operands[0])
    assert (low, high) != limits(SIX)
    for _ in range(20):
        (array,) = run(module, {"x0": RANDOM.integers(-30, 30, 6), "x1": RANDOM.integers(-30, 30, 6)}).values()
        assert low <= array.min() and array.max() <= high


def test_a_stablehlo_sum_is_bounded_by_its_count():
    total = TensorType((), I32)

    def summed(b: Builder, x: Value) -> Value:
        wide = b.create("stablehlo.convert", [x], [SIX]).result
        zero = b.constant(np.array(0, np.int32), dialect="stablehlo")
        block = Block([total, total])
        inner = Builder(block)
        inner.create("stablehlo.return", [inner.emit("stablehlo.add", *block.arguments)])
        return b.create("stablehlo.reduce", [wide, zero], [total], {"dimensions": (0,)}, [Region([block])]).result

    assert interval_in(summed, TensorType((6,), I8)) == (-768, 762)


def test_a_type_with_many_scales_has_the_ends_of_all():
    scales = tuple(0.001 * (1 + i % 7) for i in range(4096))
    kind = QuantType(I8, F32, scales, tuple(i % 3 for i in range(4096)), axis=0)
    low, high = limits(TensorType((4096, 2), kind))
    assert low == pytest.approx(-130 * 0.007) and high == pytest.approx(127 * 0.007)
