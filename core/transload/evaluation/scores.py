"""Scores: what each is given of a sample, what it measures, and how the measures of all samples become one number.

A score measures sample by sample, in numbers that JSON holds, so that an evaluation can be saved and gone on with, and that the
spread of the samples says how sure the total is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import metrics
from ..classes import is_a
from ..errors import UsageError
from ..guard import FOREIGN, goes_through, said
from ..lending import read_only
from ..plugin import Score, resolve
from ..plugin_host import host
from ..samples.sources import function_at, same_but_ones
from ..sizes_text import sizes_text
from ..verification.differences import is_counted
from .intervals import interval, mean_at_most
from .labels import MovedLabel, class_of
from .pictures import with_scale
from .seen import seen

__all__ = ["Estimate", "estimate", "find_scores"]

Outputs = Mapping[str, np.ndarray]
_Z = 1.959963984540054
"""The normal distribution's 97.5 % quantile: intervals hold 95 %."""


@dataclass(frozen=True)
class Estimate:
    """A score over samples, and between what it lies with 95 % confidence, had other samples of the kind been taken."""

    value: float
    low: float | None = None
    high: float | None = None
    samples: int = 0


def find_scores(names: Sequence[str]) -> dict[str, Score]:
    """Scores by the names that a user gives: registered ones, `topK` for any K, `python:module:function`.

    A function of the user's takes the outputs by name and the label, and gives a number; the score is their mean. Raises
    `UsageError` for one that lacks a package, before anything is measured.
    """
    found = {name: _find(name) for name in dict.fromkeys(names)}
    for name, score in found.items():
        why = resolve(score.available)() if score.available is not None else None
        if why:
            raise UsageError(f"{name} cannot be measured: {why}")
    return found


def _find(name: str) -> Score:
    if name.startswith("python:"):
        unit = getattr(function_at(name), "unit", "")
        return Score(name, _of_user(name), doc="a function of the user's", unit=unit if isinstance(unit, str) else "")
    best = re.fullmatch(r"([a-z]+)([1-9][0-9]{0,3})", name)
    if best is not None and name not in host().scores and f"{best[1]}1" in host().scores:  # of K best, as the one of 1
        return Score(name, _top(int(best[2])), None, f"The label is among the {best[2]} best.", ("label",), unit="%", by_row=True)
    found: Score = host().get("scores", name)
    return found


def _of_user(name: str) -> Callable[..., float]:
    """What a function of the user's measures; whatever it raises is told as its own."""
    function = function_at(name)

    def measure(outputs: Outputs, label: Any, reference: Outputs | None) -> float:
        try:
            return float(function(read_only(outputs), label))
        except FOREIGN as error:  # whatever the user's function raises, or ends by
            if goes_through(error) or is_a(error, MemoryError):
                raise
            raise UsageError(f"{name} failed: {said(error)}",
                             hint="it takes the outputs by name and the label, and gives a number") from error

    return measure


def estimate(score: Score, rows: Sequence[Any]) -> Estimate:
    """The total of what was measured, with an interval: Wilson's of a share, else the bootstrap's (`intervals`)."""
    if not rows:
        raise UsageError(f"{score.name}: no sample was measured")
    count, total, plain = len(rows), _total(score), score.total is None
    if score.by_row:
        rows = [number for row in rows for number in (row if isinstance(row, list) else [row])]
    value = float(total(rows))
    if not score.spread or len(rows) < 2 or np.isnan(value):  # samples that are numbers say nothing of those that are none
        return Estimate(value, samples=count)
    if plain and score.unit == "%" and all(row in (0.0, 1.0) for row in rows):
        return Estimate(value, *_wilson(value, len(rows)), samples=count)
    if plain:
        numbers = np.asarray(rows, np.float64)
        low, high = interval(lambda places: float(numbers[list(places)].mean()), len(rows), error=lambda places: float(
            numbers[list(places)].std(ddof=1) / len(rows) ** 0.5))
    else:
        low, high = interval(lambda places: float(total([rows[place] for place in places])), len(rows))
    low = min(low, _with_losses_unseen(score, rows))
    least, most = score.bounds or ((0.0, 1.0) if score.unit == "%" else (-np.inf, np.inf))
    return Estimate(value, max(low, min(value, least)), min(high, max(value, most)), count)


