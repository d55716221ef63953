"""What ops of `top` ask about the numbers of their operands: facts of kind "landmarks" (`transload.analysis.landmarks`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.analysis.landmarks import Landmarks
from transload.facts import FactTable
from transload.ir import FloatType, IntegerType, Op, Value
from transload.ir.build import constant_of

if TYPE_CHECKING:
    from ..ops.activation import Clip, Relu
    from ..ops.elementwise import AddConst, MulConst, Scale
    from ..ops.movement import ReverseSequence
    from ..ops.recurrent import GRU, LSTM, RNN

__all__ = ["LANDMARKS"]

LANDMARKS = FactTable("top")

Asked = Mapping[int, Landmarks]

_LARGEST = 1 << 12
"""Elements of constants that are looked at."""
_BENDS = {"Tanh": 2.0, "Erf": 2.0, "Softsign": 2.0, "HardSwish": 3.0, "HardSigmoid": 3.0, "Sigmoid": 4.0, "Softplus": 4.0,
          "GELU": 2.0, "SiLU": 4.0, "Mish": 4.0, "Elu": 2.0}
"""How far from zero functions are bent, and no longer straight lines or constants, from there on."""


_NAN, _INFINITE = (Landmarks(endless=frozenset({word})) for word in ("nan", "inf"))
_ENDLESS = Landmarks(endless=_NAN.endless | _INFINITE.endless)
"""Below infinity is what is finite, and neither of both."""


# --- constants and activations


def _numbers(value: Value) -> np.ndarray | None:
    """The finite numbers of a constant, flat; None of what is none, holds none, or is large."""
    dense = constant_of(value)
    if dense is None or not 0 < dense.type.num_elements <= _LARGEST:
        return None
    if not isinstance(dense.type.element, IntegerType | FloatType):
        return None
    array = dense.numpy().ravel()
    if array.dtype.kind not in "iu":  # integers of less than a byte are of no kind that numpy knows
        array = array.astype(np.int64 if isinstance(dense.type.element, IntegerType) else np.float64)
    array = array[np.isfinite(array)]
    return array if array.size else None


def _ends(value: Value) -> tuple[Any, Any] | None:
    array = _numbers(value)
    return None if array is None else (array.min().item(), array.max().item())


def _largest(value: Value) -> Any:
    """The number of a constant that is farthest from zero; None where there is none but zeros."""
    array = _numbers(value)
    found = None if array is None else array[np.abs(array.astype(np.float64)).argmax()].item()
    return found or None


def _is_whole(op: Op) -> bool:
    return isinstance(op.operands[0].element_or_none, IntegerType)


def _cut(shown: Landmarks, low: float, high: float) -> Landmarks:
    """Asked about what is cut off at two numbers, in between which it lies from then on."""
    points = {point for point in shown.points if low <= point <= high} | {end for end in (low, high) if math.isfinite(end)}
    return replace(shown.finite, points=tuple(sorted(points)), least=-math.inf if low >= shown.least else shown.least,
                   most=math.inf if high <= shown.most else shown.most)


def _before_activation(op: Op, shown: Landmarks) -> Landmarks:
    """Asked about an op's numbers before the ReLU that it may end with."""
    if not op.attribute("do_relu", False):
        return shown
    limit: Any = op.attribute("relu_limit", -1.0)
    return _cut(shown, 0, limit if limit is not None and limit >= 0 else math.inf)


def _activated(*names: str) -> Callable[[Any], Any]:
    """Adds a rule of ops that may end with a ReLU."""
    def add(rule: Callable[[Any, Landmarks], Asked]) -> Any:
        LANDMARKS.add(lambda op, shown: rule(op, _before_activation(op, shown)), *names)
        return rule
    return add


# --- back through arithmetic


def _shifted(shown: Landmarks, least: float, most: float) -> Landmarks:
    """Asked about x, where it is asked about x + c, of all c from `least` to `most`."""
    points = {point - end for point in shown.points for end in (least, most)}
    low, high = shown.least - least, shown.most - most
    is_exact = float(least).is_integer() and float(most).is_integer()
    return replace(_computed(shown, is_exact), points=tuple(sorted(points)), least=min(low, high), most=max(low, high))


def _computed(shown: Landmarks, is_exact: bool) -> Landmarks:
    """Asked about what is computed, exactly or with a rounding."""
    return replace(shown, unsteady=True) if shown.stepped and not is_exact else shown


def _is_power_of_two(number: float) -> bool:
    return math.frexp(number)[0] == 0.5


def _negated(shown: Landmarks) -> Landmarks:
    return replace(shown, points=tuple(sorted(-point for point in shown.points)), least=-shown.most, most=-shown.least)


def _scaled(shown: Landmarks, factor: float, whole: bool) -> Landmarks:
    """Asked about x, where it is asked about x * factor."""
    if factor < 0:
        return _scaled(_negated(shown), -factor, whole)
    points = {point / factor for point in shown.points}
    least, most = shown.least / factor, shown.most / factor
    if whole:
        points = {end(point) for point in points for end in (math.floor, math.ceil)}
        least, most = _whole(least, math.ceil), _whole(most, math.floor)
    return replace(_computed(shown, whole or _is_power_of_two(factor)), points=tuple(sorted(points)), least=least, most=most)


