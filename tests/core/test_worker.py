"""Resident child processes: what travels, what becomes of errors, and of children that end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from transload.budget import allowed
from transload.errors import ReadError, RunError
from transload.worker import ChildEnded, Limits, Worker, unread


@pytest.fixture
def worker():  # type: ignore[no-untyped-def]
    made = Worker("the judge", needs=("numpy",))
    yield made
    made.stop()


@pytest.mark.parametrize("value", [
    None, True, 3, -1.5, float("inf"), "text", "\udcff", b"\0\xff", [1, [2, "x"]], (1, (2,)), [], {},
    {"a": [None], "b": {"c": b"d"}}])
def test_values_travel(worker: Worker, value: object) -> None:
    assert worker.call("copy:copy", value) == value
    assert type(worker.call("copy:copy", value)) is type(value)


@pytest.mark.parametrize("array", [
    np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((0, 3), np.int8), np.array(2.5), np.array([True, False]),
    np.array([1, 2], ml_dtypes.bfloat16), np.array([1 + 2j], np.complex64), np.arange(6).reshape(2, 3).T,
    np.array([-3, 7], ml_dtypes.int4)])
def test_arrays_travel(worker: Worker, array: np.ndarray) -> None:
    there = worker.call("copy:copy", {"x": array})["x"]
    assert there.dtype == array.dtype
    np.testing.assert_array_equal(there.astype(np.complex128), array.astype(np.complex128))
    assert there.shape == array.shape


def test_errors_are_those_that_were_raised(worker: Worker) -> None:
    with pytest.raises(ReadError, match="no such file"):
        worker.call("transload.execution:run", "nowhere.tflite", {})
    with pytest.raises(RunError, match="ZeroDivisionError"):
        worker.call("operator:truediv", 1, 0)
    assert worker.call("operator:truediv", 1, 2) == 0.5


@pytest.mark.parametrize(("function", "arguments", "why"), [
    ("os:abort", (), "SIGABRT"), ("os:_exit", (3,), "exit status 3"), ("time:sleep", (60,), "took longer than 1 s")])
def test_an_end_is_told_and_the_next_call_starts_another(
    worker: Worker, function: str, arguments: tuple[object, ...], why: str,
) -> None:
    first = worker.call("os:getpid")
    worker.limits = Limits(seconds=1.0) if function == "time:sleep" else Limits()  # to begin takes longer on a busy machine
    with pytest.raises(ChildEnded, match=f"the judge .*{why}"):
        worker.call(function, *arguments)
    worker.limits = Limits()
    assert worker.call("os:getpid") not in (first, os.getpid())


def test_what_took_too_long_is_not_damaged(worker: Worker) -> None:
    said = {}
    for name, ask in (("late", lambda: worker.call("time:sleep", 60, within=0.3)), ("ended", lambda: worker.call("os:abort"))):
        with pytest.raises(ChildEnded) as caught:
            ask()
        said[name] = unread(caught.value, "x.mlir: the program", "get it anew", "20 s")
    assert said["late"].message == "x.mlir: the program was not read: the judge took longer than 0.3 s to read it"
    assert "the limit is 20 s" in said["late"].hint
    assert "x.mlir: the program is damaged: the judge ended (SIGABRT)" in said["ended"].message
    assert said["ended"].hint == "get it anew"


def test_memory_is_limited() -> None:
    worker = Worker("the judge", needs=("numpy",), limits=Limits(memory=0.02))
    try:
        with pytest.raises(RunError, match=r"MemoryError|ended"):
            worker.call("numpy:ones", 1 << 30)
    finally:
        worker.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say what a process holds")
def test_memory_is_limited_by_what_a_call_is_about(worker: Worker) -> None:
    """A file of 400 KB had a judge take 12 GB: there was a limit, of three quarters of the machine's memory."""
    with allowed(memory=1 << 20):  # eight times that
        for ask in (lambda **about: worker.call("numpy:zeros", 1 << 24, **about),
                    lambda **about: worker.open("numpy:zeros", 1 << 24, **about)):
            with pytest.raises(RunError, match=r"MemoryError|ended"):
                ask(about=1000)
            ask(about=4 << 20)
            ask()  # of which nobody said what it is about
        with pytest.raises(RunError, match=r"MemoryError|ended"):
            worker.call("numpy:tile", np.zeros(1 << 10), 1 << 14, about=0)
        worker.call("numpy:tile", np.zeros(1 << 19), 2, about=0)  # arguments count


