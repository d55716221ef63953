"""Keras files: what is read of them, and how they refuse."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload import Facts, hookimpl, host
from transload.budget import allowed
from transload.contents import op_counts
from transload.context import Context
from transload.errors import ReadError
from transload.ir import ArrayData, Dense, Module
from transload.plugin_host import Host
from transload_converters.tensorflow.keras.isolated import HDF5

from tests.support.keras_models import dense_layer, entry, functional, h5_file, hdf5, input_entry, keras_file, sequential

h5py = pytest.importorskip("h5py")

KERNEL = np.arange(6, dtype=np.float32).reshape(3, 2)
BIAS = np.array([1, -1], np.float32)
MODEL = functional([input_entry("x", [None, 3]), dense_layer("out", "x", 2)], ["x"], ["out"])
WEIGHTS = {"layers/dense/vars/0": KERNEL, "layers/dense/vars/1": BIAS}


def constants(module: Module) -> dict[str, Dense]:
    return {str(op.location): op.attributes["value"] for op in module.body_of_main if op.name == "tf.Const"}


def test_archive(tmp_path: Path) -> None:
    module = transload.load(keras_file(tmp_path / "m.keras", MODEL, WEIGHTS))
    assert {name: str(type_) for name, type_ in module.inputs.items()} == {"x": "tensor<1x3xf32>"}
    assert {name: str(type_) for name, type_ in module.outputs.items()} == {"out": "tensor<1x2xf32>"}
    assert op_counts(module) == {"tf.MatMul": 1, "tf.BiasAdd": 1}
    held = constants(module)
    assert np.array_equal(held["out/kernel"].numpy(), KERNEL) and np.array_equal(held["out/bias"].numpy(), BIAS)
    assert module.notes == (
        "the first size of 'x', unknown in the file, was taken for the batch and made 1; --batch SIZE makes it another",)


def test_weights_stay_in_the_file(tmp_path: Path) -> None:
    """Arrays that lie in the archive as they are are looked at there: they own no memory."""
    module = transload.load(keras_file(tmp_path / "m.keras", MODEL, WEIGHTS))
    data = constants(module)["out/kernel"].data
    assert isinstance(data, ArrayData) and not data.numpy().flags.owndata


@pytest.mark.parametrize("options", [{"chunks": (2,), "compression": "gzip"}, {"dtype": ">f4"}, {"dtype": "f8"}])
def test_weights_that_are_packed(tmp_path: Path, options: dict[str, Any]) -> None:
    weights = {"layers/dense/vars/0": KERNEL.ravel(), "layers/dense/vars/1": BIAS}
    model = sequential(input_entry("x", [1, 3]), entry("Dense", "out", units=2))
    file = keras_file(tmp_path / "m.keras", model, weights, zipfile.ZIP_DEFLATED, **options)
    with pytest.raises(ReadError, match=r"its weight 'kernel' has the shape \[6\], where \[3, 2\] is needed"):
        transload.load(file)
    if "chunks" not in options:
        module = transload.load(keras_file(tmp_path / "n.keras", model, WEIGHTS, zipfile.ZIP_DEFLATED, **options))
        assert np.array_equal(next(op.attributes["value"].numpy() for op in module.ops() if op.name == "tf.Const"), KERNEL)


def test_hdf5_of_keras_2(tmp_path: Path) -> None:
    """Weights by name; layers refer to each other by lists."""
    config = {"class_name": "Model", "config": {"name": "m", "layers": [
        {"class_name": "InputLayer", "name": "x", "config": {"name": "x", "batch_input_shape": [None, 3], "dtype": "float32"},
         "inbound_nodes": []},
        {"class_name": "Dense", "name": "shared", "config": {"name": "shared", "units": 3, "activation": "relu"},
         "inbound_nodes": [[["x", 0, 0, {}]], [["shared", 0, 0, {}]]]},
        {"class_name": "Add", "name": "sum", "config": {"name": "sum"},
         "inbound_nodes": [[["shared", 0, 0, {}], ["shared", 1, 0, {}]]]},
    ], "input_layers": [["x", 0, 0]], "output_layers": [["sum", 0, 0], ["shared", 1, 0]]}}
    weights = {"x": {}, "shared": {"shared/kernel:0": np.eye(3, dtype=np.float32), "shared/bias:0": np.ones(3, np.float32)}}
    module = transload.load(h5_file(tmp_path / "m.h5", config, weights))
    assert list(module.outputs) == ["sum", "shared"]
    assert op_counts(module) == {"tf.MatMul": 2, "tf.BiasAdd": 2, "tf.Relu": 2, "tf.AddV2": 1}
    assert list(constants(module)) == ["shared/kernel", "shared/bias"]  # once, though it is called twice


def test_nested_models_list_what_is_trained_first(tmp_path: Path) -> None:
    layers = [input_entry("i", [None, 2]), entry("BatchNormalization", "norm", "i", axis=-1), dense_layer("d", "norm", 1)]
    inner = {**functional(layers, ["i"], ["d"], "inner"), "name": "inner", "inbound_nodes": [[["x", 0, 0, {}]]]}
    outer = functional([input_entry("x", [None, 2]), inner], ["x"], ["inner"])
    rows = [np.full(2, value, np.float32) for value in (1, 2, 3, 4)]
    kernel, bias = np.full((2, 1), 5, np.float32), np.full(1, 6, np.float32)
    names = ("norm/gamma:0", "norm/beta:0", "d/kernel:0", "d/bias:0", "norm/moving_mean:0", "norm/moving_variance:0")
    weights = {"inner": dict(zip(names, [*rows[:2], kernel, bias, *rows[2:]], strict=True))}
    held = {name: float(value.numpy().flat[0]) for name, value in constants(
        transload.load(h5_file(tmp_path / "m.h5", outer, weights))).items() if name.count("/") == 2}
    assert {name.removeprefix("inner/"): value for name, value in held.items() if "Const" not in name} == {
        "norm/gamma": 1, "norm/beta": 2, "norm/moving_mean": 3, "norm/moving_variance": 4, "d/kernel": 5, "d/bias": 6}


def test_layers_that_the_file_lists_by_other_names(tmp_path: Path) -> None:
    """A model inside a sequential one has no name in Keras 2.0's config: its weights follow those of the layer before it."""
    def dense(name: str, **more: Any) -> dict[str, Any]:
        return {"class_name": "Dense", "config": {"name": name, "units": 2, "use_bias": False, **more}}

    config = {"class_name": "Sequential", "config": [
        dense("a", batch_input_shape=[None, 2]), {"class_name": "Sequential", "config": [dense("b"), dense("c")]}]}
    kernels = {name: np.full((2, 2), number, np.float32) for number, name in enumerate("abc")}
    weights = {"a": {"a/kernel:0": kernels["a"]}, "sequential_7": {"b/kernel:0": kernels["b"], "c/kernel:0": kernels["c"]}}
    held = constants(transload.load(h5_file(tmp_path / "m.h5", config, weights, "2.0.8")))
    assert [float(held[name].numpy()[0, 0]) for name in held if "kernel" in name] == [0, 1, 2]


