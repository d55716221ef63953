"""The dialect `aten`: one op an operator of PyTorch, declared from the signatures of `schemas`.

`torch.ops.aten.conv2d.default` is `aten.conv2d.default`; an operator of another library is `aten.LIBRARY.NAME.OVERLOAD`, as
`aten.quantized_decomposed.quantize_per_tensor.default`. Tensors are operands, in the order of the signature, everything else
is an
attribute of the name that the signature gives it; what a program leaves out is left out. An operator with two lists of tensors
says by `segments` how many each has. In-place operators are those without the underscore until the pass `aten-functionalize` has
put what they compute in the place of what they overwrite.

Besides the operators there are `aten.Constant` (weights, buffers, constants and numbers among tensors), `aten.NoValue` (a tensor
that is left out), `aten.Yield`, and `aten.higher_order.*`, whose graphs are regions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from transload.ir.core import Op, Value
from transload.ir.declare import (
    ANY,
    CONSTANT,
    INTS,
    LIST,
    STRING,
    TYPE,
    AttributeKind,
    Dialect,
    OpDeclaration,
    attribute,
    operand,
    region,
    result,
    variadic,
    variadic_result,
)
from transload.ir.forms import is_attribute
from transload.ir.open_ops import OpsOnDemand

from .schemas import Argument, Schema, overwriting, schema_of, schemas

__all__ = ["ATEN"]

def _written(op: Op) -> Iterator[Value]:
    """What an op that overwrites its first operand changes: that, what it views, and all that view the same."""
    pending, done = list(op.operands[:1]) if overwriting(op.name) is not None else [], set()
    while pending:
        value = pending.pop()
        if value in done:
            continue
        done.add(value)
        yield value
        pending += value.op.operands[:1] if value.op is not None and _is_view(value.op) else ()
        pending += [result for user in value.uses if user.operands[0] is value and _is_view(user) for result in user.results]


def _is_view(op: Op) -> bool:
    schema = schema_of(op.name)
    return schema is not None and schema.is_view


ATEN = Dialect("aten", __doc__, constant="aten.Constant", none="aten.NoValue", states=_written, custom=True)


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | str) and is_attribute(value)


NUMBER: AttributeKind[Any] = AttributeKind("number, or the text of one that is known only at run time", _is_number)
NUMBER_OR_TYPE: AttributeKind[Any] = AttributeKind(
    "number or element type", lambda value: _is_number(value) or TYPE.accepts(value))
NUMBERS: AttributeKind[Any] = AttributeKind(
    "numbers", lambda value: isinstance(value, tuple | list) and all(map(_is_number, value)) and is_attribute(value))
FLAG: AttributeKind[Any] = AttributeKind("true or false",
    lambda value: isinstance(value, bool | int | str) and is_attribute(value))
_KINDS: dict[str, AttributeKind[Any]] = {"str": STRING, "ScalarType": TYPE, "bool": FLAG}
_LINK = "https://docs.pytorch.org/docs/stable/torch.compiler_ir.html"


class _SchemaOps(OpsOnDemand):
    """Declarations by the operators' schemas, of those that overwrite, too."""

    def declare(self, name: str) -> OpDeclaration | None:
        if not name.startswith("aten."):
            return None
        schema = schema_of(name) or schema_of(overwriting(name) or name)
        return None if schema is None else _declare(name, schema)

    def listed(self) -> list[str]:
        return sorted({*dict.keys(self), *schemas()})


def _declare(name: str, schema: Schema) -> OpDeclaration:
    """The declaration of an operator: tensors as operands, the rest as attributes."""
    link = f"\n\nOne of the core operators of ATen: {_LINK}" if schema.core else ""
    members: dict[str, Any] = {"__doc__": f"`torch.ops.{schema.name}`.{link}"}
    tensors = [argument for argument in schema.arguments if argument.is_tensor]
    lists = [argument for argument in tensors if argument.many]
    if len(lists) > 1:
        members["tensors"] = variadic("the tensors of all arguments", ANY)
        members["segments"] = attribute(INTS, "how many tensors each of its arguments has", optional=True)
    for argument in schema.arguments:
        key = argument.name if argument.name not in ("name", "results", "operands", "attributes") else f"{argument.name}_"
        if not argument.is_tensor:
            members[key] = _attribute(argument)
        elif len(lists) == 1 and argument.many:
            members[key] = variadic("tensors", ANY)
        elif not lists or len(lists) == 1:
            members[key] = operand("a tensor", ANY, optional=argument.optional)
    members["outputs"] = variadic_result("what it computes", ANY)
    if len(_result_kinds(schema.results)) == 1 and "[]" not in schema.results:
        members["outputs"] = result("what it computes", ANY)
    if overwriting(name) is not None:
        members["traits"] = ("effects",)
    return OpDeclaration(name, type(schema.name, (), members))


def _result_kinds(text: str) -> list[str]:
    return [part for part in text.strip("()").split(",") if part.strip()]


def _attribute(argument: Argument) -> Any:
    if argument.kind in _KINDS and not argument.many:
        kind = _KINDS[argument.kind]
    elif argument.kind == "str":
        kind = LIST
    elif argument.name == "dtype":  # `to.prim_dtype` calls the type an int
        kind = NUMBER_OR_TYPE
    else:
        kind = NUMBERS if argument.many else NUMBER
    said = f"{argument.kind}{'[]' if argument.many else ''}"
    default = argument.default
    if default is not None and not kind.accepts(default):  # schemas say one number for all of a list, and types by their codes
        return attribute(kind, said, default=lambda op: default, optional=True)
    return attribute(kind, said, default=default, optional=True)


@ATEN.op("Constant")
class _Constant:
    """Numbers of the archive, looked at where they lie, or a number that a program gives where a tensor is due."""

    output = result("the tensor", ANY)
    value = attribute(CONSTANT, "the numbers")
    kind = attribute(STRING, "parameter, buffer or constant, as the program's signature says; number", default="number")
    traits = ("constant",)


@ATEN.op("NoValue")
class _NoValue:
    """Stands for a tensor that is left out."""

    output = result("nothing", ANY)


@ATEN.op("Yield")
class _Yield:
    """Ends the graph of a higher-order operator with what it gives."""

    values = variadic("the outputs of the graph", ANY)
    traits = ("terminator",)


def _higher_order(name: str, doc: str, regions: int) -> None:
    members: dict[str, Any] = {"__doc__": doc, "inputs": variadic("what the graphs are given", ANY),
                               "outputs": variadic_result("what it gives", ANY), "traits": ("open",)}
    for place in range(regions):
        members[f"graph{place}"] = region("one block that takes the operands and ends in aten.Yield")
    ATEN.op(f"higher_order.{name}")(type(name, (), members))


_higher_order("cond", "`torch.cond`: one of two graphs, by the first operand; both are given the others.", 2)
_higher_order("while_loop", "`torch.while_loop`: while the first graph says so, the second; `carried` operands are handed on.", 2)
_higher_order("map_impl", "`map`: the graph of each slice of the first `mapped` operands, along dimension 0.", 1)
_higher_order("scan", "`scan`: the graph of a state and of each slice of tensors, along dimension 0, with more operands.", 1)
_higher_order("wrap_with_set_grad_enabled", "The graph, run with or without gradients.", 1)
_higher_order("wrap_with_autocast", "The graph, run with or without automatic casts: results have the types that they had.", 1)

ATEN.ops = _SchemaOps(ATEN.ops)
