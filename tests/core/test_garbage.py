"""The garbage collector's threshold: raised while something is converted, and what it was when all is done."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

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
