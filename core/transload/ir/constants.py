"""Constant data: what stands behind a `dense` attribute.

A constant is anything with the members of `TensorData`; it need not be an array in memory. The
classes here are an array, a memory-mapped part of a file, data made when first asked for, packed
4-bit numbers, and one value repeated. They are compared by identity or digest, and are never copied
by clone, parse or rewrite: adding 500 MB of weights to a module adds no memory.

A constant does not change. So an array that somebody may still write into is copied when `Dense` is made of it; who has
one that is nobody else's gives `ArrayData(array)`, which shares it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import ml_dtypes
import numpy as np

from ..errors import InternalError, ReadError, Unfit, after_colon
from .given import misfit_part, need_part, numbers_of, shown, sizes_of, whole_of
from .types import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I64,
    TYPES,
    ComplexType,
    FloatType,
    IndexType,
    IntegerType,
    QuantType,
    TensorType,
    Type,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ArrayData", "Dense", "ElidedData", "LazyData", "MmapData", "Packed4Data", "SplatData", "TensorData", "dtype_of",
    "element_type_of", "holds_float", "rounded_float",
]


@runtime_checkable
class TensorData(Protocol):
    """What a constant must offer. A protocol, so that plugins need not derive from our classes."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype: ...

    @property
    def nbytes(self) -> int:
        """Bytes held or mapped for it, which is less than the array's where it is packed or a splat."""
        ...

    def numpy(self) -> NDArray[Any]:
        """The values as a read-only array of `shape` and `dtype`."""
        ...


class ArrayData:
    """An array in memory, shared, not copied; one of the other byte order in this machine's. It is written into no more."""

    __slots__ = ("_array",)

    def __init__(self, array: NDArray[Any]) -> None:
        if not isinstance(array, np.ndarray):
            raise misfit_part("ArrayData", "array", array, "an array", "`np.asarray(...)` makes one of numbers")
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        if array.flags.writeable:
            array = array.view()
            array.flags.writeable = False
        self._array = array

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def dtype(self) -> np.dtype:
        return self._array.dtype

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    def numpy(self) -> NDArray[Any]:
        return self._array


class MmapData:
    """Part of a file, mapped when first read, little-endian and row-major."""

    __slots__ = ("_array", "dtype", "offset", "path", "shape")

    def __init__(self, path: str | Path, offset: int, shape: tuple[int, ...], dtype: Any) -> None:
        need_part(path, str | Path, "MmapData", "path", "a path")
        self.path = Path(path)
        self.offset = whole_of(offset, "MmapData", "offset")
        self.shape = sizes_of(shape, "MmapData")
        self.dtype = _dtype(dtype, "MmapData")
        self._array: NDArray[Any] | None = None

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def numpy(self) -> NDArray[Any]:
        if self._array is None:
            try:
                raw = np.memmap(self.path, mode="r", offset=self.offset, shape=(self.nbytes,), dtype=np.uint8)
            except (OSError, ValueError, OverflowError) as error:
                what = f"{self.nbytes} bytes of a constant at {self.offset}"
                raise ReadError(f"{self.path}: {what} cannot be read{after_colon(error)}") from error
            self._array = raw.view(self.dtype).reshape(self.shape)
        return self._array


class LazyData:
    """Data that `make()` gives when first asked for: a transposed or converted view of another constant.

    `of` is what a file holds of it, an array or constant, where others may be made of the same bytes: these are counted once.
    """

    __slots__ = ("_array", "_make", "dtype", "of", "shape")

    def __init__(self, make: Callable[[], NDArray[Any]], shape: tuple[int, ...], dtype: Any, of: Any = None) -> None:
        if not callable(make):
            raise misfit_part("LazyData", "make", make, "a function that gives an array")
        self._make = make
        self.of = of
        self._array: NDArray[Any] | None = None
        self.shape = sizes_of(shape, "LazyData")
        self.dtype = _dtype(dtype, "LazyData")

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def numpy(self) -> NDArray[Any]:
        if self._array is None:
            array = self._make()
            if isinstance(array, np.generic):  # what numpy's functions make of arrays without dimensions
                array = np.asarray(array)
            if not isinstance(array, np.ndarray) or array.shape != self.shape or array.dtype != self.dtype:
                raise InternalError(f"a lazy constant made {shown(array)}, promised an array of {self.dtype} {self.shape}")
            self._array = ArrayData(array).numpy()
        return self._array


