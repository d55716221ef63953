"""Boxes: parts of tensors in the four dimensions (n, c, h, w) of the chip, as ranges from `start` until before `stop`."""

from __future__ import annotations

__all__ = ["Box", "Range", "Shape", "cut", "extent", "hull", "inside", "meet", "volume", "whole"]

Range = tuple[int, int]
Shape = tuple[int, int, int, int]
Box = tuple[Range, Range, Range, Range]


def whole(shape: Shape) -> Box:
    """The box of a whole tensor."""
    n, c, h, w = shape
    return ((0, n), (0, c), (0, h), (0, w))


def extent(box: Box) -> Shape:
    """The shape of what is in a box."""
    (n0, n1), (c0, c1), (h0, h1), (w0, w1) = box
    return (n1 - n0, c1 - c0, h1 - h0, w1 - w0)


def volume(box: Box) -> int:
    """The number of elements in a box."""
    (n0, n1), (c0, c1), (h0, h1), (w0, w1) = box
    return (n1 - n0) * (c1 - c0) * (h1 - h0) * (w1 - w0)


def hull(a: Box | None, b: Box) -> Box:
    """The smallest box around two of them."""
    if a is None or a == b:
        return b
    (an, am), (ac, ad), (ah, ai), (aw, ax) = a
    (bn, bm), (bc, bd), (bh, bi), (bw, bx) = b
    return ((min(an, bn), max(am, bm)), (min(ac, bc), max(ad, bd)), (min(ah, bh), max(ai, bi)), (min(aw, bw), max(ax, bx)))


def inside(a: Box, b: Box) -> bool:
    """Whether `a` lies within `b`."""
    return all(low >= start and high <= stop for (low, high), (start, stop) in zip(a, b, strict=True))


def meet(a: Box, b: Box) -> bool:
    """Whether two boxes have an element in common."""
    (an, am), (ac, ad), (ah, ai), (aw, ax) = a
    (bn, bm), (bc, bd), (bh, bi), (bw, bx) = b
    return ah < bi and bh < ai and aw < bx and bw < ax and ac < bd and bc < ad and an < bm and bn < am


def cut(size: int, count: int) -> list[Range]:
    """A dimension in `count` ranges, of lengths that differ by one at most, the longer ones first.

    There are no empty ones: `count` is at most `size`.
    """
    length, longer = divmod(size, count)
    ranges, start = [], 0
    for index in range(count):
        stop = start + length + (index < longer)
        ranges.append((start, stop))
        start = stop
    return ranges
