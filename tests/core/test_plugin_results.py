"""What functions of plugins give back is looked at, whichever they are, and blamed on them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.cli import run
from transload.context import Context
from transload.errors import ConversionError, Finding, PluginFailure, ReadError, RunError, TransloadError, UsageError
from transload.facts import Facts
from transload.ir import F32, Module, TensorType
from transload.passes.manager import Pipeline
from transload.plugin import (
    Calibrator,
    Conversion,
    Engine,
    ForeignFormat,
    KernelTable,
    Metric,
    Pass,
    Quantized,
    Quantizer,
    Reader,
    Score,
    Writer,
)
from transload.plugin_host import Host
from transload.rewrite import RewriteTable
from transload.testing import build_module

from tests.support.plugins import beside_ours, raising, registering

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


def test_ops_of_readers_that_are_not_as_declared(tmp_path: Path) -> None:
    """Our readers say it themselves; what others read was converted."""
    (tmp_path / "m.zz").write_text("x")

    def read(source: Any, inputs: Any) -> Module:
        module = build_module([TensorType((2, 3), F32)], lambda b, x: b.emit("top.Softmax", x, axis=1))
        next(op for op in module.ops() if op.name == "top.Softmax").attributes["axis"] = 7
        return module

    with strangers(readers=[Reader("zz", "top", (".zz",), read)]).bind(), pytest.raises(ReadError) as raised:
        transload.convert(tmp_path / "m.zz", "tosa", tmp_path / "out")
    assert raised.value.message.endswith("m.zz: its ops break the rules of their dialects")
    assert "axis is a dimension of the input: 7" in raised.value.findings[0].why


@pytest.mark.parametrize("write", [lambda module, path: None, lambda module, path: path.mkdir()])
def test_writers(write: Any, tmp_path: Path, digits: Path) -> None:
    module = transload.legalize(transload.load(digits))
    writer = Writer("zz", "top", (".zz",), write)
    assert "m.zz is no file" in failing(writer, "writers", lambda: transload.save(module, tmp_path / "m.zz"))


def dies(module: Module, path: Path) -> None:
    path.write_text("half of")
    raise ZeroDivisionError


@pytest.mark.parametrize(("write", "why"), [(lambda module, path: None, "was not written"), (dies, "ZeroDivisionError")])
def test_writers_leave_what_there_was(write: Any, why: str, tmp_path: Path, digits: Path) -> None:
    """One that writes nothing over an old file, or dies halfway."""
    (tmp_path / "m.zz").write_text("old")
    module = transload.legalize(transload.load(digits))
    writer = Writer("zz", "top", (".zz",), write)
    assert why in failing(writer, "writers", lambda: transload.save(module, tmp_path / "m.zz"))
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("m.zz", "old")]


def test_writers_may_write_files_beside(tmp_path: Path, digits: Path) -> None:
    def write(module: Module, path: Path) -> None:
        path.write_text("model")
        path.with_suffix(".weights").write_text("weights")

    with strangers(writers=[Writer("zz", "top", (".zz",), write)]).bind():
        transload.save(transload.legalize(transload.load(digits)), tmp_path / "m.zz")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.weights", "m.zz"]


def strangers(**items: Any) -> Context:
    """Our plugins, and one that registers these."""
    own = Host()
    own.register(type("Acme", (), {name: staticmethod(hook) for name, hook in registering(**items).items()}), "strangers")
    return Context(own)


def without_terminator(module: Module) -> bool:
    module.body_of_main.terminator.erase()
    return True


def without_functions(module: Module) -> bool:
    for function in list(module.functions.values()):
        function.erase()
    return True


def annotated(annotation: str, option: Any = None) -> Any:
    """A pass as one writes it with `from __future__ import annotations`, and types imported for type checkers alone."""
    def run(module: Any, scale: Any = 1.0) -> bool:
        seen.append(scale)
        return False

    seen: list[Any] = []
    run.__annotations__ = {"module": "NotThere", "scale": annotation, "return": "NotThereEither"}
    return run, seen


def test_passes_with_types_of_type_checkers_alone(digits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What options do not need is not asked for; where an option does, its plugin is told, and the others are listed."""
    (good, seen), (bad, _) = annotated("float"), annotated("Missing")
    module = transload.legalize(transload.load(digits))
    with strangers(passes=[Pass("good", good), Pass("bad", bad)]).bind():
        Pipeline.parse("good{scale=0.5},good,bad").run(module)
        assert seen == [0.5, 1.0]
        assert run(["passes"]) == 0
        listed = " ".join(capsys.readouterr().out.split())
        assert "canonicalize" in listed and "scale" in listed and "NameError: name 'Missing'" in listed
        with pytest.raises(PluginFailure, match=r"'strangers'.*pass 'bad'.*Missing"):
            Pipeline.parse("bad{scale=2}")


