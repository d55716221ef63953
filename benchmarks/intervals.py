"""How often a promise is broken that a search makes by samples: what lies below the end of a score's interval, of 2.5 % said.

    python benchmarks/intervals.py [--draws 200] [--counts 8 64 200] [--kind NAME ...]

Samples lose what is drawn from a distribution whose mean is known, as little that the score `cos` holds it. Broken is a promise
where the score of all samples, of which those are drawn, is below the lower end of `transload.evaluation.scores.estimate`'s
interval. Beside it stand the same for the bootstrap alone, without losses beyond the greatest
(`transload.evaluation.intervals.mean_at_most`), and the margin: how far above the mean of the losses the end is, in decibels, in
the middle of the draws.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

from transload.evaluation.intervals import interval
from transload.evaluation.scores import estimate, find_scores

LITTLE = 1e-9
"""Of an angle that is 1: what all losses are multiplied by, so that none is cut off by a score's bounds."""
Draw = Callable[[np.random.Generator, int], np.ndarray]


def _lognormal(spread: float, draw: np.random.Generator, count: int) -> np.ndarray:
    return np.exp(spread * draw.normal(size=count) - spread**2 / 2)


def _pareto(exponent: float, draw: np.random.Generator, count: int) -> np.ndarray:
    return (1.0 + draw.pareto(exponent, size=count)) * (exponent - 1.0) / exponent


def _rare(share: float, times: float, draw: np.random.Generator, count: int) -> np.ndarray:
    """Alike but for a share of them, which lose so many times as much."""
    rare = draw.random(count) < share
    return draw.uniform(0.5, 1.5, size=count) * np.where(rare, times, 1.0) / (1.0 + share * (times - 1.0))


def _seldom(share: float, draw: np.random.Generator, count: int) -> np.ndarray:
    """Most lose nothing at all."""
    return np.where(draw.random(count) < share, draw.exponential(size=count), 0.0) / share


KINDS: dict[str, Draw] = {  # each of the mean 1
    "alike (uniform 0.5 to 1.5)": lambda draw, count: draw.uniform(0.5, 1.5, size=count),
    "exponential": lambda draw, count: draw.exponential(size=count),
    "lognormal, sigma 1": partial(_lognormal, 1.0),
    "lognormal, sigma 2": partial(_lognormal, 2.0),
    "Pareto, exponent 2": partial(_pareto, 2.0),
    "Pareto, exponent 1.3": partial(_pareto, 1.3),
    "1 of 10 loses 100 times": partial(_rare, 0.1, 100.0),
    "1 of 30 loses 100 times": partial(_rare, 1.0 / 30.0, 100.0),
    "9 of 10 lose nothing": partial(_seldom, 0.1),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--counts", type=int, nargs="+", default=[8, 64, 200], help="of samples that judge")
    parser.add_argument("--kind", choices=list(KINDS), action="append", help="this distribution; repeatable")
    arguments = parser.parse_args()
    table = Table("losses", *(f"{count} samples" for count in arguments.counts),
                  title="promises broken of 100, and by the bootstrap alone; margin")
    for kind in arguments.kind or KINDS:
        table.add_row(kind, *(measured(KINDS[kind], count, arguments.draws) for count in arguments.counts))
    Console(width=120).print(table)


def measured(kind: Draw, count: int, draws: int) -> str:
    """A cell: of so many draws of `count` samples."""
    draw = np.random.default_rng(count)
    score = find_scores(["cos"])["cos"]
    broken, alone, margins = 0, 0, []
    for _ in range(draws):
        losses = kind(draw, count)
        low = estimate(score, (1.0 - LITTLE * losses).tolist()).low
        end = (1.0 - low) / LITTLE if low is not None else float(losses.mean())
        broken += end < 1.0 - 1e-6
        alone += _bootstraps(losses) < 1.0
        margins.append(10.0 * np.log10(end / losses.mean()) if losses.any() else 0.0)
    return f"{100 * broken / draws:.1f} ({100 * alone / draws:.1f}); {np.median(margins):.1f} dB"


def _bootstraps(losses: np.ndarray) -> float:
    """The upper end of the mean of losses by the bootstrap alone."""
    count = len(losses)
    return interval(lambda places: float(losses[list(places)].mean()), count,
                    error=lambda places: float(losses[list(places)].std(ddof=1) / count**0.5))[1]


if __name__ == "__main__":
    main()
