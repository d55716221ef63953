"""Outputs that are indices are told by how many are equal: cosine and SQNR say nothing of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import UsageError
from transload.verification.differences import difference, of_plain
from transload.verification.fineness import plain_outputs
from transload.verification.limits import broken_limits
from transload.verification.tolerance import Tolerance

Cli = Callable[..., tuple[int, str, str]]
REALS = {"cos", "euclid", "sqnr"}


@pytest.fixture
def models(tmp_path: Path) -> tuple[Path, Path]:
    """Two models with other weights, whose indices differ."""
    pytest.importorskip("onnxruntime")
    from tests.support.onnx_models import make_model, node

    paths = []
    for seed in (0, 1):
        weights = np.random.default_rng(seed).normal(size=(8, 16)).astype(np.float32)
        nodes = [
            node("MatMul", ["x", "w"], ["scores"]), node("ArgMax", ["scores"], ["best"], axis=1),
            node("TopK", ["scores", "k"], ["values", "places"]), node("Greater", ["scores", "zero"], ["above"])]
        model = make_model(
            nodes, {"x": np.zeros((32, 8), np.float32)}, ["scores", "best", "places", "above"],
            {"w": weights, "k": np.array([3], np.int64), "zero": np.float32(0)})
        paths.append(tmp_path / f"{seed}.onnx")
        paths[-1].write_bytes(model.SerializeToString())
    return paths[0], paths[1]


@pytest.mark.parametrize("per_layer", [False, True])
def test_compare_says_how_many_are_equal(models: tuple[Path, Path], per_layer: bool) -> None:
    given = {"x": np.random.default_rng(2).normal(size=(32, 8)).astype(np.float32)}
    outputs = [transload.run(transload.load(path), given) for path in models]
    compared = transload.compare(models[0], models[1], given, per_layer=per_layer)
    tensors = {tensor.name: tensor for tensor in compared.tensors}
    for name in ("best", "places", "above"):
        share = np.mean(outputs[0][name] == outputs[1][name])
        assert share < 1.0 and tensors[name].equal == share
        assert "max_abs" in tensors[name].metrics and not REALS & set(tensors[name].metrics), name
    assert tensors["scores"].equal is None and set(tensors["scores"].metrics) > REALS
    assert compared.worst("cos") == tensors["scores"].metrics["cos"]
    assert f"{tensors['best'].equal:.1%} equal" in compared._repr_html_()


def test_the_command_shows_it(models: tuple[Path, Path], cli: Cli) -> None:
    code, shown, _ = cli("compare", models[0], models[0])
    assert code == 0 and "equal" in shown and shown.count("100.0%") == 3


def test_quantizing_says_it_too(models: tuple[Path, Path], tmp_path: Path, cli: Cli) -> None:
    samples = [{"x": sample} for sample in np.random.default_rng(3).normal(size=(4, 32, 8)).astype(np.float32)]
    made = transload.convert(models[0], out=tmp_path / "out", quantize="int8", data=samples, tolerance=["sqnr=10"])
    beside = {each.name: each for each in made.report.verification.quantized}
    assert 0.5 < beside["best"].equal <= 1.0 and beside["best"].agreement is None and beside["places"].agreement is None
    assert not REALS & set(beside["places"].metrics) and beside["scores"].equal is None
    outputs = {each.name: each for each in transload.convert(models[0], out=tmp_path / "floats").report.verification.outputs}
    assert outputs["best"].equal == 1.0 and "cos" not in outputs["best"].metrics and "cos" in outputs["scores"].metrics
    assert made.report.verification.status == "passed"  # the limit of what has an SQNR
    (note,) = [each for each in made.report.verification.notes if "no limit" in each]
    assert note.startswith("no limit that was asked for judges 'best', 'places', 'above'") and "integer=0" in note
    exact = transload.convert(models[0], out=tmp_path / "exact", quantize="int8", data=samples, tolerance=["integer=0"])
    assert any(each.startswith("places: differs by") for each in exact.report.verification.broken)


def test_which_integers_are_indices() -> None:
    for dtype, is_index in ((np.int64, True), (np.int32, True), (bool, True), (np.uint8, False), (np.int16, False)):
        found = of_plain(difference("t", np.array([0, 1, 1, 0], dtype), np.array([0, 1, 0, 0], dtype)))
        assert found.equal == 0.75 and (not REALS & set(found.metrics)) == is_index, dtype
    assert difference("t", np.zeros(0, np.int32), np.zeros(0, np.int32)).equal is None
    assert not broken_limits(of_plain(difference("t", np.arange(3), np.arange(3))), Tolerance.parse(["sqnr=30"]))


@pytest.mark.parametrize(("settings", "flipped", "breaks"), [
    ([], 0, False), ([], 4, False), ([], 5, True), ([], 1000, True), (["integer=0"], 1, True), (["cos=0.99"], 40, False),
    (["cos=0.99"], 50, True), (["integer=3"], 1000, True)])
def test_truths_are_judged_by_how_many_are_others(settings: list[str], flipped: int, breaks: bool) -> None:
    """A mask whose truths were all others differed by one step, which integers may."""
    wanted = np.random.default_rng(0).normal(size=1000) > 0
    actual = np.where(np.arange(1000) < flipped, ~wanted, wanted)
    broken = broken_limits(difference("mask", wanted, actual), Tolerance.parse(settings))
    assert bool(broken) == breaks and all("of its truths are others" in each for each in broken)


def test_farther_numbers_of_steps_are_not_judged_more_mildly() -> None:
    """36 in a hundred a step away broke a limit, two steps away none: the cosine of 16 bits, which followed, always is near."""
    step = 2.0 ** -10
    wanted = (np.arange(1000.0) * 31 - 15000) * step
    some, few = (np.arange(1000) % 25 < count for count in (9, 1))
    for steps in (1, 2, 4, 30):
        for moved in (some * steps, some + few * (steps - 1)):
            assert broken_limits(difference("y", wanted, wanted + moved * step), Tolerance(), step), steps
        assert not broken_limits(difference("y", wanted, wanted + few * steps * step), Tolerance(), step)
        assert broken_limits(difference("y", wanted, wanted + few * steps * step), Tolerance(integer=0), step)
    assert not broken_limits(difference("y", wanted, wanted + some * 2 * step), Tolerance(integer=2), step)
    assert not broken_limits(difference("y", wanted, wanted), Tolerance(integer=0), step)


def test_numbers_that_are_off_by_one_everywhere_are_off() -> None:
    """A float near a half may be rounded either way, and all of them are not."""
    counts = np.arange(10, dtype=np.int64)
    everywhere, here = difference("n", counts, counts + 1), difference("n", counts, counts + (counts == 3))
    assert broken_limits(everywhere, Tolerance()) == ["n: 100.00% of its numbers are a step away, allowed 30.00%"]
    assert not broken_limits(here, Tolerance()) and broken_limits(here, Tolerance(integer=0))
    assert not broken_limits(everywhere, Tolerance(integer=2))
    narrow = difference("n", counts.astype(np.int8), (counts + 1).astype(np.int8))
    assert broken_limits(narrow, Tolerance()) == ["n: 100.00% of its numbers are a step away, allowed 30.00%"]
    alone = difference("n", np.array([3], np.int8), np.array([4], np.int8))
    assert not broken_limits(alone, Tolerance()), "one number of a scale may be rounded the other way"
    assert broken_limits(alone, Tolerance(), plain=True) == ["n: 100.00% of its numbers are a step away, allowed 50.00%"]


def test_narrow_integers_that_nothing_quantizes_are_counts(examples: Path, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    from tests.support.onnx_models import make_model, node

    x = np.array([18, 20, 17, 4], np.uint8)
    onnx.save(make_model([node("Shrink", ["x"], ["y"], lambd=0.7, bias=0.3)], {"x": x}, ["y"]), tmp_path / "m.onnx")
    assert plain_outputs(transload.legalize(transload.load(tmp_path / "m.onnx"))) == {0}
    assert not plain_outputs(transload.legalize(transload.load(examples / "digits" / "digits_int8.tflite")))


def test_eval_tells_indices_by_how_many_are_equal(models: tuple[Path, Path], tmp_path: Path) -> None:
    samples = np.random.default_rng(5).normal(size=(4, 32, 8)).astype(np.float32)
    found = transload.evaluate([*models], samples, metrics=("equal", "sqnr"), output="scores")
    assert found[str(models[1])]["sqnr"].value < 10 and found[str(models[1])]["equal"].value < 0.1
    best = [np.stack([transload.run(model, {"x": each})["best"] for each in samples]) for model in models]
    wanted = np.mean(best[0] == best[1])
    found = transload.evaluate([*models], samples, metrics=("equal",), output="best")
    assert found[str(models[1])]["equal"].value == pytest.approx(wanted) and 0 < wanted < 1
    with pytest.raises(UsageError, match=r"int64 are indices.*cosines and noise say nothing"):
        transload.evaluate([*models], samples, metrics=("cos",), output="best")
    found = transload.evaluate([*models], samples, metrics=("cos", "euclid"))
    assert -1 <= found[str(models[1])]["cos"].value < 1
