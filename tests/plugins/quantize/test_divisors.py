"""What is never 0 and would be rounded to 0 stays float before a quotient. onnxruntime judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.metrics import sqnr
from transload.quantization import floats_in

from tests.support.onnx_models import make_model, node

pytest.importorskip("onnxruntime")
WEIGHTS = (np.random.default_rng(3).standard_normal((16, 8)) / 4).astype(np.float32)


def samples(count: int) -> list[dict[str, np.ndarray]]:
    """Rows of unlike lengths, of which the shortest are a twentieth of the longest."""
    rng = np.random.default_rng(count)
    rows = rng.standard_normal((count, 12, 16)) * np.linspace(0.05, 1.0, 12)[:, None]
    return [{"x": each.astype(np.float32)} for each in rows]


def network(form: str) -> tuple[list[Any], dict[str, Any]]:
    """Rows by their length, or as a logarithm of it."""
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Mul", ["a", "a"], ["s"]),
             node("ReduceSum", ["s", "axes"], ["sum"], keepdims=1), node("Add", ["sum", "little"], ["n"])]
    match form:
        case "sqrt":
            nodes += [node("Sqrt", ["n"], ["r"]), node("Div", ["a", "r"], ["y"])]
        case "moved":
            nodes += [node("Sqrt", ["n"], ["r"]), node("Reshape", ["r", "shape"], ["m"]), node("Div", ["a", "m"], ["y"])]
        case "square":
            nodes += [node("Div", ["a", "n"], ["y"])]
        case "far":
            nodes += [node("Add", ["n", "one"], ["r"]), node("Div", ["a", "r"], ["y"])]
    numbers = {"little": np.float32(1e-8), "one": np.float32(1)}
    return nodes, {"w": WEIGHTS, "axes": np.array([1]), "shape": np.array([12, 1]), **numbers}


@pytest.mark.parametrize("form", ["sqrt", "moved", "square"])
def test_nothing_is_divided_by_what_was_rounded_to_zero(tmp_path: Path, form: str) -> None:
    """Quotients were infinite or NaN, which runtimes make integers of in unlike ways."""
    from transload_converters.onnx.runtime import open_model

    path, (nodes, constants) = tmp_path / "model.onnx", network(form)
    path.write_bytes(make_model(nodes, samples(1)[0], ["y"], constants, opset=13).SerializeToString())
    made = transload.convert(path, "onnx", tmp_path / "out", quantize="int8", data=samples(8))
    assert made.verification is not None and made.verification.status == "passed", made.verification
    exact, held = open_model(path), open_model(tmp_path / "out" / "model.onnx")
    wanted, actual = (np.stack([run(sample)["y"] for sample in samples(8)]) for run in (exact, held))
    assert np.isfinite(actual).all() and sqnr(wanted, actual) > 15.0
    module = transload.load(path)
    table = transload.calibrate(module, samples(8), method="minmax").save(tmp_path / "table")
    assert "s" in floats_in(transload.quantize(module, "int8", calibration=str(table)))
    assert "s" not in floats_in(transload.quantize(module, "int8", samples(8), islands="none"))


def test_what_integers_tell_from_zero_stays_integers(tmp_path: Path) -> None:
    path, (nodes, constants) = tmp_path / "model.onnx", network("far")
    path.write_bytes(make_model(nodes, samples(1)[0], ["y"], constants, opset=13).SerializeToString())
    module = transload.load(path)
    table = transload.calibrate(module, samples(8), method="minmax").save(tmp_path / "table")
    assert set(floats_in(transload.quantize(module, "int8", calibration=str(table)))) == {"y"}
