"""The queues of all cores in time: what starts when, where moves that are under way at once share global memory's bandwidth.

An instruction starts when the one before it in its queue has ended, and the one that it waits for. A barrier ends when all cores
have come to it. A move waits for its latency, then takes its bytes; of n cores that move bytes of global memory each moves at an
n-th of the rate. So a move that others join ends later than it would alone: time goes from one such change to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from transload.errors import ArtifactError, Finding

from ..instructions import QUEUES, Instruction

__all__ = ["Task", "run"]


@dataclass(slots=True)
class Task:
    """An instruction: how many cycles it takes alone, the first `latency` of which are no matter to others."""

    instruction: Instruction
    cycles: float
    latency: float = 0.0
    shares: bool = False
    """Whether it moves bytes of global memory."""
    barrier: bool = False
    start: float = 0.0
    end: float = 0.0


def run(tasks: Sequence[Task]) -> None:
    """Set the start and end of each task. Raises `ArtifactError` where some never start, as they wait for each other."""
    _Running(tasks).run()


class _Running:
    def __init__(self, tasks: Sequence[Task]) -> None:
        self.queues: dict[tuple[int, str], list[Task]] = {}
        for task in tasks:
            self.queues.setdefault((task.instruction.core, task.instruction.queue), []).append(task)
        self.done = dict.fromkeys(self.queues, 0)
        """How many of a queue have ended."""
        self.running: dict[tuple[int, str], Task] = {}
        self.waiting: dict[tuple[int, str], Task] = {}
        """Barriers at which a core waits for others."""
        barriers = [sum(task.barrier for task in queue) for queue in self.queues.values()]
        self.meeting = [sum(count > number for count in barriers) for number in range(max(barriers, default=0))]
        """How many cores come to each barrier."""
        self.met = 0
        self.now = 0.0

    def run(self) -> None:
        """From the first start to the last end."""
        ready = list(self.queues)
        while True:
            for key in ready:
                self._start(key)
            if self.waiting and len(self.waiting) == self.meeting[self.met]:
                self.met += 1
                self.running.update(self.waiting)
                for task in self.waiting.values():
                    task.start = task.end = self.now
                self.waiting.clear()
            if not self.running:
                break
            self._pass()
            ended = [key for key, task in self.running.items() if task.end <= self.now and self._latency_over(task)]
            for key in ended:
                del self.running[key]
                self.done[key] += 1
            ready = [(core, queue) for core in dict.fromkeys(core for core, _ in ended) for queue in QUEUES]
        stuck = [queue[self.done[key]].instruction for key, queue in self.queues.items() if self.done[key] < len(queue)]
        if stuck:
            raise ArtifactError("the program never comes to its end", [
                Finding(f"{one.label} {one.operation}", "never starts") for one in stuck])

    def _start(self, key: tuple[int, str]) -> None:
        """Start the next of a queue if it can."""
        queue = self.queues.get(key)
        if queue is None or key in self.running or key in self.waiting or self.done[key] == len(queue):
            return
        task, core = queue[self.done[key]], key[0]
        if task.instruction.wait > self.done.get((core, QUEUES[1 - QUEUES.index(key[1])]), 0):
            return
        if task.barrier:
            self.waiting[key] = task
            return
        task.start, task.end = self.now, self.now + task.cycles
        self.running[key] = task

    def _latency_over(self, task: Task) -> bool:
        return not task.shares or self.now >= task.start + task.latency

    def _pass(self) -> None:
        """Let time pass until something ends, or begins to move bytes."""
        moving = [task for task in self.running.values() if task.shares and self._latency_over(task)]
        others = [task.start + task.latency if task.shares else task.end for task in self.running.values()
                  if not (task.shares and self._latency_over(task))]
        count = len(moving)
        first = min(moving, key=lambda task: task.end, default=None)
        ends = [] if first is None else [first.end if count == 1 else self.now + count * (first.end - self.now)]
        after = min([*others, *ends])
        if count > 1:
            for task in moving:
                task.end += (after - self.now) * (count - 1) / count
            if first is not None and after == ends[0]:
                first.end = after
        self.now = after
