"""Entries of configs that only Keras 1 and 2 write, and by which layers compute something else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ReadError

from tests.support.keras_models import entry, functional, h5_file, input_entry, sequential

pytest.importorskip("h5py")

RNG = np.random.default_rng(0)
STEPS = RNG.normal(size=(3, 4, 5)).astype(np.float32)
STEPS[1:, 1] = STEPS[2, 3] = 0  # masked
GATES = {"SimpleRNN": 1, "GRU": 3, "LSTM": 4}


def result(file: Path, layers: list[dict[str, Any]], x: np.ndarray, weights: Mapping[str, Mapping[str, np.ndarray]],
           version: str = "2.4.0") -> np.ndarray:
    """What layers, each on the one before, make of numbers."""
    before, named = input_entry("x", x.shape), layers[-1]["name"]
    chain = [before]
    for layer in layers:
        times = 2 if "Attention" in layer["class_name"] else 1
        chain.append({**layer, "inbound_nodes": [[[before["name"], 0, 0, layer.get("said", {}) if not time else {}]
                                                  for time in range(times)]]})
        before = layer
    h5_file(file, functional(chain, ["x"], [named]), weights, version)
    (made,) = transload.run(transload.load(file), {"x": x}).values()
    return made


def recurrent(kind: str, around: str, **options: Any) -> tuple[list[dict[str, Any]], dict[str, dict[str, np.ndarray]]]:
    """A recurrent layer that is masked, and its weights."""
    rng, size = np.random.default_rng(1), 2 * GATES[kind]
    ways = 2 if around == "Bidirectional" else 1
    weights = {f"{place}/{name}": rng.normal(size=shape).astype(np.float32) for place in range(ways) for name, shape in (
        ("kernel", (5, size)), ("recurrent_kernel", (2, size)), ("bias", (size,)))}
    config: dict[str, Any] = {
        "units": 2, "activation": "tanh", "recurrent_activation": "sigmoid", "use_bias": True, "reset_after": False}
    if around == "RNN":
        layer = entry("RNN", "r", cell={"class_name": f"{kind}Cell", "config": {"name": "cell", **config}}, **options)
    elif around == "Bidirectional":
        inner = {"class_name": kind, "config": {"name": "inner", **config, **options}}
        layer = entry("Bidirectional", "r", layer=inner, merge_mode="concat")
    else:
        layer = entry(kind, "r", **config, **options)
    return [entry("Masking", "m", mask_value=0.0), layer], {"r": weights}


@pytest.mark.parametrize("sequences", [True, False])
@pytest.mark.parametrize("around", ["", "RNN", "Bidirectional"])
@pytest.mark.parametrize("kind", GATES)
def test_steps_may_come_before_the_batch(tmp_path: Path, kind: str, around: str, sequences: bool) -> None:
    layers, weights = recurrent(kind, around, return_sequences=sequences)
    plain = result(tmp_path / "plain.h5", layers, STEPS.transpose(1, 0, 2), weights)
    layers, weights = recurrent(kind, around, return_sequences=sequences, time_major=True)
    found = result(tmp_path / "major.h5", layers, STEPS, weights)
    np.testing.assert_allclose(found, plain.transpose(1, 0, 2) if sequences else plain, atol=1e-6)


def test_steps_of_convolutions_come_behind_the_batch_whatever_is_said(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    weights = {"c": {name: rng.normal(size=shape).astype(np.float32) for name, shape in (
        ("kernel", (1, 2, 8)), ("recurrent_kernel", (1, 2, 8)), ("bias", (8,)))}}
    x = rng.normal(size=(3, 4, 5, 2)).astype(np.float32)
    plain, major = ([entry("ConvLSTM1D", "c", filters=2, kernel_size=[1], strides=[1], dilation_rate=[1], time_major=said)]
                    for said in (False, True))
    expected = result(tmp_path / "plain.h5", plain, x, weights)
    np.testing.assert_array_equal(result(tmp_path / "major.h5", major, x, weights), expected)


@pytest.mark.parametrize("kind", ["Attention", "AdditiveAttention"])
def test_attention_looks_back_where_its_layer_says_so(tmp_path: Path, kind: str) -> None:
    def attention(**options: Any) -> dict[str, Any]:
        return entry(kind, "a", use_scale=False, **options)

    both = result(tmp_path / "both.h5", [attention(causal=False)], STEPS, {})
    called = result(tmp_path / "called.h5", [{**attention(), "said": {"use_causal_mask": True}}], STEPS, {})
    found = result(tmp_path / "causal.h5", [attention(causal=True)], STEPS, {})
    np.testing.assert_array_equal(found, called)
    np.testing.assert_allclose(found[:, 0], STEPS[:, 0], rtol=1e-6)
    assert np.abs(found - both).max() > 0.1


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_a_normalization_by_what_it_is_given_is_refused(tmp_path: Path, mode: int) -> None:
    weights = {"b": {name: np.full(5, 2, np.float32) for name in ("gamma", "beta", "running_mean", "running_std")}}
    layers = [entry("BatchNormalization", "b", mode=mode, epsilon=0.0)]
    if mode:
        with pytest.raises(ReadError, match=f"'b' \\(BatchNormalization\\): its mode {mode} "):
            result(tmp_path / "m.h5", layers, STEPS, weights, "1.2.2")
    else:
        found = result(tmp_path / "m.h5", layers, STEPS, weights, "1.2.2")
        np.testing.assert_allclose(found, (STEPS - 2) / np.sqrt(2) * 2 + 2, rtol=1e-5, atol=1e-6)


IMAGE = RNG.normal(size=(1, 3, 5, 2)).astype(np.float32)


@pytest.mark.parametrize(("kind", "first", "then", "x"), [
    ("MaxPooling2D", {"border_mode": "same"}, {"padding": "same"}, IMAGE),
    ("AveragePooling1D", {"border_mode": "same", "pool_length": 3, "stride": 2},
     {"padding": "same", "pool_size": 3, "strides": 2}, STEPS),
    ("MaxPooling2D", {"dim_ordering": "th"}, {"data_format": "channels_first"}, IMAGE),
    ("GlobalAveragePooling2D", {"dim_ordering": "th"}, {"data_format": "channels_first"}, IMAGE),
    ("ZeroPadding2D", {"dim_ordering": "th"}, {"data_format": "channels_first"}, IMAGE),
    ("Cropping2D", {"dim_ordering": "tf", "cropping": [[1, 0], [0, 1]]},
     {"data_format": "channels_last", "cropping": [[1, 0], [0, 1]]}, IMAGE),
    ("UpSampling2D", {"dim_ordering": "th", "size": [2, 3]}, {"data_format": "channels_first", "size": [2, 3]}, IMAGE),
    ("UpSampling1D", {"length": 3}, {"size": 3}, STEPS)])
def test_options_by_the_names_of_keras_1(
    tmp_path: Path, kind: str, first: dict[str, Any], then: dict[str, Any], x: np.ndarray,
) -> None:
    found = result(tmp_path / "1.h5", [entry(kind, "l", **first)], x, {}, "1.2.2")
    np.testing.assert_array_equal(found, result(tmp_path / "2.h5", [entry(kind, "l", **then)], x, {}))


@pytest.mark.parametrize(("kind", "first", "then", "x"), [
    ("ZeroPadding2D", [1, 0, 2, 3], [[1, 0], [2, 3]], IMAGE),
    ("ZeroPadding2D", [1, 2], [[1, 1], [2, 2]], IMAGE),
    ("ZeroPadding2D", {"top_pad": 1, "bottom_pad": 2, "left_pad": 3, "right_pad": 4}, [[1, 2], [3, 4]], IMAGE),
    ("ZeroPadding2D", {"bottom_pad": 2, "left_pad": 3}, [[0, 2], [3, 0]], IMAGE),
    ("ZeroPadding2D", {}, [[0, 0], [0, 0]], IMAGE),
    ("ZeroPadding1D", [1, 2], [1, 2], STEPS),
    ("ZeroPadding1D", {"left_pad": 1, "right_pad": 2}, [1, 2], STEPS),
    ("ZeroPadding1D", {"right_pad": 2}, [0, 2], STEPS)])
def test_paddings_as_keras_1_writes_them(tmp_path: Path, kind: str, first: Any, then: Any, x: np.ndarray) -> None:
    """Numbers of all four sides, and sides by name, were refused."""
    found = result(tmp_path / "1.h5", [entry(kind, "l", padding=first)], x, {}, "1.2.2")
    np.testing.assert_array_equal(found, result(tmp_path / "2.h5", [entry(kind, "l", padding=then)], x, {}))


@pytest.mark.parametrize(("kind", "name", "given", "version", "x"), [
    ("ZeroPadding2D", "padding", [1, 0, 2, 3], "2.2.4", IMAGE), ("ZeroPadding2D", "padding", {"top_pad": 1}, "2.2.4", IMAGE),
    ("ZeroPadding2D", "padding", {"top": 1}, "1.2.2", IMAGE), ("ZeroPadding2D", "padding", [1, 2, 3], "1.2.2", IMAGE),
    ("ZeroPadding1D", "padding", {"top_pad": 1}, "1.2.2", STEPS), ("Cropping2D", "cropping", [1, 0, 1, 0], "1.2.2", IMAGE),
    ("Cropping1D", "cropping", {"left_pad": 1}, "1.2.2", STEPS)])
def test_paddings_that_no_such_keras_writes(
    tmp_path: Path, kind: str, name: str, given: Any, version: str, x: np.ndarray,
) -> None:
    with pytest.raises(ReadError, match=f"its {name} .* is none for [12] dimensions?"):
        result(tmp_path / "m.h5", [entry(kind, "l", **{name: given})], x, {}, version)


def network() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A functional model of one layer as Keras 2 writes it, with its one output in a list, and the layer's weights."""
    layer = entry("Dense", "d", units=3, use_bias=True)
    layer["inbound_nodes"] = [[["inner", 0, 0, {}]]]
    rng = np.random.default_rng(2)
    weights = {name: rng.normal(size=shape).astype(np.float32) for name, shape in (("kernel", (5, 3)), ("bias", (3,)))}
    return functional([input_entry("inner", [None, 5]), layer], ["inner"], ["d"], name="network"), weights


