"""How much is tried: `fast` leaves out what takes long, `best` tries passes one after the other and keeps those that gain.

A pass is a change of the quantizer's options. What it is worth is measured: half of the samples are held apart, the module is
quantized on the others with the pass and without it, and both are run on those that are held apart. It is kept where outputs
gain `LEAST` decibels there and more than chance would, and do so where the halves change places, too: what rounding and islands
come to differs by a decibel from samples to samples, and one of two is the better by chance. So which tensors are
islands is decided by the passes that change ranges, which come first, and those of all samples are held while others are judged,
whose gain would be that of an island more or less. Then the module is quantized anew, with the passes that were kept, on all
samples; where it does not gain on these, it is the one of the default after all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from random import Random
from typing import Any

import numpy as np

from transload.errors import UsageError
from transload.ir import Module
from transload.metrics import sqnr
from transload.plugin import Quantized
from transload.telling import say
from transload.text.digest import digest_of_module

from .measure import Sample
from .saved import Saved, digest_of

__all__ = ["EFFORT", "EFFORTS", "PASSES", "best", "options_for"]

EFFORT = "effort"
"""The option that says it."""
EFFORTS = ("fast", "default", "best")
FAST: Mapping[str, Any] = {"rounding": False, "islands": "none", "equalization": False}
"""What `fast` leaves out, where the caller does not ask for it."""
PASSES: Mapping[str, Mapping[str, Any]] = {
    "islands": {"fine": math.inf},
    "minmax": {"method": "minmax"},
    "percentile": {"method": "percentile"},
    "entropy": {"method": "entropy"},
    "unequalized": {"equalization": False},
    "polish": {"polish": True},
    "learned": {"learning": True},
}
"""What `best` tries, in order; of passes that say the same option the last that gained counts."""
LOOKING = ("islands", "minmax", "percentile", "entropy", "unequalized")
"""Passes that change what eight bits hold, and so which tensors are islands: these are held in the passes behind them."""
MOST = 256
"""Samples, at most, that are taken of what is given."""
LEAST = 0.1
"""Decibels that a pass has to gain."""
CERTAIN = 2.0
"""Standard errors above which a gain is no chance."""
EXACT = 120.0
"""Decibels of what is the same number."""
Run = Callable[..., Quantized]
Hold = Callable[[Quantized], Mapping[str, Any]]


def options_for(effort: str, options: Mapping[str, Any], fast: Mapping[str, Any] = FAST) -> dict[str, Any]:
    """Options with what an effort other than `best` changes; `fast` is what that leaves out. `UsageError` for another word."""
    if effort not in EFFORTS:
        raise UsageError(f"there is no effort {effort!r}", hint=f"one of {', '.join(EFFORTS)}")
    return {**(fast if effort == "fast" else {}), **options}


def best(
    run: Run, module: Module, samples: Iterable[Sample] | None, options: Mapping[str, Any],
    passes: Mapping[str, Mapping[str, Any]] = PASSES, hold: Hold | None = None,
) -> Quantized:
    """What `run(module, samples, **options)` makes of a float module of the hub with those of `passes` that gain.

    Passes whose options the caller says are not tried, nor what a calibration that is given decides. `hold` gives the options by
    which islands of one result are held in others: those of all samples, after the passes of `LOOKING`. With the option `resume`,
    a file, what each pass was worth is saved there, and what is learned on the way: a run that was ended goes on from it, with
    the same result, and removes it at the end. Raises `UsageError` without samples, at least four of them, and for a file of
    another run.
    """
    samples = list(islice(samples or (), MOST))
    if len(samples) < 4:
        raise UsageError(
            f"the effort 'best' needs four samples, to hold some apart, and has {len(samples)}", hint="--data PATH -n 64")
    own = {name: value for name, value in options.items() if name != "resume"}
    saved = Saved.opened(options.get("resume"), _about(module, samples, own, passes))
    decided = _decided(own)
    trials = {name: change for name, change in passes.items() if decided.isdisjoint(change)}
    judge, chosen, fixed = _Judge(run, module, samples, own, saved), dict[str, Any](), dict[str, Any]()
    say("trying default", 0.0)
    there = judge.decibels("first", {})
    told = {"default": f"{there.mean():.2f} dB on {len(there)} samples held apart"}
    for number, (name, change) in enumerate(trials.items(), 1):
        if hold is not None and name not in LOOKING:
            fixed, hold = dict(hold(judge.quantized("all", chosen))), None
            told["held"] = f"{judge.decibels('first', {**chosen, **fixed}).mean():.2f} dB with the islands of all samples"
        say(f"trying {name}", number / (len(trials) + 2))
        before, tried = {**chosen, **fixed}, {**chosen, **change, **fixed}
        gains = [judge.gains("first", before, tried)]
        gains += [judge.gains("second", before, tried)] if gains[0] else []
        why = "not kept" if not gains[0] else "kept" if gains[1] else "not kept: not where halves change places"
        told[name] = f"{judge.decibels('first', tried).mean():.2f} dB, {why}"
        chosen |= change if all(gains) else {}
    say("quantizing on all samples", (len(trials) + 1) / (len(trials) + 2))
    if chosen and not judge.gains("all", {}, {**chosen, **fixed}):
        told["all"], chosen = "no gain on all samples: as by default", {}
    made = judge.quantized("all", {**chosen, **fixed} if chosen else {})
    saved.finish()
    return replace(made, report={**made.report, "effort": told})


def _decided(own: Mapping[str, Any]) -> set[str]:
    """The options that are no pass's to change, where the caller says so many."""
    decided = {*own, *(("method", "equalization", "learning") if own.get("calibration") is not None else ())}
    without = {"polish", "scaling"} if own.get("rounding") is False else set[str]()
    without |= {"learning"} if own.get("power_of_two") else set()
    return decided | without | ({"fine"} if own.get("islands") == "none" or own.get("layers") is not None else set())


