"""Multiplications by a fixed-point number that a program writes out in 64 bits, as one `tosa.rescale` each.

Programs that compute quantized models in plain integers (what a converter to StableHLO leaves of them) scale a sum by

    ((x - input_zp) * multiplier + offset) >> shift, plus output_zp, clamped and cast

in i64, which TOSA has for nothing else than this: its RESCALE. The offset is half of 2^shift, or for gemmlowp's rounding
2^30 more of it for numbers from 0 on and less below, and holds the zero points where those were multiplied out. A product
of two numbers that is shifted so is TOSA's MUL; a number that is only moved and clamped needs no 64 bits.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from transload.ir import I8, I32, I64, UI32, IntegerType, Module, Op, TensorType, Value
from transload.ir.build import constant_of
from transload.rewrite import Rewriter

from ... import build

__all__ = ["fuse_fixed_point"]

I32_LOW, I32_HIGH = I32.range


class _Row(NamedTuple):
    """The numbers of one channel."""

    multiplier: int
    offset: int
    shift: int


class _Scaling(NamedTuple):
    """`(x - input_zp) * multiplier`, rounded by `rounding` and shifted, plus `output_zp`; rows for one or all channels."""

    x: Value
    rows: tuple[_Row, ...]
    rounding: str
    input_zp: int
    output_zp: int

    def results(self, low: int, high: int) -> tuple[int, int]:
        """Between which numbers the result lies without `output_zp`, for x - input_zp from `low` to `high`; one off at most."""
        ends = [(end * row.multiplier >> row.shift) + more for row in self.rows for end in (low, high) for more in (-1, 2)]
        return min(ends), max(ends)


class _End(NamedTuple):
    """What becomes of the result: added, clamped (None: not), and the last op of all, whose result that is."""

    added: int
    bounds: tuple[int, int] | None
    last: Op


def fuse_fixed_point(module: Module, int64: Literal["proved", "assumed"] = "proved") -> bool:
    """Replace what matches; what nothing uses any more is left to DCE.

    With `int64="assumed"`, a product that is cast to i32 is taken to lie in it where that is possible.
    """
    changed, assumed = False, int64 == "assumed"
    for op in [op for op in module.walk() if op.name in ("top.Cast", "top.ShiftRight")]:
        if op.parent is None:  # it went with what was replaced before
            continue
        if op.results[0].shape is None or None in op.results[0].shape or _integer(op.results[0]) != I64:
            continue
        end = _end_of(op)
        rw = Rewriter(end.last)
        made = _clamped(rw, op, end) if op.name == "top.Cast" else _shifted(rw, op, end, assumed)
        if made is not None:
            rw.replace(made)
            changed = True
    return changed


def _shifted(rw: Rewriter, op: Op, end: _End, assumed: bool) -> Value | None:
    scaling = _scaling(op)
    made = _rescaled(rw, scaling, end, assumed) if scaling is not None else None
    return _multiplied(rw, op, end, assumed) if made is None else made


# --- recognition


def _integer(value: Value) -> IntegerType | None:
    element = value.type.element if isinstance(value.type, TensorType) else None
    return element if isinstance(element, IntegerType) and element.width > 1 else None


def _numbers(value: Value, like: Value) -> list[int] | None:
    """The numbers of a constant that is the same throughout, or along all dimensions of `like` but the last."""
    held = constant_of(value)
    if held is None or _integer(value) is None or not held.numpy().size:
        return None
    array = held.numpy()
    if array.min() == array.max():
        return [int(array.flat[0])]
    alone = array.ndim and array.size == array.shape[-1] == like.shape[-1]
    return [int(number) for number in array.flat] if alone else None


def _number(value: Value) -> int | None:
    held = constant_of(value)
    numbers = None if held is None or _integer(value) is None else np.unique(held.numpy())
    return int(numbers[0]) if numbers is not None and numbers.size == 1 else None


def _plus_number(op: Op | None) -> tuple[Value, int] | None:
    """`(x, n)` of an op that adds or subtracts one number: its result is x + n."""
    if op is None or op.name not in ("top.Add", "top.Sub") or len(op.operands) != 2 or _is_more(op):
        return None
    a, b = op.operands
    if op.name == "top.Add" and constant_of(a) is not None:
        a, b = b, a
    number = _number(b)
    if number is None or a.shape != op.results[0].shape:
        return None
    return a, number if op.name == "top.Add" else -number


def _is_more(op: Op) -> bool:
    """Whether an op has an activation or coefficients."""
    return bool(op.attribute("do_relu", False) or op.attribute("coeff"))


def _constant_factor(value: Value) -> tuple[Value, Value | None] | None:
    """What a product with a constant multiplies, and by what."""
    op = value.op
    if op is None or op.name != "top.Mul" or len(op.operands) != 2 or _is_more(op):
        return None
    a, b = op.operands
    a, b = (b, a) if constant_of(a) is not None else (a, b)
    return (a, b) if constant_of(b) is not None else None


def _scaling(op: Op) -> _Scaling | None:
    """What an i64 shift to the right is the end of."""
    result = op.results[0]
    value, amount = op.operands
    if value.shape != result.shape:
        return None
    shifts = _numbers(amount, result)
    sums = (value, None) if _constant_factor(value) is not None else _product_and_offset(value.op)
    product = _constant_factor(sums[0]) if sums is not None else None
    if sums is None or product is None:  # of x itself
        sums, product = (value, None), (value, None)
    if shifts is None or product[0].shape != result.shape:
        return None
    multipliers = _numbers(product[1], result) if product[1] is not None else [1]
    offsets = _offsets(sums[1], product[0], result)
    x, before = product[0], 0
    while (plus := _plus_number(x.op)) is not None:
        x, before = plus[0], before + plus[1]
    source = _integer(x.op.operands[0]) if x.op is not None and x.op.name == "top.Cast" else None
    if multipliers is None or offsets is None or source is None or source.width > 32 or source == UI32:
        return None
    x = x.op.operands[0]  # type: ignore[union-attr]
    count = max(map(len, (multipliers, shifts, *offsets)))
    above, below = (list(np.broadcast_to(np.array(numbers, object), count)) for numbers in offsets)
    rows = list(zip(
        np.broadcast_to(np.array(multipliers, object), count), above, below, np.broadcast_to(np.array(shifts, object), count),
        strict=True))
    if any(not 0 <= m < 1 << 31 or not 0 <= s <= 62 or max(abs(high), abs(low)) > 1 << 61 for m, high, low, s in rows):
        return None
    if abs(before) > 1 << 30:  # beyond these, 64 bits may wrap round
        return None
    if above != below:
        return _double(x, before, rows)
    return _single(x, before, rows)


def _product_and_offset(op: Op | None) -> tuple[Value, Value] | None:
    """The operands of a sum, the product first."""
    if op is None or op.name != "top.Add" or len(op.operands) != 2 or _is_more(op):
        return None
    a, b = op.operands
    return (a, b) if a.op is not None and a.op.name == "top.Mul" else (b, a)


def _offsets(value: Value | None, x: Value, like: Value) -> tuple[list[int], list[int]] | None:
    """What is added where x is 0 or more, and where it is less."""
    if value is None:
        return [0], [0]
    numbers = _numbers(value, like)
    if numbers is not None:
        return numbers, numbers
    choice = value.op
    if choice is None or choice.name != "top.Where":
        return None
    test = choice.operands[0].op
    if test is None or test.name != "top.Compare" or test.attribute("mode") != "GreaterOrEqual" or test.operands[0] is not x:
        return None
    above, below = _numbers(choice.operands[1], like), _numbers(choice.operands[2], like)
    return None if _number(test.operands[1]) != 0 or above is None or below is None else (above, below)


def _double(x: Value, before: int, rows: list[Any]) -> _Scaling | None:
    """gemmlowp's rounding: 2^30 more than half, with the sign of x, where the shift is above 31."""
    for _, above, below, s in rows:
        extra = 1 << 30 if s > 31 else 0
        if s < 2 or above != (1 << (s - 1)) + extra or below != (1 << (s - 1)) - extra:
            return None
    return _Scaling(x, tuple(_Row(m, above, s) for m, above, _, s in rows), "DOUBLE_ROUND", -before, 0)


