"""Resource variables (VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE), with the values that CALL_ONCE gives them first.

A compiled model has no memory between runs: what a run assigns is seen by the rest of that run, and the next
one starts with the first values again, as with the state of recurrent operators. By the option `state=explicit` a
variable that is read before it is assigned becomes an input and an output instead (see `state`).

Source: `tensorflow/lite/kernels/read_variable.cc`, `assign_variable.cc`, `call_once.cc`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from transload.conversion import rewriting_of
from transload.errors import ConversionError, Finding, Unsupported
from transload.ir import (
    Dense,
    Module,
    Op,
    QuantType,
    SplatData,
    TensorType,
    Type,
    Value,
    add_state,
    dtype_of,
    new_module,
    set_results,
)
from transload.ir.build import constant_of
from transload.plugin_host import host
from transload.rewrite import Rewriter, RewriteTable

__all__ = ["TABLE", "resolve_variables"]

TABLE = RewriteTable()

Name = tuple[str, str]
"""By which a variable is known in all subgraphs: its container and its name there."""

_STATEFUL = frozenset(
    {"tfl.var_handle", "tfl.read_variable", "tfl.random_uniform", "tfl.random_standard_normal", "tfl.multinomial"})
"""Ops whose results do not follow from their operands."""


def resolve_variables(module: Module, state: Literal["zero", "explicit"] = "zero") -> bool:
    """Replace reads of variables by what they hold there, and erase assignments, in every function.

    With `state="explicit"`, variables that the main function reads first and assigns then become inputs and outputs of it.
    What they hold at first is computed by converting it.
    """
    names = {op.name for op in module.walk()}
    if not names & {"tfl.read_variable", "tfl.assign_variable", "tfl.call_once"}:
        return False
    changed = bool(names & {"tfl.read_variable", "tfl.assign_variable"})
    first = _first_values(module)
    states = _expose(module, first) if state == "explicit" else {}
    for function in module.functions.values():
        if not any(op.name == "tfl.assign_variable" for op in function.walk()) and not first:
            continue
        main = function is module.main
        held = _resolve(function, first, {name: value for name, (value, _) in states.items()} if main else {})
        if main:
            terminator = function.regions[0].block.terminator
            for name, (_, number) in states.items():
                terminator.set_operand(number, held[name])
    return changed


def _expose(module: Module, first: Mapping[Name, Value]) -> dict[Name, tuple[Value, int]]:
    """An input and an output for each variable whose value lives on: the input's value, and the output's number."""
    read: dict[Name, Op] = {}
    assigned: set[Name] = set()
    for op in module.body_of_main:
        name = _name_of(op.operands[0]) if op.name in ("tfl.read_variable", "tfl.assign_variable") else None
        if name is None:
            continue
        if op.name == "tfl.assign_variable":
            assigned.add(name)
        elif name not in assigned:
            read.setdefault(name, op)
    states = {}
    for name, op in read.items():
        if name in assigned:
            type_ = first[name].type if name in first else op.results[0].type
            states[name] = add_state(module, name[1] or op.origin or "variable", type_, _number_of(first.get(name), type_))
    return states


def _number_of(value: Value | None, type_: Type) -> Dense:
    """What a variable holds at first: what was assigned to it, or zeros where nothing was."""
    if not isinstance(type_, TensorType) or not type_.is_static:
        raise ConversionError(
            "the state of the model cannot be made explicit",
            [Finding("tfl.var_handle", f"the variable has the type {type_}, without a static shape", (), "use state=zero")])
    if value is None:
        element = type_.element
        storage = element.storage if isinstance(element, QuantType) else element
        zero = element.zero_points[0] if isinstance(element, QuantType) else 0
        shape: Any = type_.shape
        return Dense(SplatData(zero, shape, dtype_of(storage)), TensorType(shape, storage))
    alone = new_module()
    function = alone.add_function("main", ())
    mapping: dict[Value, Value] = {}
    for maker in _makers(value) or ():
        function.regions[0].block.append(maker.clone(mapping))
    terminator = set_results(function, [mapping[value]])
    rewriting_of(host().get("conversions", "tfl-to-top"), alone).convert(alone)
    dense = constant_of(terminator.operands[0])
    if dense is None:
        raise ConversionError(
            "the state of the model cannot be made explicit",
            [Finding("tfl.assign_variable", "the variable's first value is found only at run time", (), "use state=zero")])
    return dense


def _name_of(handle: Value) -> Name | None:
    """By which a variable is known in all subgraphs; None where the handle comes from elsewhere."""
    op = handle.op
    return (op.attribute("container"), op.attribute("shared_name")) if op is not None and op.name == "tfl.var_handle" else None


def _first_values(module: Module) -> dict[Name, Value]:
    """What the subgraphs that CALL_ONCE runs assign, by variable: constants, and what is computed of them alone."""
    values: dict[Name, Value] = {}
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


def _resolve(function: Op, first: Mapping[Name, Value], held: dict[Name, Value]) -> dict[Name, Value]:
    """Follow the variables through a function's block, in order, from what they hold there; what they hold at its end."""
    block = function.regions[0].block
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
            _check_read(op, value)
            op.replace_with([value])
    return held


def _check_read(op: Op, value: Value) -> None:
    """Refuse a read whose result the file declares with other sizes than the variable has: LiteRT's kernel keeps those."""
    declared, held = op.results[0].known_shape, value.known_shape
    if declared is not None and held is not None and declared != held:
        raise ConversionError("the file contradicts itself", [Finding(
            "tfl.read_variable", f"its result has the shape {list(declared)}, and the variable {list(held)}",
            tuple(filter(None, [op.origin])), "export the model anew: LiteRT copies the variable into a tensor of those sizes")])


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
        "make it an input and an output with the option state=explicit, or export the model that way")
