"""Sizes that a model leaves open are those of the artifact that it is compared with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.cli import run as command
from transload.errors import TransloadError, UsageError

onnx = pytest.importorskip("onnx", reason="models are written by it")
pytest.importorskip("onnxruntime", reason="the judge of what is compared")


def _model(path: Path, sizes: list[str | int]) -> Path:
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("Relu", ["a [n]"], ["r"]), helper.make_node("ReduceMean", ["r"], ["y"], keepdims=1)], "open",
        [helper.make_tensor_value_info("a [n]", kind, sizes)], [helper.make_tensor_value_info("y", kind, [1] * len(sizes))])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def test_the_artifact_says_them(tmp_path: Path) -> None:
    path = _model(tmp_path / "open.onnx", ["N", "?", "?"])
    artifact = transload.lower(transload.load(path, inputs={"a [n]": (4, 5, 7)}), "tosa")
    for given in (None, {"a [n]": np.ones((4, 5, 7), np.float32)}):
        found = transload.compare(path, artifact, given)
        assert found.worst("cos") == 1


def test_the_artifact_says_the_batch(tmp_path: Path) -> None:
    """Which is 1 where nobody says one, so that an artifact of another batch could not be compared."""
    path, out = _model(tmp_path / "open.onnx", ["N", 3, 2]), tmp_path / "out"
    assert command(["convert", str(path), "-o", str(out), "-q", "--batch", "5"]) == 0
    assert command(["compare", str(path), str(out)]) == 0
    assert [each.shape for each in transload.compare(path, out).tensors] == [(1, 1, 1)]
    artifact = transload.lower(transload.load(path, inputs={"a [n]": (5, 3, 2)}), "tosa")
    assert transload.compare(path, artifact).worst("cos") == 1
    with pytest.raises(TransloadError, match="1x3x2"):
        transload.compare(path, artifact, shapes={"a [n]": (1, 3, 2)})


@pytest.mark.parametrize("sizes", [["N", "?", "?"], ["N", 5, 7]])
def test_a_file_that_leaves_them_open_too_takes_those_that_are_given(tmp_path: Path, sizes: list[str | int]) -> None:
    """The way out that the error told, `--shape`, was for the model alone, and a batch of it was 1."""
    path, other = (_model(tmp_path / name, sizes) for name in ("open.onnx", "other.onnx"))
    for given in ({"shapes": {"a [n]": (4, 5, 7)}}, {"inputs": {"a [n]": np.ones((4, 5, 7), np.float32)}}):
        found = transload.compare(path, other, **given)
        assert found.worst("cos") == 1
    assert command(["compare", str(path), str(other), "--shape", "a [n]:4x5x7"]) == 0


def test_not_where_it_is_of_another_model(tmp_path: Path) -> None:
    """Of other known sizes, or another rank: what is said is that sizes are open, or, where the data says these, that the other
    does not take it."""
    path = _model(tmp_path / "open.onnx", [2, "?"])
    data = {"a [n]": np.ones((3, 2, 5), np.float32)}
    for shape in ((3, 5), (2, 5, 1)):
        other = _model(tmp_path / "other.onnx", list(shape))
        with pytest.raises(TransloadError, match="no static shape"):
            transload.compare(path, transload.lower(transload.load(other), "tosa"))
    other = _model(tmp_path / "other.onnx", [3, 5])
    with pytest.raises(TransloadError, match="do not fit input"):
        transload.evaluate([path, other], data, metrics=["sqnr"])


def test_what_is_said_after_a_conversion_scores_a_model_whose_sizes_were_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:
    """`--dim` was said to `convert`, and `transload eval MODEL FOLDER` did not know it."""
    path, samples = _model(tmp_path / "open.onnx", [1, "H", "W"]), tmp_path / "samples.npz"
    np.savez(samples, **{"a [n]": np.random.default_rng(0).standard_normal((8, 1, 5, 7)).astype(np.float32)})
    transload.convert(path, "tosa", tmp_path / "out", inputs={"a [n]": (1, 5, 7)})
    assert command(["eval", str(path), str(tmp_path / "out"), "--data", str(samples), "--metric", "sqnr", "--json"]) == 0
    assert '"sqnr"' in capsys.readouterr().out
    assert command(["eval", str(path), "--data", str(samples), "--metric", "equal"]) != 0
    assert "no static shape" not in capsys.readouterr().err  # as the samples say it


def _of_three(path: Path) -> Path:
    onnx.save(onnx.parser.parse_model("""<ir_version: 9, opset_import: ["": 19]>
        g (float[4] a, float[4] b, float[4] c) => (float[4] y, float[4] z) { y = Add (a, b) z = Mul (y, c) }"""), path)
    return path


def _of_an_optional(path: Path) -> Path:
    onnx.save(onnx.parser.parse_model("""<ir_version: 9, opset_import: ["": 19]>
        g (optional(float[N,4]) o, float[4] z) => (float[4] y, bool h) { h = OptionalHasElement (o) y = Neg (z) }"""), path)
    return path


def test_other_inputs_than_the_models_are_explained(tmp_path: Path) -> None:
    """It was said to be a state, whatever it was; what is said helps."""
    path = _of_three(tmp_path / "three.onnx")
    transload.convert(path, "tosa", tmp_path / "cut", outputs=["y"])
    with pytest.raises(UsageError, match=r"2 inputs \(a, b\), and the model 3 \(a, b, c\)") as caught:
        transload.compare(path, tmp_path / "cut")
    assert (caught.value.hint or "").endswith("--outputs y")
    assert transload.compare(path, tmp_path / "cut", outputs=["y"]).worst("max_abs") == 0
    path = _of_an_optional(tmp_path / "optional.onnx")
    transload.convert(path, "tosa", tmp_path / "given", inputs={"o": (2, 4)}, verify=False)
    with pytest.raises(UsageError) as caught:
        transload.compare(path, tmp_path / "given")
    assert "--shape o:2x4" in (caught.value.hint or "")
    assert transload.compare(path, tmp_path / "given", shapes={"o": (2, 4)}).worst("max_abs") == 0
