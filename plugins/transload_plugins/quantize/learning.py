"""Thresholds of activations and scales of weights that are learned, without labels.

The quantized network is simulated beside the float one; the error of its outputs, and of the tensors on the way, is
differentiated by the logarithm of each tensor's step and by that of each channel's scale of weights (`adjoint`: the gradients are
those of LSQ), which follow it by Adam's steps. What is made less is the mean of the logarithms of each sample's and tensor's
noise, relative to what it is; outputs count as much together as all tensors do. LSQ's gradient scale, a factor for each
parameter, would change nothing, as Adam's steps do not depend on it. The integers of weights and the zero points stay what they
are, so that there are few parameters beside the numbers of the samples.

Source: S. Esser et al., "Learned step size quantization", ICLR 2020; learning from the float network's tensors, as in Y. Li et
al., "BRECQ", ICLR 2021.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transload.cores import cores
from transload.ir import F32, Dense, Op, Value
from transload.ir.build import constant_of
from transload.telling import say
from transload.text.digest import digest_of_module

from .adjoint import Grid, gradients
from .groups import rule_of
from .observe import observed
from .rules import Rule
from .saved import Saved, digest_of
from .scheme import Scheme
from .simulation import GRIDS, Simulation, Types, channel_count
from .thresholds import Fixed, Range

__all__ = ["Learned", "LearningSimulation", "free_of", "learned"]

STEPS = 200
"""Steps of Adam, at most."""
LEAST_STEPS = 25
BATCH = 8
"""Samples of a step."""
AT_ONCE = 1 << 29
"""Bytes that the samples under way may take, all together, where more than one is."""
HELD = 8
"""How often the numbers of the tensors are held, about, until the gradients of a sample are computed."""
SAVED_EVERY = 10
"""Steps between two saves of the state."""
NUMBERS = 3e9
"""Numbers of the network's tensors, over all steps and samples, beyond which there are fewer steps: a minute or two."""
RATES = (0.003, 0.001)
"""How far a logarithm moves in the first steps, at most: of a tensor's step, of a channel's scale."""
DECAYS = (0.9, 0.99)
"""Of Adam's means of gradients and of their squares."""
EXACT = 1e-6
"""Noise relative to the signal below which less is no gain."""
SEED = 0
GAINS = "transload.gains"
LEAST = 1e-12
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Learned:
    """What was learned of a simulated module."""

    factors: Mapping[Value, float]
    """By what the range of each group of tensors is multiplied, by its root."""
    gains: Mapping[Op, Array]
    """By what the scale of each channel of weights is multiplied."""

    def applied(
        self, simulation: Simulation, ranges: Mapping[str, Range], weights: Mapping[str, np.ndarray],
    ) -> tuple[dict[str, Range], dict[str, np.ndarray]]:
        """The ranges of the simulated module's tensors and the weights of its ops, by name, with what was learned."""
        named, held, found = observed(simulation.module), dict(ranges), dict(weights)
        for name, value in named.items():
            factor = self.factors.get(simulation.groups.root(value), 1.0)
            if factor != 1.0 and not isinstance(ranges[name], Fixed):
                held[name] = ranges[name][0] * factor, ranges[name][1] * factor
        names = {value: name for name, value in named.items()}
        for op, gains in self.gains.items():
            numbers, axis = _weights(simulation, op)
            found[names[op.result]] = numbers * gains.reshape([-1 if d == axis else 1 for d in range(numbers.ndim)])
        return held, found

    def told(self, simulation: Simulation) -> dict[str, list[float]]:
        """The least and the greatest factor of the scales of each op's weights, by name."""
        names = {value: name for name, value in observed(simulation.module).items()}
        return {names[op.result]: [float(gains.min()), float(gains.max())] for op, gains in self.gains.items()}


