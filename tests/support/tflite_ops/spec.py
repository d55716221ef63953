"""What a case is: an operator, its tensors by their role, and a number format that gives the roles their types.

A line such as

    cases("ADD", x(2, 3), z(3), formats="f32 i8 i16", fused_activation_function=each("NONE", "RELU"))

stands for six cases. Tensors are inputs of the model unless they hold data. Roles are: `x` the activation, `z` a
second one with a quantization of its own, `y` a result, `p` one between 0 and 1 (softmax), `t` one between -1 and 1
(tanh), `w` weights, `b` a bias. Tensors of a fixed type (`i32`, `i64`, `f32`, `bools`) are the same in all formats.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

__all__ = [
    "FORMATS", "STATE", "Case", "Format", "Tensor", "axes", "b", "bools", "cases", "each", "f32", "i8", "i16", "i32", "i64",
    "number", "p", "t", "u8", "w", "x", "y", "z",
]

RANDOM, STATE = "random", "state"


@dataclass(frozen=True)
class Tensor:
    """A tensor of a case: its shape, and a role or schema type.

    `data` is None for an input, `RANDOM` or an array for a constant, `STATE` for a variable that is zero at first.
    `scale` and `zero` replace the format's quantization, `by` multiplies its scale; `axis` is where weights have a scale
    each. Random numbers lie between `low` and `high` (of quantized roles, in the whole range). `fed` is the shape that
    the input is resized to: its sizes that differ are dynamic in the file.
    """

    shape: tuple[int, ...]
    role: str
    data: Any = None
    scale: float | None = None
    zero: int | None = None
    by: float = 1.0
    axis: int | None = None
    low: float = -2.0
    high: float = 2.0
    fed: tuple[int, ...] | None = None

    @property
    def const(self) -> Tensor:
        """The same as a constant of random numbers."""
        return replace(self, data=RANDOM)

    @property
    def state(self) -> Tensor:
        """The same as a variable, which keeps its numbers from run to run."""
        return replace(self, data=STATE)

    def sized(self, *shape: int) -> Tensor:
        """The same, run with another shape than the file's."""
        return replace(self, fed=shape)

    def __str__(self) -> str:
        sizes = "x".join(map(str, self.shape)) or "scalar"
        sizes += "to" + "x".join(map(str, self.fed)) if self.fed else ""
        if self.data is None:
            return sizes
        return f"{sizes}c" if isinstance(self.data, str) or np.size(self.data) > 6 else _short(np.asarray(self.data).tolist())


def _short(value: Any) -> str:
    return str(value).replace(" ", "").replace("[", "(").replace("]", ")")


def _role(name: str, **fixed: Any) -> Callable[..., Tensor]:
    def tensor(*shape: int, **more: Any) -> Tensor:
        return Tensor(shape, name, **{**fixed, **more})

    return tensor


x, z, y, p, t = map(_role, "xzypt")
w, b = _role("w", data=RANDOM, axis=0), _role("b", data=RANDOM)
f32, i8, u8, i16, i32, i64, bools = map(_role, ("float32", "int8", "uint8", "int16", "int32", "int64", "bool"))


def axes(*numbers: int, dtype: str = "int32") -> Tensor:
    """A constant vector of integers: axes, sizes, a permutation."""
    return Tensor((len(numbers),), dtype, np.asarray(numbers, dtype))


def number(value: Any, dtype: str = "int32") -> Tensor:
    """A constant scalar."""
    return Tensor((), dtype, np.asarray(value, dtype))


@dataclass(frozen=True)
class Format:
    """A number format: types of activations, weights and biases; quantization (scale, zero point) by role."""

    activation: str
    weights: str
    bias: str
    quantization: dict[str, tuple[float, int]] = field(default_factory=dict)
    weight_zero: int = 0
    per_axis: bool = False
    weights_through_float: bool = False
    """The weights are float16 and go through DEQUANTIZE."""

    def dtype(self, role: str) -> str:
        return {"w": self.weights, "b": self.bias}.get(role, self.activation) if len(role) == 1 else role


