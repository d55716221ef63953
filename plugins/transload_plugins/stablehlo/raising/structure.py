"""What holds a program together: calls, tuples, composites and what is started are taken apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.budget import VARIABLE, budget
from transload.errors import ConversionError, Finding, Unsupported
from transload.ir import Module, Op, TensorType, TupleType, Value, location_names, update_function_type
from transload.ir.build import Builder
from transload.ir.regions import blocks_in
from transload.passes.inline import calls_itself, named_functions
from transload.rewrite import CHANGED, Rewriter, RewriteTable

from ..dialect.control import function_called
from ..types import TOKEN_TYPE
from .table import is_complex

if TYPE_CHECKING:
    from ..dialect.control import AsyncDone, AsyncStart, Composite

__all__ = ["TABLE", "check_borders", "entries", "fill_in_sizes", "flatten_tuples"]

TABLE = RewriteTable()


def entries(module: Module) -> list[Op]:
    """The functions that are run; not those that ops only name, as composites do their decompositions. All, where none is."""
    functions = list(module.functions.values())
    named = named_functions(module)
    return [
        function for function in functions
        if function.attribute("sym_visibility") != "private" and function.attributes["sym_name"] not in named] or functions


@TABLE("stablehlo.composite")
def composite(op: Composite, rw: Rewriter) -> Sequence[Value]:
    """The ops of its decomposition. A plugin that knows a composite by its name claims it before."""
    callee = function_called(op, op.decomposition)
    if callee is None or len(callee.regions[0].blocks) != 1:
        raise Unsupported(f"means @{op.decomposition}, which the module does not have")
    if isinstance(callee.parent_op, Module):
        _need_few(op.decomposition, callee.parent_op.functions, rw.scratch(_Sizes))
    rw.counts_itself()
    return rw.copied(callee.regions[0].block, op.operands)


class _Sizes(dict[str, int]):
    """By function: as how many ops it is copied, with those of the composites in it, and these themselves."""


def _need_few(name: str, functions: Mapping[str, Op], sizes: _Sizes) -> None:
    """Raise `Unsupported` where a decomposition would be copied as more ops than may be made.

    They are counted before one is made: functions that each mean the next twice double with every level. So do the composites
    in them, each of which is taken apart, also where the last function does nothing.
    """
    if sizes.get(name, math.inf) <= budget().ops:
        return
    if endless := calls_itself([name], functions):
        raise Unsupported(f"means @{name}, by which @{endless} calls itself", "write the recursion as a loop")
    inner: dict[str, list[str]] = {}
    own: dict[str, int] = {}
    pending = [name]
    while pending:
        each = pending.pop()
        if each not in inner and each in functions:
            ops = list(functions[each].walk())
            inner[each] = [str(op.attribute("decomposition")) for op in ops if op.name == "stablehlo.composite"]
            own[each] = len(ops) - 2  # without the function itself and what returns
            pending += inner[each]
    for each in TopologicalSorter(inner).static_order():
        sizes[each] = own.get(each, 0) + sum(sizes[callee] for callee in inner.get(each, ()))
    most = budget().ops
    if sizes[name] > most:
        wanted = 4 * max(sizes[name], budget().most_ops)
        raise Unsupported(f"means @{name}, which would be taken apart into {sizes[name]:,} ops, and {most:,} may be made",
                          f"let functions mean fewer others; {VARIABLE}=ops={wanted} allows more")


@TABLE("stablehlo.async_start")
def async_start(op: AsyncStart, rw: Rewriter) -> Any:
    """What it starts, computed at once, for those that wait for it."""
    waiting = list(op.future.uses)
    if any(user.name != "stablehlo.async_done" for user in waiting):
        raise Unsupported("starts what is not waited for in the same function", "wait for it where it is started")
    computed = rw.copied(op.body.block, op.operands)
    for user in waiting:
        user.replace_with(computed)
    op.erase()
    return CHANGED


@TABLE("stablehlo.async_done")
def async_done(op: AsyncDone, rw: Rewriter) -> Any:
    """What is waited for is started elsewhere: else it would be gone with that."""
    raise Unsupported("waits for what is started outside of the function", "start it where it is waited for")


# --- tuples

def flatten_tuples(module: Module) -> bool:
    """Make values of their own of what tuples hold: in the functions' arguments and results, and inside."""
    changed = any(
        isinstance(value.type, TupleType)
        for block in blocks_in(module) for value in (*block.arguments, *(result for op in block for result in op.results)))
    for function in module.functions.values():
        if not function.regions[0].blocks:
            continue
        block = function.regions[0].block
        _flatten_arguments(function)
        for op in [op for op in function.walk() if op.name == "stablehlo.get_tuple_element"]:
            maker = op.operands[0].op
            if maker is not None and maker.name == "stablehlo.tuple":
                op.replace_with([maker.operands[op.attributes["index"]]])
        last = block.terminator
        if any(isinstance(value.type, TupleType) for value in last.operands):
            flat: list[Value] = []
            for value in last.operands:
                flat.extend(_members(value))
            last.operands = tuple(flat)
            function.attributes.pop("res_attrs", None)
        for op in reversed([op for op in function.walk() if op.name == "stablehlo.tuple"]):
            if not op.results[0].uses:
                op.erase()
        update_function_type(function)
    return changed


