"""A language model in the manner of GPT-2: its weights alone in 4 bits, run by others, and what that takes of memory."""

from __future__ import annotations

import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from gpt import Size, begun, forward, onnx_model

import transload
from transload.api import at_hub
from transload.quantization import quantize_at_hub

from tests.support.litert import run_litert

SIZE = Size(layers=2, width=64, heads=2, context=8)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gpt") / "gpt.onnx"
    path.write_bytes(onnx_model(SIZE, begun(SIZE)).SerializeToString())
    return path


def ids(seed: int) -> dict[str, np.ndarray]:
    return {"ids": np.random.default_rng(seed).integers(0, SIZE.vocabulary, (1, SIZE.context))}


def test_the_file_is_the_network_that_was_trained(path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    jax = pytest.importorskip("jax")
    given = ids(0)
    (found,) = onnxruntime.InferenceSession(path).run(["logits"], given)
    np.testing.assert_allclose(found[0], jax.jit(partial(forward, SIZE))(begun(SIZE), given["ids"][0]), atol=2e-5)


@pytest.mark.parametrize("rounded", [False, True])
def test_other_runtimes_compute_what_the_hub_says(path: Path, rounded: bool, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    samples = [ids(seed) for seed in range(4)] if rounded else None
    made = quantize_at_hub(at_hub(transload.load(path)), "w4a16", samples, {"q_group_size": 32})
    wide = {op.result.quant.storage.width for op in made.module.ops() if op.name == "top.Weight" and op.result.quant is not None}
    assert wide == {4} and made.report["weights"]["rounded on samples"] == rounded
    given = ids(9)
    wanted = transload.run(made.module, given)["logits"]
    assert np.abs(wanted - transload.run(path, given)["logits"]).max() > 1e-3, "nothing was rounded"
    transload.save(transload.lower(made.module, "onnx"), tmp_path / "made.onnx")
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    (found,) = onnxruntime.InferenceSession(tmp_path / "made.onnx", options).run(["logits"], given)
    np.testing.assert_allclose(found, wanted, atol=2e-5)
    transload.save(transload.lower(made.module, "tfl"), tmp_path / "made.tflite")
    np.testing.assert_allclose(run_litert((tmp_path / "made.tflite").read_bytes(), given)[0], wanted, atol=2e-5)


def test_large_weights_are_quantized_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is made on the way does not grow with the weights; and the parts are what the whole would be."""
    from transload.ir import F32
    from transload_plugins.quantize import weight_only

    weights = np.random.default_rng(0).standard_normal((256, 2048)).astype(np.float32)
    scheme = weight_only.WEIGHT_SCHEMES["w4a16"]
    monkeypatch.setattr(weight_only, "PART", weights.size)
    whole = weight_only.weights_held(weights, (128, 1), scheme, F32)
    monkeypatch.setattr(weight_only, "PART", 1 << 13)
    tracemalloc.start()
    parts = weight_only.weights_held(weights, (128, 1), scheme, F32)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert parts[0] == whole[0] and np.array_equal(parts[1], whole[1])
    assert most < weights.nbytes, f"{most} bytes for weights of {weights.nbytes}"