def test_numbers_that_are_arrays(tmp_path: Path) -> None:
    """Keras 2 wrote the slope of a LeakyReLU so."""
    layers = [input_entry("x", [1, 3]), entry("LeakyReLU", "out", "x", alpha={"type": "ndarray", "value": 0.1})]
    (op,) = (op for op in transload.load(keras_file(tmp_path / "m.keras", functional(layers, ["x"], ["out"]), {})).ops()
             if op.name == "tf.LeakyRelu")
    assert op.attributes["alpha"] == 0.1


def test_operations_between_layers(tmp_path: Path) -> None:
    ops = "keras.src.ops.numpy"
    model = functional([
        input_entry("x", [1, 4, 3]), entry("GetItem", "part", "x", [{"class_name": "__slice__", "config": {
            "start": None, "stop": None, "step": None}}, 1], module=ops),
        entry("Multiply", "twice", "part", 2.0, module=ops), entry("Mean", "mean", "twice", module=ops, axis=-1, keepdims=True),
    ], ["x"], ["mean"])
    module = transload.load(keras_file(tmp_path / "m.keras", model, {"vars/0": BIAS}))
    assert op_counts(module) == {"tf.StridedSlice": 1, "tf.Reshape": 1, "tf.Mul": 1, "tf.Mean": 1}
    assert str(module.outputs["mean"]) == "tensor<1x1xf32>"


