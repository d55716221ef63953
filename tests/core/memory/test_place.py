"""Placing buffers: what a placement is, what is refused, and how few bytes it takes."""

from __future__ import annotations

import itertools
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from memory_instances import cut, halved, instances, instances_folder

import transload
from transload.errors import PlacementError, TransloadError, UsageError
from transload.memory import Buffer, check, lower_bound, place, plan


def least(buffers: list[tuple[str, int, int, int]]) -> int:
    """The fewest bytes that buffers need: placed one upon the other, in every order."""
    best = sum(size for *_, size in buffers)
    for order in itertools.permutations(buffers):
        placed: list[tuple[int, int, int]] = []
        for _, start, end, size in order:
            offset = max((top for other, until, top in placed if other < end and start < until), default=0)
            placed.append((start, end, offset + size))
        best = min(best, max(top for *_, top in placed))
    return best


def some(count: int, seed: int, steps: int = 12, most: int = 9) -> list[tuple[str, int, int, int]]:
    chance = random.Random(seed)
    found = []
    for number in range(count):
        start = chance.randrange(steps)
        found.append((f"b{number}", start, chance.randint(start + 1, steps), chance.randint(1, most)))
    return found


def test_ends_are_open_and_the_result_is_in_the_order_given() -> None:
    offsets = transload.memory.place([("late", 2, 4, 100), ("early", 0, 2, 100)])
    assert list(offsets.items()) == [("late", 0), ("early", 0)]


@pytest.mark.parametrize("seed", range(40))
def test_small_ones_take_the_least_that_there_is(seed: int) -> None:
    """By brute force; and the search never claims that there is less room than there is."""
    buffers = some(6, seed, steps=6)
    found = plan(buffers)
    assert not check(buffers, found.offsets)
    assert found.peak == found.proved == least(buffers)
    if found.peak > found.bound.bytes:
        with pytest.raises(PlacementError, match=f"no placement is below {found.peak}"):
            place(buffers, capacity=found.peak - 1)


@pytest.mark.parametrize("seed", range(6))
def test_any_are_placed_near_the_bound(seed: int) -> None:
    buffers = some(80, seed, steps=60, most=1000)
    found = plan(buffers, seconds=2)
    assert not check(buffers, found.offsets, found.peak)
    assert found.bound.bytes == lower_bound(buffers).bytes <= found.peak <= 1.02 * found.bound.bytes


@pytest.mark.parametrize(("count", "shrunk"), [(60, 0.0), (60, 0.3), (90, 0.1)])
def test_without_a_gap(count: int, shrunk: float) -> None:
    """What was cut of a rectangle fits into it again."""
    buffers = cut(count, 1, shrunk=shrunk)
    assert not check(buffers, place(buffers, capacity=1024), 1024)


def test_hard_instances_are_placed() -> None:
    """Those of minimalloc, and some with buffers cut in two, so that they are others."""
    folder = instances_folder()
    if folder is None:
        pytest.skip("no instances: set TRANSLOAD_MEMORY to their folder")
    for name, capacity, buffers in instances(folder):
        for given in (buffers, halved(buffers, 10, 7)):
            assert not check(given, place(given, capacity=capacity), capacity), name


def test_what_needs_nothing_is_in_nobodys_way() -> None:
    buffers = [("never", 3, 3, 50), ("empty", 0, 9, 0), ("one", 0, 9, 10), ("other", 0, 9, 10)]
    found = plan(buffers, capacity=20)
    assert found.peak == 20 == found.bound.bytes and not check(buffers, found.offsets, 20)
    assert place([]) == {} and plan([], capacity=0).ratio == 1.0 and place([("never", 1, 1, 5)], capacity=0) == {"never": 0}


