"""The `onnx` dialect: one op an operator, declared from the schemas that the `onnx` package carries.

An operator `Conv` of ONNX's own domain is `onnx.Conv`; `QLinearAdd` of domain `com.microsoft` is
`onnx.com.microsoft.QLinearAdd`, with the domain as attribute `domain` too. A declaration holds for all
opset versions from 7 on: an operand or attribute is required where every version requires it. Which
version a model means is in the module's attribute `onnx.opset`.

Besides the operators there are `onnx.Constant` (initializers too), `onnx.NoValue` (an operand that is
left out) and `onnx.Yield` (the end of a branch or loop body).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from transload.errors import UsageError
from transload.ir.declare import (
    ANY,
    CONSTANT,
    FLOAT,
    FLOATS,
    INT,
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
from transload.ir.open_ops import OpsOnDemand

__all__ = ["FIRST_OPSET", "ONNX", "default_of", "op_name", "region_names", "schema_of"]

FIRST_OPSET = 7
"""The oldest opset whose operators are read; in 7 elementwise operators took up numpy's broadcasting."""

_LINK = "https://onnx.ai/onnx/operators/onnx__{}.html"


def op_name(domain: str, op_type: str) -> str:
    """The op's name in the IR. Characters that MLIR does not allow in a name become `_`."""
    name = op_type if domain in ("", "ai.onnx") else f"{domain}.{op_type}"
    return "onnx." + "".join(c if c.isascii() and (c.isalnum() or c in "._$") else "_" for c in name)


def schema_of(op_type: str, version: int, domain: str = "") -> Any:
    """The schema in force at an opset version, or None."""
    found = [schema for schema in _schemas().get(op_name(domain, op_type), ()) if schema.since_version <= version]
    return found[-1] if found else None


@cache
def _schemas() -> dict[str, list[Any]]:
    """All schemas of each op that are in force at some opset from `FIRST_OPSET` on, the oldest first."""
    try:
        from onnx import defs
    except ImportError:
        raise UsageError(
            "the operators of ONNX are declared by the package 'onnx', which is not installed",
            hint="pip install 'transload[onnx]'") from None
    history: dict[str, list[Any]] = {}
    for schema in defs.get_all_schemas_with_history():
        graphs = region_names(schema)
        if any(not schema.attributes[key].required for key in graphs):
            continue  # an op with a subgraph or without: a declaration cannot say that
        history.setdefault(op_name(schema.domain, schema.name), []).append(schema)
    for name, schemas in history.items():
        schemas.sort(key=lambda schema: schema.since_version)
        if not schemas[0].domain:
            first = max((i for i, schema in enumerate(schemas) if schema.since_version <= FIRST_OPSET), default=0)
            history[name] = schemas[first:]
    return history


class _SchemaOps(OpsOnDemand):
    """Declarations by the schemas of ONNX."""

    def declare(self, name: str) -> OpDeclaration | None:
        return _declare(name, _schemas()[name]) if name in _schemas() else None

    def listed(self) -> list[str]:
        return sorted({*dict.keys(self), *_schemas()})


ONNX = Dialect("onnx", __doc__, constant="onnx.Constant", none="onnx.NoValue", custom=True)


@ONNX.op("Constant")
class _Constant:
    """A constant tensor: an initializer, or the operator Constant, whatever attribute held its value.

    https://onnx.ai/onnx/operators/onnx__Constant.html
    """

    output = result("the tensor", ANY)
    value = attribute(CONSTANT, "the numbers", optional=True)
    value_strings = attribute(LIST, "the texts, of a tensor of strings", optional=True)
    traits = ("constant",)


@ONNX.op("NoValue")
class _NoValue:
    """Stands for an optional operand that is left out (an empty name in the file)."""

    output = result("nothing", ANY)


@ONNX.op("Yield")
class _Yield:
    """Ends a branch or the body of a loop with its results."""

    values = variadic("the outputs of the subgraph", ANY)
    traits = ("terminator",)


