"""Which layers cost most when what they multiply is rounded: they may stay as they are.

The module runs with switches, one for each layer: with one layer rounded alone, and all others exact, the noise of the outputs is
that layer's share. Shares add up, about, so that the worst are known after as many runs as there are layers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transload.ir import BOOL, Module, Op, TensorType, Value, input_names, update_function_type
from transload.ir.borders import NAME
from transload.ir.build import Builder

from .running import Runner
from .simulation import hidden_in

__all__ = ["costly", "nearer"]

ENOUGH = 30.0
"""Decibels of the outputs above which nothing is looked for."""
SHARE = 0.1
"""Of the noise that is left: a layer that makes less of it does not stay as it is for that."""
TYPICAL = 4.0
"""How many times the noise of a typical layer one makes that stands out."""
PART = 4
"""One of so many layers, at most, stays as it is."""
MOST = 120
"""Runs over the samples, at most: layers beyond that are switched together with those before them."""
GAIN = 0.5
"""Decibels that each layer has to gain in truth."""
FLAGS = "rounded layers"
Layer = Sequence[tuple[Op, int, Value]]
"""Of one layer the ops, which of their operands are rounded, and what these were before."""


def costly(module: Module, layers: Mapping[str, Layer], samples: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The layers of a module that should stay as they are, each with the reason; none where the others are as bad.

    `layers` are those of the module whose operands are rounded, by name.
    """
    if len(layers) < PART or not samples:
        return {}
    names = list(layers)
    size = math.ceil(len(names) / MOST)
    parts = [names[start:start + size] for start in range(0, len(names), size)]
    switched = _Switched(module, layers, samples)
    before = switched.noise(names)
    if not np.isfinite(before) or before <= 10.0 ** (-ENOUGH / 10.0):
        return {}
    noise = np.array([switched.noise(part) for part in parts])
    left = float(noise.sum())
    chosen: list[list[str]] = []
    least = TYPICAL * float(np.median(noise))
    for index in np.argsort(-noise, kind="stable"):
        enough = left <= 10.0 ** (-ENOUGH / 10.0) or noise[index] < max(SHARE * left, least)
        if enough or len(names) < PART * (sum(len(part) for part in chosen) + len(parts[index])):
            break
        chosen.append(parts[index])
        left -= noise[index]
    given_up = [name for part in chosen for name in part]
    after = switched.noise([name for name in names if name not in given_up])
    if not given_up or not _decibels(after) >= _decibels(before) + GAIN * len(given_up):
        return {}
    others = f"all layers {_decibels(before):.1f}, without the worst {_decibels(after):.1f}"
    return {name: f"rounded alone it leaves the outputs {_decibels(noise[parts.index(part)]):.1f} dB; {others}"
            for part in chosen for name in part}


def nearer(exact: Module, before: Module, after: Module, samples: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the outputs of a module are nearer to the exact one's after a change than before it."""
    runners = [_outputs_of(module, len(samples)) for module in (exact, before, after)]
    found = np.array([[_noise(wanted, there) for there in others]
                      for sample in samples for wanted, *others in zip(*(run(sample) for run in runners), strict=True)])
    return bool(len(found) and found[:, 1].mean() < found[:, 0].mean())


def _outputs_of(module: Module, runs: int) -> Callable[[Mapping[str, Any]], list[NDArray[np.float64]]]:
    """The outputs of a module on a sample, before what hides noise in them."""
    shown = _shown(module.body_of_main.terminator.operands)
    runner = Runner(module, {str(number): value for number, value in enumerate(shown)}, runs=runs)
    return lambda sample: [np.asarray(array, np.float64) for array in runner(sample).values()]


def _noise(wanted: NDArray[np.float64], there: NDArray[np.float64]) -> float:
    """The noise of an output beside what it is."""
    signal = float(np.square(wanted).sum())
    return float(np.square(wanted - there).sum()) / signal if signal > 0.0 else 0.0


def _decibels(noise: float) -> float:
    return -10.0 * math.log10(max(float(noise), 1e-30))


class _Switched:
    """A module whose layers are rounded where an input says so."""

    def __init__(self, module: Module, layers: Mapping[str, Layer], samples: Sequence[Mapping[str, Any]]) -> None:
        self._places = {name: index for index, name in enumerate(layers)}
        self._samples = samples
        mapping: dict[Value, Value] = {}
        copy = module.clone(mapping)
        block = copy.body_of_main
        names = input_names(copy.main)
        flags = block.add_argument(TensorType((len(layers),), BOOL), FLAGS)
        copy.main.attributes["arg_attrs"] = [{NAME: name} for name in (*names, FLAGS)]
        update_function_type(copy.main)
        begin = Builder(block, before=block.first)
        each = begin.emit("top.Split", flags, axis=0, split_size=(1,) * len(layers))
        made: dict[tuple[Value, Value, Value], Value] = {}
        for flag, layer in zip(each, layers.values(), strict=True):
            for op, index, exact in layer:
                mine = mapping[op.results[0]].op
                assert mine is not None
                pair = flag, mine.operands[index], mapping[exact]
                if pair not in made:
                    at = Builder(block, before=mine)
                    shaped = at.emit("top.Reshape", flag, shape=(1,) * pair[1].rank)
                    made[pair] = at.emit("top.Where", shaped, pair[1], pair[2])
                mine.set_operand(index, made[pair])
        self._run = _outputs_of(copy, len(samples) * (len(layers) + 2))
        self._exact = [self._outputs(sample, []) for sample in samples]

    def noise(self, names: Sequence[str]) -> float:
        """The noise of the outputs beside what they are, in the mean of outputs and samples, where these layers are rounded."""
        found = [_noise(*pair) for sample, exact in zip(self._samples, self._exact, strict=True)
                 for pair in zip(exact, self._outputs(sample, names), strict=True)]
        return float(np.mean(found)) if found else 0.0

    def _outputs(self, sample: Mapping[str, Any], names: Sequence[str]) -> list[NDArray[np.float64]]:
        flags = np.zeros(len(self._places), np.bool_)
        flags[[self._places[name] for name in names]] = True
        return self._run({**sample, FLAGS: flags})


def _shown(outputs: Sequence[Value]) -> list[Value]:
    """What the float outputs of a module are made of, before a softmax or the like that hides noise."""
    found: dict[Value, None] = {}
    waiting = [value for value in outputs if value.is_float]
    for value in waiting:
        before = hidden_in(value)
        if before:
            waiting += before
        else:
            found[value] = None
    return list(found)
