"""The reader: a `.tflite` file as a module of the dialect `tfl`, one op for one operator.

It decides nothing. Subgraphs become functions, the first of them `main`; tensors become values with their
names, constants views of the mapped file. Dynamic dimensions get the sizes that the user asks for, or else
those that the file was planned with, so that a function's arguments are always static.

Source: the TFLite schema; which models are valid follows `tensorflow/lite/core/subgraph.cc`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from transload.budget import text_fault
from transload.entry import choose_entry
from transload.errors import Finding, ForeignContent, MissingFunction, ReadError, TransloadError, UsageError
from transload.flatbuffer import FlatFile, Table
from transload.input_shapes import Size, StaticShapes, no_input, static_shapes
from transload.ir import (
    NONE,
    Dense,
    DialectType,
    FusedLocation,
    Module,
    NoneType,
    Op,
    QuantType,
    TensorType,
    Type,
    Value,
    new_module,
    set_results,
)
from transload.ir.verify import check
from transload.plugin import Source
from transload.sizes_text import sizes_text
from transload.suggest import nearest

from .blocks import blocked_element
from .dialect import BLOCKWISE, LSTM_INTERMEDIATES, SPARSE_BLOCK
from .operators import OperatorCode, read_attributes, read_operator_code
from .schema import numbers
from .signatures import (
    SIGNATURE_INPUTS,
    SIGNATURE_KEY,
    SIGNATURE_OUTPUTS,
    SIGNATURE_SUBGRAPH,
    called_outputs,
    entries_of,
    output_names,
    outputs_called,
)
from .sparsity import row_block
from .tensors import Tensor, constant_data, read_tensor, tensor_name, zero_state

__all__ = ["Names", "detect", "open_model", "read", "tensor_names"]

_IDENTIFIER = b"TFL3"

_VERSION, _CODES, _SUBGRAPHS, _DESCRIPTION, _BUFFERS, _SIGNATURES = numbers(
    "Model", "version", "operator_codes", "subgraphs", "description", "buffers", "signature_defs")
_TENSORS, _INPUTS, _OUTPUTS, _OPERATORS, _NAME = numbers("SubGraph", "tensors", "inputs", "outputs", "operators", "name")
_OPCODE_INDEX, _OP_INPUTS, _OP_OUTPUTS, _INTERMEDIATES = numbers(
    "Operator", "opcode_index", "inputs", "outputs", "intermediates")


def detect(head: bytes, path: Path | None = None) -> bool:
    """Whether a file that starts with these bytes is a TFLite model."""
    return head[4:8] == _IDENTIFIER


def read(source: Source, inputs: Mapping[str, TensorType] | None = None, as_planned: bool = False) -> Module:
    """Read a model. `inputs` gives the types, or only the shapes, of inputs by name.

    Sizes that the file leaves open must be given, but for a batch; with `as_planned`, they are what the file was planned with.

    The subgraph of a signature, or of a name, that the user asks for is the model; the first one else. Raises `ReadError` for
    anything wrong with the file, `UsageError` for inputs that do not fit the model, and for a signature that is not there.
    """
    file, model = open_model(source)
    wanted, source.function = source.function, None
    entry = entry_of(file, model, wanted)
    reader = _ModelReader(file, model, dict(inputs or {}), as_planned, entry.subgraph)
    module = reader.module()
    module.notes += entry.notes
    if entry.subgraph and wanted is not None:
        choose_entry(module, reader.functions[entry.subgraph])
        module.entry = wanted if wanted != "main" else reader.functions[entry.subgraph]  # the first subgraph is called so, too
    module.source = source.path
    module.source_format = "tflite"
    findings = check(module, inferred=False)
    if findings:
        raise ReadError(f"{file.name} is not a valid TFLite model", findings)
    if not as_planned:
        _complete(module)
    return module


def _complete(module: Module) -> None:
    """Find the sizes of computed tensors that the file does not say; what stands in the way of that is a conversion's to tell."""
    if all(type_.is_static for type_ in module.outputs.values() if isinstance(type_, TensorType)):
        return
    from .legalize.sizes import find_sizes

    with suppress(TransloadError):
        find_sizes(module)


