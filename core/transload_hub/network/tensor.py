"""Tensors of a network that is being written: values with numpy's operators, of known shape as soon as they are made.

What an operator gets besides tensors are constants: a number, a list or an array of float64 takes the element type of the tensor
beside it, any other array has its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from operator import index
from typing import Any

import numpy as np

from transload.arrays import lost_numbers
from transload.errors import TransloadError, UsageError
from transload.ir import F32, FloatType, IntegerType, Op, QuantType, TensorType, Type, Value, dtype_of
from transload.ir.build import Builder, cannot_be
from transload.ir.verify import faults_of
from transload.text import parse_type

from .indexing import steps_of

__all__ = ["Tensor", "constant", "current_builder", "element_of", "emit", "quantized", "scope", "sound", "type_of", "writing"]

_builder: ContextVar[Builder] = ContextVar("network_builder")
_scopes: ContextVar[tuple[str, ...]] = ContextVar("network_scopes", default=())
_names: ContextVar[dict[str, int]] = ContextVar("network_names")


@contextmanager
def writing(builder: Builder) -> Iterator[None]:
    """Let ops be added by a builder, within the block."""
    token = _builder.set(builder)
    fresh = _names.set({}) if _names.get(None) is None else None
    try:
        yield
    finally:
        _builder.reset(token)
        if fresh is not None:
            _names.reset(fresh)


def current_builder() -> Builder:
    """The builder of the network that is being written; `UsageError` outside of one."""
    builder = _builder.get(None)
    if builder is None:
        raise UsageError("ops can be called while a network is written", hint="inside a function that network(...) decorates")
    return builder


@contextmanager
def scope(name: str) -> Iterator[None]:
    """Put `name/` in front of what ops within the block are called."""
    token = _scopes.set((*_scopes.get(), name))
    try:
        yield
    finally:
        _scopes.reset(token)


def location_of(given: str | None, op: str) -> str:
    """What an op is called: what its caller says, or the op's name and a number; within its scopes, and only once."""
    names = _names.get()
    whole = "/".join((*_scopes.get(), given or op.lower()))
    number = names[whole] = names.get(whole, 0) + 1
    return whole if number == 1 and given else f"{whole}_{number}"


# --- types


def element_of(given: Any) -> Type:
    """An element type: itself, its name in MLIR (`"f16"`, `"i8"`, `"!quant.uniform<...>"`), or a numpy dtype."""
    if isinstance(given, Type):
        return given
    if isinstance(given, str):
        try:
            return parse_type(given)
        except TransloadError as error:
            raise UsageError(f"{given!r} is no element type: {error}", hint='as "f32", "i8", numpy.float16') from None
    from transload.ir import element_type_of

    return element_type_of(np.dtype(given))


def type_of(given: Any) -> TensorType:
    """A tensor's type: itself, a shape (of f32), a shape and an element type, or text as `"1x3x32x32xf16"`.

    `UsageError` for anything else, and for sizes that are left open: what a network computes follows from them.
    """
    type_ = parse_type(f"tensor<{given}>") if isinstance(given, str) else given
    if isinstance(type_, TensorType) and type_.is_static:
        return type_
    is_pair = isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], tuple | list)
    sizes, element = (given[0], element_of(given[1])) if is_pair else (given, F32)
    try:
        shape = tuple(map(index, sizes))
    except TypeError:
        shape = (-1,)
    if min(shape, default=0) < 0:
        raise UsageError(f"{given!r} is no type of a tensor: sizes are whole numbers from 0 on",
                         hint='as (1, 3, 32, 32), ((1, 8), "i8") or "1x8xi8"')
    return TensorType(shape, element)


def quantized(
    storage: Any = "i8", scale: float | Sequence[float] | np.ndarray = 1.0, zero_point: int | Sequence[int] = 0,
    axis: int | None = None, expressed: Any = "f32",
) -> QuantType:
    """A quantized element type: `real = scale * (stored - zero_point)`, of the tensor or for each index of dimension `axis`."""
    stored, scales = element_of(storage), tuple(np.asarray(scale, np.float64).reshape(-1).tolist())
    points = tuple(int(point) for point in np.asarray(zero_point).reshape(-1))
    if not isinstance(stored, IntegerType):
        raise UsageError(f"quantized numbers are stored as integers, and not as {stored}")
    if (axis is None and len(scales) > 1) or len(points) not in (1, len(scales)):
        raise UsageError(f"{len(scales)} scales and {len(points)} zero points do not fit together",
                         hint="several scales belong to an axis: quantized('i8', scales, axis=0)")
    return QuantType(stored, element_of(expressed), scales, points, axis)


