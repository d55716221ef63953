"""Fourier transforms, of signals and of their frames: products with constant matrices (`transload_hub.spectral`)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, ComplexType, FloatType, Type, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import slice_along
from transload_hub.spectral import basis, mirrored_basis, transformed

from .complex_numbers import as_complex, packed, parts_of, unpacked
from .table import MAX_CONSTANT, AtenTable, Call, axis_of, cast, is_complex, reshape, shape_of

TABLE = AtenTable()

_FORWARD = {None: 0.0, "backward": 0.0, "ortho": -0.5, "forward": -1.0}
_INVERSE = {None: 0.0, "backward": 0.0, "ortho": 0.5, "forward": 1.0}
"""By which power of the number of elements a transform is multiplied, where the inverse is divided by it already."""
_BY_NUMBER = (0.0, -0.5, -1.0)
"""The same for `_fft_*`, whose inverse is divided by nothing: not, by the root, by the number."""


def _floats(value: Value) -> Type:
    """The floats in which a value is transformed."""
    element = value.element.element if isinstance(value.element, ComplexType) else value.element
    return element if isinstance(element, FloatType) else F32


def _dims(call: Call, given: object, sizes: Sequence[int] | None) -> list[int]:
    """The dimensions that are transformed, counted from the front."""
    rank = len(shape_of(call.self))
    if given is None:
        given = range(rank) if sizes is None else range(rank - len(sizes), rank)
    dims = [axis_of(axis, rank, 1) for axis in ((given,) if isinstance(given, int) else given)]  # type: ignore[attr-defined]
    if len(set(dims)) < len(dims) or (sizes is not None and len(sizes) != len(dims)):
        raise Unsupported(f"transforms the dimensions {dims}, to {sizes}")
    return dims


def _resized(rw: Rewriter, value: Value, axis: int, length: int) -> Value:
    """An axis cut to a length, or filled up with zeros."""
    if length < 1:
        raise Unsupported(f"transforms {length} elements")
    size = shape_of(value)[axis]
    value = slice_along(rw, value, axis, 0, min(size, length))
    if size >= length:
        return value
    pads = [0] * 2 * len(shape_of(value))
    pads[len(pads) // 2 + axis] = length - size
    return rw.emit("top.Pad", value, paddings=tuple(pads), mode="constant")


def _complex_result(rw: Rewriter, pairs: Value) -> Value:
    return as_complex(rw, *unpacked(rw, pairs))


def _sizes(call: Call, dims: Sequence[int], given: Sequence[int] | None) -> list[int]:
    shape = shape_of(call.self)
    return [shape[axis] if size == -1 else size for axis, size in zip(dims, given or [shape[axis] for axis in dims], strict=True)]


def _all_of(rw: Rewriter, pairs: Value, dims: Sequence[int], sizes: Sequence[int], inverse: bool, factor: float) -> Value:
    """Complex transforms along dimensions of pairs."""
    for axis, size in zip(dims, sizes, strict=True):
        pairs = _resized(rw, pairs, axis, size)
        parts = shape_of(pairs)[-1]
        pairs = transformed(rw, pairs, axis, basis(size, size, parts, inverse) * factor)
        factor = 1.0
    return pairs


def _half_of(rw: Rewriter, pairs: Value, dims: Sequence[int], sizes: Sequence[int], factor: float, whole: bool = False) -> Value:
    """The transform of real numbers: half of the last dimension, where not the whole is asked for, then all of the others."""
    count = sizes[-1] if whole else sizes[-1] // 2 + 1
    pairs = _resized(rw, pairs, dims[-1], sizes[-1])
    pairs = transformed(rw, pairs, dims[-1], basis(sizes[-1], count, 1) * factor)
    return _all_of(rw, pairs, dims[:-1], sizes[:-1], False, 1.0)


def _real_of(rw: Rewriter, pairs: Value, dims: Sequence[int], sizes: Sequence[int], factor: float) -> Value:
    """Real numbers of half of their spectrum, divided by their number."""
    pairs = _all_of(rw, pairs, dims[:-1], sizes[:-1], True, 1.0)
    pairs = _resized(rw, pairs, dims[-1], sizes[-1] // 2 + 1)
    made = transformed(rw, pairs, dims[-1], mirrored_basis(sizes[-1]) * factor)
    return reshape(rw, made, shape_of(made)[:-1])


def _arguments(call: Call) -> tuple[list[int], list[int] | None]:
    """The dimensions of a transform, and the sizes that are given for them."""
    if call.get("n", "none") != "none":
        return _dims(call, call.dim, None), None if call.n is None else [call.n]
    given = None if call.s is None else list(call.s)
    return _dims(call, call.dim, given), given


def _need_numbers(count: float) -> None:
    if count < 1:
        raise Unsupported("transforms no numbers")


def _norm(call: Call, powers: dict[str | None, float], count: int) -> float:
    if call.norm not in powers:
        raise Unsupported(f"is normalized by {call.norm!r}")
    _need_numbers(count)
    return float(count) ** powers[call.norm]


@TABLE("fft_fft.default", "fft_fft2.default", "fft_fftn.default", "fft_ifft.default", "fft_ifft2.default", "fft_ifftn.default",
       stored="complex")
def fft(call: Call, rw: Rewriter) -> Value:
    """Transforms of complex or real numbers, and their inverses, along some dimensions."""
    dims, given = _arguments(call)
    sizes, inverse = _sizes(call, dims, given), call.base.startswith("fft_i")
    factor = _norm(call, _INVERSE if inverse else _FORWARD, math.prod(sizes))
    return _complex_result(rw, _all_of(rw, packed(rw, call.self, _floats(call.self)), dims, sizes, inverse, factor))


@TABLE("fft_rfft.default", "fft_rfft2.default", "fft_rfftn.default", "fft_ihfft.default", stored="complex")
def rfft(call: Call, rw: Rewriter) -> Value:
    """Transforms of real numbers, of which half is given; the conjugate of it, divided by the number of elements."""
    dims, given = _arguments(call)
    sizes = _sizes(call, dims, given)
    factor = _norm(call, _FORWARD, math.prod(sizes))
    if call.base != "fft_ihfft":
        return _complex_result(rw, _half_of(rw, packed(rw, call.self, _floats(call.self)), dims, sizes, factor))
    factor = 1.0 / (factor * math.prod(sizes))
    real, imaginary = unpacked(rw, _half_of(rw, packed(rw, call.self, _floats(call.self)), dims, sizes, factor))
    return as_complex(rw, real, rw.emit("top.Neg", imaginary))


@TABLE("fft_irfft.default", "fft_irfft2.default", "fft_irfftn.default", "fft_hfft.default", stored="complex")
def irfft(call: Call, rw: Rewriter) -> Value:
    """Real numbers of half of their spectrum, or of a signal's that is its own mirror image."""
    dims, given = _arguments(call)
    sizes = _sizes(call, dims, given)
    if given is None or given[-1] == -1:
        sizes[-1] = 2 * (shape_of(call.self)[dims[-1]] - 1)
    factor = _norm(call, _INVERSE, math.prod(sizes))
    if call.base != "fft_hfft":
        return _real_of(rw, packed(rw, call.self, _floats(call.self)), dims, sizes, factor)
    real, imaginary = parts_of(call.self) if is_complex(call.self) else (call.self, None)
    turned = rw.emit("top.Pack", real, rw.emit("top.Neg", imaginary) if imaginary is not None else rw.emit(
        "top.MulConst", real, const_val=0.0), axis=-1)
    return _real_of(rw, turned, dims, sizes, math.prod(sizes) / factor)


