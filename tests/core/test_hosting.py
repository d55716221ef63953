"""What a target leaves to the host, made for a target of its own: one artifact, one run, verified as one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.cli import commands
from transload.context import Context
from transload.engine import choice
from transload.errors import ArtifactError, Finding, RunError, TargetError, UsageError
from transload.ir import Module, Op
from transload.plugin import Emitted, Target
from transload.plugin_host import Host
from transload.verification.inputs import random_inputs
from transload.written import written_at


class Chip(Target):
    """Takes some ops of the hub, and runs them itself."""

    name, doc, accepts = "chip", "For tests.", ("top",)
    ops: tuple[str, ...] = ("top.Conv", "top.MatMul")

    def options(self) -> dict[str, Any]:
        return {"banks": (int, 1, "for tests")}

    def takes(self, op: Op, options: Mapping[str, Any]) -> bool:
        return op.name in self.ops

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        file = directory / f"{stem}.chip"
        transload.save(module, directory / f"{stem}.mlir").rename(file)
        return Emitted([file], {"banks": options["banks"]})

    def run(self, emitted: Emitted, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:  # type: ignore[override]
        return transload.run(transload.load(emitted.files[0], format="mlir"), inputs)


class Picky(Target):
    """A host that takes less than it is given, and writes what it takes as text that engines run."""

    name, doc, accepts = "picky", "For tests.", ("top",)
    refused: tuple[str, ...] = ()

    def check(self, module: Module, options: Mapping[str, Any]) -> Sequence[Finding]:
        return [Finding(op.name, "picky has no such op", (op.origin,) if op.origin else ())
                for op in module.ops() if op.name in self.refused]

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        return Emitted([transload.save(module, directory / f"{stem}.mlir")])


class Gone(Picky):
    name = "gone"

    def available(self) -> str | None:
        return "there is no such machine"


class Whole(Picky):
    name = "whole"


class Mute(Picky):
    """Writes what nothing here runs."""

    name = "mute"

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        file = directory / "model.bin"
        file.write_bytes(b"")
        return Emitted([file])


@pytest.fixture(autouse=True)
def targets() -> Iterator[dict[str, Any]]:
    made = {target.name: target for target in (Chip(), Picky(), Gone(), Whole(), Mute())}

    class Plugin:
        @transload.hookimpl
        def register_targets(self, register: Callable[[Target], None]) -> None:
            for target in made.values():
                register(target)

    own = Host()
    assert own.register(Plugin(), "chips").registered == {"targets": list(made)}
    with Context(own).bind():
        yield made


@pytest.fixture
def digits(examples: Path) -> Path:
    return examples / "digits" / "digits_float.onnx"


def onnx_model(
    path: Path, nodes: Sequence[Sequence[Any]], inputs: Mapping[str, Any], outputs: Sequence[str], **weights: Any,
) -> Path:
    """An ONNX file of `(op, inputs, outputs, attributes)`; inputs are `(element type, shape)`, outputs floats of any shape."""
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    made = [helper.make_node(op, taken, given, **(more[0] if more else {})) for op, taken, given, *more in nodes]
    graph = helper.make_graph(
        made, "g", [helper.make_tensor_value_info(name, *type_) for name, type_ in inputs.items()],
        [helper.make_tensor_value_info(name, 1, None) for name in outputs],
        [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def places(artifact: transload.Artifact) -> list[tuple[str, str | None]]:
    assert artifact.report.partition is not None
    return [(part.place, part.target) for part in artifact.report.partition.parts]


@pytest.mark.one_in(7)
@pytest.mark.parametrize("host", ["tosa", "tflite", "onnx", "stablehlo", "xla-cpu", "picky"])
@pytest.mark.parametrize("model", ["digits_float.onnx", "digits_int8.tflite"])
def test_each_host_runs_its_parts_and_all_verify_as_one(
    host: str, model: str, examples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], cli: Any,
) -> None:
    if transload.host().get("targets", host).available() is not None:
        pytest.skip(f"{host} cannot be used here")
    file, out = examples / "digits" / model, tmp_path / "out"
    made = transload.convert(file, "chip", out, host=host)
    assert made.verified and made.report.host == host and made.verification is not None
    assert set(places(made)) == {("target", "chip"), ("host", host)}
    assert made.report.partition is not None and made.report.partition.bytes_across
    has_runtime = transload.host().get("targets", host).run is not None
    assert (f"{host}'s own runtime" in made.verification.engine) == has_runtime and "chip's own" in made.verification.engine
    with pytest.raises(UsageError, match="is in no file that engine 'reference' runs"):
        transload.convert(file, "chip", tmp_path / "by name", host=host, engine="reference")
    if "int8" in model:
        assert made.verification.tensors[0].metrics["max_abs"] == 0
    code, said, noted = cli("run", out)
    assert code == 0 and "probabilities" in said and "parts are run, " in noted
    (tensor,) = transload.compare(file, out).tensors
    assert tensor.metrics["cos"] > 0.999
    layers = transload.compare(file, out, per_layer=True)
    assert len(layers.tensors) > 3 and layers.worst("cos") > 0.99


def test_of_parts_it_is_asked_which_is_to_be_converted(examples: Path, tmp_path: Path, cli: Any) -> None:
    """The folder was taken for one of many models, of which each part was one."""
    out = tmp_path / "out"
    transload.convert(examples / "digits" / "digits_float.onnx", "chip", out, host="onnx", verify=False)
    code, _, said = cli("convert", out, "-o", tmp_path / "again")
    said = " ".join(said.split())
    assert code == 3 and "is a conversion in parts" in said and "can be given in its place: " in said and ".onnx" in said


def test_the_table_the_report_and_json_name_the_host(
    digits: Path, tmp_path: Path, cli: Any, monkeypatch: pytest.MonkeyPatch,
) -> None:
    code, said, _ = cli("convert", digits, "-t", "chip", "--host", "tosa", "-o", tmp_path / "out")
    assert code == 0 and "host (tosa):" in said and "chip leaves" in said and "bytes across" in said
    assert "more, in report.json" not in said
    monkeypatch.setattr(commands, "PARTS", 1)
    monkeypatch.setattr(commands, "FILES", 2)
    code, said, _ = cli("convert", digits, "-t", "chip", "--host", "tosa", "-o", tmp_path / "out", "--no-verify")
    assert code == 0 and "more, in report.json" in said and "more, " in said and said.count("host (tosa):") == 0
    code, said, _ = cli("convert", digits, "-t", "chip", "--host", "tosa", "-o", tmp_path / "out", "--json")
    found = json.loads(said)
    assert code == 0 and found["host"] == "tosa"
    hosted = [part for part in found["partition"]["parts"] if part["place"] == "host"]
    assert {part["target"] for part in hosted} == {"tosa"} and all(part["target_report"]["profiles"] for part in hosted)
    assert all(set(part["types"]) == {*part["inputs"], *part["outputs"]} and part["ops"] for part in hosted)
    code, said, _ = cli("convert", digits, "-t", "chip", "--host", "tosa", "--show-pipeline")
    assert code == 0 and "# check: chip, and what it leaves for tosa" in said


def test_options_of_the_host_are_said_by_its_name(digits: Path, tmp_path: Path) -> None:
    options = {"banks": 2, "tosa.mlir": "true", "tosa.int64": "assumed"}
    made = transload.convert(digits, "chip", tmp_path / "out", host="tosa", options=options)
    assert made.report.options["banks"] == 2 and made.report.options["tosa.mlir"] is True
    assert made.report.partition is not None
    hosted = [part for part in made.report.partition.parts if part.place == "host"]
    assert all([name[-5:] for name in part.files] == [".tosa", ".mlir"] for part in hosted)
    for wrong, words in ({"tosa.mlir": "perhaps"}, "option mlir must be true or false"), ({"tosa.moon": 1}, "no option moon"):
        with pytest.raises(UsageError, match=words):
            transload.convert(digits, "chip", tmp_path / "out", host="tosa", options=wrong)


@pytest.mark.parametrize(("target", "host", "words"), [
    ("chip", "chip", "'chip' is the target itself"), ("chip", "moon", "moon"),
    ("chip", "gone", "host 'gone' cannot be used: there is no such machine"),
    ("whole", "tosa", "target 'whole' takes a model as a whole, and leaves nothing to a host"),
])
def test_hosts_that_cannot_be(target: str, host: str, words: str, digits: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        transload.convert(digits, target, tmp_path / "out", host=host)
    with pytest.raises(UsageError, match=words):
        transload.inspect(digits, target, host=host)
    assert not (tmp_path / "out").exists()


def test_a_host_whose_files_nothing_runs(digits: Path, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="'mute' cannot be a host: nothing here runs what it writes"):
        transload.convert(digits, "chip", tmp_path / "out", host="mute")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.json"]


def test_what_a_host_does_not_take_is_told_of_all_parts_at_once(
    digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Any,
) -> None:
    monkeypatch.setattr(Picky, "refused", ("top.AvgPool", "top.Softmax", "top.MaxPool"))
    with pytest.raises(TargetError, match="host 'picky' cannot take what is left to it") as raised:
        transload.convert(digits, "chip", tmp_path / "out", host="picky")
    findings = {finding.what: finding.names for finding in raised.value.findings}
    assert len(findings) >= 2 and "top.Softmax" in findings and all(findings.values())
    assert "without --host an engine runs it" in raised.value.hint
    code, said, _ = cli("inspect", digits, "-t", "chip", "--host", "picky")
    assert code == 3 and "picky has no such op" in said
    assert transload.convert(digits, "chip", tmp_path / "out").verified


def test_both_sides_say_what_they_do_not_take(digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Picky, "refused", ("top.Softmax",))
    monkeypatch.setattr(Chip, "check", lambda self, module, options: [Finding("top.Conv", "is too large")])
    with pytest.raises(TargetError, match="target 'chip' and host 'picky' cannot take this model") as raised:
        transload.convert(digits, "chip", tmp_path / "out", host="picky")
    assert {finding.what for finding in raised.value.findings} == {"top.Conv", "top.Softmax"}


def test_a_host_that_no_conversions_lead_to(digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Picky, "accepts", ("nobodys",))
    with pytest.raises(TargetError, match="host 'picky' cannot take what is left to it") as raised:
        transload.convert(digits, "chip", tmp_path / "out", host="picky")
    assert "no conversions lead from 'top' to 'nobodys'" in str(raised.value)


def test_a_chip_as_host_takes_all_or_is_refused(digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Picky, "takes", lambda self, op, options: op.name != "top.Softmax")
    with pytest.raises(TargetError) as raised:
        transload.convert(digits, "chip", tmp_path / "out", host="picky")
    assert [(finding.what, finding.why) for finding in raised.value.findings] == [
        ("top.Softmax", "picky leaves it to a host itself")]
    monkeypatch.setattr(Picky, "takes", lambda self, op, options: True)
    assert transload.convert(digits, "chip", tmp_path / "out", host="picky").verified


def test_a_target_that_names_its_own_host_and_wishes(digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Chip, "host", "tosa", raising=False)
    made = transload.convert(digits, "chip", tmp_path / "out")
    assert made.report.host == "tosa" and ("host", "tosa") in places(made)
    monkeypatch.setattr(Chip, "hosting", {"banks": 7})
    assert transload.convert(digits, "chip", tmp_path / "out").report.options["banks"] == 1
    assert transload.convert(digits, "chip", tmp_path / "out", host="picky").report.options["banks"] == 7
    monkeypatch.setattr(Chip, "host", "gone")
    made = transload.convert(digits, "chip", tmp_path / "out")
    assert made.report.host is None and ("host", None) in places(made)


def test_a_model_that_is_wholly_the_targets_or_the_hosts(digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Chip, "takes", lambda self, op, options: True)
    made = transload.convert(digits, "chip", tmp_path / "out", host="tosa")
    assert made.verified and made.report.partition is None
    monkeypatch.setattr(Chip, "takes", lambda self, op, options: False)
    made = transload.convert(digits, "chip", tmp_path / "out", host="tosa")
    assert made.verified and places(made) == [("host", "tosa")]
    assert made.report.partition is not None and made.report.partition.bytes_across == 0
    assert any("ops to the host, tosa:" in note and note.endswith("; 1 part") for note in made.report.notes)
    with pytest.raises(TargetError, match="takes no op of this model"):
        transload.convert(digits, "chip", tmp_path / "out")


@pytest.mark.parametrize("host", [None, "tosa", "onnx", "tflite"])
def test_outputs_that_cross(host: str | None, tmp_path: Path) -> None:
    """Outputs that the next part takes, one of them twice, and one beside the last part."""
    w = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
    model = onnx_model(
        tmp_path / "m.onnx",
        [("MatMul", ["x", "w"], ["a"]), ("Exp", ["a"], ["e"]), ("MatMul", ["e", "w"], ["b"]), ("Add", ["b", "w"], ["y"]),
         ("Abs", ["a"], ["z"])],
        {"x": (1, [4, 4])}, ["y", "a", "e", "z"], w=w)
    made = transload.convert(model, "chip", tmp_path / "out", host=host)
    assert made.verified and [part[0] for part in places(made)] == ["target", "host", "target", "host"]
    cut = made.report.partition
    assert cut is not None and not any("w" in part.inputs for part in cut.parts)  # constants do not cross
    x = np.linspace(-0.5, 0.5, 16, dtype=np.float32).reshape(4, 4)
    found = transload.compare(model, tmp_path / "out", {"x": x})
    assert [tensor.name for tensor in found.tensors] == ["y", "a", "e", "z"] and found.worst("cos") > 0.999999


@pytest.mark.parametrize("host", [None, "tosa", "stablehlo"])
def test_a_part_without_inputs(host: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Chip, "accepts", ("tosa",))
    monkeypatch.setattr(Chip, "ops", ("tosa.add",))
    module = transload.load(text=OF_NOTHING, format="mlir")
    made = transload.convert(module, "chip", tmp_path / "out", host=host, verify=False)
    assert made.report.partition is not None and made.report.partition.parts[0].inputs == []
    written = written_at(tmp_path / "out")
    assert written is not None and written.run is not None
    found = written.run({next(iter(module.inputs)): np.array([1, 2], np.float32)})
    np.testing.assert_allclose(next(iter(found.values())), [2, 2 + np.e], rtol=1e-6)


def test_constants_are_shared_between_parts() -> None:
    from transload.ir import F32, Dense, TensorType, new_module, set_results
    from transload.ir.build import Builder

    module = new_module()
    block = module.add_function("main", [TensorType((4, 4), F32)], ["x"]).regions[0].block
    build = Builder(block)
    w = build.constant(np.ones((4, 4), np.float32))
    first = build.emit("top.MatMul", block.arguments[0], w)
    last = build.emit("top.MatMul", build.emit("top.Add", first, w), w)
    set_results(module.main, [last], ["y"])
    cut = transload.partition(module, lambda op: op.name == "top.MatMul")
    held = [[id(each.data) for op in part.module.walk() for each in op.attributes.values() if isinstance(each, Dense)]
            for part in cut.parts]
    assert len(held) == 3 and all(len(each) == 1 for each in held) and len({each[0] for each in held}) == 1
    assert cut.bytes == 4 * 64  # what the two products take and give


@pytest.mark.parametrize("host", [None, "tosa", "onnx"])
def test_unsigned_bytes_and_open_batches(host: str | None, tmp_path: Path) -> None:
    """Bytes without a sign at the model's border, and a batch that is left open and said to be 2."""
    model = onnx_model(
        tmp_path / "m.onnx",
        [("Cast", ["x"], ["f"], {"to": 1}), ("MatMul", ["f", "w"], ["p"]), ("Relu", ["p"], ["q"]), ("MatMul", ["q", "w"], ["y"])],
        {"x": (2, ["n", 4])}, ["y"], w=np.eye(4, dtype=np.float32))
    made = transload.convert(model, "chip", tmp_path / "out", host=host, inputs={"x": (2, 4)})
    assert made.verified and made.report.inputs[0].type == "tensor<2x4xui8>"
    x = np.array([[0, 127, 128, 255], [1, 2, 3, 4]], np.uint8)
    assert transload.compare(model, tmp_path / "out", {"x": x}).worst("max_abs") == 0