def test_options_of_quantizers_are_typed_by_their_annotations(digits: Path) -> None:
    seen: list[Any] = []

    def quantizer(module: Module, samples: Any, step: float = 1.0) -> Module:
        seen.append(step)
        return module.clone()

    with strangers(quantizers=[Quantizer("mine", quantizer)]).bind():
        module = transload.legalize(transload.load(digits))
        transload.quantize(module, "mine", step="0.5")
        with pytest.raises(UsageError, match="option step of quantizer 'mine' must be float, not 'many'"):
            transload.quantize(module, "mine", step="many")
    assert seen == [0.5]


def test_errors_that_are_made_of_other_things_than_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As one raises them in passing: another error, several lines, findings that are text."""
    (tmp_path / "m.zz").write_text("x")
    for made, said in (
            (lambda: ReadError(ValueError("bad byte")), "ValueError: bad byte"),  # type: ignore[arg-type]
            (lambda: TransloadError(KeyError(3)), "KeyError: 3"), (lambda: RunError(OSError(5)), "OSError: 5"),  # type: ignore[arg-type]
            (lambda: ReadError("x", hint=["one", "two"]), "→ one; two"),  # type: ignore[arg-type]
            (lambda: ReadError("x", findings=["abc"]), "finding: abc"),  # type: ignore[list-item]
            (lambda: ReadError("x", findings=repeat(Finding("a", "b"))), "a (1048576 times): b")):
        def read(source: Any, inputs: Any, made: Any = made) -> None:
            raise made()

        with strangers(readers=[Reader("zz", "top", (".zz",), read)]).bind():
            assert run(["inspect", str(tmp_path / "m.zz")]) in (1, 3)
        assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("code", [0, -1, 256])
def test_no_error_says_that_all_is_well(code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What ends a command with an error ended it with exit code 0, where the error's class said so."""
    (tmp_path / "m.zz").write_text("x")

    def read(source: Any, inputs: Any) -> None:
        raise type("Fine", (TransloadError,), {"exit_code": code})("nothing is wrong")

    with strangers(readers=[Reader("zz", "top", (".zz",), read)]).bind():
        assert run(["inspect", str(tmp_path / "m.zz")]) == 3
    assert f"whose exit_code cannot be {code}" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("run", [without_terminator, without_functions])
def test_passes(run: Any, tmp_path: Path, digits: Path) -> None:
    mine = Pass("mine", run)
    said = failing(mine, "passes", lambda: transload.convert(digits, out=tmp_path / "out", passes="mine", verify=False))
    assert "failed in pass 'mine' (run): ValueError: leaves a module that is wrong: " in said


class Telling:
    """What runs nothing, and has notes."""

    def __init__(self, notes: Any) -> None:
        self.notes = notes

    def __call__(self, inputs: Any, keep: bool = False) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(("made", "why"), [
    (None, "gives None, where a function is wanted"),
    (Telling(7), "gives a function whose notes are a int, and no list of texts"),
    (Telling([None]), "gives a function whose notes are a list, and no list of texts"),
    (lambda inputs, keep=False: [1], "gives a list, where outputs by name are wanted"),
    (lambda inputs, keep=False: {"y": [1.0]}, "gives a list as output 'y', where an array of numbers is wanted")])
def test_engines(made: Any, why: str, tmp_path: Path, digits: Path) -> None:
    engine = Engine("mine", lambda module, function: made)
    assert why in failing(engine, "engines", lambda: transload.convert(digits, out=tmp_path / "out", engine="mine"))
    image = {"image": np.zeros((1, 1, 8, 8), np.float32)}
    assert why in failing(engine, "engines", lambda: transload.run(digits, image, engine="mine"))


def test_outputs_without_a_name(digits: Path) -> None:
    engine = Engine("mine", lambda module, function: lambda inputs, keep=False: {None: np.zeros(1)})
    said = failing(engine, "engines", lambda: transload.run(digits, {"image": np.zeros((1, 1, 8, 8), np.float32)}, engine="mine"))
    assert "gives an output the name None" in said


@pytest.mark.parametrize("change", [lambda module: (yield), lambda module: np.zeros((2, 2)), lambda module: "done"])
def test_passes_say_whether_they_changed_something(change: Any, digits: Path) -> None:
    """One that is a generator does nothing when it is called."""
    said = failing(Pass("mine", change), "passes", lambda: transload.convert(digits, passes="mine", verify=False))
    assert "where is wanted whether it changed the module" in said


@pytest.mark.parametrize("kind", ["passes", "metrics"])
def test_text_that_names_no_function(kind: str, digits: Path) -> None:
    made = Pass("mine", "math:pi") if kind == "passes" else Metric("mine", "math:pi")
    asked: dict[str, Any] = {"passes": "mine"} if kind == "passes" else {"tolerance": ["mine=1"]}
    for _ in range(2):
        assert "names 3.14" in failing(made, kind, lambda: transload.convert(digits, **asked))


