"""Outputs that are compared, and not judged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import UsageError
from transload.verification.tolerance import Tolerance, compared_among

Cli = Callable[..., tuple[int, str, str]]


def test_what_is_excepted_breaks_no_limit(examples: Path, tmp_path: Path) -> None:
    """The limit is one that nothing keeps, so that what is judged fails."""
    path, impossible = examples / "digits" / "digits_float.onnx", ["sqnr=1e9"]
    how = {"outputs": ["pooled", "depthwise"], "tolerance": impossible}
    assert [each.partition(":")[0] for each in transload.convert(path, out=tmp_path, **how).verification.broken] == [
        "pooled", "depthwise"]
    made = transload.convert(path, out=tmp_path, excepts=["pooled"], **how)
    assert [each.partition(":")[0] for each in made.verification.broken] == ["depthwise"]
    assert made.report.verification.excepts == ["pooled"] and len(made.report.verification.outputs) == 2


def test_names(examples: Path, tmp_path: Path) -> None:
    path = examples / "digits" / "digits_float.onnx"
    assert compared_among(["a,b", "c,d"], ["a", "b", "c,d"]) == {"a", "b", "c,d"}
    with pytest.raises(UsageError, match="'poold'") as raised:
        transload.convert(path, out=tmp_path, outputs=["pooled", "depthwise"], excepts=["poold"])
    assert "did you mean 'pooled'" in str(raised.value.hint)
    with pytest.raises(UsageError, match="nothing is left"):
        transload.convert(path, out=tmp_path, excepts=["probabilities"])
    with pytest.raises(UsageError, match="as a list"):
        Tolerance().leaving_out("a", ["a"])
    assert "excepts" not in Tolerance(excepts=frozenset("a")).limits()


def test_the_commands_mark_them(examples: Path, tmp_path: Path, cli: Cli) -> None:
    path = examples / "digits" / "digits_float.onnx"
    code, shown, _ = cli("convert", path, "--outputs", "pooled,depthwise", "--excepts", "pooled", "-o", tmp_path)
    assert code == 0 and "pooled (not judged)" in shown and "depthwise (not judged)" not in shown
    code, shown, _ = cli("compare", path, tmp_path, "--outputs", "pooled,depthwise", "--excepts", "pooled,depthwise")
    assert code == 0 and shown.count("(not") == 2  # in a narrow terminal, the rest is below


def test_the_worst_is_of_what_counts(examples: Path) -> None:
    path = examples / "digits" / "digits_int8.tflite"
    lowered = transload.lower(transload.load(path), "tosa")
    whole = transload.compare(path, lowered, per_layer=True)
    nothing = transload.compare(path, lowered, per_layer=True, excepts=[tensor.name for tensor in whole.tensors])
    assert whole.worst("cos") == 1 and np.isnan(nothing.worst("cos"))


def test_quantized_outputs_are_left_out_too(examples: Path, tmp_path: Path) -> None:
    path = examples / "digits" / "digits_float.onnx"
    shape = transload.load(path).inputs["image"].shape
    np.save(tmp_path / "x.npy", np.random.default_rng(0).uniform(0, 1, (4, *shape)).astype("f4"))
    how = {"outputs": ["pooled", "depthwise"], "quantize": "int8", "tolerance": ["sqnr=1e9"], "data": tmp_path / "x.npy"}
    made = transload.convert(path, out=tmp_path / "out", excepts=["pooled"], **how)
    assert made.report.verification.excepts == ["pooled"]
    assert {each.partition(":")[0].partition(",")[0] for each in made.verification.broken} == {"depthwise"}
