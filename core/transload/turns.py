"""In which turn each op runs, of a chip and a host that take turns: as few turns as can be, then as few bytes across the border.

    tasks = [Task(CHIP, ()), Task(HOST, (0,)), Task(CHIP, (1,))]
    taken = turns(tasks, [Wire(4096, None, (0,)), Wire(1024, 0, (1,)), Wire(1024, 1, (2,))])
    taken.first, taken.of            # "chip", [1, 2, 3]

The number of turns is the least that there is: what can run in a turn runs in it or in an earlier one, so that going through
the ops once finds the earliest turn of each. Ops with room between their earliest and latest turn are then placed by the bytes:
moved together with what depends on them, and, group by group of those that bear on each other, tried one after the other with all
that is worse than the best so far left out: the small groups first, and in all no more than `TRIALS` placements. What is left
then has the best that was found so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["CHIP", "HOST", "TRIALS", "Task", "Turns", "Wire", "bytes_across", "turns"]

CHIP, HOST = "chip", "host"
TRIALS = 50_000
"""How many placements of single ops are tried in all: a second or so."""


@dataclass(frozen=True)
class Task:
    """An op: where it runs (None: in either place), and the tasks that have to be done before, by number, all of them smaller."""

    place: str | None
    needs: tuple[int, ...]


@dataclass(frozen=True)
class Wire:
    """A tensor: its bytes, the task that makes it (None: it is given from outside), those that take it."""

    bytes: int
    maker: int | None
    users: tuple[int, ...]
    is_output: bool = False


@dataclass(frozen=True)
class Turns:
    """The turn of each task, counted from 1; the first is `first`'s, and so is every second one from there."""

    first: str
    of: list[int]
    bytes: int
    """What crosses the border, see `bytes_across`."""

    @property
    def count(self) -> int:
        return max(self.of, default=0)

    def place(self, turn: int) -> str:
        """Whose a turn is."""
        return _place(self.first, turn)


def turns(tasks: Sequence[Task], wires: Sequence[Wire]) -> Turns:
    """The best turns. Tasks that may run in either place go to the chip where that costs nothing.

    Where no task has to run on the host, the chip has all of them, in one turn; where none has to run on the chip, likewise.
    """
    places = {task.place for task in tasks}
    for only, other in ((CHIP, HOST), (HOST, CHIP)):
        if other not in places:
            ones = [1] * len(tasks)
            return Turns(only, ones, bytes_across(wires, only, ones))
    ways = [_Search(tasks, wires, first) for first in (CHIP, HOST)]
    least = min(way.count for way in ways)
    return min((way.best() for way in ways if way.count == least), key=lambda found: found.bytes)


def bytes_across(wires: Sequence[Wire], first: str, of: Sequence[int]) -> int:
    """The bytes that the chip's turns take from outside of them and give: each tensor once for each turn of the chip's that
    takes it, and once where it leaves the one that makes it. What the host hands on to itself costs nothing."""
    return sum(wire.bytes * _crossings(wire, first, of) for wire in wires)


def _place(first: str, turn: int) -> str:
    return first if turn % 2 else HOST if first == CHIP else CHIP


def _crossings(wire: Wire, first: str, of: Sequence[int]) -> int:
    """How often a tensor crosses the border, as far as the turns are known: 0 is one that is not yet."""
    made = of[wire.maker] if wire.maker is not None else 0
    users = {of[user] for user in wire.users if of[user] != made}
    taken = sum(turn != 0 and _place(first, turn) == CHIP for turn in users)
    leaves = made != 0 and _place(first, made) == CHIP and (wire.is_output or bool(users - {0}))
    return taken + leaves


