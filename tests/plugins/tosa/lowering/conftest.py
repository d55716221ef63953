"""Models of one operator, lowered to TOSA and compared with LiteRT's reference kernels and with TOSA's reference model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from transload.api import legalize, lower, run
from transload.ir import Module, TensorType, element_type_of, input_names
from transload.testing import build_module

from tests.support.hub_runs import hub_agrees
from tests.support.litert import run_litert
from tests.support.tflite_models import read_bytes, write_operator
from tests.support.tosa_reference import run_module

Tensor = tuple[Any, ...]
"""Shape, dtype, and where given quantization (scales, zero points, axis) and data: a tensor without data is an input."""


def _written(tensor: Tensor | None) -> Tensor | None:
    """A tensor in the order of the writer's arguments: shape, dtype, data, quantization."""
    if tensor is None:
        return None
    shape, dtype, quantization, data = (*tensor, None, None)[:4]
    return shape, dtype, data, quantization


def random_array(shape: Sequence[int], dtype: str, seed: int = 0) -> np.ndarray:
    """Numbers of the whole range of an integer type, normal ones of a float type."""
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return generator.normal(size=tuple(shape)).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, tuple(shape), dtype, endpoint=True)


def differences(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Absolute differences."""
    assert ours.shape == theirs.shape
    return np.abs(ours.astype(np.float64) - theirs.astype(np.float64))


@pytest.fixture
def judge() -> Callable[..., Module]:
    """`judge(operator, inputs, outputs, options, version=, arrays=, steps=0, tolerance=1e-5)`: TOSA's result is LiteRT's.

    Integers may differ by `steps`, floats by `tolerance`. Our kernels and Arm's reference model must agree
    (integers bit by bit), and the hub's quantized ops give TOSA's integers. Returns the TOSA module.
    """

    def compare(
        operator: str, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], options: Mapping[str, Any] | None = None, *,
        version: int = 1, arrays: Sequence[np.ndarray] | None = None, steps: int = 0, tolerance: float = 1e-5,
        official: bool = True,
    ) -> Module:
        content = write_operator(operator, list(map(_written, inputs)), list(map(_written, outputs)), options, version=version)
        open_inputs = [tensor for tensor in inputs if tensor is not None and len(tensor) < 4]
        given = list(arrays) if arrays is not None else [
            random_array(tensor[0], tensor[1], seed) for seed, tensor in enumerate(open_inputs)]
        hub = legalize(read_bytes(content))
        module = lower(hub)
        ours = list(run(module, dict(zip(input_names(module.main), given, strict=True))).values())
        for mine, theirs in zip(ours, run_litert(content, given), strict=True):
            worst = differences(mine, theirs).max(initial=0)
            limit = steps if theirs.dtype.kind in "iub" else tolerance * max(1.0, np.abs(theirs).max(initial=0))
            assert worst <= limit, f"differs by {worst}"
        hub_agrees(hub, given, ours)
        if official:
            agree(module, given, ours)
        return module

    return compare


def agree(module: Module, given: Sequence[np.ndarray], ours: Sequence[np.ndarray]) -> None:
    """Arm's reference model gives what our kernels give."""
    for mine, arms in zip(ours, run_module(module, given), strict=True):
        if mine.dtype.kind in "iub":
            np.testing.assert_array_equal(mine, arms)
        else:
            tolerance = 1e-2 if mine.dtype.itemsize == 2 else 1e-4
            np.testing.assert_allclose(mine.astype(np.float32), arms.astype(np.float32), rtol=tolerance, atol=tolerance)


@pytest.fixture
def lowered() -> Callable[..., Module]:
    """`lowered(make, *arrays, types=None)`: `make(rw, *arguments)` in `top` and lowered compute the same; the TOSA module.

    `types` are those of the arguments where the arrays do not say them (quantized ones).
    """

    def compare(
        make: Callable[..., Any], *arrays: np.ndarray, types: Sequence[Any] | None = None, steps: int = 0,
        tolerance: float = 2e-5, official: bool = True, int64: str = "proved",
    ) -> Module:
        types = types or [TensorType(array.shape, element_type_of(array.dtype)) for array in arrays]
        module = build_module(types, make)
        given = dict(zip(input_names(module.main), arrays, strict=True))
        expected = list(run(module, given).values())
        module = lower(module, int64=int64)
        ours = list(run(module, given).values())
        for mine, wanted in zip(ours, expected, strict=True):
            limit = steps if wanted.dtype.kind in "iub" else tolerance * max(1.0, float(np.abs(wanted).max(initial=0)))
            assert differences(mine, wanted).max(initial=0) <= limit
        if official:
            agree(module, arrays, ours)
        return module

    return compare
