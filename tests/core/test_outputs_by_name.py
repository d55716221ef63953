"""What runtimes, engines and targets give is taken by its names, and has to be numbers of the kind that the model gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.cli import run
from transload.context import Context
from transload.errors import PluginFailure
from transload.ir import F32, Module, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.plugin import Emitted, Engine, Metric, Reader, Runtime, Target
from transload.plugin_host import Host, host
from transload.testing import check_target

from tests.support.graphs import Graph
from tests.support.plugins import registering

pytestmark = pytest.mark.plugin_fails

Arrays = Mapping[str, np.ndarray]
Gives = Callable[[dict[str, Any]], Any]
X = np.array([-2.0, 3.0, -5.0, 7.0], np.float32)


def two_outputs(*_: Any) -> Module:
    """x to its positive part `a`, and to -x, `b`."""
    module = new_module()
    function = module.add_function("main", [TensorType((4,), F32)], ["x"])
    block = function.regions[0].block
    build = Builder(block, location="here")
    set_results(function, [build.emit("top.Relu", block.arguments[0]), build.emit("top.Neg", block.arguments[0])], ["a", "b"])
    return module


def right(inputs: Arrays) -> dict[str, Any]:
    return {"a": np.maximum(inputs["x"], 0), "b": -inputs["x"]}


class LateArray:
    """What looks like an array, and is none when it is asked for."""

    dtype, shape = np.dtype(np.float32), (4,)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise RuntimeError("the device is gone")


WRONG: list[tuple[Gives, str]] = [
    (lambda made: {"p": made["a"], "q": made["b"]}, "gives no output 'a'; it gives 'p', 'q'"),
    (lambda made: {"a": made["a"], "q": made["b"]}, "gives no output 'b'; it gives 'a', 'q'"),
    (lambda made: made | {"c": made["a"]}, "gives 3 outputs, where the model has 2"),
    (lambda made: made | {"a": made["a"] + 1j}, r"gives complex64 as output 'a', which is tensor<4xf32>"),
    (lambda made: made | {"a": made["a"].astype(np.int32)}, r"gives int32 as output 'a', which is tensor<4xf32>"),
    (lambda made: made | {"a": np.ma.masked_array(made["a"], mask=True)}, "gives a MaskedArray of float32 as output 'a'"),
    (lambda made: made | {"a": LateArray()}, "the device is gone"),
]
IDS = ["other names", "one other", "one more", "complex", "integers", "masked", "late"]


class Chip(Target):
    name, doc, accepts = "chip", "A toy.", ("top",)

    def __init__(self, gives: Gives) -> None:
        self.gives = gives

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        (directory / "program").write_text("x")
        return Emitted([directory / "program"])

    def run(self, emitted: Emitted, inputs: Arrays) -> dict[str, np.ndarray]:  # type: ignore[override]
        made: dict[str, np.ndarray] = self.gives(right(inputs))
        return made


def there(gives: Gives, judge: Gives = dict, **more: Any) -> Context:
    """Our plugins, and one with a format whose only model has two outputs, its runtime, and a chip that gives what it says."""
    host = Host()
    own = registering(
        targets=[Chip(gives)], readers=[Reader("acme", "top", (".acme",), two_outputs)],
        runtimes=[Runtime("judge", "acme", lambda path: lambda inputs: judge(right(inputs)), available=lambda: None)], **more)
    host.register(type("Acme", (), {name: staticmethod(hook) for name, hook in own.items()}), "acme")
    return Context(host)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "m.acme").write_text("x")
    return tmp_path / "m.acme"


@pytest.mark.parametrize(("gives", "said"), WRONG, ids=IDS)
def test_what_a_target_gives_otherwise_is_its_failure(gives: Any, said: str, model: Path, tmp_path: Path) -> None:
    """Of a verification, of the folder that is run or compared, and of the check of a target."""
    out = tmp_path / "out"
    with there(gives).bind():
        transload.convert(model, "chip", out, verify=False)
        for act in (
                lambda: transload.convert(model, "chip", tmp_path / "verified"),
                lambda: transload.run(out, {"x": X}), lambda: transload.compare(model, out),
                lambda: check_target("chip", two_outputs())):
            with pytest.raises(PluginFailure, match=r"plugin 'acme'.*target 'chip'\.run\(\)") as raised:
                act()
            assert said in raised.value.message


def test_outputs_in_another_order_are_the_same(model: Path, tmp_path: Path) -> None:
    with there(lambda made: dict(reversed(made.items()))).bind():
        artifact = transload.convert(model, "chip", tmp_path / "out")
        assert artifact.verified
        assert list(transload.run(tmp_path / "out", {"x": X})) == ["a", "b"]
        assert all(tensor.metrics["max_abs"] == 0 for tensor in transload.compare(model, tmp_path / "out").tensors)
        check_target("chip", two_outputs())


def test_outputs_under_each_others_names_are_wrong(model: Path, tmp_path: Path) -> None:
    with there(lambda made: {"b": made["a"], "a": made["b"]}).bind():
        verification = transload.convert(model, "chip", tmp_path / "out").verification
        assert verification is not None and verification.failed
        with pytest.raises(AssertionError, match="does not give what the model computes"):
            check_target("chip", two_outputs())


@pytest.mark.parametrize(("gives", "said"), WRONG, ids=IDS)
def test_runtimes_that_give_others_do_not_judge(gives: Any, said: str, model: Path, tmp_path: Path) -> None:
    with there(dict, gives).bind():
        verification = transload.convert(model, "tosa", tmp_path / "out").verification
        assert verification is not None and verification.status == "skipped"
        assert "plugin 'acme'" in verification.why and said in verification.why


def test_runtimes_judge_by_names(model: Path, tmp_path: Path) -> None:
    with there(dict, lambda made: dict(reversed(made.items()))).bind():
        assert transload.convert(model, "tosa", tmp_path / "out").verified


@pytest.mark.parametrize(("gives", "said"), [(dict.copy, "")] + [each for each in WRONG if "3 outputs" not in each[1]])
def test_engines(gives: Any, said: str, model: Path) -> None:
    def prepare(module: Module, function: str) -> Any:
        return lambda inputs, keep=False: dict(reversed(gives(right(inputs)).items()))

    with there(dict, engines=[Engine("acme", prepare)]).bind():
        if not said:
            assert list(transload.run(two_outputs(), {"x": X}, engine="acme")) == ["a", "b"]
            return
        with pytest.raises(PluginFailure, match=r"plugin 'acme'.*engine 'acme'") as raised:
            transload.run(two_outputs(), {"x": X}, engine="acme")
        kind, _, where = said.split(";")[0].partition(" as output ")  # an engine's sizes are told, too
        assert kind in raised.value.message and where in raised.value.message


TWICE = """
func.func @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.negate %arg0 : tensor<4xf32>
  return %arg0, %0, %0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
