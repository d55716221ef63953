"""The dialect `caffe`: one op a type of layer, `caffe.Convolution`.

Declarations are made from two sources: operands, results and meaning from `signatures`, attributes from the messages of
`caffe.proto`, under the names that a .prototxt has. A message within the parameters (`nms_param`) is not an attribute; its fields
are. An enumeration is held as its member's name. Operands are the layer's bottoms and, behind them, its blobs.

`caffe.Blob` holds weights. A layer of a type that is not declared is an op all the same, with everything that a .prototxt says of
it as attributes, so that a plugin can convert it; a layer in Python is `caffe.python.<Class>`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transload.errors import UsageError
from transload.ir import F32, Op, TensorType, Type
from transload.ir.declare import (
    ANY,
    BOOLEAN,
    CONSTANT,
    FLOAT,
    FLOATS,
    INT,
    INTS,
    STRING,
    AttributeKind,
    Dialect,
    OpDeclaration,
    attribute,
    enum,
    operand,
    result,
    variadic,
    variadic_result,
)

from .geometry import fail
from .shapes import RULES
from .signatures import SIGNATURES

__all__ = ["CAFFE", "PYTHON", "Signature", "attributes_of", "infer_types", "signature_of"]

PYTHON = "caffe.python."
"""Before the class's name, of layers in Python."""

CAFFE = Dialect("caffe", __doc__ or "", constant="caffe.Blob", none="caffe.NoValue", custom=True)


@CAFFE.op("Blob")
class Blob:
    """A constant: a layer's weights, viewed in the mapped file."""

    output = result("the tensor")
    value = attribute(CONSTANT, "the numbers")
    traits = ("constant",)


@CAFFE.op("NoValue")
class NoValue:
    """Stands for a bottom or blob that a layer does not have."""

    output = result("nothing", ANY)


class Signature:
    """What a line of `SIGNATURES` says: `bottoms`, `blobs` and `results` as words like `bias?`, `parameters`, and the meaning."""

    def __init__(self, line: str) -> None:
        head, _, self.meaning = line.partition(" | ")
        subject, _, flow = head.partition(": ")
        self.type, *self.parameters = subject.split()
        operands, _, results = flow.partition("->")
        bottoms, _, blobs = operands.partition("/")
        self.bottoms, self.blobs, self.results = bottoms.split(), blobs.split(), results.split()


_TABLE = {
    signature.type: signature
    for signature in map(Signature, SIGNATURES.replace("\n    ", " ").strip().splitlines())}


def signature_of(type_: str) -> Signature | None:
    """What is known of a type of layer."""
    return _TABLE.get(type_)


def _messages() -> Any:
    try:
        from . import caffe_pb2
    except ImportError:
        raise UsageError(
            "the layers of Caffe are declared by its messages, which need the package 'protobuf'",
            hint="pip install 'transload[caffe]'") from None
    return caffe_pb2


def _repeated(field: Any) -> bool:
    return bool(field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED)


def _fields(descriptor: Any) -> dict[str, Any]:
    """The fields of a message that are attributes; of messages in it theirs, but of a shape the field itself."""
    found: dict[str, Any] = {}
    for field in descriptor.fields:
        if field.message_type is None or field.message_type.name == "BlobShape":
            found[field.name] = field
        elif not _repeated(field):
            found.update(_fields(field.message_type))
    return found


def _kind(field: Any) -> AttributeKind[Any]:
    if field.message_type is not None:
        return INTS
    if field.enum_type is not None:
        return enum(*field.enum_type.values_by_name)
    if field.cpp_type == field.CPPTYPE_BOOL:
        return BOOLEAN
    if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return FLOATS if _repeated(field) else FLOAT
    if field.cpp_type == field.CPPTYPE_STRING:
        return STRING
    return INTS if _repeated(field) else INT


def _attribute(field: Any) -> Any:
    if _repeated(field) or field.message_type is not None or not field.has_default_value:
        return attribute(_kind(field), optional=True)
    default = field.default_value
    if field.enum_type is not None:
        default = field.enum_type.values_by_number[default].name
    return attribute(_kind(field), default=default)


def attributes_of(message: Any) -> dict[str, Any]:
    """The fields that a message of parameters has, as attributes of its layer."""
    found: dict[str, Any] = {}
    for field, value in message.ListFields():
        if field.message_type is not None and _repeated(field):
            continue  # shapes and fillers of layers of data, which are inputs
        if field.message_type is not None and field.message_type.name == "BlobShape":
            found[field.name] = tuple(value.dim)
        elif field.message_type is not None:
            found.update(attributes_of(value))
        elif field.enum_type is not None:
            found[field.name] = field.enum_type.values_by_number[value].name
        else:
            found[field.name] = tuple(value) if _repeated(field) else value
    return found


def infer_types(op: Op) -> list[Type]:
    """The types of a layer's tops, by its rule; of unknown rank where a bottom's is unknown."""
    name = op.name.partition(".")[2]
    declared = signature_of(name)
    if declared is None:
        return [TensorType(None, F32)] * len(op.results)
    bottoms = bottoms_of(op, declared)
    if any(shape is None for shape in bottoms):
        return [TensorType(None, F32)] * max(len(op.results), 1)
    rule: Callable[..., Any] | None = RULES.get(name)
    if rule is None and not bottoms:
        fail(op, "has no bottoms")
    shapes: list[Any] = rule(op, bottoms) if rule is not None else [bottoms[0]]
    return [TensorType(tuple(shape), F32) for shape in shapes[: max(len(op.results), 1)]]


def bottoms_of(op: Op, declared: Signature) -> list[tuple[int, ...] | None]:
    """The shapes of an op's operands that are bottoms, absent ones left out; None for one that is not known."""
    variadic_bottoms = any(word.endswith("*") for word in declared.bottoms)
    count = len(op.operands) if variadic_bottoms else len(declared.bottoms)
    shapes = []
    for value in op.operands[:count]:
        if isinstance(value.type, TensorType):
            shapes.append(value.type.static_shape if value.type.is_static else None)
    return shapes


def _members(words: list[str], is_result: bool) -> dict[str, Any]:
    """The members for `x bias? ys*`."""
    members: dict[str, Any] = {}
    for word in words:
        name = word.rstrip("?*")
        if is_result:
            members[name] = result() if word == name else variadic_result()
        elif word.endswith("*"):
            members[name] = variadic()
        else:
            members[name] = operand(optional=word.endswith("?"))
    return members


def _declare(signature: Signature) -> OpDeclaration:
    optional = [word for word in signature.results if word.endswith("?")]
    results = signature.results if len(optional) < 2 else [word for word in signature.results if word not in optional] + ["more*"]
    members = _members([*signature.bottoms, *signature.blobs], False) | _members(results, True)
    layer = _messages().LayerParameter.DESCRIPTOR.fields_by_name
    for holder in signature.parameters:
        for name, field in _fields(layer[holder].message_type).items():
            key = f"{name}_" if name in members else name
            members[key] = _attribute(field)
            if key != name:
                raise TypeError(f"{signature.type}: {name} is an operand and a parameter")
    cited = f" with {' and '.join(signature.parameters)}" if signature.parameters else ""
    members["infer"] = infer_types
    members["__doc__"] = f"{signature.meaning}\n\nCaffe's layer {signature.type}{cited}."
    return OpDeclaration(f"caffe.{signature.type}", type(signature.type, (), members))


CAFFE.extend(map(_declare, _TABLE.values()))
