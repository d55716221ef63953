"""Outputs of numbers of several sizes: the small ones are judged beside their own size, and masks beside theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("onnxruntime")

import transload
from transload.api import at_hub
from transload.verification.differences import difference
from transload.verification.limits import broken_limits
from transload.verification.offsets import unit_of
from transload.verification.scales import measure_scales
from transload.verification.tolerance import Tolerance
from transload.verification.verify import verify_conversion

from tests.support.onnx_models import make_model, node


def limits_broken(reference: np.ndarray, actual: np.ndarray, **more: Any) -> list[str]:
    unit = unit_of(np.dtype(np.float32), reference.dtype, actual.dtype)
    return broken_limits(difference("y", reference, actual), Tolerance(**more), unit=unit)


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def boxes_and_scores() -> np.ndarray:
    random = np.random.default_rng(0)
    return np.concatenate([640.0 * random.random((1, 4, 50)), random.random((1, 20, 50))], 1).astype(np.float32)


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 1, 0)])
def test_chances_beside_pixels(order: tuple[int, ...]) -> None:
    right = boxes_and_scores()
    for wrong in (-right[:, 4:], 0.0 * right[:, 4:], right[:, :3:-1], 1.05 * right[:, 4:]):
        spoilt = np.concatenate([right[:, :4], wrong], 1).astype(np.float32).transpose(order)
        assert "of its small numbers" in limits_broken(right.transpose(order), spoilt)[0]
        assert not limits_broken(right.transpose(order), spoilt, cos=0.99, euclid=0.9)
    rounded = (right * (1.0 + 1e-5 * noise(*right.shape)) + 1e-4 * noise(*right.shape, seed=1)).astype(np.float32)
    assert not limits_broken(right.transpose(order), rounded.transpose(order))


@pytest.mark.parametrize("fill", [-1e4, -65504.0, -1e9, float(np.finfo(np.float32).min), -np.inf])
@pytest.mark.parametrize("is_added", [False, True])
def test_logits_beside_a_mask(fill: float, is_added: bool) -> None:
    logits, masked = noise(4, 16), np.random.default_rng(1).random((4, 16)) < 0.3
    with np.errstate(over="ignore"):
        right, negated, none = (np.where(masked, fill + (each if is_added else 0), each).astype(np.float32)
                                for each in (logits, -logits, 0 * logits))
    assert limits_broken(right, negated) and limits_broken(right, none) and not limits_broken(right, right * np.float32(0.9999))
    assert limits_broken(right, np.where(masked, 0, right).astype(np.float32))


def test_one_place_of_a_mask_that_is_none() -> None:
    """Beside a thousand others it is no 2 % of the distance."""
    right = np.where(np.arange(20_000) % 2, -1e9, noise(20_000)).astype(np.float32)
    wrong = right.copy()
    wrong[777] = 0.0
    assert limits_broken(right, wrong) and not limits_broken(right, right.copy())


def test_a_channel_that_is_a_thousand_times_the_others() -> None:
    right = (noise(32, 6) * [1000, 1, 1, 1, 1, 1]).astype(np.float32)
    assert limits_broken(right, right * np.float32([1, -1, -1, -1, -1, -1])) and not limits_broken(right, right.copy())


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_what_is_left_of_large_numbers_is_rounded_as_these_are(dtype: Any) -> None:
    """The small ones are differences of large ones: both are as right."""
    unit, large = unit_of(np.dtype(dtype), np.dtype(np.float32)), 300.0 * noise(64)
    right, other = (np.concatenate([large, 300.0 * unit * noise(64, seed=seed)]).astype(dtype) for seed in (1, 2))
    assert not limits_broken(right, other)


def test_noise_of_a_network_is_not_of_the_small_numbers() -> None:
    """Of numbers of all sizes the least are most of them noise: that of the larger ones is as large."""
    right = noise(64, 64)
    assert not limits_broken(right, right + 1e-3 * noise(64, 64, seed=1))
    relative = np.exp(4 * right)
    assert not limits_broken(relative, relative * (1.0 + 1e-3 * noise(64, 64, seed=1)))


def test_what_is_looked_at_closely() -> None:
    right = boxes_and_scores()
    assert measure_scales(right, right + np.float32(1e-4)) is None  # roundings
    assert measure_scales(right, right + np.nan) is None and measure_scales(0 * right, right) is None
    assert measure_scales(right > 1, right > 1) is None and measure_scales(right[:0], right[:0]) is None
    found = measure_scales(right, np.where(right < 1, 0, right))
    assert found is not None and found.near(unit_of(np.dtype(np.float32))) < 0.1 and sum(found.counts) == right.size


@pytest.mark.parametrize(("factor", "status"), [(1.0, "passed"), (-1.0, "failed"), (0.0, "failed")])
def test_a_conversion_that_errs_in_the_chances_alone(factor: float, status: str, tmp_path: Path) -> None:
    """Laid out as YOLOv8 gives it: four boxes in pixels, and chances of each class."""
    boxes, scores = (np.random.default_rng(seed).normal(size=(8, size)).astype(np.float32) for seed, size in ((0, 4), (1, 20)))
    x = noise(1, 50, 8).astype(np.float32)

    def model(scores: np.ndarray) -> bytes:
        nodes = [node("MatMul", ["x", "boxes"], ["b"]), node("Sigmoid", ["b"], ["c"]), node("Mul", ["c", "pixels"], ["d"]),
                 node("MatMul", ["x", "scores"], ["s"]), node("Sigmoid", ["s"], ["t"]),
                 node("Concat", ["d", "t"], ["y"], axis=2)]
        constants = {"boxes": boxes, "scores": scores, "pixels": np.float32(640)}
        return make_model(nodes, {"x": x}, ["y"], constants).SerializeToString()

    path = tmp_path / "right.onnx"
    path.write_bytes(model(scores))
    result = transload.lower(transload.load(text=model(np.float32(factor) * scores), format="onnx"), "tosa")
    source = transload.load(path)
    verdict = verify_conversion(source, result, hub=at_hub(source))
    assert verdict.status == status and ("small numbers" in "".join(verdict.broken)) == (status == "failed")