def test_what_is_printed_does_not_get_among_the_answers(worker: Worker) -> None:
    assert worker.call("builtins:print", "noise") is None
    assert worker.call("os:write", 1, b"noise") == 5
    assert worker.call("operator:add", 1, 2) == 3


def test_objects_stay_and_are_made_again(worker: Worker) -> None:
    second = worker.open("operator:itemgetter", 1)
    assert second([7, 8]) == 8
    with pytest.raises(ChildEnded):
        worker.call("os:abort")
    assert second([7, 9]) == 9


def test_several_threads_share_one(worker: Worker) -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda n=n: found.append(worker.call("operator:mul", n, 2))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [2 * n for n in range(8)]


def test_a_child_ends_with_its_parent() -> None:
    """Killed as nothing can prevent, the parent leaves no process behind that computes for nobody."""
    script = (
        "from transload.worker import Worker\n"
        "worker = Worker('the judge')\n"
        "print(worker.call('os:getpid'), flush=True)\n"
        "worker.call('time:sleep', 600)\n")
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    for _ in range(200):
        if not _runs(child):
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the child is still there")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_system_knows_of_each_call_what_it_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """The alarm is set for the seconds of the call, not for the most that any may take: who asked may be gone."""
    said: list[float] = []
    monkeypatch.setattr("transload.worker._receive", lambda pipe: (_ for _ in ()).throw(OSError()))
    monkeypatch.setattr("transload.worker._send", lambda pipe, value: said.append(value[-1]))
    worker = Worker("the judge")
    for within, seconds in ((None, 600.0), (2.5, 2.5)):
        with pytest.raises(ChildEnded):
            worker.call("copy:copy", 1, within=within)
        assert said.pop() == seconds


def test_the_system_ends_a_call_that_nobody_ends(tmp_path: Path) -> None:
    """The alarm is the system's own: code that never gives way to Python ends, too."""
    script = (
        "from transload import worker\n"
        "worker.GRACE = 0\n"
        "with worker._alarm(0.5):\n"
        "    3 ** (10 ** 9)\n")
    ended = subprocess.run([sys.executable, "-c", script], timeout=60, check=False)
    assert ended.returncode == -signal.SIGALRM


def test_a_process_that_is_just_starting_is_ended(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """There was nothing to kill yet, and who had ended it waited for the whole of its task."""
    from transload import worker as there

    starting, ended = threading.Event(), threading.Event()

    class Slow(there.PythonChild):
        def __init__(self, *arguments: object, **named: object) -> None:
            super().__init__(*arguments, **named)  # type: ignore[arg-type]
            starting.set()
            ended.wait(60)

    monkeypatch.setattr(there, "PythonChild", Slow)
    raised: list[BaseException] = []

    def call() -> None:
        try:
            worker.call("time:sleep", 600.0)
        except ChildEnded as error:
            raised.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    assert starting.wait(60)
    worker.end()
    ended.set()
    thread.join(60)
    assert not thread.is_alive() and len(raised) == 1
    with pytest.raises(ChildEnded, match="was ended"):
        worker.call("time:sleep", 0.0)


def test_what_does_not_travel_is_told_and_the_process_stays(worker: Worker) -> None:
    with pytest.raises(RunError, match="text, and objects like it, cannot be sent"):
        worker.call("numpy:full", [2], "text", "object")
    assert worker.call("operator:add", 1, 2) == 3
