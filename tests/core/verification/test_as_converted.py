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
    right, other = (_file(tmp_path / f"{less}.onnx", *nodes, twice=2.5, less=less) for less in (0.0, 1e-8))
    found = transload.compare(right, transload.lower(transload.load(other), "tosa"), {"x": np.array([x], np.float32)})
    assert not found.broken
    assert bool(found.silent) is (status == "inconclusive")
    assert any("next to a border" in note for note in found.notes), found.notes


def test_what_is_next_to_no_border_is_wrong(tmp_path: Path) -> None:
    nodes = [("Mul", ["x", "twice"]), ("Sub", ["0", "less"]), ("Floor", ["1"])]
    right, other = (_file(tmp_path / f"{less}.onnx", *nodes, twice=2.5, less=less) for less in (0.0, 0.6))
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