CONDITION = """
  "func.func"() <{sym_name = "main", function_type = (tensor<2xf32>, tensor<i1>) -> tensor<2xf32>}> ({
  ^bb0(%x: tensor<2xf32>, %s: tensor<i1>):
    %e = "tosa.abs"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    %y = "tosa.cond_if"(%s) ({
      %t = "tosa.abs"(%e) : (tensor<2xf32>) -> tensor<2xf32>
      "tosa.yield"(%t) : (tensor<2xf32>) -> ()
    }, {
      %t = "tosa.INSIDE"(%x) : (tensor<2xf32>) -> tensor<2xf32>
      "tosa.yield"(%t) : (tensor<2xf32>) -> ()
    }) : (tensor<i1>) -> tensor<2xf32>
    "func.return"(%y) : (tensor<2xf32>) -> ()
  }) : () -> ()"""


OF_NOTHING = """
  "func.func"() <{sym_name = "main", function_type = (tensor<2xf32>) -> tensor<2xf32>}> ({
  ^bb0(%x: tensor<2xf32>):
    %c = "tosa.const"() {values = dense<[0.0, 1.0]> : tensor<2xf32>} : () -> tensor<2xf32>
    %e = "tosa.exp"(%c) : (tensor<2xf32>) -> tensor<2xf32>
    %y = "tosa.add"(%x, %e) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "func.return"(%y) : (tensor<2xf32>) -> ()
  }) : () -> ()"""


