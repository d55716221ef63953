"""Programs run by a grid of processes at once: replicas times partitions, a thread each.

Collective ops meet: a process that comes to one waits until all others of its group are there. Where all processes
that still run wait, none can go on, which is reported as a deadlock with the ops they wait at.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transload.errors import Finding, RunError, UsageError
from transload.ir import Op
from transload.ir.module import Module
from transload.kinds import MODULE, WHOLE, need, takes

__all__ = ["Grid", "Process", "current_process", "run_parallel"]

ProcessId = tuple[int, int]
Groups = list[list[ProcessId]]


@dataclass
class Process:
    """One process of a grid: where it is, and what it reads from outside and writes there."""

    grid: Grid
    replica: int = 0
    partition: int = 0
    infeed: deque[Sequence[Any]] = field(default_factory=deque)
    outfeed: list[list[Any]] = field(default_factory=list)
    turns: defaultdict[Any, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def id(self) -> ProcessId:
        return (self.replica, self.partition)


class Grid:
    """The processes, and what passes between them."""

    def __init__(self, num_replicas: int = 1, num_partitions: int = 1) -> None:
        self.num_replicas = num_replicas
        self.num_partitions = num_partitions
        self.changed = threading.Condition()
        self.running: set[ProcessId] = set()
        self.blocked: dict[ProcessId, Any] = {}
        self.meetings: dict[Any, dict[ProcessId, Any]] = {}
        self.channels: defaultdict[int, deque[Any]] = defaultdict(deque)
        self.from_host: defaultdict[int, deque[Any]] = defaultdict(deque)
        self.to_host: defaultdict[int, list[Any]] = defaultdict(list)
        self.failure: RunError | None = None

    # --- groups (specification, "Collective ops")

    def cross_replica(self, groups: Sequence[Sequence[int]]) -> Groups:
        """Groups of replicas, for each partition."""
        return [[(replica, partition) for replica in group] for group in groups for partition in range(self.num_partitions)]

    def cross_partition(self, groups: Sequence[Sequence[int]]) -> Groups:
        """Groups of partitions, for each replica."""
        return [[(replica, partition) for partition in group] for group in groups for replica in range(self.num_replicas)]

    def cross_replica_and_partition(self, groups: Sequence[Sequence[int]]) -> Groups:
        """Groups of replicas with all their partitions."""
        return [[(replica, partition) for partition in range(self.num_partitions) for replica in group] for group in groups]

    def flattened_ids(self, groups: Sequence[Sequence[int]]) -> Groups:
        """Groups of process numbers, `replica * num_partitions + partition`."""
        return [[divmod(number, self.num_partitions) for number in group] for group in groups]

    # --- meeting

    def exchange(self, process: Process, op: Op, members: Sequence[ProcessId], value: Any) -> dict[ProcessId, Any]:
        """What each member brings to a collective op, when all are there."""
        turn = process.turns[id(op)]
        process.turns[id(op)] += 1
        key = (id(op), tuple(members), turn)
        with self.changed:
            meeting = self.meetings.setdefault(key, {})
            meeting[process.id] = value
            if len(meeting) == len(members):
                self._release(members)
            self._wait(process, op, lambda: len(meeting) == len(members))
        return meeting

    def receive(self, process: Process, op: Op, queue: deque[Any]) -> Any:
        """The next item of a channel, when there is one."""
        with self.changed:
            self._wait(process, op, lambda: bool(queue))
            return queue.popleft()

    def send(self, queue: Any, item: Any) -> None:
        with self.changed:
            queue.append(item)
            self._release(list(self.blocked))

    def _release(self, processes: Sequence[ProcessId]) -> None:
        for process in processes:
            self.blocked.pop(process, None)
        self.changed.notify_all()

    def _wait(self, process: Process, op: Op, ready: Callable[[], bool]) -> None:
        while not ready():
            if self.failure is None:
                self.blocked[process.id] = op
                self._check()
            if self.failure is not None:
                raise RunError(self.failure.message, self.failure.findings, hint=self.failure.hint)
            self.changed.wait()
        self.blocked.pop(process.id, None)

    def _check(self) -> None:
        """Report a deadlock where every process that runs waits."""
        running = self.running or {(0, 0)}
        if set(self.blocked) >= running:
            waiting = sorted(self.blocked.items(), key=lambda item: item[0])
            asked = sorted({channel for _, op in waiting if (channel := _host_channel(op)) is not None})
            self.failure = RunError(
                f"the program waits for what the host sends on channel {', '.join(map(str, asked))}" if asked
                else "the processes wait for each other, and none can go on",
                [Finding(op.name, f"process {place} waits here", (op.origin,) if op.origin else ()) for place, op in waiting],
                hint="run_parallel(..., grid=grid) takes it from grid.from_host[channel], a queue of lists of arrays, and leaves "
                     "what is sent to the host in grid.to_host[channel]" if asked else "")
            self.changed.notify_all()

    def finish(self, place: ProcessId, error: RunError | None) -> None:
        """A process has ended; others may now wait in vain."""
        with self.changed:
            self.running.discard(place)
            if error is not None and self.failure is None:
                self.failure = error
            if self.running and self.blocked:
                self._check()
            self.changed.notify_all()


def _host_channel(op: Op) -> int | None:
    """The channel on which an op waits for the host."""
    return op.channel_handle.handle if op.name == "stablehlo.recv" and op.is_host_transfer else None


_here = threading.local()


def current_process() -> Process:
    """The process that this thread runs; a grid of its own where none was made."""
    process = getattr(_here, "process", None)
    return process if process is not None else Process(Grid())


@takes(module=MODULE, num_replicas=WHOLE, num_partitions=WHOLE)
def run_parallel(
    module: Module,
    inputs: Mapping[ProcessId, Mapping[str, Any]] | Mapping[str, Any],
    *,
    num_replicas: int = 1,
    num_partitions: int = 1,
    function: str | Mapping[ProcessId, str] = "main",
    infeed: Mapping[ProcessId, Sequence[Sequence[Any]]] | None = None,
    grid: Grid | None = None,
    outfeed: dict[ProcessId, list[list[Any]]] | None = None,
) -> dict[ProcessId, dict[str, np.ndarray]]:
    """Run a program on a grid of processes; outputs by (replica, partition), by name.

    `inputs` are by process, or the same for all; `function` may differ between processes. `infeed` lists, by process,
    the tuples of arrays that `infeed` ops read; what `outfeed` ops write is put into `outfeed`. Raises `RunError`, of
    a deadlock too, and `UsageError` for arguments of another kind.
    """
    from transload.engine.reference import prepare

    need(inputs, Mapping, "run_parallel", "dictionary of inputs, by name or by process,")
    need(infeed, Mapping | None, "run_parallel", "dictionary of infeeds by process")
    need(function, str | Mapping, "run_parallel", "function's name, or a dictionary of names by process,")
    grid = grid or Grid(num_replicas, num_partitions)
    places = [(replica, partition) for replica in range(num_replicas) for partition in range(num_partitions)]
    grid.running = set(places)
    if missing := [] if isinstance(function, str) else [place for place in places if place not in function]:
        raise UsageError(f"run_parallel() was given functions by process, and none for {missing[0]}")
    named = {place: function if isinstance(function, str) else function[place] for place in places}
    plans = {name: prepare(module, name) for name in set(named.values())}
    by_place: Any = inputs
    given = {place: by_place.get(place, by_place) for place in places}
    for each in given.values():
        need(each, Mapping, "run_parallel", "dictionary of inputs by name for each process")
    results: dict[ProcessId, dict[str, np.ndarray]] = {}

    def work(place: ProcessId) -> None:
        process = _here.process = Process(grid, *place, deque((infeed or {}).get(place, ())))
        error = None
        try:
            results[place] = plans[named[place]](given[place], False)
        except RunError as raised:
            error = raised
        except Exception as raised:  # a thread must not die silently
            error = RunError(f"process {place} failed: {type(raised).__name__}: {raised}")
        finally:
            if outfeed is not None:
                outfeed[place] = process.outfeed
            grid.finish(place, error)

    threads = [threading.Thread(target=copy_context().run, args=(work, place), daemon=True) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if grid.failure is not None:
        raise grid.failure
    return {place: results[place] for place in places}
