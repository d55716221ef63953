"""Files with several signatures: which subgraph is the model, what is said of the others, and LiteRT runs them by their names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.cli import main
from transload.errors import UsageError
from transload_converters.tflite.runtime import available, open_model
from transload_converters.tflite.writer import ModelWriter

F = "float32"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """`y = a - b` by two signatures, and a subgraph of another that gives `exp(|x|)` of any batch."""
    model = ModelWriter()
    a, b, y = (model.add_tensor(name, (1, 3), F) for name in "aby")
    model.add_operator("SUB", [a, b], [y])
    model.inputs, model.outputs = [a, b], [y]
    model.add_signature("minus", {"left": a, "right": b}, {"difference": y})
    model.add_signature("again", {"first": a, "second": b}, {"result": y})
    beside = model.add_subgraph("beside")
    x, size, power = (beside.add_tensor(name, (1, 5), F, shape_signature=(-1, 5)) for name in ("x", "size", "power"))
    beside.add_operator("ABS", [x], [size])
    beside.add_operator("EXP", [size], [power])
    beside.inputs, beside.outputs = [x], [power]
    model.add_signature("growth", {"argument": x}, {"result": power}, subgraph=1)
    path = tmp_path / "several.tflite"
    path.write_bytes(model.finish())
    return path


@pytest.mark.parametrize("name", ["growth", "beside"])
def test_the_subgraph_of_a_signature_is_the_model(file: Path, name: str) -> None:
    module = transload.load(file, function=name, inputs={"x": (2, 5)})
    assert list(module.functions) == ["main"] and module.entry == name
    x = np.array([[0, 1, -1, 2, -2]] * 2, np.float32)
    assert np.allclose(transload.run(module, {"x": x})["power"], np.exp(abs(x)))


@pytest.mark.parametrize("name", ["main", "minus", "again"])
def test_a_signature_of_the_first_subgraph(file: Path, name: str) -> None:
    module = transload.load(file, function=name)
    assert list(module.inputs) == ["a", "b"] and module.entry == "main" and set(module.functions) == {"main", "beside"}


def test_what_there_is_is_said(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError) as error:
        transload.load(file, function="growht")
    assert "'growht'" in str(error.value)
    assert error.value.hint == "did you mean 'growth'? signatures: minus, again, growth; functions: main, beside"
    found = transload.inspect(file)
    assert found.notes == ("signatures 'minus', 'again' are read; --signature takes growth, too",)
    assert found.notes[0] in str(found)
    with pytest.raises(SystemExit):
        main(["inspect", str(file)])
    assert "--signature takes growth, too" in " ".join(capsys.readouterr().out.split())


@pytest.mark.skipif(available() is not None, reason="LiteRT is not installed")
def test_litert_judges_it(file: Path, tmp_path: Path) -> None:
    made = transload.convert(file, "tflite", tmp_path / "out", function="growth", verify="require")
    assert made.verification is not None and made.verification.passed
    compared = transload.compare(file, tmp_path / "out", function="growth", per_layer=True)
    assert {tensor.name: tensor.metrics["max_abs"] for tensor in compared.tensors} == pytest.approx(
        {"power": 0, "size": 0}, abs=1e-6)
    x = np.array([[-1, 0, 1, 2, 3]], np.float32)
    ours, theirs = open_model(made.files[0])({"x": x}), open_model(file, "growth")({"x": np.repeat(x, 3, 0)})
    assert np.array_equal(ours["power"], theirs["power"][:1])


@pytest.mark.skipif(available() is not None, reason="LiteRT is not installed")
def test_an_artifact_is_compared_with_the_signature_that_it_is_of(file: Path, tmp_path: Path) -> None:
    """The report names it, and sizes are the artifact's; what is asked for goes before."""
    out = tmp_path / "out"
    made = transload.convert(file, out=out, function="growth", inputs={"x": (2, 5)})
    assert made.report.function == "growth"
    compared = transload.compare(file, out)
    assert [(each.name, each.shape) for each in compared.tensors] == [("power", (2, 5))] and compared.worst("max_abs") < 1e-5
    x = np.linspace(-1, 1, 40, dtype=np.float32).reshape(4, 2, 5)
    scored = transload.evaluate([file, out], {"x": x}, metrics=["sqnr"])
    assert list(scored.scores.values())[1]["sqnr"].value > 100
    with pytest.raises(UsageError, match="was made of the function 'growth', and 'minus' is asked for"):
        transload.compare(file, out, function="minus")
    assert transload.convert(file, out=out).report.function is None
    assert [each.name for each in transload.compare(file, out).tensors] == ["y"]