def _single(x: Value, before: int, rows: list[Any]) -> _Scaling | None:
    """Half up: what is in the offset beyond half are zero points."""
    scaled = []
    for m, offset, _, s in rows:
        more = min(62 - s, 31 - m.bit_length())
        scaled.append(_Row(m << more, offset << more, s + more))
    if min(row.shift for row in scaled) < 2:
        return None
    rest = [row.offset + before * row.multiplier - (1 << (row.shift - 1)) for row in scaled]
    bytes_ = x.element.range[1] < 256  # type: ignore[attr-defined]
    for point in (0, -before, *(range(-256, 257) if bytes_ else ())):
        left = [more + point * row.multiplier for more, row in zip(rest, scaled, strict=True)]
        if all(more % (1 << row.shift) == 0 for more, row in zip(left, scaled, strict=True)):
            after = {more >> row.shift for more, row in zip(left, scaled, strict=True)}
            return _Scaling(x, tuple(scaled), "SINGLE_ROUND", point, after.pop()) if len(after) == 1 else None
    return None


def _end_of(op: Op) -> _End:
    """What follows the shift, as far as nothing else uses what is in between, and a number of 32 bits can do it."""
    added, bounds, last = 0, None, op
    user = _only_user(last)
    while bounds is None and user is not None and (plus := _plus_number(user)) is not None and plus[0] is last.results[0]:
        if not _in_i32((added + plus[1], added + plus[1])):
            return _End(added, None, last)
        added, last, user = added + plus[1], user, _only_user(user)
    if user is not None and user.name == "top.Clip":
        limits = int(user.attribute("min")), int(user.attribute("max"))
        least, most = _moved(limits, -added)
        if least > I32_HIGH or most < I32_LOW:  # what all are clamped to is no number of 32 bits before it is moved
            return _End(added, None, last)
        bounds, last = limits, user
        user = _only_user(user)
    if user is not None and user.name == "top.Cast" and (target := _integer(user.results[0])) is not None and target.width <= 32:
        last = user
    return _End(added, bounds, last)


