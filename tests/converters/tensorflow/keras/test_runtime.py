"""Keras as the judge, where it is installed: `make test-keras` runs these."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import ReadError
from transload_converters.tensorflow.keras.runtime import available, open_model

from tests.support.keras_models import dense_layer, entry, functional, input_entry, keras_file

pytest.importorskip("h5py")

KERNEL, BIAS = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([1, -1], np.float32)
WEIGHTS = {"layers/dense/vars/0": KERNEL, "layers/dense/vars/1": BIAS}


@pytest.mark.skipif(available() is not None, reason="Keras is not installed")
def test_a_conversion_is_judged_by_keras(tmp_path: Path) -> None:
    model = functional([input_entry("x", [None, 3]), dense_layer("d", "x", 2), entry("Softmax", "out", "d")], ["x"], ["out"])
    file = keras_file(tmp_path / "m.keras", model, WEIGHTS)
    artifact = transload.convert(file, "tosa", tmp_path / "out")
    assert artifact.verification is not None
    assert (artifact.verification.status, artifact.verification.runtime) == ("passed", "keras")
    x = np.ones((1, 3), np.float32)
    values = open_model(file)({"x": x}, keep=True)
    assert list(values) == ["d", "out"] and np.allclose(values["d"], x @ KERNEL + BIAS)


def test_keras_is_not_shown_code(tmp_path: Path) -> None:
    """What our reader refuses does not reach Keras."""
    code = entry("Lambda", "out", "x", function={"class_name": "__lambda__"})
    model = functional([input_entry("x", [None, 3]), code], ["x"], ["out"])
    with pytest.raises(ReadError, match=r"layer 'out' \(Lambda\): it holds code, which is not run"):
        open_model(keras_file(tmp_path / "m.keras", model, {}))({"x": np.ones((1, 3), np.float32)})
