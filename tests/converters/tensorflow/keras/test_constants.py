"""Constants among the arguments of calls: what layers take as tensors may be numbers of the file; and arguments none looks at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ReadError

from tests.support.keras_models import entry, functional, h5_file, input_entry, keras_file, sequential

pytest.importorskip("h5py")

X = np.array([[[1, 2], [3, 4], [5, 6], [7, 9]]], np.float32)
LEFT = np.array([[True, True, False, True]])
"""A mask of the four steps."""
PASSED = entry("ReLU", "r", "m")["inbound_nodes"][0]["args"][0]
"""The tensor `m` as an argument."""


def constant(array: np.ndarray, kind: str = "__tensor__") -> dict[str, Any]:
    return {"class_name": kind, "config": {"value": array.tolist(), "dtype": str(array.dtype)}}


def given_as(form: str, array: np.ndarray) -> Any:
    """An argument as Keras writes a tensor, an array of numpy, a list, or the input `m`."""
    return {"list": array.tolist(), "input": PASSED}.get(form) or constant(array, form)


FORMS = ("__tensor__", "__numpy__", "list", "input")


def run(
    tmp_path: Path, layer: dict[str, Any], weights: dict[str, np.ndarray] | None = None, mask: np.ndarray = LEFT,
) -> np.ndarray:
    """What a layer gives of `X` and of the input `m`, a mask, where that is used."""
    used = [input_entry("x", [1, 4, 2]), input_entry("m", mask.shape, str(mask.dtype))]
    names = ["x", "m"] if PASSED in _leaves(layer["inbound_nodes"]) else ["x"]
    model = functional([*used[: len(names)], layer], names, [layer["name"]])
    module = transload.load(keras_file(tmp_path / "m.keras", model, weights or {}))
    (made,) = transload.run(module, dict(zip(names, (X, mask), strict=False))).values()
    return np.asarray(made)


def _leaves(item: Any) -> list[Any]:
    """All that lies in an argument."""
    if isinstance(item, dict | list):
        return [item, *(leaf for each in (item.values() if isinstance(item, dict) else item) for leaf in _leaves(each))]
    return [item]


def softmax(x: np.ndarray) -> np.ndarray:
    e: np.ndarray = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", ["named", "placed"])
def test_the_mask_of_a_mean(tmp_path: Path, form: str, place: str) -> None:
    mask = given_as(form, LEFT)
    layer = entry("GlobalAveragePooling1D", "g", "x", mask) if place == "placed" else entry(
        "GlobalAveragePooling1D", "g", "x", named={"mask": mask})
    np.testing.assert_allclose(run(tmp_path, layer), X[:, LEFT[0]].mean(1), rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_the_mask_of_a_softmax(tmp_path: Path, form: str) -> None:
    mask = np.repeat(LEFT[..., None], 2, -1)
    layer = entry("Softmax", "s", "x", named={"mask": given_as(form, mask)}, axis=-1)
    np.testing.assert_allclose(run(tmp_path, layer, mask=mask), np.where(mask, softmax(X), 0), rtol=1e-6)


RNN = {"layers/simple_rnn/cell/vars/0": np.eye(2, dtype=np.float32), "layers/simple_rnn/cell/vars/1": np.eye(2, dtype=np.float32)}
"""A cell that adds up."""
CELL: dict[str, Any] = {"units": 2, "activation": "linear", "use_bias": False}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
def test_the_mask_of_a_recurrent_layer(tmp_path: Path, form: str, dtype: str) -> None:
    mask = LEFT.astype(dtype)
    layer = entry("SimpleRNN", "r", "x", named={"mask": given_as(form, mask)}, **CELL)
    np.testing.assert_allclose(run(tmp_path, layer, RNN, mask), X[:, LEFT[0]].sum(1), rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("listed", [False, True])
def test_the_state_of_a_recurrent_layer(tmp_path: Path, form: str, listed: bool) -> None:
    state = np.array([[10, 20]], np.float32)
    named = {"initial_state": [given_as(form, state)] if listed else given_as(form, state)}
    np.testing.assert_allclose(run(tmp_path, entry("SimpleRNN", "r", "x", named=named, **CELL), RNN, state), X.sum(1) + state)


@pytest.mark.parametrize("name", ["SimpleRNN", "LSTM", "GRU"])
def test_a_state_that_is_no_tensor(tmp_path: Path, name: str) -> None:
    with pytest.raises(ReadError, match="given 'x0' as a state, which is no tensor"):
        run(tmp_path, entry(name, "r", "x", named={"initial_state": ["x0", "x1"]}, units=2, use_bias=False))


@pytest.mark.parametrize("form", FORMS)
def test_the_mask_of_attention(tmp_path: Path, form: str) -> None:
    layer = entry("Attention", "a", ["x", "x"], named={"mask": [None, given_as(form, LEFT)]})
    scores = np.where(LEFT[:, None], X @ X.transpose(0, 2, 1), -np.inf)
    np.testing.assert_allclose(run(tmp_path, layer), softmax(scores) @ X, rtol=1e-5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["attention_mask", "value_mask", "key_mask"])
def test_the_masks_of_heads(tmp_path: Path, form: str, name: str) -> None:
    mask = np.tril(np.ones((1, 4, 4), bool)) if name == "attention_mask" else LEFT
    layer = entry("MultiHeadAttention", "a", "x", "x", named={name: given_as(form, mask)}, num_heads=1, key_dim=2, use_bias=False)
    one = np.eye(2, dtype=np.float32)
    weights = {f"layers/multi_head_attention/{part}_dense/vars/0": one.reshape((1, 2, 2) if part == "output" else (2, 1, 2))
               for part in ("query", "key", "value", "output")}
    left = mask if name == "attention_mask" else mask[:, None]
    scores = np.where(left, X @ X.transpose(0, 2, 1) / np.sqrt(np.float32(2)), -np.inf)
    np.testing.assert_allclose(run(tmp_path, layer, weights, mask), softmax(scores) @ X, rtol=1e-5)


MERGED = {"Add": X + X * 2, "Subtract": X - X * 2, "Multiply": X * X * 2, "Average": X * 1.5, "Maximum": X * 2, "Minimum": X,
          "Concatenate": np.concatenate([X, X * 2], -1)}


@pytest.mark.parametrize("name", MERGED)
@pytest.mark.parametrize("form", ["__tensor__", "__numpy__", "input"])
def test_merged_with_a_constant(tmp_path: Path, name: str, form: str) -> None:
    np.testing.assert_array_equal(run(tmp_path, entry(name, "y", ["x", given_as(form, X * 2)]), mask=X * 2), MERGED[name])


def test_a_model_inside_is_given_a_constant(tmp_path: Path) -> None:
    inside = sequential(input_entry("y", [None, 4, 2]), entry("GlobalAveragePooling1D", "mean"), name="inner")
    named = {"mask": constant(LEFT)}
    layer = {**inside, "name": "inner", "inbound_nodes": entry("ReLU", "inner", "x", named=named)["inbound_nodes"]}
    np.testing.assert_allclose(run(tmp_path, layer), X[:, LEFT[0]].mean(1), rtol=1e-6)


def older(tmp_path: Path, layer: dict[str, Any], arguments: dict[str, Any], weights: Any = None) -> Any:
    """What a layer gives of `X` in a file of Keras 2, which has constants as lists of numbers."""
    layers = [{**input_entry("x", [1, 4, 2]), "inbound_nodes": []}, {**layer, "inbound_nodes": [[["x", 0, 0, arguments]]]}]
    path = h5_file(tmp_path / "m.h5", functional(layers, ["x"], [layer["name"]]), weights or {})
    (made,) = transload.run(transload.load(path), {"x": X}).values()
    return made


def test_lists_of_keras_2(tmp_path: Path) -> None:
    mean = older(tmp_path, entry("GlobalAveragePooling1D", "g"), {"mask": LEFT.tolist()})
    np.testing.assert_allclose(mean, X[:, LEFT[0]].mean(1), rtol=1e-6)
    mask = np.ones((1, 4), bool)
    masks = {"mask": [mask.tolist(), LEFT.tolist()]}  # two masks, or one of three dimensions: nothing tells them apart
    scores = np.where(LEFT[:, None], X @ X.transpose(0, 2, 1), -np.inf)
    layer = entry("Attention", "a")
    layers = [input_entry("x", [1, 4, 2]), {**layer, "inbound_nodes": [[["x", 0, 0, masks], ["x", 0, 0, masks]]]}]
    path = h5_file(tmp_path / "a.h5", functional(layers, ["x"], ["a"]), {})
    (made,) = transload.run(transload.load(path), {"x": X}).values()
    np.testing.assert_allclose(made, softmax(scores) @ X, rtol=1e-5)


@pytest.mark.parametrize("value", [True, [1, 2], "x", {"a": 1}, PASSED, constant(LEFT)])
def test_an_argument_that_no_part_of_a_layer_asks_for_is_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(ReadError, match=r"its argument wanted.* is not known here"):
        run(tmp_path, entry("UnitNormalization", "u", "x", named={"wanted": value}))
    quiet = entry("UnitNormalization", "u", "x", named={"wanted": None, "training": False, "other": False})
    assert run(tmp_path, quiet).shape == X.shape


TRAINED = [
    entry("Dropout", "d", rate=0.5), entry("GaussianNoise", "d", stddev=0.5), entry("RandomFlip", "d"),
    entry("BatchNormalization", "d", scale=False, center=False), entry("SimpleRNN", "d", dropout=0.5, **CELL),
    entry("TimeDistributed", "d", layer=entry("Dropout", "e", rate=0.5)),
    entry("RNN", "d", cell=entry("SimpleRNNCell", "e", recurrent_dropout=0.5, **CELL))]
"""Layers that compute something else in training."""
WEIGHTS: dict[str, Any] = {
    "BatchNormalization": {"d": {f"moving_{name}": np.ones(2, np.float32) for name in ("mean", "variance")}},
    **{each: {"d": {key: np.eye(2, dtype="f4") for key in ("kernel", "recurrent_kernel")}} for each in ("SimpleRNN", "RNN")}}


@pytest.mark.parametrize("layer", TRAINED, ids=lambda layer: str(layer["class_name"]))
def test_a_layer_that_keras_2_calls_as_in_training_is_refused_where_that_matters(tmp_path: Path, layer: dict[str, Any]) -> None:
    with pytest.raises(ReadError, match="called with `training=True`"):
        older(tmp_path, layer, {"training": True}, WEIGHTS.get(layer["class_name"]))


@pytest.mark.parametrize("layer", [
    entry("Dropout", "d", rate=0), entry("Softmax", "d", axis=-1), entry("GaussianNoise", "d", stddev=0.0)])
def test_a_layer_that_training_does_not_change_is_read(tmp_path: Path, layer: dict[str, Any]) -> None:
    assert older(tmp_path, layer, {"training": True}).shape == X.shape


def test_keras_3_calls_none_as_in_training(tmp_path: Path) -> None:
    """Augmentation has `training: true` in all files, and what is run, or saved for it, overrides that."""
    for layer in (entry("Dropout", "d", "x", named={"training": True}, rate=0.5),
                  entry("RandomInvert", "d", "x", named={"training": True})):
        np.testing.assert_array_equal(run(tmp_path, layer), X)
