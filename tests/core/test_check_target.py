"""The check of a target runs what the target wrote, where it says that it can, and judges the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transload import Emitted, Finding, Target
from transload.context import Context
from transload.errors import ArtifactError, PluginFailure, ReadError
from transload.ir import F32, Module, TensorType
from transload.plugin_host import Host
from transload.testing import build_module, check_target

from tests.support.plugins import point, registering

Run = Callable[[Emitted, Mapping[str, np.ndarray]], dict[str, np.ndarray]]


def chip_that(run_it: Run | None, here: str | None = None) -> Target:
    """A chip of TOSA whose runtime computes so."""

    class Chip(Target):
        name = "chip"
        accepts = ("tosa",)

        def emit(self, module: Any, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
            (directory / f"{stem}.chip").write_text("program")
            return Emitted([directory / f"{stem}.chip"])

        def runs_here(self) -> str | None:
            return here

        run = staticmethod(run_it) if run_it is not None else None

    return Chip()


def model() -> Module:
    return build_module([TensorType((16,), F32)], lambda b, x: b.emit("top.Relu", x))


def checked(run_it: Run | None, here: str | None = None) -> None:
    with with_chip(run_it, here).bind():
        check_target("chip", model())


def with_chip(run_it: Run | None, here: str | None = None) -> Context:
    """All plugins that are installed, and one more with the chip."""
    own = point("acme", **registering(targets=[chip_that(run_it, here)]))
    return Context(Host([*entry_points(group="transload"), own], only=""))


def relu(emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {"y": np.maximum(inputs["x0"], 0)}


def test_what_computes_the_model_passes() -> None:
    checked(relu)


def test_what_cannot_run_here_is_not_run() -> None:
    def fails(emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        raise AssertionError("run")

    checked(fails, "the simulator is not installed")
    checked(None)


@pytest.mark.parametrize(("run_it", "said"), [
    (lambda emitted, inputs: {"y": inputs["x0"]}, r"chip.run\(\) does not give what the model computes: y: "),
    (lambda emitted, inputs: {"y": np.maximum(inputs["x0"], 0)[:8]},
     r"own runtime \(plugin .*\) gives .* of the sizes \[8\] as output 'y'"),
], ids=["wrong numbers", "too few numbers"])
def test_other_numbers_are_found(run_it: Run, said: str) -> None:
    with pytest.raises((AssertionError, ArtifactError), match=said):
        checked(run_it)


def test_what_it_raises_is_told_with_the_plugin() -> None:
    def fails(emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        raise KeyError("x")

    with pytest.raises(PluginFailure, match=r"plugin 'acme' .*failed in target 'chip'.run\(\)"):
        checked(fails)


@pytest.mark.parametrize("gives", [{}, {"y": np.zeros(16, np.float32), "z": np.zeros(1)}], ids=["nothing", "too much"])
def test_another_number_of_outputs_is_found(gives: dict[str, np.ndarray]) -> None:
    with pytest.raises((AssertionError, PluginFailure), match=r"chip.*run.* gives"):
        checked(lambda emitted, inputs: gives)


def test_a_model_of_a_file_is_judged_by_its_verification(examples: Path) -> None:
    def zeros(emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"probabilities": np.zeros((1, 10), np.float32)}

    with (with_chip(zeros).bind(),
          pytest.raises(AssertionError, match=r"chip does not compute what .*digits_float.onnx does: ")):
        check_target("chip", examples / "digits" / "digits_float.onnx")


def refusing(check: Callable[..., Any], emit: Callable[..., Any] | None = None) -> Context:
    """All plugins that are installed, and one more with a chip that checks so."""
    made = chip_that(None)
    made.check = check  # type: ignore[method-assign]
    made.options = lambda: {"words": (int, 0, "how many it says")}  # type: ignore[method-assign]
    if emit is not None:
        made.emit = emit  # type: ignore[method-assign]
    return Context(Host([*entry_points(group="transload"), point("acme", **registering(targets=[made]))], only=""))


def is_refused(module: Module) -> bool:
    return any(op.name == "tosa.sigmoid" for op in module.ops())


def sigmoid() -> Module:
    return build_module([TensorType((16,), F32)], lambda b, x: b.emit("top.Sigmoid", x))


def crashing(module: Module, options: Mapping[str, Any]) -> list[Finding]:
    if is_refused(module):
        raise KeyError("no such unit")
    return []


def saying(*findings: Finding) -> Callable[..., list[Finding]]:
    return lambda module, options: list(findings) if is_refused(module) else []


@pytest.mark.parametrize(("check", "why"), [
    (saying(), r"(?s)chip takes .*, which it should refuse"),
    (saying(Finding("", "")), "with a finding that does not say what is refused, and why"),
    (saying(Finding("tosa.sigmoid", " ")), "with a finding that does not say what is refused, and why"),
    (crashing, r"(?s)chip fails where it should refuse .*KeyError: 'no such unit'"),
], ids=["none", "no word", "no reason", "a defect"])
def test_what_is_no_refusal_is_found(check: Callable[..., Any], why: str) -> None:
    with refusing(check).bind(), pytest.raises(AssertionError, match=why):
        check_target("chip", model(), sigmoid())


def test_a_refusal_is_asked_for_with_the_options() -> None:
    def check(module: Module, options: Mapping[str, Any]) -> list[Finding]:
        return saying(Finding("tosa.sigmoid", "there is no such unit"))(module, options) if options["words"] == 2 else []

    with refusing(check).bind():
        check_target("chip", model(), sigmoid(), words=2)
        with pytest.raises(AssertionError, match="which it should refuse"):
            check_target("chip", model(), sigmoid())


def test_a_model_that_cannot_be_read_is_not_refused(tmp_path: Path) -> None:
    with refusing(saying()).bind(), pytest.raises(ReadError, match=r"none\.onnx"):
        check_target("chip", model(), tmp_path / "none.onnx")


def test_a_target_that_writes_nothing_is_found() -> None:
    with refusing(saying(), lambda *_: Emitted([])).bind(), pytest.raises(PluginFailure, match=r"'chip'.* gives no file"):
        check_target("chip", model())
