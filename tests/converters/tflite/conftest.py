"""Fixtures for models of one operator: written, read, legalized and run, and compared with LiteRT's reference kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transload.api import legalize, run
from transload.ir import Module

from tests.support.litert import run_litert
from tests.support.tflite_models import read_bytes, write_operator


def random_like(type_: Any, seed: int = 0, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    """Random numbers of a tensor type: the whole range of quantized ones, small ones otherwise."""
    from transload.ir import BOOL, IntegerType, QuantType, dtype_of

    generator = np.random.default_rng(seed)
    element = type_.element
    dtype = dtype_of(element)
    if isinstance(element, QuantType):
        return generator.integers(element.storage_min, element.storage_max, type_.shape, dtype=np.int64, endpoint=True).astype(
            dtype
        )
    if element == BOOL:
        return generator.integers(0, 2, type_.shape).astype(dtype)
    if isinstance(element, IntegerType):
        return generator.integers(max(int(low), element.range[0]), int(high) + 1, type_.shape).astype(dtype)
    return generator.uniform(low, high, type_.shape).astype(dtype)


@pytest.fixture
def judge(tmp_path: Path) -> Callable[..., Module]:
    """Returns `judge(content, inputs=None, steps=0, tolerance=1e-5)`: our result against LiteRT's.

    Integers may differ by `steps`, floats by `tolerance` relative to the greatest value. Returns the hub module.
    """

    def compare(
        content: bytes,
        inputs: Mapping[str, np.ndarray] | None = None,
        *,
        steps: int = 0,
        tolerance: float = 1e-5,
        low: float = -2.0,
        high: float = 2.0,
        reference: bool = True,
    ) -> Module:
        shapes = None
        if inputs is not None:
            from transload.ir import NONE, TensorType

            shapes = {name: TensorType(array.shape, NONE) for name, array in inputs.items()}
        source = read_bytes(content, shapes)
        arguments = source.main.regions[0].block.arguments
        given = (
            dict(inputs)
            if inputs is not None
            else {value.name: random_like(value.type, seed, low, high) for seed, value in enumerate(arguments)}
        )
        hub = legalize(source)
        ours = list(run(hub, given).values())
        theirs = run_litert(content, given, reference)
        assert len(ours) == len(theirs)
        for mine, reference in zip(ours, theirs, strict=True):
            assert mine.shape == reference.shape
            assert mine.dtype == reference.dtype
            if reference.dtype.kind in "iub":
                worst = np.abs(mine.astype(np.int64) - reference.astype(np.int64)).max(initial=0)
                assert worst <= steps, f"differs by {worst} steps"
            else:
                scale = max(np.abs(reference[np.isfinite(reference)]).max(initial=0), 1e-6)
                np.testing.assert_allclose(mine, reference, rtol=0, atol=tolerance * scale)
        return hub

    return compare


@pytest.fixture
def write() -> Callable[..., bytes]:
    """`write_operator`, for tests that are loaded without a package."""
    return write_operator


@pytest.fixture
def load() -> Callable[..., Module]:
    """`read_bytes`."""
    return read_bytes


@pytest.fixture
def litert() -> Callable[..., list[np.ndarray]]:
    """`run_litert`."""
    return run_litert
