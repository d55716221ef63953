"""What computing a part takes, in cycles: rules by op, `(chip, dtypes, node, part, need) -> float`.

`dtypes` are the element types of the operands, then of the result. Each instruction takes `start_cycles`; then a lane works on
its channels one after the other: on products at the rate of its input's type, on elements `vector_bytes` a cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transload.facts import FactTable

from ..chip import Chip
from ..instructions import ELEMENTS
from ..regions import Box, Need

__all__ = ["CYCLES", "elementwise"]

CYCLES = FactTable("tpu")
Dtypes = tuple[str, ...]


def _slots(chip: Chip, part: Box) -> int:
    """Rows of lanes that a part's images and channels make."""
    (n0, n1), (c0, c1) = part[:2]
    return (n1 - n0) * -(-(c1 - c0) // chip.lanes)


def _vectors(chip: Chip, part: Box, bits: int) -> int:
    """Vectors that a channel of a part has."""
    (h0, h1), (w0, w1) = part[2:]
    return -(-(h1 - h0) * (w1 - w0) * bits // (8 * chip.vector_bytes))


@CYCLES("add", "mul", "maximum", "minimum", "requantize", "cast", "table")
def elementwise(chip: Chip, dtypes: Dtypes, node: Any, part: Box, need: Need) -> float:
    """A vector of the widest of its types a cycle."""
    return chip.start_cycles + _slots(chip, part) * _vectors(chip, part, max(ELEMENTS[dtype].bits for dtype in dtypes))


@CYCLES("conv2d")
def convolution(chip: Chip, dtypes: Dtypes, node: Any, part: Box, need: Need) -> float:
    """As many products a cycle and lane as the chip has for the type of the input."""
    _, inner, kh, kw = node.operand_shapes[1]
    (h0, h1), (w0, w1) = part[2:]
    products = (h1 - h0) * (w1 - w0) * inner * kh * kw
    rate = chip.macs.get(dtypes[0]) or 1
    return chip.start_cycles + _slots(chip, part) * -(-products // rate)


@CYCLES("avg_pool2d", "max_pool2d")
def pooling(chip: Chip, dtypes: Dtypes, node: Any, part: Box, need: Need) -> float:
    """A vector of results a cycle for each place of the window."""
    kh, kw = node.attributes["kernel"]
    return chip.start_cycles + _slots(chip, part) * _vectors(chip, part, ELEMENTS[dtypes[-1]].bits) * kh * kw


CyclesRule = Callable[[Chip, Dtypes, Any, Box, Need], float]
