"""Reading a `.tosa` file into a module of the `tosa` dialect."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from transload.errors import Finding, ForeignContent, ReadError, merge_findings
from transload.flatbuffer import FlatFile, Table
from transload.ir import (
    Block,
    Dense,
    FusedLocation,
    Location,
    Module,
    Op,
    Region,
    TensorType,
    Type,
    Value,
    new_module,
    set_results,
)
from transload.ir.registry import lookup
from transload.ir.types import INDEX
from transload.ir.verify import check
from transload.plugin import Source
from transload.text.files import fix_inputs

from ..dialect.base import shape_type, storage
from .schema import DTYPES, ENUMS, IDENTIFIER, MAX_DEPTH, OPERATORS, Operator
from .signs import note_signs
from .values import decode, decode_number, decode_shape

__all__ = ["detect", "read"]

MAX_RANK, MAX_SIZE = 32, 1 << 48
_IDENTITY, _VARIABLE_WRITE, _VARIABLE_READ = (
    next(number for number, operator in enumerate(OPERATORS) if operator.schema_name == name)
    for name in ("IDENTITY", "VARIABLE_WRITE", "VARIABLE_READ"))


def detect(head: bytes, path: Path | None = None) -> bool:
    """Whether a file that starts so is a TOSA flatbuffer."""
    return bytes(head[4:8]) == IDENTIFIER


def read(source: Source, inputs: Mapping[str, TensorType]) -> Module:
    """The graph in a `.tosa` file, one op for one operator; constants stay where they are in the file.

    Raises `ReadError` where the file is damaged, of another version, or breaks the rules of the operators.
    """
    data = source.data
    name = str(source.path or source.name)
    if len(data) < 12 or not detect(bytes(data[:8])):
        raise ForeignContent(f"{name} is no TOSA flatbuffer: it does not say TOSA at byte 4")
    module = _Reader(FlatFile(data, name, "the flatbuffer", strict=True)).read()
    note_signs(module.main, data)
    fix_inputs(module, inputs, where=name)
    findings = check(module, inferred=False)
    if findings:
        raise ReadError(f"{name} breaks rules of TOSA's operators: {len(findings)} finding(s)", findings)
    return module


class _Tensor(NamedTuple):
    """What the file says of a tensor or shape."""

    type: Type
    data: memoryview | None
    variable: str | None = None


class _Operator(NamedTuple):
    """One operator of a graph."""

    kind: Operator
    attributes: Table | None
    inputs: list[str]
    outputs: list[str]


class _Reader:
    """The file being read."""

    def __init__(self, file: FlatFile) -> None:
        self.file = file
        self.module = new_module()
        self.findings: list[Finding] = []
        self.graphs: dict[str, Table] = {}
        self.variables: dict[str, Op] = {}

    def read(self) -> Module:
        root = self.file.root()
        self._check_version(root.table(0))
        regions = root.tables(1)
        if not regions:
            self.file.fail("it holds no graph")
        for region in regions:
            name = region.text(0) or "main"
            blocks = region.tables(1)
            if len(blocks) != 1:
                self.file.fail(f"graph {describe(name)} has {len(blocks)} blocks, not one")
            if name in self.graphs:
                self.file.fail(f"two graphs are called {describe(name)}")
            self.graphs[name] = blocks[0]
        main = next(iter(self.graphs.values()))
        graph = _Graph(self, main, ())
        inputs = [(name, graph.tensor(name).type) for name in main.strings(3)]
        function = self.module.add_function("main", [type_ for _, type_ in inputs], [name for name, _ in inputs])
        outputs = graph.fill(function.regions[0].block, [name for name, _ in inputs])
        if self.findings:
            merged = merge_findings(self.findings)
            raise ReadError(f"{self.file.name} holds operators that cannot be read", merged)
        set_results(function, outputs, main.strings(4))
        return self.module

    def _check_version(self, version: Table | None) -> None:
        if version is None:
            self.file.fail("it does not say its version")
        major, minor, patch = (version.scalar(slot, "i", -1) for slot in range(3))
        if (major, minor) not in ((1, 0), (1, 1)):
            raise ReadError(
                f"{self.file.name} is of TOSA version {major}.{minor}.{patch}; 1.0 and 1.1 can be read",
                hint="convert it with the tools of its version, or export the model anew")

    def variable(self, name: str, tensor: _Tensor) -> None:
        """Declare a variable in the module, once."""
        if name in self.variables:
            return
        type_ = tensor.type
        if not isinstance(type_, TensorType) or not type_.is_static:
            self.file.fail(f"variable {describe(name)} has no static shape")
        shape: tuple[int, ...] = type_.shape  # type: ignore[assignment]
        attributes: dict[str, Any] = {
            "sym_name": name, "type": type_.element,
            "var_shape": Dense(np.array(shape, np.int64), TensorType((len(shape),), INDEX))}
        if tensor.data is not None and len(tensor.data):
            initial = decode(tensor.data, shape, type_.element)
            if initial is None:
                self.file.fail(f"variable {describe(name)} has {len(tensor.data)} bytes for {type_}")
            attributes["initial_value"] = initial
        op = Op("tosa.variable", (), (), attributes)
        self.variables[name] = self.module.body.insert(op, self.module.body.first)


class _Graph:
    """One graph of the file, being put into a block."""

    def __init__(self, whole: _Reader, block: Table, outer: tuple[str, ...]) -> None:
        self.whole = whole
        self.file = whole.file
        self.table = block
        self.outer = outer
        self.values: dict[str, Value] = {}
        self.tensors: dict[str, _Tensor] = {}
        for table in block.tables(2):
            self._add(table, self._tensor(table))
        for table in block.tables(5):
            self._add(table, self._shape(table))

    def _add(self, table: Table, tensor: _Tensor) -> None:
        name = table.text(0)
        if not table.has(0) or name in self.tensors:
            self.file.fail(f"a tensor has no name of its own: {describe(name)}")
        self.tensors[name] = tensor
        if tensor.variable is not None:
            self.whole.variable(tensor.variable, tensor)

    def _tensor(self, table: Table) -> _Tensor:
        number = table.scalar(2, "I")
        element = DTYPES.get(number)
        shape = table.numbers(1, "i")
        name = table.text(0)
        if element is None:
            raise ReadError(f"{self.file.name}: tensor {describe(name)} is of data type number {number}, which is not known")
        if len(shape) > MAX_RANK or any(size > MAX_SIZE for size in shape):
            self.file.fail(f"tensor {describe(name)} has shape {shape[:MAX_RANK]}")
        data = table.view(3)
        offset, size = table.scalar(7, "Q"), table.scalar(8, "Q")
        if not data and offset > 1 and size:
            # Constants of a file beyond 2 GB stand behind the flatbuffer.
            if offset + size > self.file.size:
                self.file.damaged("a constant", offset)
            data = self.file.data[offset : offset + size]
        sizes = None if table.scalar(5, "?", False) else tuple(None if size < 0 else size for size in shape)
        variable = (table.text(6) or name) if table.scalar(4, "?", False) else None
        return _Tensor(TensorType(sizes, element), data, variable)

    def _shape(self, table: Table) -> _Tensor:
        rank = table.scalar(1, "I")
        data = table.view(2)
        if rank > 2 * MAX_RANK:
            self.file.fail(f"shape {describe(table.text(0))} has {rank} sizes")
        return _Tensor(shape_type(rank), data)

    def tensor(self, name: str) -> _Tensor:
        """What the file says of a name."""
        found = self.tensors.get(name)
        if found is None:
            self.file.fail(f"tensor {describe(name)} is not described")
        return found

    # --- the block

    def fill(self, block: Block, inputs: list[str]) -> list[Value]:
        """Put the graph's ops into `block`, whose arguments are its inputs; returns its outputs."""
        self.block = block
        for name, argument in zip(inputs, block.arguments, strict=True):
            if name in self.values:
                self.file.fail(f"input {describe(name)} is listed twice")
            self.values[name] = argument
        self._run([self._operator(table) for table in self.table.tables(1)])
        return [self._value(name) for name in self.table.strings(4)]

    def _run(self, operators: list[_Operator]) -> None:
        """Make ops in the file's order, but each behind what computes its inputs."""
        makers: dict[str, int] = {}
        for index, operator in enumerate(operators):
            for name in operator.outputs:
                if self.tensor(name).variable is None:
                    if name in makers or name in self.values:
                        self.file.fail(f"tensor {describe(name)} is computed twice")
                    makers[name] = index
        waiting = [
            len({makers[name] for name in operator.inputs if name in makers}) for operator in operators]
        users: list[list[int]] = [[] for _ in operators]
        for index, operator in enumerate(operators):
            for maker in {makers[name] for name in operator.inputs if name in makers}:
                users[maker].append(index)
        made = 0
        done = [False] * len(operators)
        for start in range(len(operators)):
            ready = [start] if not waiting[start] and not done[start] else []
            while ready:
                index = ready.pop()
                if done[index]:
                    continue
                done[index] = True
                made += 1
                self._make(operators[index])
                for user in users[index]:
                    waiting[user] -= 1
                    if not waiting[user] and user < start:  # those behind come in their turn
                        ready.append(user)
        if made != len(operators):
            self.file.fail("operators wait for each other's results")

    def _operator(self, table: Table) -> _Operator:
        number = table.scalar(0, "I")
        attributes_number = table.scalar(1, "B")
        attributes = table.table(2)
        if number == _IDENTITY and attributes_number in (_VARIABLE_READ, _VARIABLE_WRITE):
            number = attributes_number  # how the serializer writes accesses of variables
        if not 0 < number < len(OPERATORS):
            raise ReadError(f"{self.file.name} holds operator number {number}, which TOSA 1.1 does not have",
                            hint="it may come from a newer version of the specification")
        if attributes is not None and attributes_number not in (number, 0):
            self.file.fail(f"{OPERATORS[number].schema_name} has the attributes of operator number {attributes_number}")
        return _Operator(OPERATORS[number], attributes, table.strings(3), table.strings(4))

    def _value(self, name: str) -> Value:
        """The value of a name; a tensor with data that nothing computes is a constant."""
        value = self.values.get(name)
        if value is None:
            tensor = self.tensor(name)
            if tensor.data is None or tensor.variable is not None:
                self.file.fail(f"nothing computes tensor {describe(name)}")
            value = self._constant(name)
        return value

    def _append(self, op: Op, outputs: list[str]) -> None:
        self.block.insert(op, None)
        for name, value in zip(outputs, op.results, strict=True):
            self.values[name] = value

    def _constant(self, name: str) -> Value:
        tensor = self.tensor(name)
        type_ = tensor.type
        data = memoryview(b"") if tensor.data is None else tensor.data
        dense: Dense | None = None
        if isinstance(type_, TensorType):
            if type_.is_static and type_.num_elements <= 2 * len(data):
                dense = decode(data, type_.shape, type_.element)  # type: ignore[arg-type]
            op_name = "tosa.const"
        else:
            dense = decode_shape(data, int(str(type_)[12:-1]))
            op_name = "tosa.const_shape"
        if dense is None:
            self.file.fail(f"constant {describe(name)} of type {type_} has {len(data)} bytes")
        self._append(Op(op_name, (), (type_,), {"values": dense}, (), name), [name])
        return self.values[name]

    def _make(self, operator: _Operator) -> None:
        """One op."""
        kind = operator.kind
        name = kind.op_name
        if name in ("tosa.const", "tosa.const_shape"):
            for output in operator.outputs:
                self._constant(output)
            return
        if lookup(name) is None:
            self.whole.findings.append(Finding(name, "is not supported", tuple(operator.outputs[:1])))
            self._append(Op(name, (), [self.tensor(output).type for output in operator.outputs]), operator.outputs)
            return
        variable = None
        inputs, outputs = operator.inputs, operator.outputs
        if name in ("tosa.identity", "tosa.variable_read", "tosa.variable_write"):
            name, variable, inputs, outputs = self._variable_access(operator)
        operands = [self._value(input_) for input_ in inputs]
        attributes = self._attributes(kind, operator.attributes, operands) if variable is None else {"name": variable}
        regions = [
            self._subgraph(attributes.pop(field.name)) for field in kind.fields if field.kind == "graph"]
        location: Location = outputs[0] if len(outputs) == 1 else FusedLocation(tuple(outputs)) if outputs else None
        op = Op(name, operands, [self.tensor(output).type for output in outputs], attributes, regions, location)
        self._append(op, outputs)

    def _variable_access(self, operator: _Operator) -> tuple[str, str | None, list[str], list[str]]:
        """The op's name, the variable's, and inputs and outputs without the variable's tensor."""
        inputs, outputs = operator.inputs, operator.outputs
        read = self.tensor(inputs[0]).variable if len(inputs) == 1 else None
        if read is not None:
            return "tosa.variable_read", read, [], outputs
        written = self.tensor(outputs[0]).variable if len(outputs) == 1 else None
        if written is not None:
            return "tosa.variable_write", written, inputs, []
        if operator.kind.schema_name != "IDENTITY":
            self.file.fail(f"{operator.kind.schema_name} accesses no variable")
        return "tosa.identity", None, inputs, outputs

    def _subgraph(self, name: str) -> Region:
        table = self.whole.graphs.get(name)
        if table is None:
            self.file.fail(f"there is no graph {describe(name)}")
        if name in self.outer:
            self.file.fail(f"graph {describe(name)} contains itself")
        if len(self.outer) >= MAX_DEPTH:
            raise ReadError(f"{self.file.name}: graphs lie more than {MAX_DEPTH} deep in each other")
        graph = _Graph(self.whole, table, (*self.outer, name))
        inputs = table.strings(3)
        block = Block([graph.tensor(input_).type for input_ in inputs], inputs)
        region = Region([block])
        outputs = graph.fill(block, inputs)
        block.append(Op("tosa.yield", outputs))
        return region

    def _attributes(self, kind: Operator, table: Table | None, operands: list[Value]) -> dict[str, Any]:
        """The op's attributes by name; fields that the file leaves out have the schema's zero."""
        attributes: dict[str, Any] = {}
        if table is None:
            if kind.fields:
                self.file.fail(f"{kind.schema_name} has no attributes")
            return attributes
        for slot, field in enumerate(kind.fields):
            value: Any
            if field.kind == "int":
                value = table.scalar(slot, "i")
            elif field.kind == "bool":
                value = table.scalar(slot, "?", False)
            elif field.kind == "ints":
                value = table.numbers(slot, "i")
            elif field.kind == "dtype":
                value = DTYPES.get(table.scalar(slot, "I"))
            elif field.kind == "number":
                data = table.view(slot)
                element = storage(operands[0].type) if operands and isinstance(operands[0].type, TensorType) else None
                value = None if data is None or element is None else decode_number(data, element)
            elif field.kind in ("text", "graph"):
                value = table.text(slot)
            elif field.kind == "bytes":
                value = bytes(table.view(slot) or b"").decode("latin-1")
            else:
                names = ENUMS[field.kind]
                number = table.scalar(slot, "I")
                value = names[number] if 0 < number < len(names) else None
                if field.kind == "nan" and number == 0:
                    continue  # left out: the op's own default
            if value is None:
                self.file.fail(f"{kind.schema_name}: attribute {field.name} makes no sense")
            attributes[field.name] = value
        return attributes


def describe(value: Any) -> str:
    """A name for messages, shortened."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def read_bytes(data: bytes, name: str = "<data>") -> Module:
    """The module in the bytes of a `.tosa` file."""
    return read(Source(None, data, name), {})

