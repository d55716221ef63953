"""The garbage collector's threshold: raised while something is converted, what it was when all is done,
and all garbage is found in the end."""

from __future__ import annotations

import gc
import os
import random
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Thread

import pytest

from transload import garbage
from transload.garbage import EVERY, rare_collections


@pytest.fixture(autouse=True)
def threshold() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield (700, 10, 10)
    gc.set_threshold(*before)


def test_overlapping_uses_leave_the_threshold_as_it_was(threshold: tuple[int, int, int]) -> None:
    first, second = rare_collections(), rare_collections()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)  # in the order they began, as threads may
    assert gc.get_threshold() == (EVERY, 10, 10)
    second.__exit__(None, None, None)
    assert gc.get_threshold() == threshold


def test_a_forked_process_has_no_use_of_other_threads(threshold: tuple[int, int, int]) -> None:
    """Its threshold stayed raised for ever, and where another thread held the lock it waited for ever."""
    begun, end = Event(), Event()

    def use() -> None:
        with rare_collections():
            begun.set()
            end.wait()

    thread = Thread(target=use)
    thread.start()
    begun.wait()
    with garbage._threshold.lock:
        child = os.fork()
        if not child:
            at_first = gc.get_threshold()
            with rare_collections():
                within = gc.get_threshold()
            os._exit(0 if (at_first, within, gc.get_threshold()) == (threshold, (EVERY, 10, 10), threshold) else 7)
    with rare_collections():  # of this thread, which goes on in the child
        other = os.fork()
        if not other:
            os._exit(0 if gc.get_threshold() == (EVERY, 10, 10) else 7)
    end.set()
    thread.join()
    assert [os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in (child, other)] == [0, 0]


def test_threads_leave_the_threshold_as_it_was(threshold: tuple[int, int, int]) -> None:
    start = Barrier(8)

    def use(seed: int) -> None:
        start.wait()
        chance = random.Random(seed)
        for _ in range(200):
            with rare_collections():
                assert gc.get_threshold()[0] == EVERY
                sum(range(chance.randrange(2000)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(8)))
    assert gc.get_threshold() == threshold


def test_a_collector_that_is_off_stays_off() -> None:
    gc.set_threshold(0, 10, 10)
    with rare_collections():
        assert gc.get_threshold()[0] == 0
    assert gc.get_threshold() == (0, 10, 10)


def test_a_threshold_that_somebody_else_sets_meanwhile_stays() -> None:
    with rare_collections():
        gc.set_threshold(1234, 5, 5)
    assert gc.get_threshold() == (1234, 5, 5)


class Knot:
    """Something that only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


def make_garbage(count: int) -> weakref.ref[Knot]:
    first = Knot()
    for _ in range(count - 1):
        Knot()
    return weakref.ref(first)


def test_what_is_left_is_found_in_the_end(monkeypatch):
    monkeypatch.setattr(garbage, "EVERY", 20_000)
    gc.collect()
    garbage._threshold.left = 0
    knots = []
    for _ in range(10):
        with rare_collections():
            knots.append(make_garbage(5_000))
    assert sum(knot() is not None for knot in knots) <= 5


def test_what_is_left_is_found_when_the_process_has_grown(monkeypatch):
    with rare_collections():
        knot = make_garbage(10)
    assert knot() is not None
    monkeypatch.setattr(garbage, "_peak_bytes", lambda: garbage._threshold.peak + garbage.GROWTH)
    with rare_collections():
        pass
    assert knot() is None


def test_a_program_that_has_it_off_or_has_frozen_objects_keeps_them_so():
    gc.disable()
    with rare_collections():
        knot = make_garbage(EVERY)
    assert not gc.isenabled()
    assert knot() is not None
    gc.enable()
    gc.collect()
    gc.freeze()
    frozen = gc.get_freeze_count()
    try:
        with rare_collections():
            make_garbage(10)
        assert gc.get_freeze_count() == frozen
    finally:
        gc.unfreeze()


def test_new_objects_are_counted_once_where_a_program_has_frozen_others(monkeypatch):
    """Each conversion counted those of all before it once more, and soon looked through everything each time."""
    looked = []
    gc.collect()
    gc.freeze()
    try:
        monkeypatch.setattr(gc, "collect", lambda: looked.append(1))
        kept = []
        with rare_collections():
            kept.extend([] for _ in range(EVERY // 10))
            monkeypatch.setattr(garbage._threshold, "left", 0)
        for _ in range(20):
            with rare_collections():
                pass
        assert not looked
    finally:
        gc.unfreeze()


def test_a_command_called_from_python_freezes_nothing(capsys):
    """What came after it in the process was slow: each conversion went through all that was frozen."""
    from transload.cli import main

    with pytest.raises(SystemExit):
        main(["--version"])
    assert gc.get_freeze_count() == 0
