"""Limits that can be: what nothing keeps, or breaks, is refused wherever it is said."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import transload
from transload.chosen_target import limits_of
from transload.cli import run as command
from transload.errors import PluginError, UsageError
from transload.ir import F32, TensorType
from transload.plugin import Metric
from transload.plugin_host import host
from transload.testing import build_module
from transload.verification.differences import compare_outputs, difference
from transload.verification.limits import broken_limits
from transload.verification.quantized import limits_only
from transload.verification.tolerance import Tolerance

Cli = Callable[..., tuple[int, str, str]]

IMPOSSIBLE = [
    "max_abs=-1", "max_abs=nan", "integer=-1", "floor=-1e-9", "floor=nan", "cos=-5", "cos=2", "cos=nan", "cos=inf", "euclid=1.5",
    "euclid=nan", "sqnr=nan"]


@pytest.mark.parametrize("setting", IMPOSSIBLE)
def test_what_cannot_be_is_refused_wherever_it_is_said(setting: str, examples: Path, tmp_path: Path, cli: Cli) -> None:
    name, _, number = setting.partition("=")
    code, _, said = cli("convert", examples / "digits" / "digits_int8.tflite", "-o", tmp_path / "o", "--tolerance", setting)
    assert code == 2 and f"tolerance {name} cannot be" in said and not (tmp_path / "o").exists()
    given = {"others": ((name, float(number)),)} if name == "sqnr" else {name: float(number)}
    for made in (lambda: Tolerance(**given), lambda: replace(Tolerance(), **given)):
        with pytest.raises(UsageError, match=f"tolerance {name} cannot be"):
            made()
    with pytest.raises(PluginError, match=f"tolerance {name} cannot be"):
        limits_of(SimpleNamespace(name="tosa", tolerance=(setting,)), None, {})  # type: ignore[arg-type]


def test_no_limit_can_be_said() -> None:
    """By the infinity at the side where everything is near enough, and by numbers that are there, however far."""
    made = Tolerance.parse(["cos=-inf", "euclid=-inf", "max_abs=inf", "sqnr=-inf"])
    assert made.limits() == {**Tolerance().limits(), "cos": -np.inf, "euclid": -np.inf, "max_abs": np.inf, "sqnr": -np.inf}
    assert Tolerance.parse(["euclid=-9", "cos=-1", "integer=0", "max_abs=0"]).euclid == -9  # opposite numbers have less than 0
    with pytest.raises(UsageError, match="must be a number"):
        Tolerance(cos="0.9")  # type: ignore[arg-type]


@contextmanager
def measured_by(metric: Metric) -> Iterator[None]:
    host().metrics[metric.name] = metric
    try:
        yield
    finally:
        del host().metrics[metric.name]


def test_a_metric_says_what_there_can_be() -> None:
    with measured_by(Metric("worst", max, bounds=(0.0, 10.0))):
        assert dict(Tolerance.parse(["worst=3"]).others) == {"worst": 3.0}
        with pytest.raises(UsageError, match="worst cannot be -1") as raised:
            Tolerance.parse(["worst=-1"])
        assert raised.value.hint == "it is 0 at least and 10 at most; worst=inf is no limit"
    with measured_by(Metric("any", max)):
        assert dict(Tolerance.parse(["any=-1"]).others) == {"any": -1.0}


def test_compare_says_which_limits_are_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A temperature that is turned round had a cosine of 1 and no word; only in `--json` it was told."""
    x = np.random.default_rng(0).standard_normal((1, 50)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    wrong = build_module([TensorType((1, 50), F32)], lambda b, x: b.emit(
        "top.AddConst", b.emit("top.MulConst", x, const_val=-1.0), const_val=300.0), ["x"])
    right = build_module([TensorType((1, 50), F32)], lambda b, x: b.emit("top.AddConst", x, const_val=300.0), ["x"])
    transload.save(wrong, tmp_path / "wrong.mlir")
    transload.save(right, tmp_path / "right.mlir")
    found = transload.compare(tmp_path / "right.mlir", tmp_path / "wrong.mlir", {"x": x})
    assert found.worst("cos") > 0.9999 and not found.is_judged
    assert len(found.broken) == 1 and "all else is an offset" in found.broken[0] and found.broken[0] in found.notes[0]
    assert transload.compare(tmp_path / "right.mlir", right, {"x": x}).broken == []

    def code(artifact: str, *more: str) -> tuple[int, str]:
        given = ["--input", f"x={tmp_path / 'x.npz'}", *more]
        return command(["compare", str(tmp_path / "right.mlir"), str(tmp_path / artifact), *given]), capsys.readouterr().out

    assert code("wrong.mlir")[0] == 0  # it measures, and judges where somebody says what is enough
    status, told = code("wrong.mlir", "--tolerance", "cos=0.9999")
    assert status == 4 and "\nnot near enough:\n  " in told and "\\n" not in told
    assert code("wrong.mlir", "--tolerance", "cos=0.9", "--tolerance", "euclid=0.9")[0] == 0
    assert code("right.mlir", "--tolerance", "cos=0.9999") == (0, code("right.mlir")[1] + "near enough\n")
    status, told = code("wrong.mlir", "--tolerance", "max_abs=0.1", "--json")
    assert status == 4 and json.loads(told)["broken"] and json.loads(told)["is_judged"]
    with pytest.raises(UsageError, match="no tolerance is called"):
        transload.compare(tmp_path / "right.mlir", right, {"x": x}, tolerance=["near=1"])


def test_what_nobody_set_a_limit_for_is_no_reason() -> None:
    right = np.arange(1, 9, dtype=np.float32)
    wrong = np.where(right > 7, np.nan, right)
    measured = difference("y", right, wrong)
    assert broken_limits(measured, Tolerance()) == ["y: cos nan, allowed 0.9999", "y: euclid nan, allowed 0.98"]
    assert broken_limits(measured, replace(Tolerance(), cos=-np.inf, euclid=-np.inf))  # and yet it is no number
    assert "y: max_abs nan, allowed 0.5" in broken_limits(measured, replace(Tolerance(), max_abs=0.5))


def test_one_output_is_told_as_one() -> None:
    one = np.zeros(2, np.float32)
    with pytest.raises(UsageError, match="the model has 1 output, and what it is compared with 2"):
        compare_outputs({"y": one}, {"y": one, "z": one})


def test_limits_are_numbers_by_name_too() -> None:
    assert Tolerance.parse({"cos": 0.9, "integer": 2}) == Tolerance.parse(["cos=0.9", "integer=2"])
    with pytest.raises(UsageError, match="tolerance cos must be a number, not 'x'"):
        Tolerance.parse({"cos": "x"})
    assert limits_only({"cos": 0.9}) == limits_only(["cos=0.9"])