# --- constants


def constant(data: Any, element: Any = None, name: str | None = None) -> Tensor:
    """A constant. Of a quantized element type, integers are what is stored, and floats are quantized.

    Raises `UsageError` for numbers that the element type does not have.
    """
    builder, wanted = current_builder(), None if element is None else element_of(element)
    array = np.asarray(data)
    if isinstance(wanted, QuantType) and array.dtype.kind == "f":
        from transload.engine.quantized import quantize

        array = quantize(array, wanted)
    elif wanted is not None:
        array = _held(array, wanted.storage if isinstance(wanted, QuantType) else wanted)
    elif array.dtype == np.float64:
        array = _held(array, F32)
    elif array.dtype.kind == "O":
        raise UsageError(f"{data!r:.100} is no array of numbers", hint="an element type has to have each: constant(data, 'i64')")
    location = None if name is None else location_of(name, "weight")
    return Tensor(builder.constant(array, wanted, location=location))


def _held(array: np.ndarray, element: Type) -> np.ndarray:
    """Numbers in an element type; `UsageError` where it does not have one of them: beyond its range, a fraction of integers."""
    hint = "a constant takes the element type of the tensor beside it: x.astype('i32') before, where that has it"
    try:
        with np.errstate(all="ignore"):
            made = array.astype(dtype_of(element))
            if isinstance(element, FloatType):
                lost = np.isfinite(array.astype(np.float64)) & ~np.isfinite(made)
            else:
                lost = lost_numbers(array, made)
    except (OverflowError, TypeError, ValueError):
        raise UsageError(f"{array.tolist()!r:.100} is none of {element}", hint=hint) from None
    if np.any(lost):
        raise UsageError(f"{array[lost].tolist()[0]} is none of {element}", hint=hint)
    return made


def _like(data: Any, element: Type | None) -> Tensor:
    """What stands beside a tensor of an element type, as a constant."""
    array = np.asarray(data)
    loose = isinstance(data, bool | int | float | list | tuple) or array.dtype == np.float64
    if loose and isinstance(element, FloatType) and array.dtype.kind in "fiuO":
        return constant(array, element)
    if loose and isinstance(element, IntegerType) and array.dtype.kind in "iubO":
        return constant(array, element)
    if loose and isinstance(element, QuantType) and array.dtype.kind in "fiu":
        bound = float(np.abs(array).max(initial=0.0)) or 1.0
        return constant(array.astype(np.float64), quantized("i8", bound / 127))
    return constant(array)


def emit(
    op: str, operands: Sequence[Any], attributes: dict[str, Any], element: Any = None, name: str | None = None, types: Any = None,
) -> Any:
    """Add an op. Operands are tensors, constants or None; the result is a tensor, or a tuple of them."""
    builder = current_builder()
    first = next((operand.element for operand in operands if isinstance(operand, Tensor)), None)
    values = [None if operand is None else operand.value if isinstance(operand, Tensor) else _like(operand, first).value
              for operand in operands]
    made = builder.emit(
        op, *values, element=None if element is None else element_of(element), location=location_of(name, op.rpartition(".")[2]),
        types=None if types is None else [type_of(each) for each in types], **attributes)
    sound(made[0].owner if isinstance(made, tuple) and made else getattr(made, "owner", None))
    return wrapped(made)


def sound(op: Any) -> None:
    """Raise `ShapeError` where an op that was just made breaks its declaration: in the line that asks for it."""
    faults = faults_of(op) if isinstance(op, Op) else None
    if faults:
        elements = {value.element_or_none for value in op.operands} - {None}
        error = cannot_be(op, faults)
        if len(elements) > 1:
            error.hint = "types are not promoted as numpy does: x.astype('f32') says which all are to be of"
        op.erase()
        raise error


def wrapped(made: Any) -> Any:
    """Values as tensors."""
    return tuple(map(Tensor, made)) if isinstance(made, tuple) else Tensor(made)


