"""What a case is: an op of TensorFlow, its tensors and its attributes.

A line such as

    cases("Add Sub", x(2, 3), x(3), types="float32 int32")

stands for four cases. Tensors are inputs of the graph unless they are constants: `x(...).const`, `ints(1, 2)`, `scalar(0.5)`.
A tensor `x` has the type of the case; `x(2, dtype="int32")` always has that one. What is given as `each(...)` makes a case of
each of its values.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np

from transload_converters.tensorflow.opdefs import OpDef, definition

from tests.support.tensorflow_graphs import T, const, graph, node, placeholder

__all__ = ["STORED", "Case", "Tensor", "cases", "each", "ints", "scalar", "values", "x"]


STORED = {"qint8": "int8", "quint8": "uint8", "qint32": "int32", "qint16": "int16", "quint16": "uint16"}
"""The integers that quantized types store."""


def dtype_of(name: str) -> np.dtype:
    """numpy's type of a name, `bfloat16` among them; of a quantized type that of the integers it stores."""
    return np.dtype(getattr(ml_dtypes, name, STORED.get(name, name)))


@dataclass(frozen=True)
class Tensor:
    """A tensor of a case; `dtype` None is the case's. Random numbers lie in [low, high); `data` are given ones."""

    shape: tuple[int, ...]
    dtype: str | None = None
    low: float | None = None
    high: float | None = None
    data: Any = None
    is_const: bool = False

    @property
    def const(self) -> Tensor:
        """The same as a constant of the graph."""
        return replace(self, is_const=True)

    def array(self, dtype: str, seed: int) -> np.ndarray:
        """The numbers, the same for the same seed."""
        if self.data is not None:
            return np.asarray(self.data, dtype_of(dtype)).reshape(self.shape)
        random = np.random.default_rng(seed)
        if dtype == "bool":
            return random.integers(0, 2, self.shape).astype(bool)
        if dtype_of(dtype).kind in "iu":
            low, high = (0 if dtype_of(dtype).kind == "u" else -9) if self.low is None else self.low, self.high or 10
            return random.integers(int(low), int(high), self.shape).astype(dtype_of(dtype))
        if dtype_of(dtype).kind == "c":
            return (random.uniform(-2, 2, self.shape) + 1j * random.uniform(-2, 2, self.shape)).astype(dtype)
        low, high = -2.0 if self.low is None else self.low, 2.0 if self.high is None else self.high
        return random.uniform(low, high, self.shape).astype(dtype_of(dtype))

    def __str__(self) -> str:
        if self.data is not None and np.size(self.data) <= 8:
            return _short(np.asarray(self.data).reshape(-1).tolist())
        return ("x".join(map(str, self.shape)) or "scalar") + ("c" if self.is_const else "") + (
            f"[{self.low}:{self.high}]" if self.low is not None or self.high is not None else "")


def x(*shape: int, **more: Any) -> Tensor:
    """An input of random numbers."""
    return Tensor(shape, **more)


def values(data: Any, dtype: str | None = None) -> Tensor:
    """An input of given numbers."""
    return Tensor(np.shape(data), dtype, data=data)


def ints(*numbers: int, dtype: str = "int32") -> Tensor:
    """A constant vector of integers."""
    return Tensor((len(numbers),), dtype, data=np.asarray(numbers, np.int64), is_const=True)


def scalar(number: Any, dtype: str = "int32") -> Tensor:
    """A constant scalar."""
    return Tensor((), dtype, data=number, is_const=True)


def _short(value: Any) -> str:
    return str(value).replace(" ", "").replace("[", "(").replace("]", ")")


