"""Parts for a target and the host: cut, written, and run as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.cli import run
from transload.context import Context
from transload.errors import PluginFailure, TargetError
from transload.ir import F32, Module, Op, TensorType, new_module, output_names, set_results
from transload.ir.build import Builder
from transload.partitioning import HOST, TARGET, partition
from transload.plugin import Emitted, Target
from transload.plugin_host import Host
from transload.text import parse_module


class Chip(Target):
    """Takes what is not among `refused`; its files are text, with the program beside them where it has no simulator."""

    name = "chip"
    doc = "For tests."
    accepts = ("tosa",)
    refused: tuple[str, ...] = ("tosa.exp", "tosa.reduce_max")

    def takes(self, op: Op, options: Mapping[str, Any]) -> bool:
        return op.name not in self.refused

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        assert list(directory.iterdir()) == []
        code, program = directory / f"{stem}.chip", directory / f"{stem}.mlir"
        code.write_text("code")
        transload.save(module, program)
        return Emitted([code, program], {"ops": sum(1 for _ in module.ops())})


class Simulated(Chip):
    """Keeps its programs where no reader finds them, and runs them itself."""

    name = "simulated"

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        emitted = super().emit(module, directory, stem, options)
        hidden = emitted.files[1].rename(directory / f"{stem}.program")
        return Emitted([emitted.files[0], hidden], emitted.report)

    def run(self, emitted: Emitted, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:  # type: ignore[override]
        return transload.run(transload.load(emitted.files[1], format="mlir"), inputs)


class Hub(Chip):
    name, accepts, refused = "hub-chip", ("top",), ("top.Softmax", "top.Add")


@pytest.fixture(autouse=True)
def chips() -> Iterator[Host]:
    class Plugin:
        @transload.hookimpl
        def register_targets(self, register: Callable[[Target], None]) -> None:
            for target in (Chip(), Simulated(), Hub()):
                register(target)

    own = Host()
    assert own.register(Plugin(), "chips").registered == {"targets": ["chip", "simulated", "hub-chip"]}
    with Context(own).bind():
        yield own


@pytest.fixture
def float_model(examples: Path) -> Path:
    return examples / "digits" / "digits_float.onnx"


def small(body: Callable[[Builder, Any], list[Any]], element: Any = F32) -> Module:
    module = new_module()
    main = module.add_function("main", [TensorType((2,), element)], ["x"])
    block = main.regions[0].block
    set_results(main, body(Builder(block), block.arguments[0]), ["y", "z"])
    return module


def run_parts(module: Module, takes: Callable[[Op], bool], x: np.ndarray) -> dict[str, np.ndarray]:
    cut = partition(module, takes)
    values: dict[str, Any] = {"x": x}
    for part in cut.parts:
        values.update(transload.run(part.module, {name: values[name] for name in part.module.inputs}))
    return {name: values[wire] for name, wire in cut.outputs.items()}


def test_parts_alternate_and_are_as_few_as_can_be() -> None:
    def body(build: Builder, x: Any) -> list[Any]:
        a, b = build.emit("top.Relu", x), build.emit("top.Abs", x)  # one for each, side by side
        c, d = build.emit("top.Relu", b), build.emit("top.Abs", a)
        return [build.emit("top.Relu", build.emit("top.Add", c, build.constant(np.ones(2, np.float32)))), d]

    module = small(body)
    cut = partition(module, lambda op: op.name != "top.Abs")
    assert [(part.place, [op.name for op in part.module.ops() if op.name not in ("top.Weight", "func.return")])
            for part in cut.parts] == [
        (TARGET, ["top.Relu"]), (HOST, ["top.Abs", "top.Abs"]), (TARGET, ["top.Relu", "top.Add", "top.Relu"])]
    x = np.array([-2, 3], np.float32)
    expected = transload.run(module, {"x": x})
    found = run_parts(module, lambda op: op.name != "top.Abs", x)
    assert list(found) == list(expected) and all(np.array_equal(found[name], expected[name]) for name in found)


@pytest.mark.parametrize("kind", ["an input", "a constant", "the same twice", "a tensor between the parts"])
def test_outputs_that_are_made_nowhere_or_twice(kind: str) -> None:
    def body(build: Builder, x: Any) -> list[Any]:
        between = build.emit("top.Relu", x)
        last = build.emit("top.Abs", between)
        other = {"an input": x, "a constant": build.constant(np.ones(2, np.float32)), "the same twice": last}
        return [last, other.get(kind, between)]

    module, x = small(body), np.array([-2, 3], np.float32)
    expected = transload.run(module, {"x": x})
    found = run_parts(module, lambda op: op.name == "top.Relu", x)
    assert list(found) == ["y", "z"] and all(np.array_equal(found[name], expected[name]) for name in found)


def test_an_op_with_regions_takes_along_what_they_use() -> None:
    text = """
      "func.func"() <{sym_name = "main", function_type = (tensor<2xf32>) -> tensor<2xf32>}> ({
      ^bb0(%x: tensor<2xf32>):
        %c = "tosa.const"() {values = dense<true> : tensor<1xi1>} : () -> tensor<1xi1>
        %n = "tosa.const_shape"() {values = dense<> : tensor<0xindex>} : () -> !tosa.shape<0>
        %s = "tosa.reshape"(%c, %n) : (tensor<1xi1>, !tosa.shape<0>) -> tensor<i1>
        %e = "tosa.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
        %y = "tosa.cond_if"(%s) ({
          "tosa.yield"(%e) : (tensor<2xf32>) -> ()
        }, {
          %t = "tosa.tanh"(%x) : (tensor<2xf32>) -> tensor<2xf32>
          "tosa.yield"(%t) : (tensor<2xf32>) -> ()
        }) : (tensor<i1>) -> tensor<2xf32>
        "func.return"(%y) : (tensor<2xf32>) -> ()
      }) : () -> ()"""
    module = transload.load(text=text, format="mlir")
    cut = partition(module, lambda op: op.name == "tosa.cond_if")
    assert [part.place for part in cut.parts] == [HOST, TARGET]
    assert len(cut.parts[1].module.inputs) == 3  # the condition, and what the regions use
    values: dict[str, Any] = {next(iter(module.inputs)): np.ones(2, np.float32)}
    for part in cut.parts:
        values.update(transload.run(part.module, {name: values[name] for name in part.module.inputs}))
    np.testing.assert_allclose(values[next(iter(cut.outputs.values()))], np.exp(np.ones(2)), rtol=1e-6)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", ["chip", "simulated", "hub-chip"])
@pytest.mark.parametrize("model", ["digits_float.onnx", "digits_int8.tflite"])
def test_converted_run_and_compared_as_a_whole(
    target: str, model: str, examples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:
    file, out = examples / "digits" / model, tmp_path / "out"
    made = transload.convert(file, target, out)
    assert made.verified and "parts in turn" in made.verification.engine  # type: ignore[union-attr]
    cut = made.report.partition
    assert cut is not None and {part.place for part in cut.parts} == {"target", "host"}
    assert {name for part in cut.parts for name in part.files} == set(made.report.files)
    assert any("ops to the host: " in note for note in made.report.notes)
    (expected,) = transload.run(made.module, inputs := given(made.module)).values()
    np.savez(tmp_path / "x.npz", **inputs)
    for place in (out, out / "report.json", out / cut.parts[0].files[0]):
        if place.suffix in (".mlir", ".tosa"):
            continue
        assert run(["run", str(place), "--input", f"{tmp_path / 'x.npz'}", "-o", str(tmp_path / "y.npz")]) == 0
        assert "parts are run" in capsys.readouterr().err
        with np.load(tmp_path / "y.npz") as found:
            np.testing.assert_allclose(found["probabilities"], expected, atol=1e-6)
    comparison = transload.compare(file, out, per_layer=True)
    assert comparison.worst("cos") > 0.999 and len(comparison.tensors) > 1
    assert run(["inspect", str(file), "-t", target]) == 0 and "left to" in capsys.readouterr().out


def given(module: Module) -> dict[str, np.ndarray]:
    from transload.verification.inputs import random_inputs

    return random_inputs(module, module, 3)


def test_unsigned_bytes_at_the_border(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    nodes = [helper.make_node("Transpose", ["x"], ["m"], perm=[0, 1, 3, 2]),
             helper.make_node("MatMulInteger", ["m", "w"], ["p"]), helper.make_node("Cast", ["p"], ["f"], to=1),
             helper.make_node("Exp", ["s"], ["e"]), helper.make_node("Mul", ["f", "c"], ["s"]),
             helper.make_node("Cast", ["e"], ["y"], to=2), helper.make_node("Transpose", ["m"], ["z"], perm=[0, 2, 1, 3])]
    nodes[3], nodes[4] = nodes[4], nodes[3]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 2, [1, 2, 4, 4])],
        [helper.make_tensor_value_info("y", 2, None), helper.make_tensor_value_info("z", 2, None)],
        [onnx.numpy_helper.from_array(np.arange(16, dtype=np.uint8).reshape(4, 4), "w"),
         onnx.numpy_helper.from_array(np.float32(0.0005), "c")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    made = transload.convert(tmp_path / "m.onnx", "chip", tmp_path / "out")
    assert made.verified and made.report.partition is not None
    assert transload.compare(tmp_path / "m.onnx", tmp_path / "out").worst("max_abs") <= 1


def test_nothing_is_cut_where_the_target_takes_all(float_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Chip, "refused", ())
    made = transload.convert(float_model, "chip", tmp_path / "out")
    assert made.report.partition is None and set(made.report.files) == {"digits_float.chip", "digits_float.mlir"}


def test_a_target_that_takes_nothing(float_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Chip, "takes", lambda self, op, options: False)
    with pytest.raises(TargetError, match="takes no op of this model") as raised:
        transload.convert(float_model, "chip", tmp_path / "out")
    assert "tosa.conv2d" in {finding.what for finding in raised.value.findings}


@pytest.mark.plugin_fails
def test_an_answer_that_is_none(float_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Chip, "takes", lambda self, op, options: "yes")
    with pytest.raises(PluginFailure, match=r"target 'chip'.takes\(\): TypeError: gives a str, where True or False is wanted"):
        transload.convert(float_model, "chip", tmp_path / "out")


def test_parts_that_cannot_be_run_here(float_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its own runtime is gone, and no file of the target's parts can be read."""
    transload.convert(float_model, "simulated", tmp_path / "out", verify=False)
    report = tmp_path / "out" / "report.json"
    found = json.loads(report.read_text())
    parts = [{**part, "target": part["target"] and "gone"} for part in found["partition"]["parts"]]
    report.write_text(json.dumps({**found, "target": "gone", "partition": {**found["partition"], "parts": parts}}))
    assert run(["run", str(tmp_path / "out")]) == 3
    assert "part digits_float.chip, digits_float.program holds nothing that can be run here" in capsys.readouterr().err