def _with_losses_unseen(score: Score, rows: Sequence[Any]) -> float:
    """What a score may be where samples that lose more than all of these are as frequent as their losses say; infinity where
    nothing says what a sample loses."""
    if score.least is not None:
        return float(resolve(score.least)(rows))
    if score.total is None and score.better == "higher" and score.bounds is not None and np.isfinite(score.bounds[1]):
        return float(score.bounds[1] - mean_at_most(score.bounds[1] - np.asarray(rows, np.float64)))
    return float("inf")


def _total(score: Score) -> Callable[[Any], float]:
    return resolve(score.total) if score.total is not None else lambda rows: float(np.mean(rows))


def _wilson(share: float, count: int) -> tuple[float, float]:
    """Wilson's score interval of a share of `count` (Wilson 1927), which stays within 0 and 1."""
    square = _Z**2 / count
    middle = (share + square / 2) / (1 + square)
    half = _Z / (1 + square) * np.sqrt(share * (1 - share) / count + square / (4 * count))
    return float(middle - half), float(middle + half)


# --- classification


def first_of(outputs: Outputs) -> np.ndarray:
    """The numbers of the output that decides: the first, or the only one that was asked for."""
    return np.asarray(next(iter(outputs.values())), np.float64)


def _rows(scores: np.ndarray) -> int:
    """Of how many samples an output has the scores: the first size of what has several numbers for each."""
    return scores.shape[0] if scores.ndim > 1 and scores.size > scores.shape[0] > 1 else 1


def _each(found: Sequence[float]) -> float | list[float]:
    """What was measured, a number for each row where there are several."""
    return found[0] if len(found) == 1 else list(found)


def _top(count: int) -> Callable[..., float | list[float]]:
    def best(numbers: np.ndarray, label: Any, output: str) -> float:
        number = class_of(label)
        if numbers.size < 2 or number is None or not 0 <= number < numbers.size:
            raise _no_class(label, output, numbers.size)
        if count >= numbers.size:
            raise UsageError(
                f"the label is among the {count} best of {numbers.size} classes (output {output!r}) whatever the model gives",
                hint=f"of the {numbers.size - 1} best, or fewer, it says something; --output says which output counts")
        if np.isnan(numbers).any():
            return 0.0  # comparing with NaN would call any class the best
        ahead = int((numbers > numbers[number]).sum() + (numbers[:number] == numbers[number]).sum())
        return float(ahead < count)

    def measure(outputs: Outputs, label: Any, reference: Outputs | None) -> float | list[float]:
        scores, output = first_of(outputs), next(iter(outputs))
        size = _rows(scores)
        labels = list(label) if size > 1 and isinstance(label, list | tuple | np.ndarray) and np.ndim(label) else [label]
        if len(labels) != size:
            found = f"are {len(labels)} labels" if len(labels) > 1 else "is one label"
            raise UsageError(
                f"{output!r} has {size} rows ({sizes_text(scores.shape)}), of a batch one each, and there {found}",
                hint="labels for each row, in the order of the samples and their rows, in a file of labels alone or an .npy; "
                     "or the model of a batch of 1: --batch 1; of rows that are no batch, --metric python:FILE:FUNCTION")
        return _each([best(row, each, output) for row, each in zip(scores.reshape(size, -1), labels, strict=True)])

    return measure