@dataclass(frozen=True)
class Case:
    """An op with its tensors and attributes; `xla` says that only tensorflow's compiler has it on CPUs."""

    op: str
    type: str
    inputs: tuple[Tensor, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    xla: bool = False
    hub_only: bool = False
    """Whether TOSA has no operator for it."""
    outputs: tuple[int, ...] | None = None
    """Which results are looked at; all of them where None."""

    def __str__(self) -> str:
        shown = (f"{key}={_short(value)}" for key, value in self.attributes.items())
        return "-".join(filter(None, [self.op, self.type, self.note, ",".join(map(str, self.inputs)), *shown]))

    @property
    def definition(self) -> OpDef:
        found = definition(self.op)
        assert found is not None, f"{self.op} is no op of TensorFlow's"
        return found

    @cached_property
    def arrays(self) -> list[np.ndarray]:
        """The numbers of all tensors."""
        seed = zlib.crc32(str(self).encode())
        return [tensor.array(tensor.dtype or self.type, seed + place) for place, tensor in enumerate(self.inputs)]

    @property
    def feeds(self) -> dict[str, np.ndarray]:
        """The inputs of the graph by name."""
        found = {}
        for i, (tensor, array) in enumerate(zip(self.inputs, self.arrays, strict=True)):
            if array.dtype.kind == "c":
                found |= {f"x{i}r": array.real.copy(), f"x{i}i": array.imag.copy()}
            elif not tensor.is_const:
                found[f"x{i}s" if tensor.dtype in STORED else f"x{i}"] = array
        return found

    def _attributes(self) -> dict[str, Any]:
        """The attributes with those that the inputs tell, types as types."""
        known, found = self.definition, {}
        for key, value in self.attributes.items():
            kind = known.attributes[key].kind
            is_type, is_types = kind == "type", kind == "list(type)"
            found[key] = T(value) if is_type else [T(one) for one in value] if is_types else value
        place = 0
        fixed = sum(not (argument.number_attr or argument.type_list_attr) for argument in known.inputs)
        for argument in known.inputs:
            several = argument.number_attr or argument.type_list_attr
            count = found.get(argument.number_attr, len(self.inputs) - fixed) if several else 1
            types = [
                tensor.dtype if tensor.dtype in STORED else array.dtype.name for tensor, array in zip(
                    self.inputs[place : place + count], self.arrays[place : place + count], strict=True)]
            place += count
            if argument.number_attr:
                found.setdefault(argument.number_attr, count)
            if argument.type_list_attr:
                found.setdefault(argument.type_list_attr, [T(name) for name in types])
            elif argument.type_attr and types:
                found.setdefault(argument.type_attr, T(types[0]))
        return found

    @cached_property
    def graph(self) -> bytes:
        """The `GraphDef`: the inputs, the op, and an Identity for each result that is looked at, `y0`, `y1`, ..."""
        nodes = []
        for i, (tensor, array) in enumerate(zip(self.inputs, self.arrays, strict=True)):
            nodes += _source(f"x{i}", tensor, array)
        nodes.append(node("op", self.op, *(f"x{i}" for i in range(len(self.inputs))), attributes=self._attributes()))
        for number, element in self._looked_at():
            nodes += _sink(f"y{number}", f"op:{number}" if number else "op", element)
        return graph(*nodes, producer=_LAST_VERSION.get(self.op, 1900)).SerializeToString()

    def _looked_at(self) -> list[tuple[int, T]]:
        attributes, types = self._attributes(), []
        for output in self.definition.outputs:
            if output.type_list_attr:
                types += attributes[output.type_list_attr]
                continue
            default = self.definition.attributes[output.type_attr].default if output.type_attr else None
            element = T(_NAMES.get(output.type, output.type)) if output.type else attributes.get(
                output.type_attr, T(_NAMES.get(default, default)))
            types += [element] * (attributes[output.number_attr] if output.number_attr else 1)
        wanted = range(len(types)) if self.outputs is None else self.outputs
        return [(number, types[number]) for number in wanted]


def _source(name: str, tensor: Tensor, array: np.ndarray) -> list[Any]:
    """The nodes of an input: complex numbers come as two tensors, quantized ones as the integers they store."""
    if tensor.is_const:
        return [const(name, array)]
    if array.dtype.kind == "c":
        parts = [placeholder(f"{name}{part}", array.shape) for part in "ri"]
        return [*parts, node(name, "Complex", f"{name}r", f"{name}i", T=T("float32"), Tout=T("complex64"))]
    if tensor.dtype in STORED:
        plain = placeholder(f"{name}s", array.shape, array.dtype.name)
        return [plain, node(name, "Bitcast", f"{name}s", T=T(array.dtype.name), type=T(tensor.dtype))]
    return [placeholder(name, array.shape, array.dtype.name)]


def _sink(name: str, source: str, element: T) -> list[Any]:
    """The nodes that give a result, named so that they begin with its name."""
    if element == "complex64":
        return [node(f"{name}{part}", op, source, T=element, Tout=T("float32")) for part, op in (("r", "Real"), ("i", "Imag"))]
    if element in STORED:
        return [node(name, "Bitcast", source, T=element, type=T(STORED[element]))]
    return [node(name, "Identity", source, T=element)]


_LAST_VERSION = {"TopK": 6, "QuantizeAndDequantize": 21, "BatchNormWithGlobalNormalization": 8, "Conv3DBackpropInput": 9}
"""The last version of graphs that may have an op."""
_NAMES = {"float": "float32", "double": "float64", "half": "float16"}


class each(tuple):
    """Values of which each makes a case of its own."""

    def __new__(cls, *values: Any) -> each:
        return super().__new__(cls, values)


def _choices(value: Any) -> Sequence[Any]:
    return value if isinstance(value, each) else (value,)


def cases(
    ops: str, *inputs: Any, types: str = "float32", on: Sequence[tuple[Any, ...]] = (), ways: Sequence[dict[str, Any]] = ({},),
    **more: Any,
) -> list[Case]:
    """All combinations of the ops and types (names in one text) and of what is given as `each(...)`.

    `on` holds tuples of inputs, `ways` sets of attributes, of which each makes cases of its own. `note`, `xla`, `outputs` and
    `hub_only` are members of `Case`; what else is given are attributes by name.
    """
    members = {name: more.pop(name) for name in ("note", "xla", "outputs", "hub_only") if name in more}
    made = []
    for op, operands, way in itertools.product(ops.split(), on or (inputs,), ways):
        attributes = {**way, **more}
        for type_, given, held in itertools.product(
            types.split(), itertools.product(*map(_choices, operands)), itertools.product(*map(_choices, attributes.values())),
        ):
            made.append(Case(op, type_, given, dict(zip(attributes, held, strict=True)), **members))
    return made
