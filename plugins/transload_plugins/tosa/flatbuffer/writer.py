"""Writing a module of the `tosa` dialect to a `.tosa` file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from transload.errors import ConversionError, Finding, UsageError, merge_findings
from transload.files import atomic_path
from transload.flatbuffer.builder import FlatBuilder, Layout, layout
from transload.ir import Dense, Module, Op, TensorType, Type, Value, input_names, output_names
from transload.ir.build import constant_of
from transload.ir.names import FreshNames
from transload.ir.regions import captured_values
from transload.ir.types import DialectType
from transload.pieces import spelled_out

from ..dialect import TOSA
from ..dialect.base import bound_type, int4_excess, shape_rank, storage, storage_of
from .schema import ENUMS, IDENTIFIER, MAX_DEPTH, OPERATORS, Field, dtype_number
from .signs import signs_after
from .values import byte_length, encode, encode_number, encode_shape

__all__ = ["serialize", "write"]

_NUMBERS = {operator.op_name: number for number, operator in enumerate(OPERATORS)}
_ENUM_NUMBERS = {kind: {name: number for number, name in enumerate(names)} for kind, names in ENUMS.items()}
_FIELD_KINDS = {"int": "i", "bool": "B", "ints": "O", "dtype": "I", "number": "O", "text": "O", "bytes": "O", "graph": "O"}
_TOGETHER = 1 << 18
"""Bytes that are handed to the system at once: the pieces of a file are hundreds, and many small."""
SIZE_LIMIT = (1 << 31) - 1
"""Bytes that a flatbuffer's offsets can span."""

# The schema's tables, by the fields of each that are present.
_TENSOR = layout((0, "O"), (1, "O"), (2, "I"))
_CONSTANT = layout((0, "O"), (1, "O"), (2, "I"), (3, "O"))
_VARIABLE = layout((0, "O"), (1, "O"), (2, "I"), (4, "B"), (6, "O"))
_VARIABLE_WITH_DATA = layout((0, "O"), (1, "O"), (2, "I"), (3, "O"), (4, "B"), (6, "O"))
_SHAPE = layout((0, "O"), (1, "I"))
_CONSTANT_SHAPE = layout((0, "O"), (1, "I"), (2, "O"))
_OPERATOR = layout((0, "I"), (1, "B"), (2, "O"), (3, "O"), (4, "O"))
_BLOCK = layout(*((number, "O") for number in range(6)))
_REGION = layout((0, "O"), (1, "O"))
_GRAPH = layout((0, "O"), (1, "O"))
_VERSION = layout((0, "i"), (1, "i"), (2, "i"), (3, "B"))
_NO_ATTRIBUTES = layout()
_REFUSED = (0, 0)
"""In place of what a tensor of another type than TOSA's is written with: nothing is, in the end."""


class _Kind(NamedTuple):
    """What is written of every operator of one kind."""

    number: int
    executed: int
    """The number of the operator that runs: files hold a read or write of a variable as IDENTITY from or to its tensor."""
    fields: tuple[Field, ...]
    attributes: Layout


def _kinds() -> dict[str, _Kind]:
    kinds = {}
    for number, operator in enumerate(OPERATORS):
        executed = _NUMBERS["tosa.identity"] if operator.schema_name in ("VARIABLE_READ", "VARIABLE_WRITE") else number
        fields = ((place, _FIELD_KINDS.get(field.kind, "I")) for place, field in enumerate(operator.fields))
        kinds[operator.op_name] = _Kind(number, executed, operator.fields, layout(*fields))
    return kinds


_KINDS = _kinds()


def write(module: Module, path: str | Path, tosa_version: str = "1.0") -> None:
    """Write `module` to `path`: all of it, or nothing where it cannot be written."""
    pieces = serialize_pieces(module, tosa_version)
    with atomic_path(path) as temporary, temporary.open("wb", buffering=_TOGETHER) as file:
        file.writelines(spelled_out(pieces))


