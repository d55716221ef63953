"""What a plugin's target gives back is looked at before it is believed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import transload
from transload.context import Context
from transload.errors import PluginError, PluginFailure
from transload.plugin import Emitted, EmittedPart, Target
from transload.plugin_host import Host

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

    own = Host()
    own.register(Plugin(), "strangers")
    with Context(own).bind():
        yield


def wrote(directory: Path, name: str, **more: Any) -> Emitted:
    (directory / name).write_text("x")
    return Emitted([directory / name], **more)


@pytest.mark.parametrize(("emit", "why"), [
    (lambda d: Emitted([Path(__file__)]), "is no file in the directory that was given"),
    (lambda d: Emitted([Path("a.bin")]), "a.bin is no file in the directory"),
    (lambda d: Emitted([d / "absent"]), "absent is no file in the directory"),
    (lambda d: Emitted([d]), "is no file in the directory"),
    (lambda d: Emitted([str(d / "a")]), "files must be a list of paths"),
    (lambda d: Emitted([], [1]), "report must be a dictionary"),
    (lambda d: wrote(d, "report.json"), "report.json is written by Transload"),
    (lambda d: Emitted(wrote(d, "unlisted").files[:0]), "unlisted was written, and is not among its files"),
    (lambda d: Emitted([], parts=["x"]), "each part must be an EmittedPart"),
    (lambda d: Emitted([], parts=[EmittedPart("moon", [], [], [])]), "each part must be an EmittedPart of 'target' or 'host'"),
    (lambda d: Emitted([], parts=[EmittedPart("host", [d / "a"], [], [])]), "which is not among the files"),
    (lambda d: Emitted([], parts=[EmittedPart("host", [], ["x"], ["y"])], outputs={"p": "z"}), "the parts know y"),
])
def test_what_it_says_that_it_wrote(
    emit: Callable[[Path], Emitted], why: str, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Strange, "emit", lambda self, module, directory, stem, options: emit(directory))
    with pytest.raises(PluginFailure, match=r"'strangers'.*failed in target 'strange'\.emit") as raised:
        transload.convert(examples / "digits" / "digits_float.onnx", "strange", tmp_path / "out", verify=False)
    assert why in raised.value.message
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["report.json"]  # of the refusal


def findings_that_raise() -> Iterator[Any]:
    yield from ()
    raise ZeroDivisionError


@pytest.mark.parametrize(("member", "value", "why"), [
    ("check", lambda *_: ["bad"], "gives a str among its findings, where a Finding is wanted"),
    ("check", lambda *_: findings_that_raise(), "ZeroDivisionError"),
    ("options", lambda *_: {"a": (int, "x", "doc")}, "option 'a' has the default 'x', which is not of its type"),
    ("options", lambda *_: {"a": (("on", "off"), "of", "doc")}, "has the default 'of'"),
])
def test_what_it_says_of_itself(
    member: str, value: Any, why: str, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Strange, member, value)
    with pytest.raises(PluginFailure, match=f"failed in target 'strange'.{member}") as raised:
        transload.convert(examples / "digits" / "digits_float.onnx", "strange", tmp_path / "out", verify=False)
    assert why in raised.value.message


@pytest.mark.parametrize(("member", "value", "why"), [
    ("pipeline", "nosuchpass", "the pipeline of target 'strange': no pass is called 'nosuchpass'"),
    ("tolerance", ("cos=abc",), "the tolerance of target 'strange': tolerance cos must be a number"),
])
def test_whose_mistake_it_is(
    member: str, value: Any, why: str, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Strange, member, value)
    with pytest.raises(PluginError, match=f"plugin 'strangers' .*: {why}"):
        transload.convert(examples / "digits" / "digits_float.onnx", "strange", tmp_path / "out", verify=False)


def test_what_it_does_to_the_module_stays_with_it(examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def emit(self: Any, module: Any, directory: Path, stem: str, options: Any) -> Emitted:
        for op in reversed(list(module.body_of_main)):
            op.erase()
        return Emitted([])

    monkeypatch.setattr(Strange, "emit", emit)
    assert transload.convert(examples / "digits" / "digits_float.onnx", "strange", tmp_path / "out").verified
