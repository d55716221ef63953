"""Models with tensors that hold no numbers, handles of variables and text: cut, judged by LiteRT, and compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import RunError
from transload.verification.inputs import random_inputs
from transload_converters.tflite.runtime import available, open_model
from transload_converters.tflite.writer import ModelWriter, SubgraphWriter

pytestmark = pytest.mark.skipif(available() is not None, reason="LiteRT is not installed")
F = "float32"


def handle(graph: SubgraphWriter, dtype: str) -> int:
    made = graph.add_tensor("handle", () if dtype == "int32" else (1,), dtype)
    graph.add_operator("VAR_HANDLE", [], [made], {"shared_name": "total"})
    return made


def accumulator(path: Path, dtype: str = "resource") -> Path:
    """`y = x + total`, and `total` becomes `y`; `z = |y|` beside it."""
    model = ModelWriter()
    x, total, y, z = (model.add_tensor(name, (1, 4), F) for name in ("x", "total", "y", "z"))
    model.add_operator("CALL_ONCE", [], [], {"init_subgraph_index": 1})
    variable = handle(model, dtype)
    model.add_operator("READ_VARIABLE", [variable], [total])
    model.add_operator("ADD", [x, total], [y])
    model.add_operator("ASSIGN_VARIABLE", [variable, y], [])
    model.add_operator("ABS", [y], [z])
    model.inputs, model.outputs = [x], [y, z]
    model.add_signature("add", {"in": x}, {"sum": y, "size": z})
    first = model.add_subgraph("first")
    numbers = first.add_tensor("numbers", (1, 4), F, np.array([[0.5, 1, 2, 4]], np.float32))
    first.add_operator("ASSIGN_VARIABLE", [handle(first, dtype), numbers], [])
    path.write_bytes(model.finish())
    return path


@pytest.mark.parametrize("dtype", ["resource", "int32"])
@pytest.mark.parametrize("keep", [False, True])
def test_every_run_is_the_first(tmp_path: Path, dtype: str, keep: bool) -> None:
    """LiteRT keeps what variables are from run to run, and has no way to reset them."""
    run = open_model(accumulator(tmp_path / "m.tflite", dtype))
    for _ in range(3):
        assert run({"x": np.ones((1, 4), np.float32)}, keep=keep)["y"].tolist() == [[1.5, 2, 3, 5]]


def test_a_handle_is_no_operator_that_litert_is_asked_about(tmp_path: Path) -> None:
    """Of a variable that has no value before the first run, its handle alone was run, gave no numbers, and was refused."""
    model = ModelWriter()
    x, total, y = (model.add_tensor(name, (1, 4), F) for name in ("x", "total", "y"))
    variable = handle(model, "resource")
    model.add_operator("READ_VARIABLE", [variable], [total])
    model.add_operator("ADD", [x, total], [y])
    model.add_operator("ASSIGN_VARIABLE", [variable, y], [])
    model.inputs, model.outputs = [x], [y]
    path = tmp_path / "m.tflite"
    path.write_bytes(model.finish())
    made = transload.convert(path, "tflite", tmp_path / "out")
    assert made.verification is not None and made.verification.status == "skipped"


@pytest.fixture
def with_text(tmp_path: Path) -> Path:
    """`y = |x|`, and beside it text that is reshaped."""
    model = ModelWriter()
    x, y = model.add_tensor("x", (1, 4), F), model.add_tensor("y", (1, 4), F)
    text, turned = model.add_tensor("text", (2,), "string"), model.add_tensor("turned", (1, 2), "string")
    shape = model.add_tensor("shape", (2,), "int32", np.array([1, 2], np.int32))
    model.add_operator("ABS", [x], [y])
    model.add_operator("RESHAPE", [text, shape], [turned])
    model.inputs, model.outputs = [x, text], [y, turned]
    path = tmp_path / "text.tflite"
    path.write_bytes(model.finish())
    return path


@pytest.mark.parametrize("dtype", ["resource", "int32"])
@pytest.mark.parametrize("state", ["zero", "explicit"])
def test_a_model_with_a_variable_is_cut(tmp_path: Path, dtype: str, state: str) -> None:
    """The operators that change the variable stay, whatever type the file gives handles."""
    module = transload.load(accumulator(tmp_path / "total.tflite", dtype), outputs=["y"])
    assert {"tfl.call_once", "tfl.assign_variable"} <= {op.name for op in module.ops()}
    made = transload.convert(module, out=tmp_path / "out", options={"state": state}, verify="require")
    assert made.verification is not None and made.verification.passed
    assert [each.initial.numpy().tolist() for each in made.module.states] == [[[0.5, 1, 2, 4]]] * (state == "explicit")


def test_tensors_of_a_model_with_a_variable_are_compared(tmp_path: Path) -> None:
    path = accumulator(tmp_path / "total.tflite")
    transload.convert(path, out=tmp_path / "out")
    compared = transload.compare(path, tmp_path / "out", per_layer=True)
    assert all(tensor.metrics["max_abs"] == 0 for tensor in compared.tensors)
    assert compared.only_in_reference and not any("handle" in name for name in compared.only_in_reference)


def test_a_model_with_text_is_cut(with_text: Path, tmp_path: Path) -> None:
    made = transload.convert(transload.load(with_text, outputs=["y"]), out=tmp_path / "out", verify="require")
    assert made.verification is not None and made.verification.passed


def test_text_is_empty_where_none_is_given(with_text: Path) -> None:
    run, x = open_model(with_text), np.array([[-1, 2, -3, 4]], np.float32)
    found = run({"x": x}, keep=True)
    assert "turned" not in found and found["y"].tolist() == abs(x).tolist()
    with pytest.raises(RunError, match="output 'turned' holds no numbers"):
        run({"x": x})


def test_complex_inputs_are_made_up(tmp_path: Path) -> None:
    """They were said to be text, and nothing was judged."""
    model = ModelWriter()
    x, y = model.add_tensor("x", (2, 3), "complex64"), model.add_tensor("y", (3, 2), "complex64")
    model.add_operator("RESHAPE", [x, model.add_tensor("shape", (2,), "int32", np.array([3, 2], np.int32))], [y])
    model.inputs, model.outputs = [x], [y]
    path = tmp_path / "complex.tflite"
    path.write_bytes(model.finish())
    given = random_inputs(transload.load(path))["x"]
    assert given.dtype == np.complex64 and given.real.all() and given.imag.all() and not np.array_equal(given.real, given.imag)
    assert np.array_equal(open_model(path)({"x": given})["y"], given.reshape(3, 2))
    made = transload.convert(path, "tflite", tmp_path / "out", verify="require")
    assert made.verification is not None and made.verification.passed