class _Judge:
    """Quantizes by changes of the options, on one half of the samples, on the other, or on all, and says what that is worth."""

    def __init__(self, run: Run, module: Module, held: Sequence[Sample], own: Mapping[str, Any], saved: Saved) -> None:
        mixed = list(held)
        Random(len(held)).shuffle(mixed)
        half, other = mixed[: len(mixed) // 2], mixed[len(mixed) // 2:]
        self._run, self._module, self._own, self._saved = run, module, own, saved
        self._parts = {"first": (other, half), "second": (half, other), "all": (held, held)}
        """The samples by which is quantized, and those that judge."""
        self._made: tuple[tuple[str, Mapping[str, Any]], Quantized] | None = None
        """What was quantized last."""

    def gains(self, part: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
        """Whether decibels of each sample are more than chance makes them."""
        there = self.decibels(part, before)
        gain = self.decibels(part, after) - there
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else 0.0
        return bool(gain.mean() > max(LEAST, CERTAIN * error))

    def decibels(self, part: str, changes: Mapping[str, Any]) -> np.ndarray:
        """The signal-to-noise ratio of each sample, in the mean of the outputs; measured once."""
        key, judging = f"{part} {digest_of(str(sorted(changes.items())))}", self._parts[part][1]
        if (kept := self._saved.get(key, decibels=(len(judging),))) is not None:
            return kept["decibels"]
        made = self.quantized(part, changes)
        self._saved.put(key, decibels=(found := _decibels(self._module, made.module, judging)))
        return found

    def quantized(self, part: str, changes: Mapping[str, Any]) -> Quantized:
        """What the quantizer makes of the module by these changes."""
        if self._made is None or self._made[0] != (part, changes):
            options = _saving({**self._own, **changes}, self._saved)
            self._made = (part, dict(changes)), self._run(self._module, self._parts[part][0], **options)
        return self._made[1]


def _saving(options: Mapping[str, Any], saved: Saved) -> dict[str, Any]:
    """Options with where what is learned is saved, if anything is."""
    return {**options, **({"resume": saved} if "learning" in options else {})}


def _about(
    module: Module, samples: Sequence[Sample], options: Mapping[str, Any], passes: Mapping[str, Mapping[str, Any]],
) -> str:
    """The same for runs that come to the same result."""
    said = {name: getattr(value, "ranges", value) for name, value in options.items()}
    return digest_of(digest_of_module(module), str(sorted(said.items())), str(passes), *samples)


def _decibels(floats: Module, made: Module, samples: Sequence[Sample]) -> np.ndarray:
    """The signal-to-noise ratio of each sample, in the mean of the outputs."""
    from transload.evaluation.running import models_ready, run_ahead

    models = models_ready([floats, made], {}, "auto")
    given = ((str(number), [sample, sample]) for number, sample in enumerate(samples))
    rows = []
    for _, outputs in run_ahead(models, given):
        wanted, there = ([np.asarray(array) for array in each().values()] for each in outputs)
        rows.append(np.mean([np.clip(sqnr(*pair), -EXACT, EXACT) for pair in zip(wanted, there, strict=True)]))
    return np.array(rows)
