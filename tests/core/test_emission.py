"""What a plugin's target gives back is looked at before it is believed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import transload
from transload.context import Context
from transload.conversion import apply_conversion
from transload.errors import Finding, PluginError, PluginFailure, TransloadError
from transload.plugin import Conversion, Emitted, EmittedPart, Pass, Target
from transload.plugin_host import Host
from transload.rewrite import RewriteTable

from tests.support.plugins import beside_ours, module_of

pytestmark = pytest.mark.plugin_fails


class Strange(Target):
    name = "strange"
    accepts = ("tosa",)

    def emit(self, module: Any, directory: Path, stem: str, options: Any) -> Emitted:
        (directory / "a.bin").write_text("x")
        return Emitted([directory / "a.bin"], {})


@pytest.fixture(autouse=True)
def strange() -> Iterator[None]:
    class Plugin:
        @transload.hookimpl
        def register_targets(self, register: Callable[[Target], None]) -> None:
            register(Strange())

        @transload.hookimpl
        def register_passes(self, register: Callable[[Pass], None]) -> None:
            register(Pass("needy-pass", lambda module, must: False))
            register(Pass("homeless-pass", lambda module: False, requires=("nowhere",)))

    own = Host()
    own.register(Plugin(), "strangers")
    with Context(own).bind():
        yield


def wrote(directory: Path, name: str, **more: Any) -> Emitted:
    (directory / name).write_text("x")
    return Emitted([directory / name], **more)


def in_part(
    directory: Path, inputs: Sequence[str] = ("image",), given: Sequence[str] = ("y",), target: str = "strange",
    types: Any = MappingProxyType({}), outputs: Mapping[str, str] = MappingProxyType({"probabilities": "y"}),
) -> Emitted:
    """A model in one part, of which something may be wrong."""
    made = wrote(directory, "a.bin", outputs=dict(outputs))
    made.parts.append(EmittedPart("target", made.files, list(inputs), list(given), target=target, types=dict(types)))
    return made


def cyclic() -> dict[str, Any]:
    report: dict[str, Any] = {}
    report["report"] = report
    return report


class Evasive:
    """Raises where somebody asks what it is, or has it told."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        raise ArithmeticError("class")

    def __repr__(self) -> str:
        raise ArithmeticError("repr")


class Unsaid(Exception):
    def __repr__(self) -> str:
        raise ArithmeticError("repr")


class UnsaidList(list[Any]):
    def __iter__(self) -> Any:
        raise ArithmeticError("iter")


def linked(directory: Path) -> Emitted:
    (directory / "latest").symlink_to(wrote(directory, "it").files[0])
    return Emitted([directory / "it", directory / "latest"])


def linked_folder(directory: Path) -> Path:
    (directory.parent / "elsewhere").mkdir()
    (directory / "there").symlink_to(directory.parent / "elsewhere")
    return directory / "there"


