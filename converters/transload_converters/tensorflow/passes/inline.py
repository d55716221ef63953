"""Calls replaced by what they call, and functional control flow by regions, in which the functions' ops lie.

`tf.If(c, x) {then_branch = @f, else_branch = @g}` becomes `tf.IfRegion(c)` with a region each; `tf.While`, `tf.Case` likewise.
What a loop hands on unchanged from step to step is no state of it, but a value of outside that its regions see.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transload.ir import Block, Module, Op, Region, Symbol, Value
from transload.passes.inline import inline_calls

__all__ = ["CALLS", "inline"]

CALLS = frozenset({"tf.PartitionedCall", "tf.StatefulPartitionedCall", "tf.LegacyCall"})
"""Ops that call the function that their attribute `f` names."""


def inline(module: Module) -> bool:
    """Leave no op that names a function. Raises `PassError` where functions are missing or call themselves."""
    changed = False
    for op in list(module.walk()):
        if op.name in CALLS:
            _replace(op, _call(op.attribute("f"), op.operands, op))
        elif op.name == "tf.If":
            op = _with_condition(op)
            _replace(op, _region_op(op, "tf.IfRegion", op.operands[:1], [
                _region(op, str(op.attribute(key)), op.operands[1:], ()) for key in ("then_branch", "else_branch")]))
        elif op.name == "tf.Case":
            _replace(op, _region_op(op, "tf.CaseRegion", op.operands[:1], [
                _region(op, str(branch), op.operands[1:], ()) for branch in op.attribute("branches")]))
        elif op.name == "tf.While":
            _replace(op, _region_op(op, "tf.WhileRegion", op.operands, [
                _region(op, str(op.attribute(key)), None, op.operands) for key in ("cond", "body")]))
        else:
            continue
        changed = True
    if changed:
        inline_calls(module)
    for op in list(module.walk()):
        if op.name == "tf.WhileRegion":
            changed |= _drop_invariants(op)
    return changed


def _with_condition(op: Op) -> Op:
    """A `tf.If` that is given its condition. TensorFlow's page on its dialects has another: `cond` names a function that gives
    the condition, of the operands that the branches `true_branch` and `false_branch` take, too."""
    condition = op.attributes.get("cond")
    if not isinstance(condition, Symbol) or op.parent is None:
        return op
    function = _module_of(op).functions.get(str(condition))
    given = [value.type for value in function.regions[0].block.terminator.operands] if function is not None else []
    call = op.parent.insert(Op("func.call", op.operands, given, {"callee": condition}, (), op.location), op)
    branches = {f"{now}_branch": op.attributes.get(f"{then}_branch") for now, then in (("then", "true"), ("else", "false"))}
    new = op.parent.insert(Op(
        "tf.If", [*call.results, *op.operands], [value.type for value in op.results], branches, (), op.location), op)
    op.replace_with(new.results)
    return new


def _call(symbol: str, operands: Sequence[Value], op: Op) -> Op:
    return Op("func.call", operands, [value.type for value in op.results], {"callee": Symbol(symbol)}, (), op.location)


def _replace(op: Op, new: Op) -> None:
    assert op.parent is not None
    op.parent.insert(new, op)
    op.replace_with(new.results)


def _region_op(op: Op, name: str, operands: Sequence[Value], regions: list[Region]) -> Op:
    kept: dict[str, Any] = {key: op.attributes[key] for key in ("is_stateless", "parallel_iterations") if key in op.attributes}
    return Op(name, operands, [value.type for value in op.results], kept, regions, op.location)


def _region(op: Op, symbol: str, captured: Sequence[Value] | None, state: Sequence[Value]) -> Region:
    """A region that calls a function: with values of outside, or with arguments of its own, of the types of a state."""
    block = Block([value.type for value in state])
    results = [value.type for value in op.results]
    if op.name == "tf.While" and symbol == str(op.attribute("cond")):
        function = _module_of(op).functions.get(symbol)
        results = [value.type for value in function.regions[0].block.terminator.operands] if function is not None else []
    call = block.append(Op(
        "func.call", block.arguments if captured is None else captured, results, {"callee": Symbol(symbol)}, (), op.location))
    block.append(Op("tf.Yield", call.results))
    return Region([block])


def _module_of(op: Op) -> Module:
    parent = op.parent_op
    while not isinstance(parent, Module):
        assert parent is not None
        parent = parent.parent_op
    return parent


def _drop_invariants(loop: Op) -> bool:
    """Let the regions of a loop see values that no step changes, instead of handing them on."""
    condition, body = (region.block for region in loop.regions)
    fixed = [
        i for i, (argument, value) in enumerate(zip(body.arguments, body.terminator.operands, strict=False)) if argument is value]
    if not fixed or not len(condition.arguments) == len(body.arguments) == len(loop.operands) == len(loop.results):
        return False
    given = loop.operands
    for i in fixed:
        for value in (condition.arguments[i], body.arguments[i], loop.results[i]):
            value.replace_all_uses_with(given[i])
    body.terminator.operands = tuple(v for i, v in enumerate(body.terminator.operands) if i not in fixed)
    for i in reversed(fixed):
        condition.erase_argument(i)
        body.erase_argument(i)
    kept = [i for i in range(len(given)) if i not in fixed]
    regions, loop.regions = loop.regions, []
    new = Op(
        loop.name, [given[i] for i in kept], [loop.results[i].type for i in kept], loop.attributes, regions, loop.location)
    assert loop.parent is not None
    loop.parent.insert(new, loop)
    for i, value in zip(kept, new.results, strict=True):
        loop.results[i].replace_all_uses_with(value)
    loop.erase()
    return True
