"""A target that can run its artifact is verified by what that gives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.context import Context
from transload.errors import ArtifactError, PluginError, RunError
from transload.ir import Module
from transload.plugin import Emitted, Target
from transload.plugin_host import Host
from transload.verification.judge import Judge
from transload.verification.tolerance import Tolerance


class Chip(Target):
    """A chip whose program is the TOSA file, and whose runtime adds `wrong` to what it computes."""

    name, doc, accepts = "chip", "A toy.", ("tosa",)

    def __init__(self, wrong: int = 0, breaks: bool = False, error: type[RunError] = RunError) -> None:
        self.wrong, self.breaks, self.error = wrong, breaks, error
        self.ran: list[list[str]] = []

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        transload.save(module, directory / f"{stem}.tosa")
        return Emitted([directory / f"{stem}.tosa"], {"cycles": 7})

    def run(self, emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:  # type: ignore[override]
        assert emitted.report == {"cycles": 7} and emitted.files[0].is_file()
        self.ran.append(list(inputs))
        if self.breaks:
            raise self.error("the simulator is not licensed")
        return {name: array + array.dtype.type(self.wrong) for name, array in transload.run(emitted.files[0], inputs).items()}


@pytest.fixture
def convert(examples: Path, tmp_path: Path) -> Any:
    def call(chip: Chip, model: str = "digits_int8.tflite", **asked: Any) -> Any:
        host = Host()
        host.targets["chip"] = chip
        with Context(host).bind():
            return transload.convert(examples / "digits" / model, "chip", tmp_path, **asked).verification

    return call


def test_the_artifact_is_run_where_its_target_can(convert: Any):
    chip = Chip()
    verified = convert(chip)
    assert verified.passed and verified.engine == "chip's own runtime" and chip.ran[0] == ["image"]


def test_an_artifact_that_computes_otherwise_fails_and_it_is_said_whose_fault_it_is(convert: Any):
    verified = convert(Chip(wrong=9))
    assert verified.failed and "differs by" in verified.broken[0]
    assert any("it is what chip makes of it that differs" in note for note in verified.notes)


class Foreign(Chip):
    """A runtime whose dialect no engine of ours executes."""

    accepts = ("onnx",)

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        transload.save(module, directory / f"{stem}.onnx")
        return Emitted([directory / f"{stem}.onnx"], {"cycles": 7})


@pytest.mark.parametrize("model", ["digits_float.tflite", "digits_float.onnx"])
def test_where_no_engine_runs_the_module_its_form_in_the_hub_says_whose_fault_it_is(convert: Any, model: str):
    """That it is unknown whose fault it is leads nowhere; so it is where the way to the target did not go by the hub."""
    verified = convert(Foreign(wrong=9), model)
    assert verified.failed
    (note,) = [note for note in verified.notes if "no engine here runs the module that chip was given" in note]
    assert "the hub's form of it" in note and "it is what chip makes of it that differs" in note


def test_where_the_form_in_the_hub_does_not_run_either_the_verdict_stands(convert: Any, monkeypatch: pytest.MonkeyPatch):
    judge = Judge.judge

    def by_its_own_alone(self: Judge, given: Any) -> Any:
        if self.running.own is None:
            raise RunError("the hub has no kernel of it")
        return judge(self, given)

    monkeypatch.setattr(Judge, "judge", by_its_own_alone)
    verified = convert(Foreign(wrong=9), "digits_float.tflite")
    assert verified.failed
    assert "no engine here runs the module that chip was given: whether that is wrong is unknown" in verified.notes


def test_where_the_runtime_cannot_run_it_an_engine_does_and_that_is_noted(convert: Any):
    verified = convert(Chip(breaks=True))
    assert verified.passed and verified.engine.startswith(("auto", "reference", "xla"))
    assert "an engine ran the module instead: the simulator is not licensed" in verified.notes[0]


def test_an_artifact_that_is_wrong_is_an_error_and_no_engine_takes_its_place(convert: Any, tmp_path: Path):
    with pytest.raises(ArtifactError):
        convert(Chip(breaks=True, error=ArtifactError))
    assert [file.name for file in tmp_path.iterdir()] == ["report.json"]


def test_what_nothing_can_judge_is_run_all_the_same(examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A broken artifact was given out where the model's own runtime could not run the model."""
    monkeypatch.setattr("transload.verification.verify.runtime_for", lambda format: (None, "no runtime is here"))

    def convert(chip: Chip) -> Any:
        host = Host()
        host.targets["chip"] = chip
        with Context(host).bind():
            return transload.convert(examples / "digits" / "digits_float.onnx", "chip", tmp_path / "out").verification

    class Of(Foreign):
        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

        def run(self, emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:  # type: ignore[override]
            self.breaks = not all((array == self.number).all() for array in inputs.values())
            return super().run(emitted, inputs)

    chip = Foreign()
    assert convert(chip).status == "skipped" and len(chip.ran) == 1
    assert convert(Of(0)).status == "skipped", "some numbers that are drawn are out of a range"
    assert convert(Of(1)).status == "skipped", "nothing is divided by zeros"
    with pytest.raises(RunError, match="chip's own runtime cannot run the artifact: the simulator is not licensed"):
        convert(Foreign(breaks=True))
    with pytest.raises(ArtifactError):
        convert(Foreign(breaks=True, error=ArtifactError))
    assert convert(Chip(breaks=True)).status == "skipped", "an engine runs it"


def test_what_is_near_enough_is_the_targets_to_say_and_the_users_to_say_otherwise(convert: Any, tmp_path: Path):
    chip = Chip(wrong=3)
    assert convert(chip).failed
    chip.tolerance = ("integer=3",)
    assert convert(chip).passed
    assert json.loads((tmp_path / "report.json").read_text())["tolerance"]["integer"] == 3
    assert convert(chip, tolerance=["cos=0.9"]).passed, "what the user says goes over the target's"
    assert convert(chip, tolerance=["integer=2"]).failed
    assert convert(chip, tolerance=Tolerance()).failed
    chip.tolerance = ("intager=3",)
    with pytest.raises(PluginError, match="no tolerance is called 'intager'"):
        convert(chip)


@pytest.mark.parametrize("outcome", [None, [1]])
def test_a_runtime_that_gives_no_outputs_is_blamed_on_its_plugin(examples: Path, tmp_path: Path, outcome: Any):
    from transload import hookimpl
    from transload.errors import PluginFailure

    class Broken(Chip):
        def run(self, emitted: Emitted, inputs: Any) -> Any:  # type: ignore[override]
            return outcome

    class Mine:
        @hookimpl
        def register_targets(self, register: Any) -> None:
            register(Broken())

    host = Host()
    host.register(Mine())
    with Context(host).bind(), pytest.raises(PluginFailure, match=r"failed in target 'chip'.run\(\): .*where outputs by name"):
        transload.convert(examples / "digits" / "digits_int8.tflite", "chip", tmp_path)


@pytest.mark.parametrize("takes", [False, True])
def test_so_it_is_where_the_model_was_quantized_on_the_way(convert: Any, takes: bool):
    """Of a part of the model, too: its integers need not be the same where their target says that others are near enough."""
    chip = Chip()
    chip.run = lambda emitted, inputs: {  # type: ignore[method-assign]
        name: array + np.where(np.arange(array.size).reshape(array.shape) == 0, 1, 0).astype(array.dtype)
        for name, array in transload.run(emitted.files[0], inputs).items()}
    if takes:
        chip.takes = lambda op, options: op.name != "tosa.rescale"
    asked: dict[str, Any] = {"model": "digits_float.tflite", "quantize": "int8"}
    asked["data"] = [np.random.default_rng(0).random((1, 8, 8, 1), np.float32) for _ in range(4)]
    found = convert(chip, **asked)
    assert found.failed and "has to be the same" in found.broken[0]
    chip.tolerance = ("integer=200", "cos=0.1", "euclid=-9")
    assert convert(chip, **asked).passed
    chip.tolerance, chip.rounds_alone = (), True
    assert not any("has to be the same" in reason for reason in convert(chip, **asked).broken)
