"""Turns of a chip and a host: no others are fewer, and of as few none have fewer bytes cross the border."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest

from transload import turns as search
from transload.turns import CHIP, HOST, Task, Turns, Wire, bytes_across, turns


def drawn(seed: int, most: int = 9) -> tuple[list[Task], list[Wire]]:
    """A random graph of at most `most` tasks, a few of which may run in either place, with tensors of very different sizes."""
    draw = random.Random(seed)
    count = draw.randint(3, most)
    tasks: list[Task] = []
    users: list[list[int]] = [[] for _ in range(count + 1)]  # the last tensor is given
    for number in range(count):
        taken = sorted({draw.randrange(max(0, number - 4), number) if number and draw.random() < 0.85 else count
                        for _ in range(draw.choice((1, 1, 2)))})
        for each in taken:
            users[each].append(number)
        tasks.append(Task(draw.choice((CHIP, CHIP, HOST, HOST, None)), tuple(each for each in taken if each < count)))
    wires = [Wire(draw.choice((1, 4, 64, 1000)), number if number < count else None, tuple(using), not using)
             for number, using in enumerate(users)]
    return tasks, wires


def all_turns(tasks: Sequence[Task], first: str, count: int) -> Iterator[list[int]]:
    """Every way to run the tasks in so many turns."""
    def go(of: list[int]) -> Iterator[list[int]]:
        if len(of) == len(tasks):
            yield list(of)
            return
        task = tasks[len(of)]
        for turn in range(max((of[need] for need in task.needs), default=1), count + 1):
            if task.place in (None, first if turn % 2 else (HOST if first == CHIP else CHIP)):
                yield from go([*of, turn])

    return go([])


def least(tasks: Sequence[Task], wires: Sequence[Wire]) -> tuple[int, int]:
    """The fewest turns, and the fewest bytes of as few, by trying all."""
    for count in range(1, 2 * len(tasks) + 1):
        ways = [bytes_across(wires, first, of) for first in (CHIP, HOST) for of in all_turns(tasks, first, count)]
        if ways:
            return count, min(ways)
    raise AssertionError("there is always a way")


def right(tasks: Sequence[Task], found: Turns) -> bool:
    return all(
        all(found.of[need] <= turn for need in task.needs) and task.place in (None, found.place(turn))
        for task, turn in zip(tasks, found.of, strict=True))


@pytest.mark.parametrize("block", range(4))
def test_none_are_fewer_and_none_cheaper(block: int) -> None:
    """Exhaustive search on 50 random graphs each; ways that start where all is early or late, and are not the best, are many."""
    easy = 0
    for seed in range(50 * block, 50 * block + 50):
        tasks, wires = drawn(seed)
        found = turns(tasks, wires)
        assert right(tasks, found) and found.bytes == bytes_across(wires, found.first, found.of), f"graph {seed}"
        if {CHIP, HOST} <= {task.place for task in tasks}:
            assert (found.count, found.bytes) == least(tasks, wires), f"graph {seed}"
        else:
            easy += 1
    assert easy < 25


def test_what_crosses_is_told_tensor_by_tensor() -> None:
    """A tensor that two of the chip's turns take crosses twice; what the host hands on to itself does not cross."""
    wires = [Wire(1, None, (0, 2, 3)), Wire(10, 0, (1, 2)), Wire(100, 1, (2, 3)), Wire(1000, 2, (), True)]
    assert bytes_across(wires, CHIP, [1, 2, 3, 4]) == (1 + 1) + (10 + 10) + 100 + 1000
    assert bytes_across(wires, HOST, [1, 2, 3, 4]) == 1 + 10 + (100 + 100)  # turns 2 and 4 are the chip's


def test_what_runs_anywhere_follows_where_fewer_bytes_cross() -> None:
    """What makes a tensor smaller stays where that is made, what makes it larger where it is taken; else the chip has it."""
    chain = [Task(CHIP, ()), Task(None, (0,)), Task(HOST, (1,)), Task(None, (2,)), Task(CHIP, (3,))]
    for outside, inside, expected in ((9, 1, [1, 1, 2, 3, 3]), (1, 9, [1, 2, 2, 2, 3]), (5, 5, [1, 1, 2, 3, 3])):
        sizes = (outside, inside, inside, outside)
        assert turns(chain, [Wire(size, number, (number + 1,)) for number, size in enumerate(sizes)]).of == expected


@pytest.mark.parametrize(("place", "first"), [(CHIP, CHIP), (HOST, HOST), (None, CHIP)])
def test_all_in_one_place(place: str | None, first: str) -> None:
    found = turns([Task(place, ()), Task(None, (0,)), Task(place, (1,))], [Wire(4, 0, (1,)), Wire(4, 1, (2,))])
    assert (found.first, found.of, found.count) == (first, [1, 1, 1], 1)


def test_nothing_to_do() -> None:
    assert turns([], []).count == 0


def test_groups_that_are_too_large_to_try_are_bettered_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within few trials the result is right, as few turns, and no dearer than all as early, or all as late, as can be."""
    monkeypatch.setattr(search, "TRIALS", 200)
    draw = random.Random(5)
    spine = 40
    tasks = [Task((CHIP, HOST)[number % 2], (number - 1,) if number else ()) for number in range(spine)]
    for number in range(spine, 400):  # tasks beside the spine, with room
        tasks.append(Task(draw.choice((CHIP, HOST, None)), (draw.randrange(number),)))
    wires = [Wire(draw.choice((1, 64, 1000)), number, tuple(user for user, task in enumerate(tasks) if number in task.needs))
             for number in range(len(tasks))]
    found = turns(tasks, wires)
    assert right(tasks, found)
    ends = [search._Search(tasks, wires, found.first).earliest, search._Search(tasks, wires, found.first).latest]
    assert found.count == max(ends[0]) and found.bytes <= min(bytes_across(wires, found.first, of) for of in ends)
    assert any(before != after for before, after in pairwise(found.of))