def nested(levels: int | None) -> dict[str, Any]:
    """A dictionary that lies so deep in itself; without end for None."""
    made: dict[str, Any] = {}
    if levels is None:
        made["again"] = made
    for _ in range(levels or 0):
        made = {"again": made}
    return made


QUANTIZED: list[tuple[Any, str]] = [
    (7, "gives a int, where a Module or a Quantized"), (Quantized(None), "gives a Quantized of None"),
    (lambda module: Quantized(module, ["conv1"]), "whose floats must be a dictionary by texts"),
    (lambda module: Quantized(module, np.zeros(2)), "whose floats must be a dictionary by texts"),
    (lambda module: Quantized(module, {None: "x"}), "whose floats must be a dictionary by texts"),
    (lambda module: Quantized(module, report=None), "whose report must be a dictionary by texts"),
    (lambda module: Quantized(module, report=nested(None)), "whose report cannot be written as JSON"),
    (lambda module: Quantized(module, report=nested(3000)), "whose report cannot be written as JSON"),
    (lambda module: Quantized(module, report=nested(150)), "whose report cannot be written as JSON"),
    (lambda module: Quantized(module, {"conv1": nested(None)}), "whose floats cannot be written as JSON"),
    (lambda module: Quantized(module, report={"layers": ["int8"]}), "layers that are no texts by names"),
    (lambda module: Quantized(module, report={"layers": {"conv1": 8}}), "layers that are no texts by names"),
    (lambda module: Quantized(module, report={"nothing quantized": 7}), "'nothing quantized' that is no list of texts"),
    (lambda module: Quantized(module, source="float.onnx"), "gives a Quantized of a str")]


@pytest.mark.parametrize(("made", "why"), QUANTIZED)
def test_quantizers(made: Any, why: str, digits: Path) -> None:
    mine = Quantizer("mine", lambda module, samples: made(module) if callable(made) else made)
    module = transload.load(digits)
    assert why in failing(mine, "quantizers", lambda: transload.quantize(module, "mine", None))


class Broken:
    """A calibration that cannot be saved."""

    def save(self, path: Path) -> None:
        raise KeyError("ranges")


@pytest.mark.parametrize(("made", "why"), [
    ({"x": 1}, "gives a dict, where something with save"), (None, "gives None")])
def test_calibrators(made: Any, why: str, digits: Path) -> None:
    mine = Calibrator("mine", lambda module, samples, name: made)
    module = transload.load(digits)
    assert why in failing(mine, "calibrators", lambda: transload.calibrate(module, [], "mine"))