def open_model(source: Source) -> tuple[FlatFile, Table]:
    """The file and its root table, after a look at the identifier and the version."""
    name = str(source.path) if source.path is not None else source.name
    try:
        file = FlatFile(source.data, name)
    except OSError as error:
        raise ReadError(f"{name} cannot be read: {error.strerror or error}") from None
    if not detect(bytes(file.data[:8])):
        why = f"this is no TFLite model: bytes 4 to 8 are {bytes(file.data[4:8])!r}, not {_IDENTIFIER!r}"
        raise ForeignContent(f"{name} cannot be read", [Finding(file.place, why)])
    model = file.root()
    version = model.scalar(_VERSION, "I")
    if version != 3:
        file.fail(f"the schema version is {version}; only version 3 exists in files of today")
    return file, model


@dataclass(frozen=True)
class Entry:
    """Which subgraph of a file is the model, and where one was asked for the signature of that name, or one of that subgraph."""

    subgraph: int
    signature: Table | None = None
    notes: tuple[str, ...] = ()


def entry_of(file: FlatFile, model: Table, wanted: str | None) -> Entry:
    """The first subgraph, or that of a signature, or of a name, which the user wants. `MissingFunction` where there is none."""
    signatures = {table.text(SIGNATURE_KEY): table for table in model.tables(_SIGNATURES)}
    places = {key: int(table.scalar(SIGNATURE_SUBGRAPH, "I")) for key, table in signatures.items()}
    functions = _function_names(file, model.tables(_SUBGRAPHS))
    place = 0 if wanted is None else places.get(wanted, functions.index(wanted) if wanted in functions else None)
    if place is None or (wanted is not None and place >= len(functions)):
        there = [*signatures, *functions]
        guess = nearest(str(wanted), there)
        raise MissingFunction(
            f"{file.name} has no signature or function {wanted!r}", hint=(f"did you mean {guess!r}? " if guess else "") + (
                f"signatures: {', '.join(signatures) or 'none'}; functions: {', '.join(functions)}"))
    own, others = ([key for key, at in places.items() if (at == place) == same] for same in (True, False))
    read = f"{'signatures' if len(own) > 1 else 'signature'} {', '.join(map(repr, own))} {'are' if len(own) > 1 else 'is'} read"
    further = f"--signature takes {', '.join(others)}, too"
    note = "; ".join([*([read] if own else []), *([further] if others else [])])
    key = None if wanted is None else wanted if wanted in signatures else next(iter(own), None)
    return Entry(place, signatures.get(key or ""), (note,) if len(signatures) > 1 or others else ())


def _function_names(file: FlatFile, subgraphs: Sequence[Table]) -> list[str]:
    return _unique(file, ["main", *(table.text(_NAME) for table in subgraphs[1:])], "subgraph")


class Names(NamedTuple):
    """The names of tensors, as `read` gives them."""

    inputs: list[str]
    outputs: list[str]
    tensors: list[str]
    """Those of all tensors of the subgraph."""
    signature: tuple[dict[str, str], dict[str, str]] = ({}, {})
    """By the names that the signature of what was asked for has for inputs and outputs, those of the tensors."""
    key: str = ""
    subgraph: int = 0