def test_operations_have_no_module_in_hdf5(tmp_path: Path) -> None:
    """What is an operation there is told by its config, which is no layer's."""
    def operation(class_name: str, name: str, *used: Any, **config: Any) -> dict[str, Any]:
        made = entry(class_name, name, *used)
        return {**{key: value for key, value in made.items() if key != "module"}, "config": {"name": name, **config}}

    same, out = operation("ConvertToTensor", "same", "x", dtype=None), operation("Add", "out", "same", 1.0)
    layers = [input_entry("x", [1, 3]), same, out]
    module = transload.load(h5_file(tmp_path / "m.h5", functional(layers, ["x"], ["out"]), {}, "3.5.0"))
    assert op_counts(module) == {"tf.AddV2": 1}


def test_all_unknown_layers_are_named(tmp_path: Path) -> None:
    model = functional([
        input_entry("x", [1, 3]), entry("Mine", "a", "x", module="my.code"), entry("Mine", "b", "a"), entry("Odd", "c", "b")],
        ["x"], ["c"])
    with pytest.raises(ReadError) as caught:
        transload.load(keras_file(tmp_path / "m.keras", model, {}))
    assert [(finding.what, finding.names, finding.count) for finding in caught.value.findings] == [
        ("Mine", ("a", "b"), 2), ("Odd", ("c",), 1)]
    assert "SavedModel" in caught.value.hint


@pytest.mark.parametrize(("said", "named"), [
    ({"module": "my_package.layers", "registered_name": "my>ReLU"}, "my>ReLU"),
    ({"module": None, "registered_name": "my>ReLU"}, "my>ReLU"),
    ({"module": None, "class_name": "Custom>ReLU"}, "Custom>ReLU"),
    ({"module": "__main__", "registered_name": "ReLU"}, "__main__.ReLU")])
def test_a_class_of_ones_own_that_is_called_as_one_of_keras(tmp_path: Path, said: dict[str, Any], named: str) -> None:
    model = functional([input_entry("x", [1, 3]), {**entry("ReLU", "a", "x"), **said}], ["x"], ["a"])
    files = [keras_file(tmp_path / "m.keras", model, {})]
    if said.get("class_name"):
        files.append(h5_file(tmp_path / "m.h5", model, {}))
    for file in files:
        with pytest.raises(ReadError) as caught:
            transload.load(file)
        assert [(finding.what, finding.names) for finding in caught.value.findings] == [(named, ("a",))]


@pytest.mark.parametrize("said", [
    {"module": "keras.src.layers.activations.relu", "registered_name": "ReLU"}, {"module": None, "registered_name": None},
    {"module": "tensorflow.python.keras.layers.advanced_activations"}, {"module": "keras_core.layers"},
    {"module": "tf_keras.layers", "registered_name": "keras>ReLU"}])
def test_the_names_that_keras_has_had(tmp_path: Path, said: dict[str, Any]) -> None:
    model = functional([input_entry("x", [1, 3]), {**entry("ReLU", "a", "x"), **said}], ["x"], ["a"])
    assert op_counts(transload.load(keras_file(tmp_path / "m.keras", model, {}))) == {"tf.Relu": 1}


@pytest.mark.parametrize(("module", "function", "registered", "known"), [
    ("builtins", "relu", "function", True), ("keras.src.activations.activations", "relu", "relu", True),
    ("tensorflow.python.ops.gen_nn_ops", "relu", "relu", True), ("builtins", "my>relu", "function", False),
    ("my_package", "relu", "relu", False), ("builtins", "relu", "my>relu", False)])
