"""Inputs to verify with: random numbers from the model's own ranges."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from typing import Any

import numpy as np

from ..analysis.landmarks import NOTHING, Landmarks, asked_alone, landmarks_of_inputs, together
from ..analysis.movement import index_operands, is_cast, moved
from ..engine.run import check_inputs
from ..errors import InputError, RunError, UsageError
from ..given import open_given, settled
from ..ir import (
    BOOL,
    ComplexType,
    FloatType,
    IntegerType,
    Module,
    Op,
    QuantType,
    TensorType,
    Type,
    Value,
    dtype_of,
    input_names,
    input_types,
)
from ..ir.borders import RANGE, input_limits
from ..meanings import limits_of, quantized_at_once
from ..samples.preprocess import Preprocess

__all__ = ["NARROW", "RANGE", "checked_inputs", "index_bounds", "limits_of_inputs", "nearer_to", "plain_integers",
           "random_inputs", "wide_integers"]

_MOST = 1 << 28
"""Elements of an input that is made up: 2 GB while they are drawn."""


def checked_inputs(source: Module, given: Mapping[str, Any], preprocess: Preprocess | None = None) -> dict[str, np.ndarray]:
    """Arrays for the inputs of a model, in its order, of its types, files read. `UsageError` lists all that do not fit."""
    try:
        arrays = check_inputs(source.main, settled(source, open_given(given), preprocess))
    except InputError as error:
        raise UsageError("the input data does not fit the model", error.findings) from None
    return dict(zip(input_names(source.main), arrays, strict=True))


_DEFAULT_INDEX_BOUND = 2
NARROW = 16
"""The most bits of integers that are drawn from all that their type holds."""
_SMALL = 9
_FAR = 1000
"""Up to here integers are drawn that floats are computed of: a time step, a sample of sound, a price."""
_WORD = (-(1 << 31), (1 << 31) - 1)
"""Integers of 64 bits are drawn from these: what a result takes in their place may have 32."""


def random_inputs(
    source: Module, hub: Module | None = None, seed: int = 0, function: str = "main", spread: float = 1.0,
    signed: Container[int] = (), far: Mapping[int, int] | None = None, side: int = 0,
    wide: Mapping[int, np.ndarray] | None = None, evenly: bool = False,
) -> dict[str, np.ndarray]:
    """One array per input of the source module, reproducible from `seed`.

    Quantized inputs take their whole stored range, or what of it ops take that they are given to, as a root does; floats the
    range the file gives, or that of what they are quantized to (`limits_of_inputs`), or a normal distribution around zero with
    `spread` as its standard deviation, complex numbers such a real and such an imaginary part;
    booleans both values;
    integers that index a tensor (found in the hub form of the model, where it is given) only what that tensor has; other wide
    integers zeros and ones, or the next two that ops take, as a length does no zero; or, of the inputs with the numbers `signed`,
    small ones of either sign; and none of these is zero.
    Those with numbers in `far` are of all sizes up to `_FAR`, above zero, or below it where that says -1; or large ones,
    `evenly` spread. Those in `wide` (of `wide_integers`) are of the range of their type, and half of them next to the integers it
    has there.
    Of what has a range, which is quantized integers, those of few bits that index nothing, and floats with such limits, a
    `spread` below 1 takes that share of it, around what stands for zero.
    With `side`, floats and quantized integers are of one half of what they are drawn from, the upper one, or with -1 the lower.
    `UsageError` where the seed is negative.
    """
    if seed < 0:
        raise UsageError(f"the seed of random inputs is {seed}; it must be 0 or greater")
    generator = np.random.default_rng(seed)
    main = source.function(function)
    attributes = main.attributes.get("arg_attrs") or [{}] * len(main.regions[0].block.arguments)
    bounds = index_bounds(hub, function) if hub is not None else {}
    taken = _taken_numbers(hub, function) if hub is not None else {}
    limits = limits_of_inputs(source, hub, function)
    inputs: dict[str, np.ndarray] = {}
    for index, (name, type_) in enumerate(zip(input_names(main), input_types(main), strict=True)):
        if not isinstance(type_, TensorType):
            raise RunError(f"no inputs can be made up: {name!r} is no tensor, but {type_}",
                           hint="files hold tensors alone: give the function none but them as arguments")
        if not type_.is_static:
            raise RunError(f"no inputs can be made up: {name!r} has no static shape: {type_}",
                           hint="give data: --input, or its sizes: --shape")
        if type_.num_elements > _MOST:
            raise RunError(f"no inputs can be made up: {name!r} is {type_}, more than {_MOST:,} elements",
                           hint="give data: --input")
        if not isinstance(type_.element, IntegerType | FloatType | ComplexType | QuantType):
            raise RunError(f"no inputs can be made up: {name!r} holds {type_.element}, of which there are no random ones",
                           hint="give data: --input; what takes no numbers, as text, belongs in front of the model")
        asked = taken.get(index, NOTHING)
        inputs[name] = _random(generator, type_, limits.get(name), bounds.get(index), spread, side, asked)
        if index in signed and RANGE not in attributes[index]:
            inputs[name] = _without_zeros(generator, inputs[name])
        if far is not None and index in far and RANGE not in attributes[index]:
            inputs[name] = _of_all_sizes(generator, inputs[name], far[index], evenly)
        if wide is not None and index in wide and RANGE not in attributes[index]:
            inputs[name] = _of_the_range(generator, inputs[name], wide[index])
    return inputs


def limits_of_inputs(source: Module, hub: Module | None = None, function: str = "main") -> dict[str, tuple[float, float]]:
    """The ends of the range that inputs have, by name: as the model's file says it, or, of floats that are quantized to few bits
    before anything computes with them (found in the hub form), all that these hold: what lies beyond becomes one of the ends.
    """
    said = input_limits(source.function(function))
    if hub is None or function not in hub.functions:
        return said
    taken, types = quantized_at_once(hub.function(function)), input_types(source.function(function))
    names = zip(input_names(source.function(function)), input_names(hub.function(function)), strict=False)
    limits = {name: limits_of(taken[there]) for (name, there), type_ in zip(names, types, strict=False)
              if there in taken and _are_held(taken[there], type_)}
    return {**limits, **said}


def _are_held(element: QuantType, type_: Type) -> bool:
    """Whether a quantized type is of few bits, and all that it holds are finite numbers of floats of another type."""
    if not isinstance(type_, TensorType) or not isinstance(type_.element, FloatType) or element.storage.width > NARROW:
        return False
    with np.errstate(over="ignore"):
        return bool(np.isfinite(np.asarray(limits_of(element)).astype(dtype_of(type_.element))).all())


def _random(
    generator: np.random.Generator, type_: TensorType, limits: Any, index_bound: int | None, spread: float,
    side: int = 0, asked: Landmarks = NOTHING,
) -> np.ndarray:
    shape = type_.static_shape
    element = type_.element
    dtype = dtype_of(element)
    if isinstance(element, QuantType):
        zero = element.zero_point if element.per_tensor else 0
        least, greatest = _integers_nearer_to(zero, *_half(*_stored_ends(element, asked), side), spread)
        drawn = _integers(generator, least, greatest, shape)
        if asked.divides and element.per_tensor:
            drawn = np.where(drawn == element.zero_point, drawn + (1 if element.zero_point < element.storage_max else -1), drawn)
        return drawn.astype(dtype)
    if element == BOOL:
        return generator.integers(0, 2, shape).astype(dtype)
    if isinstance(element, IntegerType):
        low, high = element.range
        if limits is not None:
            low, high = _integers_nearer_to(0, max(low, int(limits[0])), min(high, int(limits[1])), spread)
        elif index_bound is not None:
            low, high = 0, max(index_bound - 1, 0)  # of no elements none has a place
        elif element.width > NARROW:
            low, high = _least_taken(asked, low, high)
        else:
            low, high = _integers_nearer_to(0, low, high, spread)
        return _integers(generator, low, high, shape).astype(dtype)
    if isinstance(element, ComplexType):
        real, imaginary = (spread * generator.standard_normal(shape) for _ in range(2))
        return (real + 1j * imaginary).astype(dtype)
    if limits is not None:
        return generator.uniform(*nearer_to(0, *_half(float(limits[0]), float(limits[1]), side), spread), shape).astype(dtype)
    drawn = spread * generator.standard_normal(shape)
    return (side * np.abs(drawn) if side else drawn).astype(dtype)


def _stored_ends(element: QuantType, asked: Landmarks) -> tuple[int, int]:
    """Between which stored numbers those are that are asked for; the ends of the type where none are, or it has many scales."""
    ends = element.storage_min, element.storage_max
    if not element.per_tensor or not element.scale:
        return ends
    low, high = (min(max(limit / element.scale + element.zero_point, ends[0]), ends[1]) for limit in (asked.least, asked.most))
    return (math.ceil(low), math.floor(high)) if math.ceil(low) <= math.floor(high) else ends


def _least_taken(asked: Landmarks, least: int, most: int) -> tuple[int, int]:
    """The first of the integers from zero on that are asked for, or the nearest below it, and the next one, of the type's."""
    low = math.floor(min(max(0, math.ceil(max(asked.least, least))), max(min(asked.most, most), least)))
    return low, math.floor(max(min(low + _DEFAULT_INDEX_BOUND - 1, asked.most), low))