def tensor_names(source: Source, function: str | None = None) -> Names:
    """The names of the inputs, outputs and of all tensors of the main subgraph, or that of a function or signature."""
    file, model = open_model(source)
    subgraphs = model.tables(_SUBGRAPHS)
    if not subgraphs:
        file.fail("the model has no subgraph")
    entry = entry_of(file, model, function)
    table = subgraphs[entry.subgraph]
    names = _unique(file, [tensor_name(each) for each in table.tables(_TENSORS)])

    def pick(indices: Sequence[int]) -> list[str]:
        if not all(0 <= index < len(names) for index in indices):
            file.fail(f"a tensor number among {list(indices)} does not exist; there are {len(names)}")
        return [names[index] for index in indices]

    def named(slot: int) -> list[tuple[str, int]]:
        entries = entries_of(entry.signature, slot) if entry.signature is not None else []
        pick([tensor for _, tensor in entries])
        return entries

    inputs, outputs = table.numbers(_INPUTS, "i"), table.numbers(_OUTPUTS, "i")
    pick(outputs)
    called = called_outputs(model.tables(_SIGNATURES)).get(entry.subgraph, [])
    distinct = _unique(file, output_names(names, inputs, outputs, called))
    taken = {called: names[tensor] for called, tensor in named(SIGNATURE_INPUTS)}
    given = outputs_called(named(SIGNATURE_OUTPUTS), names, outputs, distinct)
    key = entry.signature.text(SIGNATURE_KEY) if entry.signature is not None else ""
    return Names(pick(inputs), distinct, names, (taken, given), key, entry.subgraph)


def _unique(file: FlatFile, names: Sequence[str], stem: str = "tensor") -> list[str]:
    """The names, made distinct by a number behind those that are there already; none is empty.

    Raises `ReadError` where that would be too many characters: the file holds a name once, that is the name of many tensors.
    """
    taken: set[str] = set()
    unique = []
    made = 0
    for index, name in enumerate(names):
        candidate = name or f"{stem}{index}"
        if candidate in taken:
            candidate = f"{candidate}_{index}"
            while candidate in taken:
                candidate += "_"
            made += len(candidate)
            why, hint = text_fault(made, file.size)
            if why:
                file.fail(why, hint)
        taken.add(candidate)
        unique.append(candidate)
    return unique


class _ModelReader:
    """Reads the parts that the subgraphs share, then each subgraph."""

    def __init__(self, file: FlatFile, model: Table, inputs: dict[str, TensorType], as_planned: bool, entry: int) -> None:
        self.file = file
        self.model = model
        self.as_planned = as_planned
        self.entry = entry
        self.wanted = inputs
        self.findings: list[Finding] = []
        self.codes: list[OperatorCode] = []
        for index, table in enumerate(model.tables(_CODES)):
            file.place = f"operator code {index}"
            self.codes.append(read_operator_code(table))
        file.place = "the list of buffers"
        self.buffers = model.tables(_BUFFERS)
        self.subgraphs = model.tables(_SUBGRAPHS)
        self.functions = _function_names(file, self.subgraphs)
        file.place = "the signatures"
        self.called = called_outputs(model.tables(_SIGNATURES))

    def module(self) -> Module:
        """The whole model."""
        file = self.file
        if not self.subgraphs:
            file.fail("the model has no subgraph")
        module = new_module()
        module.attributes["tfl.schema_version"] = 3
        description = self.model.text(_DESCRIPTION)
        if description:
            module.attributes["tfl.description"] = description
        readers = []
        for index, table in enumerate(self.subgraphs):
            reader = _SubgraphReader(self, table, index)
            readers.append(reader)
            reader.function(module)
        if self.findings:
            raise ReadError(f"{file.name} cannot be read", self.findings)
        self._signatures(readers)
        return module

    def _signatures(self, readers: list[_SubgraphReader]) -> None:
        """Note on the functions by which names a signature calls its tensors."""
        file = self.file
        for number, table in enumerate(self.model.tables(_SIGNATURES)):
            file.place = f"signature {number}"
            subgraph = table.scalar(SIGNATURE_SUBGRAPH, "I")
            if subgraph >= len(readers):
                file.fail(f"it belongs to subgraph {subgraph}; the model has {len(readers)}")
            reader = readers[subgraph]
            reader.op.attributes.setdefault("tfl.signatures", []).append({
                "key": table.text(SIGNATURE_KEY),
                "inputs": {called: reader.names[tensor] for called, tensor in self._tensor_map(table, SIGNATURE_INPUTS, reader)},
                "outputs": outputs_called(
                    self._tensor_map(table, SIGNATURE_OUTPUTS, reader), reader.names, reader.outputs, reader.output_names),
            })

    def _tensor_map(self, signature: Table, slot: int, reader: _SubgraphReader) -> list[tuple[str, int]]:
        entries = entries_of(signature, slot)
        for _, tensor in entries:
            if tensor >= len(reader.names):
                self.file.fail(f"it names tensor {tensor}; there are {len(reader.names)}")
        return entries


