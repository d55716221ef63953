"""What `compare --per-layer` says of a right artifact: each tensor of the model by one name, and each of them right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

import transload
from transload.ir import Module

__all__ = ["told_wrongly"]


def told_wrongly(
    file: Path, artifact: Module, feeds: Mapping[str, np.ndarray], names: Collection[str], steps: Mapping[str, float],
) -> str:
    """What is wrong of how the tensors of a model are told beside those of a right artifact; nothing where it is right.

    `names` are the tensors that the model computes; `steps` is by how much those may be off that may be, in what they count.
    Floats may be off by so much more in 1e5 of the greatest.
    """
    found = transload.compare(file, artifact, inputs=feeds, per_layer=True)
    told = [*(tensor.name for tensor in found.tensors), *found.only_in_reference]
    twice = [name for name, count in Counter(told).items() if count > 1]
    if twice or {*told} - {*names, *feeds} or {*names} - {*told}:
        return f"twice {twice}, no tensors {sorted({*told} - {*names, *feeds})}, left out {sorted({*names} - {*told})}"
    for tensor in found.tensors:
        if tensor.note:
            return f"{tensor.name} of {tensor.dtype}: {tensor.note}"
        off = tensor.metrics.get("max_abs", 0.0)
        if not off <= steps.get(tensor.name, 0.0) and not (not tensor.is_integer and _is_a_last_bit(tensor.metrics)):
            return f"{tensor.name} of {tensor.dtype} is off by {off}, allowed {steps.get(tensor.name, 0.0)}"
    return ""


def _is_a_last_bit(metrics: Mapping[str, float]) -> bool:
    """Whether floats differ by what they are rounded to."""
    return metrics.get("euclid", 0.0) > 1 - 1e-5
