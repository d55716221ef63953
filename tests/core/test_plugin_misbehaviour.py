"""Plugins that misbehave in ways that none means: odd exceptions, endless generators, outputs too few, noise in the answer."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
import transload.cli
from transload.context import Context, use_host
from transload.conversion import apply_conversion
from transload.errors import (
    ArtifactError,
    ConversionError,
    PluginError,
    PluginFailure,
    ReadError,
    RunError,
    TransloadError,
    Unsupported,
    UsageError,
)
from transload.ir import F32, Module, TensorType, new_module, set_results
from transload.ir.declare import Dialect
from transload.plugin import Conversion, DialectSpec, Emitted, Engine, Metric, Reader, Runtime, Score, Target
from transload.plugin_host import Host
from transload.rewrite import RewriteTable, apply_greedily
from transload.verification.differences import compare_outputs

from tests.support.plugins import acme, beside_ours, module_of, point, raising, registering

pytestmark = pytest.mark.plugin_fails

VECTOR = TensorType((2,), F32)


class Odd(BaseException):
    """What a library might raise to get out of everything."""


ODD = [GeneratorExit(), asyncio.CancelledError(), Odd("odd"), SystemExit(0)]


@pytest.fixture
def digits(examples: Path) -> Path:
    return examples / "digits" / "digits_float.onnx"


# --- exceptions of every class


@pytest.mark.parametrize("error", ODD, ids=lambda error: type(error).__name__)
def test_exceptions_that_are_no_exceptions(error: BaseException, tmp_path: Path) -> None:
    """What is raised beside `Exception` is the plugin's defect, wherever it is raised: a function, a rule, a hook, an import."""
    (tmp_path / "m.acme").write_text("x")
    there = acme(readers=[Reader("acme", "acme", (".acme",), raising(error))], dialects=[DialectSpec("acme", Dialect("acme"))])
    with Context(there).bind(), pytest.raises(PluginFailure, match=f"'acme'.*{type(error).__name__}"):
        transload.load(tmp_path / "m.acme")
    table = RewriteTable()
    table("acme.op")(raising(error))
    conversion = Conversion("acme", "acme", "top", table=table)
    with Context(acme(conversions=[conversion])).bind(), pytest.raises(ConversionError, match=type(error).__name__):
        apply_conversion(conversion, module_of("acme.op"))
    hooked = registering(passes=[])
    hooked["register_passes"] = transload.hookimpl(raising(error))
    hooked["register_passes"].__name__ = "register_passes"
    broken = transload.Host([point("acme", **hooked)], only="")
    broken.everything()
    assert any(type(error).__name__ in (info.error or "") for info in broken.plugins)


class BaseLeftOut(ConversionError):
    def __init__(self, op: str) -> None:
        self.op = op


class WhyLeftOut(Unsupported):
    def __init__(self, op: str) -> None:
        self.op = op


def of_no_text() -> Exception:
    error = ConversionError("conv1")
    error.hint = 5  # type: ignore[assignment]
    return error


@pytest.mark.parametrize("made", [lambda: BaseLeftOut("conv1"), lambda: WhyLeftOut("conv1"), of_no_text])
@pytest.mark.parametrize("where", ["read", "rule", "pass"])
def test_errors_that_leave_their_base_out(where: str, made: Callable[[], Exception], tmp_path: Path) -> None:
    """Of ours by their class alone: what we would look for in them is not there, and the plugin is named."""
    error = made()
    told = rf"{type(error).__name__}.*conv1.*(without (message|why): its __init__|whose hint cannot be 5)"
    (tmp_path / "m.acme").write_text("x")
    table = RewriteTable()
    table("acme.op")(raising(error))
    conversion = Conversion("acme", "acme", "top", table=table)
    there = acme(readers=[Reader("acme", "acme", (".acme",), raising(error))], dialects=[DialectSpec("acme", Dialect("acme"))],
                 conversions=[conversion])
    with Context(there).bind(), pytest.raises(TransloadError, match=f"(?s)'acme'.*{told}"):
        if where == "read":
            transload.load(tmp_path / "m.acme")
        elif where == "rule":
            apply_conversion(conversion, module_of("acme.op"))
        else:
            apply_greedily(module_of("acme.op"), table)


