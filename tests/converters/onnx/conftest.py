"""Fixtures: models of a few operators are read, legalized and run, and compared with onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the package 'onnx' is not installed")

import transload
from transload.ir import Module
from transload_converters.onnx.runtime import open_model

from tests.support.onnx_models import make_model

Compare = Callable[..., Module]


@pytest.fixture
def compare(tmp_path: Path) -> Compare:
    """`compare(nodes, inputs, outputs, constants, opset=, rtol=, atol=)` checks a model of these nodes against onnxruntime.

    It returns the module in dialect `top`, for a look at what the nodes became.
    """
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

    def run(
        nodes: Any, inputs: Mapping[str, np.ndarray], outputs: Sequence[str] = ("y",), constants: Mapping[str, Any] | None = None,
        *, rtol: float = 1e-4, atol: float = 1e-5, steps: int = 0, **more: Any,
    ) -> Module:
        model = make_model(nodes if isinstance(nodes, list | tuple) else [nodes], inputs, outputs, constants, **more)
        file = tmp_path / "model.onnx"
        file.write_bytes(model.SerializeToString())
        wanted = open_model(file)(inputs)
        hub = transload.legalize(transload.load(file))
        got = transload.run(hub, inputs)
        assert list(got) == list(outputs)
        for name in outputs:
            a, b = wanted[name], got[name]
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            if a.dtype.kind == "f":
                np.testing.assert_allclose(b.astype(np.float64), a.astype(np.float64), rtol, atol, err_msg=name)
            else:
                assert np.abs(a.astype(np.int64) - b.astype(np.int64)).max(initial=0) <= steps, name
        return hub

    return run


@pytest.fixture
def normal() -> Callable[..., np.ndarray]:
    """`normal(*shape)`: the same random numbers every time."""
    generator = np.random.default_rng(7)
    return lambda *shape: generator.standard_normal(shape).astype(np.float32)