@pytest.mark.parametrize(("inside", "expected"), [("tanh", ["target", "host"]), ("abs", None)])
def test_what_has_a_body_is_taken_where_all_in_it_is(
    inside: str, expected: list[str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The chip takes conditions, and not the tanh in one branch of this one."""
    monkeypatch.setattr(Chip, "accepts", ("tosa",))
    monkeypatch.setattr(Chip, "ops", ("tosa.abs", "tosa.cond_if"))
    module = transload.load(text=CONDITION.replace("INSIDE", inside), format="mlir")
    made = transload.convert(module, "chip", tmp_path / "out", host="tosa", verify=False)
    assert (None if made.report.partition is None else [place for place, _ in places(made)]) == expected
    for chosen in (True, False):
        given = dict(zip(module.inputs, (np.array([-2, 3], np.float32), np.array(chosen)), strict=True))
        written = written_at(tmp_path / "out")
        assert written is not None and written.run is not None
        (found,), (wanted,) = written.run(given).values(), transload.run(module, given).values()
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("host", "accepts", "ops"), [
    *((host, "tosa", "tosa.matmul tosa.conv2d") for host in (
        None, "onnx", "stablehlo", "iree-llvm-cpu", "xla-cpu", "tosa", "tflite")),
    *((host, "top", "top.MatMul") for host in (None, "onnx", "xla-cpu", "tosa", "tflite")),
    ("tosa", "top", "top.Gather"), ("onnx", "top", "top.Gather"), ("xla-cpu", "tosa", "tosa.gather")])
def test_integers_of_64_bits_go_through_parts_that_have_them_in_32(
    host: str | None, accepts: str, ops: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """TOSA has them in 32, and a host's file in another dialect as the model has them: as inputs, between parts, as outputs."""
    if host is not None and transload.host().get("targets", host).available() is not None:
        pytest.skip(f"{host} cannot be used here")
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    monkeypatch.setattr(Chip, "accepts", (accepts,))
    monkeypatch.setattr(Chip, "ops", tuple(ops.split()))
    random = np.random.default_rng(5)
    model = onnx_model(tmp_path / "m.onnx", [
        ("Gather", ["table", "id"], ["e"]), ("MatMul", ["e", "w"], ["y"]), ("ArgMax", ["y"], ["at"], {"axis": 1, "keepdims": 0}),
        ("Gather", ["table", "at"], ["f"]), ("MatMul", ["f", "w"], ["z"]), ("Cast", ["id"], ["idf"], {"to": 1}),
        ("Add", ["z", "idf"], ["s"]),
    ], {"id": (7, [1])}, ["y", "s"], table=random.normal(size=(9, 4)).astype(np.float32),
        w=random.normal(size=(4, 4)).astype(np.float32))
    loaded = onnx.load(model)
    loaded.graph.output.append(onnx.helper.make_tensor_value_info("at", 7, [1]))
    onnx.save(loaded, model)
    given = {"id": np.array([7])}
    made = transload.convert(model, "chip", tmp_path / "out", host=host, input_data=given, verify="require")
    assert made.verification is not None and not any("cannot run" in note for note in made.verification.notes)
    assert len(places(made)) > 1
    found = transload.run(tmp_path / "out", given)
    wanted = dict(zip(found, runtime.InferenceSession(str(model)).run(list(found), given), strict=True))
    for name, array in found.items():
        np.testing.assert_allclose(array, wanted[name], rtol=1e-5)
        assert f"x{transload.ir.element_type_of(array.dtype)}>" in next(
            each.type for each in made.report.outputs if each.name == name)


def test_what_verification_refuses_says_so_and_lists_no_files(
    digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Any,
) -> None:
    def run(self: Target, emitted: Emitted, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        raise ArtifactError("the program is corrupt")

    monkeypatch.setattr(Chip, "run", run)
    with pytest.raises(ArtifactError, match="the program is corrupt"):
        transload.convert(digits, "chip", tmp_path / "out", host="picky")
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["status"] == "refused" and report["files"] == {} and len(report["partition"]["parts"]) > 1
    assert [part["files"] for part in report["partition"]["parts"]] == [[]] * len(report["partition"]["parts"])
    assert (report["verification"]["status"], report["verification"]["why"]) == ("failed", "the program is corrupt")
    code, _, said = cli("run", tmp_path / "out")
    assert code == 3 and "the conversion for 'chip' was refused, and nothing was written" in said
    report["partition"]["parts"][0]["files"] = ["1-target/digits_float.chip"]  # as reports had them
    (tmp_path / "out" / "report.json").write_text(json.dumps(report))
    assert "was refused, and nothing was written" in cli("run", tmp_path / "out")[2]


def test_by_whom_parts_are_run_is_said_once_of_each(
    digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Any,
) -> None:
    made = transload.convert(digits, "chip", tmp_path / "out", host="picky", verify=False)
    count, kept = len(places(made)), "chip's by its own runtime"
    assert f"note: {count} parts are run, {kept}, the others by an engine\n" in cli("run", tmp_path / "out")[2]
    assert f"note: {count} parts are run by an engine, but {kept}\n" in cli("run", tmp_path / "out", "--all")[2]
    monkeypatch.setattr(Chip, "run", lambda *_: (_ for _ in ()).throw(RunError("no licence")))
    made = transload.convert(digits, "chip", tmp_path / "out", host="picky")
    assert made.verification is not None and made.verification.notes[0] == (
        f"the artifact cannot be run as {count} parts in turn, by chip's own runtime and engine auto; an engine ran the module "
        "instead: no licence")
    monkeypatch.setattr(Chip, "ops", ())
    transload.convert(digits, "chip", tmp_path / "out", host="picky")
    for option in (), ("--all",):
        assert "note: 1 part is run" in (said := cli("run", tmp_path / "out", *option)[2]) and "by an engine\n" in said


def test_what_does_not_fit_the_next_part_is_not_run_by_an_engine_in_its_place(
    digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The artifact can be run nowhere then: it passed, with a note."""
    own = Chip.run
    monkeypatch.setattr(Chip, "run", lambda self, emitted, inputs: {
        name: array[:, :1] for name, array in own(self, emitted, inputs).items()})
    with pytest.raises(ArtifactError, match=r"own runtime \(plugin .*\) gives .* of the sizes .* is tensor<1x16x8x8xf32>"):
        transload.convert(digits, "chip", tmp_path / "out", host="picky")


def looping(path: Path) -> Path:
    """A product, a loop of products that ends by what it computed, and a product of what comes of that."""
    onnx = pytest.importorskip("onnx")
    helper, weights = onnx.helper, np.random.default_rng(2).normal(size=(4, 4)).astype(np.float32) / 2
    body = helper.make_graph(
        [helper.make_node(*each) for each in (
            ("MatMul", ["h", "W"], ["m"]), ("Add", ["m", "h"], ["next"]))]
        + [helper.make_node("ReduceMax", ["next"], ["most"], keepdims=0), helper.make_node("Less", ["most", "limit"], ["more"])],
        "body", [helper.make_tensor_value_info("n", 7, []), helper.make_tensor_value_info("c", 9, []),
                 helper.make_tensor_value_info("h", 1, [1, 4])],
        [helper.make_tensor_value_info("more", 9, []), helper.make_tensor_value_info("next", 1, [1, 4])])
    return onnx_model(path, [
        ("MatMul", ["x", "W"], ["a"]), ("Loop", ["most_often", "", "a"], ["b"], {"body": body}), ("MatMul", ["b", "W"], ["y"]),
    ], {"x": (1, [1, 4])}, ["y"], W=weights, limit=np.array(9, np.float32), most_often=np.array(40))


@pytest.mark.parametrize("host", [None, "tosa", "onnx", "stablehlo", "xla-cpu", "picky"])
def test_a_loop_between_parts_of_the_chip_runs_on_the_host(host: str | None, tmp_path: Path) -> None:
    """It is the host's whole, products and all, as the chip takes no loop; how often it runs depends on what the chip gives."""
    path = looping(tmp_path / "model.onnx")
    made = transload.convert(path, "chip", tmp_path / "out", host=host)
    assert places(made) == [("target", "chip"), ("host", host), ("target", "chip")]
    assert made.report.partition is not None and made.verification is not None and made.verification.passed
    assert any(op.name == "top.While" for op in transload.legalize(transload.load(path)).walk())
    written = written_at(tmp_path / "out")
    assert written is not None and written.run is not None
    for seed in range(3):
        given = {"x": np.random.default_rng(seed).normal(size=(1, 4)).astype(np.float32)}
        np.testing.assert_allclose(
            written.run(given)["y"], transload.run(path, given)["y"], rtol=1e-5)


def test_samples_are_scored_and_quantized_with_float_parts_on_the_host(
    examples: Path, digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Any,
) -> None:
    """`eval` runs the parts; with a quantizer the chip computes integers, and the host, in floats, what stays float."""
    with np.load(examples / "digits" / "test_images.npz") as stored:
        images = next(array for array in stored.values() if array.ndim >= 3)[:24].astype(np.float32).reshape(24, 1, 8, 8)
    np.save(tmp_path / "x.npy", images)
    page = tmp_path / "page.html"
    code, said, noted = cli(
        "convert", digits, "-t", "chip", "--host", "tosa", "-o", tmp_path / "out", "--quantize", "int8",
        "--data", tmp_path / "x.npy", "--floats", "probabilities", "--report", page, "--json")
    assert code == 0, noted
    found = json.loads(said)
    assert found["verification"]["status"] == "passed" and "probabilities" in found["quantization"]["floats"]
    on_chip = [part for part in found["partition"]["parts"] if part["place"] == "target"]
    assert any("quant.uniform" in text for part in on_chip for text in part["types"].values())
    assert page.stat().st_size > 1000
    code, said, noted = cli("eval", digits, tmp_path / "out", "--data", tmp_path / "x.npy", "--metric", "agreement,cos", "--json")
    assert code == 0, noted
    scores = json.loads(said)["models"][str(tmp_path / "out")]
    assert scores["agreement"]["value"] > 0.9 and scores["cos"]["value"] > 0.98


@pytest.mark.parametrize("host", ["tosa", "tflite", "stablehlo"])
def test_quantized_tensors_cross_with_their_integers(host: str, examples: Path, tmp_path: Path) -> None:
    """A chip of the hub that takes quantized convolutions alone: what crosses are stored integers, to the last bit."""
    model = examples / "digits" / "digits_int8.tflite"
    made = transload.convert(model, "chip", tmp_path / "out", host=host)
    assert made.report.partition is not None
    assert any("quant.uniform" in text for part in made.report.partition.parts for text in part.types.values())
    given = random_inputs(transload.load(model), made.module, 3)
    assert transload.compare(model, tmp_path / "out", given).worst("max_abs") == 0


def test_states_go_through_the_parts(tmp_path: Path) -> None:
    """A model whose state is explicit is compared from the state at first, which the report holds."""
    from tests.converters.tflite.test_choices_state import integer_lstm

    model = tmp_path / "m.tflite"
    model.write_bytes(integer_lstm())
    Chip.ops, ops = ("top.Sigmoid", "top.Mul", "top.LSTM"), Chip.ops
    try:
        made = transload.convert(model, "chip", tmp_path / "out", host="tosa", options={"state": "explicit"})
    finally:
        Chip.ops = ops
    assert [state.input for state in made.report.states] == ["h", "c"]
    assert transload.compare(model, tmp_path / "out").worst("max_abs") <= 1


def test_engines_are_made_ready_once(digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = transload.convert(digits, "chip", tmp_path / "out", host="picky", verify=False)
    written = written_at(tmp_path / "out")
    assert written is not None and written.run is not None
    asked: list[int] = []
    prepare = choice.prepare

    def counting(module: Module, function: str = "main", runs: int = 1) -> Any:
        asked.append(runs)
        return prepare(module, function, 1)

    monkeypatch.setattr(choice, "prepare", counting)
    image = {"image": np.zeros((1, 1, 8, 8), np.float32)}
    for _ in range(3):
        written.run(image, runs=9)
    assert asked.count(9) == places(made).count(("host", "picky"))  # the chip runs its own


@pytest.mark.slow
def test_many_models_with_one_host_and_a_cache(examples: Path, tmp_path: Path, cli: Any) -> None:
    """What was made for one host is not taken for another."""
    zoo = [examples / "digits" / name for name in ("digits_float.onnx", "digits_int8.tflite")]

    def ways(host: str, out: str) -> list[str]:
        code, said, noted = cli("convert", *zoo, "-t", "tp-small", "--host", host, "-o", tmp_path / out, "--no-verify",
                                "--cache", tmp_path / "cache", "--workers", "1", "--json")
        found = json.loads(said)
        assert code == 0, noted + said
        assert {model["report"]["host"] for model in found["models"]} == {host}
        return [model["way"] for model in found["models"]]

    assert ways("tosa", "a") == ["converted"] * 2
    assert ways("tosa", "a") == ["kept"] * 2
    assert ways("tosa", "b") == ["cached"] * 2
    assert ways("stablehlo", "b") == ["converted"] * 2
    code, _, noted = cli("convert", *zoo, "-t", "tp-small", "--host", "moon", "-o", tmp_path / "c")
    assert code == 2 and "moon" in noted