class Packed4Data:
    """Two 4-bit integers a byte, the even index in the low half (TFLite's and MLIR's order)."""

    __slots__ = ("_array", "packed", "shape", "signed")

    def __init__(self, packed: NDArray[np.uint8], shape: tuple[int, ...], signed: bool = True) -> None:
        need_part(packed, np.ndarray, "Packed4Data", "packed", "an array of uint8")
        if packed.dtype != np.uint8:
            raise misfit_part("Packed4Data", "packed", packed, "an array of uint8")
        self.packed = packed
        self.shape = sizes_of(shape, "Packed4Data")
        need_part(signed, bool, "Packed4Data", "signed", "true or false")
        self.signed = signed
        self._array: NDArray[Any] | None = None

    @classmethod
    def of(cls, numbers: NDArray[Any], signed: bool = True) -> Packed4Data:
        """Whole numbers that 4 bits hold, packed."""
        if not isinstance(numbers, np.ndarray) or numbers.dtype.kind in "OSUMm":
            raise misfit_part("Packed4Data.of()", "numbers", numbers, "an array of whole numbers")
        need_part(signed, bool, "Packed4Data.of()", "signed", "true or false")
        low = numbers.astype(np.int8 if signed else np.uint8).reshape(-1).view(np.uint8) & 0xF
        pairs = np.append(low, np.zeros(low.size % 2, np.uint8))
        return cls(pairs[0::2] | pairs[1::2] << 4, numbers.shape, signed)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(ml_dtypes.int4 if self.signed else ml_dtypes.uint4)

    @property
    def nbytes(self) -> int:
        return self.packed.nbytes

    def numpy(self) -> NDArray[Any]:
        if self._array is None:
            flat = np.empty(2 * self.packed.size, dtype=np.uint8)
            flat[0::2] = self.packed & 0xF
            flat[1::2] = self.packed >> 4
            numbers = flat[: math.prod(self.shape)]
            if self.signed:
                numbers = ((numbers ^ 8).astype(np.int8) - 8).astype(ml_dtypes.int4)
            else:
                numbers = numbers.astype(ml_dtypes.uint4)
            self._array = ArrayData(numbers.reshape(self.shape)).numpy()
        return self._array


class SplatData:
    """One value in every place of a tensor."""

    __slots__ = ("shape", "value")

    def __init__(self, value: Any, shape: tuple[int, ...], dtype: Any = None) -> None:
        wanted = None if dtype is None else _dtype(dtype, "SplatData")
        self.shape = sizes_of(shape, "SplatData")
        try:
            self.value = np.array(value, dtype=wanted)
        except OverflowError:
            raise Unfit(f"{value} is no number of type {wanted}") from None
        except (TypeError, ValueError):
            raise misfit_part("SplatData", "value", value, "a number") from None
        if self.value.ndim or self.value.dtype.kind in "OSUMm":
            raise misfit_part("SplatData", "value", value, "a number")
        self.value.flags.writeable = False

    @property
    def dtype(self) -> np.dtype:
        return self.value.dtype

    @property
    def nbytes(self) -> int:
        return self.value.nbytes

    def numpy(self) -> NDArray[Any]:
        return np.broadcast_to(self.value, self.shape)


class ElidedData:
    """The place of data that was left out of a text (`dense_resource<__elided__>`)."""

    __slots__ = ("dtype", "shape")

    nbytes = 0

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = sizes_of(shape, "ElidedData")
        self.dtype = _dtype(dtype, "ElidedData")

    def numpy(self) -> NDArray[Any]:
        raise ReadError(
            "the data of this constant was left out of the text that it was read from",
            hint="print the module with its constants: in place, as resources, or in a file beside it")


def _unwritten(array: NDArray[Any]) -> NDArray[Any]:
    """The numbers of an array, in memory that nobody writes into: its own, or a copy that repeats what the array repeats."""
    holder: Any = array
    while isinstance(holder, np.ndarray) and not holder.flags.writeable:
        holder = holder.base  # a view that is only read shows what is written into what it is of
    if not isinstance(holder, np.ndarray):
        return array
    once = array[tuple(slice(None) if stride else slice(0, 1) for stride in array.strides)]
    copied = np.array(once, copy=True, order="K")
    copied.flags.writeable = False
    return copied if copied.shape == array.shape else np.broadcast_to(copied, array.shape)


