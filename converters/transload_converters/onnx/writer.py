"""Writing a module of the `onnx` dialect as an `.onnx` file: one op, one node; what `reader` reads, the other way round.

Constants become initializers. Values keep their names; those that have none, or one that is taken, get one. A model of more
than 2 GB, which a protobuf message cannot be, has its weights in a file beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from transload.errors import ConversionError, Finding, UsageError, merge_findings
from transload.escapes import spelt
from transload.files import atomic_path
from transload.ir import Block, Dense, Module, NoneType, Op, TensorType, Type, Value
from transload.ir.locations import location_names
from transload.ir.module import input_names, output_names
from transload.ir.names import FreshNames

from .dialect import region_names, schema_of
from .graph import MAX_DEPTH
from .reader import OPSET
from .tensors import bytes_needed, raw_bytes
from .types import OPSET_WRITTEN, element_code, type_proto, type_word

__all__ = ["EXTERNAL_FROM", "constant_bytes", "model_of", "refuse_unwritable", "unwritable", "write"]

EXTERNAL_FROM = 1 << 31
"""Bytes of constants from which on they lie in a file beside the model."""
_INLINE = 1024
"""Bytes up to which a constant is in the model all the same."""


def write(module: Module, path: str | Path) -> list[Path]:
    """Write `module`, of the `onnx` dialect, to `path`; the files that were written.

    Raises `ConversionError` with everything in it that ONNX cannot say.
    """
    final = Path(path)
    external = final.with_name(final.name + ".data") if constant_bytes(module) >= EXTERNAL_FROM else None
    refuse_unwritable(module)
    if external is None:
        with atomic_path(final) as temporary:
            temporary.write_bytes(model_of(module).SerializeToString(deterministic=True))
        return [final]
    with atomic_path(external) as data:
        with data.open("wb") as stream:
            content = model_of(module, _External(external.name, stream)).SerializeToString(deterministic=True)
        with atomic_path(final) as temporary:  # both are written before one is put in its place
            temporary.write_bytes(content)
    return [final, external]


def refuse_unwritable(module: Module) -> None:
    """Raise `ConversionError` with everything in a module that ONNX cannot say."""
    findings = unwritable(module)
    if findings:
        raise ConversionError("the module holds what cannot be written as ONNX", merge_findings(findings))


def unwritable(module: Module) -> list[Finding]:
    """What in a module cannot be written: ops that are no operators of ONNX, or those of another opset, and types that it lacks.

    Only what the model takes and gives must have a type; that of other values follows from their operators.
    """
    findings = []
    opset = _opsets(module)["ai.onnx"]
    types = schema_of("Identity", opset).inputs[0].types
    block = module.main.regions[0].block
    borders = {*block.arguments, *block.terminator.operands}
    there: dict[Type, bool] = {}
    """Whether ONNX has a type of elements."""
    for op in module.walk():
        if op.dialect not in ("onnx", "builtin", "func"):
            findings.append(Finding(
                op.name, "is no operator of ONNX", _names(op), "`transload coverage` says which conversions are there"))
        if op.regions and _depth(op) == MAX_DEPTH - 1:  # as deep as may be read, types have no room for their sizes
            findings.append(Finding(
                op.name, f"lies in graphs {MAX_DEPTH - 1} deep in each other, and no deeper ones are read of protocol buffers",
                _names(op), "write loops and branches in each other as fewer of them"))
        own = op.attributes.get(OPSET)
        if op.dialect == "onnx" and own is not None and schema_of(op.name[5:], own) is not schema_of(op.name[5:], opset):
            findings.append(Finding(op.name, f"is meant as opset {own} has it, in a model of opset {opset}", _names(op),
                                    "by the hub it is written in one opset: transload convert --target onnx"))
        arguments = [value for region in op.regions for block in region.blocks for value in block.arguments]
        for value in (*arguments, *op.results):
            if isinstance(value.type, TensorType):
                stored = _stored(value.type)
                if stored not in there:
                    there[stored] = f"tensor({type_word(stored)})" in types
                if not there[stored]:
                    findings.append(
                        Finding(op.name, f"ONNX has no element type {value.element} in this opset", _names(op, value)))
            elif value in borders and type_proto(value.type) is None:
                findings.append(Finding(op.name, f"is of type {value.type}, and the model takes or gives it", _names(op, value)))
    return findings


def _depth(op: Op) -> int:
    """In how many graphs that lie in each other, beside the model's own, an op is."""
    around, depth = op.parent_op, 0
    while around is not None and around.dialect == "onnx":
        around, depth = around.parent_op, depth + 1
    return depth