ONNX.ops = _SchemaOps(ONNX.ops)

# --- from schemas to declarations


def _declare(name: str, schemas: list[Any]) -> OpDeclaration:
    newest = schemas[-1]
    versions = ", ".join(str(schema.since_version) for schema in schemas)
    link = _LINK.format(newest.name) if not newest.domain else f"https://onnx.ai/onnx/operators/ (domain {newest.domain})"
    members: dict[str, Any] = {"__doc__": f"ONNX operator {newest.name}, opset versions {versions}.\n\n{link}"}
    attributes = _attributes(schemas)
    if newest.domain:
        attributes["domain"] = attribute(STRING, optional=True)  # which the reader notes
    for index, formal in enumerate(newest.inputs):
        optional = any(index >= len(s.inputs) or index >= s.min_input or _is(s.inputs[index], "Optional") for s in schemas)
        many = _is(formal, "Variadic")
        _add(members, attributes, formal.name, "operand", variadic(type=ANY) if many else operand(type=ANY, optional=optional))
    for index, formal in enumerate(newest.outputs):
        # Outputs that a model leaves out at the end are not there at all, so optional ones are declared as variadic.
        if _is(formal, "Variadic") or index >= min(s.min_output for s in schemas):
            _add(members, attributes, formal.name, "result", variadic_result(type=ANY))
            break
        _add(members, attributes, formal.name, "result", result(type=ANY))
    for key in region_names(newest):
        members[key] = region("a subgraph")
    members.update(attributes)
    return OpDeclaration(name, type(newest.name, (), members))


def _add(members: dict[str, Any], attributes: dict[str, Any], name: str, kind: str, member: Any) -> None:
    """Enter an operand or result; where an attribute or another member has its name, it is told apart by its kind."""
    members[f"{name}_{kind}" if name in attributes or name in members else name] = member


def _is(formal: Any, option: str) -> bool:
    return formal.option.name == option


def region_names(schema: Any) -> list[str]:
    """The attributes of an operator that hold subgraphs, in the order in which its op has them as regions."""
    names = [key for key, declared in schema.attributes.items() if declared.type.name in ("GRAPH", "GRAPHS")]
    return sorted(names, reverse=True)  # then_branch before else_branch


_KINDS: dict[str, AttributeKind] = {
    "FLOAT": FLOAT, "INT": INT, "STRING": STRING, "TENSOR": CONSTANT, "SPARSE_TENSOR": CONSTANT, "FLOATS": FLOATS, "INTS": INTS,
    "STRINGS": LIST, "TENSORS": LIST, "TYPE_PROTO": TYPE, "TYPE_PROTOS": LIST,
}


def _attributes(schemas: list[Any]) -> dict[str, Any]:
    """The attributes of all versions: required where all require it, with a default where all have the same."""
    declared: dict[str, Any] = {}
    for name in {key: None for schema in reversed(schemas) for key in schema.attributes}:
        versions = [schema.attributes.get(name) for schema in schemas]
        newest = next(version for version in reversed(versions) if version is not None)
        kind = _KINDS.get(newest.type.name)
        if kind is None:
            continue  # a subgraph: a region
        if all(version is not None and version.required for version in versions):
            declared[name] = attribute(kind)
            continue
        defaults = [None if version is None else default_of(version) for version in versions]
        same = all(default == defaults[0] for default in defaults)
        declared[name] = attribute(kind, default=defaults[0] if same else None, optional=True)
    return declared


def default_of(declared: Any) -> Any:
    """An attribute's default as a plain Python value; None where there is none."""
    from onnx import helper

    proto = declared.default_value
    if not proto.type:
        return None
    value = helper.get_attribute_value(proto)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return [each.decode() for each in value if isinstance(each, bytes)] or tuple(value)
    return value if isinstance(value, int | float) else None
