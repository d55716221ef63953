"""Samples that are given to judge by are all judged by, and it is told on how many of how many."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.budget import TimeOver, allowed
from transload.engine.choice import work_of
from transload.errors import RunError, UsageError
from transload.ir import Module
from transload.verification.judge import Judge
from transload.verification.reference import Reference
from transload.verification.running import Running
from transload.verification.verify import Verification, verify_conversion

from tests.support.graphs import Graph

Cli = Callable[..., tuple[int, str, str]]
NUMBERS = np.linspace(0.1, 1.0, 16, dtype=np.float32).reshape(1, 16)


def clipped(path: Path, most: float) -> Module:
    graph = Graph((1, 16))
    transload.save(graph.done(graph.Clip(graph.MatMul(graph.inputs[0], np.eye(16)), min=0.0, max=most)), path)
    return transload.load(path)


def verified(tmp_path: Path, most: float, largest: list[float]) -> Verification:
    """A model that is cut off at 6, converted as one that is cut off at `most`, on samples up to each of the largest numbers."""
    right, wrong = clipped(tmp_path / "right.mlir", 6.0), clipped(tmp_path / "wrong.mlir", most)
    samples = [{"x0": number * NUMBERS} for number in largest]
    return verify_conversion(right, transload.lower(wrong, "tosa"), hub=transload.legalize(right), inputs=samples, every=True)


def test_all_samples_are_compared(tmp_path: Path) -> None:
    """It was the first alone, on which nothing is cut off."""
    verdict = verified(tmp_path, 3.0, [1.0, 2.0, 9.0, 1.0])
    assert verdict.failed and verdict.samples == 3 and verdict.tensors[0].metrics["max_abs"] == 3.0
    assert any("is of sample 3; on the 2 judged before it passed" in note for note in verdict.notes)
    right = verified(tmp_path, 6.0, [1.0, 2.0, 9.0, 1.0])
    assert right.passed and right.samples == 4 and not right.notes


def test_samples_are_called_what_they_are(tmp_path: Path) -> None:
    """Those that vary come first, whose places were told for those of others; a file's are called by the file."""
    right, wrong = clipped(tmp_path / "right.mlir", 6.0), clipped(tmp_path / "wrong.mlir", 3.0)
    flat, varied = np.full((1, 16), 9.0, np.float32), NUMBERS
    lowered, hub = transload.lower(wrong, "tosa"), transload.legalize(right)
    verdict = verify_conversion(right, lowered, hub=hub, inputs=[{"x0": flat}, {"x0": varied}], every=True)
    assert verdict.failed and any("is of sample 1; on the 1 judged before" in note for note in verdict.notes)
    np.save(tmp_path / "x.npy", np.stack([flat, varied]))
    samples = transload.open_samples(tmp_path / "x.npy", right)
    verdict = verify_conversion(right, lowered, hub=hub, inputs=samples, every=True)
    assert any("x.npy[0]; on the 1 judged before" in note for note in verdict.notes)


