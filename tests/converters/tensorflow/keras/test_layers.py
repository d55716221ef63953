"""Every layer with its options, against what Keras computed for it (`tests/support/keras_layers/record.py`)."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import Module

from tests.support.keras_layers.models import archive, inputs_of, shown
from tests.support.keras_layers.recorded import RECORDED
from tests.support.keras_models import entry, functional, h5_file, input_entry, keras_file

pytest.importorskip("h5py")

TOLERANCE = 2e-5
"""Of the greatest number of an output, and 1: sums are rounded in another order."""

CASES: dict[str, list[dict[str, Any]]] = defaultdict(list)
for _case in json.loads(gzip.decompress(RECORDED.read_bytes())):
    CASES[_case["name"].rpartition("-")[0]].append(_case)


def loaded(case: dict[str, Any]) -> Module:
    names = [layer["config"]["name"] for layer in case["config"]["config"]["layers"] if layer["class_name"] == "InputLayer"]
    shapes = {name: tuple(shape) for name, shape in zip(names, case["inputs"], strict=True)}
    return transload.load(text=archive(case["config"], case["variables"]), format="keras", inputs=shapes)


def check(case: dict[str, Any]) -> None:
    given = inputs_of(case["name"], case["inputs"], case["integers"], case["way"].startswith("masked"), case.get("types", ()))
    module = loaded(case)
    for form in (module, transload.legalize(module)):
        made = list(transload.run(form, dict(zip(form.inputs, given, strict=True))).values())
        assert [list(array.shape) for array in made] == case["shapes"], case["name"]
        assert not case.get("made") or [str(array.dtype) for array in made] == case["made"], case["name"]
        for array, wanted in zip(made, case["outputs"], strict=True):
            expected, found = np.array(wanted, np.float64), shown(array)
            nowhere = np.isnan(expected)  # the mean of no steps
            assert np.array_equal(np.isnan(found), nowhere), case["name"]
            expected, found = expected[~nowhere], found[~nowhere]
            assert np.abs(found - expected).max() <= TOLERANCE * (1 + np.abs(expected).max()), case["name"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("layer", CASES)
def test_keras_agrees(layer: str) -> None:
    for case in CASES[layer]:
        check(case)


@pytest.mark.parametrize(("version", "element"), [("3.15.1", "i32"), ("2.15.0", "i64")])
def test_bins_have_the_type_of_that_version(tmp_path: Path, version: str, element: str) -> None:
    bins = entry("Discretization", "bins", "x", bin_boundaries=[0.0], output_mode="int")
    bins["inbound_nodes"] = [[["x", 0, 0, {}]]]
    model = functional([input_entry("x", [None, 2]), bins], ["x"], ["bins"])
    file = h5_file(tmp_path / "m.h5", model, {}, version)
    (type_,) = transload.load(file).outputs.values()
    assert str(type_) == f"tensor<1x2x{element}>"


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("policy", "given", "element"), [
    ("mixed_float16", "float16", "f16"), ("mixed_bfloat16", "bfloat16", "bf16"), ("mixed_float16", "float32", "f32"),
    ("float32", "float16", "f32")])
def test_a_reversed_embedding_multiplies_by_what_it_computes_with(
    tmp_path: Path, tied: bool, policy: str, given: str, element: str,
) -> None:
    """Its weights are float32, and what it is given keeps its type."""
    layer = entry("ReversibleEmbedding", "e", "x", named={"reverse": True}, input_dim=9, output_dim=4, tie_weights=tied,
                  dtype=policy)
    weights = {"layers/reversible_embedding/vars/0": np.ones((9, 4), np.float32)}
    if not tied:
        weights["layers/reversible_embedding/vars/1"] = np.ones((4, 9), np.float32)
    file = keras_file(tmp_path / "m.keras", functional([input_entry("x", [None, 4], given), layer], ["x"], ["e"]), weights)
    (type_,) = transload.load(file).outputs.values()
    assert str(type_) == f"tensor<1x9x{element}>"


@pytest.mark.parametrize(("own", "policy", "element"), [
    ("mixed_float16", "float32", "f32"), ("float32", "mixed_float16", "f16"), ("mixed_float16", "mixed_float16", "f16")])
def test_a_layer_as_an_activation_computes_with_its_own_type(tmp_path: Path, own: str, policy: str, element: str) -> None:
    leaky = {"class_name": "LeakyReLU", "config": {"name": "l", "dtype": policy, "negative_slope": 0.5}}
    plain = {"class_name": "Activation", "config": {"name": "p", "dtype": policy, "activation": "tanh"}}
    for activation, function in ((leaky, lambda x: np.where(x > 0, x, x / 2)), (plain, np.tanh)):
        layer = entry("Activation", "a", "x", dtype=own, activation=activation)
        layer["inbound_nodes"] = [[["x", 0, 0, {}]]]
        module = transload.load(h5_file(tmp_path / "m.h5", functional([input_entry("x", [None, 2]), layer], ["x"], ["a"]), {}))
        assert str(next(iter(module.outputs.values()))) == f"tensor<1x2x{element}>"
        x = np.array([[-1.0, 2.0]], np.float32)
        (made,) = transload.run(module, {"x": x}).values()
        np.testing.assert_allclose(made, function(x), rtol=2e-3)


@pytest.mark.parametrize(("kind", "before", "sizes"), [
    ("MultiHeadAttention", "", {"num_heads": 2, "key_dim": 3}),
    ("GroupQueryAttention", "_", {"num_query_heads": 2, "num_key_value_heads": 2, "head_dim": 3})])
def test_a_gate_comes_before_the_values_in_an_h5_file(tmp_path: Path, kind: str, before: str, sizes: dict[str, Any]) -> None:
    rng, x = np.random.default_rng(0), np.random.default_rng(1).normal(size=(1, 4, 5)).astype(np.float32)
    kernels = {name: rng.normal(size=(5, 2, 3)).astype(np.float32) for name in ("query", "key", "gate", "value")}
    kernels["output"] = rng.normal(size=(2, 3, 5)).astype(np.float32)
    layer = entry(kind, "a", "x", "x", use_bias=False, use_gate=True, **sizes)
    model = functional([input_entry("x", [1, 4, 5]), layer], ["x"], ["a"])
    owner = "layers/" + ("multi_head_attention" if not before else "grouped_query_attention")
    newer = keras_file(tmp_path / "m.keras", model, {
        f"{owner}/{before}{name}_dense/vars/0": kernel for name, kernel in kernels.items()})
    older = h5_file(tmp_path / "m.h5", model, {"a": {f"{name}/kernel": kernel for name, kernel in kernels.items()}}, "3.15.1")
    (expected,), (found,) = (transload.run(transload.load(file), {"x": x}).values() for file in (newer, older))
    np.testing.assert_array_equal(found, expected)


_WITHIN: dict[str, tuple[str, str, dict[str, Any], dict[str, list[int]]]] = {
    "time_distributed": ("TimeDistributed", "Dense", {"units": 3}, {"layer/vars/0": [5, 3], "layer/vars/1": [3]}),
    "spectral_normalization": (
        "SpectralNormalization", "Dense", {"units": 3}, {"layer/vars/0": [5, 3], "layer/vars/1": [3], "vars/0": [1, 3]}),
    "rnn": ("RNN", "SimpleRNNCell", {"units": 3}, {"cell/vars/0": [5, 3], "cell/vars/1": [3, 3], "cell/vars/2": [3]}),
}
"""Of each layer around another: its class, that of the one inside and its config, and the shapes of its weights."""


@pytest.mark.parametrize("path", _WITHIN)
@pytest.mark.parametrize(("outside", "inside", "element"), [
    ("float32", "mixed_float16", "f32"), ("mixed_float16", "float32", "f16"), ("float32", "float16", "f32")])
def test_what_lies_around_a_layer_gives_its_own_type(path: str, outside: str, inside: str, element: str) -> None:
    """It was that of the layer inside, or refused where a cell has another type than its `RNN`."""
    kind, part, config, shapes = _WITHIN[path]
    held = entry(part, "p", dtype=inside, **config)
    inner: dict[str, Any] = {"cell" if kind == "RNN" else "layer": held}
    layer = entry(kind, "a", "x", dtype=outside, **inner)
    stored = "float16" if inside == "float16" else "float32"
    variables = {f"layers/{path}/{name}": (shape, stored) for name, shape in shapes.items()}
    model = functional([input_entry("x", [1, 4, 5]), layer], ["x"], ["a"])
    (type_,) = transload.load(text=archive(model, variables), format="keras").outputs.values()
    assert str(type_).endswith(f"x{element}>")


@pytest.mark.parametrize(("outside", "inside"), [("float32", "float16"), ("float16", "float32")])
def test_both_ways_are_joined_in_the_type_outside_and_keep_their_states(outside: str, inside: str) -> None:
    """They were joined in the type inside, which rounds, and their states cast, which Keras 3.15 leaves."""
    held = entry("SimpleRNN", "p", dtype=inside, units=3, return_state=True, return_sequences=True, activation="linear")
    variables = {
        f"layers/bidirectional/{way}_layer/cell/vars/{place}": (shape, inside)
        for way in ("forward", "backward") for place, shape in enumerate(([5, 3], [3, 3], [3]))}
    x = np.random.default_rng(1).normal(size=(1, 4, 5)).astype(np.float32)

    def run(mode: str | None) -> list[np.ndarray]:
        layer = entry("Bidirectional", "a", "x", dtype=outside, layer=held, merge_mode=mode)
        model = functional([input_entry("x", [1, 4, 5]), layer], ["x"], ["a"])
        model["config"]["output_layers"] = [["a", 0, place] for place in range(3 if mode else 4)]
        return list(transload.run(transload.load(text=archive(model, variables), format="keras"), {"x": x}).values())

    forward, backward, *states = run(None)
    assert [array.dtype for array in (forward, backward, *states)] == [outside, outside, inside, inside]
    joined = {"sum": forward + backward, "mul": forward * backward, "ave": (forward + backward) / 2,
              "concat": np.concatenate([forward, backward], -1)}
    for mode, wanted in joined.items():
        made, *others = run(mode)
        np.testing.assert_array_equal(made, wanted, strict=True)
        for state, other in zip(states, others, strict=True):
            np.testing.assert_array_equal(other, state, strict=True)


@pytest.mark.parametrize(("mode", "wanted"), [
    ("int", [[2, 0, 1, 2]]), ("one_hot", [[[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]]])])
def test_what_is_no_number_falls_into_the_last_bin(tmp_path: Path, mode: str, wanted: list[Any]) -> None:
    bins = entry("Discretization", "bins", "x", bin_boundaries=[0.0, 2.5], output_mode=mode)
    model = functional([input_entry("x", [None, 4]), bins], ["x"], ["bins"])
    module = transload.load(keras_file(tmp_path / "m.keras", model, {}))
    (made,) = transload.run(module, {"x": np.array([[np.nan, -1, 0, 2.5]], np.float32)}).values()
    np.testing.assert_array_equal(made, wanted)
