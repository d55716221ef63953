"""A process that is forked while other threads are at work: nothing in it waits for them."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import transload
from transload import blas
from transload.context import Context, Declarations
from transload.forks import thread_lock
from transload.worker import Worker

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on Windows")


def _forked(act: Callable[[], bool]) -> int:
    """The exit code of a forked process that does this: 0 where it is as it should be, -SIGALRM where it waits."""
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)
        try:
            os._exit(0 if act() else 7)
        finally:
            os._exit(8)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _held_elsewhere(lock: object, act: Callable[[], bool]) -> int:
    """The same, while another thread holds a lock."""
    begun, end = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:  # type: ignore[attr-defined]
            begun.set()
            end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait()
    try:
        return _forked(act)
    finally:
        end.set()
        thread.join()


def test_a_lock_is_free_of_other_threads_and_stays_that_of_this_one() -> None:
    lock = thread_lock()

    def is_free() -> bool:
        return bool(lock.acquire(blocking=False))

    assert _held_elsewhere(lock, is_free) == 0
    with lock:
        code = _forked(lambda: lock._is_owned() and not _acquired_elsewhere(lock))
        assert code == 0
    assert not lock._is_owned()


def _acquired_elsewhere(lock: object) -> bool:
    got: list[bool] = []
    thread = threading.Thread(target=lambda: got.append(lock.acquire(blocking=False)))  # type: ignore[attr-defined]
    thread.start()
    thread.join()
    return got[0]


def test_a_worker_is_asked_in_a_forked_process() -> None:
    """It waited for ever for the answer that a thread of the other process waited for."""
    worker = Worker("the judge")
    worker.start()
    thread = threading.Thread(target=lambda: worker.call("time:sleep", 3))
    thread.start()
    try:
        end = time.monotonic() + 10
        while _acquired_at_once(worker._lock) and time.monotonic() < end:
            time.sleep(0.001)
        assert _forked(lambda: worker.call("operator:add", 1, 2) == 3) == 0
        thread.join()
        assert worker.call("operator:add", 1, 2) == 3
    finally:
        worker.stop()


def _acquired_at_once(lock: object) -> bool:
    got = bool(lock.acquire(blocking=False))  # type: ignore[attr-defined]
    if got:
        lock.release()  # type: ignore[attr-defined]
    return got


def test_plugins_and_dialects_are_found_in_a_forked_process() -> None:
    host = transload.Host()
    declarations = Declarations(host)
    for lock in (host._lock, declarations._lock):
        def found() -> bool:
            with Context(host).bind():
                return declarations.dialect("top") is not None and bool(host.targets)

        assert _held_elsewhere(lock, found) == 0


def test_products_of_matrices_are_as_before_in_a_forked_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that was inside left the forked process on one thread for ever."""
    said = [4]
    monkeypatch.setattr(blas, "_functions", lambda: (lambda: said[-1], said.append))

    def is_as_before() -> bool:
        first = said[-1]
        with blas.one_thread():
            inside = said[-1]
        return (first, inside, said[-1]) == (4, 1, 4)

    assert _held_elsewhere(blas.one_thread(), is_as_before) == 0
    with blas.one_thread():
        assert _forked(lambda: said[-1] == 1) == 0
    assert said[-1] == 4


def test_no_lock_of_ours_is_one_that_a_fork_leaves_held() -> None:
    """Locks of modules and of what lives long are made by `thread_lock`; these others live as long as one call."""
    root = Path(transload.__file__).parents[2]
    found = {
        file.relative_to(root).as_posix()
        for folder in ("core", "plugins", "converters", "targets") for file in (root / folder).rglob("*.py")
        if re.search(r"\bR?Lock\(\)", file.read_text(encoding="utf-8"))}
    assert found <= {
        "core/transload/forks.py", "core/transload/cli/process.py", "plugins/transload_plugins/quantize/measure.py",
        "targets/transload_targets/tensor_processor/placement/windows.py"}
