"""What no output of a model needs: results of branches and loops that nobody uses, and all that is computed for them.

It is taken away before anything is converted, so that no model is refused for it: a runtime may compute it, but nobody sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from transload.ir import Block, Module, Op, Value
from transload.ir.locations import FusedLocation
from transload.ir.regions import blocks_in, release_regions
from transload.passes.dce import eliminate_dead_code, is_removable

from .table import attr, opset

__all__ = ["drop_unneeded"]


def drop_unneeded(module: Module) -> bool:
    """Erase ops that no output needs, and results of `If`, `Loop` and `Scan` that nothing uses, with what is yielded for them.

    Returns whether there were any.
    """
    changed = eliminate_dead_code(module)
    while sum(_narrowed(op) for block in blocks_in(module) for op in block if op.name in _NARROWED):
        eliminate_dead_code(module)
        changed = True
    return changed


def _narrowed(op: Op) -> bool:
    """Whether the op had what nobody uses, and is another one without that now."""
    whole = all(len(region.blocks) == 1 and region.block.last is not None for region in op.regions)
    return bool(op.regions) and whole and _NARROWED[op.name](op)


def _if(op: Op) -> bool:
    """Without the values that branches end with and nobody uses."""
    if any(len(region.block.terminator.operands) != len(op.results) for region in op.regions):
        return False
    kept = [place for place, result in enumerate(op.results) if result.uses]
    if len(kept) == len(op.results):
        return False
    for region in op.regions:
        _keep_operands(region.block.terminator, kept)
    _remade(op, op.operands, kept)
    return True


def _loop(op: Op) -> bool:
    """Without values that its rounds collect, and without those it carries from one to the next for nothing else."""
    body = op.regions[0].block
    carried = len(body.arguments) - 2
    if carried < 0 or len(op.operands) != carried + 2 or len(body.terminator.operands) <= carried:
        return False
    return _without_states(op, body, given=2, arguments=2, yielded=1, states=carried)


def _scan(op: Op) -> bool:
    """The same, of what goes from one place of the scanned tensors to the next; each result keeps its dimension and direction."""
    body, inputs = op.regions[0].block, attr(op, "num_scan_inputs", 0)
    states = len(body.arguments) - inputs
    if opset(op) < 9 or inputs < 1 or states < 0 or len(op.operands) != len(body.arguments) or len(op.results) < states:
        return False
    return _without_states(op, body, given=0, arguments=0, yielded=0, states=states)


def _without_states(op: Op, body: Block, *, given: int, arguments: int, yielded: int, states: int) -> bool:
    """Without unused results behind the states, and without states that no used result, condition or other state needs.

    States are at `given` among the operands, at `arguments` among the body's, and at `yielded` among what it ends with; the
    results are what it ends with from there on.
    """
    end = body.terminator
    ends = end.operands
    used = [place for place in range(len(ends) - yielded) if place < len(op.results) and op.results[place].uses]
    roots = [*ends[:yielded], *(ends[yielded + place] for place in used), *_kept_in_any_case(body)]
    needed = {place for place in used if place < states}
    while True:
        found = _arguments_behind(body, roots)
        more = {place for place in range(states) if body.arguments[arguments + place] in found} - needed
        if not more:
            break
        needed |= more
        roots = [ends[yielded + place] for place in more]
    results = sorted(needed.union(place for place in used if place >= states))
    if len(results) == len(ends) - yielded:
        return False
    gone = [place for place in range(states) if place not in needed]
    _keep_operands(end, [*range(yielded), *(yielded + place for place in results)])
    eliminate_dead_code(op)  # what made the states that go, from their arguments
    for place in reversed(gone):
        body.erase_argument(arguments + place)
    skipped = {given + place for place in gone}
    attributes = _of_results(op, states, results)
    _remade(op, [value for place, value in enumerate(op.operands) if place not in skipped], results, attributes)
    return True


def _of_results(op: Op, states: int, results: Sequence[int]) -> dict[str, Any]:
    """The attributes of a loop of which these results are left: lists of what is said of each scanned one, without the others."""
    attributes = dict(op.attributes)
    for name in ("scan_output_axes", "scan_output_directions"):
        said = attributes.get(name)
        if said is not None:
            attributes[name] = tuple(said[place - states] for place in results if states <= place < states + len(said))
    return attributes


def _arguments_behind(body: Block, values: Sequence[Value]) -> Collection[Value]:
    """The arguments of a body that values in it are computed from."""
    found: set[Value] = set()
    pending, seen = list(values), set[Op]()
    while pending:
        value = pending.pop()
        owner = value.owner
        if owner is body:
            found.add(value)
        elif isinstance(owner, Op) and owner not in seen and owner.parent is not None:
            seen.add(owner)
            pending += [operand for inner in owner.walk() for operand in inner.operands]
    return found


def _kept_in_any_case(body: Block) -> list[Value]:
    """What ops of a body take that stay although nobody uses what they give, as nobody knows what they do."""
    return [operand for op in body if op is not body.terminator and not is_removable(op)
            for inner in op.walk() for operand in inner.operands]


def _keep_operands(op: Op, places: Sequence[int]) -> None:
    op.operands = tuple(op.operands[place] for place in places)


def _remade(op: Op, operands: Sequence[Value], results: Sequence[int], attributes: dict[str, Any] | None = None) -> None:
    """Put an op of only these operands and results in an op's place, with its regions."""
    assert op.parent is not None
    old = [op.results[place] for place in results if place < len(op.results)]  # the last may not be there
    location = old[0].name if len(old) == 1 else FusedLocation(tuple(value.name for value in old))
    new = Op(op.name, operands, [value.type for value in old], op.attributes if attributes is None else attributes,
             release_regions(op), location)
    op.parent.insert(new, op)
    for value, instead in zip(old, new.results, strict=True):
        value.replace_all_uses_with(instead)
    op.erase()


_NARROWED: dict[str, Callable[[Op], bool]] = {"onnx.If": _if, "onnx.Loop": _loop, "onnx.Scan": _scan}