@pytest.fixture
def ended_at_three(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is over at the sample that reaches 3."""
    judge = Judge._judge_by

    def ends(self, given, reference):
        if given["x0"].max() == 3.0:
            raise TimeOver("it took too long")
        return judge(self, given, reference)

    monkeypatch.setattr(Judge, "_judge_by", ends)


@pytest.mark.usefixtures("ended_at_three")
def test_an_output_that_says_nothing_on_all(tmp_path: Path) -> None:
    """Where one tells nothing, each sample was judged by what has to be run on all: its end, or one sample, ended the verdict."""
    graph = Graph((1, 16))
    (x,) = graph.inputs
    silent = graph.Clip(graph.Clip(x, min=0.0, max=1.0), min=2.0, max=3.0)
    transload.save(graph.done(graph.Add(x, x), silent), tmp_path / "m.mlir")
    model = transload.load(tmp_path / "m.mlir")
    samples = [{"x0": number * NUMBERS} for number in (1.0, 2.0, 3.0, 4.0)]
    verdict = verify_conversion(model, transload.lower(model, "tosa"), hub=transload.legalize(model), inputs=samples, every=True)
    assert verdict.passed and verdict.samples == 2 and any("not conclusive for" in note for note in verdict.notes)


@pytest.mark.parametrize(("apart", "status"), [(0, "passed"), (3, "passed"), (12, "failed")])
def test_steps_are_counted_over_all_samples(examples: Path, monkeypatch: pytest.MonkeyPatch, apart: int, status: str) -> None:
    """Of few numbers many may be a step away by chance, on one of many samples: each of them was judged alone."""
    model = transload.load(examples / "digits" / "digits_int8.tflite")
    run = Running.__call__

    def a_step_away(self, given):
        outputs = run(self, given)
        if given["image"][0, 0, 0, 0] < apart:
            outputs = {name: array + ((np.arange(10) < 6) & (array < 127)).astype(array.dtype) for name, array in outputs.items()}
        return outputs

    monkeypatch.setattr(Running, "__call__", a_step_away)
    samples = [{"image": np.random.default_rng(number).integers(-128, 127, (1, 8, 8, 1), np.int8)} for number in range(16)]
    for number, sample in enumerate(samples):
        sample["image"][0, 0, 0, 0] = number
    verdict = verify_conversion(model, transload.lower(model, "tosa"), hub=transload.legalize(model), inputs=samples, every=True)
    assert (verdict.status, verdict.samples) == (status, 16)
    assert any("of all samples together" in note for note in verdict.notes) == (status == "failed")


def test_the_table_shows_the_farthest(tmp_path: Path) -> None:
    verdict = verified(tmp_path, 5.999, [1.0, 9.0, 2.0])
    assert verdict.passed and 0 < verdict.tensors[0].metrics["max_abs"] < 0.0011


@pytest.mark.parametrize("what", ["elements", "products"])
def test_samples_cost_together_what_one_run_may(tmp_path: Path, what: str) -> None:
    work = {"elements": 48, "products": work_of(transload.lower(clipped(tmp_path / "m.mlir", 6.0), "tosa")).products}[what]
    with allowed(**{what: 2 * work}):
        assert verified(tmp_path, 6.0, [1.0, 2.0, 3.0, 4.0]).samples <= 2


@pytest.mark.usefixtures("ended_at_three")
def test_what_ends_in_the_midst_of_samples_says_so(tmp_path: Path) -> None:
    """A verdict on the samples before stays one."""
    verdict = verified(tmp_path, 6.0, [1.0, 2.0, 3.0, 4.0])
    assert verdict.passed and verdict.samples == 2 and any("no more samples were compared" in note for note in verdict.notes)


@pytest.mark.parametrize("whose", ["source", "result"])
def test_a_sample_that_a_runtime_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whose: str) -> None:
    """The source's own says nothing there; an engine of ours has to run what the source runs."""
    def refusing(run):
        def refuses(self, given):
            if given["x0"].max() == 2.0:
                raise RunError("no such place")
            return run(self, given)
        return refuses

    if whose == "source":
        take = Reference.take

        def taken(self, opened):
            if opened is not None:
                take(self, lambda given, **how: refusing(lambda _, each: opened(each, **how))(self, given))

        monkeypatch.setattr(Reference, "take", taken)
        verdict = verified(tmp_path, 6.0, [1.0, 2.0, 3.0])
        assert verdict.passed and any("sample 2 is left out" in note and "no such place" in note for note in verdict.notes)
        assert verdict.samples == 2
    else:
        monkeypatch.setattr(Running, "__call__", refusing(Running.__call__))
        with pytest.raises(RunError, match="no such place"):
            verified(tmp_path, 6.0, [1.0, 2.0, 3.0])


def test_the_table_and_the_report_say_on_how_many(cli: Cli, tmp_path: Path) -> None:
    clipped(tmp_path / "m.mlir", 6.0)
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((20, 1, 16), np.float32))
    for asked, told in ((("-n", 4), (4, 4, "on 4 samples:")), ((), (16, 20, "on 16 of 20 samples:"))):
        code, out, _ = cli(
            "convert", tmp_path / "m.mlir", "-t", "tosa", "-o", tmp_path / "out", "--data", tmp_path / "x.npy", *asked)
        report = json.loads((tmp_path / "out" / "report.json").read_text())["verification"]
        assert code == 0 and (report["samples"], report["samples_of"]) == told[:2] and told[2] in out


def test_damaged_samples_that_are_left_out_are_told(cli: Cli, tmp_path: Path) -> None:
    clipped(tmp_path / "m.mlir", 6.0)
    (tmp_path / "data").mkdir()
    for number in range(3):
        np.save(tmp_path / "data" / f"{number}.npy", (1.0 + number) * NUMBERS)
    (tmp_path / "data" / "1.npy").write_bytes(b"\x93NUMPY")
    code, out, _ = cli("convert", tmp_path / "m.mlir", "-t", "tosa", "-o", tmp_path / "out", "--data", tmp_path / "data",
                       "--skip-damaged")
    assert code == 0 and "on 2 samples" in out and "left out: 1.npy" in " ".join(out.split())


def test_one_input_and_samples(cli: Cli, tmp_path: Path) -> None:
    """The samples counted for nothing beside the input."""
    clipped(tmp_path / "m.mlir", 6.0)
    np.save(tmp_path / "x.npy", NUMBERS)
    code, _, error = cli("convert", tmp_path / "m.mlir", "-t", "tosa", "-o", tmp_path / "out", "--input", tmp_path / "x.npy",
                         "--data", tmp_path / "x.npy")
    assert code == 2 and "both are given" in error and not (tmp_path / "out").exists()
    with pytest.raises(UsageError, match="both are given"):
        transload.convert(tmp_path / "m.mlir", "tosa", tmp_path / "out", input_data={"x0": NUMBERS}, data=[NUMBERS])
