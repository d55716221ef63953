"""Moving the contents of regions, as conversions of control flow do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import Unsupported
from .attributes import Symbol
from .build import Builder, constant_of
from .core import Block, Op, Region, Value
from .module import Module, set_results
from .types import NoneType

__all__ = [
    "blocks_in", "captured_values", "close_region", "copied_regions", "functions_named", "is_repeated", "move_region",
    "need_argument_types", "need_result_types", "outlined", "release_regions", "splice_region",
]


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


def functions_named(op: Op) -> Iterator[str]:
    """The functions that an op names by symbols, as often as it does: those that it runs."""
    for attribute in op.attributes.values():
        for each in attribute if isinstance(attribute, list) else (attribute,):
            if isinstance(each, Symbol):
                yield str(each)


def is_repeated(value: Value) -> bool:
    """Whether a region that is to see nothing from around it repeats a value instead of being given it: a constant, or none."""
    return constant_of(value) is not None or isinstance(value.type, NoneType)


def close_region(region: Region, captured: Sequence[Value]) -> list[Value]:
    """Make a region see only its arguments: new ones, which are returned, for captured values; copies of what is repeated."""
    block = region.block
    arguments = [block.add_argument(value.type, value.name) for value in captured]
    replacements: dict[Value, Value] = dict(zip(captured, arguments, strict=True))
    _replace_outer(block, replacements, set(block.arguments))
    return arguments


def _replace_outer(block: Block, replacements: dict[Value, Value], inside: set[Value]) -> None:
    builder = Builder(block, block.first)
    outermost = block

    def visit(block: Block) -> None:
        inside.update(block.arguments)
        for op in list(block):
            operands = tuple(inner_value(operand) for operand in op.operands)
            if any(new is not old for new, old in zip(operands, op.operands, strict=True)):
                op.operands = operands
            inside.update(op.results)
            for region in op.regions:
                for nested in region.blocks:
                    visit(nested)

    def inner_value(value: Value) -> Value:
        if value in inside:
            return value
        found = replacements.get(value)
        if found is None and is_repeated(value):
            maker: Op = value.op  # type: ignore[assignment]
            found = replacements[value] = builder.create(
                maker.name, (), (value.type,), maker.attributes, location=maker.location).results[0]
        return value if found is None else found

    visit(outermost)


def outlined(region: Region, name: str, inside: Op) -> Symbol:
    """A private function of the module that an op is `inside` of, made of a region's one block, which sees only its arguments.

    What the block's terminator ends with is what the function returns; the terminator stays, to be erased with the region's op.
    The function comes behind those that are there and is called `name`, with a number behind it where that is taken.
    """
    module = inside
    while module.parent_op is not None:
        module = module.parent_op
    if not isinstance(module, Module):
        raise Unsupported("only of a module can a loop's or a branch's ops become a function")
    taken, unique, number = module.functions, name, 0
    while unique in taken:
        number += 1
        unique = f"{name}_{number}"
    block = region.block
    function = module.add_function(
        unique, [argument.type for argument in block.arguments], [argument.name for argument in block.arguments])
    made = function.regions[0].block
    for old, new in zip(block.arguments, made.arguments, strict=True):
        old.replace_all_uses_with(new)
    terminator = block.terminator
    for op in list(block):
        if op is not terminator:
            made.append(block.remove(op))
    set_results(function, terminator.operands)
    function.attributes["sym_visibility"] = "private"
    return Symbol(unique)


def release_regions(op: Op) -> list[Region]:
    """Take an op's regions from it, for another op."""
    regions = list(op.regions)
    op.regions.clear()
    return regions


def copied_regions(op: Op) -> list[Region]:
    """Copies of an op's regions, for another op. A copy of the op, which nobody erases, would use its operands for ever."""
    copies = [Region() for _ in op.regions]
    for region, copy in zip(op.regions, copies, strict=True):
        region.clone_into(copy, {})
    return copies


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
