"""Whose defect it is: that of the plugin whose code is wrong, and not of who called it, or of who comes after it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import transload
from transload.context import Context
from transload.errors import ConversionError, PluginFailure
from transload.ir import F32, Module, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.ir.declare import FLOAT_TENSOR, Dialect, operand, result
from transload.plugin import Conversion, DialectSpec, Emitted, Metric, Quantizer, Reader, Target
from transload.plugin_host import Host
from transload.rewrite import RewriteTable

from tests.support.plugins import registering

pytestmark = pytest.mark.plugin_fails

VECTOR = TensorType((4,), F32)


def there(**plugins: dict[str, Any]) -> Context:
    """Our plugins, and these, by name: what each registers."""
    host = Host()
    for name, items in plugins.items():
        host.register(type("Acme", (), {key: staticmethod(hook) for key, hook in registering(**items).items()}), name)
    return Context(host)


@pytest.fixture
def digits(examples: Path) -> Path:
    return examples / "digits" / "digits_float.onnx"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "m.acme").write_text("x")
    return tmp_path / "m.acme"


def of_op(name: str, *_: Any) -> Module:
    module = new_module()
    function = module.add_function("main", [VECTOR], ["x"])
    block = function.regions[0].block
    set_results(function, [Builder(block).emit(name, *block.arguments)], ["y"])
    return module


def test_a_shape_rule_is_its_dialects(model: Path) -> None:
    dialect = Dialect("bbb")

    @dialect.op("Op")
    class _Op:
        """An op whose shape rule is wrong."""

        input = operand("t", FLOAT_TENSOR)
        output = result("t", FLOAT_TENSOR)

        def infer(op: Any) -> Any:
            raise KeyError("b is wrong")

    reader = Reader("acme", "bbb", (".acme",), lambda *_: of_op("bbb.Op"))
    with (
            there(theirs={"dialects": [DialectSpec("bbb", dialect)]}, reads={"readers": [reader]}).bind(),
            pytest.raises(PluginFailure, match=r"plugin 'theirs'.*shape rule.*b is wrong")):
        transload.load(model)


def without_return(module: Module) -> Module:
    module.body_of_main.terminator.erase()
    return module


def without_main(module: Module) -> Module:
    module.main.erase()
    return module


def build_wrongly(*_: Any) -> Module:
    TensorType(5, F32)  # type: ignore[arg-type]
    raise AssertionError


@pytest.mark.parametrize(("read", "said"), [
    (lambda *_: new_module(), "holds no function"), (lambda *_: without_return(of_op("top.Relu")), "does not end in func.return"),
    (build_wrongly, "TensorType takes a tuple of sizes")], ids=["empty", "no return", "built"])
def test_readers(read: Any, said: str, model: Path) -> None:
    with (
            there(reads={"readers": [Reader("acme", "top", (".acme",), read)]}).bind(),
            pytest.raises(PluginFailure, match=r"plugin 'reads'.*reader 'acme'") as raised):
        transload.load(model)
    assert said in raised.value.message


def of_other_names(module: Module) -> Module:
    return of_op("top.Relu")


@pytest.mark.parametrize(("change", "said"), [
    (lambda module: new_module(), "holds no function"), (without_main, "holds no function"),
    (without_return, "does not end in func.return"), (of_other_names, "whose inputs are x: tensor<4xf32>"),
    (build_wrongly, "TensorType takes a tuple of sizes")], ids=["empty", "no main", "no return", "other inputs", "built"])
def test_quantizers(change: Callable[[Module], Module], said: str, digits: Path) -> None:
    quantizer = Quantizer("acme", lambda module, samples: change(module.clone()))
    with there(makes={"quantizers": [quantizer]}).bind():
        module = transload.legalize(transload.load(digits))
        with pytest.raises(PluginFailure, match=r"plugin 'makes'.*quantizer 'acme'") as raised:
            transload.quantize(module, "acme")
    assert said in raised.value.message


def test_rules_that_use_what_they_replace(tmp_path: Path) -> None:
    table = RewriteTable()

    @table("onnx.acme.Gain")
    def rule(op: Any, rw: Any) -> Any:
        return rw.emit("top.Add", op.result, op.result)

    value = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4]) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Gain", ["x"], ["y"], domain="acme")], "g", value[:1], value[1:])
    sets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("acme", 1)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=sets, ir_version=8), tmp_path / "m.onnx")
    with (
            there(rules={"conversions": [Conversion("acme", "onnx", "top", table, extends="onnx-to-top")]}).bind(),
            pytest.raises(ConversionError) as raised):
        transload.legalize(transload.load(tmp_path / "m.onnx"))
    assert "rule" in str(raised.value) and "uses the results of the onnx.acme.Gain which it replaces" in str(raised.value)


class Chip(Target):
    """A chip whose functions go elsewhere, or take away what was written."""

    name, doc, accepts = "chip", "A toy.", ("top",)

    def __init__(self, elsewhere: Path | None = None) -> None:
        self.elsewhere = elsewhere

    def emit(self, module: Module, directory: Path, stem: str, options: Any) -> Emitted:
        (directory / "program").write_text("x")
        if self.elsewhere is not None:
            os.chdir(self.elsewhere)
        return Emitted([directory / "program"])

    def run(self, emitted: Emitted, inputs: Any) -> dict[str, np.ndarray]:  # type: ignore[override]
        if self.elsewhere is None:
            emitted.files[0].unlink()
        else:
            os.chdir(self.elsewhere)
        return {"probabilities": np.zeros((1, 10), np.float32)}


def test_a_target_that_takes_away_what_it_wrote(digits: Path, tmp_path: Path) -> None:
    with (
            there(acme={"targets": [Chip()]}).bind(),
            pytest.raises(PluginFailure, match=r"plugin 'acme'.*target 'chip'\.run\(\).*removes program")):
        transload.convert(digits, "chip", tmp_path / "out")


def test_plugins_that_go_elsewhere_leave_us_where_we_were(
    digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Paths that a user gave are from where he stands."""
    (tmp_path / "here").mkdir()
    (tmp_path / "m.onnx").write_bytes(digits.read_bytes())
    monkeypatch.chdir(tmp_path)

    def measure(reference: Any, actual: Any) -> float:
        os.chdir("/")
        return 0.0

    with there(acme={"targets": [Chip(tmp_path / "here")], "metrics": [Metric("goes", measure)]}).bind():
        artifact = transload.convert("m.onnx", "chip", "out")
    assert Path.cwd() == tmp_path and (tmp_path / "out" / "program").is_file()
    assert artifact.verification is not None and artifact.verification.failed  # it is compared, and gives zeros
