"""Numbers that a model reads as they are given: compared, rounded or looked up before anything is computed of them.

A whole number in floats that is cast to an integer, a label that is compared with the keys of a table: such a number often
stands right on a border, and the next float below it is another id, another label, another row. No runtime takes it for that
float: it is exact, and so is what is computed of it without a rounding (`x - 1`). What its last bits decide is no noise, as it
is behind the first rounding of floats, and never an excuse (`last_bits`). Nor is it one that such a number stands on a border
further on (`edges`): the half of an odd integer is midway between two whole numbers in every runtime.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from ..analysis.movement import is_cast, moved
from ..engine.fold import computed_of
from ..errors import TransloadError
from ..ir import FloatType, Module, NoneType, Op, QuantType, TensorType, Value
from ..ir.build import constant_of
from ..outcomes import other_shape
from ..plugin_host import host

__all__ = ["arguments_by_value", "made_exactly", "next_floats", "read_as_given"]

_SMALL = 1 << 16
"""Numbers of constants from which others are computed here: tables and limits, and no weights."""
_WHOLE = 2.0**24
"""Up to here all whole numbers are floats of 32 bits."""
_PART = 3
"""Of a float's digits one in so many may lie behind the point, where as many lie before it at most: a number that was rounded
has digits in all places, but for one in hundreds."""
_PROBES = ((3, 2, 5, 1, 7), (-11, 7, 1, 5, -2))
"""What makes numbers of few digits of the ones and of the others, too, adds and multiplies; a root or a quotient may be one by
chance. Each operand begins with another one, so that one element tells: 3 / 7, the root of 3, 2 to the -11, -11 to the -2."""


@dataclass(frozen=True)
class _Exact:
    """A value that no rounding of floats has reached, and what it is where its sources are moved by last bits."""

    numbers: np.ndarray
    near: tuple[np.ndarray, ...]
    sources: frozenset[Value]


def read_as_given(module: Module, given: Mapping[Value, np.ndarray], sources: Iterable[Value]) -> dict[Value, np.ndarray]:
    """Which elements of `sources`, arguments and constants of the main function, must not be moved, as masks; others left out.

    `given` are the numbers of arguments and sources. Where there is a border, those elements stay that are whole, or midway
    between two whole ones, wherever the module has it: it may be what is wrong. Where one is crossed then, too, all stays.
    """
    floats = {value: given[value] for value in sources if given[value].dtype.kind == "f"}
    reached, _ = _borders(module, given, {value: _near(numbers) for value, numbers in floats.items()})
    still = {value: _on_halves(given[value]) for value in reached}
    near = {value: [np.where(still[value], floats[value], each) for each in _near(floats[value])] for value in reached}
    _, crossed = _borders(module, given, near)
    return {value: np.ones(mask.shape, bool) if value in crossed else mask for value, mask in still.items()}


def arguments_by_value(module: Module, given: Mapping[str, np.ndarray]) -> dict[Value, np.ndarray]:
    """The arrays by argument; none where they are not those of the module's inputs, whose sizes may be open."""
    pairs = [*zip(module.body_of_main.arguments, map(np.asarray, given.values()), strict=False)]
    fit = all(isinstance(value.type, TensorType) and not other_shape(array, value.type) for value, array in pairs)
    return dict(pairs) if fit else {}


def made_exactly(module: Module, given: Mapping[str, np.ndarray]) -> dict[Value, np.ndarray]:
    """The computed floats of the main function that no rounding has reached, with masks of their elements that have few digits.

    `given` are the inputs, in its order. An element that has more digits may be held as another one, by fewer.
    """
    arguments, found = arguments_by_value(module, given), dict[Value, np.ndarray]()
    known = {value: _Exact(numbers, (), frozenset({value})) for value, numbers in arguments.items()}
    for _, result, exact in _followed(module, known, 0):
        if exact.numbers.dtype.kind == "f":
            found[result] = _has_few_digits(exact.numbers)
    return found


def next_floats(array: np.ndarray, way: np.ndarray | int) -> np.ndarray:
    """The next floats up (where `way` is 1), or down (-1), or the same (0); what is 0, NaN or infinite stays."""
    stays = (np.asarray(way) == 0) | (array == 0) | ~np.isfinite(array)
    with np.errstate(over="ignore"):  # behind the greatest is infinity
        return np.where(stays, array, np.nextafter(array, np.copysign(np.inf, way).astype(array.dtype)))


def _near(array: np.ndarray) -> list[np.ndarray]:
    """All down, all up, and by chance, which parts what is equal."""
    by_chance = [next_floats(array, np.random.default_rng(seed).integers(-1, 2, array.shape)) for seed in range(2)]
    return [next_floats(array, -1), next_floats(array, 1), *by_chance]