def _dtype(given: Any, whole: str) -> np.dtype:
    """The numpy dtype that is given, or named."""
    try:
        if given is not None:  # which numpy takes for float64
            return np.dtype(given)
    except (TypeError, ValueError):
        pass
    raise misfit_part(whole, "dtype", given, "a numpy dtype", "as np.float32")


_OURS = (ArrayData, MmapData, LazyData, Packed4Data, SplatData, ElidedData)
_PLAIN = (np.ndarray, np.generic, int, float, list, tuple)
_FRESH = (np.generic, int, float, list, tuple)
"""What numpy makes an array of that is nobody else's."""


_SAMPLED = 16
"""How many values a sample has, about."""
_AT_ONCE = 1 << 22
"""Values that are compared at one time, lest the answers take as much memory as the values."""
_SMALL = 1 << 12
"""Bytes up to which a constant's bytes are its key."""


class Dense:
    """A constant with its tensor type: MLIR's `dense<...> : tensor<...>`.

    An array is copied, unless nobody can write into its memory (a file that is mapped, bytes, JAX's arrays); `TensorData` is
    shared. The type's element says how the numbers are read (an `i4`, an `f32`); for quantized tensors it is
    the *storage* type, the quantized type being that of the value which holds the constant.
    """

    __slots__ = ("_digest", "_key", "data", "type")

    def __init__(self, data: Any, type: TensorType | None = None) -> None:
        if isinstance(data, np.ndarray) or (
                not isinstance(data, _OURS) and (isinstance(data, _PLAIN) or not isinstance(data, TensorData))):
            numbers = numbers_of(data, "Dense")
            data = ArrayData(numbers if isinstance(data, _FRESH) else _unwritten(numbers))
        if type is not None and not isinstance(type, TensorType):
            raise misfit_part("Dense", "type", type, "a tensor's type", "as `TensorType((4,), F32)`")
        self.data: TensorData = data
        if type is None:
            try:
                type = TensorType(tuple(data.shape), element_type_of(data.dtype))
            except ValueError:
                raise misfit_part("Dense", "data", data.dtype, "numbers") from None
        self.type = type
        self._digest: bytes | None = None
        self._key: tuple[Any, ...] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def nbytes(self) -> int:
        return self.data.nbytes

    def numpy(self) -> NDArray[Any]:
        """The values, read-only."""
        return self.data.numpy()

    def tobytes(self) -> bytes:
        """The values in row-major order, little-endian, as MLIR's resource blobs hold them."""
        return self.numpy().tobytes()

    def digest(self) -> bytes:
        """A hash of type and bytes, the same however the data is held; computed once."""
        if self._digest is None:
            state = hashlib.blake2b(str(self.type).encode(), digest_size=16)
            if isinstance(self.data, ElidedData):
                state.update(b"elided%d" % id(self.data))  # unknown data equals only itself
            elif (one := self.splat_value()) is not None:
                state.update(b"splat" + one.tobytes())
            else:
                state.update(np.ascontiguousarray(self.numpy()).reshape(-1).view(np.uint8).data)
            self._digest = state.digest()
        return self._digest

    def sample(self) -> bytes:
        """Some of the values, for telling different constants apart without reading all of them; `b""` where that needs work."""
        if not isinstance(self.data, (ArrayData, MmapData, LazyData)):
            return b""
        flat = self.data.numpy().reshape(-1)
        return flat[:: max(1, flat.size // _SAMPLED)].tobytes()

    def key(self) -> tuple[Any, ...]:
        """Something hashable that is equal for equal constants only, made once.

        Many constants are of one type, and would all meet in one bucket: small ones are told apart by their bytes, large
        ones by a sample of them, and compared by identity or digest only where the samples are equal.
        """
        if self._key is None:
            small = isinstance(self.data, ArrayData) and self.nbytes <= _SMALL
            self._key = (self.type.shape, self.type.element, self.tobytes()) if small else (self.sample(), self)
        return self._key

    def splat_value(self) -> NDArray[Any] | None:
        """The value (an array of rank 0) that is in every place, bit for bit; None where they differ or there is none."""
        if isinstance(self.data, ElidedData) or not math.prod(self.shape):
            return None
        if isinstance(self.data, SplatData):
            return self.data.value
        array = self.numpy()
        one = array[(0,) * array.ndim]
        last = array[(-1,) * array.ndim]
        if array.size > 1 and any(array.strides):
            if one.tobytes() != last.tobytes():  # most often, this ends it
                return None
            flat = np.ascontiguousarray(array).reshape(-1)
            words = flat.view(f"V{flat.dtype.itemsize}" if flat.dtype.itemsize not in (1, 2, 4, 8) else f"u{flat.dtype.itemsize}")
            if not all(bool((words[at : at + _AT_ONCE] == words[0]).all()) for at in range(0, words.size, _AT_ONCE)):
                return None
        return np.asarray(one)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Dense) or self.type != other.type:
            return False
        return self.data is other.data or self.digest() == other.digest()

    def __hash__(self) -> int:
        return hash(self.type)

    def __repr__(self) -> str:
        return f"Dense({type(self.data).__name__}, {self.type})"


_FLOATS = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2, "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz, "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu, "f6E2M3FN": ml_dtypes.float6_e2m3fn,
    "f6E3M2FN": ml_dtypes.float6_e3m2fn, "f4E2M1FN": ml_dtypes.float4_e2m1fn,
}
_INTEGERS: dict[tuple[int, str], Any] = {
    (1, ""): np.bool_, (2, ""): ml_dtypes.int2, (4, ""): ml_dtypes.int4, (2, "u"): ml_dtypes.uint2,
    (4, "u"): ml_dtypes.uint4, (48, ""): np.int64,
}
for _width in (8, 16, 32, 64):
    _INTEGERS[_width, ""] = _INTEGERS[_width, "s"] = np.dtype(f"int{_width}").type
    _INTEGERS[_width, "u"] = np.dtype(f"uint{_width}").type
