"""What computing a part takes: rules by op, `(work, part, dtypes) -> Effort`, and what an effort is in cycles.

`dtypes` are the element types of the operands, then of the result; `part` is the part of the result. Each instruction takes
`start_cycles`; then a lane works on its channels one after the other: on products at the chip's rate for the input's type, on
elements `vector_bytes` a cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transload.facts import FactTable

from ..chip import Chip
from ..instructions import ELEMENTS
from ..regions import Box

__all__ = ["CYCLES", "Effort", "cycles_of", "elementwise", "ideal_of"]

CYCLES = FactTable("tpu")
Dtypes = tuple[str, ...]


@dataclass(frozen=True)
class Effort:
    """What one channel of one image of a part takes: products to be summed, and passes over so many bytes."""

    products: int = 0
    bytes: int = 0
    passes: int = 1


def cycles_of(chip: Chip, dtype: str, part: Box, effort: Effort) -> int:
    """Cycles of an instruction whose input has this type: channels that do not fill the lanes take as long as those that do."""
    (n0, n1), (c0, c1) = part[:2]
    slots = (n1 - n0) * -(-(c1 - c0) // chip.lanes)
    rate = chip.macs.get(dtype) or 1
    return chip.start_cycles + slots * (-(-effort.products // rate) + effort.passes * -(-effort.bytes // chip.vector_bytes))


def ideal_of(chip: Chip, dtype: str, part: Box, effort: Effort) -> float:
    """Cycles of the same with all lanes and vectors full, and no start: what the roofline counts."""
    (n0, n1), (c0, c1) = part[:2]
    rate = chip.macs.get(dtype) or 1
    each = effort.products / rate + effort.passes * effort.bytes / chip.vector_bytes
    return (n1 - n0) * (c1 - c0) * each / chip.lanes


def _bytes(part: Box, bits: int) -> int:
    (h0, h1), (w0, w1) = part[2:]
    return -(-(h1 - h0) * (w1 - w0) * bits // 8)


@CYCLES("add", "mul", "maximum", "minimum", "requantize", "cast", "table", "unary", "binary", "select")
def elementwise(work: Any, part: Box, dtypes: Dtypes) -> Effort:
    """One pass, over the widest of its types."""
    return Effort(bytes=_bytes(part, max(ELEMENTS[dtype].bits for dtype in dtypes)))


@CYCLES("conv2d")
def convolution(work: Any, part: Box, dtypes: Dtypes) -> Effort:
    """The products under the filter."""
    _, inner, kh, kw = work.operand_shapes[1]
    return Effort(products=_bytes(part, 8) * inner * kh * kw)


@CYCLES("matmul")
def product(work: Any, part: Box, dtypes: Dtypes) -> Effort:
    """A product for each element of a row of the first operand, whose features lie in its channels."""
    return Effort(products=_bytes(part, 8) * work.operand_shapes[0][1])


@CYCLES("softmax")
def softmax(work: Any, part: Box, dtypes: Dtypes) -> Effort:
    """Three passes: the greatest, exponentials and their sum, the quotients; of 32 bits."""
    return Effort(bytes=_bytes(part, 32), passes=3)


@CYCLES("reduce", "arg")
def reduction(work: Any, part: Box, dtypes: Dtypes) -> Effort:
    """One pass over all that is reduced, spread evenly over the channels of the result."""
    _, channels, rows, columns = work.operand_shapes[0]
    (h0, h1), (w0, w1) = part[2:]
    each = channels * rows * columns // max(part[1][1] - part[1][0], 1)
    return Effort(bytes=max(each, (h1 - h0) * (w1 - w0)) * ELEMENTS[dtypes[0]].bits // 8)


@CYCLES("resize")
def resizing(work: Any, part: Box, dtypes: Dtypes) -> Effort:
    """A pass for each of the elements that one lies between."""
    return Effort(bytes=_bytes(part, ELEMENTS[dtypes[-1]].bits), passes=4 if work.attributes["mode"] == "linear" else 1)


@CYCLES("avg_pool2d", "max_pool2d")
def pooling(work: Any, part: Box, dtypes: Dtypes) -> Effort:
    """A pass over the results for each place of the window; or, where the results are fewer, one over the window for each of
    them, as a reduction takes.
    """
    kh, kw = work.attributes["kernel"]
    (h0, h1), (w0, w1) = part[2:]
    places, results = kh * kw, (h1 - h0) * (w1 - w0)
    bits = ELEMENTS[dtypes[-1]].bits
    return Effort(bytes=-(-max(places, results) * bits // 8), passes=min(places, results))
