"""onnxruntime's DynamicQuantizeLSTM, which rounds to 8 bits at each step."""

import numpy as np
import pytest
from onnx import helper

import transload

from tests.drawn._onnx_graph import run_level
from tests.support.onnx_models import make_model


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("state", [False, True])
def test_as_onnxruntime(tmp_path, dtype, direction, state):
    rng, count, size = np.random.default_rng(5), 2 if direction == "bidirectional" else 1, 6
    channels = (count, 4 * size) if state else (count,)
    zero = 0 if dtype == "int8" or state else 120
    low = -128 if dtype == "int8" else 0
    constants = {
        "w": rng.integers(low, low + 256, (count, 4, 4 * size)).astype(dtype),
        "r": rng.integers(low, low + 256, (count, size, 4 * size)).astype(dtype),
        "b": rng.normal(0, 0.3, (count, 8 * size)).astype(np.float32),
        "s": rng.uniform(0.004, 0.012, channels).astype(np.float32), "z": np.full(channels, zero, dtype)}
    given = {"x": rng.normal(0, 1, (9, 2, 4)).astype(np.float32)}
    if state:
        given |= {name: rng.normal(0, 0.5, (count, 2, size)).astype(np.float32) for name in ("h", "c")}
    node = helper.make_node(
        "DynamicQuantizeLSTM", ["x", "w", "r", "b", "", *(("h", "c") if state else ("", "")), "", "s", "z", "s", "z"],
        ["y", "last", "cell"], domain="com.microsoft", hidden_size=size, direction=direction)
    content = make_model([node], given, ["y", "last", "cell"], constants, 17).SerializeToString()
    (tmp_path / "lstm.onnx").write_bytes(content)
    module = transload.legalize(transload.load(tmp_path / "lstm.onnx"))
    found = transload.run(module, given, engine="reference").values()
    for mine, theirs in zip(found, run_level(content, given, "ORT_ENABLE_ALL"), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-6)
