"""Products of matrices on one thread: for who has threads of their own, or many small products.

numpy's library of matrices begins threads for a product, which wait for the next one busily: beside threads that compute
otherwise, and beside other processes, products of some hundred rows take many times as long by that. How a product is shared
among threads changes the last bits of its sums, too: by one thread they are the same wherever it runs.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import get_ident
from typing import Any

from .forks import in_forked, thread_lock

__all__ = ["one_thread"]

_PREFIXES = ("scipy_openblas_", "openblas_")
_SUFFIXES = ("64_", "")

_lock = thread_lock()
_inside: list[tuple[int, int]] = []
"""For each who is inside, the thread that it is in, and how many threads there were when the first of all came."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, numpy multiplies matrices on one thread, in the whole process; by a library that is not known, as always."""
    functions = _functions()
    if functions is None:
        yield
        return
    threads, limit = functions
    with _lock:
        mine = (get_ident(), _inside[0][1] if _inside else threads())
        _inside.append(mine)
        limit(1)
    try:
        yield
    finally:
        with _lock:
            _inside.remove(mine)
            if not _inside:
                limit(mine[1])


def _forked() -> None:
    """Leave out the threads that a forked process has not; where nobody else is inside, it has as many threads as before."""
    functions = _functions() if _inside else None
    here, others = [each for each in _inside if each[0] == get_ident()], bool(_inside)
    if functions is not None and others and not here:
        functions[1](_inside[0][1])
    _inside[:] = here


in_forked(_forked)


@cache
def _functions() -> tuple[Any, Any] | None:
    """What tells and what sets the number of threads of the OpenBLAS that numpy has with it."""
    import numpy

    folder = Path(numpy.__file__).parent
    places = [folder.parent / "numpy.libs", folder / ".dylibs"]
    for file in sorted(file for place in places if place.is_dir() for file in place.iterdir() if "openblas" in file.name):
        try:
            library = ctypes.CDLL(str(file), mode=_only_if_loaded())
        except OSError:
            continue
        for prefix in _PREFIXES:
            for suffix in _SUFFIXES:
                threads = getattr(library, f"{prefix}get_num_threads{suffix}", None)
                limit = getattr(library, f"{prefix}set_num_threads{suffix}", None)
                if threads is not None and limit is not None:
                    limit.argtypes, limit.restype = [ctypes.c_int], None
                    return threads, limit
    return None


def _only_if_loaded() -> int:
    """How a library is opened that this process has already, and no other."""
    import os

    return getattr(os, "RTLD_NOLOAD", 0) | getattr(os, "RTLD_NOW", 0) if sys.platform != "win32" else ctypes.DEFAULT_MODE
