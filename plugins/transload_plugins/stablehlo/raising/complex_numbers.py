"""Complex numbers as pairs: a tensor of them is a real one with a first dimension of 2, real and imaginary parts.

StableHLO ops keep their types while the ones before them are rewritten, so an operand that was complex is seen by its
rank, which is one more than that of what it stands for. What only moves elements is done to both parts, by two copies
of the op.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import ComplexType, Op, TensorType, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables
from transload_hub.spectral import waves

from ..types import element_of, shape_of
from .bodies import single_op
from .complex_arithmetic import COMPOSED, Pair, less, modulus
from .movement import iota_of
from .table import cut_axis, full, is_complex, permute, reshape, static, static_result

if TYPE_CHECKING:
    from ..dialect.binary import Compare, Complex, Convert
    from ..dialect.contraction import Convolution, DotGeneral
    from ..dialect.elementwise import Abs, Imag, Real
    from ..dialect.movement import Constant, Iota
    from ..dialect.numeric import Fft
    from ..dialect.reduction import Reduce

__all__ = ["TABLE"]

TABLE = RewriteTable()

LONGEST = 2048
"""The longest Fourier transform that is made as a product with a matrix."""


def _parts(rw: Rewriter, pair: Value) -> Pair:
    """Real and imaginary parts."""
    if is_complex(pair):
        raise Unsupported("takes complex numbers from outside", "pass real and imaginary parts as tensors of their own")
    shape = shape_of(pair)[1:]
    first, second = (reshape(rw, cut_axis(rw, pair, 0, i, i + 1), shape) for i in (0, 1))
    return first, second


def _joined(rw: Rewriter, real: Value, imag: Value) -> Value:
    sides = [reshape(rw, part, (1, *shape_of(part))) for part in (real, imag)]
    return rw.emit("top.Concat", *sides, axis=0)


def _real_type(type_: Any) -> Any:
    if isinstance(type_, TensorType) and isinstance(type_.element, ComplexType):
        return TensorType(type_.shape, type_.element.element)
    return type_


@TABLE(*(f"stablehlo.{name}" for name in COMPOSED))
def composed(op: Op, rw: Rewriter) -> Value | None:
    """Arithmetic of pairs."""
    if not is_complex(op.results[0]):
        return None
    function = COMPOSED[op.name.partition(".")[2]]
    return _joined(rw, *function(rw, *(_parts(rw, value) for value in op.operands)))


def _is_pair(op: Op, value: Value) -> bool:
    """Whether an operand of an element-wise op with a real result stands for complex numbers."""
    return is_complex(value) or value.rank == op.results[0].rank + 1


@TABLE("stablehlo.real", "stablehlo.imag", "stablehlo.abs")
def part(op: Abs | Imag | Real, rw: Rewriter) -> Value | None:
    """A part, or the modulus."""
    if not _is_pair(op, op.operands[0]):
        return None
    real, imag = _parts(rw, op.operands[0])
    return modulus(rw, (real, imag)) if op.name == "stablehlo.abs" else real if op.name == "stablehlo.real" else imag


@TABLE("stablehlo.complex")
def complex_(op: Complex, rw: Rewriter) -> Value:
    """A pair of two tensors."""
    return _joined(rw, *op.operands)


@TABLE("stablehlo.convert")
def convert(op: Convert, rw: Rewriter) -> Value | None:
    """To complex numbers with a zero imaginary part; from them, the real part."""
    x, element = op.operands[0], op.results[0].element
    if isinstance(element, ComplexType):
        if x.rank == op.results[0].rank:
            real = rw.emit("top.Cast", x, element=element.element)
            return _joined(rw, real, full(rw, 0, static(x), element.element))  # +0, be the number negative, infinite or NaN
        return rw.emit("top.Cast", x, element=element.element)
    return rw.emit("top.Cast", _parts(rw, x)[0], element=element) if _is_pair(op, x) else None


@TABLE("stablehlo.compare")
def compare(op: Compare, rw: Rewriter) -> Value | None:
    """Equality of both parts; order by real parts, then by imaginary ones."""
    if not _is_pair(op, op.operands[0]):
        return None
    a, b = (_parts(rw, value) for value in op.operands)
    direction = op.comparison_direction
    if direction in ("LT", "GE"):
        before = less(rw, a, b)
        return before if direction == "LT" else rw.emit("top.LogicalNot", before)
    if direction in ("GT", "LE"):
        greater = less(rw, b, a)
        return greater if direction == "GT" else rw.emit("top.LogicalNot", greater)
    mode, join = ("Equal", "And") if direction == "EQ" else ("NotEqual", "Or")
    return rw.emit(f"top.Logical{join}", *(rw.emit("top.Compare", x, y, mode=mode) for x, y in zip(a, b, strict=True)))


@TABLE("stablehlo.constant")
def constant(op: Constant, rw: Rewriter) -> Value | None:
    """Both parts of a constant."""
    if not is_complex(op.results[0]):
        return None
    array = op.attributes["value"].numpy()
    return rw.constant(np.stack([array.real, array.imag]))


@TABLE("stablehlo.iota")
def iota(op: Iota, rw: Rewriter) -> Value | None:
    """Numbers from 0 on, without imaginary parts."""
    if not is_complex(op.results[0]):
        return None
    element = element_of(op.results[0]).element
    shape = static_result(op)
    return _joined(rw, iota_of(rw, shape, op.iota_dimension, element), full(rw, 0, shape, element))


_MOVEMENT = (
    "reshape", "transpose", "slice", "pad", "concatenate", "broadcast_in_dim", "broadcast", "reverse", "select", "gather",
    "dynamic_slice", "dynamic_update_slice")
_DATA = {"concatenate": None, "dynamic_update_slice": 2, "pad": 2, "select": (1, 2)}
"""Which operands are complex, of ops with other operands, too: the first so many, those of these numbers, or (None) all."""


def _copy(rw: Rewriter, op: Op, operands: Sequence[Value]) -> Value:
    """The op on real numbers."""
    made = rw.create(op.name, operands, [_real_type(result.type) for result in op.results], op.attributes.copy())
    for region in op.regions:
        clone = made.add_region()
        region.clone_into(clone, {})
        for block in clone.blocks:
            for value in (*block.arguments, *(result for inner in block for result in inner.results)):
                value.type = _real_type(value.type)
    return made.results[0]


@TABLE(*(f"stablehlo.{name}" for name in _MOVEMENT))
def movement(op: Op, rw: Rewriter) -> Value | None:
    """The op on each part."""
    if not is_complex(op.results[0]):
        return None
    which = _DATA.get(op.name.partition(".")[2], 1)
    numbers = range(len(op.operands)) if which is None else range(which) if isinstance(which, int) else which
    sides: list[list[Value]] = [list(op.operands), list(op.operands)]
    for number in numbers:
        for side, value in zip(sides, _parts(rw, op.operands[number]), strict=True):
            side[number] = value
    return _joined(rw, *(_copy(rw, op, side) for side in sides))


@TABLE("stablehlo.reduce")
def reduce(op: Reduce, rw: Rewriter) -> Value | None:
    """A sum of each part."""
    if not is_complex(op.results[0]):
        return None
    if len(op.results) != 1 or single_op(op.body) != "add":
        raise Unsupported("reduces complex numbers by another function than a sum")
    sides = zip(*(_parts(rw, value) for value in op.operands), strict=True)
    return _joined(rw, *(_copy(rw, op, side) for side in sides))


@TABLE("stablehlo.dot_general", "stablehlo.convolution")
def products(op: Convolution | DotGeneral, rw: Rewriter) -> Value | None:
    """Four products of parts."""
    if not is_complex(op.results[0]):
        return None
    a, b = (_parts(rw, value) for value in op.operands)
    made = {(i, j): _copy(rw, op, (a[i], b[j])) for i in (0, 1) for j in (0, 1)}
    return _joined(rw, rw.emit("top.Sub", made[0, 0], made[1, 1]), rw.emit("top.Add", made[0, 1], made[1, 0]))


# --- Fourier transforms

@TABLE("stablehlo.fft")
def fft(op: Fft, rw: Rewriter) -> Value:
    """Along each dimension, a product with the matrix of the roots of unity."""
    kind, lengths = op.fft_type, op.fft_length
    x = op.operands[0]
    if max(lengths, default=1) > LONGEST:
        raise Unsupported(f"a transform of length {max(lengths)}; up to {LONGEST} are made", "transform it in parts")
    result = op.results[0]
    rank = result.rank
    axes = list(range(rank - len(lengths), rank))
    if kind == "RFFT":
        pair = _transformed_real(rw, x, lengths[-1])
        for axis, length in zip(axes[:-1], lengths[:-1], strict=True):
            pair = _transformed(rw, pair, axis, length, False)
        return _joined(rw, *pair)
    pair = _parts(rw, x)
    for axis, length in zip(axes, lengths, strict=True):
        if kind == "IRFFT" and axis == axes[-1]:
            return _transformed_back(rw, pair, length)
        pair = _transformed(rw, pair, axis, length, kind != "FFT")
    return _joined(rw, *pair)


def _times(rw: Rewriter, x: Value, axis: int, matrix: np.ndarray) -> Value:
    """`x` with dimension `axis` multiplied by `matrix` [size, new size]."""
    order = [place for place in range(x.rank) if place != axis] + [axis]
    weight = rw.constant(np.ascontiguousarray(matrix.T + 0.0).astype(dtype_of(x.element)))  # no -0.0
    made = rw.emit("top.MatMul", _as_matrix(rw, permute(rw, x, order)), weight, right_transpose=True)
    made = reshape(rw, made, (*(shape_of(x)[place] for place in order[:-1]), matrix.shape[1]))
    return permute(rw, made, [order.index(place) for place in range(x.rank)])


def _as_matrix(rw: Rewriter, x: Value) -> Value:
    return reshape(rw, x, (1, shape_of(x)[0])) if x.rank == 1 else x


def _transformed(rw: Rewriter, pair: Pair, axis: int, length: int, inverse: bool) -> Pair:
    cosine, sine = waves(length, length, length)
    if inverse:
        cosine, sine = cosine / length, -sine / length
    real, imag = pair
    return (
        rw.emit("top.Add", _times(rw, real, axis, cosine), _times(rw, imag, axis, sine)),
        rw.emit("top.Sub", _times(rw, imag, axis, cosine), _times(rw, real, axis, sine)))


def _transformed_real(rw: Rewriter, x: Value, length: int) -> Pair:
    cosine, sine = waves(length, length // 2 + 1, length)
    return _times(rw, x, x.rank - 1, cosine), _times(rw, x, x.rank - 1, -sine)


def _transformed_back(rw: Rewriter, pair: Pair, length: int) -> Value:
    """Frequencies that are not there are those that are, conjugated: all but the first and the middle one count twice."""
    real, imag = pair
    count = length // 2 + 1
    cosine, sine = waves(count, length, length)
    weight = tables.full((count, 1), 2.0)
    weight[0] = 1
    if length % 2 == 0:
        weight[-1] = 1
    axis = real.rank - 1
    return rw.emit(
        "top.Sub", _times(rw, real, axis, cosine * weight / length), _times(rw, imag, axis, sine * weight / length))
