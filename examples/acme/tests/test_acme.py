"""The op and the chip, checked with Transload's plugin kit."""

from __future__ import annotations

import numpy as np
import pytest
from transload_acme.make_model import make_model

import transload
from transload.ir import F32, I8, QuantType
from transload.testing import check_op, check_target


def reference(x, gain=1.0):
    return gain * x * np.minimum(2, np.maximum(0, x + 2)) / 2


@pytest.mark.parametrize("shape", [(7,), (2, 3), (1, 4, 4, 2)])
def test_float(shape):
    x = np.random.default_rng(0).normal(scale=2, size=shape).astype(np.float32)
    check_op("acme.HardMish", x, reference=lambda x: reference(x, 1.5), lowers_to=("tosa",), gain=1.5)


def test_int8_is_exact():
    given, made = QuantType(I8, F32, (0.05,), (3,)), QuantType(I8, F32, (0.07,), (-100,))
    x = np.arange(-128, 128).astype(np.int8)
    check_op("acme.HardMish", x, input_elements=[given], element=made, lowers_to=("tosa",), steps=0)


@pytest.mark.parametrize("int8", [False, True])
def test_read_from_tflite_and_lowered(int8):
    module = transload.load(text=make_model(int8), format="tflite")
    dtype = np.int8 if int8 else np.float32
    x = np.random.default_rng(1).integers(-100, 100, (1, 4, 4, 2)).astype(dtype)
    hub, tosa = transload.legalize(module), transload.lower(module, "tosa")
    np.testing.assert_allclose(transload.run(tosa, {"x": x})["y"], transload.run(hub, {"x": x})["y"], rtol=1e-5)


def test_the_chip_takes_int8_and_refuses_float(tmp_path):
    good, bad = tmp_path / "int8.tflite", tmp_path / "float.tflite"
    good.write_bytes(make_model(int8=True))
    bad.write_bytes(make_model(int8=False))
    artifact = check_target("acme-npu", good, refused=bad, banks=2)
    assert artifact.report.target_report["instructions"] >= 2