def _members(value: Value) -> list[Value]:
    maker = value.op
    if maker is None or maker.name != "stablehlo.tuple":
        return [value]
    return [member for operand in maker.operands for member in _members(operand)]


def _flatten_arguments(function: Op) -> None:
    """An argument for each tensor in a tuple; inside, a tuple of them, which what takes it apart sees."""
    block = function.regions[0].block
    index = 0
    while index < len(block.arguments):
        argument = block.arguments[index]
        if not isinstance(argument.type, TupleType):
            index += 1
            continue
        types = list(argument.type.types)
        added = [block.add_argument(type_, argument.location) for type_ in types]
        made = block.insert(Op("stablehlo.tuple", added, [argument.type], location=argument.location), block.first)
        argument.replace_all_uses_with(made.results[0])
        # the new arguments stand where the tuple stood
        block.arguments[index:] = [*added, *(a for a in block.arguments[index + 1 :] if a not in added)]
        for place, value in enumerate(block.arguments):
            value.index = place
        function.attributes.pop("arg_attrs", None)


# --- sizes

def fill_in_sizes(module: Module) -> bool:
    """Replace `get_dimension_size` of sizes that types say: nothing hangs on the tensor itself then."""
    changed = False
    for op in [op for op in module.walk() if op.name == "stablehlo.get_dimension_size"]:
        size = op.operands[0].shape[op.dimension]
        if size is not None:
            if op.parent is None:
                continue
            builder = Builder(op.parent, op)
            op.replace_with([builder.constant(np.array(size, np.int32), dialect="stablehlo", location=op.location)])
            changed = True
    return changed


# --- what cannot pass the border of a function

def check_borders(module: Module) -> bool:
    """`ConversionError` where a function takes or gives what the hub has no type for."""
    findings: list[Finding] = []
    for function in entries(module):
        if not function.regions[0].blocks:
            continue
        name, block = function.attributes["sym_name"], function.regions[0].block
        for what, values in (("argument", block.arguments), ("result", block.terminator.operands)):
            for index, value in enumerate(values):
                why = _refused(value)
                if why:
                    names = tuple(location_names(value.location))[:1]
                    findings.append(Finding(f"{what} {index} of @{name}", *why[:1], names, why[1]))
    if findings:
        raise ConversionError("the program's arguments or results cannot be converted from 'stablehlo'", findings)
    return False


def _refused(value: Value) -> tuple[str, str] | None:
    if is_complex(value):
        return f"is {value.type}, of complex numbers", "pass real and imaginary parts as tensors of their own"
    if value.type == TOKEN_TYPE:
        return "is a token, which orders effects outside of the program", "leave the effects out of what is exported"
    if not isinstance(value.type, TensorType):
        return f"is {value.type}, not a tensor", "pass tensors"
    return None
