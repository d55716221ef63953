"""What `--dump` writes of a conversion is valid at every step, so that `run` and `inspect` read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir.verify import check
from transload.plugin_host import host
from transload.text import print_module

from tests.support.graphs import Graph


def unsigned() -> transload.Module:
    """A product of unsigned bytes, which are signed in TOSA, at the borders of the function, too."""
    graph = Graph((1, 8))
    module = graph.done(graph.Relu(graph.inputs[0]))
    return transload.load(text=print_module(module).replace(
        "tensor<1x8xf32>", "tensor<1x8x!quant.uniform<u8:f32, 0.5:128>>"), format="mlir")


ALL = ("tosa", "stablehlo", "xla-cpu", "onnx", "tflite", "tp-small", "ethos-u55-128")
CASES = {
    "int8": ("digits_int8.tflite", None, ALL), "float": ("digits_float.onnx", None, ALL[:-1]), "unsigned": ("", None, ALL),
    "quantized": ("digits_float.onnx", "int8", ALL),
    "int16x8": ("digits_float.onnx", "int16x8", ALL)}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("case", "target"), [(case, target) for case, (*_, targets) in CASES.items() for target in targets])
def test_every_step_is_valid(case: str, target: str, examples: Path, tmp_path: Path) -> None:
    if host().get("targets", target).available() is not None:
        pytest.skip(f"{target} cannot be used here")
    name, scheme, _ = CASES[case]
    how: dict[str, Any] = {} if scheme is None else {
        "quantize": scheme, "data": [{"image": np.random.default_rng(0).random((1, 1, 8, 8), np.float32)}]}
    transload.convert(examples / "digits" / name if name else unsigned(), target, tmp_path / "out", dump=tmp_path / "steps",
                      verify=False, **how)
    steps = sorted((tmp_path / "steps").glob("*.mlir"))
    assert len(steps) > 1
    for step in steps:
        assert not check(transload.load(step)), step.name
