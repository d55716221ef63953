"""Processor time of a process and of all that it started, as Linux tells it."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cpu_seconds"]

_PROCESSES = Path("/proc")


def cpu_seconds(pid: int) -> float | None:
    """Seconds of processor time that a process, its children and theirs have had; None where the system does not say.

    Of children that ended and were waited for, too: the sum only grows. Source: proc_pid_stat(5), fields 4 and 14 to 17.
    """
    if not (_PROCESSES / "self" / "stat").exists():
        return None
    parents, ticks = {}, {}
    for folder in _PROCESSES.iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            parents[int(folder.name)], ticks[int(folder.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    family, grew = {pid}, True
    while grew:
        more = {child for child, parent in parents.items() if parent in family} - family
        family |= more
        grew = bool(more)
    return sum(ticks.get(member, 0) for member in family) / os.sysconf("SC_CLK_TCK")