def _only_user(op: Op) -> Op | None:
    uses = op.results[0].uses
    return next(iter(uses)) if len(uses) == 1 else None


# --- the rescale


def _rescaled(rw: Rewriter, scaling: _Scaling, end: _End, assumed: bool) -> Value | None:
    """The same by a `tosa.rescale`; None where TOSA could not be sure of the numbers in between."""
    x, zero_point = scaling.x, scaling.output_zp + end.added
    source: Any = x.element
    target: Any = end.last.results[0].element
    low, high = (limit - scaling.input_zp for limit in source.range)
    between = end.bounds or _moved(scaling.results(low, high), zero_point)
    small = min(1 << (min(row.shift for row in scaling.rows) - 1), 1 << 31)
    if low < -small or high >= small or not _in_i32(scaling.results(low, high)):
        if source != I32 or scaling.input_zp:
            return None
        if end.bounds is not None:
            limited = _limited(rw, scaling, small, _moved(end.bounds, -zero_point))
            if limited is None:
                return None
            x = limited
        elif assumed:
            between = _moved(I32.range, zero_point)
    if not _in_i32(between) or not _in_i32((zero_point, zero_point)):
        return None
    direct = target == I8 and -128 <= zero_point <= 127 and between[0] >= -128 and between[1] <= 127
    input_zp = scaling.input_zp
    if source != I8 or not -128 <= input_zp <= 127:
        x = x if source == I32 else rw.emit("top.Cast", x, element=I32)
        if input_zp:
            x = rw.emit("top.Sub", x, _constant(rw, input_zp))
            input_zp = 0
    per_channel = len(scaling.rows) > 1
    made = build.rescale(
        rw, x, [row.multiplier for row in scaling.rows], [row.shift for row in scaling.rows], input_zp,
        zero_point if direct else 0, I8 if direct else I32, per_channel=per_channel, rounding=scaling.rounding)
    if direct:
        return made if end.bounds in (None, I8.range) else build.clamp(rw, made, *end.bounds)
    return _ended(rw, made, zero_point, end)


def _limited(rw: Rewriter, scaling: _Scaling, small: int, bounds: tuple[int, int]) -> Value | None:
    """x clamped to less than `small`, and to what does not leave i32 when it is scaled; the results are clamped to `bounds`.

    Only numbers whose results are beyond the bounds may change: None where others would.
    """
    steepest = max(row.multiplier / (1 << row.shift) for row in scaling.rows)
    most = min(small - 1, I32_HIGH if steepest < 1 else int(I32_HIGH / steepest) - 2)
    results = [(limit * row.multiplier >> row.shift) for row in scaling.rows for limit in (-most, most)]
    if any(bounds[0] - 1 <= one <= bounds[1] + 1 for one in results) or not _in_i32(scaling.results(-most, most)):
        return None
    made: Value = rw.emit("top.Clip", scaling.x, min=float(-most), max=float(most))
    return made