def _no_class(label: Any, output: str, count: int) -> UsageError:
    """The error for a label that is none of so many classes."""
    if count < 2:
        return UsageError(
            f"output {output!r} is of {count} numbers, and has to be of one for each class",
            hint="--output says which one counts; of a model that gives the class itself, --metric python:FILE:FUNCTION")
    number = class_of(label)
    if number is None and isinstance(label, np.ndarray | list | tuple) and len(label) > 1 and all(
            class_of(each) is not None for each in label):
        return UsageError(
            f"there are {len(label)} labels for a sample, and output {output!r} of {count} numbers has one row",
            hint="of a model that gives the class itself of each row of a batch, --metric python:FILE:FUNCTION, or agreement "
                 "beside another model; --output says which output counts")
    if number is None:
        return UsageError(f"the label is {label!r:.100}, and classes are whole numbers, one for each sample",
                          hint="--classes names them in order; masks are for miou and pixels, images for psnr")
    offset = label.offset if isinstance(label, MovedLabel) else 0
    given, moved = number - offset, f", {number} with --label-offset {offset}" if offset else ""
    hint = "labels begin with 0, --label-offset added to numbers; --classes names folders and labels in the model's order"
    if offset and 0 <= given < count:
        hint = "leave out --label-offset where labels begin with 0"
    elif given == count and offset != -1:
        hint = "--label-offset -1 where labels begin with 1"
    return UsageError(f"the label is {given}{moved}, and the model has classes 0 to {count - 1}", hint=hint)


top1, top5 = _top(1), _top(5)


def agreement(outputs: Outputs, label: Any, reference: Outputs) -> float | list[float]:
    """1 where the best class is that of the reference, of each row where there are several; of NaN none is. Whole numbers, one a
    row, are the class itself."""
    ours, theirs = first_of(outputs), first_of(reference)
    if ours.shape == theirs.shape and is_counted(np.asarray(next(iter(reference.values()))).dtype) and (
            theirs.size == 1 or (theirs.ndim == 2 and theirs.shape[1] == 1)):  # it gives the class itself
        return _each([float(mine == yours) for mine, yours in zip(ours.ravel(), theirs.ravel(), strict=True)])
    if theirs.size == 1:
        raise _no_class(None, next(iter(reference)), theirs.size)
    size = _rows(theirs)
    if ours.size % size or (size == 1 and _rows(ours) > 1):
        raise UsageError(f"outputs of shape {theirs.shape} and {ours.shape} cannot be compared, of which one has rows of a batch")
    return _each([
        float(mine.argmax() == yours.argmax() and not np.isnan(mine).any() and not np.isnan(yours).any())
        for mine, yours in zip(ours.reshape(size, -1), theirs.reshape(size, -1), strict=True)])


# --- numbers beside the reference's


def _pairs(outputs: Outputs, reference: Outputs) -> list[tuple[np.ndarray, np.ndarray]]:
    """The outputs of the reference with those of the same names, or in the same place."""
    if len(reference) != len(outputs):
        raise UsageError(
            f"{len(reference)} outputs ({', '.join(reference)}) cannot be compared with {len(outputs)} ({', '.join(outputs)})",
            hint="--output says which one counts, where both have it")
    named = set(reference) == set(outputs)  # else by place, as artifacts may call outputs otherwise
    return [_alike(wanted, outputs[name] if named else found)
            for (name, wanted), found in zip(reference.items(), outputs.values(), strict=True)]


