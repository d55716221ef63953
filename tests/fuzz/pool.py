"""Cases run in child processes that are limited in memory, watched for the time they take, and replaced where they end."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from tests.fuzz.cases import Case, attempt, case_of
from tests.fuzz.clock import cpu_seconds, forget_peaks, peak_bytes

__all__ = ["MEMORY", "SECONDS", "CaseOf", "outcomes"]

MEMORY = 2 << 30
"""Bytes that a process may ask for, its own data and all mappings that it may write to; and what it and those it starts may have.

The first is a limit of each of these processes, which the system keeps; the second is looked at behind the case."""
_MUCH = "more memory than a case may take"
SECONDS = 60.0
"""Processor time that a case may take, that of the processes it starts included: how busy the machine is does not matter."""
_WAIT = 600.0
"""What it may take by the clock, for a process that waits for ever takes no processor time."""
_UNMEASURED = 5.0
"""Seconds by the clock after which a case's processor time is read for the first time; until then it counts as all of them."""
_READINGS = 2.0
"""Seconds between two readings."""
_TURNS = 3000
"""Cases after which a process is replaced by a fresh one."""
Row = tuple[int, str, str, str, str]
"""A case's number and format; its outcome's kind, place and detail."""
CaseOf = Callable[[int, dict[str, list[Path]]], Case]
"""The case with a number."""


def outcomes(numbers: Iterable[int], seeds: dict[str, list[Path]], workers: int, case_of: CaseOf = case_of) -> Iterator[Row]:
    """What becomes of the cases with these numbers, as they end."""
    pending = iter(numbers)
    pool = [_Child(seeds, case_of) for _ in range(workers)]
    try:
        busy = [child for child in pool if child.give(next(pending, None))]
        while busy:
            ready = wait([child.pipe for child in busy], timeout=1.0)
            for child in list(busy):
                row = child.row() if child.pipe in ready else child.late()
                if row is None:
                    continue
                yield row
                if not child.give(next(pending, None)):
                    busy.remove(child)
    finally:
        for child in pool:
            child.end()


class _Child:
    """A process and the case that it is at."""

    def __init__(self, seeds: dict[str, list[Path]], case_of: CaseOf) -> None:
        self.seeds, self.case_of = seeds, case_of
        self.process: Any = None
        self.number = -1
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.before: float | None = None
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, self.seeds, self.case_of), daemon=False)
        self.process.start()
        theirs.close()
        self.turns = 0

    def give(self, number: int | None) -> bool:
        """Have it run a case; returns whether there was one."""
        if number is None:
            return False
        if self.turns >= _TURNS:
            self.end()
            self._start()
        self.number, self.began = number, time.monotonic()
        self.asked, self.before = self.began, None
        self.turns += 1
        self.pipe.send(number)
        return True

    def row(self) -> Row | None:
        """What became of its case, also where the process ended; None where it is tried again, alone."""
        try:
            made: Row = self.pipe.recv()
            if not made[3].startswith(_MUCH):
                return made
            alone, self.turns = self.turns == 1, _TURNS  # a peak is for ever: what comes next has a fresh process
            if not alone:
                self.give(self.number)
            return made if alone else None
        except (EOFError, OSError):
            self.process.join(10)
            return self._replaced(f"process ended with {self.process.exitcode}")

    def late(self) -> Row | None:
        """Where its case takes too long: that, and another process."""
        if not self._over():
            return None
        with contextlib.suppress(ProcessLookupError):  # which has Python print where it is
            os.kill(self.process.pid, signal.SIGUSR1)
        time.sleep(0.5)
        return self._replaced(f"longer than {SECONDS:g} s")

    def _over(self) -> bool:
        """Whether its case has had more than its share of the processor, or of the clock."""
        now = time.monotonic()
        if now - self.began < _UNMEASURED or now - self.asked < _READINGS:
            return False
        self.asked, spent = now, cpu_seconds(self.process.pid)
        if self.before is None:
            self.before = (spent or 0.0) - (now - self.began)
        used = now - self.began if spent is None else min(now - self.began, spent - self.before)
        return used > SECONDS + (30 if self.turns == 1 else 0) or now - self.began > _WAIT

    def _replaced(self, why: str) -> Row:
        self.process.kill()
        self.process.join()
        self.pipe.close()
        number = self.number
        self._start()
        trace = _trace_file(self.seeds)
        said = trace.read_text(errors="replace") if trace.exists() else ""
        frames = [line.strip() for line in said.splitlines() if "transload" in line and "/tests/" not in line]
        place = frames[0].split("/")[-1] if frames else ""
        return number, "?", "failed", f"{why} {place}", said

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.pipe.close()
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()


def _trace_file(seeds: dict[str, list[Path]]) -> Path:
    """Where a process says what it was at when it was asked, or ended."""
    return next(files[0] for files in seeds.values() if files).parent.parent / f"trace-{os.getpid()}"


def _serve(pipe: Connection, seeds: dict[str, list[Path]], case_of: CaseOf) -> None:
    """What a process does: run the cases whose numbers come, and say what became of each."""
    import faulthandler
    import resource

    trace = _trace_file(seeds).with_name(f"trace-{os.getppid()}").open("w")
    faulthandler.register(signal.SIGUSR1, trace)
    faulthandler.enable(trace)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - as long as the process
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    while True:
        try:
            number = pipe.recv()
        except (EOFError, OSError):
            return
        case = case_of(number, seeds)
        forget_peaks(os.getpid())
        outcome = attempt(case)
        kind, place, detail = outcome.kind, outcome.place, outcome.detail
        if (case.check or case.onward is not None) and (peak := peak_bytes(os.getpid())) > MEMORY:
            detail = f"{peak:,} bytes; {kind} {place}\n{detail}"
            kind, place = "failed", f"{_MUCH}, judges included, {case.format}"
        pipe.send((number, case.format, kind, place, detail))