@TABLE("_fft_c2c.default", "_fft_r2c.default", "_fft_c2r.default", stored="complex")
def raw_fft(call: Call, rw: Rewriter) -> Value:
    """What PyTorch's transforms are made of."""
    dims = _dims(call, call.dim, None)
    sizes = _sizes(call, dims, None)
    if not 0 <= call.normalization < len(_BY_NUMBER):
        raise Unsupported(f"is normalized by {call.normalization}")
    pairs = packed(rw, call.self, _floats(call.self))
    if call.base == "_fft_c2r":
        sizes[-1] = call.last_dim_size
    count = float(math.prod(sizes))
    _need_numbers(count)
    factor = count ** _BY_NUMBER[call.normalization]
    if call.base == "_fft_c2r":
        return _real_of(rw, pairs, dims, sizes, factor * count)
    if call.base == "_fft_r2c":
        return _complex_result(rw, _half_of(rw, pairs, dims, sizes, factor, whole=not call.onesided))
    return _complex_result(rw, _all_of(rw, pairs, dims, sizes, not call.forward, factor if call.forward else factor * count))


# --- frames

_COSINES = {"hann": (0.5, 0.5), "hamming": (0.54, 0.46), "blackman": (0.42, 0.5, 0.08)}
"""What a window is the sum of: cosines of 0, 1, 2 turns, with signs in turn."""


