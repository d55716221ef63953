"""Programs of random integer ops: what is converted computes what the hub computes, with the full width of its integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transload.api import lower, run
from transload.errors import ConversionError
from transload.ir import BOOL, F32, I8, I16, I32, I64, UI32, UI64, IntegerType, TensorType, dtype_of, new_module
from transload.ir.build import Builder
from transload.ir.module import set_results

PROGRAMS = 250
SIZE = 24
ENDS = [0, 1, -1, 2, 7, -(1 << 30), (1 << 30) - 1, 1 << 29, -12345, 65535]

BINARY = ("Add", "Sub", "Mul", "Div", "FloorDiv", "FloorMod", "TruncMod", "Max", "Min", "BitwiseAnd", "BitwiseOr", "BitwiseXor")


def constant(rng: np.random.Generator, rw: Any, element: IntegerType, low: int | None = None, high: int | None = None) -> Any:
    """One number, small or not, or one element each."""
    least, most = element.range
    bits = int(rng.choice([1, 3, 8, 16, 31, 33, element.width]))
    low = max(least, -(1 << bits)) if low is None else low
    high = min(most, (1 << bits) - 1 if high is None else high)
    size = (1,) if rng.random() < 0.6 else (SIZE,)
    numbers = [int(rng.integers(0, 1 << 62)) * 4 % (high - low + 1) + low for _ in range(size[0])]
    return rw.constant(np.array(numbers, dtype_of(element)), element)


def nonzero(rng: np.random.Generator, rw: Any, element: IntegerType) -> Any:
    return constant(rng, rw, element, 1, int(rng.choice([1, 5, 1000, 1 << 20])))


def emit(rng: np.random.Generator, rw: Any, values: list[Any]) -> Any:
    """One more value, of random ones."""
    x = values[rng.integers(len(values))]
    element = x.element
    kind = rng.integers(10)
    if kind <= 2:
        name = str(rng.choice(BINARY))
        if name in ("Div", "FloorDiv", "FloorMod", "TruncMod"):
            y = nonzero(rng, rw, element)
        else:
            alike = [value for value in values if value.element == element]
            y = alike[rng.integers(len(alike))] if rng.random() < 0.5 else constant(rng, rw, element)
        return rw.emit(f"top.{name}", x, y)
    if kind == 3:
        name = str(rng.choice(["ShiftLeft", "ShiftRight"]))
        return rw.emit(f"top.{name}", x, constant(rng, rw, element, 0, int(rng.choice([3, 31, element.width - 1]))))
    if kind == 4:
        name = str(rng.choice(["Neg", "BitwiseNot", "Square", "Sign", *(["Abs"] if element.width == 64 else [])]))
        return rw.emit(f"top.{name}", x)
    if kind == 5:
        target = [I8, I16, I32, I64, UI32, UI64][rng.integers(6)]
        return rw.emit("top.Cast", x, element=target)
    if kind == 6:
        y = constant(rng, rw, element)
        chosen = rw.emit("top.Compare", x, y, mode=str(rng.choice(["Less", "Equal", "GreaterOrEqual", "NotEqual", "Greater"])))
        return rw.emit("top.Where", chosen, x, constant(rng, rw, element))
    if kind == 7 and x.shape == (SIZE,):
        if rng.random() < 0.4:
            return rw.emit("top.CumSum", x, axis=0, exclusive=bool(rng.random() < 0.5), reverse=bool(rng.random() < 0.5))
        modes = ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"]
        if element.width == 64:
            modes += ["ReduceMean", "ReduceSumSquare", "ReduceL1"]
        made = rw.emit("top.Reduce", x, axes=(0,), keepdims=True, mode=str(rng.choice(modes)))
        return rw.emit("top.Pad", made, paddings=(0, SIZE - 1), mode=str(rng.choice(["constant", "edge"])), val=7.0)
    if kind == 8 and element in (I32, I64):
        factor = rw.constant(np.float32([rng.choice([0.5, 1e-3, 3.0, 1e6, -1e9])]))
        real = rw.emit("top.Mul", rw.emit("top.Cast", x, element=F32), factor)
        return rw.emit("top.Cast", real, element=I64, saturate=bool(rng.random() < 0.5))
    if element.width >= 32 and rng.random() < 0.4:
        twin = {I64: UI64, UI64: I64, I32: UI32, UI32: I32}[element]
        return rw.emit("top.Bitcast", x, element=twin)
    low = int(rng.integers(-(1 << 20), 1)) if not element.unsigned else 0
    high = min(1 << int(rng.integers(2, 31)), element.range[1])
    return rw.emit("top.Clip", x, min=float(max(low, element.range[0])), max=float(high))


def program(seed: int) -> tuple[Any, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    types = [TensorType((SIZE,), element) for element in (I64, I64, I32, UI32)]
    module = new_module()
    module.add_function("main", types, ["a", "b", "c", "d"])
    block = module.body_of_main
    rw = Builder(block, None, "y")
    values = list(block.arguments)
    for _ in range(int(rng.integers(2, 9))):
        values.append(emit(rng, rw, values))
    results = [values[-1]]
    if rng.random() < 0.3 and values[-1].element != BOOL:
        results = [rw.emit("top.Cast", values[-1], element=F32)]
    set_results(module.main, results, ["y"])
    given = {}
    for argument, name in zip(block.arguments, "abcd", strict=True):
        dtype = dtype_of(argument.element)
        some = rng.integers(-(1 << 30), 1 << 30, SIZE)
        ends = rng.choice(ENDS, SIZE)
        numbers = np.where(rng.random(SIZE) < 0.5, ends, some)
        given[name] = (numbers.astype(np.int64) * (4 if argument.element == UI32 else 1)).astype(dtype)
    return module, given


def judged(seed: int, int64: str = "proved") -> bool:
    """Whether the program converts; its result is the hub's then."""
    module, given = program(seed)
    wanted = next(iter(run(module, given).values()))
    try:
        lowered = lower(module, int64=int64)
    except ConversionError:
        return False
    mine = next(iter(run(lowered, given).values()))
    if wanted.dtype == np.uint32:
        mine = mine.view(np.uint32)
    np.testing.assert_array_equal(mine.astype(np.float64), wanted.astype(np.float64), err_msg=f"program {seed}")
    return True


@pytest.mark.one_in(4)
@pytest.mark.parametrize("part", range(4))
def test_what_converts_is_right(part: int) -> None:
    seeds = range(part * PROGRAMS, (part + 1) * PROGRAMS)
    converted = sum(judged(seed) for seed in seeds)
    assert converted > PROGRAMS / 5
