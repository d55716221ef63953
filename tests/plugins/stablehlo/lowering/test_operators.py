"""Operators of ONNX and TFLite as StableHLO: ONNX's own tests of single operators, and the cases of `tests/support/tflite_ops`.

By default a sample of them, in a long run all.
"""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pytest

from transload.api import legalize, load, lower, run
from transload.errors import TransloadError
from transload.ir import I32, QuantType, TensorType

from tests.support.graphs import Graph
from tests.support.tflite_ops.build import build

ENGINES = ("reference", "xla")
SAMPLES = [pytest.param(24, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)]


@pytest.mark.parametrize("every", SAMPLES)
def test_onnx(xla, every):
    """What the hub computes rightly, StableHLO does, too."""
    pytest.importorskip("onnx")
    from transload_converters.onnx import backend

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases(None)

    class Lowered(backend.TransloadRep):
        def module(self, arrays, constants):
            return lower(super().module(arrays, constants), "stablehlo")

    def differences(rep, case):
        found = (backend.difference(wanted, rep.run(given), case.rtol, case.atol) for given, wanted in case.data_sets)
        return [why for why in found if why]

    wrong, right = [], 0
    for number, case in enumerate(cases):
        if number % every:
            continue
        try:
            if differences(backend.prepare(case.model), case):
                continue
        except TransloadError:
            continue  # see tests/converters/onnx
        for engine in ENGINES if number % (16 * every) == 0 else ENGINES[:1]:
            try:
                found = differences(Lowered(case.model, engine), case)
            except TransloadError as error:
                found = [str(error)]
            wrong += [f"{case.name}, {engine}: {why}" for why in found]
        right += 1
    assert not wrong, "\n".join(wrong)
    assert right > 1700 // every - 20


CASES = [
    case for name in ("activation", "conv", "control", "elementwise", "gather", "matmul", "movement", "numbers", "recurrent",
                      "reduce", "resize", "signal")
    for case in importlib.import_module(f"tests.support.tflite_ops.cases_{name}").CASES
]  # fmt: skip


@pytest.mark.parametrize("every", SAMPLES)
def test_tflite(xla, every):
    """Floats as the hub has them, quantized operators with the bits that they have in TOSA."""
    wrong = []
    for number, case in enumerate(CASES):
        if number % every:
            continue
        built = build(case)
        top = legalize(load(text=built.content, format="tflite", inputs={name: a.shape for name, a in built.feeds.items()}))
        values = [v for op in top.walk() for v in (*op.operands, *op.results)]
        quantized = any(isinstance(getattr(v.type, "element", None), QuantType) for v in values)
        wanted = list(run(lower(top, "tosa") if quantized else top, built.feeds).values())
        module = lower(top, "stablehlo")
        for engine in ENGINES if number % (16 * every) == 0 else ENGINES[:1]:
            mine = list(run(module, built.feeds, engine=engine).values())
            if not all(map(alike, mine, wanted)):
                wrong.append(f"{case}, {engine}")
    assert not wrong, "\n".join(wrong)


def alike(mine, wanted):
    if mine.shape != wanted.shape:
        return False
    if mine.dtype.kind not in "fc":
        same = wanted.view(mine.dtype) if wanted.itemsize == mine.itemsize else wanted.astype(mine.dtype)
        return np.array_equal(mine, same)
    greatest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
    return np.allclose(mine, wanted, 2e-5, 1e-5 * greatest, equal_nan=True)


def test_shifts_by_a_number_are_looked_at_once() -> None:
    """Not in each place of what is shifted: that took 8 GiB of truth values."""
    g = Graph(TensorType((1 << 31, 4), I32))
    module = g.done(g.ShiftRight(g.inputs[0], np.array(3, np.int32)))
    assert [op.name for op in lower(module, "stablehlo").body_of_main][-2] == "stablehlo.shift_right_arithmetic"
