"""Quantized types in MLIR's own hands: it reads what we print, and we read what it prints, as the same type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from transload.ir import QuantType, TensorType
from transload.text import parse_type

from .test_round_trip import quant_types

pytest.importorskip("jaxlib", reason="jaxlib is not installed")


@pytest.fixture(scope="module")
def context() -> Any:
    from transload_converters.stablehlo import bindings

    return bindings._context()


def single(type_: QuantType) -> QuantType:
    """With scales rounded to f32, as MLIR holds those of blocks; six digits of them are what it may print."""
    return type_.replace(scales=tuple(np.array(type_.scales, np.float32).astype(np.float64).tolist()))


@given(type_=quant_types())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
def test_mlir_reads_and_prints_the_same_type(context: Any, type_: QuantType) -> None:
    from jaxlib.mlir import ir

    with context:
        theirs = ir.Type.parse(str(type_))
        again = parse_type(str(theirs))
        assert ir.Type.parse(str(again)) == theirs
    if type_.blocks is None:
        assert np.allclose(again.scales, type_.scales, rtol=1e-6)  # type: ignore[attr-defined]
    else:
        np.testing.assert_allclose(again.scales, single(type_).scales, rtol=1e-6)  # type: ignore[attr-defined]
    assert again.replace(scales=type_.scales) == type_  # type: ignore[attr-defined]


def test_the_bits_of_a_scale_are_read_as_mlir_writes_them():
    """A scale that six digits do not say is printed by its bits: of a float32 where there is one for each block."""
    blocks = parse_type("!quant.uniform<i4:f32:{0:2}, {1.0, 0x49742410}>")
    assert isinstance(blocks, QuantType) and blocks.scales[-1] == 1000001.0
    whole = parse_type("!quant.uniform<i8:f32, 0x3FF8000000000000>")
    assert isinstance(whole, QuantType) and whole.scales == (1.5,)


@pytest.mark.parametrize("text", [
    "tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{2.0:10, 3.0:20}, {4.0:30, 5.0:40}}>>",
    "tensor<3x64x!quant.uniform<i4<-7:7>:f32:{1:32}, {{0.5, 0.25}}>>",
])
def test_mlir_agrees_that_the_blocks_fit(context: Any, text: str) -> None:
    """Its verifier of `quant.qcast` and ours say the same of a tensor, and of one that is a row longer."""
    from jaxlib.mlir import ir

    from transload.ir.quantization import misfit

    type_ = parse_type(text)
    assert isinstance(type_, TensorType) and isinstance(type_.element, QuantType) and type_.shape is not None
    for shape in (type_.shape, (type_.shape[0] + 1, *type_.shape[1:]), (*type_.shape[:-1], 7), (*type_.shape, 1)):
        made = TensorType(shape, type_.element)
        program = f'func.func @f(%a: {made.with_element(type_.element.expressed)}) {{ "quant.qcast"(%a) : (' \
                  f"{made.with_element(type_.element.expressed)}) -> {made}\n return }}"
        with context, ir.Location.unknown():
            try:
                ir.Module.parse(program)
                valid = True
            except ir.MLIRError:
                valid = False
        assert valid == (misfit(type_.element, shape) is None), shape
