"""Masks by the version of Keras that wrote a file; what Keras 3 does is recorded (`test_layers.py`), and this by its rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload

from tests.support.keras_models import entry, functional, h5_file, input_entry, keras_file

pytest.importorskip("h5py")

FIRST = np.array([[[1, 2], [3, 4], [0, 0], [0, 0]]], np.float32)
SECOND = np.array([[[5, 6], [0, 0], [7, 8], [0, 0]]], np.float32)


def merged(class_name: str, path: Path) -> dict[str, np.ndarray]:
    """The mean of the steps that are left of two masked tensors that a layer merges, and what it gives."""
    layers = [input_entry("x", [None, 4, 2]), input_entry("y", [None, 4, 2]), entry("Masking", "mx", "x"),
              entry("Masking", "my", "y"), entry(class_name, "m", ["mx", "my"]), entry("GlobalAveragePooling1D", "mean", "m")]
    model = functional(layers, ["x", "y"], ["m", "mean"])
    if path.suffix == ".h5":
        for layer in layers:
            layer["inbound_nodes"] = [[[name, 0, 0, {}] for name in _used(layer)]] if layer["inbound_nodes"] else []
        h5_file(path, model, {})
    else:
        keras_file(path, model, {})
    return transload.run(transload.load(path), {"x": FIRST, "y": SECOND})


def _used(layer: dict[str, Any]) -> list[str]:
    (given,) = layer["inbound_nodes"][0]["args"]
    return [each["config"]["keras_history"][0] for each in (given if isinstance(given, list) else [given])]


@pytest.mark.parametrize(("name", "function", "neutral"), [
    ("Multiply", np.multiply, 1), ("Maximum", np.maximum, -np.inf), ("Minimum", np.minimum, np.inf), ("Add", np.add, None),
    ("Subtract", np.subtract, None)])
def test_masks_are_merged_as_that_version_does(tmp_path: Path, name: str, function: np.ufunc, neutral: float | None) -> None:
    plain = function(FIRST, SECOND)
    older = merged(name, tmp_path / "m.h5")
    np.testing.assert_array_equal(older["m"], plain)
    np.testing.assert_array_equal(older["mean"], plain[:, 0])  # the one step that both leave
    newer = merged(name, tmp_path / "m.keras")
    expected = plain
    if neutral is not None:
        first, second = (np.where(each.any(-1, keepdims=True), each, np.float32(neutral)) for each in (FIRST, SECOND))
        expected = np.where((FIRST + SECOND).any(-1, keepdims=True), function(first, second), 0)
    np.testing.assert_array_equal(newer["m"], expected)
    np.testing.assert_allclose(newer["mean"], expected[:, :3].mean(1), rtol=1e-6)  # the three that either leaves