def _ended(rw: Rewriter, x: Value, added: int, end: _End) -> Value:
    """`x` of i32 moved by a number, clamped and cast, as the program does it in 64 bits; clamped first: nothing overflows."""
    if end.bounds is not None:
        lowest, highest = (min(max(bound, I32_LOW), I32_HIGH) for bound in _moved(end.bounds, -added))
        x = rw.emit("top.Clip", x, min=float(lowest), max=float(highest))
    if added:
        x = rw.emit("top.Add", x, _constant(rw, added))
    target = end.last.results[0].element
    return x if target == I32 else rw.emit("top.Cast", x, element=target)


def _moved(bounds: tuple[int, int], by: int) -> tuple[int, int]:
    return bounds[0] + by, bounds[1] + by


def _in_i32(bounds: tuple[int, int]) -> bool:
    return bounds[0] >= I32_LOW and bounds[1] <= I32_HIGH


def _constant(rw: Rewriter, number: int) -> Value:
    return rw.constant(np.array(number, np.int32))


# --- what needs no rescale


def _clamped(rw: Rewriter, op: Op, end: _End) -> Value | None:
    """An integer that is moved and clamped in 64 bits."""
    x = op.operands[0]
    source = _integer(x)
    if source is None or source.width > 32 or source == UI32 or end.bounds is None or not end.added or not _in_i32(end.bounds):
        return None
    return _ended(rw, x if source == I32 else rw.emit("top.Cast", x, element=I32), end.added, end)


def _multiplied(rw: Rewriter, op: Op, end: _End, assumed: bool) -> Value | None:
    """A product of two numbers of 32 bits, half added and shifted: a `tosa.mul`, whose result is an i32."""
    shift = _number(op.operands[1])
    sums = _product_and_offset(op.operands[0].op)
    product = sums[0].op if sums is not None else None
    if shift is None or product is None or product.name != "top.Mul" or len(product.operands) != 2 or _is_more(product):
        return None
    rank = op.results[0].rank
    factors = [_narrow(rw, value, rank) for value in product.operands]
    if not 1 <= shift <= 62 or _number(sums[1]) != 1 << (shift - 1):  # type: ignore[index]
        return None
    if None in factors or product.results[0].shape != op.results[0].shape:
        return None
    if (end.bounds is None and end.added) or not _in_i32(end.bounds or (0, 0)):
        return None
    a, b = (_of_rank(rw, value, rank) for value, _ in factors)  # type: ignore[misc]
    target = end.last.results[0].element
    bits = sum(int(known[1]) for known in factors if known is not None) - 1 - shift
    if bits <= 32 or (assumed and target == I32):  # 33 bits take two times the least i32 alone: that wraps round, as there
        return _ended(rw, build.mul(rw, a, b, shift), end.added, end)
    return _low_bits(rw, a, b, shift) if end.bounds is None and target == I32 else None


def _low_bits(rw: Rewriter, a: Value, b: Value, shift: int) -> Value:
    """The low 32 bits of `(a * b + half) >> shift`, for shifts below 32.

    The product is `high * 2^32 + low`, with high the nearest number, so that low is a signed one.
    """
    high, low = build.mul(rw, a, b, 32), build.mul(rw, a, b)
    high = rw.emit("tosa.logical_left_shift", high, build.scalar(rw, 32 - shift, I32, high.rank), element=I32)
    low = rw.emit("tosa.arithmetic_right_shift", low, build.scalar(rw, shift, I32, low.rank), round=True, element=I32)
    return rw.emit("tosa.add", high, low, element=I32)


def _of_rank(rw: Rewriter, x: Value, rank: int) -> Value:
    """`x` in i32 with dimensions of size 1 before its own."""
    x = x if x.element == I32 else rw.emit("top.Cast", x, element=I32)
    return x if x.rank == rank else rw.emit("top.Reshape", x, shape=(*(1,) * (rank - x.rank), *x.shape))


def _narrow(rw: Rewriter, value: Value, rank: int) -> tuple[Value, int] | None:
    """The number of at most 32 bits that one of 64 bits was cast from, or is constantly, and its bits."""
    held = constant_of(value)
    if held is not None:
        numbers = held.numpy()
        if _integer(value) is None or not numbers.size or not _in_i32((int(numbers.min()), int(numbers.max()))):
            return None
        return rw.constant(numbers.astype(np.int32).reshape((1,) * (rank - numbers.ndim) + numbers.shape)), 32
    maker = value.op
    source = _integer(maker.operands[0]) if maker is not None and maker.name == "top.Cast" else None
    if source is None or source.width > 32 or source == UI32:
        return None
    return maker.operands[0], source.width + (1 if source.unsigned else 0)  # type: ignore[union-attr]