@pytest.mark.parametrize(("emit", "why"), [
    (lambda d: Emitted([Path(__file__)]), "is no file in the directory that was given"),
    (lambda d: Emitted([Path("a.bin")]), "a.bin is no file in the directory"),
    (lambda d: Emitted([d / "absent"]), "absent is no file in the directory"),
    (lambda d: Emitted([d]), "is no file in the directory"),
    (lambda d: wrote(d, "../escaped"), "escaped is no file in the directory"),
    (lambda d: wrote(linked_folder(d), "a.bin"), "a.bin is no file in the directory"),
    (lambda d: Emitted([str(d / "a")]), "files must be a list of paths"),
    (lambda d: Emitted([], [1]), "report must be a dictionary"),
    (lambda d: Emitted([], {5: 6}), "report must be a dictionary by texts"),  # type: ignore[dict-item]
    (lambda d: Emitted([], cyclic()), "report cannot be written as JSON: ValueError: it is nested"),
    (lambda d: Emitted([], {}, 5), "parts must be a list, and are 5"),  # type: ignore[arg-type]
    (lambda d: Emitted([], {}, [], [1]), "outputs must be names of tensors by names"),  # type: ignore[arg-type]
    (lambda d: Emitted([], parts=[EmittedPart("target", 5, [], [])]), "files of a part must be a list of paths"),  # type: ignore[arg-type]
    (lambda d: Emitted([], parts=[EmittedPart("target", [], "x", [])]), "inputs of a part must be a list of names"),  # type: ignore[arg-type]
    (lambda d: Emitted([], parts=[EmittedPart("target", [], [], [], 5)]), "report must be a dictionary"),  # type: ignore[arg-type]
    (lambda d: Emitted([], parts=[EmittedPart("target", [], [], [], ops=cyclic())]), "ops of a part cannot be written as JSON"),
    (lambda d: Emitted(Evasive()), "ArithmeticError: class"),  # type: ignore[arg-type]
    (lambda d: Emitted([Evasive()]), "ArithmeticError: class"),  # type: ignore[list-item]
    (lambda d: Emitted(UnsaidList()), "ArithmeticError: iter"),
    (lambda d: Emitted(Unsaid()), "files must be a list of paths, and are an object of Unsaid"),  # type: ignore[arg-type]
    (lambda d: Emitted([], Unsaid()), "report must be a dictionary by texts, and is an object of Unsaid"),  # type: ignore[arg-type]
    (lambda d: Emitted([], Evasive()), "report cannot be written as JSON: ArithmeticError: class"),  # type: ignore[arg-type]
    (lambda d: Emitted([], {10 ** 5000: 1}), "report must be a dictionary by texts"),  # type: ignore[dict-item]
    (lambda d: Emitted(10 ** 5000), "files must be a list of paths, and are an integer of 16,610 bits"),  # type: ignore[arg-type]
    (lambda d: linked(d), "latest is a link, where a file is wanted"),
    (lambda d: wrote(d, "report.json"), "report.json is written by Transload"),
    (lambda d: Emitted(wrote(d, "unlisted").files[:0]), "unlisted was written, and is not among its files"),
    (lambda d: Emitted([]), "gives no file"),
    (lambda d: shutil.rmtree(d) or wrote(d, "a.bin"), "FileNotFoundError: [Errno 2]"),
    (lambda d: wrote(d / "no-folder", "a.bin"), "FileNotFoundError: [Errno 2]"),
    (lambda d: Emitted([], parts=["x"]), "each part must be an EmittedPart"),
    (lambda d: Emitted([], parts=[EmittedPart("moon", [], [], [])]), "each part must be an EmittedPart of 'target' or 'host'"),
    (lambda d: Emitted([], parts=[EmittedPart("host", [d / "a"], [], [])]), "which is not among the files"),
    (lambda d: in_part(d, outputs={"p": "y"}), "the outputs are 'p', and those of the model 'probabilities'"),
    (lambda d: in_part(d, outputs={"probabilities": "z"}),
     "output 'probabilities' is 'z', which no part gives; known are 'image', 'y'"),
    (lambda d: in_part(d, inputs=["zz"]), "part 1 takes 'zz', which is no input of the model, and no part before it gives it"),
    (lambda d: in_part(d, given=["image"]), "part 1 gives 'image', which is there already"),
    (lambda d: in_part(d, types={"y": "tensor<9x9xi8>"}),
     "output 'probabilities' is tensor<1x10xf32>, and the part that gives it has tensor<9x9xi8>"),
    (lambda d: in_part(d, types={"image": "tensor<1x1x8x8xi32>"}), "part 1 takes 'image' as tensor<1x1x8x8xi32>, and it is"),
    (lambda d: in_part(d, types={"image": 5}), "types of a part must be texts by names, and one is 'image': 5"),
    (lambda d: in_part(d, types={"image": "tensor<zz>"}), "the type of 'image' in a part is 'tensor<zz>', which is none:"),
    (lambda d: in_part(d, target="moon"), "part 1 was written for target 'moon', and there is none called so"),
    (lambda d: in_part(d, target=""), "part 1 names no target that runs it, and of its files (a.bin) no reader takes one"),
])
def test_what_it_says_that_it_wrote(
    emit: Callable[[Path], Emitted], why: str, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Strange, "emit", lambda self, module, directory, stem, options: emit(directory))
    with pytest.raises(PluginFailure, match=r"'strangers'.*failed in target 'strange'\.emit") as raised:
        transload.convert(examples / "digits" / "digits_float.onnx", "strange", tmp_path / "out", verify=False)
    assert why in raised.value.message
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["report.json"]  # of the refusal


