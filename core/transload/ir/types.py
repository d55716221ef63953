"""Types of values: tensors, their element types, functions.

Every type is immutable, hashable and compared by value. Names, text and meaning follow MLIR's
builtin and `quant` dialects, so that text interchange with MLIR tools is lossless.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from ..errors import Unfit
from .given import items_of, misfit_part, need_part, reals_of, sizes_of, whole_of, wholes_of

__all__ = [
    "DYNAMIC", "BF16", "BOOL", "F16", "F32", "F64", "I4", "I8", "I16", "I32", "I48", "I64", "INDEX", "NONE",
    "UI8", "UI16", "UI32", "UI64",
    "Blocks", "BuiltinType", "ComplexType", "DialectType", "FloatType", "FunctionType", "IndexType", "IntegerType", "NoneType",
    "QuantType", "TensorType", "TupleType", "Type", "format_shape",
]

TYPES = "as `transload.ir.F32`, or `element_type_of(array.dtype)`"
"""What to write where a type is wanted, in messages."""
DYNAMIC: None = None
"""A dimension that is not known until run time (`?` in text)."""


FLOAT_NAME = re.compile(r"bf16|tf32|f16|f32|f64|f80|f128|f8E\w+|f6E\w+|f4E\w+")
"""What floating-point formats are called in MLIR text."""
_LONG_LIST = re.compile(r"\{([^{}]{60,})\}")


class Type:
    """Base of all types. `str(type)` is its MLIR text; `repr` is that with long lists of scales left out."""

    __slots__ = ("_hash", "_text")

    _hash: int
    _text: str
    _derived: ClassVar[tuple[str, ...]] = ("_hash", "_text")
    """What is made of the other members when it is first asked for."""

    def _key(self) -> tuple:
        return ()

    def _format(self) -> str:
        raise TypeError(f"{type(self).__name__} has no text form")

    def __str__(self) -> str:
        try:
            return self._text
        except AttributeError:
            text = self._format()
            object.__setattr__(self, "_text", text)
            return text

    def __repr__(self) -> str:
        return _LONG_LIST.sub(lambda found: f"{{{found[1].count(',') + 1} scales}}", str(self))

    def __copy__(self) -> Type:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Type:
        return self

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """What is pickled: a hash is another one in each process."""
        names = [name for kind in type(self).__mro__ for name in getattr(kind, "__slots__", ()) if name not in self._derived]
        return None, {name: getattr(self, name) for name in names}

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            value = hash((type(self), self._key()))
            object.__setattr__(self, "_hash", value)
            return value

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(self) is type(other) and self._key() == other._key()


class _Unique(Type):
    """A type of which there is one object only for each key, so that equal ones are the same one.

    Whether an element is an `i8` is asked thousands of times in a conversion, and is answered by identity.
    """

    __slots__ = ()
    _made: ClassVar[dict[tuple, Any]] = {}
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @classmethod
    def _one(cls, **members: Any) -> Any:
        """The type with these members."""
        key = cls, *members.values()
        found = _Unique._made.get(key)
        if found is None:
            made = object.__new__(cls)
            for name, value in members.items():
                setattr(made, name, value)
            found = _Unique._made.setdefault(key, made)  # where two threads make it, the first stays
        return found

    def __reduce__(self) -> tuple:
        return type(self), self._key()


_SIGNS = ("", "s", "u")


class IntegerType(_Unique):
    """An integer of `width` bits: signless (`i8`, the usual one), signed (`si8`) or unsigned (`ui8`)."""

    __slots__ = ("_range", "signedness", "unsigned", "width")

    width: int
    signedness: str  # "" | "s" | "u"
    unsigned: bool
    _range: tuple[int, int]

    def __new__(cls, width: int, signedness: str = "") -> IntegerType:
        if width.__class__ is not int or width < 0 or signedness.__class__ is not str or signedness not in _SIGNS:
            width = whole_of(width, "IntegerType", "width")
            if width < 0:
                raise misfit_part("IntegerType", "width", width, "a number of bits")
            if not isinstance(signedness, str) or signedness not in _SIGNS:
                raise misfit_part("IntegerType", "signedness", signedness, "'' (no sign), 's' (signed) or 'u' (unsigned)")
        made: IntegerType = cls._one(width=width, signedness=signedness, unsigned=signedness == "u")
        return made

    @property
    def range(self) -> tuple[int, int]:
        """Least and greatest value (`i1` is 0 to 1)."""
        try:
            return self._range
        except AttributeError:
            width = self.width
            if self.unsigned or width == 1:
                self._range = 0, (1 << width) - 1
            else:
                self._range = -(1 << (width - 1)), (1 << (width - 1)) - 1
            return self._range

    def _key(self) -> tuple:
        return (self.width, self.signedness)

    def _format(self) -> str:
        return f"{self.signedness}i{self.width}"


class FloatType(_Unique):
    """A floating-point format by its MLIR name: `f32`, `bf16`, `f8E4M3FN`, ..."""

    __slots__ = ("name",)

    name: str

    def __new__(cls, name: str) -> FloatType:
        if not isinstance(name, str) or not FLOAT_NAME.fullmatch(name):
            raise misfit_part("FloatType", "name", name, "a format's name in MLIR", "as f32, bf16 or f8E4M3FN")
        made: FloatType = cls._one(name=name)
        return made

    def _key(self) -> tuple:
        return (self.name,)

    def _format(self) -> str:
        return self.name


class ComplexType(Type):
    """A complex number of two elements of a floating-point type."""

    __slots__ = ("element",)

    def __init__(self, element: Type) -> None:
        need_part(element, Type, "ComplexType", "element", "a type", TYPES)
        self.element = element

    def _key(self) -> tuple:
        return (self.element,)

    def _format(self) -> str:
        return f"complex<{self.element}>"


class IndexType(Type):
    """An integer of the machine's size, for sizes and subscripts."""

    __slots__ = ()

    def _format(self) -> str:
        return "index"


