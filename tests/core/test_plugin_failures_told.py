"""Failures of plugins that end nothing: told in place of what they were asked, with the traceback where one is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
import transload.cli
from transload.context import Context
from transload.conversion import steps_of
from transload.errors import PluginError, PluginFailure, ReadError, UsageError
from transload.ir import F32, Module, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.ir.declare import CONSTANT, INT, Dialect, attribute, result
from transload.plugin import Conversion, DialectSpec, Emitted, Metric, Quantizer, Reader, Runtime, Target
from transload.plugin_host import Host
from transload.rewrite import RewriteTable

from tests.support.plugins import acme, registering

pytestmark = pytest.mark.plugin_fails

VECTOR = TensorType((4,), F32)


def beside_ours(**items: Any) -> Context:
    """A context whose host has all installed plugins, and `acme`, which registers these."""
    own = Host()
    own.register(type("Acme", (), {name: staticmethod(hook) for name, hook in registering(**items).items()}), "acme")
    return Context(own)


def failing(*_: Any, **__: Any) -> Any:
    raise KeyError("worst")


@pytest.fixture
def digits(examples: Path) -> Path:
    return examples / "digits" / "digits_float.onnx"


# --- metrics


def test_a_metric_that_fails_is_a_column_without_a_number(digits: Path, tmp_path: Path) -> None:
    with beside_ours(metrics=[Metric("worst", failing)]).bind():
        artifact = transload.convert(digits, "tosa", tmp_path / "out")
        compared = transload.compare(digits, tmp_path / "out" / "digits_float.tosa", per_layer=True)
    assert artifact.verified and artifact.verification is not None
    said = "worst could not be computed: plugin 'acme' (no distribution) failed in metric 'worst' (measure): KeyError: 'worst'"
    assert [note.startswith(said) for note in artifact.verification.notes].count(True) == 1
    written = json.loads((tmp_path / "out" / "report.json").read_text())["verification"]["outputs"][0]["metrics"]
    assert written["worst"] == "NaN" and written["cos"] > 0.9999
    assert len(compared.tensors) > 2 and len(compared.notes) == 1 and compared.notes[0].startswith(said)
    assert all(tensor.metrics["cos"] > 0.9999 for tensor in compared.tensors)


def test_a_tolerance_asks_for_its_metric(digits: Path, tmp_path: Path) -> None:
    """Nothing can be said of the result, then, and nothing is."""
    with beside_ours(metrics=[Metric("worst", failing)]).bind(), pytest.raises(PluginFailure, match="metric 'worst'") as raised:
        transload.convert(digits, "tosa", tmp_path / "out", tolerance=["worst=1"])
    assert "--tolerance" in raised.value.hint


def test_debug_shows_the_tracebacks_of_what_is_told(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = ["convert", str(digits), "-o", str(tmp_path / "out")]
    with beside_ours(metrics=[Metric("worst", failing)]).bind():
        assert transload.cli.run(arguments) == 0
        assert "Traceback" not in capsys.readouterr().err
        assert transload.cli.run([*arguments, "--debug"]) == 0
        assert "in failing" in capsys.readouterr().err
        monkeypatch.setenv("TRANSLOAD_DEBUG", "1")
        transload.convert(digits, "tosa", tmp_path / "out")
        assert "in failing" in capsys.readouterr().err


# --- judges


def relu_of(factor: float) -> Module:
    module = new_module()
    function = module.add_function("main", [VECTOR], ["x"])
    build = Builder(function.regions[0].block, location="y")
    scaled = build.emit("top.Mul", function.regions[0].block.arguments[0], build.constant(np.full(4, factor, np.float32)))
    set_results(function, [scaled], ["y"])
    return module


def scaling(**items: Any) -> dict[str, Any]:
    """A format, and what else is registered beside it."""
    return {"readers": [Reader("acme", "top", (".acme",), lambda *_: relu_of(0.3))], **items}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "m.acme").write_text("x")
    return tmp_path / "m.acme"


def test_a_judge_that_fails_beside_a_quantized_model_is_told(model: Path, tmp_path: Path) -> None:
    judge = Runtime("acme-runtime", "acme", failing, available=lambda: None)
    with beside_ours(**scaling(runtimes=[judge])).bind():
        artifact = transload.convert(
            model, "tosa", tmp_path / "out", quantize="int8", data=[{"x": np.arange(4, dtype=np.float32)}])
    assert artifact.verification is not None
    assert [note for note in artifact.verification.notes if "failed in runtime 'acme-runtime'" in note]


# --- what only a target runs


class Opaque(Target):
    """Its file is read by nothing else, and its runtime gives the outputs alone."""

    name, doc, accepts = "acme-x", "A chip.", ("top",)

    def emit(self, module: Module, directory: Path, stem: str, options: Any) -> Emitted:
        (directory / f"{stem}.x").write_text("x")
        return Emitted([directory / f"{stem}.x"])

    def run(self, emitted: Emitted, inputs: Any) -> Any:
        return {"y": inputs["x"] * np.float32(2)}


def scaled(inputs: Any, keep: bool = False) -> dict[str, np.ndarray]:
    return {"y": inputs["x"] * np.float32(0.3)}


def test_what_only_a_target_runs_is_not_looked_into(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:
    out, steps = tmp_path / "out", tmp_path / "steps"
    judge = Runtime("acme-runtime", "acme", lambda path: scaled, available=lambda: None)
    with beside_ours(**scaling(runtimes=[judge], targets=[Opaque()])).bind():
        assert transload.cli.run(["convert", str(model), "-t", "acme-x", "-o", str(out), "--dump", str(steps)]) == 4
        hint = f"convert it once more with --dump steps, and `transload compare {model} steps/NAME.mlir --per-layer`"
        assert hint in " ".join(capsys.readouterr().err.split())
        for way in (["compare", str(model), str(out), "--per-layer"], ["run", str(out), "--all"],
                    ["run", str(out), "--engine", "reference"], ["run", str(out), "--trace"]):
            assert transload.cli.run(way) == 2
            assert "only acme-x's own runtime runs this artifact" in " ".join(capsys.readouterr().err.split())
        assert transload.cli.run(["run", str(out)]) == 0
        capsys.readouterr()
        assert transload.cli.run(["inspect", str(out)]) == 0
        assert "out: acme-x, 1 ops" in " ".join(capsys.readouterr().out.split())
        assert transload.inspect(out).format == "acme-x"
        *_, last = sorted(steps.glob("*.mlir"))
        assert transload.cli.run(["compare", str(model), str(last), "--per-layer"]) == 0
        with pytest.raises(UsageError, match="own runtime"):
            transload.compare(model, out, per_layer=True)


# --- words


def test_a_file_that_a_reader_misses_is_named(model: Path, tmp_path: Path) -> None:
    def read(source: Any, inputs: Any) -> Module:
        (tmp_path / "weights.bin").read_bytes()
        raise AssertionError

    said = r"m\.acme: cannot be read: No such file or directory: .*weights\.bin$"
    with beside_ours(readers=[Reader("acme", "top", (".acme",), read)]).bind(), pytest.raises(ReadError, match=said):
        transload.load(model)


def test_what_says_nothing_leaves_no_colon(digits: Path) -> None:
    def exhausted(op: Any, *arrays: Any) -> Any:
        raise MemoryError

    module = transload.legalize(transload.load(digits))
    kernels = transload.KernelTable()
    kernels("top.Relu")(exhausted)
    there = beside_ours(facts=[transload.Facts("kernel", "top", kernels, overrides=True)])
    with there.bind(), pytest.raises(transload.TransloadError) as raised:
        transload.run(module, {"image": np.zeros((1, 1, 8, 8), np.float32)}, engine="reference")
    assert raised.value.findings[0].why.endswith("xf32>")


# --- dialects


def with_constants(**says: Any) -> Dialect:
    dialect = Dialect("acme", **says)

    class Rom:
        output = result("numbers")
        value = attribute(CONSTANT, "the numbers")
        traits = ("constant",)

    class Port:
        output = result("nothing")
        size = attribute(INT, "a number")

    dialect.op("rom")(Rom)
    dialect.op("port")(Port)
    return dialect


@pytest.mark.parametrize("name", ["rom", "acme.rom"])
def test_the_op_for_constants_is_named_with_the_dialect_or_without(name: str) -> None:
    with Context(acme(dialects=[DialectSpec("acme", with_constants(constant=name))])).bind():
        module = new_module()
        function = module.add_function("main", [VECTOR], ["x"])
        held = Builder(function.regions[0].block).constant(np.ones(4, np.float32), dialect="acme")
    assert held.op.name == "acme.rom"


@pytest.mark.parametrize(("says", "why"), [
    ({"constant": "weights"}, "names 'acme.weights', which is none of its ops"), ({"none": "absent"}, "names 'acme.absent'"),
    ({"constant": "port"}, "has no attribute of kind CONSTANT")])
def test_dialects_that_name_what_they_have_not(says: dict[str, str], why: str) -> None:
    there, said = acme(dialects=[DialectSpec("acme", with_constants(**says))]), f"plugin 'acme' .*dialect 'acme' .*{why}"
    with Context(there).bind(), pytest.raises(PluginFailure, match=said):
        transload.host().dialect("acme")


# --- what targets say of tolerances


@pytest.mark.parametrize(("member", "given", "why"), [
    ("near_enough", None, "gives None, where a list of texts"), ("near_enough", "cos=0.99", "gives a str"),
    ("near_enough", [0.99], "gives a list"), ("rounds_alone", np.zeros(3), "where True or False is wanted"),
    ("rounds_alone", None, "where True or False is wanted")])
def test_targets_that_say_no_tolerance(member: str, given: Any, why: str, digits: Path, tmp_path: Path) -> None:
    chip = type("Chip", (Opaque,), {member: lambda self, *_: given})()
    said = rf"'acme' .*acme-x'\.{member}\(\): TypeError: .*{why}"
    with beside_ours(targets=[chip]).bind(), pytest.raises(PluginFailure, match=said):
        transload.convert(digits, "acme-x", tmp_path / "out")


# --- whose text it is, and whose property


@pytest.mark.parametrize("when", ["before", "after"])
def test_passes_of_a_conversion_are_its_plugins(when: str) -> None:
    mine = Conversion("acme-to-top", "acme", "top", table=RewriteTable(), **{when: "canonicalize{colour=red}"})
    said = f"plugin 'acme' .*: the passes {when} conversion 'acme-to-top': .*colour"
    with beside_ours(conversions=[mine]).bind(), pytest.raises(PluginError, match=said):
        steps_of(mine, {})


def test_runtimes_that_give_too_little_are_named_in_comparisons(digits: Path, model: Path, tmp_path: Path) -> None:
    silent = Runtime("acme-runtime", "acme", lambda path: lambda inputs, **how: {}, available=lambda: None)
    with beside_ours(**scaling(runtimes=[silent])).bind():
        lowered = transload.lower(transload.load(model))
        with pytest.raises(PluginFailure, match=r"plugin 'acme' .*'acme-runtime' .*gives 0 outputs, where the model has 1"):
            transload.compare(model, lowered)


@pytest.mark.parametrize("member", ["accepts", "pipeline", "run", "converting", "host"])
@pytest.mark.parametrize("error", [AttributeError, RuntimeError])
def test_properties_that_fail_once_a_target_is_there(
    member: str, error: type[Exception], digits: Path, tmp_path: Path,
) -> None:
    """An `AttributeError` of a property that there is does not say that there is none."""
    def late(self: Any) -> Any:
        if late_now:
            raise error("late")
        return getattr(Opaque, member)

    late_now: list[bool] = []
    chip = type("Chip", (Opaque,), {member: property(late)})()
    with beside_ours(targets=[chip]).bind():
        assert "acme-x" in transload.host().targets
        late_now.append(True)
        with pytest.raises(PluginFailure, match=rf"plugin 'acme' .*failed in target 'acme-x'\.{member}: {error.__name__}: late"):
            transload.convert(digits, "acme-x", tmp_path / "out")


# --- what quantizers do with samples


@pytest.mark.parametrize(("does", "said"), [
    ("", "what quantizing cost"), ("learns steps", "what quantizing cost, and learns steps")])
def test_what_samples_are_for_is_what_the_quantizer_says(
    does: str, said: str, digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:
    mine = Quantizer("mine", lambda module, samples=None, **more: module.clone(), samples_do=does)
    with beside_ours(quantizers=[mine]).bind():
        assert transload.cli.run(["quantize", str(digits), "--scheme", "mine", "-o", str(tmp_path / "q.mlir")]) == 0
    assert f"next: --data SAMPLES measures {said}\n" in capsys.readouterr().out
