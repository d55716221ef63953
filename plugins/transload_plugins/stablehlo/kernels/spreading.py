"""Tensors cut into the parts of a grid's partitions, and joined of them, as GSPMD says which has which.

`{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}` is an array of the partitions' numbers, here `arange(4)` as 2x2,
transposed and made 2x1x2: in the first dimension of a tensor 2 parts, and of each 2 copies.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ..dialect.call_forms import SPREADING
from ..dialect.custom_call import CustomCall
from ..parallel import Process

__all__ = ["spread"]

_devices = re.compile(
    r"\{devices=\[([\d,]+)\](?:<=\[([\d,]+)\](?:T\(([\d,]+)\))?|([\d,]+))"
    r"(?: last_tile_dim_replicate| last_tile_dims=\{[a-z, ]*\})?\}"
).fullmatch


def spread(op: CustomCall, process: Process, array: Any) -> np.ndarray | None:
    """A process's part of a tensor, or the tensor of all parts; None for other calls, and where it is not known how."""
    if op.call_target_name not in SPREADING[:2] or process.grid.num_partitions == 1:
        return None
    joins = op.call_target_name == SPREADING[1]
    part, whole = array.shape, op.results[0].tensor_type.shape
    if not joins:
        part, whole = whole, part
    if part is None or whole is None:
        return None
    places = _places(_sharding(op), len(whole), process.grid.num_partitions)
    if places is None or any(p * n != w for w, p, n in zip(whole, part, places.shape, strict=False)):
        return None
    slices = {
        int(partition): tuple(slice(at * size, (at + 1) * size) for at, size in zip(index, part, strict=False))
        for index, partition in np.ndenumerate(places)
    }
    if not joins:
        return np.ascontiguousarray(array[slices[process.partition]])
    members = [(process.replica, partition) for partition in range(process.grid.num_partitions)]
    there = process.grid.exchange(process, op, members, array)
    joined = np.empty([part * count for part, count in zip(array.shape, places.shape, strict=False)], array.dtype)
    for (_, partition), each in there.items():
        joined[slices[partition]] = each
    return joined


def _sharding(op: CustomCall) -> str:
    """How the tensor is spread: a call that cuts has it, or the call before, which says it alone."""
    own, before = op.attributes.get("mhlo.sharding"), op.operands[0].op
    cuts = op.call_target_name == SPREADING[0]
    if cuts and before is not None and before.attributes.get("call_target_name") == "Sharding":
        own = before.attributes.get("mhlo.sharding")
    return own if isinstance(own, str) else ""


def _places(sharding: str, rank: int, partitions: int) -> np.ndarray | None:
    """The partitions by the part that they have in each dimension, and last by copy."""
    found = _devices(sharding)
    if found is None:
        return None
    tiles, sizes, order, listed = ([int(one) for one in each.split(",")] if each else [] for each in found.groups())
    if math.prod(tiles) != partitions or len(tiles) < rank or not (listed or math.prod(sizes) == partitions) or (
            order and sorted(order) != [*range(len(sizes))]):
        return None  # before there are as many numbers as a text may ask for
    numbers = np.array(listed) if listed else np.arange(partitions).reshape(sizes)
    numbers = numbers.transpose(order) if order else numbers
    if sorted(numbers.flat) != [*range(partitions)]:
        return None
    return numbers.reshape(*tiles[:rank], -1)
