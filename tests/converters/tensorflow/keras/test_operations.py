"""Operations of Keras 3 between layers: what no file of one operation shows, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ReadError
from transload.ir import F32, TensorType, new_module
from transload_converters.tensorflow.keras.graph import Graph
from transload_converters.tensorflow.keras.layer import LAYERS, call_layer, snake
from transload_converters.tensorflow.keras.layers.activations import FUNCTIONS
from transload_converters.tensorflow.keras.layers.functions import FUNCTIONS as FUNCTIONS_OF_TENSORFLOW
from transload_converters.tensorflow.keras.model import layer_tree

from tests.support.keras_layers.cases import ACTIVATIONS
from tests.support.keras_models import entry, functional, h5_file, input_entry, keras_file

pytest.importorskip("h5py")

X = np.random.default_rng(7).normal(size=(1, 6, 8)).astype(np.float32)
NUMPY = "keras.src.ops.numpy"


def made(path: Path, *layers: dict[str, Any]) -> dict[str, np.ndarray]:
    """What the last of some layers gives of `x`."""
    model = functional([input_entry("x", X.shape), *layers], ["x"], [layers[-1]["name"]])
    return transload.run(transload.load(keras_file(path / "m.keras", model, {})), {"x": X})


def slice_of(*bounds: Any) -> dict[str, Any]:
    return {"class_name": "__slice__", "config": dict(zip(("start", "stop", "step"), bounds, strict=True))}


@pytest.mark.parametrize(("key", "wanted"), [
    ({"class_name": "__tuple__", "config": {"value": [{"class_name": "__ellipsis__", "config": {}}, slice_of(None, None, -1)]}},
     X[..., ::-1]),
    ({"class_name": "__tuple__", "config": {"value": [0, slice_of(4, 0, -2), slice_of(-1, None, -3)]}}, X[0, 4:0:-2, -1::-3]),
    ({"class_name": "__tuple__", "config": {"value": [slice_of(None, None, None), [0, -1]]}}, X[:, [0, -1]]),
    ([0, -1], X[0, -1]),
])
def test_slices(tmp_path: Path, key: Any, wanted: np.ndarray) -> None:
    (found,) = made(tmp_path, entry("GetItem", "part", "x", key, module=NUMPY)).values()
    np.testing.assert_array_equal(found, wanted)


NAN, TINY = float("nan"), float(np.finfo(np.float32).tiny)


@pytest.mark.parametrize(("name", "row", "wanted"), [  # as Keras 3 gives it on TensorFlow
    ("Argmax", [-0.0, -0.0, 0.0, 0.0], 2), ("Argmax", [-1.0, -0.0, 0.0, -0.0], 2), ("Argmax", [-TINY, -0.0], 0),
    ("Argmax", [-1e-40, -0.0], 0), ("Argmax", [-0.0, -1e-40], 0), ("Argmin", [0.0, 0.0, -0.0, 0.0], 2),
    ("Argmin", [-0.0, -1e-40], 0), ("Argmin", [0.0, -0.0, -2 * TINY], 2)])
@pytest.mark.parametrize("dialect", ["top", "tosa"])
@pytest.mark.parametrize("axis", [None, 1])
def test_minus_zero_is_less_than_zero_where_extremes_are_looked_for(
    tmp_path: Path, name: str, row: list[float], wanted: int, dialect: str, axis: int | None,
) -> None:
    model = functional([input_entry("x", (1, len(row))), entry(name, "place", "x", module=NUMPY, axis=axis)], ["x"], ["place"])
    module = transload.load(keras_file(tmp_path / "m.keras", model, {}))
    given = {next(iter(module.inputs)): np.array([row], np.float32)}
    (found,) = transload.run(transload.lower(module, dialect), given, engine="reference").values()
    assert found.item() == wanted


@pytest.mark.parametrize(("name", "options", "wanted"), [
    ("SoftShrink", {"threshold": 0.5}, [0, 0, 0, 1.5, -1.5, np.inf]),
    ("HardShrink", {"threshold": 0.5}, [0, 0, 0, 2, -2, np.inf]),
    ("Threshold", {"threshold": 0.5, "default_value": 3.0}, [3, 3, 3, 2, 3, np.inf])])
def test_what_is_no_number_is_not_beyond_a_threshold(
    tmp_path: Path, name: str, options: dict[str, Any], wanted: list[float],
) -> None:
    model = functional([input_entry("x", (1, 6)), entry(name, "y", "x", module="keras.src.ops.nn", **options)], ["x"], ["y"])
    module = transload.load(keras_file(tmp_path / "m.keras", model, {}))
    given = np.array([[NAN, 0.25, -0.25, 2, -2, np.inf]], np.float32)
    (found,) = transload.run(module, {"x": given}).values()
    np.testing.assert_array_equal(found, [wanted])


@pytest.mark.parametrize(("layer", "options", "version", "wanted"), [  # as Keras 3.15 and tf_keras 2.20 give it
    ("ReLU", {"threshold": 0.5}, "3.15.1", [0, 0, 0, 0, 0, 0, 1, 3, np.inf]),
    ("ReLU", {"threshold": 0.5}, "2.20.0", [NAN, NAN, 0, 0, 0, 0, 1, 3, np.inf]),
    ("ReLU", {"threshold": 0.5, "max_value": 2.0}, "3.15.1", [0, 0, 0, 0, 0, 0, 1, 2, 2]),
    ("ReLU", {"threshold": 0.5, "max_value": 2.0}, "2.20.0", [NAN, NAN, 0, 0, 0, 0, 1, 2, 2]),
    ("ReLU", {"threshold": 0.5, "negative_slope": 0.25}, "3.15.1", [NAN, -np.inf, -0.375, -0.125, -0.125, 0, 1, 3, np.inf]),
    ("ReLU", {"threshold": 0.5, "negative_slope": 0.25}, "2.20.0", [NAN, NAN, -0.375, -0.125, -0.125, 0, 1, 3, np.inf]),
    ("ReLU", {"threshold": 0.5, "negative_slope": 0.25, "max_value": 2.0}, "3.15.1",
     [NAN, -np.inf, -0.375, -0.125, -0.125, 0, 1, 2, 2]),
    ("ReLU", {"threshold": 0.5, "max_value": 0.25}, "3.15.1", [0, 0, 0, 0, 0, 0, 0.25, 0.25, 0.25]),
    ("ReLU", {"negative_slope": 0.25, "max_value": 2.0}, "3.15.1", [NAN, -np.inf, -0.25, 0, 0, 0.5, 1, 2, 2]),
    ("ReLU", {"negative_slope": 0.25, "max_value": 6}, "3.15.1", [NAN, -np.inf, -0.25, 0, 0, 0.5, 1, 3, 6]),
    ("ReLU", {"threshold": -0.5}, "3.15.1", [0, 0, 0, 0, 0, 0.5, 1, 3, np.inf]),
    ("ReLU", {"negative_slope": -0.25, "max_value": 0.125}, "3.15.1", [NAN, np.inf, 0.25, 0, 0, 0.125, 0.125, 0.125, 0.125]),
    ("ReLU", {"max_value": -1.0}, "3.15.1", [NAN, 0, 0, 0, 0, 0, 0, 0, 0]),
    ("ThresholdedReLU", {"theta": 0.5}, "2.20.0", [NAN, NAN, 0, 0, 0, 0, 1, 3, np.inf])])
@pytest.mark.parametrize("inside", [False, True])
def test_what_is_at_a_threshold_is_not_beyond_it(
    tmp_path: Path, layer: str, options: dict[str, Any], version: str, wanted: list[float], inside: bool,
) -> None:
    """As a layer, and as the activation of one."""
    named = {"class_name": layer, "config": {"name": "r", **options}}
    last = entry("Activation", "y", "x", activation=named) if inside else entry(layer, "y", "x", **options)
    module = transload.load(h5_file(tmp_path / "m.h5", functional([input_entry("x", (1, 9)), last], ["x"], ["y"]), {}, version))
    given = np.array([[NAN, -np.inf, -1, -0.0, 0, 0.5, 1, 3, np.inf]], np.float32)
    (found,) = transload.run(module, {"x": given}).values()
    np.testing.assert_array_equal(found, [wanted])


@pytest.mark.parametrize(("dtype", "wanted"), [  # as Keras 3.15 gives it on TensorFlow
    ("uint8", [1, 128, 243, 0, 255, 1]), ("uint16", [1, 128, 243, 256, 767, 1]), ("uint32", [1, 128, 243, 256, 16581375, 1])])
def test_powers_of_integers_without_a_sign(tmp_path: Path, dtype: str, wanted: list[int]) -> None:
    given = {"x": np.array([[0, 2, 3, 16, 255, 200]], dtype), "p": np.array([[0, 7, 5, 2, 3, 0]], dtype)}
    layers = [*(input_entry(name, (1, 6), dtype) for name in given), entry("Power", "y", "x", "p", module=NUMPY)]
    module = transload.load(keras_file(tmp_path / "m.keras", functional(layers, list(given), ["y"]), {}))
    (found,) = transload.run(module, given).values()
    np.testing.assert_array_equal(found, np.array([wanted], dtype), strict=True)


def test_constants_are_tensors(tmp_path: Path) -> None:
    table = {"class_name": "__numpy__", "config": {"value": np.ones((8, 3)).tolist(), "dtype": "float32"}}
    layer = entry("Einsum", "sum", "x", table, module=NUMPY, subscripts="bij,jk->bik")
    (found,) = made(tmp_path, layer).values()
    np.testing.assert_allclose(found, X @ np.ones((8, 3), np.float32), rtol=1e-5, atol=1e-6)


def test_no_operation_passes_over_an_argument() -> None:
    """Of each that can be called with one tensor and nothing else."""
    function = new_module().add_function("main", [TensorType((1, 6, 8), F32)], ["x"])
    (x,) = function.regions[0].block.arguments
    graph, called = Graph(function.regions[0].block), 0
    for name in sorted(LAYERS):
        if not name.startswith("keras.operation_"):
            continue
        layer = entry(name.removeprefix("keras.operation_"), "part", "x", module=NUMPY)
        try:
            call_layer(graph, layer_tree(layer), [x], {}, {})
        except ReadError:
            continue
        called += 1
        layer["config"]["surprise"] = 3
        with pytest.raises(ReadError, match="its argument surprise=3 is not known here"):
            call_layer(graph, layer_tree(layer), [x], {}, {})
    assert called > 60


def test_the_page_lists_what_is_read() -> None:
    page = (Path(__file__).parents[4] / "docs" / "keras.md").read_text().partition("## Operations")[2]
    named = set(re.findall(r"`([\w.]+)`[,\n]", page))
    operations = {snake(name.removeprefix("keras.operation_")) for name in LAYERS if name.startswith("keras.operation_")}
    assert named - {"ops.layer_normalization"} == (operations - {"re_lu"}) | set(FUNCTIONS_OF_TENSORFLOW)


@pytest.mark.parametrize("order", [2, -2, "nuc"])
def test_norms_of_singular_values_are_refused(tmp_path: Path, order: Any) -> None:
    with pytest.raises(ReadError, match="is one of its singular values"):
        made(tmp_path, entry("Norm", "norm", "x", module="keras.src.ops.linalg", ord=order, axis=[1, 2]))


@pytest.mark.parametrize(("version", "wanted"), [("3.15.1", 1e-12), ("2.15.0", 1e-6)])
def test_what_a_length_is_at_least(tmp_path: Path, version: str, wanted: float) -> None:
    """In Keras 3 it is 1e-12, before the square was."""
    layer = entry("UnitNormalization", "unit", "x", axis=-1)
    model = functional([input_entry("x", X.shape), layer], ["x"], ["unit"])
    (found,) = transload.run(transload.load(h5_file(tmp_path / "m.h5", model, {}, version)), {"x": X * np.float32(1e-9)}).values()
    length = np.linalg.norm(X.astype(np.float64) * 1e-9, axis=-1, keepdims=True)
    np.testing.assert_allclose(found, X * 1e-9 / np.maximum(length, wanted), rtol=1e-4)


def test_every_activation_is_read() -> None:
    assert FUNCTIONS.keys() == {*ACTIVATIONS, "hard_swish", "thresholded_relu"}


def test_options_of_an_activation_are_not_passed_over(tmp_path: Path) -> None:
    layer = entry("Activation", "act", "x", activation={"class_name": "ReLU", "config": {"name": "r", "surprise": 2}})
    with pytest.raises(ReadError, match="the option surprise=2 of its activation relu is not known here"):
        made(tmp_path, layer)


def test_a_product_of_another_type_is_refused(tmp_path: Path) -> None:
    """TensorFlow's backend passes over it, others do not."""
    with pytest.raises(ReadError, match="is to be of type int32"):
        made(tmp_path, entry("Prod", "product", "x", module=NUMPY, axis=-1, dtype="int32"))


