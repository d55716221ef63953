"""Kernels of collective ops: what each process brings is exchanged, and each computes its own result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import RunError
from transload.ir import Op, Value, dtype_of
from transload.ir.types import QuantType

from ..dialect.collective import channel_of, groups_of, has_dynamic_root, has_global_ids
from ..parallel import Grid, ProcessId, current_process
from .lanes import Lanes
from .movement import check_shape
from .table import Array, kernel, quantize

if TYPE_CHECKING:
    from ..dialect.collective import (
        AllGather,
        AllReduce,
        AllToAll,
        CollectiveBroadcast,
        CollectivePermute,
        CollectiveReduce,
        CrossReplicaSum,
        ReduceScatter,
    )

_HOW_MANY = "run_parallel(..., num_replicas=, num_partitions=) says how many processes there are"


def _shown(grid: Grid) -> str:
    return f"{grid.num_replicas} replicas of {grid.num_partitions} partitions"


def _find(groups: list[list[ProcessId]], place: ProcessId) -> list[ProcessId] | None:
    return next((group for group in groups if place in group), None)


def _gathered(op: Op, value: Any, groups: list[list[ProcessId]]) -> tuple[list[Any], int]:
    """What the processes of this one's group bring, in the group's order, and its place in it."""
    process = current_process()
    grid = process.grid
    flat = [place for group in groups for place in group]
    everyone = {(r, p) for r in range(grid.num_replicas) for p in range(grid.num_partitions)}
    if set(flat) != everyone:
        raise RunError(f"{op.called}: its groups {groups} are not those of {_shown(grid)}", hint=_HOW_MANY)
    group = _find(groups, process.id)
    if group is None:
        raise RunError(f"{op.called}: process {process.id} is in no group")
    there = grid.exchange(process, op, group, value)
    return [there[place] for place in group], group.index(process.id)


def _global_groups(op: Op) -> list[list[ProcessId]]:
    grid, rows = current_process().grid, groups_of(op)
    if not rows or not rows[0]:
        rows = [list(range(grid.num_replicas))]
    if channel_of(op) <= 0:
        return grid.cross_replica(rows)
    return grid.flattened_ids(rows) if has_global_ids(op) else grid.cross_replica_and_partition(rows)


def _plain_groups(op: Op, rows: list[list[int]]) -> list[list[ProcessId]]:
    grid = current_process().grid
    return grid.cross_replica(rows) if channel_of(op) <= 0 else grid.cross_partition(rows)


@kernel("all_gather", quantized="native")
def all_gather(op: AllGather, *inputs: Array) -> tuple[Array, ...]:
    brought, _ = _gathered(op, inputs, _global_groups(op))
    made = (np.concatenate(parts, op.all_gather_dim) for parts in zip(*brought, strict=True))
    return tuple(check_shape(op, array, index) for index, array in enumerate(made))


def _reduced(op: AllReduce | CollectiveReduce | ReduceScatter, parts: Any, run: Any) -> Array:
    body = Lanes(op.computation, run)
    total = np.asarray(parts[0])
    for part in parts[1:]:
        total = body(total, part)[0]
    return total


@kernel("all_reduce", quantized="native")
def all_reduce(op: AllReduce, *inputs: Array, run: Any) -> tuple[Array, ...]:
    brought, _ = _gathered(op, inputs, _global_groups(op))
    return tuple(_reduced(op, parts, run) for parts in zip(*brought, strict=True))


@kernel("reduce_scatter", quantized="native")
def reduce_scatter(op: ReduceScatter, operand: Array, run: Any) -> Array:
    brought, place = _gathered(op, operand, _global_groups(op))
    return check_shape(op, np.split(_reduced(op, brought, run), len(brought), op.scatter_dimension)[place])


@kernel("cross-replica-sum")
def cross_replica_sum(op: CrossReplicaSum, operand: Array) -> Array:
    brought, _ = _gathered(op, operand, _plain_groups(op, groups_of(op)))
    return np.sum(brought, axis=0).astype(np.asarray(operand).dtype)


@kernel("all_to_all", quantized="native")
def all_to_all(op: AllToAll, *inputs: Array) -> tuple[Array, ...]:
    split = [np.split(np.asarray(array), op.split_count, op.split_dimension) for array in inputs]
    brought, place = _gathered(op, split, _plain_groups(op, groups_of(op)))
    return tuple(np.concatenate([parts[index][place] for parts in brought], op.concat_dimension) for index in range(len(inputs)))


def _zero(result: Value, like: Array) -> Array:
    element = result.element
    if isinstance(element, QuantType):
        return np.broadcast_to(quantize(np.zeros((), np.float32), element), np.shape(like))
    return np.zeros(np.shape(like), dtype_of(element))


def _roots(op: Op, inputs: tuple[Array, ...], group: list[ProcessId]) -> list[ProcessId]:
    """The process of a group, for each operand, of which all is or to which all goes."""
    if not has_dynamic_root(op):
        return [group[0]] * len(inputs)
    places = np.asarray(inputs[-1]).tolist()
    outside = [place for place in places if not 0 <= place < len(group)]
    if outside:
        raise RunError(f"{op.called}: process {outside[0]} of a group of {len(group)} is to be the root")
    return [group[place] for place in places]


@kernel("collective_broadcast", quantized="native")
def collective_broadcast(op: CollectiveBroadcast, *inputs: Array) -> tuple[Array, ...]:
    process = current_process()
    group = _find(_plain_groups(op, groups_of(op)), process.id)
    if group is None:
        return tuple(map(_zero, op.results, inputs))
    there = process.grid.exchange(process, op, group, inputs)
    roots = _roots(op, inputs, group)[: len(op.results)]
    return tuple(there[root][index] for index, root in enumerate(roots))


@kernel("collective_reduce", quantized="native")
def collective_reduce(op: CollectiveReduce, *inputs: Array, run: Any) -> tuple[Array, ...]:
    groups = _global_groups(op)
    brought, _ = _gathered(op, inputs, groups)
    group = _find(groups, current_process().id) or []
    roots = _roots(op, inputs, group)[: len(op.results)]
    return tuple(
        _reduced(op, parts, run) if root == current_process().id else _zero(result, parts[0])
        for result, root, parts in zip(op.results, roots, zip(*brought, strict=True), strict=False))


@kernel("collective_permute", quantized="native")
def collective_permute(op: CollectivePermute, operand: Array) -> Array:
    """Every process takes part, so that a source need not know whether its target is there."""
    process = current_process()
    grid = process.grid
    pairs = _plain_groups(op, op.source_target_pairs.numpy().tolist())
    everyone = [(r, p) for r in range(grid.num_replicas) for p in range(grid.num_partitions)]
    missing = sorted({place for pair in pairs for place in pair} - set(everyone))
    if missing:
        raise RunError(f"{op.called}: process {missing[0]} is not among {_shown(grid)}", hint=_HOW_MANY)
    there = grid.exchange(process, op, everyone, operand)
    source = next((pair[0] for pair in pairs if pair[1] == process.id), None)
    return _zero(op.result, operand) if source is None else there[source]