@pytest.mark.parametrize("sequential_inside", [False, True])
def test_a_functional_model_for_each_step(tmp_path: Path, sequential_inside: bool) -> None:
    inner, weights = network()
    each = sequential(inner, entry("Activation", "a", activation="linear"), name="s") if sequential_inside else inner
    found = result(tmp_path / "m.h5", [entry("TimeDistributed", "t", layer=each)], STEPS, {"t": weights})
    np.testing.assert_allclose(found, STEPS @ weights["kernel"] + weights["bias"], rtol=1e-5, atol=1e-5)


def test_a_functional_model_before_a_layer(tmp_path: Path) -> None:
    inner, weights = network()
    model = sequential(inner, entry("Activation", "a", activation="linear"))
    file = h5_file(tmp_path / "m.h5", model, {"network": weights})
    (found,) = transload.run(transload.load(file, inputs={"inner": (3, 5)}), {"inner": STEPS[:, 0]}).values()
    np.testing.assert_allclose(found, STEPS[:, 0] @ weights["kernel"] + weights["bias"], rtol=1e-5, atol=1e-5)


def of_integers(file: Path, layer: dict[str, Any], x: np.ndarray, version: str, weights: Any = ()) -> np.ndarray:
    """What a layer of that version makes of integers."""
    if version[0] != "3":
        layer["inbound_nodes"] = [[["x", 0, 0, {}]]]
    model = functional([input_entry("x", x.shape, str(x.dtype)), layer], ["x"], [layer["name"]])
    (made,) = transload.run(transload.load(h5_file(file, model, dict(weights), version)), {"x": x}).values()
    return made


