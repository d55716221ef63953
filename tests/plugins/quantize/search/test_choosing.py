"""The order in which layers are given up, on measurements that are a formula."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from transload_plugins.quantize.search.choosing import by_interaction, by_sensitivity, decibels, sensitivities, taken_back
from transload_plugins.quantize.search.climb import Climb
from transload_plugins.quantize.search.measuring import Measured
from transload_plugins.quantize.search.promise import Kept, promise_of

UNITS = ("a", "b", "c", "d")
NOISE = {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}
PRICES = {"a": 8.0, "b": 1.0, "c": 1.0, "d": 1.0}


class Formula:
    """Noise of units that add up, of which "b" and "c" gain only together; 16 bits leave a tenth of it."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []

    def __call__(self, assignment: Any) -> Measured:
        self.asked.append(dict(assignment))
        noise = {unit: NOISE[unit] * {"INT16": 0.1, "F32": 0.0}.get(assignment.get(unit, ""), 1.0) for unit in UNITS}
        pair = max(noise["b"] / NOISE["b"], noise["c"] / NOISE["c"]) * (NOISE["b"] + NOISE["c"])
        return Measured(noise["a"] + pair + noise["d"], ())

    def all(self, assignments: Iterable[Any]) -> list[Measured]:
        return [self(each) for each in assignments]


class Prices:
    def price(self, assignment: Any) -> float:
        return sum(PRICES[unit] * (0.25 if mode == "INT16" else 1.0) for unit, mode in assignment.items())


def enough(found: Measured) -> bool:
    return found.loss <= 4.0


def test_what_gains_for_its_price_is_given_up_and_what_was_needless_taken_back() -> None:
    formula, prices = Formula(), Prices()
    alone = sensitivities(formula, UNITS, ["F32"], {})  # type: ignore[arg-type]
    assert [alone[unit].loss for unit in UNITS] == [6.0, 10.0, 10.0, 9.0]
    plain = next(chosen for chosen in by_sensitivity(alone, {}, "F32") if enough(formula(chosen)))
    way = by_interaction(formula, prices, UNITS, ["F32"], {}, alone, lambda chosen: True)  # type: ignore[arg-type]
    ours = next(chosen for chosen in way if enough(formula(chosen)))
    left = taken_back(formula, prices, ["F32"], {}, ours, enough)  # type: ignore[arg-type]
    assert enough(formula(left)) and prices.price(left) <= prices.price(plain)
    assert prices.price(taken_back(formula, prices, ["F32"], {}, plain, enough)) <= prices.price(plain)  # type: ignore[arg-type]


def test_fewer_bits_are_taken_where_they_do() -> None:
    formula, prices = Formula(), Prices()
    everything = dict.fromkeys(UNITS, "F32")
    left = taken_back(
        formula, prices, ["INT16", "F32"], {"d": "INT16"}, everything, lambda found: found.loss <= 1.2)  # type: ignore[arg-type]
    assert left == dict.fromkeys(UNITS, "INT16")


def test_no_way_leads_beyond_what_is_affordable_and_none_ends_early() -> None:
    formula, prices = Formula(), Prices()
    alone = sensitivities(formula, UNITS, ["INT16", "F32"], {})  # type: ignore[arg-type]

    def affordable(chosen: Any) -> bool:
        return prices.price(chosen) <= 4.0

    way = list(by_interaction(formula, prices, UNITS, ["INT16", "F32"], {}, alone, affordable))  # type: ignore[arg-type]
    assert way and all(affordable(chosen) for chosen in way)
    whole = list(by_interaction(formula, prices, UNITS, ["INT16", "F32"], {}, alone, lambda chosen: True))  # type: ignore[arg-type]
    assert whole[-1] == dict.fromkeys(UNITS, "F32")
    assert decibels(formula(whole[-1]).loss) == 120.0


class Truth:
    """A judge for whom one unit alone decides, of which the simulation says little for its price."""

    def __init__(self, wanted: str) -> None:
        self.wanted, self.asked = wanted, 0

    def judged(self, assignment: Any) -> list[Kept]:
        self.asked += 1
        kept = self.wanted in assignment
        return [Kept("cos", 1.0 if kept else 0.5, 1.0 if kept else 0.5, kept)]


class Shares(Prices):
    def floats(self, assignment: Any) -> float:
        return self.price(assignment) / sum(PRICES.values())

    def wide(self, assignment: Any) -> float:
        return 0.0


@pytest.mark.parametrize("wanted", UNITS)
def test_no_more_is_given_up_than_by_the_plain_way(wanted: str) -> None:
    """Whatever it is that decides: the simulation's order is followed where that is for less, the loss table's where it is."""
    truth, spending, formula = Truth(wanted), Shares(), Formula()
    climb = Climb(formula, spending, truth, promise_of(min_cos=0.9), ["F32"], {}, UNITS, lambda stage, share: None)  # type: ignore[arg-type]
    climb.run()
    alone = sensitivities(formula, UNITS, ["F32"], {})  # type: ignore[arg-type]
    plain = next(chosen for chosen in by_sensitivity(alone, {}, "F32") if wanted in chosen)
    assert climb.best.kept and wanted in climb.best.assignment
    assert spending.price(climb.best.assignment) <= spending.price(plain)
    assert truth.asked <= 12