def test_alignment_of_all_and_of_one() -> None:
    buffers = some(30, 3, most=100)
    offsets = place(buffers, alignment=64)
    assert all(offset % 64 == 0 for offset in offsets.values()) and not check(buffers, offsets, alignment=64)
    mixed = [Buffer(*each, alignment=4096 if number % 3 else 16) for number, each in enumerate(buffers)]
    offsets = place(mixed)
    assert not check(mixed, offsets) and all(offsets[each.name] % each.alignment == 0 for each in mixed)
    odd = [Buffer("six", 0, 2, 5, 6), Buffer("ten", 0, 2, 5, 10), Buffer("one", 0, 2, 1)]
    assert not check(odd, place(odd))


def test_fixed_offsets_are_kept() -> None:
    buffers = [Buffer("io", 0, 10, 64, offset=128), *(Buffer(*each) for each in some(30, 4, most=60))]
    found = plan(buffers)
    assert found.offsets["io"] == 128 and not check(buffers, found.offsets) and found.peak >= 192
    assert lower_bound([Buffer("io", 3, 4, 64, offset=128)]).bytes == 192
    with pytest.raises(UsageError, match="at the offsets that are given"):
        place([Buffer("a", 0, 2, 10, offset=0), Buffer("b", 1, 3, 10, offset=5)])


def test_shared_places_are_one() -> None:
    """An op in place: its result lies where its operand lay, although both are alive while it runs."""
    buffers = [("x", 0, 2, 100), Buffer("y", 1, 3, 100, shares="x"), Buffer("z", 2, 4, 60, shares="y"), ("w", 0, 4, 30)]
    found = plan(buffers)
    assert found.peak == 130 == found.bound.bytes and not check(buffers, found.offsets)
    assert found.offsets["x"] == found.offsets["y"] == found.offsets["z"]
    # A hole between two that share a place can be used by others.
    holed = [("a", 0, 1, 100), Buffer("b", 2, 3, 100, shares="a"), ("c", 1, 2, 100)]
    assert plan(holed).peak == 100
    with pytest.raises(UsageError, match="is to lie at 4, and what it shares"):
        place([Buffer("a", 0, 1, 4, offset=0), Buffer("b", 1, 2, 4, offset=4, shares="a")])


@pytest.mark.parametrize(
    ("buffers", "words"),
    [([("a", 0, 1, -1)], "its size is -1"), ([("a", 2, 1, 1)], "ends at step 1, before"), ([("a", 0, 1, 1)] * 2, "same name"),
     ([("a", 0, 1)], "a buffer is"), ([5], "a buffer is"), ([([], 0, 1, 1)], "key of"), ([("a", 0, 1.5, 1)], "no integers"),
     ([("a", 0, "1", 1)], "no integers"), ([("a", 0, 1, 1 << 70)], "beyond"), ([("a", 0, 1 << 61, 1)], "beyond"),
     ([(i, 0, 1, 1 << 59) for i in range(3)], "together"), ([("a", 0, 1, 1, 0)], "alignment is 0"),
     ([("a", 0, 1, 1, 1, -4)], "offset -4"), ([("a", 0, 1, 1, 4, 2)], "no multiple"),
     ([("a", 0, 1, 1, 1, None, "b")], "no buffer has"), ([("a", 0, 1, float("nan"))], "no integers")])
