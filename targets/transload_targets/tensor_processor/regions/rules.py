"""Rules of regions: backward from a part of a result to the parts of the operands that it needs, exactly.

Sliding windows are the heart of it (the manual's chapter 10.2, BackwardH): rows `[a, b)` of a convolution's result need rows
`[a * stride - before, (b - 1) * stride - before + reach)` of its input, `reach` being `(kernel - 1) * dilation + 1`. What of them
lies outside is the padding that this part has, which differs from the tensor's own: parts inside have none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from transload.facts import FactTable

from ..arithmetic.resizing import places_of
from .boxes import Box, Range, Shape, whole

__all__ = ["RULES", "Need", "Rule", "Work", "window"]


class Work(Protocol):
    """What a rule knows of an op: shapes of its operands and of its result in the chip's four dimensions, and its attributes."""

    @property
    def operand_shapes(self) -> tuple[Shape | None, ...]: ...
    @property
    def result_shape(self) -> Shape: ...
    @property
    def attributes(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Need:
    """What a part of a result needs: a box of each operand, None where an operand is not read for it."""

    operands: tuple[Box | None, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Attributes that differ from the op's own for this part: its padding."""


Rule = Callable[[Work, Box], "Need | None"]
RULES = FactTable("tpu")


def window(out: Range, size: int, stride: int, kernel: int, dilation: int, before: int) -> tuple[Range, int, int] | None:
    """The range of an input of `size` that a range of a sliding window's result needs, and the padding before and after it.

    None where a window at its end lies in the padding alone: there is no row that it could be computed of.
    """
    start = out[0] * stride - before
    stop = (out[1] - 1) * stride - before + (kernel - 1) * dilation + 1
    low, high = max(start, 0), min(stop, size)
    if low >= high:
        return None
    return (low, high), low - start, stop - high


def _windows(
    work: Work, part: Box, kernel: tuple[int, int], pads: tuple[int, ...],
) -> tuple[Range, Range, tuple[int, int, int, int]] | None:
    """Ranges of h and w of the first operand that a part of a sliding window's result needs, and the part's own padding."""
    shape, attributes = work.operand_shapes[0], work.attributes
    assert shape is not None  # a window slides over a tensor
    (sh, sw), (dh, dw), (top, left, _, _) = attributes["strides"], attributes.get("dilations", (1, 1)), pads
    rows = window(part[2], shape[2], sh, kernel[0], dh, top)
    columns = window(part[3], shape[3], sw, kernel[1], dw, left)
    if rows is None or columns is None:
        return None
    return rows[0], columns[0], (rows[1], columns[1], rows[2], columns[2])


def _per_channel(work: Work, channels: Range, first: int) -> list[Box | None]:
    """Boxes of the operands from `first` on that hold one value a channel, of which those of these channels are needed."""
    boxes: list[Box | None] = []
    for shape in work.operand_shapes[first:]:
        if shape is None:
            boxes.append(None)
        else:
            n, c, h, w = shape
            boxes.append(((0, n), channels if c > 1 else (0, 1), (0, h), (0, w)))
    return boxes


@RULES("conv2d")
def convolution(work: Work, part: Box) -> Need | None:
    """Rows and columns under the filter, all input channels of the groups that the output channels belong to, their filters."""
    data, filters = work.operand_shapes[:2]
    assert data is not None and filters is not None
    found = _windows(work, part, filters[2:], work.attributes["pads"])
    if found is None:
        return None
    rows, columns, pads = found
    group = work.attributes.get("groups", 1)
    attributes: dict[str, Any] = {"pads": pads}
    channels: Range = (0, data[1])
    if group > 1:
        per_out, per_in = filters[0] // group, filters[1]
        (low, high) = part[1]
        if (low % per_out or high % per_out) and low // per_out != (high - 1) // per_out:
            return None
        first, last = low // per_out, (high - 1) // per_out + 1
        channels = (first * per_in, last * per_in)
        attributes["groups"] = last - first
    weights: Box = (part[1], (0, filters[1]), (0, filters[2]), (0, filters[3]))
    return Need(((part[0], channels, rows, columns), weights, *_per_channel(work, part[1], 2)), attributes)


@RULES("max_pool2d")
def pooling(work: Work, part: Box) -> Need | None:
    """Rows and columns under the window, the same channels."""
    found = _windows(work, part, work.attributes["kernel"], work.attributes["pads"])
    if found is None:
        return None
    rows, columns, pads = found
    return Need(((part[0], part[1], rows, columns),), {"pads": pads})


@RULES("avg_pool2d")
def averaging(work: Work, part: Box) -> Need | None:
    """As `pooling`; of padding that counts among the elements and of what does not, this part has the outermost."""
    outer, inner = work.attributes["pads"], work.attributes.get("padded", (0, 0, 0, 0))
    found = _windows(work, part, work.attributes["kernel"], tuple(map(sum, zip(outer, inner, strict=True))))
    if found is None:
        return None
    rows, columns, pads = found
    counted = tuple(map(min, zip(pads, inner, strict=True)))
    return Need(((part[0], part[1], rows, columns),), {
        "pads": tuple(all_ - some for all_, some in zip(pads, counted, strict=True)), "padded": counted})


@RULES("add", "mul", "maximum", "minimum", "requantize", "cast", "unary", "binary", "select")
def elementwise(work: Work, part: Box) -> Need:
    """The same part of each operand; of a dimension that is broadcast, its one element."""
    return Need(tuple(
        None if shape is None else tuple(  # type: ignore[misc]
            (0, 1) if size == 1 else range_ for size, range_ in zip(shape, part, strict=True))
        for shape in work.operand_shapes))


@RULES("resize")
def resize(work: Work, part: Box) -> Need:
    """The rows and columns between which the part's places lie; the grids of a part begin at its own."""
    shape, attributes = work.operand_shapes[0], work.attributes
    assert shape is not None  # an image is resized
    ranges: list[Range] = []
    changed: dict[str, Any] = {"sizes": tuple(high - low for low, high in part[2:])}
    for key, (low, high), size in zip(("rows", "columns"), part[2:], shape[2:], strict=True):
        n, d, offset = attributes[key]
        first, _ = places_of(1, (n, d, offset + low * d), attributes["mode"])
        last, _ = places_of(1, (n, d, offset + (high - 1) * d), attributes["mode"])
        behind = int(attributes["mode"] == "linear")
        begin = min(max(int(first[0]), 0), size - 1)
        end = min(max(int(last[0]) + behind, begin), size - 1) + 1
        ranges.append((begin, end))
        changed[key] = (n, d, offset + low * d - begin * n)
    return Need(((part[0], part[1], ranges[0], ranges[1]),), changed)


@RULES("softmax")
def rows(work: Work, part: Box) -> Need | None:
    """Along the axis all elements; a part of a row cannot be computed alone."""
    data, axis = work.operand_shapes[0], work.attributes["axis"]
    assert data is not None  # there is something to compute it of
    if part[axis] != (0, data[axis]):
        return None
    return Need((part, *(None if shape is None else whole(shape) for shape in work.operand_shapes[1:])))


@RULES("reduce")
def reduction(work: Work, part: Box) -> Need:
    """Along the axes all elements, and of other dimensions the part's."""
    data = work.operand_shapes[0]
    assert data is not None  # there is something to reduce
    box = tuple((0, size) if axis in work.attributes["axes"] else range_ for axis, (size, range_) in enumerate(
        zip(data, part, strict=True)))
    return Need((box,))  # type: ignore[arg-type]


@RULES("arg")
def extreme(work: Work, part: Box) -> Need:
    """Along the axis all elements, and of other dimensions the part's."""
    data = work.operand_shapes[0]
    assert data is not None  # there is something to look at
    box = tuple((0, size) if axis == work.attributes["axis"] else range_ for axis, (size, range_) in enumerate(
        zip(data, part, strict=True)))
    return Need((box,))  # type: ignore[arg-type]


@RULES("table")
def table(work: Work, part: Box) -> Need:
    """The same part of the input, and all of the table."""
    return Need((part, *(None if shape is None else whole(shape) for shape in work.operand_shapes[1:])))
