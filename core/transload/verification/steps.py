"""A quantized model judged step by step: every quantized tensor by itself, from the runtime's own numbers before it.

Frameworks do not say to the bit how a product is rounded to its quantized numbers, and a runtime multiplies by scales in floats
of 32 bits: now and then a number near the middle of two comes out as the other of them. Through a deep network of coarse
numbers such steps add up to any difference of the outputs, as they do between two runtimes, or two computers.

So where a result does not end where the runtime does, and the runtime itself has several ways to end, or computes the model by
kernels that round on their own, each quantized tensor is computed from the runtime's numbers of the tensors before it. It may
be a step away in few places: where a number stands in the middle exactly (zero plus a constant of so many halves of a step), and
is frequent, that can be some percent of a tensor.
A wrong zero point, rounding or operand moves half of a tensor or more, a wrong scale its great numbers by several steps.
Where scales are powers of two, halves are common: a quarter of the sums of two tensors on the half of a scale. The runtime takes
them to the even number, and an integer pipeline does not: then, and only then, all that is a step away is even in the runtime.
Of one channel, or row, it does that to one of many: so each is looked at by itself, too. There numbers in the middle are few, or
a few numbers that are frequent; a wrong bias moves all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..analysis.movement import moves_of
from ..ir import Module, QuantType, TensorType, initial_states, output_names
from ..ir.build import constant_of
from .cutting import cut_module, execute
from .others import others_of

__all__ = ["Steps", "check_steps", "check_steps_together", "is_quantized"]

_SHARE = 0.1
"""Of a tensor's numbers, how many may be another step at most; a few of a small tensor."""
_FEW, _FEW_TOGETHER = 2, 1
"""Of one run, and of several together: what is a step away in more than one of these is there again."""
_OF_SLICE = 1 / 3
"""Of the numbers at one place of a dimension, how many may be another step at most, where these are `_KINDS` different ones."""
_KINDS = 4
_LEAST = 16
"""Numbers from which on such a share says something."""
_ODD = 1 / 8
"""Of numbers that are a step away for being halves, how many may be odd in the runtime all the same; of others half are."""
_HARDLY = 2.0**-16
"""Of a scale: what moves the farthest of 8 bits by 1/500 of a step, more than scales and sums of 32 bits are rounded by."""
_DEVIATIONS = 6
"""Of few numbers more may be by chance, of which each is another step with `_SHARE`: so many standard deviations."""


@dataclass(frozen=True)
class Steps:
    """What became of the quantized tensors."""

    tensors: int
    elements: int
    apart: int
    """Elements that are a step away."""
    wrong: tuple[str, ...]
    """The tensors that are further away, or at too many places, in words."""


def is_quantized(hub: Module) -> bool:
    """Whether tensors with names, in the main function, hold quantized numbers."""
    return any(
        value.name is not None and isinstance(value.type, TensorType) and _steps(value.type)
        for op in hub.body_of_main for value in op.results)


def most_bits(hub: Module) -> int:
    """How many bits the narrowest quantized numbers have that the main function computes; 8 where it rounds as it runs alone."""
    types = (value.quant for op in hub.body_of_main for value in op.results if constant_of(value) is None)
    return min((type_.storage.width for type_ in types if type_ is not None), default=8)


def check_steps(
    hub: Module, given: Mapping[str, Any], reference: Mapping[str, np.ndarray], engine: str, allowed: int,
) -> tuple[dict[str, np.ndarray], Steps]:
    """Run the hub's form of the model with the runtime's numbers in place of its quantized tensors.

    `reference` are the runtime's tensors by name, intermediate ones included; `allowed` is how many steps one may be away.
    Returns the model's outputs, and what became of the tensors.
    """
    (outputs,), steps = check_steps_together(hub, [(given, reference)], engine, allowed)
    return outputs, steps


