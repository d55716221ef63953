"""What a signal's handler raises: it comes up wherever the program happens to be, and is no failure of what is there.

A program ends in its handler of SIGTERM by `sys.exit`, or limits the time of a call by SIGALRM and an exception of its own.
Python runs a handler between two steps of the main thread: behind the plugin, or the library, that is at work there. Who
catches what others raise asks `is_interrupt`, and lets such a one go on.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from types import CodeType, FrameType, TracebackType

from .classes import is_a

__all__ = ["TRACEBACK", "from_signal", "interrupts_kept", "is_interrupt"]

TRACEBACK, _CAUSE, _CONTEXT = (BaseException.__dict__[name] for name in ("__traceback__", "__cause__", "__context__"))
"""What Python itself keeps of an exception, whose class may have members of these names."""
_TAKES_MORE = 0x04
"""The flag of functions with `*arguments` (`inspect.CO_VARARGS`, whose module takes long to load)."""


def is_interrupt(error: BaseException) -> bool:
    """Whether an exception is that of Ctrl-C, or one that a signal's handler raised (`from_signal`)."""
    return is_a(error, KeyboardInterrupt) or from_signal(error)


def from_signal(error: BaseException) -> bool:
    """Whether a signal's handler, a function written in Python, raised an exception, or called what did."""
    steps = _frames(TRACEBACK.__get__(error))
    if len(steps) < 2:
        return False
    handlers = _handlers()
    return any(frame.f_code in handlers or _is_told_of(frame, before) for before, frame in pairwise(steps))


def _frames(step: TracebackType | None) -> list[FrameType]:
    frames = []
    while step is not None:
        frames.append(step.tb_frame)
        step = step.tb_next
    return frames


def _handlers() -> set[CodeType]:
    """The code of the functions that handle signals now."""
    found = set()
    for number in range(1, signal.NSIG):
        handler = signal.getsignal(number)
        while isinstance(handler, partial):
            handler = handler.func
        for function in (handler, type(handler).__call__) if callable(handler) else ():
            code = getattr(function, "__code__", None)  # a method's is that of its function
            if isinstance(code, CodeType):
                found.add(code)
    return found


def _is_told_of(frame: FrameType, interrupted: FrameType) -> bool:
    """Whether a call was given a number and the frame before it, as handlers are, one that handles nothing any more as well.

    What it was given may be anything of a plugin's: of which class it is it is not asked itself (`isinstance` does).
    """
    code, count = frame.f_code, frame.f_code.co_argcount
    given = [frame.f_locals.get(name) for name in code.co_varnames[:count]]
    if code.co_flags & _TAKES_MORE:
        more = frame.f_locals.get(code.co_varnames[count + code.co_kwonlyargcount])
        given += more if type(more) is tuple else ()  # the function may have put something else there
    return any(where is interrupted and issubclass(type(number), int) for number, where in pairwise(given))


@contextmanager
def interrupts_kept() -> Iterator[None]:
    """Raise what a signal's handler raised inside as that, whatever was made of it on its way; also a decorator.

    Who reads a file takes an `OSError` for the file's, and raises an error of its own in its place.
    """
    outside = sys.exception()
    try:
        yield
    except BaseException as error:
        first = _behind(error, outside)
        if first is None or first is error:
            raise
        raise first from _CAUSE.__get__(first)


def _behind(error: BaseException | None, outside: BaseException | None) -> BaseException | None:
    """The exception of a signal's handler of which another one was made; not one that was being handled before."""
    seen: list[BaseException] = []
    while error is not None and error is not outside and not any(error is each for each in seen):
        if from_signal(error):
            return error
        seen.append(error)
        error = _CAUSE.__get__(error) or _CONTEXT.__get__(error)
    return None