def test_what_cannot_be_is_said(buffers: list[tuple[object, ...]], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        place(buffers)


def test_arguments_that_cannot_be() -> None:
    for wrong in (
            {"capacity": -1}, {"capacity": 1.5}, {"seconds": -1}, {"seconds": float("nan")}, {"alignment": 0},
            {"alignment": 1 << 60}, {"seed": "x"}):
        with pytest.raises(UsageError):
            place([("a", 0, 1, 1)], **wrong)  # type: ignore[arg-type]


def test_what_is_no_list_of_buffers() -> None:
    for wrong in (None, 5, "abc", [None]):
        with pytest.raises(UsageError):
            place(wrong)  # type: ignore[arg-type]


def test_whatever_is_asked_for_together_is_kept() -> None:
    """Fixed places, shared ones, alignments and a capacity at once, buffers that need nothing: placed, or refused in words."""
    placed = 0
    for seed in range(60):
        chance = random.Random(seed)
        buffers = []
        for number in range(chance.randint(1, 12)):
            start, fixed = chance.randrange(10), chance.randrange(8) * 16 if chance.random() < 0.1 else None
            shares = f"b{chance.randrange(number)}" if number and chance.random() < 0.2 else None
            alignment = chance.choice([1, 1, 2, 3, 16])
            buffers.append(
                Buffer(f"b{number}", start, start + chance.randrange(5), chance.randrange(30), alignment, fixed, shares))
        capacity = chance.choice([None, 100, 1 << 80])
        try:
            found = plan(buffers, capacity, seconds=0.05)
        except (UsageError, PlacementError):
            continue
        placed += 1
        assert not check(buffers, found.offsets, capacity) and found.peak >= found.bound.bytes
    assert placed > 20


def test_numbers_of_numpy_are_numbers() -> None:
    sizes = np.array([5, 7], np.int32)
    buffers = [("a", np.int64(0), np.int64(2), sizes[0]), ("b", 1, 2, sizes[1])]
    assert plan(buffers, capacity=np.int64(12)).peak == 12  # type: ignore[arg-type]


def test_what_does_not_fit_is_told_with_what_is_alive() -> None:
    buffers = [("small", 0, 9, 10), ("huge", 4, 6, 700), ("large", 3, 7, 300), ("gone", 0, 3, 500)]
    with pytest.raises(PlacementError) as told:
        place(buffers, capacity=1000)
    assert "into 1,000 bytes: they need 1,010 at step 4, at which 3 buffers are alive" in str(told.value)
    assert [(each.names, each.why) for each in told.value.findings] == [
        (("huge",), "700 bytes"), (("large",), "300 bytes"), (("small",), "10 bytes")]
    assert isinstance(told.value, TransloadError) and told.value.exit_code == 3


def test_seconds_end_a_search_without_end() -> None:
    buffers = cut(400, 5)
    with pytest.raises(PlacementError, match="no placement within 1,024 bytes was found") as told:
        place(buffers, capacity=1024, seconds=0.5)
    assert told.value.best is not None and told.value.best > 1024


def test_a_seed_gives_the_same() -> None:
    buffers = cut(60, 2, shrunk=0.2)
    assert place(buffers, seed=3) == place(buffers, seed=3) == place(iter(buffers), seed=3)


def test_many_are_placed() -> None:
    """By what takes n log n: whatever takes the square of it would not end."""
    chance = random.Random(0)
    buffers = [(i, i, i + chance.randint(1, 200), chance.randint(1, 1 << 20)) for i in range(50_000)]
    found = plan(buffers)
    assert found.peak < 1.5 * found.bound.bytes and found.way == "replay"


def test_an_interrupt_ends_it(root: Path) -> None:
    code = ("import sys; sys.path.insert(0, 'benchmarks')\n"
            "from memory_instances import cut; from transload.memory import place\n"
            "buffers = cut(400, 5); print('ready', flush=True)\n"
            "place(buffers, capacity=1024, seconds=300)")
    command, pipe = [sys.executable, "-c", code], subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, cwd=root, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=20)
    assert "KeyboardInterrupt" in said


def test_a_solver_improves_and_proves() -> None:
    pytest.importorskip("ortools")
    for seed in range(3):
        buffers = some(7, seed, steps=6)
        mixed = [Buffer(*each, alignment=1 + number % 3) for number, each in enumerate(buffers)]
        mixed.append(Buffer("shared", 3, 6, 2, shares="b0"))
        found = plan(mixed, exact=True, seconds=20)
        assert not check(mixed, found.offsets) and found.peak == found.proved
        with pytest.raises(PlacementError):
            place(mixed, capacity=found.peak - 1, exact=True, seconds=20)


def test_a_solver_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools", None)
    with pytest.raises(UsageError, match="needs the package ortools"):
        place([("a", 0, 1, 1)], exact=True)
