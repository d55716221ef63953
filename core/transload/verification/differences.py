"""How two tensors differ, by all registered metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from ..errors import PluginFailure, UsageError
from ..guard import noted
from ..plugin import resolve
from ..plugin_host import host
from .exact import share_of_same
from .offsets import Offset, measure_offset
from .others import Others, others_of
from .parts import Parts, measure_parts
from .scales import Scales, measure_scales

__all__ = [
    "TensorDifference", "check_number", "compare_outputs", "difference", "distance_in_words", "in_view_of", "incomparable",
    "is_as_near", "is_counted", "is_farther", "not_measured", "of_plain", "output_count", "together"]


_OF_REALS = ("cos", "euclid", "sqnr")
"""Metrics that say something of numbers that are far from another or near, and nothing of indices, masks and counts."""


@dataclass(frozen=True)
class TensorDifference:
    """How one tensor differs from its reference."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    metrics: dict[str, float]
    note: str = ""
    unmeasured: dict[str, str] = field(default_factory=dict)
    """The metrics that could not be computed, as their plugins fail: NaN in `metrics`, and why."""
    equal: float | None = None
    """Of integers, the share of elements that are the same."""
    offset: Offset | None = None
    """Of floats, how far they are apart beside what varies of them (`offsets`)."""
    scales: Scales | None = field(default=None, repr=False)
    """Of floats, how far those of each size are apart, which differences of larger ones hide (`scales`)."""
    others: Others | None = field(default=None, repr=False)
    """How many elements are others, and would be whatever was computed; None where that is not counted."""
    same: float | None = field(default=None, repr=False)
    """The share of elements that are the same, of floats but for one rounding (`share_of_same`)."""
    parts: Parts | None = field(default=None, repr=False)
    """Of floats, which rows, channels and the like alone are wrong (`parts`)."""
    turned: bool = False
    """Whether its dimensions were put in another order of the same sizes, in which it is near, before it was compared."""

    def as_dict(self) -> dict[str, Any]:
        """What is told of it: without what limits alone are asked of, which is not in the `repr` either."""
        told = {each.name for each in fields(self) if each.repr}
        return {name: value for name, value in asdict(self).items() if name in told}

    @property
    def is_integer(self) -> bool:
        return self.dtype.startswith(("int", "uint", "bool"))


def difference(name: str, reference: np.ndarray, actual: np.ndarray) -> TensorDifference:
    """All registered metrics of two tensors; a note, and NaN, where their shapes do not fit.

    A metric of others that fails is NaN, and says no more of the tensors than that: `unmeasured` has the reason.
    """
    reference, actual = np.asarray(reference), in_view_of(np.asarray(actual), np.asarray(reference))
    if reference.shape != actual.shape:
        return incomparable(name, reference, f"shape {actual.shape}")
    measured, unmeasured = dict[str, float](), dict[str, str]()
    for key, metric in host().metrics.items():
        try:
            measured[key] = float(resolve(metric.measure)(reference, actual))
        except PluginFailure as error:
            if error.plugin is None or error.plugin.is_ours:  # verdicts rest on these
                raise
            measured[key], unmeasured[key] = math.nan, noted(error)
    same = share_of_same(reference, actual)
    equal = same if reference.dtype.kind in "iub" else None
    return TensorDifference(
        name, reference.shape, str(reference.dtype), measured, "", unmeasured, equal, measure_offset(reference, actual),
        measure_scales(reference, actual), others_of(reference, actual), same,
        measure_parts(reference, actual))


def is_counted(dtype: np.dtype) -> bool:
    """Whether numbers without a scale are indices, masks or counts: no angle and no noise says how near two of them are.

    Integers of 8 and 16 bits may be numbers whose scale nobody says.
    """
    return dtype.kind == "b" or (dtype.kind in "iu" and dtype.itemsize >= 4)


