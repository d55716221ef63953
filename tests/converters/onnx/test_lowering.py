"""The hub to ONNX: ONNX's own tests of single operators come back as what they were, for the checker and onnxruntime."""

from __future__ import annotations

import pytest

pytest.importorskip("onnxruntime")

from tests.support.onnx_ops.measure import cell_of, node_cases
from tests.support.onnx_out.roundtrip import outcome

# What opset 21 has no types for, or runtimes no kernels.
REFUSED = (
    "int2", "INT2", "UINT2", "FLOAT4", "float4", "optional", "bitshift_right_int64", "bitshift_left_int64",
    "bitcast_", "TO_FLOAT8E8M0", "to_FLOAT8E8M0",  # bits of floats, before opset 26
    "downsample_sizes_nearest_not_smaller",  # reads beyond its end, by scales that do not give its sizes
)


@pytest.mark.parametrize("part", range(4))
def test_operators_come_back_right(part: int) -> None:
    cases = [case for case in node_cases()[part::4] if cell_of(case) is not None]
    ends = {case.name: outcome(case) for case in cases}
    wrong = {name: end for name, end in ends.items() if end[0] not in ("right", "not read", "refused")}
    assert not wrong
    refused = {name: said for name, (word, said) in ends.items() if word == "refused" and not any(key in name for key in REFUSED)}
    assert not refused
    assert sum(word == "right" for word, _ in ends.values()) > 0.9 * len(ends)
