"""Models of one quantized operator of TFLite, written in integers and run by onnxruntime, beside our TOSA of them.

    python -m tests.support.onnx_out.operators [64|32]      # counts them all, written with numbers of so many bits
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np

import transload
from transload.errors import TransloadError
from transload_converters.onnx.writer import model_of

from tests.support.onnx_out.roundtrip import run_model
from tests.support.tflite_ops import harness
from tests.support.tflite_ops.build import build
from tests.support.tflite_ops.measure import all_cases

__all__ = ["outcome_of"]


def outcome_of(case: Any, bits: str = "64", form: str = "integers") -> str | None:
    """Whether onnxruntime gives the integers of our TOSA; None where there is none, or nothing is quantized."""
    try:
        built = build(case)
        tosa = harness.convert(built)
        hub = transload.legalize(harness.loaded(built))
    except TransloadError:
        return None
    if not any(result.is_quantized for op in hub.walk() for result in op.results):
        return None
    try:
        lowered = transload.lower(hub, "onnx", form=form, bits=bits)
        given = run_model(model_of(lowered), dict(zip(lowered.inputs, built.feeds.values(), strict=True)))
    except TransloadError:
        return "refused"
    wanted = transload.run(tosa, built.feeds).values()
    return "same" if all(map(_is_same, wanted, given)) else "differs"


def _is_same(ours: np.ndarray, theirs: np.ndarray) -> bool:
    if ours.dtype.kind == "f":
        return bool(np.allclose(ours, theirs, 1e-5, 1e-6, equal_nan=True))
    return ours.shape == theirs.shape and np.array_equal(ours.astype(np.int64), theirs.astype(np.int64))


if __name__ == "__main__":
    bits = sys.argv[1] if len(sys.argv) > 1 else "64"
    print(Counter(filter(None, (outcome_of(case, bits) for case in all_cases()))))
