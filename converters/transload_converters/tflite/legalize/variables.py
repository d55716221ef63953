"""Resource variables (VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE), with the values that CALL_ONCE gives them first.

A compiled model has no memory between runs: what a run assigns is seen by the rest of that run, and the next
one starts with the first values again, as with the state of recurrent operators.

Source: `tensorflow/lite/kernels/read_variable.cc`, `assign_variable.cc`, `call_once.cc`.
"""

from __future__ import annotations

from transload.errors import Unsupported
from transload.ir import Module, Op, Value
from transload.rewrite import Rewriter, RewriteTable

__all__ = ["TABLE", "resolve_variables"]

TABLE = RewriteTable()

_STATEFUL = frozenset(
    {"tfl.var_handle", "tfl.read_variable", "tfl.random_uniform", "tfl.random_standard_normal", "tfl.multinomial"})
"""Ops whose results do not follow from their operands."""


def resolve_variables(module: Module) -> None:
    """Replace reads of variables by what they hold there, and erase assignments, in every function."""
    first = _first_values(module)
    for function in module.functions.values():
        if not any(op.name == "tfl.assign_variable" for op in function.walk()) and not first:
            continue
        _resolve(function, first)


def _name_of(handle: Value) -> tuple[str, str] | None:
    """By which a variable is known in all subgraphs; None where the handle comes from elsewhere."""
    op = handle.op
    return (op.attribute("container"), op.attribute("shared_name")) if op is not None and op.name == "tfl.var_handle" else None


def _first_values(module: Module) -> dict[tuple[str, str], Value]:
    """What the subgraphs that CALL_ONCE runs assign, by variable: constants, and what is computed of them alone."""
    values: dict[tuple[str, str], Value] = {}
    for call in [op for op in module.walk() if op.name == "tfl.call_once"]:
        function = module.functions.get(call.attribute("session_init_function"))
        for op in function.walk() if function is not None else ():
            if op.name == "tfl.assign_variable":
                name = _name_of(op.operands[0])
                if name is not None and _makers(op.operands[1]) is not None:
                    values[name] = op.operands[1]
    return values


def _makers(value: Value) -> list[Op] | None:
    """The ops that compute a value, in the order of their block; None where it does not follow from constants alone."""
    makers: set[Op] = set()
    pending = [value]
    while pending:
        maker = pending.pop().op
        if maker is None or maker.regions or maker.name in _STATEFUL:
            return None
        if maker not in makers:
            makers.add(maker)
            pending.extend(maker.operands)
    block = value.op.parent  # type: ignore[union-attr]
    return [op for op in block if op in makers]  # type: ignore[union-attr]


def _copied(value: Value, before: Op) -> Value:
    """A first value, computed anew before an op of another function."""
    mapping: dict[Value, Value] = {}
    for maker in _makers(value) or ():
        before.parent.insert(maker.clone(mapping), before)  # type: ignore[union-attr]
    return mapping[value]


def _resolve(function: Op, first: dict[tuple[str, str], Value]) -> None:
    """Follow the variables through a function's block, in order."""
    block = function.regions[0].block
    held: dict[tuple[str, str], Value] = {}
    for op in block:
        if op.name not in ("tfl.read_variable", "tfl.assign_variable"):
            continue
        name = _name_of(op.operands[0])
        if name is None:
            continue
        if op.name == "tfl.assign_variable":
            held[name] = op.operands[1]
            op.erase()
            continue
        value = held.get(name)
        if value is None and name in first:
            value = held[name] = _copied(first[name], op)
        if value is not None:
            op.replace_with([value])


@TABLE("tfl.var_handle", "tfl.call_once")
def handle(op: Op, rw: Rewriter) -> list[Value]:
    """VAR_HANDLE, CALL_ONCE: nothing is left to do once no operator reads the variable."""
    if any(result.uses for result in op.results):
        users = ", ".join(sorted({user.name for result in op.results for user in result.uses}))
        raise Unsupported(f"the variable is used by {users} in a way that cannot be followed")
    return [rw.none("top") for _ in op.results]


@TABLE("tfl.read_variable", "tfl.assign_variable")
def unresolved(op: Op, rw: Rewriter) -> None:
    """READ_VARIABLE, ASSIGN_VARIABLE that could not be followed."""
    raise Unsupported(
        "the variable's value cannot be followed: it has no constant first value, or is used inside a subgraph",
        "export the model with its state as inputs and outputs")
