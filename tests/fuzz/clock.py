"""Processor time and memory of a process and of all that it started, as Linux tells it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["cpu_seconds", "forget_peaks", "peak_bytes"]

_PROCESSES = Path("/proc")


def cpu_seconds(pid: int) -> float | None:
    """Seconds of processor time that a process, its children and theirs have had; None where the system does not say.

    Of children that ended and were waited for, too: the sum only grows. Source: proc_pid_stat(5), fields 4 and 14 to 17.
    """
    if not (_PROCESSES / "self" / "stat").exists():
        return None
    stats = _stats()
    ticks = [sum(map(int, stats[member][11:15])) for member in _family(pid, stats) if member in stats]
    return sum(ticks) / os.sysconf("SC_CLK_TCK")


def forget_peaks(pid: int) -> None:
    """Have `peak_bytes` say what is had from now on: a judge runs on from case to case. Source: proc_pid_clear_refs(5)."""
    for member in _family(pid, _stats()) if (_PROCESSES / "self" / "clear_refs").exists() else ():
        with suppress(OSError):
            (_PROCESSES / str(member) / "clear_refs").write_text("5")


def peak_bytes(pid: int) -> int:
    """The greatest memory that a process, its children and theirs each had since `forget_peaks`, together; 0 where the system
    does not say.

    Of those that still run. They need not have had it at one time: it is no less than what they had. Source:
    proc_pid_status(5), VmHWM.
    """
    if not (_PROCESSES / "self" / "status").exists():
        return 0
    return sum(map(_peak, _family(pid, _stats())))


def _stats() -> dict[int, list[str]]:
    """What `/proc/PID/stat` says behind the name, of all processes."""
    found = {}
    for folder in _PROCESSES.iterdir():
        if folder.name.isdigit():
            with suppress(OSError):  # it ended meanwhile
                found[int(folder.name)] = (folder / "stat").read_text().rpartition(")")[2].split()
    return found


def _family(pid: int, stats: dict[int, list[str]]) -> set[int]:
    """A process, its children and theirs."""
    family, grew = {pid}, True
    while grew:
        more = {child for child, fields in stats.items() if int(fields[1]) in family} - family
        family |= more
        grew = bool(more)
    return family


def _peak(pid: int) -> int:
    with suppress(OSError):
        for line in (_PROCESSES / str(pid) / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0
