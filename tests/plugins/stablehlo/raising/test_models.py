"""The shared models: on the hub and as TOSA, against their stated outputs, and by TOSA's reference model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload

from tests.plugins.stablehlo.raising import raising
from tests.support.tosa_reference import run_file

WITH_OUTPUTS = ("derived_ad01_autoencoder_f32", "derived_mini_xception_fer2013_f32", "derived_resnet8_cifar10_f32")
OTHERS = {
    "derived_iree_mnist_pure": "model.mlir", "iree_mnist_trained": "mnist.mlir",
    "iree_unidirectional_lstm": "unidirectional_lstm.mlir"}


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    x, y = a.astype(np.float64).reshape(-1), b.astype(np.float64).reshape(-1)
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))


@pytest.mark.parametrize("name", WITH_OUTPUTS)
def test_model(models: Path, name: str, tmp_path: Path) -> None:
    folder = models / "stablehlo" / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    module = transload.load(next(iter(sorted(folder.glob("model.mlir*")))))
    with np.load(folder / "io.npz") as held:
        x, y = held["x"], held["y"]
    top = transload.legalize(module)
    assert _cosine(raising.run(top, [x])[0], y) >= 0.99999
    tosa = transload.lower(top, "tosa")
    assert _cosine(raising.run(tosa, [x])[0], y) >= 0.99999
    written = transload.save(tosa, tmp_path / "model.tosa")
    assert _cosine(np.asarray(run_file(written.read_bytes(), [x])[0]), y) >= 0.99999


@pytest.mark.parametrize("name", OTHERS)
def test_other_models_compute_what_stablehlo_computes(models: Path, name: str) -> None:
    path = models / "stablehlo" / name / OTHERS[name]
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    try:
        module = transload.load(path)
    except transload.TransloadError as error:
        pytest.skip(f"not read yet: {error.message}")
    top = transload.legalize(module)
    rng = np.random.default_rng(0)
    arguments = module.main.regions[0].block.arguments
    arrays = [rng.uniform(-1, 1, value.shape).astype(transload.ir.dtype_of(value.element)) for value in arguments]
    for mine, theirs in zip(raising.run(top, arrays), raising.run(module, arrays), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
