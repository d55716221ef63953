"""Moving the contents of regions, as conversions of control flow do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import Unsupported
from .core import Block, Op, Region, Value

__all__ = ["blocks_in", "captured_values", "move_region", "need_argument_types", "need_result_types", "release_regions",
           "splice_region"]


def blocks_in(op: Op) -> Iterator[Block]:
    """Every block inside an op, the outer ones first."""
    for region in op.regions:
        for block in region.blocks:
            yield block
            for inner in block:
                if inner.regions:
                    yield from blocks_in(inner)


def captured_values(op: Op) -> list[Value]:
    """Values from outside an op that the ops in its regions use, each once, in order."""
    inside: set[Value] = set()
    for block in blocks_in(op):
        inside.update(block.arguments)
        inside.update(result for inner in block for result in inner.results)
    found: dict[Value, None] = {}
    for block in blocks_in(op):
        for inner in block:
            found.update((value, None) for value in inner.operands if value not in inside)
    return list(found)


def release_regions(op: Op) -> list[Region]:
    """Take an op's regions from it, for another op."""
    regions = list(op.regions)
    op.regions.clear()
    return regions


def move_region(region: Region) -> Region:
    """A region that holds the blocks of another one, which is left empty."""
    blocks = region.blocks.copy()
    region.blocks.clear()
    return Region(blocks)


def splice_region(region: Region, before: Op) -> Sequence[Value]:
    """Move the ops of a region's one block in front of an op; the values that the block ends with.

    The block keeps its terminator, so that it is erased with the region's op.
    """
    block = region.block
    for inner in list(block):
        if inner is not block.last:
            before.parent.insert(block.remove(inner), before)  # type: ignore[union-attr]
    return block.terminator.operands


def need_argument_types(op: Op, regions: Sequence[Region], what: str, hint: str) -> None:
    """`Unsupported` where a region (a `what`: loop) takes other types than those of the op's operands."""
    for region in regions:
        for value, given in zip(region.block.arguments, op.operands, strict=True):
            if value.type != given.type:
                raise Unsupported(f"a {what} takes {value.type} where it is given {given.type}", hint)


def need_result_types(op: Op, regions: Sequence[Region], what: str, hint: str) -> None:
    """`Unsupported` where a region (a `what`: branch, body) ends with other types than the op's results."""
    for region in regions:
        for value, result in zip(region.block.terminator.operands, op.results, strict=True):
            if value.type != result.type:
                raise Unsupported(f"a {what} gives {value.type} where the result is {result.type}", hint)
