"""Integers in and out: which casts at the borders can go, and what is said of the others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.engine.quantized import dequantize, quantize
from transload.errors import UsageError
from transload.ir import Module, QuantType, TensorType


@pytest.fixture(scope="module")
def module(examples: Path) -> Module:
    return transload.load(examples / "digits" / "digits_float.tflite")


@pytest.fixture(scope="module")
def samples(examples: Path) -> list[dict[str, np.ndarray]]:
    images = np.load(examples / "digits" / "test_images.npz")["images"][:8] / np.float32(16)
    return [{"image": image.reshape(1, 8, 8, 1)} for image in images]


def element(module: Module, name: str) -> QuantType | None:
    type_ = {**module.inputs, **module.outputs}[name]
    return type_.element if isinstance(type_, TensorType) and isinstance(type_.element, QuantType) else None


def test_what_is_behind_the_casts_is_the_same(module: Module, samples: list[dict[str, np.ndarray]]) -> None:
    floats = transload.quantize(module, "int8-asym", samples)
    assert element(floats, "image") is None and element(floats, "probabilities") is None
    integers = transload.quantize(module, "int8-asym", samples, quant_input="all", quant_output=["probabilities"])
    taken, given = element(integers, "image"), element(integers, "probabilities")
    assert taken is not None and given is not None
    stored = transload.run(integers, {"image": quantize(samples[3]["image"], taken)})["probabilities"]
    assert np.array_equal(dequantize(stored, given), transload.run(floats, samples[3])["probabilities"])
    assert element(transload.quantize(module, "int8-asym", samples, quant_input=True), "probabilities") is None


def test_what_is_computed_with_floats_stays_so(module: Module, samples: list[dict[str, np.ndarray]]) -> None:
    kept = {"floats": {"probabilities": "a test"}}
    assert element(transload.quantize(module, "int8-asym", samples, quant_output="all", **kept), "probabilities") is None
    with pytest.raises(UsageError, match="computed with floats"):
        transload.quantize(module, "int8-asym", samples, quant_output="probabilities", **kept)
    with pytest.raises(UsageError, match="no output 'scores'"):
        transload.quantize(module, "int8-asym", samples, quant_output=["scores"])