class UnlikeText(str):
    """Text that raises where it is compared, or is told."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise ArithmeticError("eq")

    def __hash__(self) -> int:
        raise ArithmeticError("hash")

    def __str__(self) -> str:
        raise ArithmeticError("str")

    def __len__(self) -> int:
        raise ArithmeticError("len")


@pytest.mark.parametrize(("member", "gives", "why"), [
    ("available", lambda: UnlikeText("no licence"), "target 'strange' cannot be used: no licence"),
    ("check", lambda: [Finding("op", "why", (UnlikeText("place"),))], "target 'strange' cannot take this model"),
    ("options", lambda: {"a": (int, 10 ** 5000, "what")}, "the default of option 'a' cannot be written as JSON"),
])
def test_what_it_says_is_plain_text_and_numbers(
    member: str, gives: Callable[[], Any], why: str, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Strange, member, lambda *_: gives())
    with pytest.raises(TransloadError) as raised:
        transload.convert(examples / "digits" / "digits_float.onnx", "strange", tmp_path / "out", verify=False)
    assert why in raised.value.message


def test_a_file_that_it_names_twice_is_one(examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(self: Any, module: Any, directory: Path, stem: str, options: Any) -> Emitted:
        made = wrote(directory, "a.bin")
        return Emitted([*made.files, *made.files])

    monkeypatch.setattr(Strange, "emit", twice)
    artifact = transload.convert(examples / "digits" / "digits_float.onnx", "strange", tmp_path / "out", verify=False)
    assert [file.name for file in artifact.files] == ["a.bin", "report.json"] and artifact.report.files == {"a.bin": 1}


def findings_that_raise() -> Iterator[Any]:
    yield from ()
    raise ZeroDivisionError


@pytest.mark.parametrize(("member", "value", "why"), [
    ("check", lambda *_: ["bad"], "gives a str among its findings, where a Finding is wanted"),
    ("check", lambda *_: findings_that_raise(), "ZeroDivisionError"),
    ("check", lambda *_: [Finding("top.Relu", "no", "abc")], "names of a Finding are a tuple of texts, and are 'abc'"),
    ("check", lambda *_: [Finding("top.Relu", "no", None)], "names of a Finding are a tuple of texts, and are None"),
    ("check", lambda *_: [Finding("top.Relu", ["no"])], "why of a Finding is text, and is ['no']"),
    ("check", lambda *_: [Finding("top.Relu", "no", hint=3)], "hint of a Finding is text, and is 3"),
    ("check", lambda *_: [Finding("top.Relu", "no", count="many")], "count of a Finding is a whole number, and is 'many'"),
    ("check", lambda *_: repeat(Finding("top.Relu", "no")), "gives more than 1,048,576 of them"),
    ("leaves", lambda self, module, options: list(module.clone().body_of_main)[:1], "no op of the module which it was given"),
    ("options", lambda *_: {"a": (int, "x", "doc")}, "option 'a' has the default 'x', which is not of its type"),
    ("options", lambda *_: {"a": (("on", "off"), "of", "doc")}, "has the default 'of'"),
])
def test_what_it_says_of_itself(
    member: str, value: Any, why: str, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Strange, member, value, raising=False)
    with pytest.raises(PluginFailure, match=f"failed in target 'strange'.{member}") as raised:
        transload.convert(examples / "digits" / "digits_float.onnx", "strange", tmp_path / "out", verify=False)
    assert why in raised.value.message


@pytest.mark.parametrize(("member", "value", "why"), [
    ("pipeline", "nosuchpass", "the pipeline of target 'strange': no pass is called 'nosuchpass'"),
    ("pipeline", "canonicalize,needy-pass", "the pipeline of target 'strange': pass 'needy-pass' needs option must"),
    ("pipeline", "homeless-pass", "the pipeline of target 'strange': pass 'homeless-pass' requires nowhere; the module is in"),
    ("host", "nosuch", "the host of target 'strange': no target is called 'nosuch'"),
    ("host", "strange", "the host of target 'strange': 'strange' is the target itself"),
    ("host", "tosa", "the host of target 'strange': target 'strange' takes a model as a whole"),
    ("hosting", {"zz": 1}, "hosting of target 'strange': strange takes no option zz"),
    ("hosting", {"level": "high"}, "hosting of target 'strange': option level must be int, not 'high'"),
    ("converting", {"top-to-tosa.bias": "zz"}, "converting of target 'strange': option bias must be fine or plain, not 'zz'"),
    ("converting", {"top-to-tosa.zz": 1}, "converting of target 'strange': top-to-tosa takes no option zz"),
    ("converting", {"nosuch": 1}, "converting of target 'strange': 'nosuch' is no option of a conversion"),
    ("converting", {"top-to-toas.bias": "plain"}, "converting of target 'strange': no conversion is called 'top-to-toas'"),
    ("converting", {"tfl-to-top.zz": 1}, "converting of target 'strange': tfl-to-top takes no option zz"),  # not on the way
    ("tolerance", ("cos=abc",), "the tolerance of target 'strange': tolerance cos must be a number"),
])
def test_whose_mistake_it_is(
    member: str, value: Any, why: str, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Strange, member, value)
    monkeypatch.setattr(Strange, "options", lambda self: {"level": (int, 1, "for tests")})
    with pytest.raises(PluginError, match=f"plugin 'strangers' .*: {why}"):
        transload.convert(examples / "digits" / "digits_float.onnx", "strange", tmp_path / "out", verify=False)


def needy(module: Any, must: int) -> bool:
    return must > 0


@pytest.mark.parametrize(("added", "why"), [
    (Pass("mine", f"{__name__}:needy", at="hub"), "pass 'mine' needs option must"),
    (Pass("mine", lambda module: False, requires=("nowhere",), at="hub"), "pass 'mine' requires nowhere"),
])
def test_whose_pass_stops_every_conversion(added: Pass, why: str, examples: Path, tmp_path: Path) -> None:
    match = f"plugin 'acme' .*: pass 'mine' with at='hub': {why}"
    with beside_ours(passes=[added]).bind(), pytest.raises(PluginError, match=match):
        transload.convert(examples / "digits" / "digits_float.onnx", "tosa", tmp_path / "out", verify=False)


def test_whose_conversion_joins_what_is_not_there() -> None:
    table = RewriteTable()
    mine = Conversion("acme", "acme", "top", table=table, joins=("tf-to-topp",))
    with beside_ours(conversions=[mine]).bind(), pytest.raises(PluginError, match="joins of conversion 'acme': no") as raised:
        apply_conversion(mine, module_of("acme.op"))
    assert "did you mean 'tf-to-top'?" in raised.value.hint


@pytest.mark.parametrize("text", ["", "func.func @main(%x: tensor<1xf32>) {"])
def test_a_part_that_its_reader_refuses_does_not_pass(
    text: str, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An engine runs the module that it was to hold, which says nothing of the file."""
    def emit(self: Any, module: Any, directory: Path, stem: str, options: Any) -> Emitted:
        (directory / "a.mlir").write_text(text)
        files = [directory / "a.mlir"]
        return Emitted(files, parts=[EmittedPart("host", files, ["image"], ["y"])], outputs={"probabilities": "y"})

    monkeypatch.setattr(Strange, "emit", emit)
    made = transload.convert(examples / "digits" / "digits_float.onnx", "strange", tmp_path / "out")
    assert made.verification is not None and made.verification.status == "inconclusive"
    assert "part 1 (host) cannot be read back" in made.verification.why