def of_plain(tensor: TensorDifference, chosen: bool = False) -> TensorDifference:
    """How a tensor differs that nothing gives a scale: what is counted (`is_counted`) or `chosen` by how many are equal."""
    if not chosen and not is_counted(np.dtype(tensor.dtype)):
        return tensor
    return replace(tensor, metrics={name: value for name, value in tensor.metrics.items() if name not in _OF_REALS})


def is_farther(one: TensorDifference, other: TensorDifference) -> bool:
    """Whether a tensor is farther from its reference than another from its own: by noise beside what it is, else in numbers."""
    for name, sign in (("sqnr", -1.0), ("max_abs", 1.0)):
        if name in one.metrics and name in other.metrics:
            return sign * one.metrics[name] > sign * other.metrics[name]
    return False


def is_as_near(ours: TensorDifference, theirs: TensorDifference) -> bool:
    """Whether a tensor is at least as near to its reference as another to its own: as reals, or, of what is counted, by how
    many are the same, whether or not either was stripped of the metrics of reals (`of_plain`)."""
    mine, other = of_plain(ours), of_plain(theirs)
    names = [name for name in ("cos", "euclid") if name in mine.metrics and name in other.metrics]
    if names:
        return all(mine.metrics[name] >= other.metrics[name] for name in names)
    return mine.same is not None and other.same is not None and mine.same >= other.same


def distance_in_words(tensor: TensorDifference, digits: int = 5) -> str:
    """How far a tensor is from its reference, as words before "away": a cosine, or how many of what is counted are others."""
    cosine = of_plain(tensor).metrics.get("cos")
    if cosine is not None:
        return f"a cosine of {cosine:.{digits}f}"
    return f"{math.nan if tensor.same is None else 1.0 - tensor.same:.2%} of its numbers"


def together(one: TensorDifference, other: TensorDifference) -> TensorDifference:
    """The worse of an output's differences on inputs, with what there is to count of both."""
    worse = max(one, other, key=lambda each: each.metrics.get("max_abs", 0.0))
    return replace(worse, others=one.others + other.others if one.others is not None and other.others is not None else None)


def not_measured(tensors: Iterable[TensorDifference]) -> list[str]:
    """What there is to say of metrics that could not be computed, once of each."""
    reasons = dict[str, str]()
    for tensor in tensors:
        reasons = {**tensor.unmeasured, **reasons}
    return [f"{name} could not be computed: {why}" for name, why in reasons.items()]


def incomparable(name: str, reference: np.ndarray, why: str) -> TensorDifference:
    """A tensor that cannot be compared: NaN by every metric, and the reason."""
    return TensorDifference(name, reference.shape, str(reference.dtype), dict.fromkeys(host().metrics, math.nan), why)


def in_view_of(actual: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """`actual` in the reference's view: channels first instead of last, sizes of 1 as there."""
    if actual.shape != reference.shape and actual.size == reference.size:
        if actual.ndim == reference.ndim >= 3 and np.moveaxis(actual, -1, 1).shape == reference.shape:
            return np.moveaxis(actual, -1, 1)
        if [n for n in actual.shape if n != 1] == [n for n in reference.shape if n != 1]:
            return actual.reshape(reference.shape)
    return actual


def compare_outputs(reference: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray]) -> list[TensorDifference]:
    """Outputs compared in order: their names are the model's in both. `UsageError` where one has more of them."""
    check_number(reference, actual)
    return [difference(name, a, b) for (name, a), b in zip(reference.items(), actual.values(), strict=True)]


def check_number(reference: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray]) -> None:
    """Raise `UsageError` where one has more outputs than the other."""
    if len(reference) != len(actual):
        raise UsageError(
            f"the model has {output_count(len(reference))}, and what it is compared with {len(actual)}",
            hint="both have to be one model, cut at the same tensors")

def output_count(count: int) -> str:
    """So many outputs, in words."""
    return f"{count} output" if count == 1 else f"{count} outputs"