class NoneType(Type):
    """The type of an absent optional operand."""

    __slots__ = ()

    def _format(self) -> str:
        return "none"


class DialectType(Type):
    """A type of another dialect, kept as its text: `!acme.shape<4>` is `DialectType("acme.shape<4>")`."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        need_part(text, str, "DialectType", "text", "a text")
        self.text = text

    def _key(self) -> tuple:
        return (self.text,)

    def _format(self) -> str:
        return f"!{self.text}"


class BuiltinType(Type):
    """A builtin type that this IR gives no meaning (`vector<4xf32>`, `memref<...>`), kept as its text."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        need_part(text, str, "BuiltinType", "text", "a text")
        self.text = text

    def _key(self) -> tuple:
        return (self.text,)

    def _format(self) -> str:
        return self.text


class Blocks(NamedTuple):
    """How a tensor is divided into blocks of one scale each.

    `sizes` says of each dimension how many indices a block takes, None: all of them. `grid` says how many blocks that
    makes; where a size is None, one.
    """

    sizes: tuple[int | None, ...]
    grid: tuple[int, ...]


class QuantType(Type):
    """A quantized element: `real = scale * (stored - zero_point)` (MLIR's `!quant.uniform`).

    `scales` and `zero_points` have one entry for the tensor, or one for each index of dimension `axis`, or one for each
    of its `blocks`, in the order of the tensor's elements; scales may be given as an array, too. The three are one idea,
    and a type is of the simplest form that says it: `transload.ir.quantization` makes types of any grid of scales, and
    follows them through permutations and the like.
    `storage` is the integer type of the stored number, `expressed` the float it stands for; `storage_min`/`storage_max`
    narrow the stored range (TFLite's symmetric int8 weights use -127 to 127).

    A filter has hundreds of scales (`count`), and much is computed with them: `scale_array` has them as a read-only array of
    float64. Of the two, the one that was not given is made when it is first asked for, and so is `has_sound_scales`: whether
    every scale is finite and not negative.

    Source: MLIR quant dialect, UniformQuantizedType, UniformQuantizedPerAxisType, UniformQuantizedSubChannelType.
    """

    __slots__ = (
        "axis", "blocks", "count", "expressed", "has_sound_scales", "scale_array", "scales", "storage", "storage_max",
        "storage_min", "zero_points")

    scales: tuple[float, ...]
    scale_array: np.ndarray
    has_sound_scales: bool
    _derived = (*Type._derived, "scale_array", "has_sound_scales")

    def __init__(
        self, storage: IntegerType, expressed: Type, scales: tuple[float, ...] | np.ndarray, zero_points: tuple[int, ...],
        axis: int | None = None, storage_min: int | None = None, storage_max: int | None = None, blocks: Blocks | None = None,
    ) -> None:
        if storage.__class__ is not IntegerType or not isinstance(expressed, Type) or not (
                blocks is None or isinstance(blocks, Blocks)):
            need_part(storage, IntegerType, "QuantType", "storage", "an integer type", "as `transload.ir.I8`")
            need_part(expressed, Type, "QuantType", "expressed", "a type", TYPES)
            need_part(blocks, Blocks | None, "QuantType", "blocks", "Blocks or None")
        low, high = storage.range
        if isinstance(scales, np.ndarray):
            if scales.dtype.kind not in "fiu" or scales.ndim != 1:
                raise misfit_part("QuantType", "scales", scales, "a tuple of numbers")
            self.scale_array = _read_only(scales)
        else:
            if scales.__class__ is not tuple:
                scales = reals_of(scales, "QuantType", "scales")
            for scale in scales:
                if scale.__class__ is not float:
                    scales = reals_of(scales, "QuantType", "scales")
                    break
            self.scales = scales
            if len(scales) == 1:
                self.has_sound_scales = 0 <= scales[0] < math.inf
        if zero_points.__class__ is not tuple:
            zero_points = wholes_of(zero_points, "QuantType", "zero_points")
        if (not zero_points and scales) or (not len(scales) and axis is None and blocks is None):
            raise misfit_part("QuantType", "zero_points" if len(scales) else "scales", (), "a number at least")
        for number in zero_points:
            if number.__class__ is not int:
                zero_points = wholes_of(zero_points, "QuantType", "zero_points")
                break
        self.storage = storage
        self.expressed = expressed
        self.count = len(scales)
        self.zero_points = zero_points if len(zero_points) == self.count else zero_points * self.count
        self.axis = axis if axis is None or axis.__class__ is int else whole_of(axis, "QuantType", "axis")
        self.blocks = blocks
        self.storage_min = low if storage_min is None else whole_of(storage_min, "QuantType", "storage_min")
        self.storage_max = high if storage_max is None else whole_of(storage_max, "QuantType", "storage_max")

    def __getattr__(self, name: str) -> Any:
        """What is made when it is first asked for; a member that is there is found without this."""
        if name == "scales":
            self.scales = tuple(self.scale_array.tolist())
        elif name == "scale_array":
            self.scale_array = _read_only(np.array(self.scales))
        elif name == "has_sound_scales":
            self.has_sound_scales = self._are_sound()
        else:
            raise AttributeError(f"a quantized type has no {name!r}")
        return getattr(self, name)

    def _are_sound(self) -> bool:
        # A sum of what is not a number is none, wherever that stands, and so is the least of an array.
        if self.count < 8:
            return math.isfinite(sum(self.scales)) and min(self.scales, default=0) >= 0
        return bool(np.minimum.reduce(self.scale_array) >= 0 and np.maximum.reduce(self.scale_array) < math.inf)

    def _key(self) -> tuple:
        return (self.scales, *self._key_of_rest())

    def _key_of_rest(self) -> tuple:
        """All but the scales."""
        return (
            self.storage, self.expressed, self.zero_points, self.axis, self.storage_min, self.storage_max, self.blocks)

    # Equality is as of every type; said anew because two types nearly always differ in the first thing looked at here.

    __hash__ = Type.__hash__

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not QuantType or self.count != other.count:
            return False
        if self.count < 8:
            return self.scales == other.scales and self._key_of_rest() == other._key_of_rest()
        mine, theirs = self.scale_array, other.scale_array
        return mine.item(0) == theirs.item(0) and bool((mine == theirs).all()) and self._key_of_rest() == other._key_of_rest()

    def replace(self, **changes: Any) -> QuantType:
        """The type with other values of some members, named as those of the constructor."""
        held: dict[str, Any] = {
            "storage": self.storage, "expressed": self.expressed, "zero_points": self.zero_points, "axis": self.axis,
            "storage_min": self.storage_min, "storage_max": self.storage_max, "blocks": self.blocks}
        if "scales" in changes:
            return QuantType(**(held | changes))
        made = QuantType(**(held | changes), scales=self.scales if self.count < 8 else self.scale_array)
        made.has_sound_scales = self.has_sound_scales
        return made

    @property
    def per_tensor(self) -> bool:
        """Whether one scale and zero point are those of all elements."""
        return self.axis is None and self.blocks is None

    @property
    def scale(self) -> float:
        """The scale of a per-tensor type."""
        return self.scales[0]

    @property
    def zero_point(self) -> int:
        """The zero point of a per-tensor type."""
        return self.zero_points[0]

    @property
    def per_axis(self) -> bool:
        """Whether there is a scale for each index of one dimension."""
        return self.axis is not None

    def _format(self) -> str:
        storage = f"{'u' if self.storage.unsigned else 'i'}{self.storage.width}"
        if (self.storage_min, self.storage_max) != self.storage.range:
            storage += f"<{self.storage_min}:{self.storage_max}>"

        def one(scale: float, zero_point: int) -> str:
            number = format_float(scale) if math.isfinite(scale) else f"0x{struct.pack('>d', scale).hex().upper()}"
            return number + (f":{zero_point}" if zero_point else "")

        if self.blocks is not None:
            sizes = ", ".join(f"{dim}:{size}" for dim, size in enumerate(self.blocks.sizes) if size is not None)
            nested = _nested(list(map(one, self.scales, self.zero_points)), self.blocks.grid)
            return f"!quant.uniform<{storage}:{self.expressed}:{{{sizes}}}, {nested}>"
        if self.axis is None:
            return f"!quant.uniform<{storage}:{self.expressed}, {one(self.scale, self.zero_point)}>"
        entries = ",".join(map(one, self.scales, self.zero_points))
        return f"!quant.uniform<{storage}:{self.expressed}:{self.axis}, {{{entries}}}>"


