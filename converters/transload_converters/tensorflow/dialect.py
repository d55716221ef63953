"""The `tf` dialect: one op an op of TensorFlow's registry, declared from what that says (`opdefs`).

Names of ops, operands, results and attributes are TensorFlow's, `tf.Conv2D`; so are defaults and the types that are allowed.
Attributes that operands and results tell (`T`, `N`, `dtype`) may be there or not. The dialect is open: an op that is not in the
registry is legal, and any op may have attributes that it does not declare, as TensorFlow's tools add some.

A declaration is made when it is first asked for, as a model has few of the 1,900 ops. Listed are those that networks consist
of (`listed`): the reference page and `transload coverage` show these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from transload.ir import DialectType, FloatAttr, Op, OpaqueAttr, QuantType, TensorType, Type, Value
from transload.ir.declare import (
    ANY,
    BOOLEAN,
    CONSTANT,
    FLOAT32,
    INT,
    LIST,
    STRING,
    SYMBOL,
    TYPE,
    AttributeKind,
    Dialect,
    OpDeclaration,
    TypeConstraint,
    attribute,
    constraint,
    enum,
    operand,
    result,
    variadic,
    variadic_result,
)
from transload.ir.open_ops import OpsOnDemand
from transload.ir.states import by_handles

from .dialect_control import CONTROL
from .opdefs import Argument, AttributeDef, OpDef, definition
from .types import RESOURCE, UNKNOWN, element_named, is_reference, referred, shape_attribute

__all__ = ["TF", "listed"]

_SHAPE: AttributeKind[Any] = AttributeKind("shape", lambda v: isinstance(v, OpaqueAttr))
_KINDS: dict[str, AttributeKind[Any]] = {
    "int": INT, "float": FLOAT32, "bool": BOOLEAN, "string": STRING, "type": TYPE, "shape": _SHAPE, "tensor": CONSTANT,
    "func": SYMBOL,
}


@cache
def _kind_of(name: str, minimum: int | None, allowed: tuple[str, ...]) -> AttributeKind[Any]:
    """What an attribute holds, by its kind in the registry; numbers, and lengths of lists, from `minimum` on."""
    if name.startswith("list("):
        inner = _KINDS[name[5:-1]]
        return AttributeKind(
            f"list of {inner}" + (f", {minimum} or more" if minimum else ""),
            lambda v: isinstance(v, list | tuple) and len(v) >= (minimum or 0) and all(map(inner.accepts, v)))
    if name == "string" and allowed:
        return enum(*allowed)
    plain = _KINDS[name]
    if minimum is None:
        return plain
    return AttributeKind(f"{plain}, {minimum} or more", lambda v: plain.accepts(v) and v >= minimum, plain.wrap, plain.unwrap,
                         plain.text_type)

_RANDOM = frozenset({
    "RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal", "ParameterizedTruncatedNormal", "Multinomial",
    "RandomShuffle", "RandomGamma", "RandomPoisson", "RandomPoissonV2", "RandomCrop", "SampleDistortedBoundingBox",
    "SampleDistortedBoundingBoxV2"})
"""Stateful for the numbers they draw alone: they may go where nobody uses these."""
_PURE = frozenset({"CudnnRNN", "CudnnRNNV2", "CudnnRNNV3", "PlaceholderWithDefault", "Placeholder", "Empty"})
"""Called stateful in the registry, and without any effect that a model's results show."""

_TOLD_BY_VARIANT = frozenset({"element_dtype"})
"""Attributes that TensorFlow's own MLIR leaves out, as the type of a variant says them: `variant<tensor<4xf32>>`."""

_CONSTANT = "tf.Const"


class _RegistryOps(OpsOnDemand):
    """Declarations by TensorFlow's registry; gone through, they are those of the listed operators."""

    def declare(self, name: str) -> OpDeclaration | None:
        known = definition(name[3:]) if name.startswith("tf.") else None
        return None if known is None else _declare(name, known)

    def listed(self) -> list[str]:
        return [f"tf.{name}" for name in listed()]


