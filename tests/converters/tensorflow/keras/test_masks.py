"""Masks by the version of Keras that wrote a file; what Keras 3 does is recorded (`test_layers.py`), and this by its rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload

from tests.support.keras_models import entry, functional, h5_file, input_entry, keras_file, sequential

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


HEAD = {**{f"{name}_dense/vars/0": np.full((2, 1, 2), 0.3, np.float32) for name in ("query", "key", "value")},
        "output_dense/vars/0": np.ones((1, 2, 2), np.float32)}
"""The weights of one head."""


def heads(name: str, *used: str) -> dict[str, Any]:
    return entry("MultiHeadAttention", name, *used, num_heads=1, key_dim=2, use_bias=False)


def attending(tmp_path: Path, layers: list[dict[str, Any]], outputs: list[str], version: str) -> dict[str, np.ndarray]:
    """What layers give behind a masked tensor `m` of two steps that are there and two that are not."""
    weights = {f"layers/multi_head_attention{each}/{path}": array for each in ("", "_1") for path, array in HEAD.items()}
    model = functional([input_entry("x", [None, 4, 2]), entry("Masking", "m", "x"), *layers], ["x"], outputs)
    return transload.run(transload.load(keras_file(tmp_path / "m.keras", model, weights, version=version)), {"x": FIRST})


MEAN = {True: FIRST[:, :2].mean(1), False: FIRST.mean(1)}
"""The mean of the steps that are there, and of all."""


@pytest.mark.parametrize(("version", "outputs", "masked"), [
    ("3.7.0", ["mean", "a"], True),
    ("3.8.0", ["mean", "a"], False),  # of two that nothing follows Keras runs the last first
    ("3.8.0", ["a", "mean"], True),
    ("3.15.1", ["mean", "a"], False),
    ("nightly", ["mean", "a"], False)])
def test_attention_of_heads_ends_masks_for_what_runs_behind_it(
    tmp_path: Path, version: str, outputs: list[str], masked: bool,
) -> None:
    found = attending(tmp_path, [entry("GlobalAveragePooling1D", "mean", "m"), heads("a", "m", "m")], outputs, version)
    np.testing.assert_allclose(found["mean"], MEAN[masked], rtol=1e-6)


def test_what_more_follows_behind_runs_before_it_ends_masks(tmp_path: Path) -> None:
    layers = [entry("GlobalAveragePooling1D", "mean", "m"), heads("a", "m", "m"), entry("ReLU", "r", "mean")]
    found = attending(tmp_path, layers, ["r", "a"], "3.15.1")
    np.testing.assert_allclose(found["r"], MEAN[True], rtol=1e-6)


def test_a_second_attention_of_heads_sees_no_mask(tmp_path: Path) -> None:
    found = attending(tmp_path, [heads("a", "m", "m"), heads("b", "m", "m"), entry("Add", "sum", ["a", "b"])], ["a", "b", "sum"],
                      "3.15.1")
    assert np.abs(found["a"] - found["b"]).max() > 0.1


def test_masks_end_for_the_model_around(tmp_path: Path) -> None:
    inner = functional([input_entry("y", [None, 4, 2]), heads("a", "y", "y")], ["y"], ["a"], "inner")
    inner = {**inner, "name": "inner", "inbound_nodes": entry("ReLU", "inner", "m")["inbound_nodes"]}
    weights = {f"layers/functional/layers/multi_head_attention/{path}": array for path, array in HEAD.items()}
    layers = [input_entry("x", [None, 4, 2]), entry("Masking", "m", "x"), entry("GlobalAveragePooling1D", "mean", "m"), inner]
    for version, masked in (("3.7.0", True), ("3.8.0", False)):
        file = keras_file(tmp_path / f"{version}.keras", functional(layers, ["x"], ["mean", "inner"]), weights, version=version)
        found = transload.run(transload.load(file), {"x": FIRST})
        np.testing.assert_allclose(found["mean"], MEAN[masked], rtol=1e-6)


@pytest.mark.parametrize("kind", ["Functional", "Sequential"])
def test_a_model_is_given_a_mask_by_name(tmp_path: Path, kind: str) -> None:
    """As Keras writes it itself: what it called the model with when it was made."""
    inside = [input_entry("y", [None, 4, 2]), entry("GlobalAveragePooling1D", "mean", "y")]
    inner = functional(inside, ["y"], ["mean"], "inner") if kind == "Functional" else sequential(*inside, name="inner")
    mask = entry("ReLU", "inner", "mask")["inbound_nodes"][0]["args"][0]
    called = entry("ReLU", "inner", "x", named={"mask": mask})["inbound_nodes"]
    layers = [input_entry("x", [None, 4, 2]), input_entry("mask", [None, 4], "bool"),
              {**inner, "name": "inner", "inbound_nodes": called}]
    file = keras_file(tmp_path / "m.keras", functional(layers, ["x", "mask"], ["inner"]), {})
    found = transload.run(transload.load(file), {"x": FIRST, "mask": FIRST.any(-1)})
    np.testing.assert_allclose(found["inner"], MEAN[True], rtol=1e-6)


@pytest.mark.parametrize("suffix", ["h5", "keras"])
def test_a_step_is_masked_by_the_number_that_is_given(tmp_path: Path, suffix: str) -> None:
    """0.5 is not 0, though row 0 is what it takes."""
    layers = [entry("Embedding", "e", input_dim=3, output_dim=2, mask_zero=True), entry("GlobalAveragePooling1D", "mean")]
    table = np.array([[1, 10], [2, 20], [4, 40]], np.float32)
    if suffix == "h5":
        path = h5_file(tmp_path / "m.h5", sequential(*layers), {"e": {"embeddings": table}})
    else:
        path = keras_file(tmp_path / "m.keras", sequential(*layers), {"layers/embedding/vars/0": table})
    module = transload.load(path, inputs={"e_input": (1, 3)})
    (found,) = transload.run(module, {"e_input": np.array([[0.5, 1, 0]], np.float32)}).values()
    np.testing.assert_array_equal(found, [[1.5, 15]])
