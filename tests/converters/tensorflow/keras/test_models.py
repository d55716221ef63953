"""Real models of Keras: read, run, and lowered to TOSA, beside what Keras 3.15 computed for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload

from tests.support.tosa_reference import reference_model, run_module

pytest.importorskip("h5py")
pytestmark = pytest.mark.models

RESNET = [0.4064371, 0.0008328329, 0.001101826, 0.0447791, 0.2804694, 0.005628277, 0.2234806, 0.009812351, 0.01854898,
          0.008909364]
FER = [0.04250962, 2.140232e-06, 0.107619, 0.04896788, 0.0227865, 0.2595793, 0.5185357]
KDEF = [0.1064523, 0.07040079, 0.09674302, 0.2556039, 0.1180405, 0.125292, 0.2274674]
AD = [-34.62523, -19.77273, -33.74921, -18.7298, -33.41934, -17.75881, -33.64115, -18.7531, -34.69413, -19.74629]
# What Keras gives of `np.linspace(0, 1, size)` in the shape of the input; of many numbers, each 64th.
FILES = {
    "keras/derived_resnet8_cifar10_f32_keras3/model.keras": RESNET,
    "keras/mlperf_resnet8/pretrainedResnet.h5": RESNET,
    "keras/fer2013_mini_xception/fer2013_mini_XCEPTION.102-0.66.hdf5": FER,
    "keras/tiny_xception_kdef/tiny_XCEPTION_KDEF.hdf5": KDEF,
    "keras/mlperf_ad01/ad01.h5": AD,
}


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


@pytest.mark.parametrize("name", FILES)
def test_keras_agrees(models: Path, name: str) -> None:
    file = models / name
    if not file.exists():
        pytest.skip(f"no {name}")
    module = transload.load(file)
    ((given, type_),) = module.inputs.items()
    x = np.linspace(0, 1, type_.num_elements, dtype=np.float32).reshape(type_.static_shape)
    lowered = transload.lower(module, "tosa")
    (y,) = transload.run(lowered, {given: x}).values()
    shown = y.ravel() if y.size < 20 else y.ravel()[::64]
    assert cosine(shown, np.array(FILES[name])) > 0.999999
    assert np.abs(shown - FILES[name]).max() <= 1e-5 * (1 + np.abs(FILES[name]).max())
    reference_model()
    (judged,) = run_module(lowered, [x])
    assert cosine(judged, y) > 0.999999


@pytest.mark.slow
def test_accuracy(models: Path) -> None:
    """The network of MLPerf Tiny classifies 751 of 1000 images, as its TFLite file does."""
    image = pytest.importorskip("PIL.Image")
    files, model = sorted(models.glob("data/cifar10_test_jpg/*.jpg")), models / "keras/mlperf_resnet8/pretrainedResnet.h5"
    if len(files) != 1000 or not model.exists():
        pytest.skip("no images, or no model")
    classes = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
    x = np.stack([np.asarray(image.open(file), np.float32) for file in files])
    module = transload.legalize(transload.load(model, inputs={"input_1": (1000, 32, 32, 3)}))
    (y,) = transload.run(module, {"input_1": x}).values()
    assert sum(classes[place] in file.name for place, file in zip(y.argmax(1), files, strict=True)) == 751