def test_functions_of_ones_own(tmp_path: Path, module: str, function: str, registered: str, known: bool) -> None:
    named = {"module": module, "class_name": "function", "config": function, "registered_name": registered}
    model = functional([input_entry("x", [1, 3]), entry("Activation", "a", "x", activation=named)], ["x"], ["a"])
    file = keras_file(tmp_path / "m.keras", model, {})
    if known:
        assert op_counts(transload.load(file)) == {"tf.Relu": 1}
    else:
        with pytest.raises(ReadError, match="relu' is none of Keras's own, and code is not run"):
            transload.load(file)


@pytest.mark.parametrize("kind", ["alone", "given", "timed"])
def test_layers_both_ways_in_each_other(tmp_path: Path, kind: str) -> None:
    """Each level holds twice what is in it: 20 levels took gigabytes."""
    def both(depth: int) -> dict[str, Any]:
        layer: dict[str, Any] = entry("LSTM", "l", units=2, return_sequences=True)
        for level in range(depth):
            layer = entry("Bidirectional", f"b{level}", layer=layer, merge_mode="sum")
            if kind == "timed":
                layer = entry("TimeDistributed", f"t{level}", layer=layer)
        return entry("Bidirectional", "top", "x", layer=layer, backward_layer=layer if kind == "given" else None)

    def read(depth: int) -> None:
        model = functional([input_entry("x", [1, 3, 2]), both(depth)], ["x"], ["top"])
        transload.load(keras_file(tmp_path / "m.keras", model, {}))

    with pytest.raises(ReadError, match="its layers hold more than 12,500 others") as caught:
        read(15 if kind == "timed" else 20)
    assert "TRANSLOAD_BUDGET=ops=" in caught.value.hint
    with pytest.raises(ReadError, match="its weight") if kind != "timed" else pytest.raises(ReadError):
        read(2)


def test_a_plugin_adds_layers(tmp_path: Path) -> None:
    from transload_converters.tensorflow.keras.layer import LayerTable

    table = LayerTable("keras")

    @table.layer("Twice", variables=("factor",))
    def twice(call: Any, x: Any) -> Any:
        return call.g.Mul(x, call.weight("factor", ()))

    class Plugin:
        @staticmethod
        @hookimpl
        def register_facts(register: Any) -> None:
            register(Facts("keras-layer", "keras", table))

    model = functional([input_entry("x", [1, 3]), entry("mine>Twice", "t", "x", module="my.code")], ["x"], ["t"])
    file = keras_file(tmp_path / "m.keras", model, {"layers/twice/vars/0": np.array(2, np.float32)})
    with Context(Host()).bind():
        host().register(Plugin(), "twice")
        assert op_counts(transload.load(file)) == {"tf.Mul": 1}


LAMBDA = {"class_name": "__lambda__", "config": {"code": "4wEAAAAA"}}


@pytest.mark.parametrize(("layers", "why"), [
    ([entry("Lambda", "out", "x", function=LAMBDA)], r"layer 'out' \(Lambda\): it holds code, which is not run"),
    ([entry("Dense", "out", "x", units=2, activation=LAMBDA)], "its activation '__lambda__' is none of Keras's own"),
    ([entry("Dense", "out", "y", units=2)], "call 0 of its layer 'y' is used, and there is no such call"),
    ([entry("Identity", "a", "out"), entry("Identity", "out", "a")], "its layers call each other in a circle"),
    ([entry("Dense", "out", "x", units="many")],
     r"layer 'out' \(Dense\): its config is not one that Keras writes: what was read last is 'units', which is 'many'"),
    ([entry("Dense", "out", "x")], r"layer 'out' \(Dense\): its config is not one that Keras writes: 'units' is missing$"),
    ([entry("RepeatVector", "r", "x", n=2), entry("ZeroPadding1D", "out", "r", padding=[10**400, 0])],
     r"layer 'out' .*: what was read last is 'padding', which is \[1000"),
    ([entry("RepeatVector", "r", "x", n=2), entry("ZeroPadding1D", "out", "r", padding=[0, 10**11])],
     r"layer 'out' .*Keras writes, a number in it is greater than sizes.*: what was read last is 'padding', which is \[0, 1"),
    ([entry("Dense", "out", "x", units=3)], r"its weight 'kernel' has the shape \[3, 2\], where \[3, 3\] is needed"),
    ([entry("Dense", "out", "x", units=2, dtype="complex64")], "it computes with numbers of type complex64"),
    ([entry("Dense", "out", "x", units=2, dtype={"class_name": "QuantizedDTypePolicy", "config": {"mode": "int8"}})],
     r"it was quantized by Keras \(QuantizedDTypePolicy, int8\)"),
    ([entry("Conv2D", "out", "x", filters=1, kernel_size=[1, 1])], "where 4 dimensions are needed"),
    ([entry("RepeatVector", "out", "x", n=10**12)], "more elements than anything can hold"),
    ([entry("StringLookup", "out", "x")], "it works on texts"),
])
def test_refusals(tmp_path: Path, layers: list[Any], why: str) -> None:
    model = functional([input_entry("x", [1, 3]), *layers], ["x"], ["out"])
    with pytest.raises(ReadError, match=why):
        transload.load(keras_file(tmp_path / "m.keras", model, WEIGHTS))