@pytest.mark.skipif(available() is not None, reason="LiteRT is not installed")
def test_what_was_made_of_a_signature_is_compared_with_other_files_of_it(file: Path, tmp_path: Path) -> None:
    """Such a file has no signature of that name: it is what was converted, as a whole."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    made = transload.convert(file, "onnx", tmp_path / "onnx", function="growth")
    peer = made.files[0].rename(tmp_path / "peer.onnx")
    out = tmp_path / "out"
    transload.convert(file, out=out, function="growth")
    assert transload.compare(peer, out).worst("max_abs") < 1e-5
    scored = transload.evaluate([peer, out], {"x": np.ones((4, 1, 5), np.float32)}, metrics=["sqnr"])
    assert list(scored.scores.values())[1]["sqnr"].value > 100
    with pytest.raises(UsageError, match="no function 'growth'"):
        transload.compare(peer, out, function="growth")


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Beside the first subgraph one called `step` of signature `main`: `y = x + total`, and `total`, a variable, becomes `y`."""
    model = ModelWriter()
    a, b = (model.add_tensor(name, (1, 4), F) for name in "ab")
    model.add_operator("ABS", [a], [b])
    model.inputs, model.outputs = [a], [b]
    model.add_signature("size", {"in": a}, {"out": b})
    step = model.add_subgraph("step")
    x, total, y = (step.add_tensor(name, (1, 4), F) for name in ("x", "total", "y"))
    handle = step.add_tensor("handle", (1,), "resource")
    step.add_operator("CALL_ONCE", [], [], {"init_subgraph_index": 2})
    step.add_operator("VAR_HANDLE", [], [handle], {"shared_name": "total"})
    step.add_operator("READ_VARIABLE", [handle], [total])
    step.add_operator("ADD", [x, total], [y])
    step.add_operator("ASSIGN_VARIABLE", [handle, y], [])
    step.inputs, step.outputs = [x], [y]
    model.add_signature("main", {"in": x}, {"sum": y}, subgraph=1)
    first = model.add_subgraph("first")
    numbers = first.add_tensor("numbers", (1, 4), F, np.array([[0.5, 1, 2, 4]], np.float32))
    handle = first.add_tensor("handle", (1,), "resource")
    first.add_operator("VAR_HANDLE", [], [handle], {"shared_name": "total"})
    first.add_operator("ASSIGN_VARIABLE", [handle, numbers], [])
    path = tmp_path / "kept.tflite"
    path.write_bytes(model.finish())
    return path


@pytest.mark.skipif(available() is not None, reason="LiteRT is not installed")
@pytest.mark.parametrize("name", ["main", "step"])
def test_a_signature_with_the_name_of_the_first_subgraph_and_variables(kept: Path, tmp_path: Path, name: str) -> None:
    made = transload.convert(kept, "tflite", tmp_path / "out", function=name, verify="require")
    assert list(made.module.inputs)[:1] == ["x"]
    run = open_model(kept, "step")
    for _ in range(3):
        assert run({"x": np.ones((1, 4), np.float32)})["y"].tolist() == [[1.5, 2, 3, 5]]


@pytest.mark.skipif(available() is not None, reason="LiteRT is not installed")
def test_a_function_without_a_signature_is_not_judged(tmp_path: Path) -> None:
    model = ModelWriter()
    for graph in (model, model.add_subgraph("beside")):
        x, y = (graph.add_tensor(name, (1, 5), F) for name in "xy")
        graph.add_operator("ABS", [x], [y])
        graph.inputs, graph.outputs = [x], [y]
    file = tmp_path / "none.tflite"
    file.write_bytes(model.finish())
    made = transload.convert(file, out=tmp_path / "out", function="beside")
    assert made.verification is not None and made.verification.status == "skipped"
    assert "LiteRT runs functions by their signatures" in made.verification.why


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """`y = |x|`, which the signatures call `size` and `length`, and `x` itself as `same`; `z = exp(y)` has its own name."""
    model = ModelWriter()
    x, y, z = (model.add_tensor(name, (1, 3), F) for name in "xyz")
    model.add_operator("ABS", [x], [y])
    model.add_operator("EXP", [y], [z])
    model.inputs, model.outputs = [x], [y, x, z, y]
    model.add_signature("first", {"in": x}, {"size": y, "same": x, "power": z, "length": y})
    model.add_signature("second", {"in": x}, {"a": y, "b": x, "c": z, "d": y})
    path = tmp_path / "shared.tflite"
    path.write_bytes(model.finish())
    return path


NAMES = ["size", "same", "z", "length"]


@pytest.mark.skipif(available() is not None, reason="LiteRT is not installed")
@pytest.mark.parametrize("function", ["main", "first", "second"])
def test_outputs_of_one_tensor_have_the_names_of_the_signature(shared: Path, tmp_path: Path, function: str) -> None:
    """They were `y`, `x`, as the input, and `y_3`; by a signature LiteRT could not judge them."""
    module = transload.load(shared, function=function)
    x = np.array([[0.5, -1, 2]], np.float32)
    assert list(module.outputs) == NAMES
    ours, theirs = transload.run(module, {"x": x}), open_model(shared, function)({"x": x})
    assert list(ours) == list(theirs) == NAMES
    for name in NAMES:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-6)
    made = transload.convert(shared, "tflite", tmp_path / "out", function=function, verify="require")
    assert [each.name for each in made.report.outputs] == NAMES
    assert list(transload.load(tmp_path / "out" / "shared.tflite").outputs) == NAMES


def test_names_of_a_signature_that_other_tensors_have_tell_nothing_apart(tmp_path: Path) -> None:
    model = ModelWriter()
    x, y = (model.add_tensor(name, (1, 3), F) for name in "xy")
    model.add_operator("ABS", [x], [y])
    model.inputs, model.outputs = [x], [y, y]
    model.add_signature("mixed", {"x": x}, {"x": y, "z": y})
    (tmp_path / "m.tflite").write_bytes(model.finish())
    assert list(transload.load(tmp_path / "m.tflite").outputs) == ["y", "y_1"]
