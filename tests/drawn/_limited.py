"""Work of a case in a process of its own, which is limited in processor time and memory.

The processes are forked off one that has imported the tool already (`forkserver`), so that a case costs a tenth of a second.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.fuzz.clock import cpu_seconds, peak_bytes

__all__ = ["limited"]

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.drawn._warm", "tests.drawn._limited"])
_READINGS = 0.5
"""Seconds between two looks at what a process and those that it started have taken."""
_SLOWER = 6.0
"""By the clock a case may take so many times its processor time: other processes want the processor, too."""


def limited(work: Callable[..., Any], *given: Any, seconds: float = 20.0, memory: int = 2 << 30) -> tuple[Any, str]:
    """What `work` returns, and nothing; or None, and what became of the process that did it: an exception, a limit.

    `memory` is what it may ask for, and what it and those that it starts may have together.
    """
    ours, theirs = _FORKS.Pipe()
    process = _FORKS.Process(target=_serve, args=(theirs, memory, work, given))
    process.start()
    theirs.close()
    began, before = time.monotonic(), cpu_seconds(process.pid or 0)
    try:
        while not ours.poll(_READINGS):
            spent = time.monotonic() - began
            used = (cpu_seconds(process.pid or 0) or 0.0) - (before or 0.0) if before is not None else spent
            if used > seconds or spent > _SLOWER * seconds:
                return None, f"takes more than {seconds:g} s"
            if peak_bytes(process.pid or 0) > memory:
                return None, f"takes more than {memory >> 20:,} MB"
        done: tuple[Any, str] = ours.recv()
        return done
    except (EOFError, OSError):
        process.join(10)
        return None, f"ends the process with {process.exitcode}"
    finally:
        process.kill()
        process.join()
        ours.close()


def _serve(pipe: Connection, memory: int, work: Callable[..., Any], given: tuple[Any, ...]) -> None:
    os.setsid()
    warnings.simplefilter("ignore")
    sys.stderr = sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - as long as the process
    resource.setrlimit(resource.RLIMIT_DATA, (memory, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        pipe.send((work(*given), ""))
    except Exception as error:
        pipe.send((None, f"raises {type(error).__name__}\n{traceback.format_exc()[-4000:]}"))