def _whole(number: float, rounded: Callable[[float], int]) -> float:
    return rounded(number) if math.isfinite(number) else number


def _divided(shown: Landmarks, divisor: float, whole: bool) -> Landmarks:
    """Asked about x, where it is asked about x / divisor, of integers the whole part."""
    if divisor < 0:
        return _divided(_negated(shown), -divisor, whole)
    last = divisor - 1 if whole else 0
    points = {point * divisor + end for point in shown.points for end in (0, last)} | ({0, divisor} if whole else set())
    return replace(_computed(shown, whole or _is_power_of_two(divisor)), points=tuple(sorted(points)),
                   least=shown.least * divisor, most=shown.most * divisor + last)


def _share(shown: Landmarks, count: int) -> Landmarks:
    """Asked about each of several that are added up."""
    return replace(shown, least=_whole(shown.least / count, math.ceil), most=_whole(shown.most / count, math.floor))


@_activated("Add")
def added(op: Op, shown: Landmarks) -> Asked:
    if any(factor != 1 for factor in op.attribute("coeff") or ()):
        return {}
    known = [_ends(operand) for operand in op.operands]
    constants = [ends for ends in known if ends is not None]
    left = _shifted(shown, sum(low for low, _ in constants), sum(high for _, high in constants))
    variable = [number for number, operand in enumerate(op.operands) if constant_of(operand) is None]
    return dict.fromkeys(variable, left if len(variable) == 1 else _share(left, max(len(variable), 1)))


@_activated("Sub")
def subtracted(op: Op, shown: Landmarks) -> Asked:
    first, second = map(_ends, op.operands)
    if second is not None:
        return {0: _shifted(shown, -second[1], -second[0])}
    if first is not None:
        return {1: _negated(_shifted(shown, *first))}
    if math.inf in (-shown.least, shown.most):
        return {0: shown, 1: _negated(shown)}
    middle = math.ceil((shown.least + shown.most) / 2)
    return {0: replace(shown, least=middle), 1: replace(_negated(shown), least=0, most=middle - shown.least)}


@_activated("Mul")
def multiplied(op: Op, shown: Landmarks) -> Asked:
    variable = [number for number, operand in enumerate(op.operands) if constant_of(operand) is None]
    factors = [_largest(operand) for operand in op.operands if constant_of(operand) is not None]
    if len(variable) != 1 or None in factors:
        return {}
    return {variable[0]: _scaled(shown, math.prod(factors), _is_whole(op))}


@_activated("AddConst")
def added_number(op: AddConst, shown: Landmarks) -> Asked:
    return {0: _shifted(shown, op.const_val, op.const_val)}


@_activated("MulConst")
def multiplied_by_number(op: MulConst, shown: Landmarks) -> Asked:
    return {0: _scaled(shown, op.const_val, _is_whole(op))} if op.const_val else {}


@_activated("Scale")
def scaled(op: Scale, shown: Landmarks) -> Asked:
    factor, offset = _largest(op.operands[1]), _ends(op.operands[2])
    return {} if factor is None or offset is None else {0: _scaled(_shifted(shown, *offset), factor, _is_whole(op))}


@_activated("Div")
def divided(op: Op, shown: Landmarks) -> Asked:
    divisor = _largest(op.operands[1])
    by = {1: Landmarks(divides=True)} if op.operands[1].is_quantized else {}
    return by if divisor is None else {0: _divided(shown, divisor, _is_whole(op))}


@LANDMARKS("FloorDiv")
def floor_of_quotient(op: Op, shown: Landmarks) -> Asked:
    """Of floats steps, whichever quotient is rounded down: what is computed around it may be rounded to the next."""
    return divided(op, rounded(op, shown)[0])


@LANDMARKS("Sqrt", "Rsqrt")
def root(op: Op, shown: Landmarks) -> Asked:
    """Stored numbers have no NaN: those of which there is no root are none that it takes."""
    given = op.operands[0].quant
    if given is None or not given.per_tensor:
        return {}
    return {0: Landmarks(least=given.scale if op.name == "top.Rsqrt" else 0.0)}


@LANDMARKS("ShiftRight")
def shifted_right(op: Op, shown: Landmarks) -> Asked:
    places = _ends(op.operands[1])
    return {} if places is None or not 0 <= places[1] < 32 else {0: _divided(shown, 1 << places[1], whole=True)}


@LANDMARKS("FloorMod", "TruncMod")
def remainder(op: Op, shown: Landmarks) -> Asked:
    """The rest begins anew at each multiple, on both sides of zero where what is made of it may be of any sign."""
    divisor = _largest(op.operands[1])
    if divisor is None:
        return {}
    size = abs(divisor)
    below = size - 1 if _is_whole(op) else size
    points = {point for point in shown.points if 0 <= point < size} | {0, size, 2 * size}
    least = -math.inf if shown.least <= (0 if op.name == "top.FloorMod" and divisor > 0 else -below) else 0
    most = math.inf if shown.most >= below else shown.most
    if least < 0 and most == math.inf:
        points.add(-size)
    return {0: replace(shown.finite, points=tuple(sorted(points)), least=least, most=most)}