PICTURES = RNG.integers(0, 256, (1, 4, 4, 3)).astype(np.uint8)


@pytest.mark.parametrize("crop", [False, True])
@pytest.mark.parametrize("how", ["bilinear", "area"])
def test_integers_are_resized_to_floats_before_keras_3(tmp_path: Path, how: str, crop: bool) -> None:
    """Each place of the half is the mean of four, and where only a part of a picture is taken, of two rows of it."""
    size: dict[str, Any] = {"height": 1, "width": 2} if crop else {"height": 2, "width": 2}
    layer = entry("Resizing", "r", interpolation=how, crop_to_aspect_ratio=crop, **size)
    found = of_integers(tmp_path / "m.h5", layer, PICTURES, "2.15.0")
    taken = PICTURES[:, 1:3] if crop else PICTURES
    expected = taken.astype(np.float32).reshape(1, -1, 2, 2, 2, 3).mean((2, 4))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.dtype == np.float32 and np.any(found % 1)


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
@pytest.mark.parametrize(("kind", "shape"), [("GlobalAveragePooling1D", (1, 2, 1)), ("GlobalAveragePooling2D", (1, 1, 2, 1))])
def test_the_mean_of_integers_is_one_before_keras_3(tmp_path: Path, kind: str, shape: tuple[int, ...], dtype: str) -> None:
    x = np.array([2, 5], dtype).reshape(shape)
    newer, older = (of_integers(tmp_path / "m.h5", entry(kind, "p", "x"), x, version) for version in ("3.15.1", "2.15.0"))
    assert newer.tolist() == [[3.5]] and newer.dtype == np.float32
    assert older.tolist() == [[3]] and older.dtype == dtype