def test_what_a_calibrator_gave_is_saved_by_it(digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = Host()

    class Plugin:
        @transload.hookimpl
        def register_calibrators(self, register: Any) -> None:
            register(Calibrator("mine", lambda module, samples, name: Broken()))

    own.register(Plugin(), "strangers")
    np.save(tmp_path / "s.npy", np.zeros((2, 1, 8, 8), np.float32))
    with Context(own).bind():
        line = ["calibrate", str(digits), "--data", str(tmp_path / "s.npy"), "--method", "mine", "-o", str(tmp_path / "t")]
        assert run(line) == 3
    assert "plugin 'strangers'" in capsys.readouterr().err


@pytest.mark.parametrize("number", [np.float32(0.5), [np.float16(0.5), 1]])
def test_scores_of_any_library_are_saved(number: Any, digits: Path, tmp_path: Path) -> None:
    score = Score("mine", lambda *_: number, lambda rows: np.float32(len(rows)))
    with strangers(scores=[score]).bind():
        for _ in range(2):
            found = transload.evaluate(digits, [np.zeros((1, 1, 8, 8), np.float32)], metrics=["mine"], resume=tmp_path / "r.json")
            assert found[str(digits)]["mine"].value == 1


@pytest.mark.parametrize("number", ["x", None, {"a": 1}, [1.0, 2.0], np.zeros(2)])
def test_scores(number: Any, digits: Path) -> None:
    image = [np.zeros((1, 1, 8, 8), np.float32)]
    for score in (Score("mine", lambda *_: number), Score("mine", lambda *_: 1.0, lambda rows: number)):
        assert "where a number is wanted" in failing(
            score, "scores", lambda: transload.evaluate(digits, image, metrics=["mine"]))


def test_what_knows_files(tmp_path: Path) -> None:
    """An array has no truth value; a disk may fail while a plugin looks."""
    (tmp_path / "m.yy").write_bytes(b"MINE")
    reader = Reader("zz", "top", (), lambda *_: None, detect=lambda *_: np.ones(2))
    assert "reader 'zz' (detect)" in failing(reader, "readers", lambda: transload.load(tmp_path / "m.yy"))
    own = Host()

    class Plugin:
        @transload.hookimpl
        def register_formats(self, register: Any) -> None:
            register(ForeignFormat("zz", "a stranger's model", "go", detect=lambda *_: np.ones(2)))

        @transload.hookimpl
        def register_readers(self, register: Any) -> None:
            def detect(head: bytes, path: Path) -> bool:
                raise BrokenPipeError(32, "Broken pipe")

            register(Reader("zz", "top", (), lambda *_: None, detect=detect))

    own.register(Plugin(), "strangers")
    with Context(own).bind(), pytest.raises(ReadError, match="cannot be read: Broken pipe"):
        transload.load(tmp_path / "m.yy")


@pytest.mark.parametrize("suffixes", [(), (".yy",)])
def test_a_format_that_cannot_tell_its_files_is_told_where_nobody_knows_them(suffixes: tuple[str, ...], tmp_path: Path) -> None:
    """It was passed over, and the user read that no reader knows the format."""
    (tmp_path / "m.yy").write_bytes(b"MINE")
    (tmp_path / "folder").mkdir()
    mine = ForeignFormat("zz", "a stranger's model", "go", suffixes, detect=raising(KeyError("x")))
    for file in ("m.yy", "folder"):
        assert "format 'zz' (detect)" in failing(mine, "formats", lambda file=file: transload.load(tmp_path / file))
    other = ForeignFormat("yy", "another's model", "go there", detect=lambda head, path: True)
    with beside_ours(formats=[mine, other]).bind(), pytest.raises(ReadError, match="is another's model"):
        transload.load(tmp_path / "m.yy")


@pytest.mark.parametrize("entries", [None, 7, "main", [1]])
def test_entries_of_conversions(entries: Any, digits: Path) -> None:
    mine = Conversion("mine", "onnx", "top", RewriteTable(), cost=0.1, entries=lambda module: entries)
    assert "conversion 'mine' (entries)" in failing(mine, "conversions", lambda: transload.lower(transload.load(digits), "top"))


@pytest.mark.parametrize(("computed", "why"), [
    (None, "gives None, where tensor<1x32x2x2xf32> is wanted"), (1.0, "gives a float, where"), ("text", "gives a str, where"),
    (np.zeros((2, 2), np.float32), "gives an array of 2x2 float32"), (np.zeros((1, 32, 2, 2), np.float64), "2x2 float64"),
    ((np.zeros(1), np.zeros(1)), "gives 2 results, where the op has 1"), ((), "gives 0 results")])
def test_kernels(computed: Any, why: str, digits: Path) -> None:
    """Of a table that another module made: it is whose table it is who is blamed, and not the op that takes the numbers."""
    kernels = KernelTable()
    kernels("top.AvgPool")(lambda op, x: computed)
    mine = Facts("kernel", "top", kernels, overrides=True)
    module = transload.legalize(transload.load(digits))
    said = failing(mine, "facts", lambda: transload.run(
        module, {"image": np.zeros((1, 1, 8, 8), np.float32)}, engine="reference"))
    assert why in said and "of top.AvgPool" in said


def test_kernels_that_fold() -> None:
    kernels = KernelTable()
    kernels("top.Relu")(lambda op, x: np.zeros((3, 3), np.float32))
    text = """
"func.func"() ({
  %0 = "top.Weight"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %1 = "top.Relu"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  "func.return"(%1) : (tensor<2xf32>) -> ()
}) {sym_name = "main", function_type = () -> tensor<2xf32>} : () -> ()"""

    def fold() -> None:
        Pipeline.parse("fold-constants").run(transload.load(text=text, format="mlir"))

    said = failing(Facts("kernel", "top", kernels, overrides=True), "facts", fold)
    assert "gives an array of 3x3 float32, where tensor<2xf32> is wanted" in said


def test_rules_are_whose_table_they_stand_in(digits: Path) -> None:
    """Where the module that defines them says nothing of a plugin."""
    rules = RewriteTable()
    rules("onnx.Add")(max)
    own = Host()

    class Plugin:
        @transload.hookimpl
        def register_conversions(self, register: Any) -> None:
            register(Conversion("mine", "onnx", "top", rules, extends="onnx-to-top"))

    own.register(Plugin(), "strangers")
    with Context(own).bind(), pytest.raises(ConversionError) as raised:
        transload.lower(transload.load(digits), "tosa")
    assert "of plugin 'strangers'" in str(raised.value)


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
    def convert() -> None:
        transload.convert(digits, out=tmp_path / "out", tolerance=["mine=1"])

    assert "where a number is wanted" in failing(Metric("mine", lambda reference, actual: number), "metrics", convert)
