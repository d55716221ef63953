"""`compare(per_layer=True)`: a tensor is compared by what its numbers mean, whatever an artifact stores it as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.cli.show import short_names
from transload.ir import F32, I8, UI8, QuantType
from transload.verification.layers import layer_differences

UNSIGNED = QuantType(UI8, F32, (0.5,), (100,))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Quantized to uint8 all through: `q`, `a` and `b` are unsigned in onnxruntime, and signed in our TOSA."""
    pytest.importorskip("onnxruntime")
    from tests.support.onnx_models import make_model, node

    scale, zero = ["s", "z"], ["s", "z"]
    nodes = [
        node("QuantizeLinear", ["x", *scale], ["q"]),
        node("QLinearAdd", ["q", *scale, "q", *zero, *scale], ["a"], domain="com.microsoft"),
        node("QLinearSigmoid", ["a", *scale, "t", "u"], ["b"], domain="com.microsoft"),
        node("DequantizeLinear", ["b", "t", "u"], ["y"])]
    file = tmp_path / "unsigned.onnx"
    file.write_bytes(make_model(
        nodes, {"x": np.zeros((2, 6), np.float32)}, ["y"],
        {"s": np.float32(0.05), "z": np.uint8(100), "t": np.float32(1 / 256), "u": np.uint8(0)}).SerializeToString())
    return file


@pytest.mark.parametrize("dialect", ["top", "tosa"])
def test_unsigned_tensors_inside_are_the_same(model: Path, dialect: str) -> None:
    comparison = transload.compare(model, transload.lower(transload.load(model), dialect), per_layer=True)
    layers = {tensor.name: tensor for tensor in comparison.tensors}
    assert {"q", "a", "b", "y"} <= set(layers)
    for name in ("q", "a", "b"):
        assert layers[name].dtype == "uint8"
        assert layers[name].metrics["max_abs"] <= 1, name
        assert layers[name].metrics["cos"] > 0.999, name


def one(reference: Any, actual: Any, element: QuantType | None = None) -> Any:
    (found,) = layer_differences({"t": np.asarray(reference)}, {"t": np.asarray(actual)}, {"t": element} if element else {})
    return found


@pytest.mark.parametrize("width", [8, 16])
def test_shifted_numbers_are_shifted_back(width: int) -> None:
    from transload.ir import IntegerType

    element = QuantType(IntegerType(width, "u"), F32, (0.5,), (100,))
    numbers = np.array([0, 1, (1 << width) - 1], f"uint{width}")
    shifted = (numbers.astype(np.int64) - (1 << (width - 1))).astype(f"int{width}")
    assert one(numbers, shifted, element).metrics["max_abs"] == 0
    assert one(numbers, numbers, element).metrics["max_abs"] == 0  # the hub holds them as they are


def test_stored_numbers_are_compared_as_reals_with_reals() -> None:
    assert one(np.float32([-50, 0, 77.5]), np.array([-128, -28, 127], np.int8), UNSIGNED).metrics["max_abs"] == 0
    signed = QuantType(I8, F32, (0.5,), (3,))
    assert one(np.float32([-65.5, -1.5]), np.array([-128, 0], np.int8), signed).metrics["max_abs"] == 0


def test_dimensions_are_compared_in_the_order_that_fits() -> None:
    x = np.arange(2 * 3 * 4 * 4, dtype=np.float32).reshape(2, 3, 4, 4)
    for order in ((0, 2, 3, 1), (3, 2, 1, 0), (0, 3, 2, 1)):
        assert one(x, x.transpose(order)).metrics["max_abs"] == 0
    square = np.arange(27, dtype=np.float32).reshape(3, 3, 3)
    assert one(square, np.moveaxis(square, 0, -1)).metrics["max_abs"] == 0
    assert one(square, square + 1).metrics["max_abs"] == 1
    assert one(x, x[:1]).note


@pytest.mark.parametrize(("shape", "order", "made"), [
    ((1, 3, 5, 4), (0, 1, 2, 3), (15, 1, 1, 4)), ((2, 3, 5), (0, 1, 2), (30,)), ((2, 4, 3, 5), (0, 2, 3, 1), (30, 4)),
    ((2, 4, 5), (0, 2, 1), (1, 10, 1, 4))])
def test_merged_dimensions_are_split_again(shape: tuple[int, ...], order: tuple[int, ...], made: tuple[int, ...]) -> None:
    """A layer's rows are held together, between two layers for good; they were not compared."""
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    found = one(x, x.transpose(order).reshape(made))
    assert found.metrics["max_abs"] == 0 and not found.note
    assert one(x, x.transpose(order).reshape(made) * np.float32(1.5)).metrics["max_abs"] > 0.5
    assert "shape" in one(x, np.zeros((7, 5), np.float32)).note


