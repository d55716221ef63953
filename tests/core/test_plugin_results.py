"""What readers, writers, passes, engines and metrics of plugins give back is looked at, and blamed on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.context import Context
from transload.errors import PluginFailure
from transload.ir import Module
from transload.plugin import Engine, Metric, Pass, Reader, Writer
from transload.plugin_host import Host

pytestmark = pytest.mark.plugin_fails


def failing(item: Any, kind: str, act: Callable[[], Any]) -> str:
    """The message of the failure of a plugin with this one thing."""
    class Plugin:
        pass

    def register(register: Callable[[Any], None]) -> None:
        register(item)

    setattr(Plugin, f"register_{kind}", staticmethod(transload.hookimpl(register)))
    own = Host()
    assert own.register(Plugin(), "strangers").errors == []
    with Context(own).bind(), pytest.raises(PluginFailure, match="'strangers'") as raised:
        act()
    return raised.value.message


@pytest.fixture
def digits(examples: Path) -> Path:
    return examples / "digits" / "digits_float.onnx"


def test_readers(tmp_path: Path) -> None:
    (tmp_path / "m.zz").write_text("x")
    read = Reader("zz", "top", (".zz",), lambda source, inputs: None)
    assert "gives None, where a Module" in failing(read, "readers", lambda: transload.load(tmp_path / "m.zz"))


@pytest.mark.parametrize("write", [lambda module, path: None, lambda module, path: path.mkdir()])
def test_writers(write: Any, tmp_path: Path, digits: Path) -> None:
    module = transload.legalize(transload.load(digits))
    writer = Writer("zz", "top", (".zz",), write)
    assert "m.zz is no file" in failing(writer, "writers", lambda: transload.save(module, tmp_path / "m.zz"))


def without_terminator(module: Module) -> bool:
    module.body_of_main.terminator.erase()
    return True


def without_functions(module: Module) -> bool:
    for function in list(module.functions.values()):
        function.erase()
    return True


@pytest.mark.parametrize("run", [without_terminator, without_functions])
def test_passes(run: Any, tmp_path: Path, digits: Path) -> None:
    mine = Pass("mine", run)
    said = failing(mine, "passes", lambda: transload.convert(digits, out=tmp_path / "out", passes="mine", verify=False))
    assert "failed in pass 'mine' (run): ValueError: leaves a module that is wrong: " in said


@pytest.mark.parametrize(("made", "why"), [
    (None, "gives None, where a function is wanted"),
    (lambda inputs, keep=False: [1], "gives a list, where outputs by name are wanted"),
    (lambda inputs, keep=False: {"y": [1.0]}, "gives a list as output 'y', where an array is wanted")])
def test_engines(made: Any, why: str, tmp_path: Path, digits: Path) -> None:
    engine = Engine("mine", lambda module, function: made)
    assert why in failing(engine, "engines", lambda: transload.convert(digits, out=tmp_path / "out", engine="mine"))
    image = {"image": np.zeros((1, 1, 8, 8), np.float32)}
    assert why in failing(engine, "engines", lambda: transload.run(digits, image, engine="mine"))


def test_values_of_tuple_types_are_outputs() -> None:
    module = transload.load(text="""
func.func @main(%x: tensor<2xf32>) -> tuple<tensor<2xf32>, tuple<tensor<2xf32>>> {
  %0 = stablehlo.tuple %x : tuple<tensor<2xf32>>
  %1 = stablehlo.tuple %x, %0 : tuple<tensor<2xf32>, tuple<tensor<2xf32>>>
  return %1 : tuple<tensor<2xf32>, tuple<tensor<2xf32>>>
}""", format="stablehlo")
    x = np.array([1, 2], np.float32)
    (first, (second,)), = transload.run(module, {transload.ir.input_names(module.main)[0]: x}).values()
    assert np.array_equal(first, x) and np.array_equal(second, x)


@pytest.mark.parametrize("number", ["x", None, np.zeros(2), 1j])
def test_metrics(number: Any, tmp_path: Path, digits: Path) -> None:
    metric = Metric("mine", lambda reference, actual: number)
    assert "where a number is wanted" in failing(metric, "metrics", lambda: transload.convert(digits, out=tmp_path / "out"))
