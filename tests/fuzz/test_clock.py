"""What a case may take is processor time, its child processes' included: a process that waits for a busy machine is not late."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tests.fuzz import pool
from tests.fuzz.clock import cpu_seconds, forget_peaks, peak_bytes

BUSY = "import time; end = time.process_time() + {}\nwhile time.process_time() < end: pass"

pytestmark = pytest.mark.skipif(cpu_seconds(os.getpid()) is None, reason="this system does not tell")


def test_children_count_while_they_run_and_behind_that() -> None:
    before = cpu_seconds(os.getpid()) or 0.0
    command = [sys.executable, "-c", BUSY.format(0.3) + "\ninput()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as child:
        deadline = time.monotonic() + 20
        while (cpu_seconds(os.getpid()) or 0.0) < before + 0.3 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert (cpu_seconds(os.getpid()) or 0.0) >= before + 0.3
        child.communicate(b"\n")
    assert (cpu_seconds(os.getpid()) or 0.0) >= before + 0.3


def test_the_memory_of_children_counts() -> None:
    before = peak_bytes(os.getpid())
    assert before > 10 << 20
    code = "held = bytearray(100 << 20); del held; print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert peak_bytes(os.getpid()) >= before + (100 << 20)  # also where it was given back
        forget_peaks(os.getpid())
        assert peak_bytes(os.getpid()) < before + (100 << 20)  # another case's
        child.communicate(b"\n")


def test_a_case_that_waits_is_not_late(monkeypatch: pytest.MonkeyPatch) -> None:
    child = object.__new__(pool._Child)
    child.turns, child.before, child.began, child.asked = 2, None, time.monotonic() - 6, 0.0
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child.process:
        monkeypatch.setattr(pool, "_READINGS", 0.0)
        assert not child._over()  # six seconds are past, and counted
        child.began -= 300
        assert not child._over()  # it had the machine for none of these
        child.began -= 300
        assert child._over()  # and yet does not end
        child.process.communicate(b"\n")