def _read_only(array: np.ndarray) -> np.ndarray:
    """An array as one of float64 that cannot be written to."""
    if array.dtype == np.float64 and not array.flags.writeable:
        return array
    copy = np.array(array, np.float64)
    copy.flags.writeable = False
    return copy


def _nested(entries: Sequence[str], shape: tuple[int, ...]) -> str:
    """Entries in braces, one level for each dimension of `shape`."""
    for size in reversed(shape):
        entries = ["{" + ", ".join(entries[i : i + size]) + "}" for i in range(0, len(entries), size)]
    return entries[0]


class TensorType(Type):
    """A tensor: `shape` is a tuple of sizes with None for a dynamic one, or None where the rank is unknown."""

    __slots__ = ("element", "encoding", "shape")

    def __init__(self, shape: tuple[int | None, ...] | None, element: Type, encoding: str | None = None) -> None:
        if shape is not None:
            if shape.__class__ is not tuple:
                shape = sizes_of(shape, "TensorType", unknown=True)
            for size in shape:
                if size.__class__ is not int and size is not None:
                    shape = sizes_of(shape, "TensorType", unknown=True)
                    break
        if not isinstance(element, Type):
            raise misfit_part("TensorType", "element", element, "a type", TYPES)
        if encoding is not None and not isinstance(encoding, str):
            raise misfit_part("TensorType", "encoding", encoding, "a text or None")
        self.shape = shape
        self.element = element
        self.encoding = encoding

    def _key(self) -> tuple:
        return (self.shape, self.element, self.encoding)

    # Equality is as of every type; written out for the one that is made and compared most.

    def __hash__(self) -> int:
        return hash(self.shape)  # which tells most tensors apart, and costs less than the many scales that an element may have

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            type(other) is TensorType and self.shape == other.shape and self.element == other.element
            and self.encoding == other.encoding)

    def _format(self) -> str:
        encoding = f", {self.encoding}" if self.encoding else ""
        if self.shape is None:
            return f"tensor<*x{self.element}{encoding}>"
        return f"tensor<{format_shape(self.shape)}{self.element}{encoding}>"

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every dimension is known."""
        return self.shape is not None and None not in self.shape

    @property
    def num_elements(self) -> int:
        """How many elements; only of a static shape."""
        if self.shape is None:
            raise ValueError(f"{self} has no known number of elements")
        return math.prod(self.static_shape)

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The sizes; raises `ValueError` where one is unknown."""
        shape = self.shape
        if shape is None or None in shape:
            raise Unfit(f"{self} has no static shape")
        return cast("tuple[int, ...]", shape)

    def with_shape(self, shape: tuple[int | None, ...] | None) -> TensorType:
        return TensorType(shape, self.element, self.encoding)

    def with_element(self, element: Type) -> TensorType:
        return TensorType(self.shape, element, self.encoding)


