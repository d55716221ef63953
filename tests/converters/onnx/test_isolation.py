"""Models that end the process of onnx or onnxruntime: they are read or refused, and the judge's end is told."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import TransloadError

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402


def _model(path: Path, *nodes: object, output: int = TensorProto.FLOAT, element: int = TensorProto.FLOAT) -> Path:
    x = helper.make_tensor_value_info("x", element, [2, 4])
    y = helper.make_tensor_value_info("y", output, None)
    graph = helper.make_graph(list(nodes), "g", [x], [y])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


@pytest.mark.parametrize("node", [
    helper.make_node("RegexFullMatch", [""], ["y"], pattern="a"),
    helper.make_node("LabelEncoder", [""], ["y"], domain="ai.onnx.ml", keys_int64s=[1], values_floats=[1.0]),
    helper.make_node("LayerNormalization", ["x", "x"], ["y"], axis=2**31),
    helper.make_node("Split", ["x"], ["y", "z", "w"], axis=0, num_outputs=3),
], ids=lambda node: node.op_type)
def test_reading_survives(node: object, tmp_path: Path) -> None:
    try:
        module = transload.load(_model(tmp_path / "m.onnx", node))
    except TransloadError:
        return
    assert module.functions


def test_a_judge_that_ends_could_not_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The conversion is whole, and says that nobody judged it."""
    pytest.importorskip("onnxruntime")
    from transload_converters.onnx.isolated import ONNX

    monkeypatch.setattr(ONNX, "open", lambda *how: lambda inputs, keep: ONNX.call("os:abort"))
    path = _model(tmp_path / "m.onnx", helper.make_node("Relu", ["x"], ["y"]))
    artifact = transload.convert(path, "tosa", tmp_path / "out")
    assert artifact.verification is not None
    assert artifact.verification.status == "skipped"
    assert "could not judge" in artifact.verification.why
    assert "SIGABRT" in artifact.verification.why
    assert (tmp_path / "out" / "m.tosa").is_file()
    monkeypatch.undo()
    assert transload.convert(path, "tosa", tmp_path / "out").verified


def test_onnxruntime_is_not_in_this_process(tmp_path: Path) -> None:
    """An input that is left out where onnxruntime wants one ends its process."""
    pytest.importorskip("onnxruntime")
    from transload_converters.onnx.runtime import open_model

    run = open_model(_model(tmp_path / "m.onnx", helper.make_node("Max", ["x", ""], ["y"])))
    try:
        outputs = run({"x": np.zeros((2, 4), np.float32)})
    except TransloadError:
        return
    assert list(outputs) == ["y"]


def test_inference_without_end_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX's inference of an ellipsis of two dots never ends; ours refuses the equation."""
    from transload_converters.onnx import reader

    monkeypatch.setattr(reader, "INFERENCE_SECONDS", 1.0)
    path = _model(tmp_path / "m.onnx", helper.make_node("Einsum", ["x"], ["y"], equation="i..j->"))
    module = transload.load(path)
    assert any("took longer" in note for note in module.notes)
    with pytest.raises(TransloadError, match=r"onnx\.Einsum"):
        transload.lower(module, "tosa")


def test_inference_alone_is_that_of_the_package(tmp_path: Path) -> None:
    """Without the package, which takes long to import; where that is there already, it is asked."""
    from transload.child import python_command
    from transload_converters.onnx import inference

    path = _model(tmp_path / "m.onnx", helper.make_node("Relu", ["x"], ["y"]))
    content = path.read_bytes()
    assert inference.with_shapes_alone(content) == inference.with_shapes(content) != content
    code = (
        "from pathlib import Path; from transload_converters.onnx.inference import with_shapes_alone; "
        f"model = Path({str(path)!r}); model.write_bytes(with_shapes_alone(model.read_bytes())); "
        "assert not {'numpy', 'google', 'onnx'} & set(sys.modules)")
    subprocess.run(python_command(code, needs=("transload", "transload_converters", "onnx")), check=True)
    assert path.read_bytes() == inference.with_shapes(content)


def test_inference_follows_numbers_as_far_as_memory_goes(tmp_path: Path) -> None:
    """A number joined with itself 26 times is 64 million that shapes may be made of: without them, others are found."""
    from transload.child import python_command
    from transload_converters.onnx.graph import types_of

    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("what a process held at most is said by Linux alone")
    names = ["c", *(f"d{index}" for index in range(25)), "z"]
    path = _model(
        tmp_path / "m.onnx", helper.make_node("Constant", [], ["c"], value_floats=[1.0]),
        *(helper.make_node("Concat", [old, old], [new], axis=0) for old, new in pairwise(names)),
        helper.make_node("ReduceMax", ["z"], ["y"]))
    code = (
        "from pathlib import Path; from transload_converters.onnx.inference import with_shapes_alone; "
        f"model = Path({str(path)!r}); model.write_bytes(with_shapes_alone(model.read_bytes())); "
        f"held, = (line for line in Path({str(status)!r}).read_text().splitlines() if line.startswith('VmHWM:')); "
        "assert int(held.split()[1]) < 600 << 10, held")  # getrusage's is that of the process which began this one, too
    subprocess.run(python_command(code, needs=("transload", "transload_converters", "onnx")), check=True)
    assert str(types_of(onnx.load(path).graph)["z"]) == "tensor<67108864xf32>"
