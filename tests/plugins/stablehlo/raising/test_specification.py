"""Every example of the specification: raised, with the results of StableHLO's kernels, or refused with a reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir.types import TupleType

from tests.plugins.stablehlo.kernels import test_specification_examples as examples
from tests.support.stablehlo_specification import Example, specification

pytestmark = pytest.mark.skipif(specification() is None, reason="no specification: set TRANSLOAD_SPEC to its folder")
pytest.importorskip("jaxlib", reason="the examples are in pretty form")

_COMPLEX, _TOKEN, _PROCESSES = "of complex numbers", "is a token", "between processes"
REFUSED = {
    "after_all-0": _TOKEN, "all_gather-0": _PROCESSES, "all_reduce-0": _PROCESSES, "all_to_all-0": _PROCESSES,
    "bitcast_convert-0": "reads the bits of f64 as f16", "collective_broadcast-0": _PROCESSES, "collective_permute-0": _PROCESSES,
    "complex-0": _COMPLEX, "convert-0": _COMPLEX, "dynamic_conv-0": "the padding must be constant",
    "dynamic_pad-0": "low padding must be constant", "fft-0": _COMPLEX, "imag-0": _COMPLEX, "infeed-0": _TOKEN,
    "negate-1": _COMPLEX, "outfeed-0": _TOKEN, "real-0": _COMPLEX, "recv-0": _TOKEN, "reduce_scatter-0": _PROCESSES,
    "rng-0": "random numbers", "rng_bit_generator-0": "random bits", "send-0": _TOKEN}


def _flat(value: Any) -> list[Any]:
    return [part for one in value for part in _flat(one)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("example", examples.EXAMPLES, ids=lambda example: example.id)
def test_example(example: Example) -> None:
    program, operands, _ = examples._program(example)
    module = transload.load(text=program, format="stablehlo")
    if example.id in REFUSED:
        with pytest.raises(ConversionError, match=REFUSED[example.id]) as caught:
            transload.legalize(module)
        assert all(finding.hint for finding in caught.value.findings)
        return
    top = transload.legalize(module)
    if example.op == "custom_call":
        assert "top.Custom" in [op.name for op in top.ops()]
        return
    names = transload.ir.input_names(module.main)
    values = [examples._value(example.operands.get((key, None)), type_) for key, type_ in operands]
    wanted = transload.run(module, dict(zip(names, values, strict=True)))
    flat = [part for value, (_, type_) in zip(values, operands, strict=True)
            for part in (_flat(value) if isinstance(type_, TupleType) else [value])]
    given = dict(zip(transload.ir.input_names(top.main), flat, strict=True))
    computed = list(transload.run(top, given).values())
    expected = [part for value in wanted.values() for part in _flat(value)]
    for mine, ours in zip(computed, expected, strict=True):
        assert np.asarray(mine).dtype == np.asarray(ours).dtype
        np.testing.assert_allclose(np.asarray(mine, np.float64), np.asarray(ours, np.float64), rtol=2e-6, atol=2e-7)