def _is_handle(value: Value) -> bool:
    """Whether it is a resource, or a reference to a variable of TensorFlow 1."""
    element = getattr(value.type, "element", value.type)
    return referred(element) == RESOURCE or is_reference(element)


def _state(op: Op) -> tuple[str, ...] | None:
    """What is one resource in all graphs: what says a name."""
    name = op.attributes.get("shared_name")
    return ("tf", str(op.attributes.get("container", "")), name) if isinstance(name, str) and name else None


TF = Dialect("tf", __doc__, constant=_CONSTANT, properties=False, states=by_handles(_is_handle, _state), custom=True)


@TF.op("Const")
class Const:
    """A constant tensor; one of texts has them in `value_strings`, in row-major order."""

    output = result("the tensor", ANY)
    value = attribute(CONSTANT, "the numbers; of quantized types, those that are stored", optional=True)
    value_strings = attribute(LIST, "the texts", optional=True)
    dtype = attribute(TYPE, "the element type", optional=True)
    traits = ("constant", "open")


TF.extend(CONTROL.ops.values())
TF.ops = _RegistryOps(TF.ops)


# --- from the registry to declarations

def _declare(name: str, known: OpDef) -> OpDeclaration:
    members: dict[str, Any] = {"__doc__": f"TensorFlow's op {known.name}, as its registry declares it."}
    members |= _slots(known, known.inputs, operand, variadic)
    members |= _slots(known, known.outputs, result, variadic_result)
    for key, declared in known.attributes.items():
        member = key if key not in members else f"{key}_attr_"
        members.setdefault(member, _attribute(declared, known))
    if _shared(known):
        members["one_type_each"] = constraint(_one_type_each(known))
    if _counted(known):
        members["as_many"] = constraint(_as_many(known))
    effects = known.stateful and known.name not in _PURE
    members["traits"] = ("open", *(("random",) if known.name in _RANDOM else ("effects",) if effects else ()))
    return OpDeclaration(name, type(known.name, (), members))


def _slots(known: OpDef, arguments: Sequence[Argument], one: Callable[..., Any], many: Callable[..., Any]) -> dict[str, Any]:
    """The members for operands or results. Where several have any number of tensors, one member holds all from the first on."""
    is_many = [bool(argument.number_attr or argument.type_list_attr) for argument in arguments]
    if sum(is_many) > 1:
        first = is_many.index(True)
        slots = {argument.name: one(type=_accepted(known, argument)) for argument in arguments[:first]}
        return slots | {arguments[first].name: many(type=ANY)}
    return {
        argument.name: (many if any_number else one)(type=_accepted(known, argument))
        for argument, any_number in zip(arguments, is_many, strict=True)}


def _accepted(known: OpDef, argument: Argument) -> TypeConstraint:
    """The types that an operand or result may have: tensors of some element types."""
    if argument.type:
        return _tensors((argument.type,))
    declared = known.attributes.get(argument.type_attr or argument.type_list_attr)
    return _tensors(declared.allowed) if declared is not None and declared.allowed else ANY


@cache
def _tensors(element_names: tuple[str, ...]) -> TypeConstraint:
    elements = frozenset(element_named(name) for name in element_names)

    def accepts(type_: Type) -> bool:
        element = type_.element if isinstance(type_, TensorType) else type_  # a number stands for a tensor of rank 0
        return referred(element) in elements or element == UNKNOWN or isinstance(element, QuantType)

    return TypeConstraint("a tensor of " + " or ".join(element_names), accepts)


def _shared(known: OpDef) -> dict[str, list[Argument]]:
    """The type attributes that more than one tensor has, with these."""
    found: dict[str, list[Argument]] = {}
    for argument in (*known.inputs, *known.outputs):
        if argument.type_attr:
            found.setdefault(argument.type_attr, []).append(argument)
    return {key: group for key, group in found.items() if len(group) > 1 or group[0].number_attr}