@pytest.mark.parametrize(("dtype", "version"), [("int8", "3.15.1"), ("int32", "3.15.1"), ("int32", "2.15.0")])
def test_a_mean_of_the_integers_that_a_mask_leaves_is_a_float(tmp_path: Path, dtype: str, version: str) -> None:
    """It was cut to an integer, which none is; of narrow ones Keras 3 adds wider ones."""
    x = np.array([[[100, 1], [100, 2], [0, 0], [101, 2]]], dtype)
    layers = [input_entry("x", x.shape, dtype), entry("Masking", "m", "x"), entry("GlobalAveragePooling1D", "p", "m")]
    if version[0] == "2":
        layers[1]["inbound_nodes"], layers[2]["inbound_nodes"] = [[["x", 0, 0, {}]]], [[["m", 0, 0, {}]]]
    module = transload.load(h5_file(tmp_path / "m.h5", functional(layers, ["x"], ["p"]), {}, version))
    (found,) = transload.run(module, {"x": x}).values()
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [[301 / 3, 5 / 3]], rtol=1e-6)


@pytest.mark.parametrize(("version", "cut"), [("2.15.0", False), ("3.10.0", False), ("3.11.0", True)])
def test_what_is_normalized_of_integers_is_cut_since_keras_3_11(tmp_path: Path, version: str, cut: bool) -> None:
    x = np.array([[1, 2, 4, 9]], np.int32)
    layer = entry("LayerNormalization", "n", "x", axis=-1, epsilon=0.0, center=False, scale=False)
    found = of_integers(tmp_path / "m.h5", layer, x, version)
    expected = ((x - x.mean()) / x.std()).astype(np.float32)
    np.testing.assert_allclose(found, np.trunc(expected) if cut else expected, rtol=1e-5)
    assert found.dtype == np.float32


def test_rows_by_integers_of_8_bits(tmp_path: Path) -> None:
    table, x = RNG.normal(size=(256, 3)).astype(np.float32), np.array([[0, 7, 255]], np.uint8)
    layer = entry("Embedding", "e", "x", input_dim=256, output_dim=3)
    found = of_integers(tmp_path / "m.h5", layer, x, "2.15.0", {"e": {"embeddings": table}})
    np.testing.assert_array_equal(found, table[x])


def test_integers_beside_floats_are_joined_as_floats(tmp_path: Path) -> None:
    first, second = np.array([[1, 2]], np.int32), np.array([[0.5]], np.float32)
    layers = [input_entry("x", [1, 2], "int32"), input_entry("y", [1, 1]), entry("Concatenate", "c", ["x", "y"], axis=-1)]
    module = transload.load(h5_file(tmp_path / "m.h5", functional(layers, ["x", "y"], ["c"]), {}, "3.15.1"))
    (found,) = transload.run(module, {"x": first, "y": second}).values()
    assert found.tolist() == [[1.0, 2.0, 0.5]] and found.dtype == np.float32


@pytest.mark.parametrize(("kind", "version", "dtype"), [
    ("RandomFlip", "2.6.0", "uint8"), ("RandomFlip", "2.15.0", "float32"), ("RandomFlip", "3.15.1", "float32"),
    ("RandomContrast", "2.15.0", "float32"), ("RandomContrast", "3.5.0", "float32"), ("RandomContrast", "3.6.0", "uint8"),
    ("CutMix", "3.15.1", "float32"), ("MixUp", "3.15.1", "uint8")])
def test_which_augmentation_makes_integers_floats(tmp_path: Path, kind: str, version: str, dtype: str) -> None:
    found = of_integers(tmp_path / "m.h5", entry(kind, "r", "x"), PICTURES, version)
    np.testing.assert_array_equal(found, PICTURES)
    assert found.dtype == dtype


def test_what_renormalization_keeps_is_for_training(tmp_path: Path) -> None:
    names = ("gamma", "beta", "moving_mean", "moving_variance", "moving_stddev", "renorm_mean", "renorm_stddev")
    weights = {"b": {name: np.full(5, 2 + place, np.float32) for place, name in enumerate(names)}}
    found = result(tmp_path / "m.h5", [entry("BatchNormalization", "b", renorm=True, epsilon=0.0)], STEPS, weights, "2.15.0")
    np.testing.assert_allclose(found, (STEPS - 4) / np.sqrt(5) * 2 + 3, rtol=1e-4, atol=1e-5)


def test_a_weight_of_dimensions_out_of_order_is_not_turned(tmp_path: Path) -> None:
    gamma = RNG.normal(size=(5, 4)).astype(np.float32)
    layer = entry("LayerNormalization", "n", axis=[2, 1], epsilon=0.0, center=False)
    found = result(tmp_path / "m.h5", [layer], STEPS[:1], {"n": {"gamma": gamma}}, "2.15.0")
    expected = (STEPS[:1] - STEPS[:1].mean()) / STEPS[:1].std() * gamma.reshape(4, 5)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