def test_parts_of_a_float_model_beside_an_npu(examples: Path, tmp_path: Path) -> None:
    """Quantizing and dequantizing, which a target with parts of its own leaves to the host."""
    if transload.host().get("targets", "ethos-u85-256").available() is not None:
        pytest.skip("Vela is not installed")
    onnx = pytest.importorskip("onnx")
    helper, arrays = onnx.helper, onnx.numpy_helper
    node = helper.make_node
    nodes = [node("DequantizeLinear", ["wq", "s", "z"], ["w"]), node("QuantizeLinear", ["x", "s", "z"], ["q"]),
             node("DequantizeLinear", ["q", "s", "z"], ["d"]), node("Conv", ["d", "w"], ["c"]),
             node("QuantizeLinear", ["c", "s", "z"], ["r"]), node("DequantizeLinear", ["r", "s", "z"], ["y"])]
    inputs = [helper.make_tensor_value_info("x", 1, [1, 3, 8, 8])]
    graph = helper.make_graph(
        nodes, "g", inputs, [helper.make_tensor_value_info("y", 1, None)],
        [arrays.from_array(np.float32(0.05), "s"), arrays.from_array(np.int8(0), "z"),
         arrays.from_array(np.random.default_rng(0).integers(-90, 90, (4, 3, 3, 3)).astype(np.int8), "wq")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    made = transload.convert(tmp_path / "m.onnx", "ethos-u85-256", tmp_path / "out")
    assert made.verified and made.report.partition is not None
    assert [part.place for part in made.report.partition.parts] == ["host", "target", "host"]
    (tensor,) = transload.compare(tmp_path / "m.onnx", tmp_path / "out").tensors
    assert tensor.name == "y" and tensor.metrics["cos"] > 0.999


def test_wires_of_one_name_get_numbers_that_no_other_has():
    """A number was looked for that did not change, where the name with it was there."""
    module = parse_module("""
        func.func @main(%x: tensor<2xf32> loc("x")) -> (tensor<2xf32>) {
          %a = "tosa.abs"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("x")
          %b = "tosa.exp"(%a) : (tensor<2xf32>) -> tensor<2xf32> loc("x")
          %c = "tosa.abs"(%b) : (tensor<2xf32>) -> tensor<2xf32> loc("x_2")
          func.return %c : tensor<2xf32>
        }""")
    parts = partition(module, lambda op: op.name != "tosa.exp").parts
    names = [name for part in parts for name in output_names(part.module.main)]
    assert len(names) == len({*names, "x"}) - 1 == 3