_DTYPES: dict[Type, np.dtype] = {
    **{FloatType(name): np.dtype(dtype) for name, dtype in _FLOATS.items()},
    **{IntegerType(width, sign): np.dtype(dtype) for (width, sign), dtype in _INTEGERS.items()},
    IndexType(): np.dtype(np.int64),
    ComplexType(F32): np.dtype(np.complex64), ComplexType(F64): np.dtype(np.complex128),
}
_ELEMENTS = {dtype: element for element, dtype in _DTYPES.items()}
_ELEMENTS.update({np.dtype(np.int64): I64, np.dtype(np.bool_): BOOL, np.dtype(np.float16): F16,
                  np.dtype(ml_dtypes.bfloat16): BF16})
for _width in (8, 16, 32, 64):
    _ELEMENTS[np.dtype(f"int{_width}")] = IntegerType(_width)


def dtype_of(element: Type) -> np.dtype:
    """The numpy dtype that holds an element type (of a quantized one: its storage).

    `i48`, TOSA's wide accumulator, is held in int64; `i1` in bool; `index` in int64. Raises
    `ValueError` for a type that numpy cannot hold.
    """
    if isinstance(element, QuantType):
        element = element.storage
    try:
        return _DTYPES[element]
    except TypeError:  # what has no hash
        raise misfit_part("dtype_of()", "element", element, "a type", TYPES) from None
    except KeyError:
        need_part(element, Type, "dtype_of()", "element", "a type", TYPES)
        raise Unfit(f"no numpy dtype holds {element}") from None


def rounded_float(value: float, type_: FloatType) -> float:
    """The number of a format that is nearest to one, infinite or NaN beyond its numbers; of a format that numpy lacks itself."""
    try:
        dtype = dtype_of(type_)
    except Unfit:
        return value
    with np.errstate(all="ignore"):
        return float(np.asarray(value, np.float64).astype(dtype))


_SURE = {F16: 65504.0, BF16: 3.3e38, F32: 3.4e38, F64: math.inf}
"""Up to where no number is too large for a format; of others it is tried."""


def holds_float(value: Any, type_: FloatType) -> bool:
    """Whether a number is one of a format, rounded: a finite one that would be infinite there, or NaN, is none."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return abs(number) <= _SURE.get(type_, 0.0) or not math.isfinite(number) or math.isfinite(rounded_float(number, type_))


def element_type_of(dtype: Any) -> Type:
    """The signless element type of a numpy dtype: int8 is `i8`, uint8 is `ui8`, bool is `i1`."""
    try:
        return _ELEMENTS[dtype if isinstance(dtype, np.dtype) else _dtype(dtype, "element_type_of()")]
    except KeyError:
        raise ValueError(f"no element type for numpy dtype {dtype}") from None
