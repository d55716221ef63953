"""Which inputs and outputs of an artifact `compare` takes for which of the model's, and what it says of their order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import UsageError

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def _file(path: Path, positive: str, negative: str, outputs: Sequence[str]) -> Path:
    """A file that gives the positive part of x, and -x, called so, in an order."""
    from tests.support.onnx_models import make_model, node

    nodes = [node("Relu", ["x"], [positive]), node("Neg", ["x"], [negative])]
    path.write_bytes(make_model(nodes, {"x": np.zeros((2, 8), np.float32)}, outputs).SerializeToString())
    return path


@pytest.mark.parametrize(("names", "outputs", "is_right", "reordered"), [
    ("ab", "ab", True, []), ("ab", "ba", True, ["b", "a"]), ("ba", "ab", False, []), ("ba", "ba", False, ["b", "a"]),
    ("pq", "pq", True, []), ("pq", "qp", False, [])])
def test_outputs_are_paired_by_name_and_another_order_is_said(
        names: str, outputs: str, is_right: bool, reordered: list[str], tmp_path: Path) -> None:
    model = _file(tmp_path / "model.onnx", "a", "b", "ab")
    other = _file(tmp_path / "other.onnx", names[0], names[1], outputs)
    for tolerance in (None, {"cos": 0.999}):
        found = transload.compare(model, other, tolerance=tolerance)
        assert bool(found.broken) is not is_right and found.as_dict()["reordered"] == reordered
        said = [note for note in found.notes if "in another order than the model's, and compared by name: b, a" in note]
        assert bool(said) is bool(reordered)


@pytest.mark.parametrize("names", ["xy", "yx"])
@pytest.mark.parametrize("is_given", [False, True])
def test_inputs_are_given_by_name_and_another_order_is_said(names: str, is_given: bool, tmp_path: Path) -> None:
    """Of two whose shapes are the same nothing else shows it."""
    from tests.support.onnx_models import make_model, node

    for file, order in (("model.onnx", "xy"), ("other.onnx", names)):
        inputs = {name: np.zeros((2, 8), np.float32) for name in order}
        (tmp_path / file).write_bytes(make_model([node("Sub", ["x", "y"], ["z"])], inputs, ["z"]).SerializeToString())
    given = {"x": np.ones((2, 8), np.float32), "y": np.arange(16, dtype=np.float32).reshape(2, 8)} if is_given else None
    found = transload.compare(tmp_path / "model.onnx", tmp_path / "other.onnx", given)
    assert not found.broken and found.as_dict()["inputs_reordered"] == (["y", "x"] if names == "yx" else [])
    said = [note for note in found.notes if note == "the inputs are in another order than the model's, and given by name: y, x"]
    assert len(said) == (names == "yx")


def test_what_is_cut_elsewhere_is_not_compared_by_place(tmp_path: Path) -> None:
    """The tensor was compared with the artifact's output, which is another: each has one."""
    from tests.support.onnx_models import make_model, node

    model = tmp_path / "model.onnx"
    nodes = [node("Neg", ["x"], ["m"]), node("Relu", ["m"], ["y"])]
    model.write_bytes(make_model(nodes, {"x": np.zeros((2, 8), np.float32)}, ["y"]).SerializeToString())
    for name, how in (("whole", {}), ("part", {"outputs": ["m"]})):
        transload.convert(model, "tosa", tmp_path / name, verify=False, **how)
        assert not transload.compare(model, tmp_path / name, **how).broken
    for artifact in (tmp_path / "whole", tmp_path / "whole" / "model.tosa", transload.load(tmp_path / "whole" / "model.tosa")):
        with pytest.raises(UsageError, match="gives 'y', and the model was cut at 'm'") as caught:
            transload.compare(model, artifact, outputs=["m"])
        assert caught.value.hint == "convert the model once more with that, or say no --outputs"
    for artifact in (tmp_path / "part", tmp_path / "part" / "model.tosa"):
        with pytest.raises(UsageError, match="gives 'm', which the model has inside, and not 'y'") as caught:
            transload.compare(model, artifact)
        assert "--outputs m" in caught.value.hint


def test_what_is_cut_at_another_tensor_is_not_compared_either(tmp_path: Path) -> None:
    """One name that both have was enough to pair the others by place."""
    from tests.support.onnx_models import make_model, node

    model = tmp_path / "model.onnx"
    nodes = [node("Neg", ["x"], ["a"]), node("Relu", ["a"], ["b"]), node("Exp", ["b"], ["c"]), node("Sqrt", ["c"], ["y"])]
    model.write_bytes(make_model(nodes, {"x": np.zeros((2, 8), np.float32)}, ["y"]).SerializeToString())
    for made, asked in ((["a"], ["b"]), (["a", "b"], ["a", "c"])):
        transload.convert(model, "tosa", tmp_path / "out", verify=False, outputs=made)
        with pytest.raises(UsageError, match="and the model was cut at") as caught:
            transload.compare(model, tmp_path / "out", outputs=asked)
        assert " ".join(f"--outputs {name}" for name in made) in caught.value.hint
        assert not transload.compare(model, tmp_path / "out", outputs=made).broken
