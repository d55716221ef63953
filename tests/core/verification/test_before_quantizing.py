"""What is wrong with a conversion is wrong with `--quantize`, too: what judges then was made of the float module."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.context import Context
from transload.convert_model import Artifact
from transload.errors import RunError
from transload.ir import Module
from transload.ir.build import Builder
from transload.plugin import Pass, Quantizer, Runtime

from tests.support.plugins import beside_ours

SAMPLES = [{"image": np.random.default_rng(seed).uniform(0, 1, (1, 1, 8, 8)).astype(np.float32)} for seed in range(3)]


def kept(module: Module, samples: Any) -> Module:
    """A quantizer that rounds nothing: all that is wrong was wrong before it."""
    return module.clone()


def doubling(module: Module) -> bool:
    """A pass that makes the model another one."""
    end = module.body_of_main.terminator
    twice = Builder(module.body_of_main, before=end, location="twice").emit("top.Add", end.operands[0], end.operands[0])
    end.set_operand(0, twice)
    return True


def converted(examples: Path, folder: Path, there: Context, *runtimes: Runtime, **asked: Any) -> Artifact:
    """The digits, quantized; judged by these runtimes."""
    there.host.runtimes.clear()
    there.host.runtimes.update({each.name: each for each in runtimes})
    with there.bind():
        return transload.convert(
            examples / "digits" / "digits_float.onnx", "tosa", folder / "out", quantize="kept", data=SAMPLES, **asked)


def runtime(factor: float | None, seen: list[float]) -> Runtime:
    """Runs the file in our engine, and multiplies what comes of it; or refuses. It says which inputs it was asked about."""
    def opened(path: Path) -> Any:
        def run(inputs: Mapping[str, np.ndarray], keep: bool = False) -> dict[str, np.ndarray]:
            seen.append(float(inputs["image"].sum()))
            if factor is None:
                raise RunError("no kernel for that")
            return {name: array * array.dtype.type(factor) for name, array in transload.run(path, inputs).items()}

        return run

    return Runtime("own", "onnx", opened, lambda: None)


def test_a_wrong_conversion_fails_where_it_is_quantized_too(examples: Path, tmp_path: Path) -> None:
    made = converted(examples, tmp_path, beside_ours(quantizers=[Quantizer("kept", kept)]), runtime(1.3, []))
    found = made.verification
    assert found is not None and found.failed and not found.is_costly and made.report.exit_code == 4
    assert all(reason.startswith("probabilities, before quantizing: ") for reason in found.broken) and found.broken


def test_a_right_conversion_passes_and_its_first_sample_is_run_once(examples: Path, tmp_path: Path) -> None:
    seen: list[float] = []
    found = converted(examples, tmp_path, beside_ours(quantizers=[Quantizer("kept", kept)]), runtime(1.0, seen)).verification
    assert found is not None and found.passed and found.notes == ["beside the float model, run by own"]
    assert len(seen) == len(set(seen)) == len(SAMPLES)


def test_a_pass_at_the_hub_that_is_wrong_fails(examples: Path, tmp_path: Path) -> None:
    there = beside_ours(quantizers=[Quantizer("kept", kept)], passes=[Pass("double", doubling, "Twice as much.", at="hub")])
    found = converted(examples, tmp_path, there, runtime(1.0, [])).verification
    assert found is not None and found.failed and "before quantizing" in found.broken[0]


def test_a_limit_that_is_set_holds_before_quantizing_too(examples: Path, tmp_path: Path) -> None:
    """As it does for a conversion that does not quantize."""
    there = beside_ours(quantizers=[Quantizer("kept", kept)])
    assert converted(examples, tmp_path, there, runtime(1.3, []), tolerance=["euclid=0.5", "cos=0.9"]).verified


@pytest.mark.parametrize("runtimes", [[], [runtime(None, [])]])
def test_what_nothing_judges_before_quantizing_is_said(examples: Path, tmp_path: Path, runtimes: list[Runtime]) -> None:
    found = converted(examples, tmp_path, beside_ours(quantizers=[Quantizer("kept", kept)]), *runtimes).verification
    assert found is not None and found.passed
    assert any(note.startswith("not judged before quantizing: ") for note in found.notes)


def test_a_dump_that_is_gone_on_from_knows_what_was_quantized(examples: Path, tmp_path: Path) -> None:
    there = beside_ours(quantizers=[Quantizer("kept", kept)])
    converted(examples, tmp_path, there, runtime(1.0, []), dump=tmp_path / "steps")
    for start in ("quantize", "top-to-tosa"):
        found = converted(examples, tmp_path, there, runtime(1.3, []), dump=tmp_path / "steps", start=start).verification
        assert found is not None and found.failed and "before quantizing" in found.broken[0]


@pytest.mark.parametrize("black", [0, 1, 2])
def test_a_black_picture_is_not_what_the_floats_are_judged_on(black: int, tmp_path: Path) -> None:
    """Zeros tell no slope of a LeakyRelu: whether a wrong one failed was up to the order of the samples."""
    pytest.importorskip("onnxruntime")
    from tests.support.onnx_models import make_model, node

    file = tmp_path / "model.onnx"
    weights = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    nodes = [node("LeakyRelu", ["x"], ["a"], alpha=0.1), node("MatMul", ["a", "w"], ["m"]), node("Add", ["m", "b"], ["y"])]
    constants = {"w": weights, "b": np.arange(4, dtype=np.float32)}
    file.write_bytes(make_model(nodes, {"x": np.zeros((1, 8), np.float32)}, ["y"], constants).SerializeToString())
    samples = [{"x": np.random.default_rng(seed).normal(size=(1, 8)).astype(np.float32) * (seed != black)} for seed in range(3)]

    def other_slope(module: Module) -> bool:
        for op in module.ops():
            if "alpha" in op.attributes:
                op.attributes = {**op.attributes, "alpha": 0.15}
        return True

    there = beside_ours(quantizers=[Quantizer("kept", kept)], passes=[Pass("slope", other_slope, "Another slope.", at="hub")])
    with there.bind():
        found = transload.convert(file, "tosa", tmp_path / "out", quantize="kept", data=samples).verification
        assert found is not None and found.failed and "before quantizing" in found.broken[0]
        only = transload.convert(file, "tosa", tmp_path / "only", quantize="kept", data=[samples[black]]).verification
    assert only is not None and any("one number throughout" in note for note in only.notes)
