"""The process that runs a command: its streams, which may be closed, full or in ASCII, and the signals that end it."""

from __future__ import annotations

import atexit
import codecs
import errno
import io
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from ..forks import OwnThread
from ..streams import copy_of, is_on, reopened

__all__ = ["Output", "Signals", "answering", "encodable", "note_written", "open_streams", "written"]

_PLAIN = {"→": "->", "…": "...", "•": "*", "×": "x", "−": "-", "–": "-", "’": "'"}
_PATIENCE = 1.0
"""Seconds after which a signal is answered by another thread."""
_LAST_PATIENCE = 5.0
"""Seconds that a command has to end by itself whose JSON is being printed, or is."""
_WORDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
_JSON = """{{
  "exit_code": {code},
  "error": {{
    "kind": "{name}",
    "message": "{word}",
    "findings": [],
    "hint": ""
  }}
}}
"""
"""`--json` of a command that a signal ended: nothing is imported then, nor made by what may be half done."""


class Output:
    """A stream to write to that may be lost: whoever reads it may go, and its disk may be full.

    Nothing is raised then, and what comes after is dropped, so that a conversion which is done ends with its own exit code.
    `lost` is the error, but for a reader who had enough (`| head`).
    """

    def __init__(self, stream: Any, number: int | None = None) -> None:
        self._stream = stream
        self._number = number
        """The descriptor that it is on, where it can be made anew on that once it is closed."""
        self._dropped = False
        self.lost: OSError | None = None

    def write(self, text: str) -> int:
        if not self._dropped:
            self._open_again()
            try:
                self._stream.write(text)
            except OSError as error:
                self._lose(error)
            except ValueError:  # whoever runs in this process has closed it
                self._dropped = True
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if not self._dropped:
            self._open_again()
            try:
                self._stream.flush()
            except OSError as error:
                self._lose(error)
            except ValueError:
                self._dropped = True

    def _lose(self, error: OSError) -> None:
        self._dropped = True
        if error.errno != errno.EPIPE:
            self.lost = error
        # What the stream still holds is written when the process ends, and would fail once more.
        with suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._stream.fileno())
            os.close(null)

    def _open_again(self) -> None:
        """Make the stream anew where somebody has closed it, as a plugin does."""
        if self._number is not None and self._stream.closed:
            self._stream = reopened(self._stream, self._number)

    def __getattr__(self, name: str) -> Any:
        self._open_again()
        return getattr(self._stream, name)


def open_streams() -> tuple[Output, Output]:
    """Standard output and standard error as they can be written to, whatever they are; they take the places of those."""
    codecs.register_error("transload", _in_ascii)
    _keep_closed()
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name) or open(number, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - to the end
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="transload")
        setattr(sys, name, Output(stream, number if is_on(stream, number) else None))
    return sys.stdout, sys.stderr  # type: ignore[return-value]


def _keep_closed() -> None:
    """Have the numbers of standard streams that are closed be of nothing that can be written to: the system gives the lowest that
    is free to the next file that is opened, and what is printed would go into that."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)


def encodable(text: str, stream: Any) -> str:
    """Text as it will stand in a stream: characters that its encoding has not are replaced."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        codecs.register_error("transload", _in_ascii)
        return text.encode(encoding, "transload").decode(encoding)
    except LookupError:  # an encoding that nobody knows
        pass
    return text


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """What stands for characters that a stream cannot say: our arrows and dots are drawn, others escaped."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = "".join(
        _PLAIN.get(character) or character.encode("ascii", "backslashreplace").decode("ascii")
        for character in error.object[error.start : error.end])
    return text, error.end


def _ignore(numbers: Sequence[int]) -> None:
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)


class Signals:
    """Ctrl-C, SIGTERM and SIGHUP end a command with one line and the exit code 128 + the signal's number.

    At once: an exception that is raised wherever the program happens to be may be swallowed there, or break what is half
    imported. Nothing needs an orderly retreat, as artifacts are put in place in one step; what is in the making is removed, and
    child processes are ended. Where the main thread is in a library of somebody else that does not look up, another one does
    it after a moment. A signal that was ignored when the process began, as `nohup` has it, stays so.

    When all is done and said, and the interpreter takes itself apart, which lasts hundredths of a second, signals are ignored:
    Python would give them back to the system there, which ends a process without a word, and not with the command's exit code.

    With `json`, standard output gets an object that says it. What the command prints there itself is not cut short, nor followed
    by another: from then on it ends by itself, with its own exit code, unless it takes too long to.
    """

    def __init__(self, json: bool = False) -> None:
        self._lock = threading.Lock()
        self._answer = copy_of(1) if json else None
        """Standard output, wherever its own number leads; None where no JSON is asked for."""
        self._has_answered = False
        taken = [
            number for name in _WORDS if (number := getattr(signal, name, None)) is not None
            and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)]
        for number in taken:
            signal.signal(number, self._arrived)
        self._bell, rope = os.pipe()
        os.set_blocking(rope, False)
        signal.set_wakeup_fd(rope, warn_on_full_buffer=False)
        OwnThread(target=self._watch, args=(frozenset(taken),), daemon=True).start()
        atexit.register(_ignore, taken)
        _signals.set(self)

    def answering(self) -> None:
        """From now on the command itself prints its JSON."""
        with self._lock:  # or for ever, where another thread ends the process
            self._has_answered = self._answer is not None

    def _arrived(self, number: int, frame: Any) -> None:
        self._end(number)

    def _watch(self, taken: frozenset[int]) -> None:
        """Told of each signal by the system itself, whatever the main thread does."""
        while True:
            number = os.read(self._bell, 1)[0]
            if number in taken:
                time.sleep(_PATIENCE)
                self._end(number)
                time.sleep(_LAST_PATIENCE)
                self._end(number, in_any_case=True)

    def _end(self, number: int, in_any_case: bool = False) -> None:
        if not self._lock.acquire(blocking=False):
            return  # it is being done
        if self._has_answered and not in_any_case:
            self._lock.release()
            return
        name = signal.Signals(number).name
        if self._answer is not None and not self._has_answered:
            _say(self._answer, _JSON.format(code=128 + number, name=name, word=_WORDS[name]))
        _say(2, ("\x1b[?25h" if os.isatty(2) else "") + f"{_WORDS[name]}\n")  # a progress bar hides the cursor
        for module, last in (("transload.child", "kill_all"), ("transload.scratch", "remove_all")):
            end = getattr(sys.modules.get(module), last, None)  # it may be half imported, and then has nothing to end
            if end is not None:
                with suppress(Exception):
                    end()
        os._exit(128 + number)


_signals: ContextVar[Signals | None] = ContextVar("transload.signals", default=None)


def answering() -> None:
    """Say that the command prints its answer now, to the signals that would say another."""
    signals = _signals.get()
    if signals is not None:
        signals.answering()


_written: ContextVar[Path | None] = ContextVar("transload.written", default=None)


def note_written(place: Path) -> None:
    """Say that the command has put what it makes in place, to whom tells that its answer could not be printed."""
    _written.set(place)


def written() -> Path | None:
    """Where the command has put what it makes; None where it has not, or makes no files."""
    return _written.get()


def _say(number: int, text: str) -> None:
    """Write a few lines to a descriptor, where it takes them soon: nobody may read, and there may be none."""
    with suppress(OSError):
        poll = select.poll()
        poll.register(number, select.POLLOUT)
        if poll.poll(1000 * _PATIENCE):
            os.write(number, text.encode())