def _on_halves(array: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return _whole(array.astype(np.float64) * 2)


def _whole(array: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return (np.rint(array) == array) & (np.abs(array) <= np.float64(2 * _WHOLE))  # more than f16 holds


def _has_few_digits(array: np.ndarray) -> np.ndarray:
    """Which floats are whole, or have digits behind the point (`_PART`), but few enough for none to have been rounded."""
    digits = ml_dtypes.finfo(array.dtype).nmant + 1
    part = np.float64(2.0 ** (digits // _PART))
    numbers = array.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        whole = (np.rint(numbers) == numbers) & (np.abs(numbers) <= min(2.0**digits, 2 * _WHOLE))
        return whole | ((np.rint(numbers * part) == numbers * part) & (np.abs(numbers) <= part))


def _all_have_few_digits(array: np.ndarray) -> bool:
    return bool(_has_few_digits(array[np.isfinite(array)]).all())


def _borders(
    module: Module, given: Mapping[Value, np.ndarray], near: Mapping[Value, list[np.ndarray]],
) -> tuple[frozenset[Value], frozenset[Value]]:
    """The sources, those that `near` has moved numbers of, that reach a border, and those that cross it so."""
    count = max(map(len, near.values()), default=0)
    reached = crossed = frozenset[Value]()
    if not count:
        return reached, crossed
    known = {value: _Exact(numbers, tuple(near.get(value, [numbers] * count)), frozenset({value} & near.keys()))
             for value, numbers in given.items()}
    for kind, _, exact in _followed(module, known, count):
        if kind == "border":
            reached |= exact.sources
            crossed |= exact.sources if any(not _same(exact.numbers, other) for other in exact.near) else frozenset()
    return reached, crossed


def _followed(module: Module, known: dict[Value, _Exact], count: int) -> Iterator[tuple[str, Value, _Exact]]:
    """Each result that no rounding of floats has reached, with its kind (`_kind`), from what is `known` on.

    What is `known` is moved in `count` ways; each result is added.
    """
    for op in module.body_of_main:
        operands = None if op.regions or not op.results else _operands(op, known, count)
        if operands is None:
            continue
        held = [operand for operand in operands if operand is not None]
        sources = frozenset[Value]().union(*(() if _asks_for_sizes(op) else operand.sources for operand in held))
        if not held or (not sources and sum(operand.numbers.size for operand in held) > _SMALL):
            continue
        first = _results(op, [None if each is None else each.numbers for each in operands])
        if first is None or all(_was_rounded(op, result, first[place]) for place, result in enumerate(op.results)):
            continue
        results = [_results(op, [None if each is None else each.near[index] for each in operands]) for index in range(count)]
        if any(each is None for each in results):
            continue
        for place, result in enumerate(op.results):
            others = [each[place] for each in results]  # type: ignore[index]
            kind = _kind(op, place, operands, first[place], others)
            if kind:
                known[result] = _Exact(first[place], tuple(others), sources)
                yield kind, result, known[result]


def _asks_for_sizes(op: Op) -> bool:
    """Whether an op reads none of its operand's numbers."""
    return op.declaration is not None and "shape_only" in op.declaration.traits


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _operands(op: Op, known: Mapping[Value, _Exact], count: int) -> list[_Exact | None] | None:
    """What the operands of an op are, None for absent ones; None where one is not exact."""
    found: list[_Exact | None] = []
    for value in op.operands:
        if isinstance(value.type, NoneType):
            found.append(None)
        elif value in known:
            found.append(known[value])
        elif (dense := constant_of(value)) is not None:
            numbers = dense.numpy()
            found.append(_Exact(numbers, (numbers,) * count, frozenset()))
        else:
            return None
    return found


def _results(op: Op, arrays: list[np.ndarray | None]) -> list[np.ndarray] | None:
    """What a kernel gives; None where there is none, or it fails."""
    try:
        return computed_of(op, host().kernel, arrays)
    except TransloadError:
        return None


def _kind(op: Op, place: int, operands: list[_Exact | None], numbers: np.ndarray, near: list[np.ndarray]) -> str:
    """Whether a result is exact ("exact"), and a step of its operands ("border"); '' where floats are rounded."""
    result = op.results[place]
    element = result.element_or_none if isinstance(result.type, TensorType) else None
    if moved(op):
        return "exact"
    if isinstance(element, QuantType):
        return "border" if all(math.frexp(scale)[0] == 0.5 for scale in element.scales) else ""
    if not isinstance(element, FloatType):
        return "border"
    if is_cast(op):
        return "exact" if op.operands[0].quant is None or _all_have_few_digits(numbers) else ""
    if _was_rounded(op, result, numbers):
        return ""
    if near and all(_whole(other[np.isfinite(other)]).all() for other in near):  # a floor
        return "border"
    return "exact" if _adds_and_multiplies(op, place, operands) else ""


def _was_rounded(op: Op, result: Value, numbers: np.ndarray) -> bool:
    """Whether a result is of floats that are computed, and have more than few digits."""
    return result.is_float and not is_cast(op) and not moved(op) and not _all_have_few_digits(numbers)


def _adds_and_multiplies(op: Op, place: int, operands: list[_Exact | None]) -> bool:
    """Whether an op makes floats of few digits of such: of what it is given, and of others in place of what is computed."""
    arrays = [None if each is None else each.numbers for each in operands]
    floats = [number for number, array in enumerate(arrays) if array is not None and array.dtype.kind == "f"]
    if not all(_all_have_few_digits(arrays[number]) for number in floats):  # type: ignore[arg-type]
        return False
    computed = [number for number in floats if constant_of(op.operands[number]) is None]
    return not computed or all(_makes_few_digits(op, place, arrays, computed, probes) for probes in _PROBES)


def _makes_few_digits(
    op: Op, place: int, arrays: list[np.ndarray | None], computed: list[int], probes: tuple[int, ...],
) -> bool:
    """Whether a result has few digits where operands that are computed are `probes`, each from another one of these on."""
    tried = [*arrays]
    for turn, number in enumerate(computed):
        array: np.ndarray = arrays[number]  # type: ignore[assignment]
        tried[number] = np.resize(np.roll(np.array(probes, array.dtype), turn), array.shape)
    results = _results(op, tried)
    return results is not None and _all_have_few_digits(results[place])