def _one_type_each(known: OpDef) -> Callable[[Op], bool | str]:
    shared = {argument.name: key for key, group in _shared(known).items() for argument in group}
    several = any(sum(bool(each.number_attr or each.type_list_attr) for each in group) > 1
                  for group in (known.inputs, known.outputs))

    def one_type_each(op: Op) -> bool | str:
        """tensors that share a type attribute have one element type"""
        if several:
            return True
        seen: dict[str, Type] = {}
        for argument in (*known.inputs, *known.outputs):
            key = shared.get(argument.name)
            held = op.declaration.getters[argument.name](op) if key is not None and op.declaration is not None else None
            for value in held if isinstance(held, tuple) else (held,):
                element = _plain_element(value.type) if value is not None else None
                if key is not None and element is not None and seen.setdefault(key, element) != element:
                    return f"{key} is {seen[key]} and {element}"
        return True

    return one_type_each


def _counted(known: OpDef) -> dict[str, list[Argument]]:
    """The attributes that say how many tensors there are, with those; none where several lie in one member."""
    if any(sum(bool(each.number_attr or each.type_list_attr) for each in group) > 1 for group in (known.inputs, known.outputs)):
        return {}
    found: dict[str, list[Argument]] = {}
    for argument in (*known.inputs, *known.outputs):
        if argument.number_attr or argument.type_list_attr:
            found.setdefault(argument.number_attr or argument.type_list_attr, []).append(argument)
    return found


def _as_many(known: OpDef) -> Callable[[Op], bool | str]:
    groups = [(key, known.attributes[key].minimum or 0, group) for key, group in _counted(known).items()]

    def as_many(op: Op) -> bool | str:
        """of tensors that one attribute counts there are as many in operands and results, and not fewer than it allows"""
        for key, least, group in groups:
            counts = [len(op.declaration.getters[each.name](op)) for each in group] if op.declaration is not None else []
            if counts and (min(counts) < least or len(set(counts)) > 1):
                return f"{key} would be {' and '.join(map(str, counts))}, and must be one number, {least} or more"
        return True

    return as_many


def _plain_element(type_: Type) -> Type | None:
    """The element type, of a reference that which it refers to; None where it is unknown, or a quantized one."""
    held = type_.element if isinstance(type_, TensorType) else type_
    if held == UNKNOWN or isinstance(held, QuantType):
        return None
    element = referred(held)
    return None if isinstance(element, DialectType) and element.text.startswith(("tf_type.q",)) else element


def _attribute(declared: AttributeDef, known: OpDef) -> Any:
    """An attribute as the registry has it: kind, allowed values, default. Of ops with a state none is required."""
    derived = declared.name in known.derived
    kind = _kind_of(declared.kind, declared.minimum, declared.allowed)
    if declared.has_default and not derived:
        default = _default(declared)
        if default is not None:
            return attribute(kind, default=default)
    needed = not (derived or declared.has_default or known.stateful or declared.name in _TOLD_BY_VARIANT)
    return attribute(kind) if needed else attribute(kind, optional=True)


def _default(declared: AttributeDef) -> Any:
    """The default as the IR holds such an attribute; None where it is an unknown shape, or a tensor."""
    value, kind = declared.default, declared.kind
    if kind == "float":
        return FloatAttr(float(value), FLOAT32.wrap(0.0).type) if FLOAT32.wrap is not None else float(value)
    if kind == "type":
        return element_named(value)
    if kind == "shape":
        return None if value is None else shape_attribute(tuple(value))
    if kind == "list(type)":
        return [element_named(name) for name in value]
    if kind == "list(shape)":
        return [shape_attribute(None if sizes is None else tuple(sizes)) for sizes in value]
    return list(value) if kind.startswith("list(") else None if kind in ("tensor", "func") else value


# --- which are shown

@cache
def listed() -> tuple[str, ...]:
    """The ops that networks consist of, sorted: those that conversions know by name, and constants."""
    from .legalize import TABLE

    known = {name.removeprefix("tf.") for name in TABLE.functions}
    return tuple(sorted(name for name in known | {"Const"} if definition(name) is not None))