def test_a_quantized_model_of_any_format_is_told(tmp_path: Path) -> None:
    """Its layers have scales among their weights, which an `.h5` file lists: their number is not what is wrong."""
    policy = {"class_name": "QuantizedDTypePolicy", "config": {"mode": "int8"}}
    model = functional([input_entry("x", [None, 3]), entry("Dense", "out", "x", units=2, dtype=policy)], ["x"], ["out"])
    weights = {"out": {"kernel": np.ones((3, 2), np.int8), "bias": np.ones(2, np.float32), "scale": np.ones(2, np.float32)}}
    for file in (h5_file(tmp_path / "m.h5", model, weights), keras_file(tmp_path / "m.keras", model, WEIGHTS)):
        with pytest.raises(ReadError, match=r"layer 'out' \(Dense\): it was quantized by Keras .*, int8") as caught:
            transload.load(file)
        assert "batch" not in (caught.value.hint or "")


def test_no_size_of_a_batch_mends_a_config(tmp_path: Path) -> None:
    model = functional([input_entry("x", [None, 3]), entry("Dense", "out", "x", units="many")], ["x"], ["out"])
    with pytest.raises(ReadError, match="'units', which is 'many'") as caught:
        transload.load(keras_file(tmp_path / "m.keras", model, WEIGHTS))
    assert "batch" not in (caught.value.hint or "")


def test_a_layer_that_is_unrolled_without_end(tmp_path: Path) -> None:
    """It was a list of as many results as there are steps, before it was refused."""
    layers = [entry("RepeatVector", "long", "x", n=10**9), entry("GRU", "out", "long", units=1)]
    model = functional([input_entry("x", [1, 3]), *layers], ["x"], ["out"])
    cell = "layers/gru/cell/vars"
    weights = {f"{cell}/0": np.zeros((3, 3), np.float32), f"{cell}/1": np.zeros((1, 3), np.float32),
               f"{cell}/2": np.zeros((2, 3), np.float32)}
    with pytest.raises(ReadError, match=r"layer 'out' \(GRU\): it would take more ops .* than a run may make"):
        transload.load(keras_file(tmp_path / "m.keras", model, weights))


def test_layers_too_deep_in_each_other(tmp_path: Path) -> None:
    layer: dict[str, Any] = entry("Dense", "d", units=1)
    for _ in range(50):
        layer = entry("TimeDistributed", "t", layer=layer)
    with pytest.raises(ReadError, match="layers lie more than 32 deep in each other"):
        transload.load(keras_file(tmp_path / "m.keras", sequential(input_entry("x", [1, 3]), layer), {}))


@pytest.mark.parametrize(("kernel", "why"), [
    (KERNEL.astype(np.complex64), "is of complex numbers, and must be an array of real numbers"),
    (np.bytes_(b"text"), "is text, and"), (None, "is missing"), (KERNEL[:1], r"has the shape \[1, \d\], where")])