def _names(op: Op, value: Value | None = None) -> tuple[str, ...]:
    """What a finding calls an op, or a value of it."""
    return (value.name,) if value is not None and value.name else tuple(location_names(op.location)[:1])


def model_of(module: Module, external: _External | None = None) -> Any:
    """The `onnx.ModelProto` of a module; with `external`, large constants are written there."""
    from onnx import helper

    from transload import __version__

    opsets = _opsets(module)
    imports = [helper.make_opsetid("" if domain == "ai.onnx" else domain, version) for domain, version in opsets.items()]
    function = module.main
    writing = _Writing(opsets["ai.onnx"], external)
    graph, constants = writing.graph(function)
    model = helper.make_model(
        graph, opset_imports=imports, ir_version=helper.find_min_ir_version_for(imports, ignore_unknown=True),
        producer_name="transload", producer_version=__version__)
    for dense, name in constants:  # made where they stay: a message that is put into another is copied
        writing.put(dense, name, model.graph.initializer.add())
    return model


def _opsets(module: Module) -> dict[str, int]:
    """The opset version of each domain: as the module says, else that of our own lowering."""
    return dict(module.attributes.get(OPSET) or {"ai.onnx": OPSET_WRITTEN})


class _External:
    """A file beside the model that takes large constants, one after another."""

    def __init__(self, name: str, stream: Any) -> None:
        self.name = name
        self.stream = stream

    def put(self, tensor: Any, content: bytes) -> None:
        """Write the bytes of a tensor, and say in it where they are."""
        tensor.data_location = tensor.EXTERNAL
        entries = {"location": self.name, "offset": str(self.stream.tell()), "length": str(len(content))}
        for key, value in entries.items():
            entry = tensor.external_data.add()
            entry.key, entry.value = key, value
        self.stream.write(content)


def _stored(type_: TensorType) -> Type:
    """The element type in which ONNX has the numbers of a tensor: of quantized ones, that which they are stored in."""
    return getattr(type_.element, "storage", type_.element)


def constant_bytes(module: Module) -> int:
    """How many bytes the constants of a module of the `onnx` dialect take."""
    return sum(
        _packed_size(op.attributes["value"]) for op in module.walk()
        if op.name == "onnx.Constant" and isinstance(op.attributes.get("value"), Dense))


def _packed_size(dense: Dense) -> int:
    stored = _stored(dense.type)
    return bytes_needed(TensorType(dense.shape, stored), element_code(stored))


