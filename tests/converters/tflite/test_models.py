"""Real models in the hub, run by our engine, against LiteRT's reference kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transload.api import legalize, load, run
from transload.ir import Module
from transload.ir.verify import check
from transload.verification.inputs import random_inputs
from transload_converters.tflite.runtime import open_model

pytestmark = pytest.mark.models


def find(models: Path, name: str) -> Path:
    [path] = (models / "tflite" / name).glob("*.tflite")
    return path


def test_every_model_is_legalized(models: Path) -> None:
    """All of them, with nothing left of the dialect they came from."""
    for path in sorted(models.glob("tflite/*/*.tflite")):
        hub = legalize(load(path))
        assert not check(hub), path.parent.name
        assert {op.dialect for op in hub.ops()} <= {"top", "func"}, path.parent.name


FLOAT = [
    "mlperf_resnet8_float",
    "mlperf_vww_float",
    "mlperf_ad_float",
    "tflm_hello_world_float",
    "tflm_mnist_lstm_float",
    "support_movie_review_embedding",
    "support_mobilenet_v1_0.25_224_float",
    "kwt1_keyword_transformer",
    "dtln_1_float",
    "mediapipe_face_detection_short_range",
    "ultraface_slim_320_float",
    "mediapipe_knift_float",
]
HYBRID = ["mlperf_kws_float", "mlperf_ad_dynamic_range", "dtln_1_dynamic_range"]
QUANTIZED = {
    "mlperf_kws_int8": 1, "mlperf_ad_int8": 1, "mlperf_resnet8_int8": 2, "mlperf_vww_int8": 2, "tflm_hello_world_int8": 1,
    "tflm_micro_speech_int8": 2, "tflm_mnist_lstm_int8": 1,
}  # fmt: skip


def outputs(path: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """What LiteRT gives and what we give, for random inputs."""
    source = load(path)
    hub = legalize(source)
    inputs = random_inputs(source, hub)
    return list(zip(open_model(path)(inputs).values(), run(hub, inputs).values(), strict=True))


@pytest.mark.parametrize("name", [*FLOAT, *HYBRID])
def test_float_and_hybrid_models(name: str, models: Path) -> None:
    for reference, actual in outputs(find(models, name)):
        x, y = reference.ravel().astype(np.float64), actual.ravel().astype(np.float64)
        assert x @ y / (np.linalg.norm(x) * np.linalg.norm(y)) > 0.9999999


@pytest.mark.parametrize(("name", "steps"), QUANTIZED.items())
def test_quantized_models(name: str, steps: int, models: Path) -> None:
    """In the hub quantized ops go through real numbers; the lowering to TOSA is exact."""
    for reference, actual in outputs(find(models, name)):
        assert np.abs(reference.astype(np.int64) - actual.astype(np.int64)).max() <= steps


def test_batch_of_three(models: Path, judge: Callable[..., Module]) -> None:
    """A dynamic batch takes the size that is asked for, and everything behind it follows."""
    content = find(models, "mlperf_resnet8_float").read_bytes()
    generator = np.random.default_rng(0)
    inputs: dict[str, Any] = {"input_1": generator.uniform(0, 255, (3, 32, 32, 3)).astype(np.float32)}
    hub = judge(content, inputs)
    assert [str(type_) for type_ in hub.main.attributes["function_type"].results] == ["tensor<3x10xf32>"]