class _SubgraphReader:
    """Reads one subgraph into a function."""

    def __init__(self, model: _ModelReader, table: Table, index: int) -> None:
        self.model = model
        self.file = model.file
        self.table = table
        self.index = index
        self.where = f"subgraph {index}, " if len(model.subgraphs) > 1 else ""
        self.tensors: list[Tensor] = []
        for number, tensor in enumerate(table.tables(_TENSORS)):
            self.file.place = f"{self.where}tensor {number}"
            self.tensors.append(read_tensor(tensor))
        for number, held in enumerate(self.tensors):
            if held.blocks is not None:
                self.file.place = f"{self.where}tensor {number}"
                held.element = blocked_element(held, held.blocks, self.tensors, self._numbers)
        self.names = _unique(self.file, [tensor.name for tensor in self.tensors])
        self.outputs: Sequence[int] = ()
        self.output_names: list[str] = []
        self.values: dict[int, Value] = {}
        self.stale = False
        self.op: Any = None
        self._none: Value | None = None

    def function(self, module: Module) -> Op:
        """Append the function for this subgraph to `module`."""
        file, tensors = self.file, self.tensors
        file.place = f"{self.where}inputs"
        inputs = self.table.numbers(_INPUTS, "i")
        self._check_indices(inputs)
        if len(set(inputs)) != len(inputs):
            file.fail(f"a tensor is an input twice: {list(inputs)}")
        types = self._input_types(inputs)
        if self.index == self.model.entry and not self.model.as_planned:
            chosen = self._chosen_sizes(inputs)
            module.notes = chosen.notes
            types = [
                type_.with_shape(chosen.shapes.get(self.names[i], type_.shape)) for i, type_ in zip(inputs, types, strict=True)]
        self.stale = any(type_.shape != tensors[i].shape for i, type_ in zip(inputs, types, strict=True))
        self.op = module.add_function(self.model.functions[self.index], types, [self.names[i] for i in inputs])
        self.block = self.op.regions[0].block
        for i, argument in zip(inputs, self.block.arguments, strict=True):
            self.values[i] = argument
        for number, operator in enumerate(self.table.tables(_OPERATORS)):
            file.place = f"{self.where}operator {number}"
            self._operator(operator, number)
        file.place = f"{self.where}outputs"
        self.outputs = outputs = self.table.numbers(_OUTPUTS, "i")
        self._check_indices(outputs)
        self.output_names = _unique(
            file, output_names(self.names, inputs, outputs, self.model.called.get(self.index, [])))
        set_results(self.op, [self._value(i) for i in outputs], self.output_names)
        if self.index:
            self.op.attributes["sym_visibility"] = "private"
        return self.op

    def _check_indices(self, indices: Sequence[int]) -> None:
        for index in indices:
            if not 0 <= index < len(self.tensors):
                self.file.fail(f"tensor {index} does not exist; there are {len(self.tensors)}")

    def _numbers(self, tensor: Tensor) -> np.ndarray | None:
        """The numbers of a tensor that is constant, else None."""
        if tensor.buffer >= len(self.model.buffers) or _no_numbers(tensor):
            return None
        data = constant_data(tensor, self.model.buffers[tensor.buffer])
        return None if data is None else np.asarray(data.numpy())

    # --- types

    def _input_types(self, inputs: Sequence[int]) -> list[TensorType]:
        """The types of the arguments, as wanted by the user where the subgraph is the main one."""
        wanted = self.model.wanted if self.index == self.model.entry else {}
        names = [self.names[i] for i in inputs]
        for name in wanted:
            if name not in names:
                raise no_input(name, names, self.file.name)
        return [self._input_type(self.tensors[i], name, wanted.get(name)) for i, name in zip(inputs, names, strict=True)]

    def _chosen_sizes(self, inputs: Sequence[int]) -> StaticShapes:
        """The shapes of inputs, as given; else sizes that the file leaves open and plans as 1 are chosen, and noted.

        Raises `ReadError` where such a size is no batch: a model planned for images of one pixel is nobody's model; and where the
        file leaves a shape out. Raises `UsageError` where a size is given that the file fixes.
        """
        given = {name: type_.shape for name, type_ in self.model.wanted.items() if type_.shape is not None}
        planned = {self.names[i]: self._sizes(self.tensors[i]) for i in inputs if self.names[i] not in given}
        declared = {self.names[i]: planned.get(self.names[i], self._limits(self.tensors[i])) for i in inputs}
        found = static_shapes(declared, given, self.file.name, shows_numbers=False)
        return replace(found, notes=(*found.notes, *self._planned_sizes(planned, found.shapes)))

    def _sizes(self, tensor: Tensor) -> list[Size] | None:
        """The sizes of an input for which the user gives none."""
        return [None if size is None and plan == 1 else plan for size, plan in zip(tensor.signature, tensor.shape, strict=True)
                ] if tensor.told else None

    def _limits(self, tensor: Tensor) -> list[Size] | None:
        """What sizes that a user gives for an input must be: what the file's signature fixes; any, where it has none."""
        if not tensor.known_rank:
            return None
        return list(tensor.signature) if tensor.has_signature else [None] * len(tensor.shape)

    def _planned_sizes(self, inputs: Mapping[str, Sequence[Size] | None], taken: Mapping[str, Sequence[int]]) -> list[str]:
        """What is said of open sizes for which the file has a plan other than 1, which LiteRT runs with, too."""
        said = []
        for i, name in ((i, name) for i, name in enumerate(self.names) if name in inputs):
            open_, planned = self.tensors[i].signature, inputs[name]
            if any(size is None and plan is not None for size, plan in zip(open_, planned or (), strict=True)):
                said.append(
                    f"the file leaves sizes of {name!r} open, {sizes_text(open_)}; those that it was planned with were taken, "
                    f"{sizes_text(taken[name])}: --shape makes them others")
        return said

    def _input_type(self, tensor: Tensor, name: str, wanted: TensorType | None) -> TensorType:
        own = tensor.type
        if wanted is None or wanted.shape is None:
            return own
        if any(size is None or size < 0 for size in wanted.shape):
            raise UsageError(f"the shape {_shape_text(wanted.shape)} wanted for input {name!r} is not static")
        plain = own.element.storage if isinstance(own.element, QuantType) else own.element
        if not isinstance(wanted.element, NoneType) and wanted.element not in (own.element, plain):
            raise UsageError(f"input {name!r} has elements of type {own.element}, not {wanted.element}")
        return own.with_shape(tuple(wanted.shape))

    def _result_type(self, tensor: Tensor) -> Type:
        """The type of a computed tensor; its dimensions are unknown where an input's shape was changed.

        A size that is open and planned as 1 is unknown, too: converters write a 1 for every size that they did not find, be it
        the batch, or one that follows from sizes that are fixed, as of an image that is made larger.
        """
        if not tensor.known_rank:
            return TensorType(None, tensor.element)
        if self.stale:
            return TensorType((None,) * len(tensor.shape), tensor.element)
        if None in tensor.signature:
            sizes = zip(tensor.signature, tensor.shape, strict=True)
            return TensorType(tuple(plan if said is not None or plan != 1 else None for said, plan in sizes), tensor.element)
        return tensor.type

    # --- values

    def _value(self, index: int) -> Value:
        """The value of a tensor that is read: computed before, or a constant."""
        value = self.values.get(index)
        if value is None:
            if index == -1:
                return self._absent()
            self._check_indices((index,))
            value = self.values[index] = self._constant(index)
        return value

    def _absent(self) -> Value:
        if self._none is None:
            self._none = self.block.append(Op("tfl.no_value", (), (NONE,), {"value": None})).results[0]
        return self._none

    def _constant(self, index: int) -> Value:
        """The op that holds a constant, or the first state of a variable."""
        tensor, name, file = self.tensors[index], self.names[index], self.file
        reason = _no_numbers(tensor)
        if reason:  # go on, to find all such constants; `read` raises in the end
            self.model.findings.append(Finding(f"{self.where}tensor {index}", reason, (name,)))
            return self.block.append(Op("tfl.pseudo_const", (), (tensor.type,), {}, (), name)).results[0]
        if tensor.buffer >= len(self.model.buffers):
            file.fail(f"tensor {name!r} is in buffer {tensor.buffer}; there are {len(self.model.buffers)}")
        data = constant_data(tensor, self.model.buffers[tensor.buffer])
        if tensor.is_variable:
            if data is not None:
                file.fail(f"tensor {name!r} is a variable with numbers in the file, which LiteRT does not run either")
            dense = zero_state(tensor)
        elif data is None:
            if 0 not in tensor.shape:
                file.fail(f"tensor {name!r} is used before anything computes it, and it is no constant, input or variable")
            dense = zero_state(tensor)
        else:
            storage = tensor.element.storage if isinstance(tensor.element, QuantType) else tensor.element
            dense = Dense(data, TensorType(tensor.shape, storage))
        attributes: dict[str, Any] = {"value": dense}
        op_name = "tfl.pseudo_const"
        if isinstance(tensor.element, QuantType):
            op_name = "tfl.pseudo_qconst"
            attributes["qtype"] = tensor.type
        if tensor.is_variable:
            attributes["is_variable"] = True
        return self.block.append(Op(op_name, (), (tensor.type,), attributes, (), name)).results[0]

    # --- operators

    def _operator(self, table: Table, number: int) -> None:
        """Append one operator."""
        file, codes = self.file, self.model.codes
        code_index = table.scalar(_OPCODE_INDEX, "I")
        if code_index >= len(codes):
            file.fail(f"operator code {code_index} does not exist; there are {len(codes)}")
        code = codes[code_index]
        file.place = f"{self.where}operator {number} ({code.custom_code or code.operator})"
        name, attributes = read_attributes(code, table, self.model.functions)
        inputs = table.numbers(_OP_INPUTS, "i")
        operands = [self._value(i) for i in inputs]
        weights = self.tensors[inputs[1]] if len(inputs) > 1 and inputs[1] >= 0 else None
        if code.operator == "FULLY_CONNECTED" and weights is not None and weights.blocks is not None:
            attributes[BLOCKWISE] = True
        if code.operator == "FULLY_CONNECTED" and weights is not None and weights.sparse is not None:
            attributes[SPARSE_BLOCK] = row_block(weights.sparse)
        outputs = table.numbers(_OP_OUTPUTS, "i")
        types: list[Type] = []
        for i in outputs:
            if i == -1:
                types.append(NONE)
                continue
            self._check_indices((i,))
            if i in self.values:
                file.fail(f"it writes tensor {self.names[i]!r}, which already has a value")
            types.append(self._result_type(self.tensors[i]))
        intermediates = table.numbers(_INTERMEDIATES, "i")
        if intermediates and "LSTM" in code.operator:
            self._check_indices(intermediates)
            for key, i in zip(LSTM_INTERMEDIATES, intermediates, strict=False):
                attributes[key] = self.tensors[i].type
        names = tuple([self.names[i] if i >= 0 else None for i in outputs])
        location = names[0] if len(names) == 1 else FusedLocation(names) if names else None
        op = self.block.append(Op(name, operands, types, attributes, (), location))
        for i, result in zip(outputs, op.results, strict=True):
            if i in self.values:
                file.fail(f"it writes tensor {self.names[i]!r} twice")
            if i >= 0:
                self.values[i] = result


def _no_numbers(tensor: Tensor) -> str:
    """Why a constant cannot be represented, or nothing."""
    if tensor.external:
        return "the constant lies in another file (an external buffer), which is not supported"
    if isinstance(tensor.element, DialectType):
        return f"a constant of {tensor.element} holds no numbers; only numbers can be compiled"
    return ""


def _shape_text(shape: Sequence[int | None]) -> str:
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"