class TupleType(Type):
    """A tuple of types."""

    __slots__ = ("types",)

    def __init__(self, types: tuple[Type, ...]) -> None:
        self.types = items_of(types, Type, "TupleType", "types", "a type")

    def _key(self) -> tuple:
        return self.types

    def _format(self) -> str:
        return f"tuple<{', '.join(map(str, self.types))}>"

    def __iter__(self) -> Iterator[Type]:
        return iter(self.types)


class FunctionType(Type):
    """Argument and result types of a function."""

    __slots__ = ("inputs", "results")

    def __init__(self, inputs: tuple[Type, ...], results: tuple[Type, ...]) -> None:
        self.inputs = items_of(inputs, Type, "FunctionType", "inputs", "a type")
        self.results = items_of(results, Type, "FunctionType", "results", "a type")

    def _key(self) -> tuple:
        return (self.inputs, self.results)

    def _format(self) -> str:
        results = self.results
        inputs = f"({', '.join(map(str, self.inputs))})"
        if len(results) == 1 and not isinstance(results[0], FunctionType):
            return f"{inputs} -> {results[0]}"
        return f"{inputs} -> ({', '.join(map(str, results))})"


def format_shape(shape: tuple[int | None, ...]) -> str:
    """`(1, None, 3)` is `1x?x3x`."""
    return "".join("?x" if size is None else f"{size}x" for size in shape)


def format_float(value: float) -> str:
    """Shortest decimal text that reads back to the same float64, in a form that MLIR accepts.

    MLIR wants a fraction (`1.0e10`, not `1e10`). Infinities and NaN have no decimal form and are
    printed by whoever knows the type's width.
    """
    text = repr(float(value))
    mantissa, mark, exponent = text.partition("e")
    if mark and "." not in mantissa:
        return f"{mantissa}.0e{exponent}"
    return text


BOOL = IntegerType(1)
I4, I8, I16, I32, I48, I64 = (IntegerType(width) for width in (4, 8, 16, 32, 48, 64))
UI8, UI16, UI32, UI64 = (IntegerType(width, "u") for width in (8, 16, 32, 64))
F16, BF16, F32, F64 = FloatType("f16"), FloatType("bf16"), FloatType("f32"), FloatType("f64")
INDEX, NONE = IndexType(), NoneType()