def _half(low: float, high: float, side: int) -> tuple[float, float]:
    """The ends of the upper half of a range, of the lower one, or of all of it."""
    middle = (low + high) / 2
    return (middle, high) if side > 0 else (low, middle) if side < 0 else (low, high)


def nearer_to(zero: float, low: float, high: float, share: float) -> tuple[float, float]:
    """The ends of a part of a range: of a `share` below 1 each is that share as far from zero, or what is nearest to it."""
    if share >= 1:
        return low, high
    around = min(max(low, zero), high)
    return around + (low - around) * share, around + (high - around) * share


def _integers_nearer_to(zero: int, low: float, high: float, share: float) -> tuple[int, int]:
    """The ends of such a part of a range of integers: those outside of it, so that a small one has integers beside zero.

    Half of a range may end between two integers: there the upper end is the one within.
    """
    least, most = nearer_to(zero, low, high, share)
    return math.floor(least), min(math.ceil(most), math.floor(high))


def _integers(generator: np.random.Generator, low: int, high: int, shape: tuple[int, ...]) -> np.ndarray:
    """Integers from `low` to `high`, which 64 bits with a sign hold."""
    least, greatest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    return generator.integers(max(low, least), min(high, greatest), shape, dtype=np.int64, endpoint=True)


def _without_zeros(generator: np.random.Generator, like: np.ndarray) -> np.ndarray:
    """Integers up to `_SMALL` from zero, or narrow ones of any size, of which none is zero: it may be divided by them."""
    if like.dtype.itemsize * 8 <= NARROW:
        return np.where(like == 0, like.dtype.type(1), like)
    drawn = generator.integers(1, _SMALL, like.shape, endpoint=True)
    signs = generator.choice((-1, 1), like.shape) if like.dtype.kind == "i" else 1
    return np.asarray(drawn * signs).astype(like.dtype)