def array(values: Any, dtype: str = "float32") -> dict[str, Any]:
    return {"class_name": "__numpy__", "config": {"value": values, "dtype": dtype}}


def test_operations_of_constants(tmp_path: Path) -> None:
    """What Keras is called with that is no layer's result: bins, weights, segments, a kernel."""
    bins = entry("Digitize", "d", "x", array([-0.5, 0.0, 0.5]), module=NUMPY)
    np.testing.assert_array_equal(made(tmp_path, bins)["d"], np.digitize(X, [-0.5, 0.0, 0.5]))
    weights = np.arange(1, 9, dtype=np.float32)
    average = entry("Average", "a", "x", array(weights.tolist()), module=NUMPY, axis=2)
    np.testing.assert_allclose(made(tmp_path, average)["a"], np.average(X, 2, weights), rtol=1e-5, atol=1e-6)
    rows = entry("Reshape", "rows", "x", module=NUMPY, newshape=[6, 8])
    sums = entry("SegmentSum", "s", "rows", array([0, 2, 2, 0, 1, 0], "int32"), module="keras.src.ops.math", num_segments=4)
    wanted = np.stack([X[0, [0, 3, 5]].sum(0), X[0, 4], X[0, [1, 2]].sum(0), np.zeros(8)])
    np.testing.assert_allclose(made(tmp_path, rows, sums)["s"], wanted, rtol=1e-5, atol=1e-6)
    whole = entry("ScatterUpdate", "u", array(np.ones((6, 8)).tolist()), array([[4], [0]], "int32"), "part",
                  module="keras.src.ops.core", reduction="add")
    part = entry("GetItem", "part", "rows", slice_of(0, 2, None), module=NUMPY)
    wanted = np.ones((6, 8)) + np.stack([X[0, 1], *np.zeros((3, 8)), X[0, 0], np.zeros(8)])
    np.testing.assert_allclose(made(tmp_path, rows, part, whole)["u"], wanted, rtol=1e-5, atol=1e-6)
    kernel = np.random.default_rng(3).normal(size=(3, 8, 4)).astype(np.float32)
    conv = entry("Conv", "c", "x", array(kernel.tolist()), module="keras.src.ops.nn", strides=1, padding="valid")
    wanted = sum(X[:, place : place + 4] @ kernel[place] for place in range(3))
    np.testing.assert_allclose(made(tmp_path, conv)["c"], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axis", [1, -1, [1, 2]])
def test_a_scale_of_rms_is_of_the_last_dimensions(tmp_path: Path, axis: Any) -> None:
    """Whichever are normalized: Keras multiplies by it as it is."""
    scale = np.arange(1, 9, dtype=np.float32)
    norm = entry("RMSNorm", "n", "x", array(scale.tolist()), module="keras.src.ops.nn", axis=axis, epsilon=1e-6)
    axes = tuple(axis) if isinstance(axis, list) else axis
    wanted = X / np.sqrt((X**2).mean(axes, keepdims=True) + 1e-6) * scale
    np.testing.assert_allclose(made(tmp_path, norm)["n"], wanted, rtol=1e-5, atol=1e-6)


def test_patches(tmp_path: Path) -> None:
    """An image of 6 by 4 and 2 channels, in windows of 2 by 2."""
    rows = entry("Reshape", "rows", "x", module=NUMPY, newshape=[1, 6, 4, 2])
    patches = entry("ExtractPatches", "p", "rows", module="keras.src.ops.image", size=[2, 2], strides=[2, 2], padding="valid")
    wanted = X.reshape(1, 3, 2, 2, 2, 2).transpose(0, 1, 3, 2, 4, 5).reshape(1, 3, 2, 8)
    np.testing.assert_array_equal(made(tmp_path, rows, patches)["p"], wanted)


@pytest.mark.parametrize("length", [None, 6, 12])
def test_transforms(tmp_path: Path, length: int | None) -> None:
    layer = entry("RFFT", "f", "x", module="keras.src.ops.math", fft_length=length)
    model = functional([input_entry("x", X.shape), layer], ["x"], [])
    model["config"]["output_layers"] = [["f", 0, 0], ["f", 0, 1]]
    real, imaginary = transload.run(transload.load(keras_file(tmp_path / "m.keras", model, {})), {"x": X}).values()
    wanted = np.fft.rfft(X, length)
    np.testing.assert_allclose(real, wanted.real, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(imaginary, wanted.imag, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("operation", "config", "function"), [
    ("NanToNum", {"nan": 0.0, "posinf": None, "neginf": None}, lambda x: x),
    ("Floor", {}, lambda x: x.astype(np.float32)), ("Ceil", {}, lambda x: x.astype(np.float32)),
    ("Fabs", {}, lambda x: np.abs(x.astype(np.float32))), ("Absolute", {}, np.abs), ("Sign", {}, np.sign),
    ("Trace", {}, lambda x: np.array(x[0, 0], np.int32 if x.dtype == np.int32 else np.uint32)), ("Round", {}, lambda x: x),
    ("Isnan", {}, np.isnan), ("Isinf", {}, np.isinf), ("Isfinite", {}, np.isfinite),
    ("Round", {"decimals": 2}, lambda x: x), ("Round", {"decimals": -1}, lambda x: (np.round(x / 10) * 10).astype(x.dtype)),
])
@pytest.mark.parametrize("dtype", ["uint8", "int32"])
def test_operations_of_integers(
    tmp_path: Path, operation: str, config: dict[str, Any], function: Callable[[np.ndarray], np.ndarray], dtype: str,
) -> None:
    """Config as Keras writes it, with all that is at its default."""
    x = np.array([[0, 3, 42, 107]], dtype) - np.array(5 if dtype == "int32" else 0, dtype)
    model = functional([input_entry("x", x.shape, dtype), entry(operation, "y", "x", module=NUMPY, **config)], ["x"], ["y"])
    (found,) = transload.run(transload.load(keras_file(tmp_path / "m.keras", model, {})), {"x": x}).values()
    wanted = function(x)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def test_quantiles_of_a_table(tmp_path: Path) -> None:
    table = [[0.1, 0.5], [0.2, 1.0]]
    (found,) = made(tmp_path, entry("Quantile", "y", "x", table, module=NUMPY, axis=1, method="linear")).values()
    np.testing.assert_allclose(found, np.quantile(X, table, axis=1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("method", "wanted"), [
    ("lower", [1, 2, 4]), ("higher", [2, 3, 4]), ("nearest", [1, 3, 4]), ("midpoint", [1.5, 2.5, 4]), ("linear", [1.4, 2.5, 4])])
def test_percentiles_are_made_of_what_lies_there(tmp_path: Path, method: str, wanted: list[float]) -> None:
    """As Keras 3.15 computes them; of a row with NaN they are NaN."""
    shares = [10, 37.5, 75]
    model = functional(
        [input_entry("x", (2, 5)), entry("Percentile", "y", "x", shares, module=NUMPY, axis=1, method=method)], ["x"], ["y"])
    x = np.array([[5, 1, 3, 2, 4], [np.nan, 1, 2, 3, 4]], np.float32)
    (found,) = transload.run(transload.load(keras_file(tmp_path / "m.keras", model, {})), {"x": x}).values()
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-6)
    assert np.isnan(found[:, 1]).all()


def test_a_quantile_whose_method_keras_leaves_out(tmp_path: Path) -> None:
    """A saved one computes `linear` in Keras 3.15, whatever its config says, and other versions may not."""
    with pytest.raises(ReadError, match="'lower', which Keras itself leaves out") as caught:
        made(tmp_path, entry("Quantile", "y", "x", 0.3, module=NUMPY, axis=1, method="lower"))
    assert "ops.percentile" in caught.value.hint


def test_logarithms_of_sums_of_infinities(tmp_path: Path) -> None:
    """A mask of -inf: the largest less itself was no number."""
    model = functional([
        input_entry("x", (2, 2)), entry("Logsumexp", "s", "x", module="keras.src.ops.math", axis=1),
        entry("Logaddexp", "a", "x", "x", module=NUMPY)], ["x"], ["s", "a"])
    x = np.array([[-np.inf, -np.inf], [np.inf, 1]], np.float32)
    found = transload.run(transload.load(keras_file(tmp_path / "m.keras", model, {})), {"x": x})
    np.testing.assert_array_equal(found["s"], np.array([-np.inf, np.inf], np.float32))
    np.testing.assert_allclose(found["a"], np.logaddexp(x, x), rtol=1e-5)


def test_no_axis_is_not_the_default_one(tmp_path: Path) -> None:
    """`axis: null` in a file is all numbers, also where the default is the last dimension."""
    e = np.exp(X - X.max())
    for name, wanted in (("Softmax", e / e.sum()), ("Normalize", X / np.linalg.norm(X)), ("RMSNorm", X / np.sqrt(np.mean(X**2)))):
        (found,) = made(tmp_path, entry(name, "y", "x", module="keras.src.ops.nn", axis=None)).values()
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    (found,) = made(tmp_path, entry("Normalize", "y", "x", module="keras.src.ops.nn", axis=-1, order=1)).values()
    np.testing.assert_allclose(found, X / np.abs(X).sum(-1, keepdims=True), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16"])
def test_sizes_of_images_of_a_type(tmp_path: Path, dtype: str) -> None:
    """They keep it, rounded; bicubic ones overshoot."""
    x = np.repeat(np.array([[0, 0, 255, 255]], dtype), 2, 0)[None, ..., None]
    for how, wanted in (("bilinear", [0, 0, 0, 64, 191, 255, 255, 255]), ("bicubic", None)):
        layer = entry("Resize", "y", "x", module="keras.src.ops.image", size=[2, 8], interpolation=how)
        model = functional([input_entry("x", x.shape, dtype), layer], ["x"], ["y"])
        (found,) = transload.run(transload.load(keras_file(tmp_path / "m.keras", model, {})), {"x": x}).values()
        assert found.dtype == x.dtype
        if wanted is not None:
            np.testing.assert_allclose(found[0, 0, :, 0].astype(float), wanted, atol=0.5)
        elif dtype == "uint8":
            assert found[0, 0, 2, 0] == 0 and found[0, 0, 5, 0] == 255