def serialize(module: Module, tosa_version: str = "1.0") -> bytes:
    """The bytes of the `.tosa` file."""
    return b"".join(spelled_out(serialize_pieces(module, tosa_version)))


def serialize_pieces(module: Module, tosa_version: str = "1.0") -> list[Any]:
    """The file in pieces (`transload.pieces`), constants as views of their arrays.

    `tosa_version` is "1.0" or "1.1" (marked as a draft, as which 1.1 stands). Raises `ConversionError` with
    everything that a `.tosa` file cannot hold: ops of other dialects, dynamic shapes, tensors without elements, element types.
    """
    versions = {"1.0": (1, 0, 0, 0), "1.1": (1, 1, 0, 1)}
    if tosa_version not in versions:
        raise UsageError(f"tosa_version={tosa_version} cannot be written", hint=f"versions: {', '.join(versions)}")
    return _Writer(module, versions[tosa_version]).write()


class _Writer:
    """One module being written: the buffer, its regions and what is wrong so far."""

    def __init__(self, module: Module, version: tuple[int, int, int, int]) -> None:
        self.module = module
        self.version = version
        self.buffer = FlatBuilder()
        self.findings: list[Finding] = []
        self.regions: list[int] = []
        self.unique = FreshNames()
        self.texts: dict[int, str] = {}  # of the tensors, by the place of their names
        self.data: dict[int, tuple[Any, int]] = {}
        self.types: dict[tuple[Any, Type], tuple[int, int]] = {}  # by shape and element
        self.too_new = frozenset(
            name for name, declaration in TOSA.ops.items() if getattr(declaration.definition, "since", "1.0") == "1.1"
        ) if version < (1, 1, 0, 0) else frozenset()
        self.variables = {
            op.attributes["sym_name"]: op for op in module.body if op.name == "tosa.variable"}

    def write(self) -> list[Any]:
        buffer = self.buffer
        main = self.module.main
        _GraphWriter(self, "main").write_function(main)
        if self.findings:
            merged = merge_findings(self.findings)
            raise ConversionError(f"{sum(f.count for f in merged)} thing(s) cannot be written to a .tosa file", merged)
        # The first region is the main graph; those of control flow, which were finished earlier, follow.
        regions = buffer.offsets([self.regions[-1], *self.regions[:-1]])
        root = buffer.table(_GRAPH, (buffer.table(_VERSION, self.version), regions))
        pieces = buffer.finish(root, IDENTIFIER)
        self.need_place(0)
        return [*pieces, signs_after(main)]

    def need_place(self, size: int) -> None:
        """Refuse a file that would be larger by so many bytes than offsets can span, before these are made."""
        if self.buffer.size + size > SIZE_LIMIT:
            raise ConversionError(
                f"the .tosa file would have {self.buffer.size + size:,} bytes or more, and flatbuffers end at {SIZE_LIMIT:,}",
                hint="quantize the weights, or write MLIR text with its constants beside it")

    def refuse(self, op: Op | None, what: str, why: str, hint: str = "") -> None:
        origin = op.origin if op is not None else None
        self.findings.append(Finding(what, why, (origin,) if origin else (), hint))

    def constant(self, dense: Dense) -> int:
        """The place of a constant's bytes; the same constant is stored once."""
        held = self.data.get(id(dense))
        if held is None:
            self.need_place(byte_length(dense.type.element, dense.type.num_elements))
            held = self.data[id(dense)] = (dense, self.buffer.byte_vector(encode(dense)))
        return held[1]