@TABLE(*(f"{name}_window.{overload}" for name in (*_COSINES, "bartlett", "kaiser") for overload in ("default", "periodic")),
       "hamming_window.periodic_alpha", "hamming_window.periodic_alpha_beta", "kaiser_window.beta")
def window(call: Call, rw: Rewriter) -> Value:
    """A window as a constant; a periodic one is that of one element more, without the last."""
    name, length = call.base.removesuffix("_window"), call.window_length
    periodic = call.get("periodic", True)
    if not 0 <= length <= MAX_CONSTANT:
        raise Unsupported(f"makes a window of {length} elements")
    places = tables.arange(length) / max(length - (not periodic), 1)
    if name == "bartlett":
        numbers = 1 - np.abs(2 * places - 1)
    elif name == "kaiser":
        beta = call.get("beta", 12.0)
        numbers = np.i0(beta * np.sqrt(np.maximum(1 - (2 * places - 1) ** 2, 0))) / np.i0(beta)
    else:
        weights = _COSINES[name]
        if name == "hamming":
            weights = (call.get("alpha", weights[0]), call.get("beta", weights[1]))
        numbers = sum(
            weight * (-1) ** turn * np.cos(2 * math.pi * turn * places) for turn, weight in enumerate(weights))
    return rw.constant((numbers if length > 1 else tables.ones(length)).astype(dtype_of(call.element)), element=call.element)


@TABLE("fft_fftfreq.default", "fft_rfftfreq.default")
def frequencies(call: Call, rw: Rewriter) -> Value:
    """The frequencies of a transform, as a constant."""
    if not 0 < call.n <= MAX_CONSTANT:
        raise Unsupported(f"makes {call.n} frequencies")
    if not call.d:
        raise Unsupported("has samples at the same time: its d is 0")
    numbers = (np.fft.rfftfreq if call.base == "fft_rfftfreq" else np.fft.fftfreq)(call.n, call.d)
    return rw.constant(numbers.astype(dtype_of(call.element)), element=call.element)


def _window(call: Call, rw: Rewriter) -> np.ndarray:
    """The window of a frame, with zeros on both sides where it is shorter."""
    length = call.win_length or call.n_fft
    if not 0 < length <= call.n_fft:
        raise Unsupported(f"has windows of {length} in frames of {call.n_fft}")
    numbers = tables.ones(length) if call.window is None else np.asarray(rw.need_constant(call.window, "the window"), np.float64)
    if numbers.shape != (length,):
        raise Unsupported(f"has a window of shape {list(numbers.shape)}, and needs {length} numbers")
    before = (call.n_fft - length) // 2
    return tables.pad(numbers, [(before, call.n_fft - length - before)])


def _hop(call: Call) -> int:
    hop = call.n_fft // 4 if call.hop_length is None else call.hop_length
    if hop < 1:
        raise Unsupported(f"moves frames by {hop}")
    return int(hop)


