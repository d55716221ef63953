"""`search`: which layers of a float model get more bits, so that a promise is kept with few operations in floats.

    found = search(module, samples, promise_of(min_cos=0.99))
    found.layers                     # what a quantize table says
    found.kept, found.judged         # on samples that nothing was chosen on

Half of the samples choose: by some ranges and biases are, by others, which saturate as those that come later will, a simulation
(`simulating`) says which tensors are given up. The other half is held apart, and judges: there the promise has to be kept by what
surely holds, not only by the figure itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from transload.api import at_hub
from transload.errors import UsageError
from transload.ir import Module
from transload.plugin import Quantized
from transload.quantization import floats_in
from transload.samples.owned import owned
from transload.telling import Tell
from transload.text.digest import digest_of_module

from ..asked import need_floats
from ..bias import corrections, with_biases
from ..calibration import Calibration
from ..groups import Groups
from ..layers import FLOAT8, MODES, Layers, check_tensors, words_of
from ..measure import Sample
from ..observe import observed
from ..quantize import types_of
from ..run import Prepared, prepared
from ..scheme import SCHEMES
from ..simulation import Simulation
from ..state import digest_of_sample
from .climb import Climb, Point
from .measuring import Measuring, Notes
from .promise import Kept, Promise, Quality
from .real import Real
from .spending import Spending, Units

__all__ = ["MOST", "Begun", "Found", "begun", "search"]

MOST = 1024
"""Samples, at most, that are taken of what is given."""
FITTED = 64
"""Samples, at most, by which ranges and biases are chosen."""
LOOKED = 8
"""Samples, at most, on which choices of types are measured by simulation: a quarter of those that are not held apart."""
LEAST = 8
"""Samples without which nothing can be held apart."""
TYPES = ("INT16", "F32")


@dataclass(frozen=True)
class Found:
    """What a search found."""

    layers: dict[str, str]
    """Words of `layers.MODES` by tensor: what a quantize table says."""
    kept: bool
    """Whether the whole promise is kept on the samples that were held apart."""
    judged: list[Kept]
    """Each quality there."""
    before: list[Kept]
    """The same with all layers in 8 bits."""
    floats: float
    """The share of all operations that is computed with floats."""
    wide: float
    """The share of integer operations on 16 bits."""
    cycles: float | None
    all_integers: float
    """The noise of the outputs relative to what they are, all layers in 8 bits."""
    losses: dict[str, float]
    """The same with one layer more given up, by layer: the loss table. Empty where nothing had to be looked for."""
    curve: list[Point]
    """What can be had for what: none of these has more of both than another."""
    samples: tuple[int, int]
    """How many chose, and how many judged."""
    quantized: Quantized = field(repr=False)
    """The module that was judged."""


def search(
    module: Module, samples: Iterable[Sample], promise: Promise, *, labels: Sequence[Any] | None = None, scheme: str = "int8",
    calibration: Calibration | str | Path | None = None, method: str | None = None, types: Sequence[str] = TYPES,
    layers: Layers | str | Path | None = None, excepts: Sequence[str] = (), workers: int | None = None, scheduler: Any = None,
    resume: str | Path | None = None, losses: bool = False, tell: Tell | None = None,
) -> Found:
    """Look for the layers of a float module that need more than 8 bits for a promise (`promise_of`) to be kept.

    `samples` are dicts of arrays by input name, at least 8, of which the first 1,024 are taken; `labels` has one of each, for
    metrics that need them. `scheme`, `calibration` and `method` are as for quantizing. `types` are the words of `layers.MODES`
    that layers may get beside INT8. `layers` are those that have more bits from the beginning, a table's path too; `excepts` are
    names of layers, or patterns as `head/*`, that stay as they are. Choices are measured by `workers` processes or the workers of
    a Dask `scheduler`, else by threads, with the same result; with `resume`, a file, what was measured is kept there, and a
    search that was ended goes on from it. With `losses` each layer is measured even where all can stay in 8 bits. `tell` is told
    of each stage. Raises `UsageError` for what is asked for and cannot be, and where a limit cannot be kept at all.
    """
    asked = {"labels": labels, "scheme": scheme, "calibration": calibration, "method": method, "types": types, "layers": layers,
             "excepts": excepts, "workers": workers, "scheduler": scheduler, "resume": resume, "tell": tell}
    with begun(module, samples, promise, **asked) as start:
        climb = Climb(start.measuring, start.spending, start.real, promise, start.types, start.base, start.free, start.say)
        climb.run(losses)
        best, units = climb.best, start.units
        start.say("quantizing", None)
        return Found(
            units.layers(best.assignment), best.kept, best.judged, climb.first.judged, best.floats, best.wide, best.cycles,
            climb.first.loss, {name: loss for unit, loss in climb.losses.items() for name in units.tensors[unit][:1]},
            climb.curve(), start.samples, start.real.quantized(best.assignment))


@dataclass(frozen=True)
class Begun:
    """What a way goes by."""

    units: Units
    measuring: Measuring
    spending: Spending
    real: Real
    types: list[str]
    base: dict[str, str]
    free: list[str]
    samples: tuple[int, int]
    say: Tell


@contextmanager
def begun(
    module: Module, samples: Iterable[Sample], promise: Promise, *, labels: Sequence[Any] | None = None, scheme: str = "int8",
    calibration: Calibration | str | Path | None = None, method: str | None = None, types: Sequence[str] = TYPES,
    layers: Layers | str | Path | None = None, excepts: Sequence[str] = (), workers: int | None = None, scheduler: Any = None,
    resume: str | Path | None = None, tell: Tell | None = None,
) -> Iterator[Begun]:
    """All that a search needs before it takes a step; arguments and errors are those of `search`."""
    say = tell or (lambda stage, share: None)
    words = _types(types)
    hub = at_hub(module, quantizing=True)
    need_floats(hub)
    if not floats_in(hub):
        raise UsageError("no op of the model computes with floats, so there is nothing to search",
                         hint="convert the model as it is, without --quantize")
    qualities = promise.qualities or (Quality("sqnr", least=float("-inf")),)
    fitted, look, apart = _divided(owned(samples, hub), labels, any(each.needs_label for each in promise.qualities))
    say("calibrating", None)
    ready = prepared(hub, _scheme(scheme), [sample for sample, _ in fitted], calibration, method)
    biased = with_biases(ready.module)
    units = Units(biased)
    base, free = _asked(units, layers, excepts)
    asked = [scheme, promise.text, method, str([label for _, label in (*look, *apart)]),
             [digest_of_sample(sample) for sample, _ in (*fitted, *look, *apart)], sorted(map(str, ready.ranges.items()))]
    notes = Notes(Path(resume) if resume is not None else None, _digest(biased, asked))
    real = Real(hub, ready, units, *_unzipped(apart), qualities, promise, notes)
    with Measuring(_given(ready, biased, scheme, look, qualities), notes, workers, scheduler) as measuring:
        yield Begun(
            units, measuring, Spending(units), real, words, base, free, (len(fitted) + len(look), len(apart)), say)


def _scheme(name: str) -> Any:
    if name not in SCHEMES or SCHEMES[name].activations.width != 8:
        names = ", ".join(each.name for each in SCHEMES.values() if each.activations.width == 8)
        raise UsageError(f"a search begins with layers in 8 bits, and not by {name!r}", hint=f"one of {names}")
    return SCHEMES[name]


def _types(types: Sequence[str]) -> list[str]:
    """The words, from less bits to more."""
    _refuse_small_floats(types)
    wrong = next((word for word in types if word not in MODES or word == "INT8"), None)
    if wrong is not None or not types:
        raise UsageError(f"layers cannot get {wrong or 'nothing'}", hint=f"--types {','.join(TYPES)}; "
                         f"words: {', '.join(word for word in MODES if word != 'INT8')}")
    return sorted(dict.fromkeys(types), key=["INT16", "F16", "BF16", "F32"].index)


def _refuse_small_floats(words: Iterable[str]) -> None:
    """`UsageError` for floats of 8 bits, of which a search knows neither the price nor the simulation."""
    small = next((word for word in words if word in FLOAT8), None)
    if small is not None:
        raise UsageError(f"a search does not choose {small}: it neither counts nor simulates floats of 8 bits",
                         hint=f"search without, and add lines of {small} to the table that quantize --layers takes")


def _divided(
    samples: Iterable[Sample], labels: Sequence[Any] | None, needs_labels: bool,
) -> tuple[list[tuple[Sample, Any]], ...]:
    """Samples with their labels: for ranges, for choices, and held apart; left to chance, always the same."""
    some = list(islice(samples, MOST))
    if len(some) < LEAST:
        raise UsageError(f"a search needs {LEAST} samples, half of them to judge by, and has {len(some)}",
                         hint="--data PATH with more of them, or -n 64 where there are more")
    if needs_labels and labels is None:
        raise UsageError("the metric needs labels, and there are none", hint="--labels FILE")
    if labels is not None and len(labels) < len(some):
        raise UsageError(f"there are {len(labels)} labels for {len(some)} samples")
    pairs = list(zip(some, labels[:len(some)] if labels is not None else [None] * len(some), strict=True))
    Random(len(pairs)).shuffle(pairs)
    half = min(len(pairs) // 2, FITTED + LOOKED)
    look = min(half // 4, LOOKED)
    return pairs[look:half], pairs[:look], pairs[half:]


def _unzipped(pairs: Sequence[tuple[Sample, Any]]) -> tuple[list[Sample], list[Any]]:
    return [sample for sample, _ in pairs], [label for _, label in pairs]


def _asked(units: Units, layers: Layers | str | Path | None, excepts: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The units that have more bits from the beginning, and those that may get some. Raises `UsageError` for unknown names."""
    table, _ = words_of(layers)
    check_tensors(units.module, table)
    _refuse_small_floats(table.values())
    names = [name for tensors in units.tensors.values() for name in tensors]
    for pattern in excepts:
        if not any(fnmatchcase(name, pattern) for name in names):
            check_tensors(units.module, [pattern])
    said = {unit: _one_word(unit, {name: table[name] for name in tensors if name in table})
            for unit, tensors in units.tensors.items() if not table.keys().isdisjoint(tensors)}
    free = [unit for unit, tensors in units.tensors.items()
            if unit not in said and not any(fnmatchcase(name, pattern) for name in tensors for pattern in (*excepts, ""))]
    return {unit: word for unit, word in said.items() if word != "INT8"}, free


