"""The writer of modules: a module of the dialect `tfl` as a `.tflite` file, one operator for one op.

It decides nothing, as the reader does not: functions become subgraphs, `main` the first of them; values become tensors with
their names, quantized types their scales and zero points, attributes the fields of the operator's options table. Names of inputs
and outputs are in the file's signature, too, where two results are one tensor. What a file cannot hold is found before
anything is written, all of it.

Source: the TFLite schema, `tensorflow/lite/schema/schema.fbs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from transload.errors import ConversionError, Finding, merge_findings
from transload.files import atomic_path
from transload.ir import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    ComplexType,
    Dense,
    DialectType,
    FloatType,
    IntegerType,
    Module,
    NoneType,
    Op,
    QuantType,
    Symbol,
    TensorType,
    Type,
    Value,
    input_names,
    output_names,
)
from transload.ir.build import constant_of
from transload.ir.constants import Packed4Data
from transload.ir.names import FreshNames

from .dialect import BASIC_LSTM, LSTM_INTERMEDIATES, STATES, SUBGRAPH_ATTRIBUTES, attribute_name
from .operators import bytes_of
from .schema import operators, option_fields, options_table
from .subgraphs import misfits
from .versions import RUNTIME_VERSION, operator_version, runtime_version
from .writer import ModelWriter, Quantization, SubgraphWriter

__all__ = ["SIZE_LIMIT", "serialize", "write"]

SIZE_LIMIT = (1 << 31) - 1
"""Bytes that a flatbuffer's offsets can span."""

_ROOM = 1 << 20
"""Bytes that are left to what is no constant, when the size of a file is judged by its constants."""

_SIGNATURE = "serving_default"
"""What the signature is called by custom, where a model has one."""

_ELEMENTS: dict[Type, str] = {F32: "float32", F16: "float16", F64: "float64", BF16: "bfloat16", BOOL: "bool"}
_DIALECT_ELEMENTS = {"tf_type.string": "string", "tf_type.resource": "resource", "tf_type.variant": "variant"}
_WIDTHS = {False: (2, 4, 8, 16, 32, 64), True: (8, 16, 32, 64)}
"""Widths of integers that the schema has, of signed and of unsigned ones."""

_MOST_PLACES = (1 << 31) - 1
"""What a dimension may have in the schema."""

_OPERATORS = {f"tfl.{name.lower()}": name for name in operators().values()} | {BASIC_LSTM: "LSTM"}
_CONSTANTS = frozenset(("tfl.pseudo_const", "tfl.pseudo_qconst"))


def _sizes(shape: tuple[int | None, ...] | None) -> tuple[list[int] | None, list[int] | None]:
    """A shape as a file has it, and its signature where sizes are found as the model runs: 1 there, and -1."""
    if shape is None or None not in shape:
        return None if shape is None else [size for size in shape if size is not None], None
    return [1 if size is None else size for size in shape], [-1 if size is None else size for size in shape]


def write(module: Module, path: str | Path) -> None:
    """Write a module of `tfl` to a `.tflite` file, which is complete or not there.

    Raises `ConversionError` with everything that a file cannot hold, `TransloadError` where the place cannot be written.
    """
    content = serialize(module)
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def serialize(module: Module) -> bytes:
    """The bytes of the `.tflite` file. Raises `ConversionError` with everything that a file cannot hold."""
    return _ModuleWriter(module).content()