class _Writing:
    """The graphs of one model: names of values, which are different in all of them, and nodes."""

    def __init__(self, opset: int, external: _External | None) -> None:
        self.opset = opset
        self.external = external
        self.names: dict[Value, str] = {}
        self.fresh = FreshNames()

    def graph(self, function: Op) -> tuple[Any, list[tuple[Dense, str]]]:
        """The model's graph, and its constants, which are not in it yet. Outputs that are a constant, given twice, or an input
        of another name are copied by an Identity."""
        from onnx import helper

        block = function.regions[0].block
        outputs = block.terminator.operands
        for value, argument in zip(block.arguments, input_names(function), strict=True):
            self.name(value, argument)
        wanted: list[str] = []
        for value, name in zip(outputs, map(spelt, output_names(function)), strict=True):
            given = self.names.get(value) == name and name not in wanted  # an input as it is, by its name
            wanted.append(name if given else self.fresh(name))
        copies = []
        for value, name in zip(outputs, wanted, strict=True):
            if self.names.get(value) == name:
                continue
            if value in self.names or (value.op is not None and value.op.name == "onnx.Constant"):
                copies.append((value, name))
            else:
                self.names[value] = name
        constants, nodes = self.body(block)
        nodes += [helper.make_node("Identity", [self.name(value)], [name]) for value, name in copies]
        return helper.make_graph(
            nodes, "main", [self.info(value) for value in block.arguments],
            [_info(name, value) for value, name in zip(outputs, wanted, strict=True)]), constants

    def name(self, value: Value, wish: str | None = None) -> str:
        """The name of a value: its own, where it has one that no other has, in UTF-8."""
        known = self.names.get(value)
        if known is not None:
            return known
        name = self.names[value] = self.fresh(spelt(
            wish or value.name or (value.op.name.rpartition(".")[2] if value.op is not None else "argument")))
        return name

    def info(self, value: Value) -> Any:
        return _info(self.name(value), value)

    def body(self, block: Block) -> tuple[list[tuple[Dense, str]], list[Any]]:
        """The constants, each with its name, and the nodes of a block."""
        constants, nodes = [], []
        for op in block:
            if op.name in ("onnx.NoValue", "onnx.Yield", "func.return"):
                continue
            if op.name == "onnx.Constant" and isinstance(op.attributes.get("value"), Dense):
                constants.append((op.attributes["value"], self.name(op.results[0])))
            else:
                nodes.append(self.node(op))
        return constants, nodes

    def node(self, op: Op) -> Any:
        from onnx import NodeProto

        domain = str(op.attributes.get("domain", ""))
        kind = op.name.partition(".")[2]
        node = NodeProto(op_type=kind.removeprefix(f"{domain}.") if domain else kind, domain=domain)
        node.input.extend("" if _is_left_out(value) else self.name(value) for value in op.operands)
        node.output.extend("" if isinstance(value.type, NoneType) else self.name(value) for value in op.results)
        schema = schema_of(node.op_type, self.opset if not domain else 1 << 30, domain)
        node.attribute.extend(self.attributes(op, schema))
        for key, region in zip(self.region_names(op, schema), op.regions, strict=True):
            graph = self.subgraph(region.block, f"{node.op_type}_{key}")
            node.attribute.add(name=key, type=5).g.CopyFrom(graph)
        return node

    def region_names(self, op: Op, schema: Any) -> Sequence[str]:
        names = op.attributes.get("region_names")
        return list(names) if names is not None else region_names(schema) if op.regions else []

    def subgraph(self, block: Block, name: str) -> Any:
        from onnx import helper

        arguments = [self.info(value) for value in block.arguments]
        constants, nodes = self.body(block)
        outputs: list[Any] = []
        inside = {result for op in block for result in op.results}
        for value in block.terminator.operands:
            if value in inside and self.name(value) not in {info.name for info in outputs}:
                outputs.append(self.info(value))
            else:  # a value from around, or one that is given twice, is copied to be an output
                copy = self.fresh(self.name(value))
                nodes.append(helper.make_node("Identity", [self.name(value)], [copy]))
                outputs.append(_info(copy, value))
        return helper.make_graph(nodes, name, arguments, outputs, [self.tensor(*each) for each in constants])

    def attributes(self, op: Op, schema: Any) -> Iterator[Any]:
        """The attributes of a node, of the types that the operator's schema says."""
        from onnx import AttributeProto, helper

        for key, value in op.attributes.items():
            if key in ("domain", "region_names", OPSET):
                continue
            if isinstance(value, Dense):
                yield helper.make_attribute(key, self.tensor(value, key))
                continue
            declared = schema.attributes.get(key) if schema is not None else None
            kind = AttributeProto.AttributeType.Value(declared.type.name) if declared is not None else None
            plain: Any = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
            if isinstance(value, Type):
                plain = type_proto(value)
            if kind in (AttributeProto.FLOAT, AttributeProto.INT):
                plain = float(plain) if kind == AttributeProto.FLOAT else int(plain)
            elif kind == AttributeProto.FLOATS:
                plain = [float(each) for each in plain]
            try:
                made = helper.make_attribute(key, plain, attr_type=kind)
            except (TypeError, ValueError):  # a type that nobody knows, say
                raise UsageError(f"{op.name}: its attribute {key!r}, {value!s:.80}, cannot be written to an ONNX file") from None
            yield made

    def tensor(self, dense: Dense, name: str) -> Any:
        """A constant as a `TensorProto`, its numbers as raw bytes."""
        from onnx import TensorProto

        tensor = TensorProto()
        self.put(dense, name, tensor)
        return tensor

    def put(self, dense: Dense, name: str, tensor: Any) -> None:
        """Say a constant in a `TensorProto` that is empty."""
        code = element_code(_stored(dense.type))
        if code is None:
            raise UsageError(f"ONNX has no element type {dense.type.element}")
        tensor.name, tensor.data_type = name, code
        tensor.dims.extend(dense.shape)
        content = raw_bytes(dense, TensorType(dense.shape, _stored(dense.type)), code)
        if self.external is not None and len(content) > _INLINE:
            self.external.put(tensor, content)
        else:
            tensor.raw_data = content


def _is_left_out(value: Value) -> bool:
    return value.op is not None and value.op.name == "onnx.NoValue"


def _info(name: str, value: Value) -> Any:
    """A value's name and type, as inputs and outputs have them; of a subgraph's not all are known."""
    from onnx import ValueInfoProto, helper

    proto = type_proto(value.type)
    return ValueInfoProto(name=name) if proto is None else helper.make_value_info(name, proto)