def test_parts_of_a_dimension_are_none_of_it() -> None:
    x = np.arange(48, dtype=np.float32).reshape(1, 4, 4, 3)
    assert "shape" in one(x, x.reshape(1, 2, 2, 2, 2, 3)).note


def test_names_in_a_table_are_told_apart() -> None:
    long = "layer/" * 20
    names = ["a;b;c", "a;b;d", "x", "long;" + long, long + "1", long + "2", "a"]
    shown = short_names(names)
    assert len(set(shown)) == len(names)
    assert shown[2] == "x"
    assert shown[3] == "long…"
    assert all(len(name) <= 48 for name in shown)
    same_ends = [long + "1" + long, long + "2" + long]
    assert short_names(same_ends) == same_ends


@pytest.fixture
def relu_in_a_zero_point(tmp_path: Path) -> tuple[Path, Path]:
    """A float model, and one of QDQ form whose `a` is negative before it is quantized: its ReLU is the end of a range."""
    pytest.importorskip("onnxruntime")
    from tests.support.onnx_models import make_model, node

    x = {"x": np.zeros((4, 6), np.float32)}
    constants = {"one": np.float32(1), "s": np.float32(1 / 64), "z": np.uint8(0)}
    floats = [node("Sub", ["x", "one"], ["d"]), node("Relu", ["d"], ["a"]), node("Sqrt", ["a"], ["y"])]
    stepped = [
        node("Sub", ["x", "one"], ["a"]), node("QuantizeLinear", ["a", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["r"]), node("Sqrt", ["r"], ["y"])]
    files = tmp_path / "float.onnx", tmp_path / "stepped.onnx"
    for file, nodes, names in zip(files, (floats, stepped), (["one"], ["one", "s", "z"]), strict=True):
        file.write_bytes(make_model(nodes, x, ["y"], {name: constants[name] for name in names}).SerializeToString())
    return files


def test_what_is_quantized_before_it_is_taken_is_compared_as_it_is_taken(relu_in_a_zero_point: tuple[Path, Path]) -> None:
    floats, stepped = relu_in_a_zero_point
    given = {"x": np.linspace(-2, 4, 24, dtype=np.float32).reshape(4, 6)}
    for artifact in (stepped, transload.lower(transload.load(stepped), "tosa")):
        found = {each.name: each for each in transload.compare(
            stepped, artifact, given, per_layer=True).tensors}
        assert found["a"].metrics["max_abs"] == 0
    (layer,) = (each for each in transload.compare(floats, stepped, given, per_layer=True).tensors if each.name == "a")
    assert 0 < layer.metrics["max_abs"] <= 1 / 128 + 1e-6


def test_the_page_shows_what_is_taken(relu_in_a_zero_point: tuple[Path, Path]) -> None:
    from transload_plugins.view.comparing import by_name

    floats, stepped = (transload.load(file) for file in relu_in_a_zero_point)
    told = by_name(floats, stepped, {"x": np.linspace(-2, 4, 24, dtype=np.float32).reshape(4, 6)})
    (layer,) = (each for each in told["layers"] if each["name"] == "a")
    assert layer["accumulated"]["sqnr"] > 40


REPEATED = """"builtin.module"() ({
  "func.func"() <{sym_name = "main", function_type = (tensor<1x4xf32>) -> tensor<1x4xf32>}> ({
  ^bb0(%x: tensor<1x4xf32> loc("x")):
    %0 = "stablehlo.tanh"(%x) : (tensor<1x4xf32>) -> tensor<1x4xf32> loc("f/tanh")
    %1 = "stablehlo.negate"(%0) : (tensor<1x4xf32>) -> tensor<1x4xf32> loc("f/neg")
    %2 = "stablehlo.tanh"(%1) : (tensor<1x4xf32>) -> tensor<1x4xf32> loc("f/tanh")
    %3 = "stablehlo.exponential"(%2) : (tensor<1x4xf32>) -> tensor<1x4xf32> loc("f/exp")
    %4 = "stablehlo.tanh"(%3) : (tensor<1x4xf32>) -> tensor<1x4xf32> loc("f/tanh")
    "func.return"(%4) : (tensor<1x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""


@pytest.mark.parametrize("to_bytecode", [False, True])
def test_tensors_whose_names_occur_again_are_told_apart(tmp_path: Path, to_bytecode: bool) -> None:
    """JAX calls every op by where it stands in the source: the first `tanh` was compared with the last one."""
    pytest.importorskip("jaxlib")
    file = tmp_path / "again.mlir"
    file.write_text(REPEATED)
    if to_bytecode:
        from transload_converters.stablehlo.worker import bytecode_of

        program = bytecode_of(REPEATED.encode(), "again")
        file = tmp_path / "again.stablehlo"
        file.write_bytes(program)
    model = transload.load(file)
    x = np.linspace(-2, 2, 4, dtype=np.float32)[None]
    found = transload.run(model, {"x": x}, keep=True, engine="reference")
    first = np.tanh(x)
    second = np.tanh(-first)
    wanted = {"f/tanh#1": first, "f/neg": -first, "f/tanh#2": second, "f/exp": np.exp(second), "f/tanh": np.tanh(np.exp(second))}
    assert list(found) == list(wanted)
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-6)
    transload.convert(file, "tosa", tmp_path / "out")
    comparison = transload.compare(file, tmp_path / "out", per_layer=True)
    assert [tensor.name for tensor in comparison.tensors] == list(wanted)
    assert min(tensor.metrics["sqnr"] for tensor in comparison.tensors) > 100


def test_what_is_inside_of_loops_does_not_count_with_what_a_function_computes() -> None:
    from transload.ir.names import numbered

    assert numbered(["a", "b", "a", "a#1", "a"]) == ["a#2", "b", "a#3", "a#1", "a"]
    assert numbered(["a", "c"], ["a", "a#1"]) == ["a#2", "c"]


def test_outputs_in_another_order_are_compared_by_their_names(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    from tests.support.onnx_models import make_model, node

    files = []
    for outputs in (["a", "b"], ["b", "a"]):
        files.append(tmp_path / f"{''.join(outputs)}.onnx")
        nodes = [node("Neg", ["x"], ["a"]), node("Exp", ["x"], ["b"])]
        files[-1].write_bytes(make_model(nodes, {"x": np.zeros((2, 6), np.float32)}, outputs).SerializeToString())
    comparison = transload.compare(*files)
    assert [tensor.name for tensor in comparison.tensors] == ["a", "b"] and comparison.worst("cos") > 0.999


def maps(tmp_path: Path, *after: Any) -> Path:
    """A file of `y = x @ W` of 6 x 6 scores, with nodes behind it that make `y` of `y0`."""
    from tests.support.onnx_models import make_model, node

    weights = np.random.default_rng(0).normal(size=(5, 6)).astype(np.float32)
    file = tmp_path / f"{after[0].op_type}.onnx"
    file.write_bytes(make_model(
        [node("MatMul", ["x", "w"], ["y0"]), *after], {"x": np.zeros((1, 6, 5), np.float32)}, ["y"], {"w": weights},
    ).SerializeToString())
    return file


def test_outputs_are_not_turned(tmp_path: Path) -> None:
    """A map given transposed was turned to the order in which it is nearest, and told to be the same."""
    pytest.importorskip("onnxruntime")
    from tests.support.onnx_models import node

    right = maps(tmp_path, node("Identity", ["y0"], ["y"]))
    wrong = maps(tmp_path, node("Transpose", ["y0"], ["y"], perm=[0, 2, 1]))
    for target in ("onnx", "tosa"):
        transload.convert(wrong, target, tmp_path / target, verify=False)
        comparison = transload.compare(right, tmp_path / target)
        assert comparison.broken and comparison.worst("cos") < 0.9 and not comparison.tensors[-1].turned
    transload.convert(right, "tosa", tmp_path / "right")
    assert not transload.compare(right, tmp_path / "right").broken


def test_intermediates_on_an_offset_are_turned_too() -> None:
    """Beside 300 throughout a transposed map was as near as it was, and told as it lay; roundings of the offset turn nothing."""
    x = np.random.default_rng(0).normal(size=(5, 5, 5)).astype(np.float32) + np.float32(300)
    assert one(x, x.transpose(0, 2, 1)).turned
    assert not one(x, x + np.float32(1e-4)).turned
    noise = np.random.default_rng(1).normal(size=(5, 5, 5)).astype(np.float32)
    rounded = np.float32(300) + noise * np.float32(1e-5)
    assert not one(rounded, rounded.transpose(0, 2, 1)).turned


def test_intermediates_of_equal_sizes_are_turned_where_they_are_far_otherwise() -> None:
    x = np.random.default_rng(0).normal(size=(5, 5, 5)).astype(np.float32)
    turned = one(x, x.transpose(0, 2, 1))
    assert turned.turned and turned.metrics["cos"] > 0.999
    assert not one(x, x).turned and not one(x, x + np.float32(1e-6)).turned
    symmetric = (x + x.transpose(0, 2, 1)) * np.float32(0.5)
    assert not one(symmetric, symmetric.transpose(0, 2, 1) + np.float32(1e-6)).turned
    noise = np.random.default_rng(1).normal(size=(5, 5, 5)).astype(np.float32)
    wrong = one(x, noise)
    assert not wrong.turned and wrong.metrics["max_abs"] == pytest.approx(np.abs(x - noise).max())
    whole = one(np.zeros((1, 3, 4), np.float32) + np.arange(3, dtype=np.float32)[:, None], np.tile(np.arange(3.0), (1, 4, 1)))
    assert not whole.turned and whole.metrics["max_abs"] == 0  # of other sizes there is one order that fits