class _ModuleWriter:
    """Writes the functions, each into a subgraph, and what belongs to the model as a whole."""

    def __init__(self, module: Module) -> None:
        main = module.main
        self.functions = dict(sorted(module.functions.items(), key=lambda item: item[1] is not main))
        self.states = module.states
        self.findings = [*_foreign(module), *_too_large(module), *misfits(module)]
        self.writer = ModelWriter(str(module.attributes.get("tfl.description", "")))
        self.subgraphs = {
            name: self.writer if index == 0 else self.writer.add_subgraph(name) for index, name in enumerate(self.functions)}
        self.needed: set[tuple[str, int]] = set()
        """The operators, each with its version."""
        self._stored: dict[tuple[int, Type], tuple[Dense, Any]] = {}

    def stored(self, dense: Dense) -> Any:
        """The bytes of a constant; of one that several subgraphs have the same object, which the file holds once."""
        key = id(dense.data), dense.type.element
        if key not in self._stored:
            self._stored[key] = dense, _stored_bytes(dense)
        return self._stored[key][1]

    def content(self) -> bytes:
        if not self.findings:
            for name, function in self.functions.items():
                _FunctionWriter(self, function, self.subgraphs[name]).write()
        if self.findings:
            raise ConversionError("the module cannot be written as a TFLite file", merge_findings(self.findings))
        self.writer.add_metadata(RUNTIME_VERSION, runtime_version(self.needed).encode().ljust(16, b"\0"))
        return self.writer.finish()


def _foreign(module: Module) -> Iterator[Finding]:
    """Ops that are no operators of TFLite."""
    for op in module.ops():
        if op.name in _OPERATORS or op.name in _CONSTANTS or op.name in ("func.return", "tfl.no_value", "tfl.custom"):
            continue
        yield Finding(op.name, "is no operator of TFLite", (op.origin,) if op.origin else (),
                      "`transload coverage --to tfl` says which conversions are there")


def _too_large(module: Module) -> Iterator[Finding]:
    """Whether constants take more bytes than a flatbuffer can address."""
    sizes = {id(dense.data): _byte_count(dense) for op in module.ops() if (dense := _held(op)) is not None}
    if sum(sizes.values()) > SIZE_LIMIT - _ROOM:
        yield Finding(
            "the module", f"has constants of {sum(sizes.values()) / 2**30:.2f} GiB; a TFLite file holds less than 2 GiB",
            hint="quantize it (`transload.quantize`), or cut it into several models")


def _held(op: Op) -> Dense | None:
    return constant_of(op.results[0]) if op.name in _CONSTANTS else None


def _byte_count(dense: Dense) -> int:
    element = dense.type.element
    bits = element.width if isinstance(element, IntegerType) and element.width in (2, 4) else 8 * dense.data.dtype.itemsize
    return (dense.type.num_elements * bits + 7) // 8