def test_a_part_is_not_given_in_parts(examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Strange, "emit", lambda self, module, directory, stem, options: in_part(
        directory, list(module.inputs), ["y"], outputs=dict.fromkeys(module.outputs, "y")))
    monkeypatch.setattr(Strange, "takes", lambda self, op, options: op.name == "tosa.conv2d", raising=False)
    with pytest.raises(PluginFailure, match="gives parts of what is a part already"):
        transload.convert(examples / "digits" / "digits_float.onnx", "strange", tmp_path / "out")


def test_what_it_does_to_the_module_stays_with_it(examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def emit(self: Any, module: Any, directory: Path, stem: str, options: Any) -> Emitted:
        for op in reversed(list(module.body_of_main)):
            op.erase()
        return wrote(directory, "chip.bin")

    monkeypatch.setattr(Strange, "emit", emit)
    assert transload.convert(examples / "digits" / "digits_float.onnx", "strange", tmp_path / "out").verified


@pytest.mark.parametrize("member", ["run", "cannot_run"])
def test_what_it_does_to_what_was_written_stays_with_it(
    member: str, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = examples / "digits" / "digits_float.onnx"
    model = transload.load(source)

    def changing(self: Any, emitted: Emitted, *inputs: Any) -> Any:
        emitted.files.append(source)
        emitted.report["cycles"]["all"] = 0
        emitted.outputs["probabilities"] = "other"
        emitted.parts = None  # type: ignore[assignment]
        return transload.run(model, inputs[0]) if inputs else None

    monkeypatch.setattr(Strange, "emit", lambda self, module, directory, stem, options: wrote(
        directory, "chip.bin", report={"cycles": {"all": 7}}))
    monkeypatch.setattr(Strange, "run", lambda self, emitted, inputs: transload.run(model, inputs))
    monkeypatch.setattr(Strange, member, changing)
    made = transload.convert(source, "strange", tmp_path / "out")
    assert made.verified and made.report.target_report == {"cycles": {"all": 7}}
    assert [file.name for file in made.files] == ["chip.bin", "report.json"]
