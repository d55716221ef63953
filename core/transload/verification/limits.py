"""Which limits of a tolerance a tensor breaks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..errors import PluginFailure
from ..plugin_host import host
from .differences import TensorDifference, is_counted
from .others import Others
from .parts import LEAST
from .tolerance import Tolerance

__all__ = ["breaks_usual", "broken_limits", "passes_if_constant"]

_ROUNDINGS = 64.0
"""Of a step: floats that are nearer are of the same integer."""
_OF_ZERO = 16.0
"""How many times `floor` is near enough where the source is 0 throughout: what cancels out, as the logarithm of gamma at 1, is
made of terms larger than 1, of which a cosine and a distance have nothing to be measured by."""
_COARSE = 0.5
"""How near (`euclid`) what an offset or larger numbers hide is to be behind numbers that are rounded to steps: a constant in
place of it is at 0, and steps that are rounded otherwise are nearer by far."""


def broken_limits(
    tensor: TensorDifference, tolerance: Tolerance, step: float | None = None, exact: bool = False,
    plain: bool = False, chosen: bool = False, unit: float | None = None, coarse: bool = False,
) -> list[str]:
    """Which limits a tensor breaks, in words; `step` is that between the numbers of a dequantized integer.

    Outputs that are `exact`, nothing being rounded on the way to them (`exact_outputs`), have to be the same, where no more than
    the usual step is allowed of integers, and the usual distance of floats; integers that are `plain` (`plain_outputs`) are
    counts, of however few bits. Those that are `chosen` (`chosen_outputs`), truths and labels, are judged by how many are others,
    however far these are. With the `unit` of the roundings of what computes floats, these are to be near beside what varies of
    them, too (`offsets`), and the small ones, and each row or channel, beside their own size (`scales`, `parts`); half as near as
    they are large, where they are `coarse` (`coarse_outputs`).
    """
    if tensor.name in tolerance.excepts:
        return []
    if tensor.note:
        return [f"{tensor.name}: {tensor.note}, and the source gives {tensor.shape}"]
    others = [(name, limit, host().metrics[name].better == "higher") for name, limit in tolerance.others
              if name in tensor.metrics]
    if broken := _beyond(tensor, others):
        return broken
    if exact and tensor.is_integer and tolerance.integer == 1 and (broken := _of_same(tensor)):
        return broken
    if tensor.dtype == "bool" or chosen:
        return _of_chosen(tensor, tolerance)
    if tensor.is_integer:
        worst = tensor.metrics["max_abs"]
        if not worst <= tolerance.integer:
            return [f"{tensor.name}: differs by {worst:g} steps, allowed {tolerance.integer}"]
        return _of_steps(tensor, tolerance, 1.0, plain or is_counted(np.dtype(tensor.dtype)))
    if step is not None:  # as many may be steps away, however far: farther ones have to be near as a whole besides
        if tensor.metrics["max_abs"] > step / _ROUNDINGS and (broken := _of_steps(tensor, tolerance, step)):
            return broken
        if tensor.metrics["max_abs"] <= min((tolerance.integer + 1e-3) * step, tolerance.max_abs):
            return []
    is_zero = not exact and tensor.others is not None and tensor.others.is_zero
    if tensor.metrics["max_abs"] <= min(tolerance.floor * (_OF_ZERO if is_zero else 1.0), tolerance.max_abs):
        return []
    broken = _beyond(
        tensor, [("cos", tolerance.cos, True), ("euclid", tolerance.euclid, True), ("max_abs", tolerance.max_abs, False)])
    if broken or not tolerance.keeps_floats:
        return broken
    return (_of_same(tensor) if exact else []) or (
        _hidden(tensor, min(tolerance.euclid, _COARSE) if coarse else tolerance.euclid, unit) if unit is not None else [])


def breaks_usual(tensor: TensorDifference, chosen: bool = False, unit: float | None = None, coarse: bool = False) -> bool:
    """Whether a tensor differs by more than what is near enough where nobody says otherwise."""
    return bool(broken_limits(tensor, Tolerance(), chosen=chosen, unit=unit, coarse=coarse))


def passes_if_constant(
    tensor: TensorDifference, tolerance: Tolerance, step: float | None = None, plain: bool = False, chosen: bool = False,
) -> bool:
    """Whether one number throughout would keep the limits of steps (`broken_limits`), so that these say nothing of an output."""
    others, unit = tensor.others, 1.0 if tensor.is_integer else step
    if others is None or others.size == 1 or unit is None or chosen or tensor.dtype == "bool" or tolerance.integer != 1:
        return False
    counted = plain or (tensor.is_integer and is_counted(np.dtype(tensor.dtype)))
    return others.spread <= (1 + 1e-3) * unit and others.telling <= others.most_steps(unit, counted)


def _of_same(tensor: TensorDifference) -> list[str]:
    """Numbers are others where nothing is rounded on the way to them."""
    return [] if tensor.same is None or tensor.same == 1.0 else [
        f"{tensor.name}: {1.0 - tensor.same:.2%} of its numbers are others, and all have to be the same, as nothing is "
        "rounded on the way to them"]


def _hidden(tensor: TensorDifference, euclid: float, unit: float) -> list[str]:
    """Differences that an offset, larger numbers or many right ones hide from a cosine and a distance of the whole."""
    part, allowed = tensor.parts.farthest(unit) if tensor.parts is not None else None, min(euclid, LEAST)
    if part is not None and not part.near >= allowed:
        return [f"{tensor.name}: euclid {part.near:g} at place {part.place} of dimension {part.dimension}, allowed {allowed:g}: "
                "beside all the others that does not show"]
    hidden = [(tensor.offset, "of what is left without its mean", "all else is an offset"),
              (tensor.scales, "of its small numbers", "beside the large ones these do not show")]
    for measured, what, why in hidden:
        if measured is not None and not (near := measured.near(unit)) >= euclid:
            return [f"{tensor.name}: euclid {near:g} {what}, allowed {euclid:g}: {why}"]
    return []


def _of_chosen(tensor: TensorDifference, tolerance: Tolerance) -> list[str]:
    """Too many truths or labels are others."""
    others, kind = tensor.others, "truths" if tensor.dtype == "bool" else "labels"
    most = others.most_chosen(tolerance.truths) if others is not None else 0.0
    return [] if others is None or others.apart <= most else [
        f"{tensor.name}: {others.apart / others.size:.2%} of its {kind} are others, allowed {most / others.size:.2%}"]


def _of_steps(tensor: TensorDifference, tolerance: Tolerance, step: float, counted: bool = False) -> list[str]:
    """Too many numbers are another step, where one step is allowed or none, and not more of them anyhow."""
    others = tensor.others
    if others is None or tolerance.integer > 1:
        return []
    apart, most = _count_of_others(tensor, others), others.most_steps(step, counted) if tolerance.integer else 0.0
    if apart <= most:
        return []
    away = "a step" if tensor.metrics["max_abs"] <= (1 + 1e-3) * step else "a step or more"
    return [f"{tensor.name}: {apart / others.size:.2%} of its numbers are {away} away, allowed {most / others.size:.2%}"]


def _count_of_others(tensor: TensorDifference, others: Others) -> int:
    """How many numbers are others, the nearest too: of floats `others` counts those about as far as the farthest."""
    same = 1.0 if tensor.same is None else tensor.same
    return max(others.apart, round((1.0 - same) * math.prod(tensor.shape)))


def _beyond(tensor: TensorDifference, limits: Sequence[tuple[str, float, bool]]) -> list[str]:
    """The limits of metrics, as `(name, limit, whether higher is better)`, that a tensor breaks, in words.

    `PluginFailure` where one of the metrics could not be computed.
    """
    broken, unset = list[str](), list[str]()
    for name, limit, higher in limits:
        value = tensor.metrics[name]
        if name in tensor.unmeasured:
            raise PluginFailure(tensor.unmeasured[name], hint=f"without {name} in --tolerance it is told, and not judged")
        if not (value >= limit if higher else value <= limit):  # NaN breaks every limit
            (broken if math.isfinite(limit) else unset).append(f"{tensor.name}: {name} {value:g}, allowed {limit:g}")
    return broken or unset  # what nobody set a limit for is no reason beside one that somebody did
