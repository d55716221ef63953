"""`compare` asks of outputs what `convert` asks: on further inputs, too, and not which side of a border a number is on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def _file(path: Path, *nodes: tuple[str, list[str]], size: int = 8, **constants: float) -> Path:
    """A file of nodes, each of its operator and its operands, whose results are called by their numbers."""
    made = [onnx.helper.make_node(kind, taken, [str(number)]) for number, (kind, taken) in enumerate(nodes)]
    held = [onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, [], [value]) for name, value in constants.items()]
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, size]) for name in ("x", str(len(made) - 1))]
    graph = onnx.helper.make_graph(made, "g", ends[:1], ends[1:], held)
    path.write_bytes(onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    return path


def test_what_an_offset_hides_of_the_first_inputs_shows_on_further_ones(tmp_path: Path) -> None:
    """A sum of powers beside 50 was subtracted from it: an euclid of 0.99 on noise, and of 0.9 on numbers of one sign."""
    nodes = [("Mul", ["x", "x"]), ("Mul", ["0", "less"])]
    right, wrong = (_file(tmp_path / f"{kind}.onnx", *nodes, (kind, ["50", "1"]), **{"50": 50.0, "less": 0.1})
                    for kind in ("Add", "Sub"))
    assert not transload.compare(right, transload.lower(transload.load(right), "tosa")).broken
    assert transload.compare(right, transload.lower(transload.load(wrong), "tosa")).broken


@pytest.mark.parametrize(("x", "status"), [([0, 0, 0, 3, 5, -2, 7, 1], "passed"), ([0] * 8, "inconclusive")])
def test_numbers_next_to_a_border_are_open(tmp_path: Path, x: list[float], status: str) -> None:
    """The floor of 0 and of -1e-8: nothing tells which of them is right, where the other numbers are."""
    nodes = [("Mul", ["x", "twice"]), ("Sub", ["0", "less"]), ("Floor", ["1"])]
    right, other = (_file(tmp_path / f"{less}.onnx", *nodes, twice=2.3, less=less) for less in (0.0, 1e-8))
    found = transload.compare(right, transload.lower(transload.load(other), "tosa"), {"x": np.array([x], np.float32)})
    assert not found.broken
    assert bool(found.silent) is (status == "inconclusive")
    assert any("next to a border" in note for note in found.notes), found.notes


def test_what_is_next_to_no_border_is_wrong(tmp_path: Path) -> None:
    nodes = [("Mul", ["x", "twice"]), ("Sub", ["0", "less"]), ("Floor", ["1"])]
    right, other = (_file(tmp_path / f"{less}.onnx", *nodes, twice=2.3, less=less) for less in (0.0, 0.6))
    assert transload.compare(right, transload.lower(transload.load(other), "tosa")).broken


def test_indices_beside_floats_are_judged_by_how_many_are_the_same(tmp_path: Path) -> None:
    """What is counted has no cosine: an output of integers that breaks its limits ended in a raw `KeyError`."""
    files = []
    for less in (0.1, 0.6):
        nodes = [onnx.helper.make_node("Add", ["x", "less"], ["sum"]), onnx.helper.make_node("Relu", ["sum"], ["y"]),
                 onnx.helper.make_node("Cast", ["sum"], ["counts"], to=onnx.TensorProto.INT32)]
        held = [onnx.helper.make_tensor("less", onnx.TensorProto.FLOAT, [], [less])]
        ends = [onnx.helper.make_tensor_value_info(name, kind, [1, 8]) for name, kind in (
            ("x", onnx.TensorProto.FLOAT), ("y", onnx.TensorProto.FLOAT), ("counts", onnx.TensorProto.INT32))]
        graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:], held)
        files.append(tmp_path / f"{less}.onnx")
        files[-1].write_bytes(onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    right, wrong = files
    x = {"x": np.arange(8, dtype=np.float32).reshape(1, 8) * 1.7 + 0.55}
    assert not transload.compare(right, transload.lower(transload.load(right), "tosa"), x).broken
    found = transload.compare(right, transload.lower(transload.load(wrong), "tosa"), x)
    assert any(reason.startswith("counts") for reason in found.broken), found.broken


def _quantized(path: Path, form: str, turned: bool = False) -> Path:
    """A product of integers in a form of ONNX, of weights some of whose rows are `turned`: what its tensors stand for is said
    beside them, and the names that the model's inputs and outputs have are of nothing inside."""
    helper, bytes_, floats = onnx.helper, onnx.TensorProto.UINT8, onnx.TensorProto.FLOAT
    weights = np.random.default_rng(0).integers(0, 255, (6, 5), np.uint8)
    weights = weights[[1, 0, 2, 3, 4, 5]] if turned else weights
    scales = {"of_x": (0.06, 11), "of_w": (0.01, 125), "of_y": (0.08, 90)}
    held = [onnx.numpy_helper.from_array(weights, "w")]
    for name, (scale, zero) in scales.items():
        held += [helper.make_tensor(name, floats, [], [scale]), helper.make_tensor(f"{name}_zero", bytes_, [], [zero])]
    x, w, y = ([name, f"{name}_zero"] for name in scales)
    if form == "operator":
        nodes, of_ends = [helper.make_node("QLinearMatMul", ["x", *x, "w", *w, *y], ["y"])], bytes_
    else:
        made = (("QuantizeLinear", ["x", *x], "q"), ("DequantizeLinear", ["q", *x], "d"), ("DequantizeLinear", ["w", *w], "v"),
                ("MatMul", ["d", "v"], "p"), ("QuantizeLinear", ["p", *y], "r"), ("DequantizeLinear", ["r", *y], "y"))
        nodes, of_ends = [helper.make_node(kind, taken, [to]) for kind, taken, to in made], floats
    ends = [helper.make_tensor_value_info(name, of_ends, [4, size]) for name, size in (("x", 6), ("y", 5))]
    path.write_bytes(helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:], held), ir_version=8,
                                       opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
    return path


@pytest.mark.parametrize("target", ["tosa", "onnx"])
@pytest.mark.parametrize("form", ["operator", "beside"])
def test_quantized_models_whose_inner_tensors_have_other_names_are_judged(tmp_path: Path, form: str, target: str) -> None:
    """An artifact of turned weights had no note, and was near enough by `--tolerance` where the first inputs did not tell."""
    right, wrong = (_quantized(tmp_path / f"{turned}.onnx", form, turned) for turned in (False, True))
    for model in (right, wrong):
        transload.convert(model, target, tmp_path / target / model.stem, verify="no")
        for limits in (None, {"integer": 1}):
            found = transload.compare(right, tmp_path / target / model.stem, tolerance=limits)
            assert bool(found.broken) is (model is wrong), (model, limits, found.broken)
            assert not found.otherwise