class Tensor:
    """A tensor of the network that is being written. `value` is what it is in the module."""

    __slots__ = ("value",)
    __array_ufunc__ = None  # so that `array + tensor` is asked of the tensor
    __hash__ = object.__hash__

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def type(self) -> TensorType:
        return self.value.tensor_type

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.tensor_type.static_shape

    @property
    def element(self) -> Type:
        element: Type = self.value.tensor_type.element
        return element

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        maker = self.value.owner.name if isinstance(self.value.owner, Op) else "an input"
        return f"<Tensor {self.value.name or ''}: {self.type}, of {maker}>"

    def __bool__(self) -> bool:
        raise TypeError("what a tensor holds is not known while the network is written; ops.Where and ops.If choose by it")

    # --- numpy's operators

    def __add__(self, other: Any) -> Tensor:
        return _op("Add", self, other)

    def __radd__(self, other: Any) -> Tensor:
        return _op("Add", other, self)

    def __sub__(self, other: Any) -> Tensor:
        return _op("Sub", self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return _op("Sub", other, self)

    def __mul__(self, other: Any) -> Tensor:
        return _op("Mul", self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return _op("Mul", other, self)

    def __truediv__(self, other: Any) -> Tensor:
        return _op("Div", self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return _op("Div", other, self)

    def __floordiv__(self, other: Any) -> Tensor:
        return _op("FloorDiv", self, other)

    def __rfloordiv__(self, other: Any) -> Tensor:
        return _op("FloorDiv", other, self)

    def __mod__(self, other: Any) -> Tensor:
        return _op("FloorMod", self, other)

    def __rmod__(self, other: Any) -> Tensor:
        return _op("FloorMod", other, self)

    def __pow__(self, other: Any) -> Tensor:
        return _op("Pow", self, other)

    def __rpow__(self, other: Any) -> Tensor:
        return _op("Pow", other, self)

    def __matmul__(self, other: Any) -> Tensor:
        return _op("MatMul", self, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return _op("MatMul", other, self)

    def __neg__(self) -> Tensor:
        return _op("Neg", self)

    def __abs__(self) -> Tensor:
        return _op("Abs", self)

    def __eq__(self, other: Any) -> Tensor:  # type: ignore[override]
        return _op("Compare", self, other, mode="Equal")

    def __ne__(self, other: Any) -> Tensor:  # type: ignore[override]
        return _op("Compare", self, other, mode="NotEqual")

    def __lt__(self, other: Any) -> Tensor:
        return _op("Compare", self, other, mode="Less")

    def __le__(self, other: Any) -> Tensor:
        return _op("Compare", self, other, mode="LessOrEqual")

    def __gt__(self, other: Any) -> Tensor:
        return _op("Compare", self, other, mode="Greater")

    def __ge__(self, other: Any) -> Tensor:
        return _op("Compare", self, other, mode="GreaterOrEqual")

    def __and__(self, other: Any) -> Tensor:
        return _op("LogicalAnd" if self.is_truth else "BitwiseAnd", self, other)

    def __or__(self, other: Any) -> Tensor:
        return _op("LogicalOr" if self.is_truth else "BitwiseOr", self, other)

    def __xor__(self, other: Any) -> Tensor:
        return _op("LogicalXor" if self.is_truth else "BitwiseXor", self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__  # which of two is first is the same

    def __invert__(self) -> Tensor:
        return _op("LogicalNot" if self.is_truth else "BitwiseNot", self)

    @property
    def is_truth(self) -> bool:
        """Whether the elements are true or false."""
        return str(self.element) == "i1"

    def __getitem__(self, key: Any) -> Tensor:
        made = self
        for name, more, attributes in steps_of(key, self.shape):
            made = _op(name, made, *(np.asarray(each) if isinstance(each, list) else each for each in more), **attributes)
        return made

    # --- numpy's methods

    def astype(self, element: Any) -> Tensor:
        """The same numbers in another element type; to a quantized one they are rounded."""
        made: Tensor = emit("top.Cast", [self], {}, element=element)
        return made

    def reshape(self, *shape: int | Sequence[int]) -> Tensor:
        """Another shape; -1 is what is left."""
        sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return _op("Reshape", self, shape=tuple(sizes))

    def transpose(self, *order: int) -> Tensor:
        """The dimensions in another order; the other way round where none is given."""
        return _op("Permute", self, order=tuple(order) or tuple(reversed(range(self.ndim))))

    @property
    def T(self) -> Tensor:
        return self.transpose()

    def sum(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        return self._reduced("ReduceSum", axis, keepdims)

    def mean(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        return self._reduced("ReduceMean", axis, keepdims)

    def max(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        return self._reduced("ReduceMax", axis, keepdims)

    def min(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        return self._reduced("ReduceMin", axis, keepdims)

    def _reduced(self, mode: str, axis: int | Sequence[int] | None, keepdims: bool) -> Tensor:
        axes = tuple(range(self.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        return _op("Reduce", self, axes=axes, keepdims=keepdims, mode=mode)


def _op(name: str, *operands: Any, **attributes: Any) -> Tensor:
    made: Tensor = emit(f"top.{name}", operands, attributes)
    return made