"""


@pytest.mark.parametrize("target", ["tflite", "tosa", "stablehlo", "xla-cpu", "iree-llvm-cpu"])
def test_folders_have_the_names_of_their_reports(target: str, tmp_path: Path) -> None:
    """Where two outputs are one tensor, too, or an input, which files have under one name."""
    (tmp_path / "m.mlir").write_text(TWICE)
    if transload.host().get("targets", target).available() is not None:
        pytest.skip(f"{target} cannot be used here")
    artifact = transload.convert(tmp_path / "m.mlir", target, tmp_path / "out")
    assert not artifact.verification or not artifact.verification.failed
    names = [each.name for each in artifact.report.outputs]
    found = transload.run(tmp_path / "out", {"arg0": X})
    assert list(found) == names == ["result0", "result1", "result2"]
    for name, wanted in zip(names, (X, -X, -X), strict=True):
        np.testing.assert_array_equal(found[name], wanted)


COMPLEX = """
func.func @main(%arg0: tensor<4xf32>) -> tensor<4xcomplex<f32>> {
  %0 = stablehlo.negate %arg0 : tensor<4xf32>
  %1 = stablehlo.complex %arg0, %0 : tensor<4xcomplex<f32>>
  return %1 : tensor<4xcomplex<f32>>
}
"""


@pytest.mark.filterwarnings("error")
def test_complex_outputs_of_complex_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are run and told, with no part left out; what scores real numbers refuses them."""
    (tmp_path / "m.mlir").write_text(COMPLEX)
    np.savez(tmp_path / "x.npz", arg0=X)
    assert run(["run", str(tmp_path / "m.mlir"), "--input", str(tmp_path / "x.npz")]) == 0
    assert "complex64" in capsys.readouterr().out
    np.savez(tmp_path / "data.npz", arg0=X[None])
    assert run(["eval", str(tmp_path / "m.mlir"), "--data", str(tmp_path / "x.npz"), "--metric", "cos"]) != 0
    assert "Traceback" not in capsys.readouterr().err


def test_metrics_of_others_are_given_arrays(model: Path, tmp_path: Path) -> None:
    seen: list[type] = []
    metric = Metric("seen", lambda a, b: float(seen.append(type(b)) or 0))  # type: ignore[func-returns-value]
    with there(dict, metrics=[metric]).bind():
        transload.convert(model, "chip", tmp_path / "out")
    assert seen and set(seen) == {np.ndarray}


@pytest.mark.parametrize("target", ["onnx", "stablehlo", "tflite", "tosa", "tp-small", "xla-cpu"])
def test_an_output_that_is_an_input_has_its_name(target: str, tmp_path: Path) -> None:
    """A format in which no two values have one name calls it otherwise; fuzzing met it."""
    if host().get("targets", target).available() is not None:
        pytest.skip(f"{target} cannot be used here")
    graph = Graph((2, 3))
    module = graph.module
    set_results(graph.main, graph.inputs, ["x0"])
    artifact = transload.convert(module, target, tmp_path / "out")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = transload.run(artifact.directory, {"x0": x})
    assert list(found) == ["x0"]
    np.testing.assert_array_equal(found["x0"], x)
