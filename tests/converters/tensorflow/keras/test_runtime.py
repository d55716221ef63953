"""Keras as the judge, where it is installed: `make test-keras` runs these."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import ReadError
from transload.plugin import Source
from transload_converters.tensorflow.keras.reader import outline
from transload_converters.tensorflow.keras.runtime import available, open_model

from tests.support.keras_models import dense_layer, entry, functional, h5_file, input_entry, keras_file

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


@pytest.mark.parametrize("named", [
    {"module": "keras.layers", "class_name": "Lambda", "config": {"function": "f"}},
    {"module": "keras.layers", "class_name": "StringLookup", "config": {"vocabulary": "/etc/passwd"}},
    {"module": "builtins", "class_name": "function", "config": "get_file"},
    {"module": "keras.utils", "class_name": "get_file", "config": {}},
    {"module": "os", "class_name": "Dense", "config": {}},
    {"module": "os", "class_name": "function", "config": "relu"},
    {"class_name": "__lambda__", "config": {"value": []}}, {"class_name": None}])
@pytest.mark.parametrize("deep", [False, True])
def test_keras_is_not_shown_code_where_we_do_not_look(tmp_path: Path, named: dict[str, object], deep: bool) -> None:
    layer = dense_layer("out", "x", 2)
    layer["config"]["kernel_initializer"] = {"class_name": "Constant", "config": {"value": named}} if deep else named
    file = keras_file(tmp_path / "m.keras", functional([input_entry("x", [None, 3]), layer], ["x"], ["out"]), WEIGHTS)
    transload.load(file)
    with pytest.raises(ReadError, match="which may do more than compute"):
        open_model(file)({"x": np.ones((1, 3), np.float32)})


@pytest.mark.parametrize("function", ["mean_squared_error", "binary_accuracy"])
def test_keras_is_shown_a_model_in_which_one_was_compiled_with_a_function(tmp_path: Path, function: str) -> None:
    inner = functional([input_entry("a", [None, 3]), dense_layer("b", "a", 2)], ["a"], ["b"])
    named = {"module": "builtins", "class_name": "function", "config": function, "registered_name": "function"}
    held = {**entry("Functional", "inner", "x", module="keras"), "config": inner["config"], "compile_config": {"loss": named}}
    file = keras_file(tmp_path / "m.keras", functional([input_entry("x", [None, 3]), held], ["x"], ["inner"]), WEIGHTS)
    assert outline(Source(file)) == (["x"], ["inner"])


def test_keras_is_shown_what_layers_begin_with(tmp_path: Path) -> None:
    layer = dense_layer("out", "x", 2)
    layer["config"] |= {
        "kernel_initializer": {"module": "keras.initializers", "class_name": "GlorotUniform", "config": {"seed": None}},
        "kernel_regularizer": {"class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.1}},
        "activation": {"module": "builtins", "class_name": "function", "config": "relu", "registered_name": "function"},
        "dtype": {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}}}
    model = functional([input_entry("x", [None, 3]), layer], ["x"], ["out"])
    model["compile_config"] = {"loss": {"module": "my.code", "class_name": "Loss", "config": {}}}
    assert outline(Source(keras_file(tmp_path / "m.keras", model, WEIGHTS))) == (["x"], ["out"])


@pytest.mark.parametrize(("name", "first", "shown"), [
    ("m.keras", "h5", False), ("m.h5", "h5", True), ("m.keras", "", True), ("m.h5", "", False)])
def test_keras_is_shown_the_model_that_we_looked_at(tmp_path: Path, name: str, first: str, shown: bool) -> None:
    """Keras goes by a file's name, and we by how it begins: one that is HDF5 with an archive behind it is two models."""
    made = functional([input_entry("x", [None, 3]), dense_layer("out", "x", 2)], ["x"], ["out"])
    file = keras_file(tmp_path / "archive.keras", made, WEIGHTS)
    before = h5_file(tmp_path / "first.h5", made, {}).read_bytes() if first else b""
    both = tmp_path / "both" / name
    both.parent.mkdir()
    both.write_bytes(before + file.read_bytes())
    link = tmp_path / "link.keras"
    link.symlink_to(both)
    for path in (both, link):
        if shown:
            assert outline(Source(path)) == (["x"], ["out"])
        else:
            with pytest.raises(ReadError, match="and Keras takes it for"):
                outline(Source(path))