class _Search:
    """The best turns where the first one is somebody's."""

    def __init__(self, tasks: Sequence[Task], wires: Sequence[Wire], first: str) -> None:
        self.tasks, self.wires, self.first = tasks, wires, first
        self.earliest = self._earliest()
        self.count = max(self.earliest)
        self.users: list[list[int]] = [[] for _ in tasks]
        for number, task in enumerate(tasks):
            for need in task.needs:
                self.users[need].append(number)
        self.latest = self._latest()
        self.touching: list[list[int]] = [[] for _ in tasks]
        for index, wire in enumerate(wires):
            for number in {*wire.users, *(() if wire.maker is None else (wire.maker,))}:
                self.touching[number].append(index)
        free = [number for number, task in enumerate(tasks) if task.place is None]
        self.unit = len(free) + 1
        """What a byte counts, against 1 for a task on the host that the chip takes, too."""

    def _earliest(self) -> list[int]:
        found: list[int] = []
        for task in self.tasks:
            turn = max((found[need] for need in task.needs), default=1)
            found.append(turn if self._may(task, turn) else turn + 1)
        return found

    def _latest(self) -> list[int]:
        found = [self.count] * len(self.tasks)
        for number in reversed(range(len(self.tasks))):
            turn = min((found[user] for user in self.users[number]), default=self.count)
            found[number] = turn if self._may(self.tasks[number], turn) else turn - 1
        return found

    def _may(self, task: Task, turn: int) -> bool:
        return task.place is None or task.place == _place(self.first, turn)

    def best(self) -> Turns:
        """All as early as can be, and all as late, made better; the better of the two."""
        groups = sorted(self._groups(), key=len)
        found = []
        for start in (self.earliest, self.latest):
            of, left = list(start), 5 * TRIALS  # a move costs less than a trial
            for group in groups:
                left = self._improve(of, group, left)
            found.append((self._cost(of, range(len(self.wires))) + self._on_host(of, range(len(self.tasks))), of))
        _, of = min(found, key=lambda each: each[0])
        left = TRIALS
        for group in groups:
            left = _Trials(self, of, group, left).settle()
        return Turns(self.first, of, bytes_across(self.wires, self.first, of))

    def _groups(self) -> Iterator[list[int]]:
        """Tasks with a choice, those together that bear on each other: by what one needs of the other, or a tensor of both."""
        loose = [self.earliest[number] < self.latest[number] for number in range(len(self.tasks))]
        root = list(range(len(self.tasks)))

        def find(number: int) -> int:
            while root[number] != number:
                root[number] = root[root[number]]
                number = root[number]
            return number

        for number, task in enumerate(self.tasks):
            beside = [*task.needs, *(other for index in self.touching[number] for other in self.wires[index].users[:1])]
            if loose[number]:
                for other in beside:
                    if loose[other]:
                        root[find(other)] = find(number)
        for wire in self.wires:
            here = [number for number in wire.users if loose[number]]
            for other in here[1:]:
                root[find(other)] = find(here[0])
        groups: dict[int, list[int]] = {}
        for number in range(len(self.tasks)):
            if loose[number]:
                groups.setdefault(find(number), []).append(number)
        yield from groups.values()

    def _cost(self, of: Sequence[int], wires: Iterable[int]) -> int:
        return self.unit * sum(self.wires[index].bytes * _crossings(self.wires[index], self.first, of) for index in wires)

    def _on_host(self, of: Sequence[int], numbers: Iterable[int]) -> int:
        return sum(self.tasks[number].place is None and _place(self.first, of[number]) == HOST for number in numbers)

    def _improve(self, of: list[int], group: Sequence[int], left: int) -> int:
        """Move tasks to other turns, with what they need or what needs them, as long as that saves something.

        At most `left` tasks are moved; how many are left then.
        """
        changed = True
        while changed and left > 0:
            changed = False
            for number in group:
                for turn in range(self.earliest[number], self.latest[number] + 1):
                    if turn == of[number] or not self._may(self.tasks[number], turn) or left <= 0:
                        continue
                    moved = self._moved(of, number, turn)
                    left -= len(moved)
                    changed |= self._keep(of, moved)
        return left

    def _moved(self, of: Sequence[int], number: int, turn: int) -> dict[int, int]:
        """The turns that a task and those bound to it have when it goes to another one."""
        later = turn > of[number]
        moved, pending = {number: turn}, [number]
        while pending:
            each = pending.pop()
            for other in self.users[each] if later else self.tasks[each].needs:
                has, wanted = moved.get(other, of[other]), moved[each]
                if (has < wanted) if later else (has > wanted):
                    step = 1 if later else -1
                    moved[other] = wanted if self._may(self.tasks[other], wanted) else wanted + step
                    pending.append(other)
        return moved

    def _keep(self, of: list[int], moved: dict[int, int]) -> bool:
        """Take over turns where they cost less."""
        wires = {index for number in moved for index in self.touching[number]}
        before = {number: of[number] for number in moved}
        cost = self._cost(of, wires) + self._on_host(of, moved)
        for number, turn in moved.items():
            of[number] = turn
        if self._cost(of, wires) + self._on_host(of, moved) < cost:
            return True
        for number, turn in before.items():
            of[number] = turn
        return False


class _Trials:
    """All turns of a group of tasks, tried in order, what cannot become better than the best so far left out."""

    def __init__(self, search: _Search, of: list[int], group: Sequence[int], left: int) -> None:
        self.search, self.of, self.group = search, of, list(group)
        self.wires = sorted({index for number in group for index in search.touching[number]})
        self.left = left
        self.least = search._cost(of, self.wires) + search._on_host(of, group)
        self.best = [of[number] for number in group]

    def settle(self) -> int:
        """Leave the group's tasks with the best turns; how many trials are left."""
        for number in self.group:
            self.of[number] = 0
        self._go(self.search._cost(self.of, self.wires))
        for number, turn in zip(self.group, self.best, strict=True):
            self.of[number] = turn
        return self.left

    def _go(self, cost: int) -> None:
        """Depth first, without recursion: one iterator of choices for each task that has its turn."""
        stack, costs = [self._choices(0)], [cost]
        while stack:
            place = len(stack) - 1
            number = self.group[place]
            turn = next(stack[-1], None)
            if turn is None or self.left <= 0:
                self.of[number] = 0
                stack.pop()
                costs.pop()
                continue
            self.left -= 1
            touching = self.search.touching[number]
            self.of[number] = 0
            spent = costs[-1] - self.search._cost(self.of, touching)
            self.of[number] = turn
            spent += self.search._cost(self.of, touching) + self.search._on_host(self.of, (number,))
            if spent >= self.least:
                continue
            if place + 1 == len(self.group):
                self.least, self.best = spent, [self.of[each] for each in self.group]
                continue
            stack.append(self._choices(place + 1))
            costs.append(spent)

    def _choices(self, place: int) -> Iterator[int]:
        """The turns that a task may have behind those that it needs."""
        search, number = self.search, self.group[place]
        task = search.tasks[number]
        begin = max((self.of[need] for need in task.needs), default=1)
        return (turn for turn in range(max(begin, search.earliest[number]), search.latest[number] + 1)
                if search._may(task, turn))