class _FunctionWriter:
    """Writes one function into its subgraph."""

    def __init__(self, model: _ModuleWriter, function: Op, graph: SubgraphWriter) -> None:
        self.model = model
        self.function = function
        self.graph = graph
        self.block = function.regions[0].block
        self.tensors: dict[Value, int] = {}
        returned = self.block.last
        self.results: list[Value] = list(returned.operands) if returned is not None and returned.name == "func.return" else []
        self.inputs, self.outputs = input_names(function), output_names(function)
        self.given = self._given_names()
        self.fresh = FreshNames(self.given.values())

    def _given_names(self) -> dict[Value, str]:
        """The names of values that the function's borders give: of an argument always, of a result where it is no argument."""
        names: dict[Value, str] = {}
        for value, name in zip(self.block.arguments, self.inputs, strict=True):
            names[value] = name
        for value, name in zip(self.results, self.outputs, strict=False):
            if name not in names.values():
                names.setdefault(value, name)
        return names

    def write(self) -> None:
        for argument in self.block.arguments:
            self._tensor(argument)
        for op in self.block:
            if op.name in _CONSTANTS:
                self._constant(op)
            elif op.name == "tfl.densify" and constant_of(op.operands[0]) is not None and op.results[0] not in self.results:
                # Sparse constants are made dense when they are read, and LiteRT densifies sparse ones alone.
                self.tensors[op.results[0]] = self.tensors[op.operands[0]]
            elif op.name not in ("tfl.no_value", "func.return"):
                self._operator(op)
        lacking = [value for value in (*self.block.arguments, *self.results) if value not in self.tensors]
        if lacking and not self.model.findings:
            names = tuple(value.name for value in lacking if value.name)
            self.model.findings.append(Finding("func.return", "takes or gives what is no tensor", names))
        if lacking:
            return
        self.graph.inputs = [self.tensors[argument] for argument in self.block.arguments]
        self.graph.outputs = [self.tensors[value] for value in self.results]
        self._signatures()

    # --- tensors

    def _name(self, value: Value) -> str:
        """The name of a value's tensor, which no other of the subgraph has."""
        given = self.given.get(value)
        if given is not None:
            return given
        return self.fresh(value.name or f"tensor{len(self.tensors)}")

    def _tensor(self, value: Value, data: bytes | None = None, is_variable: bool = False) -> None:
        """Add the tensor of a value; what the schema cannot say of its type is a finding."""
        if isinstance(value.type, NoneType):
            return
        described = self._described(value)
        if described is not None:
            shape, dtype, quantization = described
            sizes, signature = _sizes(shape)
            self.tensors[value] = self.graph.add_tensor(
                self._name(value), sizes, dtype, data, quantization, shape_signature=signature, is_variable=is_variable)

    def _described(self, value: Value) -> tuple[tuple[int | None, ...] | None, str, Quantization | None] | None:
        """Shape, type of elements and quantization; None, and a finding, where the schema has no words for the type."""
        type_ = value.type
        why, hint = "", ""
        if not isinstance(type_, TensorType):
            why = f"is of type {type_}, where TFLite has tensors"
        elif type_.shape is not None and not type_.is_static and value.op is None:
            why, hint = "has sizes that are known only when the model runs", "give the inputs static shapes"
        elif type_.shape is not None and max((size or 0 for size in type_.shape), default=0) > _MOST_PLACES:
            why = f"has the shape {list(type_.shape)}, and sizes of TFLite have 32 bits"
        elif isinstance(type_.element, QuantType) and type_.element.blocks is not None:
            why, hint = "has a scale for each block", "quantize per tensor or per channel"
        elif (dtype := _dtype(type_.element)) is None:
            why = f"has elements of {type_.element}, which TFLite does not have"
        else:
            return type_.shape, dtype, _quantization(type_.element)
        name = value.name or (value.op.origin if value.op is not None else None)
        what = value.op.name if value.op is not None else "an argument"
        self.model.findings.append(Finding(what, why, (name,) if name else (), hint))
        return None

    def _constant(self, op: Op) -> None:
        """A constant, or the first state of a variable: nothing is stored of that, it begins with zeros."""
        value, dense = op.results[0], _held(op)
        assert dense is not None
        if op.attribute("is_variable", False):
            self._tensor(value, is_variable=True)
        elif value.uses:
            self._tensor(value, self.model.stored(dense))

    # --- operators

    def _operator(self, op: Op) -> None:
        for result in op.results:
            self._tensor(result, is_variable=_is_state(result))
        inputs = [self.tensors.get(value) for value in op.operands]
        outputs = [self.tensors.get(value, -1) for value in op.results]
        if self.model.findings:
            return
        if op.name == "tfl.custom":
            self.graph.add_custom_operator(op.custom_code, inputs, outputs, bytes_of(op.custom_option))
            return
        operator = _OPERATORS[op.name]
        version = operator_version(operator, op)
        self.model.needed.add((operator, version))
        variables = [_is_variable(value) for value in op.operands]
        self.graph.add_operator(
            operator, inputs, outputs, self._options(operator, op), version=version,
            intermediates=self._intermediates(operator, op), mutating_variable_inputs=variables if any(variables) else ())

    def _options(self, operator: str, op: Op) -> dict[str, Any]:
        """The fields of the operator's options table, from the op's attributes."""
        table = options_table(operator)
        options: dict[str, Any] = {}
        for name, field in option_fields(table).items() if table is not None else ():
            value = op.attribute(attribute_name(name), None)
            if value is None:
                continue
            if name in SUBGRAPH_ATTRIBUTES:
                value = [self._index(one) for one in value] if field.is_vector else self._index(value)
            elif field.is_vector and field.code == "B":
                value = bytes_of(value)
            elif field.is_vector and field.code == "?":
                value = [bool(one) for one in value]
            options[name] = value
        return options

    def _index(self, symbol: Symbol) -> int:
        return list(self.model.functions).index(str(symbol))

    def _intermediates(self, operator: str, op: Op) -> list[int]:
        """Tensors that hold nothing but the types of the inner values of a quantized LSTM."""
        made = []
        if "LSTM" in operator:
            for key in LSTM_INTERMEDIATES:
                type_ = op.attribute(key, None)
                if isinstance(type_, TensorType):
                    element = type_.element
                    name = f"{op.origin or operator.lower()}/{key}"
                    made.append(self.graph.add_tensor(
                        name, type_.static_shape, _dtype(element) or "float32", quantization=_quantization(element)))
        return made

    # --- signatures

    def _signatures(self) -> None:
        """The signatures that the model was read with, where they still fit; of `main` else one of its inputs and outputs."""
        inputs = dict(zip(self.inputs, self.graph.inputs, strict=True))
        outputs = dict(zip(self.outputs, self.graph.outputs, strict=False))
        tensors, writer = inputs | outputs, self.model.writer
        is_main = self.graph.index == 0
        states = self.model.states if is_main else ()
        fitting = [
            signature for signature in _kept_signatures(self.function)
            if {*signature["inputs"].values(), *signature["outputs"].values()} <= tensors.keys()]
        for signature in fitting:
            taken, given = ({key: tensors[name] for key, name in signature[part].items()} for part in ("inputs", "outputs"))
            writer.add_signature(
                signature["key"], _with_states(taken, {state.input: inputs[state.input] for state in states}),
                _with_states(given, {state.output: outputs[state.output] for state in states}), self.graph.index)
        if is_main and not fitting:
            others = [each for each in self.model.functions.values() if each is not self.function]
            keys = [signature["key"] for function in others for signature in _kept_signatures(function)]
            writer.add_signature(FreshNames(keys)(_SIGNATURE), inputs, outputs, self.graph.index)