_INT8 = {"x": (0.047, 3), "z": (0.031, -9), "y": (0.069, -5), "p": (1 / 256, -128), "t": (1 / 128, 0)}
_UINT8 = {role: (scale, zero + 128) for role, (scale, zero) in _INT8.items()}
_INT16 = {"x": (2.1e-4, 0), "z": (1.3e-4, 0), "y": (2.9e-4, 0), "p": (2**-15, 0), "t": (2**-15, 0)}

FORMATS: dict[str, Format] = {
    "f32": Format("float32", "float32", "float32"),
    "i8": Format("int8", "int8", "int32", _INT8, per_axis=True),
    "i8t": Format("int8", "int8", "int32", _INT8),
    "u8": Format("uint8", "uint8", "int32", _UINT8, weight_zero=121),
    "i16": Format("int16", "int8", "int64", _INT16, per_axis=True),
    "i16t": Format("int16", "int8", "int64", _INT16),
    "i4": Format("int8", "int4", "int32", _INT8, per_axis=True),
    "i2": Format("int8", "int2", "int32", _INT8, per_axis=True),
    "f16": Format("float32", "float16", "float16", weights_through_float=True),
    "hybrid": Format("float32", "int8", "float32"),
    "hybrid_axis": Format("float32", "int8", "float32", per_axis=True),
    "hybrid4": Format("float32", "int4", "float32"),
    "hybrid2": Format("float32", "int2", "float32"),
    "i32": Format("int32", "int32", "int32"),
    "i64": Format("int64", "int64", "int64"),
    "bool": Format("bool", "bool", "bool"),
    "raw_i8": Format("int8", "int8", "int8"),
    "raw_u8": Format("uint8", "uint8", "uint8"),
    "raw_i16": Format("int16", "int16", "int16"),
    "raw_u16": Format("uint16", "uint16", "uint16"),
    "raw_u32": Format("uint32", "uint32", "uint32"),
}
"""The formats by name. The `raw` ones are plain integers without a quantization."""


@dataclass(frozen=True)
class Case:
    """A model of one operator. None among the inputs is an absent one.

    `model(assembly, *inputs, **options)` builds the model where one operator is not enough. `expect(*arrays)` computes
    what LiteRT would, for operators that it has no kernel for.
    """

    op: str
    format: str
    inputs: tuple[Tensor | None, ...]
    results: tuple[Tensor, ...]
    options: dict[str, Any]
    version: int = 1
    note: str = ""
    custom: bytes | None = None
    model: Callable[..., Any] | None = None
    expect: Callable[..., Any] | None = None

    def __str__(self) -> str:
        tensors = ",".join("none" if tensor is None else str(tensor) for tensor in self.inputs[:6])
        options = (
            _short(value) if isinstance(value, str | list | tuple) else f"{key}={value}" for key, value in self.options.items())
        return "-".join(filter(None, [self.op, self.format, self.note, tensors, *options]))


class each(tuple):
    """Values of which each makes a case of its own."""

    def __new__(cls, *values: Any) -> each:
        return super().__new__(cls, values)


def _choices(value: Any) -> Sequence[Any]:
    return value if isinstance(value, each) else (value,)


def cases(
    operators: str, *inputs: Any, formats: str = "f32", on: Sequence[tuple[Any, ...]] = (),
    ways: Sequence[dict[str, Any]] = ({},), result: Any = None, results: Sequence[Tensor] | None = None, **more: Any,
) -> list[Case]:
    """All combinations of the operators and the formats (names in one text) and of what is given as `each(...)`.

    `on` holds tuples of inputs, `ways` sets of options, of which each makes cases of its own. The operator has one
    result, of the role `y` unless `result` says otherwise, or those of `results`. What else is given are members
    of `Case` (`version`, `note`, `custom`, `model`, `expect`) and options by their names in the schema.
    """
    members = {name: more.pop(name) for name in ("version", "note", "custom", "model", "expect") if name in more}
    made = []
    for operator, operands, way in itertools.product(operators.split(), on or (inputs,), ways):
        options = {**way, **more}
        for format_, given, values, single in itertools.product(
            formats.split(), itertools.product(*map(_choices, operands)), itertools.product(*map(_choices, options.values())),
            _choices(y() if result is None else result),
        ):
            outputs = (single,) if results is None else tuple(results)
            made.append(Case(operator, format_, given, outputs, dict(zip(options, values, strict=True)), **members))
    return made