def _alike(ours: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two outputs, the second with its channels where the first has them; `UsageError` for outputs of other shapes, and for real
    numbers beside integers of which nothing says a scale."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if not same_but_ones(ours.shape, theirs.shape):
        turned = [np.moveaxis(theirs, *ways) for ways in ((-1, 1), (1, -1)) if ours.ndim == theirs.ndim >= 3]
        theirs = next((each for each in turned if each.shape == ours.shape), theirs)
    if not same_but_ones(ours.shape, theirs.shape):
        raise UsageError(f"outputs of shape {theirs.shape} and {ours.shape} cannot be compared")
    kinds = {np.asarray(each).dtype.kind in "iu": np.asarray(each).dtype for each in (ours, theirs)}
    if len(kinds) > 1:
        raise UsageError(
            f"an output of {kinds[True]} cannot be compared with one of {kinds[False]}: nothing says what its integers stand for",
            hint="the report.json of the conversion says it, or a quantized model beside; top1 and agreement need no scale")
    return ours, theirs.reshape(ours.shape)


def _real_pairs(outputs: Outputs, reference: Outputs) -> list[tuple[np.ndarray, np.ndarray]]:
    """`_pairs`, but for those of indices, masks and counts (`is_counted`): no angle and no noise says how near these are.

    Raises `UsageError` where no output is left.
    """
    pairs = _pairs(outputs, reference)
    real = [(ours, theirs) for ours, theirs in pairs if not is_counted(ours.dtype)]
    if pairs and not real:
        kinds = ", ".join(sorted({str(ours.dtype) for ours, _ in pairs}))
        raise UsageError(f"outputs of {kinds} are indices, masks or counts, of which cosines and noise say nothing",
                         hint="--metric equal tells how many are the same")
    return real


def equal(outputs: Outputs, label: Any, reference: Outputs) -> float:
    """The share of elements that are the reference's, of the output where it is least; NaN is NaN's."""
    return min((float(np.mean((ours == theirs) | ((ours != ours) & (theirs != theirs)))) if ours.size else 1.0
                for ours, theirs in _pairs(outputs, reference)), default=1.0)


def energies(outputs: Outputs, label: Any, reference: Outputs) -> list[list[float]]:
    """Of each output the sum of squares of the reference, and of the differences."""
    found = []
    for ours, theirs in _real_pairs(outputs, reference):
        signal = np.asarray(ours, np.float64).ravel()
        noise = signal - np.asarray(theirs, np.float64).ravel()
        found.append([float(signal @ signal), float(noise @ noise)])
    return found


def least_ratio(rows: Any) -> float:
    """`10 log10(sum signal / sum noise)` over all samples, of the output where that is least."""
    sums = np.asarray(rows, np.float64).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(sums[:, 1] == 0, np.inf, 10 * np.log10(sums[:, 0] / sums[:, 1]))
    return float(ratios.min())


def ratio_at_least(rows: Any) -> float:
    """`least_ratio`, where the noise of samples that are not there goes on as that of those with most of it (`mean_at_most`)."""
    energy = np.asarray(rows, np.float64)
    noise = [mean_at_most(energy[:, place, 1]) for place in range(energy.shape[1])]
    return least_ratio([np.stack([energy[:, :, 0].mean(axis=0), noise], axis=-1)])


def cosine(outputs: Outputs, label: Any, reference: Outputs) -> float:
    return _worst(metrics.cosine, outputs, reference)


def euclid(outputs: Outputs, label: Any, reference: Outputs) -> float:
    return _worst(metrics.euclid, outputs, reference)


def _worst(near: Callable[[np.ndarray, np.ndarray], float], outputs: Outputs, reference: Outputs) -> float:
    """How near the worst output is, in a measure of 1 at most; NaN where one is, which `min` takes or leaves by their order."""
    return float(np.min([near(ours, theirs) for ours, theirs in _real_pairs(outputs, reference)], initial=1.0))


def squared_error(outputs: Outputs, label: Any, reference: Outputs | None) -> list[float]:
    """The mean squared error beside a label that is an image, else beside the reference, and the greatest number of it.

    A number is the label of a class, as samples have that lie in a folder for each.
    """
    made: np.ndarray = np.asarray(next(iter(outputs.values())))
    known = seen(label)
    if known.label is not None and (reference is None or isinstance(known.label, np.ndarray | list | tuple)):
        truth = with_scale(known, made)
        if not same_but_ones(made.shape, truth.shape):
            raise UsageError(f"an output of shape {made.shape} cannot be compared with a label of shape {truth.shape}",
                             hint="psnr wants pictures of the output's rows, columns and channels as labels, or a reference")
    elif reference is not None:
        truth, made = _alike(np.asarray(next(iter(reference.values()))), made)
    else:
        raise UsageError("psnr needs labels that are images, or a second model to compare", hint="--labels FOLDER")
    wanted = truth.astype(np.float64)
    error = made.astype(np.float64).reshape(truth.shape) - wanted
    return [float(np.square(error).mean()), float(np.abs(wanted).max(initial=0.0))]


def peak_ratio(rows: Any) -> float:
    """`10 log10(peak^2 / error)`, of the mean error of all images: one that is exact says nothing of the others.

    The peak is 1, or 255 where numbers are greater than 2.
    """
    array = np.asarray(rows, np.float64)
    peak = 255.0 if array[:, 1].max() > 2 else 1.0
    with np.errstate(divide="ignore"):
        return float(10 * np.log10(peak**2 / array[:, 0].mean()))