class LearningSimulation(Simulation):
    """The program of a simulation that gives gradients: by each group's step, and by the scale of each channel of weights."""

    def gradients(
        self, types: Types, samples: Sequence[Mapping[str, Any]], shifts: np.ndarray | None, steps: Array, gains: Array,
    ) -> tuple[Array, Array]:
        """Those of the mean over samples by the logarithms of `steps` [roots], factors of those of `types`, and `gains`
        [channels], factors of the scales of weights."""
        parameters = self._parameters(types, shifts)
        parameters[GRIDS[0]] = (parameters[GRIDS[0]] * steps).astype(np.float32)
        parameters[GAINS] = gains.astype(np.float32)
        by_steps, by_gains = np.zeros_like(steps), np.zeros_like(gains)
        for found in self._runner.each(({**sample, **parameters} for sample in samples), dict, self._at_once):
            by_steps += np.nan_to_num(found["steps"].astype(np.float64), posinf=0.0, neginf=0.0)
            by_gains += np.nan_to_num(found["gains"].astype(np.float64), posinf=0.0, neginf=0.0)
        return by_steps * parameters[GRIDS[0]] / len(samples), by_gains * gains / len(samples)

    @property
    def _at_once(self) -> int:
        """How many samples may be under way; the sums over them are the same however many these are."""
        return max(1, min(cores(), AT_ONCE // max(4 * HELD * _numbers(self), 1)))

    def digest(self, types: Types, samples: Sequence[Mapping[str, Any]], shifts: np.ndarray | None, rates: Array) -> str:
        """The same for what the same is learned of."""
        names = {value: name for name, value in observed(self.module).items()}
        weights = {names[value]: array for value, array in self.weights.items()}
        return digest_of(
            digest_of_module(self.module), {**self._parameters(types, shifts), "rates": rates}, weights, *samples)

    def _more_inputs(self) -> tuple[str, ...]:
        self._gridded_values: dict[Value, Grid] = {}
        self._gains = self._argument((max(self._channels, 1),), GAINS)
        pieces = self._cut(self._gains, [channel_count(*each) for each in self.corrected])
        self._gain = dict(zip((op for op, _ in self.corrected), pieces, strict=True))
        return (GAINS,)

    def _moved(self, op: Op, rule: Rule, held: Value) -> tuple[Value, Value]:
        """Sums of products multiplied by their channels' gains, onto the bias and what is added to that."""
        axis = rule.result_channels(op) % held.rank
        shape = tuple(channel_count(op, rule) if d == axis else 1 for d in range(held.rank))
        dense = constant_of(op.operands[rule.bias])  # type: ignore[index]
        assert dense is not None
        build = self._build()
        bias = build.constant(Dense(dense.numpy().astype(np.float32).reshape(shape)), element=F32)
        gain, part = (build.emit("top.Reshape", each[op], shape=shape) for each in (self._gain, self._parts))
        products = build.emit("top.Mul", build.emit("top.Sub", self._as(held), bias), gain)
        moved = build.emit("top.Add", products, build.emit("top.Add", part, bias))
        return self._as(moved, held.element), part

    def _gridded(self, held: Value, step: Value, least: Value, greatest: Value) -> Value:
        made = super()._gridded(held, step, least, greatest)
        self._gridded_values[made] = Grid(held, step, least, greatest)
        return made

    def _given(self, means: list[Value]) -> dict[str, Value]:
        signal, noise = self._compared()
        build = self._build()
        least = build.emit("top.AddConst", build.emit("top.MulConst", signal, const_val=EXACT), const_val=LEAST)
        worths = build.constant(Dense(self._worths().astype(np.float32)), element=F32)
        seeds = {noise: build.emit("top.Div", worths, build.emit("top.Add", noise, least))}
        inputs = {"steps": self._block.arguments[len(self.module.body_of_main.arguments)], "gains": self._gains}
        found = gradients(self._block, self._end, seeds, list(inputs.values()), self._gridded_values)
        return {name: made if made is not None else build.emit("top.MulConst", value, const_val=0.0)
                for (name, value), made in zip(inputs.items(), found, strict=True)}

    def _worths(self) -> Array:
        """How much each tensor counts, in the order of the program: outputs 1 together, and all tensors 1."""
        worths = dict.fromkeys(self.tensors, 1.0 / len(self.tensors))
        judged = self.judged
        for parts in judged:
            for index, share in parts.items():
                worths[self.tensors[index]] += share / len(judged)
        return np.array([worths[value] for value in self._by_rank])


def learned(
    simulation: Simulation, types: Types, free: Collection[Value], samples: Sequence[Mapping[str, Any]],
    shifts: np.ndarray | None = None, resume: Saved | str | Path | None = None,
) -> tuple[Learned, Saved]:
    """What is learned on samples, dicts of arrays by input name: of the groups whose roots are `free`, which are held in `types`,
    and of channels of weights where the scheme has a scale for each.

    `shifts` are added to sums, as `Simulation.measure` has it. The same samples give the same result, also where `resume`, what
    was saved or a file of it, has some of the steps; what is saved is given back, for the caller to remove at the end. Raises
    `UsageError` and `ReadError` where the file is of something else.
    """
    program = LearningSimulation(simulation.module, simulation.scheme, simulation.groups, simulation.weights)
    spans = {op: span for op, rule, span in program.spans() if _has_scales(simulation.scheme, op, rule)}
    moving = np.zeros(len(program.roots) + max(program.channels, 1), bool)
    moving[[index for index, root in enumerate(program.roots) if root in free]] = True
    for span in spans.values():
        moving[len(program.roots):][span] = True
    rates = np.where(moving, np.repeat(RATES, (len(program.roots), max(program.channels, 1))), 0.0)
    asked = program.digest(types, samples, shifts, rates)
    saved = Saved.opened(resume, asked)
    count, adam = _steps(simulation), _Adam(rates, saved, f"learning {asked}")
    for step in range(adam.step, count):
        say(f"learning, step {step + 1} of {count}", step / count)
        some = [samples[index] for index in np.random.default_rng((SEED, step)).permutation(len(samples))[:BATCH]]
        slopes = program.gradients(types, some, shifts, *np.split(adam.factors, [len(program.roots)]))
        adam.move(np.concatenate(slopes), 0.5 * (1 + math.cos(math.pi * (step + 1) / count)))
        if adam.step % SAVED_EVERY == 0 or adam.step == count:
            adam.save()
    steps, gains = np.split(adam.factors, [len(program.roots)])
    return Learned({root: float(steps[index]) for index, root in enumerate(program.roots) if root in free},
                   {op: gains[span] for op, span in spans.items()}), saved


class _Adam:
    """Logarithms on their way, from where they were saved: by Adam's steps, D. Kingma and J. Ba, ICLR 2015."""

    def __init__(self, rates: Array, saved: Saved, key: str) -> None:
        """`rates` is how far each moves at most in a step; what was saved under the key is gone on from."""
        self._rates, self._saved, self._key = rates, saved, key
        found = saved.get(key, step=(), state=(3, len(rates)))
        self.step = 0 if found is None else int(found["step"])
        """How many steps were taken."""
        self._state: Array = np.zeros((3, len(rates))) if found is None else found["state"].astype(np.float64)

    @property
    def factors(self) -> Array:
        """What the logarithms are those of."""
        return np.asarray(np.exp(self._state[0]))

    def move(self, slopes: Array, share: float) -> None:
        """Take a step against gradients by the logarithms, a share of what it would be at first."""
        self.step += 1
        logarithms, means, squares = self._state
        means += (1 - DECAYS[0]) * (slopes - means)
        squares += (1 - DECAYS[1]) * (slopes ** 2 - squares)
        mean, square = means / (1 - DECAYS[0] ** self.step), squares / (1 - DECAYS[1] ** self.step)
        logarithms -= share * self._rates * mean / (np.sqrt(square) + 1e-30)

    def save(self) -> None:
        self._saved.put(self._key, step=self.step, state=self._state.copy())


def _steps(simulation: Simulation) -> int:
    """How many steps are taken: fewer of a network of large tensors, by their sizes alone, so that they are always the same."""
    return min(STEPS, max(LEAST_STEPS, int(NUMBERS / (BATCH * max(_numbers(simulation), 1)))))


def _numbers(simulation: Simulation) -> int:
    """How many numbers the tensors of a sample have together."""
    return sum(math.prod(value.static_shape) for value in simulation.tensors)


def free_of(simulation: Simulation, types: Types, ranges: Mapping[str, Range]) -> list[Value]:
    """The roots of the groups whose ranges may change: those of 8 bits that no op fixes, unless scales are powers of two."""
    kept = simulation.groups.ranges({value: ranges[name] for name, value in observed(simulation.module).items()})
    return [root for root, held in types.items()
            if held.storage.width <= 8 and not isinstance(kept[root], Fixed) and not simulation.scheme.power_of_two]


def _weights(simulation: Simulation, op: Op) -> tuple[np.ndarray, int]:
    """An op's weights as they are rounded so far, and the dimension of its channels."""
    rule = rule_of(op)
    assert rule is not None and rule.weights is not None
    dense = constant_of(op.operands[rule.weights])
    assert dense is not None
    numbers = simulation.weights.get(op.result, dense.numpy())
    return numbers, rule.channels(op) % numbers.ndim


def _has_scales(scheme: Scheme, op: Op, rule: Rule) -> bool:
    """Whether each channel of an op's sums has a scale of weights, which may be any number."""
    assert rule.weights is not None
    return scheme.per_channel and not scheme.power_of_two and \
        op.operands[rule.weights].static_shape[rule.channels(op)] == channel_count(op, rule)
