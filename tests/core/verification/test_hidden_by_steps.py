"""Floats behind numbers that are rounded to steps: what an offset or larger numbers hide is judged there, too, more loosely."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

import transload
from transload.api import at_hub
from transload.ir import Module
from transload.verification.fineness import coarse_outputs
from transload.verification.quantized import QuantizedModel, verify_quantized
from transload.verification.running import Running
from transload.verification.verify import verify_conversion

from tests.support.onnx_models import make_model, node

WEIGHTS = (np.random.default_rng(0).normal(size=(8, 8)) * 0.4).astype(np.float32)


def model(folder: Path, tail: str, constant: float | list[float], weights: np.ndarray = WEIGHTS, quantizes: bool = True) -> Path:
    """`x @ weights` of an `x` that is rounded to int8, with a constant added, or multiplied, in floats; `x + 1` beside it."""
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        node("MatMul", ["d" if quantizes else "x", "w"], ["m"]), node(tail, ["m", "c"], ["y"]),
        node("Add", ["x", "k"], ["plain"]), node("Identity", ["d"], ["steps"])]
    folder.mkdir(exist_ok=True)
    file = folder / "model.onnx"
    file.write_bytes(make_model(
        nodes, {"x": np.zeros((4, 8), np.float32)}, ["y", "plain", "steps"],
        {"s": np.float32(0.05), "z": np.int8(0), "w": weights, "c": np.array(constant, np.float32), "k": np.float32(1.0)},
    ).SerializeToString())
    return file


def broken(right: Path, wrong: Path) -> list[str]:
    source, other = transload.load(right), transload.load(wrong)
    return verify_conversion(source, transload.lower(other, "tosa"), hub=transload.legalize(source)).broken


def test_which_outputs_are_rounded_on_the_way(tmp_path: Path) -> None:
    def coarse(*given: bool) -> frozenset[int]:
        return coarse_outputs(at_hub(transload.load(model(tmp_path, "Add", 300.0, quantizes=given[0]))))

    assert coarse(True) == {0, 2} and coarse(False) == {2}


@pytest.mark.parametrize("quantizes", [True, False])
@pytest.mark.parametrize("factor", [0.0, -1.0, 1.0])
def test_one_quantized_tensor_leaves_the_offset_of_floats_judged(factor: float, quantizes: bool, tmp_path: Path) -> None:
    """Where anything quantized, 300 throughout was as good as `x @ w + 300`."""
    right = model(tmp_path / "right", "Add", 300.0, quantizes=quantizes)
    wrong = model(tmp_path / "wrong", "Add", 300.0, np.float32(factor) * WEIGHTS, quantizes)
    found = broken(right, wrong)
    assert bool(found) == (factor != 1.0) and all("without its mean" in each for each in found)


def test_small_numbers_beside_large_ones(tmp_path: Path) -> None:
    sizes = [1e4] + [1.0] * 7
    right = model(tmp_path / "right", "Mul", sizes)
    assert not broken(right, right)
    assert "of its small numbers" in broken(right, model(tmp_path / "wrong", "Mul", [1e4] + [0.0] * 7))[0]


@pytest.mark.parametrize(("factor", "status"), [(1.0, "passed"), (0.0, "failed"), (-1.0, "failed")])
def test_floats_of_a_module_that_was_quantized(factor: float, status: str, tmp_path: Path) -> None:
    """Ops that stay floats (`w8a16`, or beside outputs of another type) are judged beside what varies of them, too."""
    def module(factor: float) -> Module:
        return at_hub(transload.load(model(tmp_path, "Add", 300.0, np.float32(factor) * WEIGHTS)))

    right = module(1.0)
    quantized = QuantizedModel(right, right, right, is_integer=False)
    verdict = verify_quantized(quantized, Running(transload.lower(module(factor), "tosa"), "reference"))
    assert verdict.status == status and all("without its mean" in each for each in verdict.broken)


def test_comparing_counts_steps_of_a_model_that_is_quantized(tmp_path: Path) -> None:
    """Of 16 bits numbers that are 30 steps off keep every angle: nothing was broken, with limits or without."""
    x = (np.arange(-400, 400, dtype=np.float32) / 64).reshape(8, 100)

    def added(number: float) -> Path:
        nodes = [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["d"]),
                 node("Add", ["d", "c"], ["a"]), node("QuantizeLinear", ["a", "s", "z"], ["b"]),
                 node("DequantizeLinear", ["b", "s", "z"], ["y"])]
        file = tmp_path / f"{number}.onnx"
        file.write_bytes(make_model(
            nodes, {"x": x}, ["y"], {"s": np.float32(2.0**-11), "z": np.int16(0), "c": np.array(number, np.float32)}, 21,
        ).SerializeToString())
        return file

    right = added(0.5)
    for tolerance in (None, ["cos=0.99"]):
        for artifact, is_right in (right, True), (added(0.5 + 30 * 2.0**-11), False):
            compared = transload.compare(right, transload.lower(transload.load(artifact)), {"x": x}, tolerance=tolerance)
            assert (not compared.broken) is is_right and (not compared.notes) is (is_right or tolerance is not None)
        assert "100.00% of its numbers are a step or more away" in compared.broken[0]
    assert not transload.compare(
        right, transload.lower(transload.load(added(0.5 + 30 * 2.0**-11))), {"x": x}, tolerance=["integer=30"]).broken
