"""Emitting `tf` ops for layers: each with its static result type, named by the layer that it is part of."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transload.budget import allowance
from transload.errors import Unsupported
from transload.ir import BOOL, F32, I32, Block, Dense, FloatType, Op, TensorType, Type, Value, dtype_of, element_type_of
from transload.ir.attributes import FloatAttr

from .promotion import promoted

__all__ = ["LATEST", "Graph", "Shape", "broadcast", "conv_size", "f32", "shape_of"]

Shape = tuple[int, ...]
LATEST = 1000
"""The second number of a version that says none: later than all there are."""


def f32(value: float) -> FloatAttr:
    """A float attribute, as `tf` ops have them."""
    return FloatAttr(float(value), F32)


def shape_of(value: Value) -> Shape:
    """The sizes of a value; all are static here."""
    return value.static_shape


def broadcast(*shapes: Sequence[int]) -> Shape:
    """The shape that shapes have together, by numpy's rule; raises `Unsupported` where they do not fit."""
    try:
        return np.broadcast_shapes(*map(tuple, shapes))
    except ValueError:
        raise Unsupported(f"shapes {' and '.join(str(list(shape)) for shape in shapes)} do not go together") from None


def conv_size(size: int, window: int, stride: int, dilation: int, padding: str) -> int:
    """How many places a window has in one dimension (padding `SAME` or `VALID`)."""
    if padding == "SAME":
        return -(-size // stride)
    places = -(-(size - (window - 1) * dilation) // stride)
    if places < 1:
        raise Unsupported(f"a window of {(window - 1) * dilation + 1} does not fit into a size of {size}")
    return places


class Graph:
    """Emits ops at the end of a block.

    `scope` is the name of the layer at work: its ops are called `scope/Op`, and the one that gives its result `scope`.
    `keras` and `minor` are the version of Keras that wrote the file: what some names mean has changed.
    """

    def __init__(self, block: Block, keras: int = 3, minor: int = LATEST) -> None:
        self.block, self.keras, self.minor = block, keras, minor
        self.scope = ""
        self.training = False
        """Whether the layer at work, or one around it, is called as in training, which before Keras 3 it is at inference, too."""
        self._ops = allowance().ops
        self._constants: dict[Any, Value] = {}
        self._names: dict[str, int] = {}
        self.taken: set[str] = set()
        """Names of layers that an op has."""

    def since(self, major: int, minor: int) -> bool:
        """Whether Keras is of this version, or a later one."""
        return (self.keras, self.minor) >= (major, minor)

    # --- the basis

    def _spend(self, count: int) -> None:
        """Count ops that are made, or the results of one that has as many as a tensor has parts."""
        self._ops -= count
        if self._ops < 0:
            raise Unsupported("it would take more ops to say what this layer computes than a run may make",
                              "TRANSLOAD_BUDGET=ops=NUMBER allows more")

    def emit_many(self, name: str, operands: Sequence[Value], types: Sequence[Type], **attributes: Any) -> tuple[Value, ...]:
        """An op and its results. Attributes of None are left out."""
        self._spend(1)
        for type_ in types:
            shape = type_.shape if isinstance(type_, TensorType) else ()
            if shape is not None and math.prod(size or 0 for size in shape) > 1 << 36:
                raise Unsupported(f"it computes {type_}, which has more elements than anything can hold")
        given = {key: value for key, value in attributes.items() if value is not None}
        op = Op(f"tf.{name}", operands, types, given, (), self._location(name))
        self.block.append(op)
        return tuple(op.results)

    def emit(
        self, name: str, operands: Sequence[Value], shape: Sequence[int], element: Type | None = None, **attributes: Any,
    ) -> Value:
        """An op of one result: of `shape`, and of the element type of its first operand, or `element`."""
        type_ = TensorType(tuple(shape), element or operands[0].element)
        return self.emit_many(name, operands, (type_,), **attributes)[0]

    def _location(self, name: str) -> str:
        base = f"{self.scope}/{name}" if self.scope else name
        count = self._names.get(base, 0)
        self._names[base] = count + 1
        return f"{base}_{count}" if count else base

    def constant(self, value: Any, element: Type | None = None) -> Value:
        """A constant: of a `Dense`, an array, or numbers (integers are i32 and floats f32 where `element` says nothing)."""
        if isinstance(value, Dense):
            return self._constant(value)
        if element is not None:
            array = np.asarray(value).astype(dtype_of(element))
        else:
            array = np.asarray(value)
            wanted = {"i": np.int32, "f": np.float32}.get(array.dtype.kind) if not isinstance(value, np.ndarray) else None
            array = array.astype(wanted) if wanted is not None else array
            element = BOOL if array.dtype.kind == "b" else element_type_of(array.dtype)
        key = (array.tobytes(), array.shape, str(element)) if array.size <= 64 else None
        if key is None or key not in self._constants:
            made = self._constant(Dense(array, TensorType(array.shape, element)))
            if key is None:
                return made
            self._constants[key] = made
        return self._constants[key]

    def _constant(self, dense: Dense) -> Value:
        return self.emit_many("Const", (), (dense.type,), value=dense)[0]

    # --- elementwise

    def unary(self, name: str, x: Value, element: Type | None = None, **attributes: Any) -> Value:
        return self.emit(name, (x,), shape_of(x), element, **attributes)

    def binary(self, name: str, x: Value, y: Any, element: Type | None = None) -> Value:
        """An op of two operands that are broadcast; a number is taken for a constant of the other's type."""
        x, y = self.pair(x, y)
        return self.emit(name, (x, y), broadcast(shape_of(x), shape_of(y)), element)

    def pair(self, x: Any, y: Any) -> tuple[Value, Value]:
        """Two operands as values of the element type that they have together (`promotion`)."""
        first, second = self.promoted(x, y)
        return first, second

    def promoted(self, *operands: Any) -> list[Value]:
        """Values, arrays and numbers as values of the element type that they have together (`promotion`)."""
        element = promoted(*operands, strict=self.keras >= 3)
        return [self.cast(each, element) if isinstance(each, Value) else self.constant(each, element) for each in operands]

    def like(self, number: Any, value: Value) -> Value:
        """A number as a constant beside a value: of its type, or of f32 beside integers where it is no integer."""
        array = np.asarray(number)
        element = value.element
        if array.dtype.kind == "f" and dtype_of(element).kind in "iub":
            element = F32
        return self.constant(array, element)

    def cast(self, x: Value, element: Type) -> Value:
        return x if x.element == element else self.emit("Cast", (x,), shape_of(x), element)

    def to_float(self, x: Value) -> Value:
        """Integers and truth values as 32-bit floats; floats as they are."""
        return x if isinstance(x.element, FloatType) else self.cast(x, F32)

    def select(self, condition: Value, x: Any, y: Any) -> Value:
        x, y = self.pair(x, y)
        shape = broadcast(shape_of(condition), shape_of(x), shape_of(y))
        return self.emit("SelectV2", (condition, x, y), shape, x.element)

    def __getattr__(self, name: str) -> Callable[..., Value]:
        """`graph.Add(x, y)`, `graph.Tanh(x)`: the elementwise ops by their own names."""
        known = _BINARY.get(name)
        if known is not None:
            made = BOOL if known == "?" else None
            return lambda x, y: self.binary(name, x, y, made)
        known = _UNARY.get(name)
        if known is not None:
            made = BOOL if known == "?" else None
            return lambda x: self.unary(name, x, made)
        raise AttributeError(name)

    # --- shapes

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        """One size may be -1."""
        sizes = list(shape)
        total = math.prod(shape_of(x))
        if sizes.count(-1) == 1:
            rest = -math.prod(sizes)
            sizes[sizes.index(-1)] = total // rest if rest else 0
        if any(size < 0 for size in sizes) or math.prod(sizes) != total:
            raise Unsupported(f"a tensor of shape {list(shape_of(x))} cannot have the shape {list(shape)}")
        if tuple(sizes) == shape_of(x):
            return x
        return self.emit("Reshape", (x, self.constant(sizes or np.zeros(0, np.int32))), sizes)

    def transpose(self, x: Value, order: Sequence[int]) -> Value:
        shape = shape_of(x)
        if sorted(order) != list(range(len(shape))):
            raise Unsupported(f"{list(order)} is no order of the {len(shape)} dimensions")
        if list(order) == sorted(order):
            return x
        return self.emit("Transpose", (x, self.constant(list(order))), [shape[axis] for axis in order])

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        first = list(shape_of(values[0]))
        axis = self.axis(axis, len(first))
        for value in values:
            other = shape_of(value)
            if len(other) != len(first) or [*first[:axis], *first[axis + 1 :]] != [*other[:axis], *other[axis + 1 :]]:
                shapes = [list(shape_of(v)) for v in values]
                raise Unsupported(f"tensors of shapes {shapes} cannot be joined along dimension {axis}")
        if len(values) == 1:
            return values[0]
        values = self.promoted(*values)
        first[axis] = sum(shape_of(value)[axis] for value in values)
        return self.emit("ConcatV2", (*values, self.constant(axis)), first)

    def stack(self, values: Sequence[Value], axis: int) -> Value:
        shape = list(shape_of(values[0]))
        axis = self.axis(axis, len(shape) + 1)
        shape.insert(axis, len(values))
        return self.emit("Pack", self.promoted(*values), shape, axis=axis)

    def unstack(self, x: Value, axis: int) -> tuple[Value, ...]:
        shape = list(shape_of(x))
        axis = self.axis(axis, len(shape))
        count = shape.pop(axis)
        self._spend(count)
        return self.emit_many("Unpack", (x,), (TensorType(tuple(shape), x.element),) * count, num=count, axis=axis)

    def split(self, x: Value, count: int, axis: int) -> tuple[Value, ...]:
        shape = list(shape_of(x))
        axis = self.axis(axis, len(shape))
        if not count or shape[axis] % count:
            raise Unsupported(f"a size of {shape[axis]} cannot be split into {count} equal parts")
        shape[axis] //= count
        self._spend(count)
        types = (TensorType(tuple(shape), x.element),) * count
        return self.emit_many("Split", (self.constant(axis), x), types, num_split=count)

    def pad(self, x: Value, pads: Sequence[Sequence[int]], value: Any = None) -> Value:
        """`pads`: before and after, of each dimension; zeros, or `value`."""
        shape = [size + before + after for size, (before, after) in zip(shape_of(x), pads, strict=True)]
        if not any(sum(map(abs, pair)) for pair in pads):
            return x
        amounts = self.constant(np.array(pads, np.int32))
        if value is None:
            return self.emit("Pad", (x, amounts), shape)
        return self.emit("PadV2", (x, amounts, self.constant(value, x.element)), shape)

    def slice(self, x: Value, begin: Sequence[int], end: Sequence[int], step: Sequence[int] | None = None) -> Value:
        """Of each dimension the places from `begin` to before `end`, which lie in it."""
        step = step or [1] * len(begin)
        shape = [max(0, -(-(e - b) // s)) for b, e, s in zip(begin, end, step, strict=True)]
        if tuple(shape) == shape_of(x) and all(s == 1 for s in step):
            return x
        places = [self.constant(list(each)) for each in (begin, end, step)]
        return self.emit("StridedSlice", (x, *places), shape)

    def narrow(self, x: Value, axis: int, begin: int, end: int) -> Value:
        """The places from `begin` to before `end` of one dimension."""
        shape = shape_of(x)
        axis = self.axis(axis, len(shape))
        return self.slice(x, [begin if place == axis else 0 for place in range(len(shape))],
                          [end if place == axis else size for place, size in enumerate(shape)])

    def expand(self, x: Value, axis: int) -> Value:
        shape = list(shape_of(x))
        shape.insert(self.axis(axis, len(shape) + 1), 1)
        return self.emit("ExpandDims", (x, self.constant(axis)), shape)

    def squeeze(self, x: Value, axis: int) -> Value:
        shape = list(shape_of(x))
        axis = self.axis(axis, len(shape))
        if shape[axis] != 1:
            raise Unsupported(f"dimension {axis} of shape {shape} is not of size 1")
        del shape[axis]
        return self.emit("Squeeze", (x,), shape, squeeze_dims=[axis])

    def tile(self, x: Value, counts: Sequence[int]) -> Value:
        if all(count == 1 for count in counts):
            return x
        return self.emit("Tile", (x, self.constant(list(counts))),
                         [size * count for size, count in zip(shape_of(x), counts, strict=True)])

    def repeat(self, x: Value, count: int, axis: int) -> Value:
        """Each place of a dimension `count` times."""
        shape = list(shape_of(x))
        axis = self.axis(axis, len(shape))
        if count == 1:
            return x
        counts = [1] * (len(shape) + 1)
        counts[axis + 1] = count
        shape[axis] *= count
        return self.reshape(self.tile(self.expand(x, axis + 1), counts), shape)

    def broadcast_to(self, x: Value, shape: Sequence[int]) -> Value:
        if tuple(shape) == shape_of(x):
            return x
        broadcast(shape_of(x), shape)
        return self.emit("BroadcastTo", (x, self.constant(list(shape))), shape)

    def reverse(self, x: Value, axis: int) -> Value:
        return self.emit("ReverseV2", (x, self.constant([self.axis(axis, x.rank)])), shape_of(x))

    def gather(self, x: Value, indices: Value, axis: int = 0) -> Value:
        shape = shape_of(x)
        axis = self.axis(axis, len(shape))
        made = (*shape[:axis], *shape_of(indices), *shape[axis + 1 :])
        return self.emit("GatherV2", (x, indices, self.constant(axis)), made, batch_dims=0)

    def one_hot(
        self, indices: Value, depth: int, element: Type, axis: int = -1, on_value: Any = 1, off_value: Any = 0,
    ) -> Value:
        shape = list(shape_of(indices))
        axis = self.axis(axis, len(shape) + 1)
        shape.insert(axis, depth)
        on, off = (each if isinstance(each, Value) else self.constant(each, element) for each in (on_value, off_value))
        return self.emit("OneHot", (indices, self.constant(depth), on, off), shape, element,
                         axis=-1 if axis == len(shape) - 1 else axis)

    @staticmethod
    def axis(axis: int, rank: int) -> int:
        """A dimension counted from the front; raises `Unsupported` where there is none such."""
        if isinstance(axis, bool) or not isinstance(axis, int) or not -rank <= axis < rank:
            raise Unsupported(f"there is no dimension {axis!r} among {rank}")
        return axis % rank if rank else 0

    def axes(self, axes: Any, rank: int) -> list[int]:
        """Dimensions (a number, several, or None for all), counted from the front, in order."""
        if axes is None:
            return list(range(rank))
        several = axes if isinstance(axes, list | tuple) else [axes]
        return sorted({self.axis(axis, rank) for axis in several})

    # --- reductions, products

    def reduce(self, name: str, x: Value, axes: Any, keep: bool = False) -> Value:
        """`Mean`, `Sum`, `Max`, `Min`, `Prod`, `All` or `Any` over dimensions."""
        shape = shape_of(x)
        places = self.axes(axes, len(shape))
        if not places:
            return x
        made = [1 if place in places else size for place, size in enumerate(shape) if keep or place not in places]
        return self.emit(name, (x, self.constant(places)), made, keep_dims=keep)

    def arg(self, name: str, x: Value, axis: int, element: Type = I32) -> Value:
        """`ArgMax` or `ArgMin`."""
        shape = list(shape_of(x))
        axis = self.axis(axis, len(shape))
        del shape[axis]
        return self.emit(name, (x, self.constant(axis)), shape, element)

    def matmul(self, x: Value, y: Value, transpose_x: bool = False, transpose_y: bool = False) -> Value:
        """The product of the last two dimensions; those before them are broadcast."""
        a, b = list(shape_of(x)), list(shape_of(y))
        if min(len(a), len(b)) < 2:
            raise Unsupported(f"there is no matrix product of shapes {a} and {b}")
        rows, inner = (a[-1], a[-2]) if transpose_x else (a[-2], a[-1])
        other, columns = (b[-1], b[-2]) if transpose_y else (b[-2], b[-1])
        if inner != other:
            raise Unsupported(f"there is no matrix product of shapes {a} and {b}")
        x, y = self.pair(x, y)
        if len(a) == len(b) == 2:
            return self.emit("MatMul", (x, y), (rows, columns), transpose_a=transpose_x, transpose_b=transpose_y)
        shape = (*broadcast(a[:-2], b[:-2]), rows, columns)
        return self.emit("BatchMatMulV2", (x, y), shape, adj_x=transpose_x, adj_y=transpose_y)

    def einsum(self, equation: str, *values: Value) -> Value:
        """A sum of products by an equation, whose dots are the dimensions that it has no letters for, broadcast."""
        inputs, arrow, output = equation.replace(" ", "").partition("->")
        parts = inputs.split(",")
        if len(parts) != len(values):
            raise Unsupported(f"the equation {equation!r} is of {len(parts)} tensors, and is given {len(values)}")
        if not arrow:
            letters = inputs.replace(",", "").replace(".", "")
            output = ("..." if "..." in inputs else "") + "".join(sorted(each for each in letters if letters.count(each) == 1))
        parts, output, values = self._without_dots(equation, parts, output, self.promoted(*values))
        sizes: dict[str, int] = {}
        for letters, value in zip(parts, values, strict=True):
            if len(letters) != value.rank:
                raise Unsupported(f"the equation {equation!r} is not of a tensor of shape {list(shape_of(value))}")
            for letter, size in zip(letters, shape_of(value), strict=True):
                if sizes.setdefault(letter, size) != size:
                    raise Unsupported(f"the equation {equation!r} has {letter} of two sizes, {sizes[letter]} and {size}")
        if any(letter not in sizes for letter in output):
            raise Unsupported(f"the equation {equation!r} gives what it is not given")
        return self.emit("Einsum", values, [sizes[letter] for letter in output], equation=f"{','.join(parts)}->{output}")

    def _without_dots(
        self, equation: str, parts: Sequence[str], output: str, values: Sequence[Value],
    ) -> tuple[list[str], str, tuple[Value, ...]]:
        """An equation with letters instead of dots; a dimension of size 1 that is broadcast is taken out of its tensor."""
        counts = [value.rank - len(letters.replace("...", "")) for letters, value in zip(parts, values, strict=True)]
        dotted = [count for letters, count in zip(parts, counts, strict=True) if "..." in letters]
        free = [letter for letter in string.ascii_letters if letter not in equation]
        if not dotted or min(dotted) < 0 or max(dotted) > len(free):
            return list(parts), output, tuple(values)
        most = max(dotted)
        shapes = [shape_of(value)[letters.index(".") :][:count] if "..." in letters else ()
                  for letters, value, count in zip(parts, values, counts, strict=True)]
        whole = broadcast(*shapes)
        made, given = [], []
        for letters, value, shape in zip(parts, values, shapes, strict=True):
            places = range(most - len(shape), most)
            wide = [place for place, size in zip(places, shape, strict=True) if size == whole[place]]
            if len(wide) < len(shape):
                first = letters.index(".")
                kept = [whole[place] for place in wide]
                value = self.reshape(value, [*shape_of(value)[:first], *kept, *shape_of(value)[first + len(shape) :]])
            made.append(letters.replace("...", "".join(free[place] for place in wide)))
            given.append(value)
        return made, output.replace("...", "".join(free[:most])), tuple(given)

    # --- windows

    def pool(self, name: str, x: Value, window: Sequence[int], strides: Sequence[int], padding: str) -> Value:
        """`MaxPool` or `AvgPool`, of two dimensions (NHWC) or three (NDHWC)."""
        shape = shape_of(x)
        sizes = [conv_size(*each, 1, padding) for each in zip(shape[1:-1], window, strides, strict=True)]
        three = len(window) == 3
        return self.emit(f"{name}3D" if three else name, (x,), (shape[0], *sizes, shape[-1]), ksize=[1, *window, 1],
                         strides=[1, *strides, 1], padding=padding, data_format="NDHWC" if three else "NHWC")


_UNARY = dict.fromkeys((
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Erfinv", "Exp", "Expm1",
    "Floor", "Identity", "Invert", "Lgamma", "Log", "Log1p", "Neg", "Reciprocal", "Relu", "Relu6", "Rint", "Round", "Rsqrt",
    "Selu",
    "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Square", "Tan", "Tanh", "ZerosLike", "OnesLike", "Softmax",
    "LogSoftmax"), "") | dict.fromkeys(("LogicalNot", "IsNan", "IsInf", "IsFinite"), "?")
"""Elementwise ops of one operand; `?`: they give truth values."""

_BINARY = dict.fromkeys((
    "AddV2", "Atan2", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "DivNoNan", "FloorDiv", "FloorMod", "LeftShift", "Maximum",
    "Minimum", "Mul", "Pow", "RealDiv", "RightShift", "SquaredDifference", "Sub", "Xlogy"), "") | dict.fromkeys((
        "Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual", "LogicalAnd", "LogicalOr"), "?")
