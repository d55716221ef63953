"""Addresses in global memory: weights first, one after the other at their alignment, then inputs, outputs and what groups give.

A tensor is there from the first command that writes to it to the last one that reads of it (`codegen.lifetimes`), and its place
is used again after that.

Source: the manual's chapter 11 (GMEM assignment). Where it takes the first dead tensor that is large enough, this asks
`transload.memory` for a placement of all.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from transload import memory
from transload.errors import PlacementError

from .dense import densest

__all__ = ["GlobalPlan", "place_global"]


class GlobalPlan:
    """Addresses by key; `weights` bytes for weights, then `peak` for all others, no placement less than `bound`."""

    def __init__(self, addresses: dict[Hashable, int], weights: int, plan: memory.Plan | None) -> None:
        self.addresses, self.weights, self.plan = addresses, weights, plan
        self.peak = plan.peak if plan is not None else 0
        self.bound = plan.bound.bytes if plan is not None else 0

    @property
    def bytes(self) -> int:
        """Bytes of global memory that the program needs."""
        return self.weights + self.peak


def place_global(
    weights: Iterable[tuple[Hashable, int]], tensors: Iterable[memory.Buffer], alignment: int, weight_alignment: int,
    capacity: int,
) -> GlobalPlan:
    """Place weights (key, bytes) and tensors. Raises `PlacementError` where they do not fit."""
    addresses: dict[Hashable, int] = {}
    free = 0
    for key, size in weights:
        addresses[key] = free
        free = -(-(free + size) // weight_alignment) * weight_alignment
    free = -(-free // alignment) * alignment
    if free > capacity:
        raise PlacementError(
            f"global memory is too small: weights take {free:,} of its {capacity:,} bytes, and tensors come behind them",
            hint="take a chip with more `global_bytes`")
    asked = [each._replace(size=-(-each.size // alignment) * alignment) for each in tensors]
    plan = densest(asked, capacity - free, alignment, "global") if asked else None
    if plan is not None:
        addresses.update({key: free + offset for key, offset in plan.offsets.items()})
    return GlobalPlan(addresses, free, plan)