class _GraphWriter:
    """One graph being written: the main one, or one of control flow.

    `captured` are the values from outside that the graph uses; they become inputs of its own. A tensor is known by the place
    of its name. `depth` is how many graphs it lies in.
    """

    def __init__(self, whole: _Writer, name: str, depth: int = 0) -> None:
        self.whole = whole
        self.depth = depth
        self.buffer = whole.buffer
        self.name = name
        self.known: dict[Value, int] = {}
        self.inputs: list[int] = []
        self.tensors: list[int] = []
        self.shapes: list[int] = []
        self.operators: list[int] = []
        for variable, op in whole.variables.items():
            self._variable(variable, op)

    # --- graphs

    def write_function(self, function: Op) -> None:
        """The main graph, whose inputs and outputs keep their names."""
        block = function.regions[0].block
        for value, name in zip(block.arguments, input_names(function), strict=True):
            self._argument(value, self.whole.unique(name))
        terminator = block.terminator
        taken: dict[Value, str] = {}
        outputs: list[tuple[Value, str, bool]] = []
        for value, name in zip(terminator.operands, output_names(function), strict=True):
            name = self.whole.unique(name)
            # An output that is an input, a constant or another output as well needs an op of its own.
            direct = isinstance(value.owner, Op) and value not in taken and constant_of(value) is None
            if direct:
                taken[value] = name
            outputs.append((value, name, direct))
        for value, name in taken.items():
            self.known[value] = self._tensor(value.op, name, value.type)
        self._block(block)
        self._finish([self.known[value] if direct else self._identity(value, name) for value, name, direct in outputs])

    def write_graph(self, block: Any, captured: list[Value], carried: bool) -> None:
        """A graph of control flow; with `carried`, it gives what it captured back behind its results."""
        for value in (*block.arguments, *captured):
            self._argument(value, self.whole.unique(value.name or f"{self.name}/input"))
        self._block(block)
        outputs: list[int] = []
        given = list(block.terminator.operands) + (captured if carried else [])
        for value in given:
            name = self.known.get(value)
            if name is None or name in outputs or name in self.inputs:
                name = self._identity(value, self.whole.unique(f"{self.name}/output"))
            outputs.append(name)
        self._finish(outputs)

    def _finish(self, outputs: list[int]) -> None:
        buffer = self.buffer
        block = buffer.table(_BLOCK, (
            buffer.string(self.name), buffer.offsets(self.operators), buffer.offsets(self.tensors), buffer.offsets(self.inputs),
            buffer.offsets(outputs), buffer.offsets(self.shapes)))
        self.whole.regions.append(buffer.table(_REGION, (buffer.string(self.name), buffer.offsets([block]))))

    def _block(self, block: Any) -> None:
        for op in block:
            if op.name in ("func.return", "tosa.yield"):
                break
            self._op(op)

    # --- tensors and shapes

    def _argument(self, value: Value, name: str) -> None:
        self.known[value] = place = self._tensor(value.op, name, value.type)
        self.inputs.append(place)

    def _type(self, op: Op | None, name: str, type_: Type) -> tuple[int, int]:
        """The place of a tensor's shape and the number of its element type; of a type that is refused, neither."""
        whole = self.whole
        if not isinstance(type_, TensorType):
            whole.refuse(op, f"value {name!r}", f"is of type {type_}, which a .tosa file does not hold")
            return _REFUSED
        key = type_.shape, type_.element
        described = whole.types.get(key)
        if described is not None:
            return described
        number = dtype_number(storage(type_))
        if type_.shape is None or None in type_.shape:
            whole.refuse(op, "dynamic shape", "a .tosa file holds no tensor whose sizes are known only when the model runs",
                         "give the model's inputs static shapes, which make all others known")
            return _REFUSED
        if 0 in type_.shape:
            whole.refuse(op, str(type_), "a .tosa file holds no tensor without elements: TOSA's sizes are 1 and more",
                         "leave out of the model what computes it, and outputs that are it")
            return _REFUSED
        if number is None:
            whole.refuse(
                op, f"element type {storage(type_)}", "is none of TOSA's", "unsigned tensors are rescaled to signed ones")
            return _REFUSED
        described = whole.types[key] = self.buffer.ints(type_.shape), number  # type: ignore[arg-type]
        return described

    def _tensor(self, op: Op | None, name: str, type_: Type, dense: Dense | None = None) -> int:
        """Write a tensor, a constant one with its data, or a shape; the place of its name."""
        buffer, whole = self.buffer, self.whole
        if isinstance(type_, DialectType) and type_.text.startswith("tosa.shape<"):
            place = buffer.string(name)
            if dense is None:
                self.shapes.append(buffer.table(_SHAPE, (place, shape_rank(type_))))
            else:
                data = buffer.byte_vector(encode_shape(dense))
                self.shapes.append(buffer.table(_CONSTANT_SHAPE, (place, shape_rank(type_), data)))
            return place
        shape, element = self._type(op, name, type_)
        place = buffer.string(name)
        if dense is None:
            self.tensors.append(buffer.table(_TENSOR, (place, shape, element)))
        else:
            self.tensors.append(buffer.table(_CONSTANT, (place, shape, element, whole.constant(dense))))
        whole.texts[place] = name
        return place

    def _variable(self, name: str, op: Op) -> None:
        buffer = self.buffer
        type_ = TensorType(tuple(int(n) for n in op.attributes["var_shape"].numpy().reshape(-1)), op.attributes["type"])
        shape_and_element = self._type(op, name, type_)
        fields = [buffer.string(_variable_tensor(name)), *shape_and_element]
        initial = op.attributes.get("initial_value")
        shape = _VARIABLE
        if isinstance(initial, Dense):
            shape = _VARIABLE_WITH_DATA
            self._need_int4(op, initial)
            fields.append(self.whole.constant(initial))
        self.tensors.append(buffer.table(shape, (*fields, 1, buffer.string(name))))

    def _name(self, value: Value) -> int:
        """The name of a value in this graph; a constant from outside is made again inside."""
        name = self.known.get(value)
        if name is None:
            dense = constant_of(value)
            if dense is None or not isinstance(value.owner, Op):
                raise ConversionError(f"{value!r} is used outside the graph that computes it")
            name = self._constant(value.owner)
        return name

    def _result_name(self, op: Op, value: Value) -> str:
        own = value.name
        if own is None:
            origin = op.origin
            own = f"{origin}/{op.name[5:]}" if origin else op.name[5:]
        return self.whole.unique(own)

    # --- ops

    def _constant(self, op: Op) -> int:
        value = op.results[0]
        dense = op.attributes["values"]
        self._need_int4(op, dense)
        name = self.known[value] = self._tensor(op, self._result_name(op, value), value.type, dense)
        self._operator(op.name, (), (name,))
        return name

    def _need_int4(self, op: Op, dense: Dense) -> None:
        """Refuse numbers of i4 that TOSA's have not."""
        if excess := int4_excess(dense):
            self.whole.refuse(op, op.name, excess, "hold the numbers in i8")

    def _identity(self, value: Value, name: str) -> int:
        place = self._tensor(None, name, value.type)
        self._operator("tosa.identity", (self._name(value),), (place,))
        return place

    def _op(self, op: Op) -> None:
        whole = self.whole
        if op.name not in _KINDS:
            whole.refuse(op, op.name, "is no operator of TOSA", "lower the module to the tosa dialect first")
            return
        if op.name in whole.too_new:
            whole.refuse(op, op.name, "came with TOSA 1.1", "write tosa_version=1.1")
        if op.name in ("tosa.const", "tosa.const_shape"):
            # Where it is used, and only there: constants that nothing uses are left out.
            if op.results[0].uses:
                self._constant(op)
            return
        graphs: list[str] = []
        captured: list[Value] = []
        if op.regions:
            captured, graphs = self._graphs(op)
        inputs = [self._name(operand) for operand in (*op.operands, *captured)]
        outputs: list[int] = []
        for value in op.results:
            name = self.known.get(value)
            if name is None:
                name = self.known[value] = self._tensor(op, self._result_name(op, value), value.type)
            outputs.append(name)
        if op.name == "tosa.while_loop":
            for value in captured:  # carried round the loop unchanged
                after = whole.unique(f"{whole.texts[self._name(value)]}/after")
                outputs.append(self._tensor(op, after, value.type))
        elif op.name == "tosa.variable_read":
            inputs = [self.buffer.string(_variable_tensor(op.attributes["name"]))]
        elif op.name == "tosa.variable_write":
            outputs = [self.buffer.string(_variable_tensor(op.attributes["name"]))]
        self._operator(op.name, inputs, outputs, op, graphs)

    def _graphs(self, op: Op) -> tuple[list[Value], list[str]]:
        """Write the graphs of control flow; returns what they use from outside, and their names."""
        if self.depth == MAX_DEPTH:
            self.whole.refuse(op, op.name, f"graphs of a .tosa file lie at most {MAX_DEPTH} deep in each other",
                              "write loops and branches in each other as fewer of them")
            return [], [""] * len(op.regions)
        # constants are made again inside
        captured = [value for value in captured_values(op) if constant_of(value) is None]
        explicit = op.operands[1:] if op.name == "tosa.cond_if" else op.operands
        names = []
        for region, member in zip(op.regions, op.declaration.regions, strict=True):
            name = self.whole.unique(f"{op.origin or op.name[5:]}/{member.name}")
            graph = _GraphWriter(self.whole, name, self.depth + 1)
            if not region.block.arguments:
                # MLIR lets a graph of cond_if leave its arguments out; the file's graphs take all inputs.
                for value in explicit:
                    graph.inputs.append(graph._tensor(op, self.whole.unique(f"{name}/input"), value.type))
            graph.write_graph(region.block, captured, carried=member.name == "body_graph")
            names.append(name)
        return captured, names

    def _operator(
        self, op_name: str, inputs: Sequence[int], outputs: Sequence[int], op: Op | None = None, graphs: Iterable[str] = (),
    ) -> None:
        buffer = self.buffer
        kind = _KINDS[op_name]
        attributes = buffer.table(_NO_ATTRIBUTES, ()) if op is None else self._attributes(kind, op, iter(graphs))
        self.operators.append(buffer.table(
            _OPERATOR, (kind.executed, kind.number, attributes, buffer.offsets(inputs), buffer.offsets(outputs))))

    def _attributes(self, operator: _Kind, op: Op, graphs: Any) -> int:
        """The place of an operator's attribute table."""
        buffer, given = self.buffer, op.attributes
        values: list[int] = []
        for name, kind in operator.fields:
            held = next(graphs) if kind == "graph" else given[name] if name in given else op.attribute(name)
            if kind in ("int", "bool"):
                number = int(held)
            elif kind == "ints":
                number = buffer.ints(held)
            elif kind == "dtype":
                number = dtype_number(held) or 0
                if not number:
                    self.whole.refuse(op, op.name, f"{name} {held} is none of TOSA's types")
            elif kind == "number":
                number = self._bound(op, held)
            elif kind in ("text", "graph"):
                number = buffer.string(held)
            elif kind == "bytes":
                number = buffer.byte_vector(held.encode("latin-1", "replace"))
            else:
                number = _ENUM_NUMBERS[kind][held]
            values.append(number)
        return buffer.table(operator.attributes, values)

    def _bound(self, op: Op, value: Any) -> int:
        element = storage_of(op.operands[0])
        if dtype_number(element) is None:
            return self.buffer.byte_vector(bytes(8))  # the operand's type is refused elsewhere
        if bound_type(value) != element:
            self.whole.refuse(op, op.name, f"a bound is {bound_type(value)}, the elements are {element}")
        return self.buffer.byte_vector(encode_number(value, element))


def _variable_tensor(name: str) -> str:
    """The name of the tensor that stands for a variable in each graph."""
    return f"variable/{name}"