def test_what_is_no_weight_is_no_matter_of_the_batch(tmp_path: Path, kernel: Any, why: str) -> None:
    weights = {"layers/dense/vars/1": BIAS} | ({} if kernel is None else {"layers/dense/vars/0": kernel})
    with pytest.raises(ReadError, match=f"its weight 'kernel' {why}") as caught:
        transload.load(keras_file(tmp_path / "m.keras", MODEL, weights))
    assert "batch" not in str(caught.value.hint)


def test_a_missing_weight(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"layer 'out' \(Dense\): its weight 'bias' is missing"):
        transload.load(keras_file(tmp_path / "m.keras", MODEL, {"layers/dense/vars/0": KERNEL}))
    config = {"class_name": "Sequential", "config": [{"class_name": "Dense", "config": {
        "name": "d", "units": 2, "batch_input_shape": [None, 3]}}]}
    with pytest.raises(ReadError, match="the weights are not those of the model's layers") as caught:
        transload.load(h5_file(tmp_path / "m.h5", config, {"d": {"d/kernel:0": KERNEL}}))
    assert "has 2 weights, and the file lists 1 for it" in caught.value.findings[0].why


@pytest.mark.parametrize(("content", "why"), [
    (b"", "is no Keras model"), (b"\x89HDF\r\n\x1a\n" + b"\0" * 64, "is no HDF5 file, or a damaged one"),
    (hdf5({"a": BIAS}), "is an HDF5 file, but no Keras model"),
    (hdf5({"layers/dense/vars/0": BIAS}), "holds weights without a network"),
    (hdf5({}, {"": {"model_config": "{"}}), "its config cannot be read as JSON"),
    (hdf5({}, {"": {"model_config": "[" * 100_000}}), "its config cannot be read as JSON"),
    (hdf5({}, {"": {"model_config": "[]"}}), "its config is a list"),
    (hdf5({}, {"": {"model_config": json.dumps({"class_name": "Mine", "config": {}})}}), "the model is of class 'Mine'"),
    (b"PK\x03\x04 damaged", "is a damaged zip archive"),
])
def test_files_that_are_none(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "m.h5").write_bytes(content)
    with pytest.raises(ReadError, match=why):
        transload.load(tmp_path / "m.h5")
    if content:
        with pytest.raises(ReadError, match=why):
            transload.load(text=content, format="keras")


def test_a_config_that_is_more_than_its_text_is_not_read(tmp_path: Path) -> None:
    """`{},` packs to a thousandth, and becomes forty times its length in memory: 2.6 GB of a file of 100 KB."""
    file = tmp_path / "m.keras"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", '{"class_name": "Sequential", "config": [' + "{}," * 100_000 + "0]}")
        archive.writestr("metadata.json", "{}")
    with allowed(memory=2_000_000), pytest.raises(ReadError, match=r"cannot be read as JSON: .* would take about"):
        transload.load(file)
    with allowed(memory=1_000_000), pytest.raises(ReadError, match=r"config\.json claims 300,0"):
        transload.load(file)


def test_a_text_that_attributes_name_again_and_again() -> None:
    """A list of texts says of each where it lies: all of them may be one, and 220 KB were a gigabyte."""
    from transload_converters.tensorflow.keras.hdf5 import outline

    held, count, length = io.BytesIO(), 500, 2000
    with h5py.File(held, "w") as made:
        made.attrs["long"] = "n" * length
        made.attrs.create("weight_names", ["x"] * count, dtype=h5py.string_dtype())
    content = held.getvalue()
    found, first = (  # each as its length, the place of a heap, and its number there
        next(at for at in range(len(content)) if all(content[at + 16 * n : at + 16 * n + 4] == size.to_bytes(4, "little")
                                                     and any(content[at + 16 * n + 4 : at + 16 * n + 12]) for n in range(times)))
        for size, times in ((length, 1), (1, count)))
    long = content[found : found + 16]
    content = content[:first] + long * count + content[first + 16 * count :]
    assert outline(content)["groups"][""]["weight_names"] == ["n" * length] * count
    with allowed(text=1000), pytest.raises(ReadError, match=r"attributes have 1,002,000 characters, of which .* are in the file"):
        outline(content)