def _kept_signatures(function: Op) -> list[dict[str, Any]]:
    """The signatures that a function of a file had."""
    kept = function.attributes.get("tfl.signatures")
    return kept if isinstance(kept, list) else []


def _with_states(named: Mapping[str, int], states: Mapping[str, int]) -> dict[str, int]:
    """What a signature names, and states, which it was made without: nobody who runs it would give and take them else."""
    made, fresh = dict(named), FreshNames(named)
    for name, tensor in states.items():
        if named.get(name) != tensor:
            made[fresh(name)] = tensor
    return made


def _is_variable(value: Value) -> bool:
    return value.op is not None and (bool(value.op.attribute("is_variable", False)) or _is_state(value))


def _is_state(value: Value) -> bool:
    """Whether a value is the state of a recurrent operator, which LiteRT's kernels write into.

    One may be dequantized: files with weights of 16 bits have it so.
    """
    return any(value is user.operands[place] for user in value.uses for place in STATES.get(user.name, ())
               if place < len(user.operands))


def _quantization(element: Type) -> Quantization | None:
    return Quantization(element.scales, element.zero_points, element.axis or 0) if isinstance(element, QuantType) else None


def _dtype(element: Type) -> str | None:
    """The schema's name for an element type, in lower case; None where it has none."""
    if isinstance(element, QuantType):
        element = element.storage
    if element in _ELEMENTS:
        return _ELEMENTS[element]
    if isinstance(element, IntegerType):
        known = element.width in _WIDTHS[element.unsigned]
        return f"{'u' if element.unsigned else ''}int{element.width}" if known else None
    if isinstance(element, ComplexType):
        return "complex64" if element.element == F32 else "complex128"
    if isinstance(element, DialectType):
        return _DIALECT_ELEMENTS.get(element.text)
    if isinstance(element, FloatType):
        return {"f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2"}.get(element.name)
    return None


def _stored_bytes(dense: Dense) -> Any:
    """The bytes of a constant as a buffer holds them, in C order; of what is mapped from a file, a view."""
    from .writer_encoding import pack_int2, pack_int4

    element = dense.type.element
    if isinstance(dense.data, Packed4Data):
        return bytes(dense.data.packed)
    array = np.asarray(dense.numpy())
    if isinstance(element, IntegerType) and element.width == 4:
        return pack_int4(array)
    if isinstance(element, IntegerType) and element.width == 2:
        return pack_int2(array)
    array = np.ascontiguousarray(array)
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
