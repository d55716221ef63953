"""How much is tried: `fast` leaves out what takes long, `best` tries passes one after the other and keeps those that gain.

A pass is a change of the quantizer's options. What it is worth is measured: half of the samples are held apart, the module is
quantized on the others with the pass and without it, and both are run on those that are held apart. It is kept where outputs
gain `LEAST` decibels there and more than chance would: so nothing gets worse than by default, but for what samples do not tell.
Then the module is quantized anew, with the passes that were kept, on all samples.
"""

from __future__ import annotations

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

from .measure import Sample
from .saved import Saved, digest_of
from .state import digest_of_module

__all__ = ["EFFORTS", "PASSES", "best", "options_for"]

EFFORTS = ("fast", "default", "best")
FAST: Mapping[str, Any] = {"rounding": False, "islands": "none", "equalization": False}
"""What `fast` leaves out, where the caller does not ask for it."""
PASSES: Mapping[str, Mapping[str, Any]] = {
    "polish": {"polish": True},
    "minmax": {"method": "minmax"},
    "percentile": {"method": "percentile"},
    "entropy": {"method": "entropy"},
    "unequalized": {"equalization": False},
    "learned": {"learning": True},
}
"""What `best` tries, in order; of passes that say the same option the last that gained counts."""
MOST = 256
"""Samples, at most, that are taken of what is given."""
LEAST = 0.1
"""Decibels that a pass has to gain."""
CERTAIN = 2.0
"""Standard errors above which a gain is no chance."""
EXACT = 120.0
"""Decibels of what is the same number."""
Run = Callable[..., Quantized]


def options_for(effort: str, options: Mapping[str, Any], fast: Mapping[str, Any] = FAST) -> dict[str, Any]:
    """Options with what an effort other than `best` changes; `fast` is what that leaves out. `UsageError` for another word."""
    if effort not in EFFORTS:
        raise UsageError(f"there is no effort {effort!r}", hint=f"one of {', '.join(EFFORTS)}")
    return {**(fast if effort == "fast" else {}), **options}


def best(
    run: Run, module: Module, samples: Iterable[Sample] | None, options: Mapping[str, Any],
    passes: Mapping[str, Mapping[str, Any]] = PASSES,
) -> Quantized:
    """What `run(module, samples, **options)` makes of a float module of the hub with those of `passes` that gain.

    Passes whose options the caller says are not tried, nor what a calibration that is given decides. With the option `resume`, a
    file, what each was worth is saved there, and what is learned on the way: a run that was ended goes on from it, with the same
    result, and removes it at the end. Raises `UsageError` without samples, at least four of them, and for a file of another run.
    """
    held = list(islice(samples or (), MOST))
    if len(held) < 4:
        raise UsageError(
            f"the effort 'best' needs four samples, to hold some apart, and has {len(held)}", hint="--data PATH -n 64")
    own = {name: value for name, value in options.items() if name != "resume"}
    saved = Saved.opened(options.get("resume"), _about(module, held, own, passes))
    mixed = list(held)
    Random(len(held)).shuffle(mixed)
    apart, others = mixed[: len(mixed) // 2], mixed[len(mixed) // 2:]
    decided = {*own, *(("method", "equalization", "learning") if own.get("calibration") is not None else ())}
    trials = {name: change for name, change in passes.items() if decided.isdisjoint(change)}

    def worth(name: str, number: int, changes: Mapping[str, Any]) -> np.ndarray:
        say(f"trying {name}", number / (len(trials) + 2))
        if (kept := saved.get(name, decibels=(len(apart),))) is not None:
            return kept["decibels"]
        made = run(module, others, **_saving({**own, **changes}, saved))
        saved.put(name, decibels=(found := _decibels(module, made.module, apart)))
        return found

    chosen: dict[str, Any] = {}
    found = worth("default", 0, {})
    told: dict[str, str] = {"default": f"{found.mean():.2f} dB on {len(apart)} samples held apart"}
    for number, (name, change) in enumerate(trials.items(), 1):
        tried = worth(name, number, {**chosen, **change})
        gains = _gains(found, tried)
        told[name] = f"{tried.mean():.2f} dB, {'kept' if gains else 'not kept'}"
        if gains:
            chosen, found = {**chosen, **change}, tried
    say("quantizing on all samples", (len(trials) + 1) / (len(trials) + 2))
    made = run(module, held, **_saving({**own, **chosen}, saved))
    saved.finish()
    return replace(made, report={**made.report, "effort": told})


def _saving(options: Mapping[str, Any], saved: Saved) -> dict[str, Any]:
    """Options with where what is learned is saved, if anything is."""
    return {**options, **({"resume": saved} if "learning" in options else {})}


def _about(
    module: Module, samples: Sequence[Sample], options: Mapping[str, Any], passes: Mapping[str, Mapping[str, Any]],
) -> str:
    """The same for runs that come to the same result."""
    said = {name: getattr(value, "ranges", value) for name, value in options.items()}
    return digest_of(digest_of_module(module), str(sorted(said.items())), str(passes), *samples)


def _gains(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether decibels of each sample are more than chance makes them."""
    gain = after - before
    error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else 0.0
    return bool(gain.mean() > max(LEAST, CERTAIN * error))


def _decibels(floats: Module, made: Module, samples: list[Sample]) -> np.ndarray:
    """The signal-to-noise ratio of each sample, in the mean of the outputs."""
    from transload.evaluation.running import models_ready, run_ahead

    models = models_ready([floats, made], {}, "auto")
    given = ((str(number), [sample, sample]) for number, sample in enumerate(samples))
    rows = []
    for _, outputs in run_ahead(models, given):
        wanted, there = ([np.asarray(array) for array in each().values()] for each in outputs)
        rows.append(np.mean([np.clip(sqnr(*pair), -EXACT, EXACT) for pair in zip(wanted, there, strict=True)]))
    return np.array(rows)
