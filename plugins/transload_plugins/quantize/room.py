"""Room at the outputs: they may reach farther than they did on samples, where that costs next to nothing.

What a tensor reached on n samples it exceeds on one in n + 1. Deep in a network that is one number among thousands; an output
that ends where the samples did, as a score does, is wrong as a whole. On the other hand it has the noise of all layers before it,
beside which its own rounding is little. So an output's range is widened to `MOST` times what was seen of it, as far as its noise
on a typical sample grows by no more than `COST` for that.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from transload.ir import Value

from .histogram import Histogram
from .observe import observed
from .scheme import Scheme
from .simulation import Measured, Simulation, Types
from .thresholds import Fixed, Range

__all__ = ["roomy"]

MOST = 2.0
"""How much farther an output may reach than it did on the samples."""
COST = 10 ** (0.2 / 10)
"""The noise of an output with more room, relative to what it was: a fifth of a decibel."""


def roomy(
    simulation: Simulation, types: Types, measured: Measured, ranges: Mapping[str, Range], seen: Mapping[str, Histogram],
) -> dict[str, Range]:
    """The ranges of outputs that get more room, by tensor name.

    `types` are those of all groups, by their root, with which the noise was `measured`; `ranges` are what they hold, and `seen`
    is what the tensors were on the samples. Left alone are outputs that are float or have 16 bits, those whose range follows from
    what computes them, and those of which nothing was seen.
    """
    names = {value: name for name, value in observed(simulation.module).items()}
    kept = simulation.groups.ranges({value: ranges[name] for value, name in names.items()})
    outputs: dict[Value, list[int]] = {}
    for index in sorted({index for parts in simulation.judged for index in parts} | set(simulation.outputs)):
        root = simulation.groups.root(simulation.tensors[index])
        if root in types and types[root].storage.width <= 8 and not isinstance(kept[root], Fixed):
            outputs.setdefault(root, []).append(index)
    found: dict[str, Range] = {}
    for root, indices in outputs.items():
        step = types[root].scale
        more = min(_affordable(simulation, measured, index, step) for index in indices)
        for name in {names[simulation.tensors[index]] for index in indices} & set(seen):
            found[name] = _wider(simulation.scheme, kept[root], seen[name], step * more)
    return found


def _affordable(simulation: Simulation, measured: Measured, index: int, step: float) -> float:
    """How many times as far apart the steps of a tensor may be."""
    own = step ** 2 / 12
    numbers = max(int(np.prod(simulation.tensors[index].static_shape)), 1)
    noise = np.maximum(measured.each[:, index, 1] / numbers, own)
    before = float(np.exp(np.log(noise).mean())) - own
    return float(np.sqrt(COST + (COST - 1) * before / own))


def _wider(scheme: Scheme, kept: Range, seen: Histogram, step: float) -> Range:
    """A range on its way from what is kept to `MOST` times what was seen, as far as steps of that size hold it."""
    low, high = min(kept[0], seen.low * MOST, 0.0), max(kept[1], seen.high * MOST, 0.0)
    before, after = (scheme.activation_type(each).scale for each in (kept, (low, high)))
    way = 1.0 if after <= step else (step - before) / (after - before)
    wider = kept[0] + way * (low - kept[0]), kept[1] + way * (high - kept[1])
    return wider if scheme.activation_type(wider).scale <= step * (1 + 1e-6) else kept
