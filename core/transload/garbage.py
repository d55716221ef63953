"""When the process looks for unreachable cycles: rarely, while a model is read, converted or written.

A module is full of cycles (a block knows its ops, an op its block), which only the garbage collector frees. It looks at
new objects again and again, though nearly all that a conversion makes stays to its end: a third of the time would go into
that. So within `rare_collections` it waits for many more new objects; and what was made there is left to a later look at
everything, which comes when enough has been left to it.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident

from .forks import in_forked, thread_lock

try:
    import resource
except ModuleNotFoundError:  # there is none on Windows
    resource = None  # type: ignore[assignment]

__all__ = ["rare_collections"]

EVERY = 500_000
"""New objects between two collections of the youngest generation; and as many are left to a later look, at most."""
ASKED = 1000
"""How rarely a program that has frozen objects is asked whether it still has."""
GROWTH = 256 << 20
"""Bytes by which the process may have grown before what was left is looked through: constants are few objects, and large."""


class _Threshold:
    """The collector's threshold is the process's: who comes first raises it, who goes last puts it back.

    Conversions overlap in threads, and end in another order than they began in. A threshold that somebody else set
    meanwhile stays. In a process that was forked meanwhile, those of other threads are not there.
    """

    def __init__(self) -> None:
        self.lock = thread_lock()
        self.users: Counter[int] = Counter()
        """How often each thread has come and not gone."""
        self.before = self.raised = (0, 0, 0)
        self.left = 0
        self.frozen = 0
        """How often not to ask whether the program has frozen objects, as it had."""
        self.peak = _peak_bytes()

    def raise_it(self) -> int:
        """The thread that came, which `put_it_back` is to be told."""
        thread = get_ident()
        with self.lock:
            self.users[thread] += 1
            if self.users.total() == 1:
                self.before = gc.get_threshold()
                youngest, middle, oldest = self.before
                self.raised = (max(EVERY, youngest) if youngest else 0, middle, oldest)
                gc.set_threshold(*self.raised)
        return thread

    def put_it_back(self, thread: int) -> None:
        with self.lock:
            self.users -= Counter((thread,))
            if not self.users and gc.get_threshold() == self.raised:
                if gc.isenabled() and self.before[0]:
                    self._settle()
                gc.set_threshold(*self.before)

    def forked(self) -> None:
        """Leave out the threads that this process has not."""
        others = bool(self.users)
        self.users = Counter({thread: times for thread, times in self.users.items() if thread == get_ident()})
        if others and not self.users and gc.get_threshold() == self.raised:
            gc.set_threshold(*self.before)

    def _settle(self) -> None:
        """Look through everything where enough was left for that; else count the new objects as old ones, without a look.

        Where the program has frozen objects, which would thaw, they stay new ones, and are counted the next time.
        """
        left = self.left + gc.get_count()[0]
        if left >= EVERY or _peak_bytes() - self.peak >= GROWTH:
            gc.collect()
            self.left, self.peak = 0, _peak_bytes()
        elif self.frozen:
            self.frozen -= 1
        elif gc.get_freeze_count():  # which goes through them all
            self.frozen = ASKED
        else:
            gc.freeze()
            gc.unfreeze()
            self.left = left


def _peak_bytes() -> int:
    """The most memory that the process has occupied so far; 0 where the system does not tell."""
    if resource is None:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


_threshold = _Threshold()
in_forked(_threshold.forked)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect rarely within; also a decorator."""
    thread = _threshold.raise_it()
    try:
        yield
    finally:
        _threshold.put_it_back(thread)