def check_steps_together(
    hub: Module, runs: Sequence[tuple[Mapping[str, Any], Mapping[str, np.ndarray]]], engine: str, allowed: int,
) -> tuple[list[dict[str, np.ndarray]], Steps]:
    """The same of several runs, what each is given and its reference: a tensor's numbers of all of them are judged as one's.

    Returns the model's outputs of each run.
    """
    stored = [{name: array for name, array in reference.items() if array.dtype.kind in "iu"} for _, reference in runs]
    parts, found = cut_module(hub, {name: array.shape for name, array in stored[0].items()}, _steps)
    states = [*initial_states(hub).values()]
    fed = [[*given.values(), *states, *(kept[name].reshape(shape) for name, shape in found)]
           for (given, _), kept in zip(runs, stored, strict=True)]
    made = [execute(parts, arrays, engine) for arrays in fed]
    n_outputs = len(made[0]) - len(found)
    zeros, wrong, apart, elements = _zero_points(hub), [], 0, 0
    wrong_in = partial(_what_is_wrong, allowed=allowed, few=_FEW if len(runs) == 1 else _FEW_TOGETHER)
    middles: list[list[np.ndarray]] | None = None
    for index, (name, _) in enumerate(found):
        ours = _beside([outputs[n_outputs + index] for outputs in made])
        right = _beside([kept[name] for kept in stored]).astype(np.int64).reshape(ours.shape)
        off = np.abs(ours.astype(np.int64) - right)
        odd = (right - zeros.get(name, 0)) % 2 != 0
        apart, elements = apart + int(np.count_nonzero(off)), elements + off.size
        if wrong_in(name, off, ours, right, odd) is None:
            continue
        if middles is None:
            middles = [_in_the_middle(parts, arrays, len(found), engine) for arrays in fed]
        off[_beside([each[index] for each in middles]) & (off <= 1)] = 0
        if (reason := wrong_in(name, off, ours, right, odd)) is not None:
            wrong.append(reason)
    names = output_names(hub.main)[: n_outputs - len(hub.states)]
    return ([dict(zip(names, outputs[: len(names)], strict=True)) for outputs in made],
            Steps(len(found), elements, apart, tuple(wrong)))


def _beside(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """What several runs gave, along a last dimension: those before it are the tensor's own."""
    return arrays[0] if len(arrays) == 1 else np.stack(arrays, axis=-1)


def _what_is_wrong(
    name: str, off: np.ndarray, ours: np.ndarray, right: np.ndarray, odd: np.ndarray, allowed: int, few: int,
) -> str | None:
    """Which limit a tensor breaks whose numbers are so many steps `off`, in words."""
    count, most = int(np.count_nonzero(off)), int(off.max(initial=0))
    others = others_of(right, np.where(off != 0, ours, right).astype(np.int64))
    enough = 0.0 if others is None else min(max(few, _SHARE * off.size), others.most_steps(1.0))
    if most > allowed or (count > enough and not _are_halves(off != 0, odd)):
        return f"{name}: by {most} steps at most, at {count:,} of {off.size:,} numbers"
    if (where := _moved_slice(off != 0, ours, odd)) is not None:
        return f"{name}: by {most} steps at most, at many of the numbers at {where[1]} of dimension {where[0]}"
    return None


def _in_the_middle(parts: Module, arrays: list[Any], number: int, engine: str) -> list[np.ndarray]:
    """Of the last `number` outputs, which elements are in the middle of two steps: those that scales decide which hardly differ.

    A sum of two tensors, one of them on one and a half steps of the result, is a half wherever that one's number is odd, and
    floats of 32 bits have it on either side.
    """
    runs = []
    for factor in (1 - _HARDLY, 1 + _HARDLY):
        made = parts.clone()
        for value in made.body_of_main.terminator.operands[-number:]:
            quant, maker = value.quant, value.op
            if quant is not None and maker is not None and moves_of(maker) is None:
                value.type = value.tensor_type.with_element(quant.replace(scales=tuple((quant.scale_array * factor).tolist())))
        runs.append(execute(made, arrays, engine)[-number:])
    return [less != more for less, more in zip(*runs, strict=True)]


def _zero_points(hub: Module) -> dict[str, int]:
    """Of the quantized tensors by name."""
    return {
        value.name: value.quant.zero_points[0] for op in hub.body_of_main for value in op.results
        if value.name is not None and isinstance(value.type, TensorType) and value.quant is not None and value.quant.zero_points}


def _are_halves(apart: np.ndarray, odd: np.ndarray) -> bool:
    """Whether the numbers that are a step away are such as halves become that are taken to the even number."""
    return bool(odd[apart].mean() <= _ODD)


def _moved_slice(apart: np.ndarray, ours: np.ndarray, odd: np.ndarray | None = None) -> tuple[int, int] | None:
    """The first dimension, and the place along it, at which too many numbers are `apart`, of several kinds; None without one.

    Those count that are no halves, by which of the runtime's are `odd`.
    """
    for axis, size in enumerate(apart.shape):
        if size < 2 or apart.size < _LEAST * size:
            continue
        rows, numbers = (np.moveaxis(array, axis, 0).reshape(size, -1) for array in (apart, ours))
        by_chance = _SHARE + _DEVIATIONS * math.sqrt(_SHARE * (1 - _SHARE) / rows.shape[1])
        for place in np.flatnonzero(rows.mean(1) > max(_OF_SLICE, by_chance)):
            halves = odd is not None and _are_halves(rows[place], np.moveaxis(odd, axis, 0).reshape(size, -1)[place])
            if np.unique(numbers[place][rows[place]]).size >= _KINDS and not halves:
                return axis, int(place)
    return None


def _steps(type_: TensorType) -> bool:
    return isinstance(type_.element, QuantType) and type_.element.storage.width in (8, 16)