@LANDMARKS("BitwiseAnd")
def bits_kept(op: Op, shown: Landmarks) -> Asked:
    """Bits up to a constant's highest are kept, and places that it holds are all inside."""
    known = {number: ends for number, operand in enumerate(op.operands) if (ends := _ends(operand)) is not None}
    if len(known) != 1 or min(ends[0] for ends in known.values()) < 0:
        return {}
    (number, (_, most)), = known.items()
    points = {point for point in shown.points if 0 <= point <= most} | {0, most, most + 1}
    inside = shown.least <= 0 and shown.most >= most
    limits = Landmarks(tuple(sorted(points))) if inside else Landmarks(tuple(sorted(points)), 0, shown.most)
    return {1 - number: replace(limits, as_floats=shown.as_floats)}


@LANDMARKS("Neg")
def negative(op: Op, shown: Landmarks) -> Asked:
    return {0: _negated(shown)}


@LANDMARKS("Abs")
def absolute(op: Op, shown: Landmarks) -> Asked:
    points = {sign * point for point in shown.points for sign in (-1, 1)}
    return {0: replace(shown, points=tuple(sorted(points)), least=-shown.most)}


@LANDMARKS("Floor", "Ceil", "Round")
def rounded(op: Op, shown: Landmarks) -> Asked:
    return {0: replace(shown, stepped=not _is_whole(op) or shown.stepped)}


# --- what compares, cuts off and bends


@LANDMARKS("Compare")
def compared(op: Op, shown: Landmarks) -> Asked:
    """Each number of a constant is a threshold of what it is compared with; with itself, it is asked whether it is NaN."""
    if op.operands[0] is op.operands[1]:
        return {0: _NAN}
    asked = {1 - number: Landmarks(tuple(np.unique(array).tolist())) for number, operand in enumerate(op.operands)
             if (array := _numbers(operand)) is not None}
    return asked | {1 - number: _ENDLESS for number, operand in enumerate(op.operands) if _is_endless(operand)}


def _is_endless(value: Value) -> bool:
    dense = constant_of(value)
    return dense is not None and isinstance(dense.type.element, FloatType) and dense.type.num_elements == 1 and bool(
        np.isinf(dense.numpy().astype(np.float64)).all())


@LANDMARKS("IsNaN")
def asks_for_nan(op: Op, shown: Landmarks) -> Asked:
    return {0: _NAN}


@LANDMARKS("IsInf")
def asks_for_infinity(op: Op, shown: Landmarks) -> Asked:
    return {0: _INFINITE}


@LANDMARKS("Clip")
def clipped(op: Clip, shown: Landmarks) -> Asked:
    return {0: _cut(shown, op.min, op.max)}


@LANDMARKS("Relu")
def rectified(op: Relu, shown: Landmarks) -> Asked:
    return {0: _cut(shown, 0, op.relu_limit if op.relu_limit >= 0 else math.inf)}


@LANDMARKS("Min", "Max")
def extreme(op: Op, shown: Landmarks) -> Asked:
    constants = [ends for operand in op.operands if (ends := _ends(operand)) is not None]
    for low, high in constants:
        of_both = (low, high) if op.name == "top.Min" else (high, low)
        for end in dict.fromkeys(of_both):  # the limit of all of them is the last that is drawn
            cut = _cut(shown, -math.inf, end) if op.name == "top.Min" else _cut(shown, end, math.inf)
            shown = replace(cut, points=tuple(sorted({*shown.points, *cut.points})))
    return {number: shown for number, operand in enumerate(op.operands) if constant_of(operand) is None}


def _bent(op: Op, shown: Landmarks) -> Asked:
    end = _BENDS[op.name.removeprefix("top.")]
    return {0: Landmarks((-end, end))}


LANDMARKS.add(_bent, *_BENDS)


# --- lengths


@LANDMARKS("LSTM", "GRU", "RNN")
def recurrent(op: GRU | LSTM | RNN, shown: Landmarks) -> Asked:
    shape = op.input.shape_or_none
    return {} if shape is None else _lengths(op, op.sequence_lens, shape[1 if op.batch_first else 0])


@LANDMARKS("ReverseSequence")
def turned_round(op: ReverseSequence, shown: Landmarks) -> Asked:
    shape = op.input.shape_or_none
    return {0: shown} | ({} if shape is None else _lengths(op, op.lengths, shape[op.seq_axis]))


def _lengths(op: Op, lengths: Value | None, size: int | None) -> dict[int, Landmarks]:
    """Of the operand that says how many steps of `size` there are: one at least."""
    if not size or lengths is None:
        return {}
    return {number: Landmarks((1, size), 1, size) for number, operand in enumerate(op.operands) if operand is lengths}


