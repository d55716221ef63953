"""Which tensors get more bits: greedily, by what is measured with those that have them already, and taken back again.

What giving up a tensor gains depends on what else is given up: where an output is lost already, one alone changes nothing, and
two tensors in a row may gain only together. So after the first look at each by itself (the loss table), the one that promises
most for its price is measured anew, beside all that were chosen before, until none promises more than one that has just been
measured (M. Minoux, "Accelerated greedy algorithms", 1978). Then, the other way, each that was chosen is tried with fewer bits.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from .measuring import Measured, Measuring
from .spending import Assignment, Spending

__all__ = ["by_interaction", "by_sensitivity", "decibels", "sensitivities", "taken_back"]

Enough = Callable[[Measured], bool]
Affordable = Callable[[Assignment], bool]
BELIEVED = 6
"""How often in a row a promise of more may turn out wrong, before what was measured so far is taken."""


def decibels(loss: float) -> float:
    return float(-10 * np.log10(max(loss, 1e-12)))


def _moves(units: Sequence[str], modes: Sequence[str], chosen: Assignment) -> Iterator[tuple[str, str]]:
    """Every unit with every mode that is more than it has; `modes` go from less to more."""
    for unit in units:
        yield from ((unit, mode) for mode in modes[modes.index(chosen[unit]) + 1 if unit in chosen else 0:])


def sensitivities(
    measuring: Measuring, units: Sequence[str], modes: Sequence[str], base: Assignment,
) -> dict[str, Measured]:
    """What is found with one unit more given up than in `base`, to the last of the modes, for each unit that is not."""
    able = [unit for unit in units if base.get(unit) != modes[-1]]
    return dict(zip(able, measuring.all({**base, unit: modes[-1]} for unit in able), strict=True))


def by_sensitivity(alone: Mapping[str, Measured], base: Assignment, mode: str) -> Iterator[dict[str, str]]:
    """One unit after the other gets a mode, in the order of what each alone gains: the plain way."""
    chosen = dict(base)
    for unit in sorted(alone, key=lambda unit: alone[unit].loss):
        chosen[unit] = mode
        yield dict(chosen)


def by_interaction(
    measuring: Measuring, spending: Spending, units: Sequence[str], modes: Sequence[str], base: Assignment,
    alone: Mapping[str, Measured], affordable: Affordable,
) -> Iterator[dict[str, str]]:
    """Choices of more and more units, each with the one that gained most for its price when it was measured beside the others.

    What a unit gains alone was measured with the last of the modes: of another it is a promise of as much.
    """
    chosen = dict(base)
    now = measuring(chosen).loss
    waiting = [
        (-_worth(now - alone[move[0]].loss, _more(spending, chosen, move)), place, move, 0 if move[1] == modes[-1] else -1)
        for place, move in enumerate(_moves(units, modes, base)) if move[0] in alone]
    heapq.heapify(waiting)
    step, tried = 0, 0
    while waiting:
        worth, place, (unit, mode), at = heapq.heappop(waiting)
        if (unit in chosen and modes.index(chosen[unit]) >= modes.index(mode)) or not affordable({**chosen, unit: mode}):
            continue
        if at < step and tried < BELIEVED:
            tried += 1
            found = measuring({**chosen, unit: mode}).loss
            worth = -_worth(now - found, _more(spending, chosen, (unit, mode)))
            heapq.heappush(waiting, (worth, place, (unit, mode), step))
            continue
        chosen[unit] = mode
        now = measuring(chosen).loss
        step, tried = step + 1, 0
        yield dict(chosen)


def _more(spending: Spending, chosen: Assignment, move: tuple[str, str]) -> float:
    unit, mode = move
    return spending.price({**chosen, unit: mode}) - spending.price(chosen)


def _worth(gain: float, price: float) -> float:
    """What is gained for a price; losses are the worse the less they cost."""
    return gain / max(price, 1e-9) if gain > 0.0 else gain


def taken_back(
    measuring: Measuring, spending: Spending, modes: Sequence[str], base: Assignment, chosen: Assignment, enough: Enough,
) -> dict[str, str]:
    """The choice with as few bits as are `enough`: what saves most is tried first, until nothing more can be saved."""
    left = dict(chosen)
    refused: set[tuple[str, str]] = set()
    while True:
        tries = sorted(
            ((spending.price(left) - spending.price(fewer), unit, fewer) for unit, fewer in _fewer(left, modes, base)
             if (unit, fewer.get(unit, "")) not in refused), key=lambda each: (-each[0], each[1]))
        for saved, unit, fewer in tries:
            if saved > 0.0 and enough(measuring(fewer)):
                left = fewer
                break
            refused.add((unit, fewer.get(unit, "")))  # with even fewer bits elsewhere it would not do either
        else:
            return left


def _fewer(chosen: Assignment, modes: Sequence[str], base: Assignment) -> Iterator[tuple[str, dict[str, str]]]:
    """The choices with one unit's bits made fewer, down to what `base` has."""
    for unit, mode in chosen.items():
        if mode == base.get(unit):
            continue
        without = {name: each for name, each in chosen.items() if name != unit}
        yield unit, {**without, **({unit: base[unit]} if unit in base else {})}
        lowest = modes.index(base[unit]) + 1 if unit in base else 0
        for less in modes[lowest:modes.index(mode)]:
            yield unit, {**chosen, unit: less}