@pytest.mark.parametrize("where", ["read", "check"])
def test_unsupported_where_there_is_no_rule(where: str, tmp_path: Path) -> None:
    """It says something, and means the same everywhere: this cannot be converted."""
    class Mine(Target):
        name = "mine"
        accepts = ("top",)
        check = staticmethod(raising(Unsupported("chips are out", "order some")))  # type: ignore[assignment]

        def emit(self, *given: Any) -> Any:
            raise AssertionError("nothing is to be written")

    (tmp_path / "m.acme").write_text("x")
    reads = {"read": raising(Unsupported("chips are out", "order some")), "check": lambda *_: module_of("top.Relu")}[where]
    there = acme(readers=[Reader("acme", "top", (".acme",), reads)], targets=[Mine()])
    with Context(there).bind(), pytest.raises(ConversionError, match=r"'acme'.*chips are out") as raised:
        transload.convert(tmp_path / "m.acme", "mine", tmp_path / "out", verify=False)
    assert raised.value.hint == "order some"


def test_an_interruption_that_no_signal_brought(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Some libraries raise it themselves."""
    monkeypatch.setattr(transload.cli, "run", raising(KeyboardInterrupt()))
    monkeypatch.setattr("transload.cli.process.Signals", lambda json: None)
    monkeypatch.setattr("transload.cli.process.open_streams", lambda: (LosesNothing(sys.stdout), LosesNothing(sys.stderr)))
    with pytest.raises(SystemExit) as raised:
        transload.cli.main(["plugins"])
    assert raised.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"


class LosesNothing:
    lost = None

    def __init__(self, stream: Any) -> None:
        self.write, self.flush = stream.write, stream.flush


@pytest.mark.parametrize("option", ["data", "metric"])
def test_functions_of_users_that_end_the_process(
    option: str, tmp_path: Path, digits: Path, capsys: pytest.CaptureFixture[str],
) -> None:
    """A script without `if __name__ == "__main__"` ends with `sys.exit` when it is imported."""
    (tmp_path / "script.py").write_text("import sys\ndef main(): pass\nsys.exit(main())\n")
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 8, 8), np.float32))
    given = {"data": str(tmp_path / "x.npy"), "metric": "agreement", option: f"python:{tmp_path / 'script.py'}:main"}
    assert transload.cli.run(["eval", str(digits), "--data", given["data"], "--metric", given["metric"]]) == 2
    assert "script.py:main: cannot be imported: SystemExit" in "".join(capsys.readouterr().err.splitlines())


# --- what never ends


def test_endless_generators(tmp_path: Path) -> None:
    """They are looked at one by one: what is wrong with the first is told at once."""
    table = RewriteTable()
    table("acme.op")(lambda op, rw: itertools.repeat(op.operands[0]))
    conversion = Conversion("acme", "acme", "top", table=table, entries=lambda module: itertools.count())
    there = acme(conversions=[conversion], targets=[Endless()])
    with Context(there).bind():
        with pytest.raises(PluginFailure, match="gives a int among the functions"):
            transload.lower(module_of("acme.op"), "top")
        with pytest.raises(PluginFailure, match="gives a int among its findings"):
            transload.convert(module_of("top.Relu"), "endless", tmp_path / "out", verify=False)
        with pytest.raises(ConversionError, match="gives a repeat, where None, CHANGED or a value for each result"):
            apply_conversion(Conversion("acme", "acme", "top", table=table), module_of("acme.op"))


class Endless(Target):
    name = "endless"
    accepts = ("top",)

    def check(self, module: Module, options: Any) -> Any:
        return itertools.count()

    def emit(self, *given: Any) -> Any:
        raise AssertionError("nothing is to be written")


# --- outputs


FEW: list[tuple[Any, str]] = [
    ({}, "gives 0 outputs, where the model has 1"), ({"a": np.zeros(2), "b": np.zeros(2)}, "gives 2 outputs"),
    ({"y": np.array(["text"])}, "where an array of numbers is wanted"), ({"y": np.array([None])}, "where an array of numbers"),
    ({"y": np.zeros(2, [("a", "f4")])}, "of [('a', '<f4')] as output 'y', where an array of numbers is wanted"),
    ({"y": np.zeros(2, "V4")}, "of |V4 as output 'y', where an array of numbers"),
    ({"y": np.zeros(2, np.dtypes.StringDType())}, "as output 'y', where an array of numbers")]


@pytest.mark.parametrize(("given", "said"), [*FEW, ({"y": np.zeros((1, 2), np.float32)}, "of the sizes [1, 2] as output 'y'")])
def test_runtimes_that_give_other_outputs(given: Any, said: str, tmp_path: Path) -> None:
    """The conversion stands, and the report says why it was not judged."""
    (tmp_path / "m.acme").write_text("x")
    there = beside_ours(
        readers=[Reader("acme", "top", (".acme",), lambda *_: module_of("top.Relu"))],
        runtimes=[Runtime("acme-runtime", "acme", lambda path: lambda inputs: given, available=lambda: None)])
    with there.bind():
        artifact = transload.convert(tmp_path / "m.acme", "tosa", tmp_path / "out")
    assert artifact.verification is not None and artifact.verification.status == "skipped"
    assert "acme-runtime could not judge: plugin 'acme'" in artifact.verification.why and said in artifact.verification.why


@pytest.mark.parametrize(("given", "said"), FEW)
def test_targets_that_give_other_outputs(given: Any, said: str, tmp_path: Path, digits: Path) -> None:
    class Mine(Target):
        name = "mine"
        accepts = ("top",)

        def emit(self, module: Module, directory: Path, stem: str, options: Any) -> Emitted:
            (directory / "it").write_text("x")
            return Emitted([directory / "it"])

        def run(self, emitted: Emitted, inputs: Any) -> Any:  # type: ignore[override]
            return given

    with beside_ours(targets=[Mine()]).bind(), pytest.raises(PluginFailure, match=r"target 'mine'\.run") as raised:
        transload.convert(digits, "mine", tmp_path / "out")
    assert said in raised.value.message


def test_engines_that_leave_outputs_out(digits: Path) -> None:
    engine = Engine("acme", lambda module, function: lambda inputs, keep=False: {"other": np.zeros(2)})
    with beside_ours(engines=[engine]).bind(), pytest.raises(PluginFailure, match="gives no output 'probabilities'"):
        transload.run(digits, {"image": np.zeros((1, 1, 8, 8), np.float32)}, engine="acme")


def test_models_of_other_outputs_are_not_compared() -> None:
    one = np.zeros(2)
    with pytest.raises(UsageError, match="the model has 2 outputs, and what it is compared with 1"):
        compare_outputs({"a": one, "b": one}, {"a": one})


@pytest.mark.parametrize("given", [10**400, 1j, "1", None])
def test_metrics_that_are_no_floats(given: Any, digits: Path, tmp_path: Path) -> None:
    with beside_ours(metrics=[Metric("acme", lambda a, b: given)]).bind():
        artifact = transload.convert(digits, out=tmp_path / "out")
    assert artifact.verified and artifact.verification is not None
    assert [note for note in artifact.verification.notes if "acme could not be computed: plugin 'acme'" in note]


@pytest.mark.parametrize("made", [{}, {"other": 3}, [], lambda: None])
def test_what_opens_and_prepares_gives_functions(made: Any, digits: Path) -> None:
    there = beside_ours(engines=[Engine("acme", lambda module, function: made)], conversions=[
        Conversion("acme", "acme", "top", RewriteTable(), unfit=lambda module: 3)])
    with there.bind():
        with pytest.raises(TransloadError, match="'acme'"):
            transload.run(digits, {"image": np.zeros((1, 1, 8, 8), np.float32)}, engine="acme")
        with pytest.raises(PluginFailure, match="gives a int, where None or a reason is wanted"):
            transload.lower(module_of("acme.op"), "top")


# --- noise


@pytest.mark.parametrize("fails", [False, True])
def test_what_plugins_print_is_no_part_of_the_json(fails: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def read(*_: Any) -> Module:
        print("reading ...")
        if fails:
            raise ReadError("no")
        return module_of("top.Relu")

    (tmp_path / "m.acme").write_text("x")
    with beside_ours(readers=[Reader("acme", "top", (".acme",), read)]).bind():
        code = transload.cli.run(["convert", str(tmp_path / "m.acme"), "-o", str(tmp_path / "out"), "--json"])
    shown = capsys.readouterr()
    assert json.loads(shown.out)["exit_code"] == code == (3 if fails else 0)
    assert "reading ..." in shown.err


# --- what is computed in place


def in_place(inputs: Any, keep: bool = False) -> dict[str, np.ndarray]:
    x = inputs["x"]
    x *= 2
    return {"y": np.maximum(x, 0)}


def test_runtimes_that_write_into_their_inputs_are_judges_all_the_same(tmp_path: Path) -> None:
    """The result is given what the runtime was: else it would be right of the doubled input, and "passed"."""
    (tmp_path / "m.acme").write_text("x")
    there = beside_ours(
        readers=[Reader("acme", "top", (".acme",), lambda *_: module_of("top.Relu"))],
        runtimes=[Runtime("acme-runtime", "acme", lambda path: in_place, available=lambda: None)])
    with there.bind():
        artifact = transload.convert(tmp_path / "m.acme", "tosa", tmp_path / "out")
    assert artifact.verification is not None and artifact.verification.status == "failed"


def test_metrics_and_scores_that_write_into_what_they_measure(digits: Path, tmp_path: Path) -> None:
    """What comes after them would measure their zeros."""
    def measure(reference: np.ndarray, actual: np.ndarray) -> float:
        actual[...] = reference
        return 0.0

    def score(outputs: Any, label: Any, reference: Any) -> float:
        outputs["probabilities"][...] = 0
        return 1.0

    said = "'acme'.*ValueError: assignment destination is read-only"
    with beside_ours(metrics=[Metric("acme", measure)]).bind():
        artifact = transload.convert(digits, out=tmp_path / "out")
    assert artifact.verification is not None and re.search(said, "".join(artifact.verification.notes))
    with beside_ours(scores=[Score("acme", score)]).bind(), pytest.raises(PluginFailure, match=said):
        transload.evaluate(digits, [np.zeros((1, 1, 8, 8), np.float32)], metrics=["acme"])


def test_engines_that_write_into_their_inputs() -> None:
    """They wrote into the arrays of who ran the module."""
    x = np.float32([1, -2])
    with beside_ours(engines=[Engine("acme", lambda module, function: in_place)]).bind():
        given = transload.run(module_of("top.Relu"), {"x": x}, engine="acme")
    np.testing.assert_array_equal(given["y"], [2, 0])
    np.testing.assert_array_equal(x, [1, -2])


@pytest.mark.parametrize(("gives", "why"), [
    ({"y": np.zeros((2, 1), np.float32)}, r"gives float32 of the sizes \[2, 1\] as output 'y', which is tensor<2xf32>"),
    ({"y": np.zeros((3,), np.float32)}, r"gives float32 of the sizes \[3\]"),
    ({"y": np.zeros((2,))}, "gives float64"),
    ({"y": np.zeros((2,), np.float32), "z": np.zeros(1)}, "gives 'z', which the model does not"),
])
def test_engines_that_give_other_outputs(gives: dict[str, np.ndarray], why: str) -> None:
    """Users had them, of any shape and type."""
    engine = Engine("acme", lambda module, function: lambda inputs, keep=False: gives)
    with beside_ours(engines=[engine]).bind(), pytest.raises(PluginFailure, match=why):
        transload.run(module_of("top.Relu"), {"x": np.float32([1, -2])}, engine="acme")


def test_inputs_of_the_user_that_do_not_fit_are_no_failure_of_an_engine() -> None:
    engine = Engine("acme", lambda module, function: in_place)
    with beside_ours(engines=[engine]).bind(), pytest.raises(RunError, match="input 'x'"):
        transload.run(module_of("top.Relu"), {"x": np.float32([1, -2, 3])}, engine="acme")


class Remembering(Target):
    """A target whose artifact says nothing, and which has the module that it is of."""

    name, accepts = "mine", ("tosa",)

    def emit(self, module: Module, directory: Path, stem: str, options: Any) -> Emitted:
        (directory / "a.bin").write_text("x")
        self.module = module
        return Emitted([directory / "a.bin"], {})


def test_targets_that_run_to_another_rank(tmp_path: Path, digits: Path) -> None:
    """They passed where only sizes of 1 were more, and reports had the model's shape."""
    class Mine(Remembering):
        def run(self, emitted: Emitted, inputs: Any) -> Any:
            return {name: array[..., None] for name, array in transload.run(self.module, inputs).items()}

    with beside_ours(targets=[Mine()]).bind(), pytest.raises(ArtifactError, match=r"runtime \(plugin .*\) gives .* of the sizes"):
        transload.convert(digits, "mine", tmp_path)


def test_targets_that_write_into_the_artifact_while_it_is_judged(tmp_path: Path, digits: Path) -> None:
    """The user had other bytes than those that were verified."""
    class Mine(Remembering):
        def run(self, emitted: Emitted, inputs: Any) -> Any:
            emitted.files[0].write_text("changed")
            return transload.run(self.module, inputs)

    with beside_ours(targets=[Mine()]).bind(), pytest.raises(PluginFailure, match=r"writes into a\.bin"):
        transload.convert(digits, "mine", tmp_path)


@pytest.mark.parametrize("leave", [
    lambda path: path.write_text("slow"), lambda path: path.is_symlink() or path.symlink_to("..")], ids=["file", "link"])
def test_targets_that_leave_a_file_beside_the_artifact(
    tmp_path: Path, digits: Path, leave: Callable[[Path], Any],
) -> None:
    """It was delivered, and the report did not list it."""
    class Mine(Remembering):
        def run(self, emitted: Emitted, inputs: Any) -> Any:
            leave(emitted.files[0].parent / "trace.log")
            return transload.run(self.module, inputs)

    with beside_ours(targets=[Mine()]).bind(), pytest.raises(PluginFailure, match=r"'mine'\.run\(\).*leaves trace\.log beside"):
        transload.convert(digits, "mine", tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.parametrize("remove", [lambda path: path.unlink(), lambda path: shutil.rmtree(path.parent)], ids=["file", "folder"])
def test_targets_that_remove_the_artifact_while_it_is_judged(
    tmp_path: Path, digits: Path, remove: Callable[[Path], Any],
) -> None:
    """It is the target's doing: another -o would not help."""
    class Mine(Remembering):
        def run(self, emitted: Emitted, inputs: Any) -> Any:
            made = transload.run(self.module, inputs)
            if emitted.files[0].exists():
                remove(emitted.files[0])
            return made

    with beside_ours(targets=[Mine()]).bind(), pytest.raises(PluginFailure, match=r"'mine'\.run\(\)"):
        transload.convert(digits, "mine", tmp_path)


def test_parts_that_are_written_elsewhere(tmp_path: Path, digits: Path) -> None:
    class Mine(Target):
        name, accepts = "mine", ("top",)

        def takes(self, op: Any, options: Any) -> bool:
            return str(op.name) != "top.Softmax"

        def emit(self, module: Module, directory: Path, stem: str, options: Any) -> Emitted:
            (directory / "a.bin").write_text("x")
            (directory.parent / "b.bin").write_text("x")
            return Emitted([directory / "a.bin"])

    with beside_ours(targets=[Mine()]).bind(), pytest.raises(PluginFailure, match=r"'mine'\.emit\(\).*b\.bin was written"):
        transload.convert(digits, "mine", tmp_path, verify=False)


def test_registering_when_the_hook_is_over() -> None:
    """Nothing was registered, and nothing said so."""
    kept: list[Any] = []

    class Late:
        @staticmethod
        @transload.hookimpl
        def register_metrics(register: Any) -> None:
            register(Metric("mine", lambda reference, actual: 0.0))
            kept.append(register)

    Host().register(Late(), "acme")
    with pytest.raises(PluginError, match=r"'acme'.*register_metrics is over"):
        kept[0](Metric("late", lambda reference, actual: 0.0))


@pytest.mark.parametrize(("arguments", "why"), [
    ((None,), "takes a plugin, and was given None"), ((object(), 3), "name=, and was given 3")])
def test_registering_what_is_no_plugin(arguments: tuple[Any, ...], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        Host().register(*arguments)


def test_readers_that_take_the_element_type_none(tmp_path: Path) -> None:
    """It stands for the file's own, and became that of the model."""
    def read(source: Any, inputs: Any) -> Module:
        module = new_module()
        function = module.add_function("main", [inputs.get("x", VECTOR)], ["x"])
        set_results(function, list(function.regions[0].block.arguments), ["y"])
        return module

    (tmp_path / "m.acme").write_text("x")
    with beside_ours(readers=[Reader("acme", "top", (".acme",), read)]).bind():
        assert str(transload.load(tmp_path / "m.acme").inputs["x"]) == "tensor<2xf32>"
        with pytest.raises(PluginFailure, match="input 'x' the type tensor<3xnone>: the element type none"):
            transload.load(tmp_path / "m.acme", inputs={"x": (3,)})


def test_what_is_no_host() -> None:
    """AttributeErrors, and the blame for a variable that nobody set."""
    for make in (lambda: Context(3), lambda: use_host("onnx")):  # type: ignore[arg-type]
        with pytest.raises(UsageError, match=r"a Host is wanted, and .* is none"):
            make()
    with pytest.raises(UsageError, match=r"takes a list of importlib.metadata.EntryPoint, and was given \['x'\]"):
        Host(["x"])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="takes a text as only"):
        Host(only=["onnx"])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"^only= names plugins that are not installed: nope"):
        Host(only="nope")


@pytest.mark.parametrize("member", ["watch", "tell"])
def test_what_is_no_function_is_told_before_anything_runs(member: str) -> None:
    with pytest.raises(UsageError, match=rf"run\(\) takes a function as {member}, and was given int"):
        transload.run(module_of("top.Relu"), {"x": np.ones(2, np.float32)}, **{member: 3})