@TABLE("stft.default", "stft.center", stored="complex")
def stft(call: Call, rw: Rewriter) -> Value:
    """Transforms of frames: a convolution in time, whose filters are the waves of each frequency in the window."""
    shape, length, hop = shape_of(call.self), call.n_fft, _hop(call)
    if len(shape) not in (1, 2) or is_complex(call.self) or call.get("align_to_window"):
        raise Unsupported("transforms frames of what is no [length] or [batch, length] of real numbers",
                          "keep align_to_window at its default")
    signal = reshape(rw, cast(rw, call.self, _floats(call.self)), (math.prod(shape[:-1]), 1, shape[-1]))
    if call.get("center"):
        mode = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}.get(call.pad_mode)
        if mode is None:
            raise Unsupported(f"pads by {call.pad_mode!r}")
        signal = rw.emit("top.Pad", signal, paddings=(0, 0, length // 2, 0, 0, length // 2), mode=mode)
    if shape_of(signal)[-1] < length:
        raise Unsupported(f"cuts {shape_of(signal)[-1]} elements into frames of {length}")
    count = length if call.onesided is False else length // 2 + 1
    factor = length**-0.5 if call.normalized else 1.0
    waves = basis(length, count, 1) * (_window(call, rw) * factor)[:, None, None, None]  # [length, 1, count, 2]
    filters = waves.transpose(3, 2, 1, 0).reshape(2 * count, 1, length)
    held = rw.constant(np.ascontiguousarray(filters.astype(dtype_of(signal.element))), element=signal.element)
    found = rw.emit("top.Conv", signal, held, kernel_shape=(length,), strides=(hop,), layout="NCHW")
    frames = shape_of(found)[-1]
    parts = [reshape(rw, slice_along(rw, found, 1, i * count, (i + 1) * count), (*shape[:-1], count, frames)) for i in (0, 1)]
    return as_complex(rw, *parts) if is_complex(call.op.results[0]) else rw.emit("top.Pack", *parts, axis=-1)


@TABLE("istft.default", stored="complex")
def istft(call: Call, rw: Rewriter) -> Value:
    """A signal of its frames' transforms: a transposed convolution, divided by what the windows add up to."""
    if call.return_complex or call.onesided is False:
        raise Unsupported("makes a complex signal of frames", "real ones, of half of the spectrum, can be converted")
    shape, length, hop, window = shape_of(call.self), call.n_fft, _hop(call), _window(call, rw)
    if len(shape) not in (2, 3) or shape[-2] != length // 2 + 1:
        raise Unsupported(f"has transforms of shape {list(shape)} for frames of {length}")
    batch, frames = math.prod(shape[:-2]), shape[-1]
    parts = [reshape(rw, part, (batch, *shape[-2:])) for part in parts_of(call.self)]
    waves = mirrored_basis(length) * (window * (length**0.5 if call.normalized else 1.0))[None, None, :, None]
    filters = waves.transpose(1, 0, 3, 2).reshape(2 * shape[-2], 1, length)
    element = parts[0].element
    held = rw.constant(np.ascontiguousarray(filters.astype(dtype_of(element))), element=element)
    both = rw.emit("top.Concat", *parts, axis=1)
    signal = rw.emit("top.Deconv", both, held, kernel_shape=(length,), strides=(hop,), layout="NCHW")
    whole = length + hop * (frames - 1)
    weights = tables.zeros(whole)
    for frame in range(frames):
        weights[frame * hop : frame * hop + length] += window**2
    begin = length // 2 if call.center else 0
    end = begin + call.length if call.length is not None else whole - (length // 2 if call.center else 0)
    seen = weights[begin : min(end, whole)]
    if not seen.size or seen.min() < 1e-11:
        raise Unsupported("has windows that leave out a part of the signal")
    signal = slice_along(rw, reshape(rw, signal, (*shape[:-2], whole)), len(shape) - 2, begin, min(end, whole))
    signal = rw.emit("top.Mul", signal, rw.constant((1.0 / seen).astype(dtype_of(element)), element=element))
    return signal if end <= whole else _resized(rw, signal, len(shape) - 2, end - begin)
