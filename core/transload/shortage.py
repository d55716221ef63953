"""What the system has no more of: a process that may take too little is nobody's defect.

Nothing is loaded for it: it is asked where there may be no memory to load something, and no file to be opened.
"""

from __future__ import annotations

import errno

from .classes import is_a
from .interrupts import is_interrupt

__all__ = ["MEMORY", "MORE", "SYSTEM", "line_of", "shortage"]

MEMORY, SYSTEM = "there is not enough memory for this", "the system gives this process no more of what it needs"
MORE = "this process may have no more of that from the system; `ulimit -a` shows what it may have"
"""What a user can do."""
_SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
"""What the system says that has no more files, memory or processes: whoever asked for one is not to blame."""
_UNMAPPED = ("failed to map segment", "annot allocate memory")
"""What the loader of shared objects says where there is no memory for one."""
_NOT_COMPILED = ("compile", "returned NULL without setting an exception")
"""What Python says where its compiler has no memory for a file that is loaded, or for a text."""
_NO_THREAD = ("can't start new thread", "Resource temporarily unavailable")
"""What Python, and a library of C++, say where there may be no more threads: an exception that has no number."""


def shortage(error: BaseException) -> str | None:
    """`MEMORY` or `SYSTEM`, where an exception says that the system has no more of that; None for any other exception."""
    try:
        return _lack(error)
    except BaseException as raised:  # it does not say what it is
        if is_interrupt(raised):
            raise
        return None


def _lack(error: BaseException) -> str | None:
    if is_a(error, MemoryError):
        return MEMORY
    if is_a(error, ImportError) and any(words in str(error) for words in _UNMAPPED):
        return MEMORY
    if is_a(error, SystemError) and all(words in str(error) for words in _NOT_COMPILED):
        return MEMORY
    if is_a(error, RuntimeError) and any(words in str(error) for words in _NO_THREAD):
        return SYSTEM
    if is_a(error, OSError) and (number := getattr(error, "errno", None)) in _SHORT:
        return MEMORY if number == errno.ENOMEM else SYSTEM
    return None


def line_of(error: BaseException) -> str:
    """What an exception says is short, in its line: numpy has a page of advice around what the loader says of its library."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if any(words in line for words in (*_UNMAPPED, *_NO_THREAD))), " ".join(lines))
