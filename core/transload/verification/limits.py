"""Which limits of a tolerance a tensor breaks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import PluginFailure
from ..plugin_host import host
from .differences import TensorDifference, is_counted
from .tolerance import Tolerance

__all__ = ["broken_limits"]


def broken_limits(
    tensor: TensorDifference, tolerance: Tolerance, step: float | None = None, exact: bool = False,
    plain: bool = False, unit: float | None = None,
) -> list[str]:
    """Which limits a tensor breaks, in words; `step` is that between the numbers of a dequantized integer.

    Integers and truths that are `exact`, nothing being rounded on the way to them (`exact_outputs`), have to be the same, where
    no more than the usual step is allowed; integers that are `plain` (`plain_outputs`) are counts, of however few bits. With the
    `unit` of the roundings of what computes floats, these are to be near beside what varies of them, too (`offsets`).
    """
    if tensor.name in tolerance.excepts:
        return []
    if tensor.note:
        return [f"{tensor.name}: {tensor.note}, and the source gives {tensor.shape}"]
    others = [(name, limit, host().metrics[name].better == "higher") for name, limit in tolerance.others
              if name in tensor.metrics]
    if broken := _beyond(tensor, others):
        return broken
    if exact and tensor.is_integer and tolerance.integer == 1 and tensor.equal is not None and tensor.equal < 1.0:
        return [f"{tensor.name}: {1.0 - tensor.equal:.2%} of its numbers are others, and all have to be the same, as nothing is "
                "rounded on the way to them"]
    if tensor.dtype == "bool":
        wrong, most = 1.0 - (1.0 if tensor.equal is None else tensor.equal), tolerance.truths
        return [] if wrong <= most else [f"{tensor.name}: {wrong:.2%} of its truths are others, allowed {most:.2%}"]
    if tensor.is_integer:
        worst, same = tensor.metrics["max_abs"], 1.0 if tensor.equal is None else tensor.equal
        if not worst <= tolerance.integer:
            return [f"{tensor.name}: differs by {worst:g} steps, allowed {tolerance.integer}"]
        if (plain or is_counted(np.dtype(tensor.dtype))) and same < 1.0 - tolerance.counts:
            return [f"{tensor.name}: {1.0 - same:.2%} of its numbers are others, allowed {tolerance.counts:.2%}"]
        return []
    if step is not None and tensor.metrics["max_abs"] <= min((tolerance.integer + 1e-3) * step, tolerance.max_abs):
        return []
    if tensor.metrics["max_abs"] <= min(tolerance.floor, tolerance.max_abs):
        return []
    broken = _beyond(
        tensor, [("cos", tolerance.cos, True), ("euclid", tolerance.euclid, True), ("max_abs", tolerance.max_abs, False)])
    if broken or unit is None or tensor.offset is None or not tolerance.keeps_floats:
        return broken
    near = tensor.offset.near(unit)
    return [] if near >= tolerance.euclid else [
        f"{tensor.name}: euclid {near:g} of what is left without its mean, allowed {tolerance.euclid:g}: all else is an offset"]


def _beyond(tensor: TensorDifference, limits: Sequence[tuple[str, float, bool]]) -> list[str]:
    """The limits of metrics, as `(name, limit, whether higher is better)`, that a tensor breaks, in words.

    `PluginFailure` where one of the metrics could not be computed.
    """
    broken = []
    for name, limit, higher in limits:
        value = tensor.metrics[name]
        if name in tensor.unmeasured:
            raise PluginFailure(tensor.unmeasured[name], hint=f"without {name} in --tolerance it is told, and not judged")
        if not (value >= limit if higher else value <= limit):  # NaN breaks every limit
            broken.append(f"{tensor.name}: {name} {value:g}, allowed {limit:g}")
    return broken
