"""What holds in a process that is forked from this one: of its threads there is only the one that forked it. And whether there
are others in this one.

A lock that another thread holds in that moment would be held there for ever, as nobody is there to let go of it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from threading import RLock, Thread
from typing import Any
from weakref import WeakSet

__all__ = ["OwnThread", "in_forked", "is_alone", "thread_lock"]

_locks: WeakSet[Any] = WeakSet()


def in_forked(act: Callable[[], object]) -> None:
    """Have something done in every process that is forked from this one, before anything else in it."""
    if hasattr(os, "register_at_fork"):  # there is none on Windows
        os.register_at_fork(after_in_child=act)


def thread_lock() -> Any:
    """A lock among threads, which who holds it may take again; in a forked process no other thread than that one holds it."""
    made = RLock()
    _locks.add(made)
    return made


class OwnThread(Thread):
    """A thread of ours that changes nothing which is the whole process's: no stream, no path."""


def is_alone() -> bool:
    """Whether no other thread runs that may change what is the whole process's."""
    me = threading.current_thread()
    return all(each is me or isinstance(each, OwnThread) for each in threading.enumerate())


def _free() -> None:
    for lock in list(_locks):
        if lock.acquire(blocking=False):  # nobody's, or that of the thread which forked
            lock.release()
        else:
            lock._at_fork_reinit()  # as Python does with those of its own


in_forked(_free)