def test_claims_beyond_the_file(tmp_path: Path) -> None:
    """A dataset that was never written claims numbers without holding any; an archive, more than it holds."""

    made = io.BytesIO()
    with h5py.File(made, "w") as file:
        file.create_dataset("layers/dense/vars/0", (1 << 40, 4), "f4", chunks=(1024, 4))
    path = tmp_path / "m.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("metadata.json", "{}")
        file.writestr("config.json", json.dumps(MODEL))
        file.writestr("model.weights.h5", made.getvalue())
    with pytest.raises(ReadError, match="claims 17,592,186,044,416 bytes"):
        transload.load(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("metadata.json", "{}")
        file.writestr("config.json", " " * (1 << 29))
    with pytest.raises(ReadError, match="more than it can hold"):
        transload.load(path)


def test_bombs(tmp_path: Path) -> None:
    """A little that becomes a lot, behind the head of an HDF5 file, or without one, and in HDF5's own chunks."""
    path = tmp_path / "m.keras"
    for head, why in ((b"\x89HDF\r\n\x1a\n", "model.weights.h5 claims 300,000,008 bytes"), (b"nothing!", "300,000,008 bytes"),
                      (b"nothing!" * 9, "is no HDF5 file")):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("metadata.json", "{}")
            file.writestr("config.json", json.dumps(MODEL))
            file.writestr("model.weights.h5", head + bytes(300_000_000 if len(head) == 8 else 0))
        with pytest.raises(ReadError, match=why):
            transload.load(path)
    with h5py.File(tmp_path / "w.h5", "w") as made:
        made.create_dataset("w", (1 << 27,), "f4", chunks=(1 << 22,), compression="gzip")[:] = 0
    with pytest.raises(ReadError, match="its weights claim 536,870,912 bytes"):
        HDF5.call("transload_converters.tensorflow.keras.hdf5:arrays", str(tmp_path / "w.h5"), 0, 0, ["w"])


@pytest.mark.parametrize("config", [None, 7, "relu"])
def test_a_layer_without_its_settings_has_not_the_default_ones(tmp_path: Path, config: Any) -> None:
    model = json.loads(json.dumps(MODEL))
    model["config"]["layers"][-1]["config"] = config
    with pytest.raises(ReadError, match="has the config"):
        transload.load(keras_file(tmp_path / "m.keras", model, {}))


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A weight that is a link, to another file or by name, is not there."""
    import io


    (tmp_path / "other.h5").write_bytes(hdf5({"a": KERNEL}))
    made = io.BytesIO()
    with h5py.File(made, "w") as file:
        file["layers/dense/vars/0"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "a")
        file["layers/dense/vars/1"] = BIAS
    with zipfile.ZipFile(tmp_path / "m.keras", "w") as archive:
        archive.writestr("metadata.json", "{}")
        archive.writestr("config.json", json.dumps(MODEL))
        archive.writestr("model.weights.h5", made.getvalue())
    with pytest.raises(ReadError, match="its weight 'kernel' is a link, which is not followed, and must be"):
        transload.load(tmp_path / "m.keras")


@pytest.mark.models
def test_real_files(models: Path) -> None:
    files = sorted(file for file in models.glob("keras/*/*") if file.suffix in (".h5", ".hdf5", ".keras"))
    if not files:
        pytest.skip("no models of Keras")
    for file in files:
        module = transload.load(file)
        assert {op.name.partition(".")[0] for op in module.body_of_main} == {"tf", "func"}


def test_where_layers_do_not_fit_it_is_said_which_sizes_were_chosen(tmp_path: Path) -> None:
    layers = [input_entry("a", [None, 2]), input_entry("b", [None, 3]), entry("Concatenate", "out", ["a", "b"], axis=-1)]
    path = keras_file(tmp_path / "m.keras", functional(layers, ["a", "b"], ["out"]), {})
    assert transload.load(path, inputs={"a": (2, 2), "b": (2, 3)}).outputs["out"].shape == (2, 5)
    with pytest.raises(ReadError, match="cannot be joined") as caught:
        transload.load(path, inputs={"a": (2, 2)})
    assert "the first size of 'b', unknown in the file, was taken for the batch and made 1" in caught.value.hint


def test_outputs_of_a_model_inside_are_counted_as_keras_3_does(tmp_path: Path) -> None:
    """In `output_layers`, and there alone, call 0 of a functional model inside is its own making."""
    inside = functional([input_entry("i", [None, 2]), dense_layer("d", "i", 2, use_bias=False)], ["i"], ["d"], "inside")
    calls = [entry("Functional", "inside", name)["inbound_nodes"][0] for name in ("x", "y")]
    inside |= {"name": "inside", "inbound_nodes": calls}
    after = entry("Activation", "act", "inside", activation="relu")
    after["inbound_nodes"][0]["args"][0]["config"]["keras_history"] = ["inside", 1, 0]
    model = functional([input_entry("x", [None, 2]), input_entry("y", [None, 2]), inside, after], ["x", "y"], ["inside", "act"])
    model["config"]["output_layers"][0] = ["inside", 1, 0]
    kernel = np.array([[1, 2], [3, 4]], np.float32)
    file = keras_file(tmp_path / "m.keras", model, {"layers/functional/layers/dense/vars/0": kernel})
    x, y = np.array([[1, 2]], np.float32), np.array([[-5, 6]], np.float32)
    first, second = transload.run(transload.load(file), {"x": x, "y": y}).values()
    np.testing.assert_allclose(first, x @ kernel)
    np.testing.assert_allclose(second, np.maximum(y @ kernel, 0))


def test_outputs_have_the_names_of_their_keys(tmp_path: Path) -> None:
    layers = [input_entry("x", [1, 3]), entry("ReLU", "r", "x"), entry("Activation", "t", "x", activation="tanh")]
    model = functional(layers, ["x"], [])
    model["config"]["output_layers"] = {"z": ["r", 0, 0], "a": ["t", 0, 0], "m": [["r", 0, 0], ["t", 0, 0]]}
    x = np.array([[-1, 0.5, 2]], np.float32)
    found = transload.run(transload.load(keras_file(tmp_path / "m.keras", model, {})), {"x": x})
    assert list(found) == ["a", "m", "m_1", "z"]
    np.testing.assert_array_equal(found["z"], np.maximum(x, 0))
    np.testing.assert_allclose(found["a"], np.tanh(x), rtol=1e-5, atol=1e-6)


def adapted(path: Path, class_name: str, alpha: int | None) -> Path:
    """An `.h5` file of a layer after `enable_lora`, as Keras lists it: the kernel, which is trained no more, comes last."""
    held = {"bias": BIAS, "lora_kernel_a": np.array([[1], [2], [3]], np.float32), "lora_kernel_b": np.array([[4, 5]], np.float32),
            "kernel": KERNEL}
    layer = entry(class_name, "d", "x", units=2, equation="ab,bc->ac", bias_axes="c", lora_rank=1, lora_alpha=alpha)
    return h5_file(path, functional([input_entry("x", [1, 3]), layer], ["x"], ["d"]), {"d": held}, "3.15.1")


@pytest.mark.parametrize(("class_name", "alpha", "scale"), [("Dense", None, 1), ("Dense", 1, 1), ("EinsumDense", 3, 3)])
def test_what_was_trained_beside_a_kernel_is_part_of_it(tmp_path: Path, class_name: str, alpha: int | None, scale: int) -> None:
    x = np.array([[1, -1, 2]], np.float32)
    found = transload.run(transload.load(adapted(tmp_path / "m.h5", class_name, alpha)), {"x": x})
    kernel = KERNEL + scale * np.array([[4, 5], [8, 10], [12, 15]], np.float32)
    np.testing.assert_allclose(found["d"], x @ kernel + BIAS, rtol=1e-6)


def test_a_share_that_keras_does_not_load_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"layer 'd' \(Dense\): it has lora_alpha=3 and lora_rank=1") as caught:
        transload.load(adapted(tmp_path / "m.h5", "Dense", 3))
    assert "save the model as .keras" in str(caught.value.hint)
