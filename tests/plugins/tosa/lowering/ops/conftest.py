"""Functions of `top` ops, lowered to TOSA: our kernels of both, and Arm's reference model, must compute the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pytest

from transload.api import lower, run
from transload.ir import BF16, Module, TensorType, Type, Value, dtype_of, element_type_of
from transload.ir.build import Builder
from transload.testing import build_module

from tests.support.litert import run_litert
from tests.support.tflite_models import write_operator
from tests.support.tosa_reference import run_module

HALVES = (np.dtype(np.float16), dtype_of(BF16))


def assert_same(mine: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    """Floats within a relative tolerance, with half of it of the greatest where sums cancel; all else equal."""
    assert mine.shape == wanted.shape
    if wanted.dtype in HALVES:
        mine, wanted = mine.astype(np.float32), wanted.astype(np.float32)
    if wanted.dtype.kind != "f":
        np.testing.assert_array_equal(mine, wanted)
        return
    finite = np.abs(wanted[np.isfinite(wanted)])
    np.testing.assert_allclose(mine, wanted, rtol=tolerance, atol=0.5 * tolerance * finite.max(initial=0))


def check(module: Module, arrays: Sequence[np.ndarray], tolerance: float = 1e-5, official: bool = True) -> Module:
    """The lowered module, which computes what `module` does."""
    given = {f"x{i}": array for i, array in enumerate(arrays)}
    wanted = list(run(module, given).values())
    lowered = lower(module)
    mine = list(run(lowered, given).values())
    judged = [mine]
    borders = (*lowered.body_of_main.arguments, *lowered.body_of_main.terminator.operands)
    if official and all(value.rank <= 6 for value in borders):
        judged.append(run_module(lowered, arrays))
    for results in judged:
        for result, expected in zip(results, wanted, strict=True):
            assert_same(result, expected, tolerance)
    return lowered


@pytest.fixture
def same() -> Callable[..., Module]:
    """`same(make, *arrays, types=None, tolerance=1e-5)`: what `make(builder, *arguments)` builds is lowered rightly."""

    def compare(make: Callable[..., Any], *arrays: np.ndarray, types: Sequence[Type] | None = None, **how: Any) -> Module:
        types = types or [TensorType(array.shape, element_type_of(array.dtype)) for array in arrays]
        return check(build_module(types, make), arrays, **how)

    return compare


@pytest.fixture
def same_op() -> Callable[..., Module]:
    """`same_op(name, *arrays, constants=(), element=None, **attributes)`: one op; operands in `constants` are constant.

    `element` is that of the operands where the arrays do not say it (a quantized one: of all but index operands),
    `result` that of the result.
    """

    def compare(
        name: str, *arrays: np.ndarray, constants: Collection[int] = (), element: Any = None, result: Any = None,
        tolerance: float = 1e-5, official: bool = True, **attributes: Any,
    ) -> Module:
        elements = [
            element if element is not None and dtype_of(element) == array.dtype else element_type_of(array.dtype)
            for array in arrays]
        given = [i for i in range(len(arrays)) if i not in constants]

        def make(builder: Builder, *arguments: Value) -> Any:
            values = iter(arguments)
            operands = [
                builder.constant(array, elements[i]) if i in constants else next(values) for i, array in enumerate(arrays)]
            return builder.emit(f"top.{name}", *operands, element=result, **attributes)

        module = build_module([TensorType(arrays[i].shape, elements[i]) for i in given], make)
        return check(module, [arrays[i] for i in given], tolerance, official)

    return compare


@pytest.fixture
def judge_op() -> Callable[..., None]:
    """`judge_op(operator, inputs, output, options, make, ...)`: what LiteRT's kernel gives, the lowered op of `make` gives.

    `inputs` are (array, (scale, zero point) or None, whether it is constant); `types` those of the function's arguments.
    """

    def compare(
        operator: str, inputs: Sequence[tuple[Any, ...]], output: tuple[Any, ...], options: dict[str, Any],
        make: Callable[..., Any], types: Sequence[Type], steps: int = 0, reference: bool = True, version: int = 1,
    ) -> None:
        def quantization(pair: tuple[float, int] | None) -> Any:
            return None if pair is None else ([pair[0]], [pair[1]])

        tensors = [(a.shape, str(a.dtype), a if constant else None, quantization(pair)) for a, pair, constant in inputs]
        shape, dtype, pair = output
        content = write_operator(operator, tensors, [(shape, dtype, None, quantization(pair))], options, version=version)
        arrays = [array for array, _, constant in inputs if not constant]
        (theirs,) = run_litert(content, arrays, reference)
        lowered = lower(build_module(types, make))
        (mine,) = run(lowered, {f"x{i}": array for i, array in enumerate(arrays)}).values()
        assert mine.dtype == theirs.dtype
        difference = np.abs(mine.astype(np.int64) - theirs.astype(np.int64))
        assert difference.max(initial=0) <= steps
        official = run_module(lowered, arrays)[0]
        np.testing.assert_array_equal(official, mine)

    return compare


@pytest.fixture
def normal() -> Callable[..., np.ndarray]:
    """`normal(*shape)`: the same normal float32 numbers in every run, other ones for each call."""
    generator = np.random.default_rng(0)
    return lambda *shape: generator.normal(size=shape).astype(np.float32)


@pytest.fixture
def sample() -> Callable[..., np.ndarray]:
    """`sample(dtype, *shape)`: numbers of a dtype; small ones of integers, both of bool."""
    generator = np.random.default_rng(1)

    def make(dtype: Any, *shape: int) -> np.ndarray:
        numbers = generator.normal(size=shape) * 20
        return numbers > 0 if np.dtype(dtype) == bool else numbers.astype(dtype)

    return make