def _one_word(unit: str, words: Mapping[str, str]) -> str:
    """What a table says of the tensors of a unit. Raises `UsageError` where that is not the same of all of them."""
    if len(set(words.values())) > 1:
        told = ", ".join(f"{name} {word}" for name, word in words.items())
        raise UsageError(f"tensors of one type have several in the table: {told}",
                         hint=f"give all of them one word, or one to {unit} alone")
    return next(iter(words.values()))


def _given(
    ready: Prepared, biased: Module, scheme: str, look: Sequence[tuple[Sample, Any]], qualities: Sequence[Quality],
) -> list[Any]:
    """What `Simulated` takes: the module as it is quantized, with the biases that all layers in 8 bits would get."""
    named = observed(biased)
    simulation = Simulation(
        biased, ready.scheme, Groups(biased), {named[name]: array for name, array in ready.weights.items()})
    types = types_of(ready.scheme, simulation.groups, named, ready.ranges)
    found, _ = corrections(simulation, types, ready.samples.kept)
    names = {value: name for name, value in named.items()}
    shifts = {} if found is None else {
        names[op.result]: np.asarray(found[span], np.float64) for op, _, span in simulation.spans() if op.result in names}
    ranges = {name: [float(low), float(high)] for name, (low, high) in ready.ranges.items()}
    fields = [[each.score, each.least, each.most_drop] for each in qualities]
    return [biased, scheme, ranges, dict(ready.weights), shifts, *_unzipped(look), fields]


def _digest(module: Module, asked: Sequence[Any]) -> str:
    return hashlib.blake2b(f"{digest_of_module(module)} {asked}".encode(), digest_size=16).hexdigest()
