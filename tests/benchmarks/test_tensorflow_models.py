"""Real models of TensorFlow beside what it computed for them; the benchmark runs all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tensorflow_models import CASES, NEAR, RECORDED, measure

from tests.support.tosa_reference import reference_model

pytestmark = pytest.mark.models


@pytest.mark.parametrize("name", [
    "arm_simple_mnist", "faced_face_corrector", "mtcnn_pnet", "mtcnn_rnet", "mlperf_kws", "half_plus_two_cpu",
    "tf2onnx_regression"])
def test_a_model_is_right_wherever_it_runs(models: Path, name: str) -> None:
    if not (models / CASES[name].file).exists():
        pytest.skip("no such model")
    reference_model()
    row = measure(name, models, dict(np.load(RECORDED)))
    assert "why" not in row and all(row[place][0] >= NEAR for place in ("engine", "tosa", "xla")), row


def test_a_loop_over_sizes_of_an_image_runs_and_says_what_is_in_the_way(models: Path) -> None:
    if not (models / CASES["mtcnn_while_loop"].file).exists():
        pytest.skip("no such model")
    pytest.importorskip("PIL.Image")
    row = measure("mtcnn_while_loop", models, dict(np.load(RECORDED)))
    assert row["engine"][0] >= NEAR and "tf.ResizeBilinear" in row["why"]