def _of_all_sizes(generator: np.random.Generator, like: np.ndarray, sign: int, evenly: bool) -> np.ndarray:
    """Integers from 1 to `_FAR` away from zero on one side, as many small as large ones; `evenly`: from a quarter of it."""
    drawn = generator.uniform(_FAR / 4, _FAR, like.shape) if evenly else _FAR ** generator.uniform(0.0, 1.0, like.shape)
    return np.asarray(np.rint(drawn) * (sign if like.dtype.kind == "i" else 1)).astype(like.dtype)


def _of_the_range(generator: np.random.Generator, like: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Integers of the range of their type, half of them at most 1 from one of those `near`, if there are any."""
    ends = np.iinfo(like.dtype)
    low, high = (ends.min, ends.max) if ends.bits <= 32 else (max(ends.min, _WORD[0]), _WORD[1])
    drawn = _integers(generator, low, high, like.shape)
    near = near[(low <= near) & (near <= high)]
    if near.size:
        beside = generator.choice(near, like.shape) + generator.integers(-1, 1, like.shape, endpoint=True)
        drawn = np.where(generator.random(like.shape) < 0.5, beside, drawn)
    return np.clip(drawn, low, high).astype(like.dtype)


def plain_integers(hub: Module, function: str = "main") -> frozenset[int]:
    """The arguments, by number, of integers of which nothing but other integers is computed, and results that these are cast to.

    Zeros and ones are all that is safe for what may be a place, a size, a count, or a mask, where it is of a wide type. These are
    none of that, and what is wrong with signs and remainders does not show in zeros and ones.
    """
    if function not in hub.functions:
        return frozenset()
    arguments = hub.function(function).regions[0].block.arguments
    return frozenset(index for index, argument in enumerate(arguments) if _is_plain(argument))


def _is_plain(argument: Value) -> bool:
    element = argument.type.element if isinstance(argument.type, TensorType) else None
    if not isinstance(element, IntegerType) or element.width == 1:
        return False
    pending, seen = [argument], {argument}
    while pending:
        for user in pending.pop().uses:
            is_index = any(place < len(user.operands) and user.operands[place] in seen for place in index_operands(user))
            if is_index or user.regions or not all(_holds_integers(made) or _is_given_out(made) for made in user.results):
                return False
            pending += [result for result in user.results if result not in seen]
            seen.update(user.results)
    return True


def wide_integers(hub: Module, function: str = "main") -> dict[int, np.ndarray]:
    """The plain integers of 32 bits or more that may be any number, by number, each with its landmarks, of 64 bits.

    A divisor may not: it is not the first operand of an op whose operands do not change places.
    """
    arguments = hub.function(function).regions[0].block.arguments if function in hub.functions else ()
    asked, found = landmarks_of_inputs(hub, function), dict[int, np.ndarray]()
    for index in sorted(plain_integers(hub, function)):
        if arguments[index].element_or_none.width > NARROW and _may_be_any(arguments[index]):  # type: ignore[union-attr]
            points = np.floor(asked.get(index, NOTHING).points)
            found[index] = points[np.abs(points) < 2.0**63].astype(np.int64)
    return found


def _may_be_any(argument: Value) -> bool:
    """Whether no number of an argument, nor of what is computed of it, is one that an op does not take."""
    pending, seen = [argument], {argument}
    while pending:
        value = pending.pop()
        for user in value.uses:
            gives_truths = all(result.element_or_none == BOOL for result in user.results)
            changes_places = user.declaration is not None and "commutative" in user.declaration.traits
            if not (gives_truths or changes_places or value in moved(user) or value not in user.operands[1:]):
                return False
            pending += [result for result in user.results if result not in seen]
            seen.update(user.results)
    return True


def _taken_numbers(hub: Module, function: str) -> dict[int, Landmarks]:
    """What is asked about arguments, by number; about quantized ones, by ops that take them or what is only moved of them."""
    arguments = hub.function(function).regions[0].block.arguments if function in hub.functions else ()
    quantized = {index: _asked_of(value) for index, value in enumerate(arguments) if value.is_quantized}
    return landmarks_of_inputs(hub, function) | quantized


def _asked_of(argument: Value) -> Landmarks:
    found, pending, seen = list[Landmarks](), [argument], {argument}
    while pending:
        value = pending.pop()
        for user in value.uses:
            asked = asked_alone(user)
            found += [asked[place] for place, operand in enumerate(user.operands) if operand is value and place in asked]
            if value in moved(user):
                pending += [result for result in user.results if result not in seen]
                seen.update(user.results)
    return together(found)


def index_bounds(hub: Module, function: str) -> dict[int, int]:
    """How large the least dimension is that arguments index, by number; of those that index any."""
    if function not in hub.functions:
        return {}
    arguments = hub.function(function).regions[0].block.arguments
    moves: dict[Op, frozenset[Value]] = {}
    bounds = {index: _index_bound(value, moves) for index, value in enumerate(arguments)}
    return {index: bound for index, bound in bounds.items() if bound is not None}


def _index_bound(argument: Value, moves: dict[Op, frozenset[Value]]) -> int | None:
    """How large the least dimension is that an argument indexes, followed through ops that only move or cast it.

    `moves` keeps what ops move: one may have as many operands as there are arguments.
    """
    bounds: list[int] = []
    pending, seen = [argument], set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        for user in value.uses:
            bounds.extend(_indexed_sizes(user, value))
            if user not in moves:
                moves[user] = frozenset(moved(user))
            if value in moves[user] or is_cast(user):
                pending.extend(result for result in user.results if _holds_integers(result))
    return min(bounds) if bounds else None


def _indexed_sizes(user: Op, value: Value) -> list[int]:
    """The sizes of the dimensions of which `value` holds places in `user`."""
    found = [index.size(user) for place, index in index_operands(user).items()
             if place < len(user.operands) and user.operands[place] is value]
    return [size for size in found if size is not None]


def _is_given_out(value: Value) -> bool:
    """Whether a value is what integers are cast to, and nothing but a result."""
    declaration = value.op.declaration if value.op is not None else None
    return declaration is not None and "retypes" in declaration.traits and all(user.name == "func.return" for user in value.uses)


def _holds_integers(value: Value) -> bool:
    return isinstance(value.type, TensorType) and isinstance(value.type.element, IntegerType)
