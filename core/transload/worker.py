"""Resident child processes that run what is not ours: a judge, a parser, a compiler, all of which a model can bring down.

    LITERT = Worker("LiteRT", needs=("numpy", "ai_edge_litert"))
    run = LITERT.open("package.module:Session", "/absolute/model.tflite")     # an object there, called from here
    outputs = run({"x": array})
    data = LITERT.call("package.module:function", data)                       # or a function, once

Other people's C++ ends the process that gives it a model it did not expect. So it runs in a process of its own, which is
isolated (`transload.child`), started when it is first needed and kept for the next call, and limited in time and memory: to a
part of the machine's, and where a call says how many bytes it is `about`, to a multiple of them (`Limits.room_for`). Where it
ends, `ChildEnded` says so and why, and `ChildLate` where that was the time; the next call starts another one.

A message is a header in JSON and the bytes of its arrays, each behind its length; nothing is pickled, so that a child that was
taken over can send back data and nothing else. None, booleans, numbers, text, bytes, arrays, lists, tuples and dictionaries
with text as keys travel.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import math
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import IO, Any

from . import errors
from .child import PythonChild
from .errors import Finding, ReadError, RunError, TransloadError
from .forks import thread_lock
from .interrupts import from_signal
from .scratch import system_folder, temporary

__all__ = ["ChildEnded", "ChildLate", "Limits", "Remote", "Worker", "answered", "function_called", "serve", "taken", "unread"]

_START = "from transload.worker import serve; serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])"
_CHUNK = 1 << 20
_OF_A_BYTE = 64
"""Bytes of memory that a call may take for each that it says to be about, where they are more than `Limits.values` allow."""
GRACE = 30
"""Seconds beyond a call's limit after which the system ends the process, where nobody else did."""


PATIENCE = 5.0
"""Seconds that a process has to end on its own, when it is asked nothing more."""


class ChildEnded(RunError):
    """A child process ended, or was ended, before it answered: of what it was asked, nothing is known."""


class ChildLate(ChildEnded):
    """A child process was ended because it took too long: it did not say, or show, that anything is wrong."""


def unread(error: ChildEnded, what: str, hint: str, limit: str) -> ReadError:
    """Why a child does not read a file, or `what` of it: one that ends the child is damaged, and `hint` is what to do about that;
    one that takes longer than `limit` need not be."""
    if isinstance(error, ChildLate):
        return ReadError(f"{what} was not read: {error.message} to read it",
                         hint=f"it is damaged, or holds what takes unusually long to read: the limit is {limit}")
    return ReadError(f"{what} is damaged: {error.message} while it read it", hint=hint)


@dataclass(frozen=True)
class Limits:
    """What one call may take."""

    seconds: float = 600.0
    memory: float = 0.75
    """Of the machine's memory."""
    file: int = 1 << 26
    """Bytes of a file that it writes; 0 where there is no limit."""

    values: float = 8.0
    """What a call that says what it is about may take at least, in times what a model's values may (`Allowance.memory`)."""

    @property
    def bytes(self) -> int:
        """The memory in bytes; 0 where the machine's is not known."""
        try:
            return int(self.memory * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (AttributeError, ValueError, OSError):
            return 0

    def room_for(self, size: int) -> int:
        """How many bytes of memory a call may take, beside what the process holds, that is about so many."""
        from .budget import allowance

        return max(int(self.values * allowance().memory), _OF_A_BYTE * size)


class Worker:
    """A child process, started when first needed, and one call at a time in it.

    `name` is what errors call it; `needs` are the packages that it imports, `first` the modules that it imports at once,
    `variables` those of its environment that are other than here.
    """

    def __init__(
        self, name: str, needs: Iterable[str] = (), first: Iterable[str] = (), limits: Limits | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.limits = limits or Limits()
        self.generation = 0
        self._needs = ("transload", *needs)
        self._first = tuple(first)
        self._variables = dict(variables or {})
        self._lock = thread_lock()
        self._child: PythonChild | None = None
        self._owner = 0
        self._said: IO[bytes] | None = None
        self._closed: list[int] = []
        self._ended = False

    def start(self) -> None:
        """Start the process, where none runs, so that it is ready when it is called."""
        with self._lock:
            self._running()

    def call(self, function: str, *arguments: Any, within: float | None = None, about: int | None = None) -> Any:
        """What the function `module:name` gives there. Raises what it raises, and `ChildEnded`.

        `within` are the seconds that it may take, where they are fewer than the limits say and than what is left (`timed`).
        `about` are the bytes of the files that it is about, beside those of its arguments: its memory is limited by them.
        """
        return self._ask(["call", function, list(arguments)], within, about)

    def open(self, function: str, *arguments: Any, about: int | None = None) -> Remote:
        """What the function `module:name` makes there stays there; what comes back calls it. Raises what it raises.

        `about` is that of `call`, for all its calls.
        """
        return Remote(self, function, arguments, about)

    def stop(self) -> None:
        """End the process, where one runs."""
        with self._lock:
            child, self._child = self._child, None
            if child is not None and self._owner == os.getpid():
                child.stop(PATIENCE if self._ended else 0.0)
            if self._said is not None:
                self._said.close()
                self._said = None

    def kill(self) -> None:
        """End the process in the middle of a call, which raises `ChildEnded` in the thread that made it."""
        child = self._child
        if child is not None and self._owner == os.getpid():
            child.process.kill()

    def end(self) -> None:
        """End the process, one that another thread is just starting, too; calls raise `ChildEnded` from now on.

        In the middle of a call it is killed. Else it ends on its own, and its own children with their folders, until `stop`.
        """
        self._ended = True
        if not self._lock.acquire(blocking=False):
            self.kill()
            return
        try:
            if self._child is not None and self._owner == os.getpid():
                with contextlib.suppress(OSError):
                    self._child.process.stdin.close()  # type: ignore[union-attr]
        finally:
            self._lock.release()

    def _ask(self, request: list[Any], within: float | None = None, about: int | None = None) -> Any:
        from .budget import seconds_left  # the child, which imports this module, has no use for it

        room = 0 if about is None else self.limits.room_for(about + _bytes_in(request))
        seconds = min(self.limits.seconds, within or math.inf, max(seconds_left(), 1.0))
        with self._lock:
            process = self._running()
            late = threading.Event()

            def end() -> None:
                late.set()
                process.kill()

            timer = threading.Timer(seconds, end)
            timer.daemon = True
            try:
                timer.start()
                closed, self._closed = self._closed, []
                _send(process.stdin, [*request, closed, room, seconds])
                answer = _receive(process.stdout)
            except BaseException as error:  # an answer may be still to come, which nobody will wait for
                is_gone = isinstance(error, OSError | ValueError) and not from_signal(error)
                why = self._why(process) if is_gone and not late.is_set() else None
                self.stop()
                if not is_gone:  # Ctrl-C, or what a signal's handler raised
                    raise
                if why is None:
                    raise ChildLate(f"{self.name} took longer than {round(seconds, 0 if seconds >= 10 else 1):g} s") from None
                raise ChildEnded(f"{self.name} {why}") from None
            finally:
                timer.cancel()
                if timer.is_alive():  # it ends at once, and whoever counts threads next finds as many as before
                    timer.join()
        return taken(answer)

    def _running(self) -> Any:
        """The process; a new one where it ended, or belongs to the process that this one was forked from."""
        if self._child is not None and (self._owner != os.getpid() or self._child.process.poll() is not None):
            self.stop()
        if self._child is None:
            with temporary():
                self._said = tempfile.TemporaryFile(dir=system_folder())  # noqa: SIM115 - as long as the process
            self._child = PythonChild(
                _START, str(self.limits.bytes), str(self.limits.file), *self._first, needs=self._needs, variables=self._variables,
                stdin=-1, stdout=-1, stderr=self._said)  # -1: pipes
            self._owner = os.getpid()
            self.generation += 1
            _alive.add(self)
        if self._ended:  # maybe while it was started, when there was nothing to kill
            self.stop()
            raise ChildEnded(f"{self.name} was ended")
        return self._child.process

    def _why(self, process: Any) -> str:
        """What became of a process that does not answer."""
        try:
            code = process.wait(timeout=5)
        except subprocess.TimeoutExpired:  # it closed its pipes, and hangs
            return "stopped answering"
        how = f"exit status {code}" if code >= 0 else signal.Signals(-code).name if -code in iter(signal.Signals) else str(code)
        return f"ended ({how}){self._last_words()}"

    def _last_words(self) -> str:
        if self._said is None:
            return ""
        size = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, size - 4096))
        lines = [line.strip() for line in self._said.read().decode("utf-8", "replace").splitlines() if line.strip()]
        return f": {lines[-1][:300]}" if lines else ""

    def forget(self, number: int) -> None:
        """Have an object there go with the next call."""
        self._closed.append(number)


class Remote:
    """An object in a worker's process, made again where that was started anew; calling it calls the object."""

    def __init__(self, worker: Worker, function: str, arguments: Sequence[Any], about: int | None = None) -> None:
        self._worker, self._made, self._about = worker, (function, list(arguments)), about
        self._generation = 0
        self._number = -1
        self._open()

    def _open(self) -> None:
        self._number = self._worker._ask(["open", *self._made], about=self._about)
        self._generation = self._worker.generation
        weakref.finalize(self, self._worker.forget, self._number)

    def __call__(self, *arguments: Any) -> Any:
        with self._worker._lock:
            self._worker._running()
            if self._generation != self._worker.generation:
                self._open()
            return self._worker._ask(["use", self._number, list(arguments)], about=self._about)


def _bytes_in(value: Any) -> int:
    """The bytes of arrays and of bytes in what is sent."""
    if isinstance(value, bytes | bytearray | memoryview):
        return memoryview(value).nbytes
    if isinstance(value, dict):
        return sum(map(_bytes_in, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_bytes_in, value))
    return int(getattr(value, "nbytes", 0))


_alive: weakref.WeakSet[Worker] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    for worker in list(_alive):
        worker.stop()


# --- answers


def answered(function: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
    """What a function gives, or what it raises in parts, so that it can travel: what `taken` takes."""
    try:
        return ["done", function(*arguments)]
    except TransloadError as error:
        return _told(error)
    except Exception as error:  # whatever other people's code raises is told
        return ["failed", "RunError", f"{type(error).__name__}: {str(error)[:600]}", [], ""]


def _told(error: TransloadError) -> list[Any]:
    findings = [[f.what, f.why, list(f.names), f.hint, f.count] for f in error.findings]
    return ["failed", type(error).__name__, error.message, findings, error.hint]


def taken(answer: Sequence[Any]) -> Any:
    """What was given where it was computed; raises what was raised there."""
    if answer[0] == "done":
        return answer[1]
    raise _error(answer[1:])


def function_called(name: str) -> Any:
    """The function `module:name`."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def _error(parts: Sequence[Any]) -> TransloadError:
    """An error that was raised in the child."""
    kind, message, findings, hint = parts
    type_ = getattr(errors, kind, RunError)
    made = (type_ if isinstance(type_, type) and issubclass(type_, TransloadError) else RunError)(message)
    made.findings = tuple(Finding(what, why, tuple(names), more, count) for what, why, names, more, count in findings)
    made.hint = hint
    return made


# --- messages


def _send(pipe: Any, value: Any) -> None:
    buffers: list[memoryview] = []
    header = json.dumps([_packed(value, buffers), [len(buffer) for buffer in buffers]]).encode("ascii")
    pipe.write(len(header).to_bytes(8, "little") + header)
    for buffer in buffers:
        for start in range(0, len(buffer), _CHUNK):
            pipe.write(buffer[start : start + _CHUNK])
    pipe.flush()


def _receive(pipe: Any) -> Any:
    """The next message; `OSError` where there is none."""
    header, lengths = json.loads(_read(pipe, int.from_bytes(_read(pipe, 8), "little")))
    return _unpacked(header, [_read(pipe, length) for length in lengths])


def _read(pipe: Any, size: int) -> bytearray:
    data = bytearray(size)
    view, at = memoryview(data), 0
    while at < size:
        count = pipe.readinto(view[at : at + _CHUNK])
        if not count:
            raise OSError("the process ended")
        at += count
    return data


def _packed(value: Any, buffers: list[memoryview]) -> Any:
    """A value as JSON has it: lists are what they are and how, the rest stands for itself."""
    if value is None or isinstance(value, bool | int | float | str):
        return value if type(value) in (bool, int, float, str, type(None)) else _plain(value)
    if isinstance(value, dict):
        return ["d", [[str(key), _packed(item, buffers)] for key, item in value.items()]]
    if isinstance(value, tuple | list):
        return ["t" if isinstance(value, tuple) else "l", [_packed(item, buffers) for item in value]]
    if isinstance(value, bytes | bytearray | memoryview):
        buffers.append(memoryview(value).cast("B"))
        return ["b", len(buffers) - 1]
    import numpy as np

    array = np.asarray(value)
    if array.dtype.hasobject:
        what = "text, and objects like it," if isinstance(value, np.ndarray) else f"values of type {type(value).__name__}"
        raise RunError(f"{what} cannot be sent from process to process")
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    buffers.append(flat.data)
    return ["a", len(buffers) - 1, array.dtype.name, list(array.shape)]


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, int) else float(value) if isinstance(value, float) else str(value)


def _unpacked(value: Any, buffers: Sequence[bytearray]) -> Any:
    if not isinstance(value, list):
        return value
    kind = value[0]
    if kind == "d":
        return {key: _unpacked(item, buffers) for key, item in value[1]}
    if kind in ("l", "t"):
        items = [_unpacked(item, buffers) for item in value[1]]
        return tuple(items) if kind == "t" else items
    if kind == "b":
        return bytes(buffers[value[1]])
    import ml_dtypes  # noqa: F401 - gives numpy its types' names
    import numpy as np

    return np.frombuffer(buffers[value[1]], np.dtype(value[2])).reshape(value[3])


# --- in the child


def serve(memory: int = 0, file: int = 0, first: Sequence[str] = ()) -> None:
    """What the process does: import the modules `first`, and answer calls until there are no more.

    `memory` is the most that it may take, and `file` the most that it may write to a file, in bytes. A call says how much of the
    memory and the seconds it may take: who asked for it ends it before, but may be gone himself. With him the process goes, as
    soon as it can.
    """
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed does not get among the answers
    _limit(memory, file)
    for module in first:
        with contextlib.suppress(ImportError):  # said when it is called
            import_module(module)
    objects: dict[int, Any] = {}
    numbers = itertools.count(1)
    while True:
        try:
            how, what, arguments, closed, room, seconds = _receive(source)
        except OSError:
            return
        for number in closed:
            objects.pop(number, None)
        _make_room(room, memory)
        with _alarm(seconds):
            answer = answered(_called, (objects, how, what, arguments))
        if how == "open" and answer[0] == "done":
            number = next(numbers)
            objects[number], answer = answer[1], ["done", number]
        try:
            _send(sink, answer)
        except RunError as error:  # what does not travel
            _send(sink, _told(error))


def _called(objects: Mapping[int, Any], how: str, what: Any, arguments: Sequence[Any]) -> Any:
    return (objects[what] if how == "use" else function_called(what))(*arguments)


def _end_with_parent(parent: int) -> None:
    """End the process when its parent has ended: what computes for nobody would go on to its limit, and hold its folder."""
    if sys.platform == "linux":  # where the system says when a process ends
        with contextlib.suppress(OSError):
            ended = select.poll()
            ended.register(os.pidfd_open(parent))
            if os.getppid() == parent:
                ended.poll()
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Have the system end the process where what is inside takes longer: in code that never gives way to Python, too."""
    if not seconds or not hasattr(signal, "SIGALRM"):
        yield
        return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(math.ceil(seconds) + GRACE)
    try:
        yield
    finally:
        signal.alarm(0)


def _limit(memory: int, file: int) -> None:
    """Let memory beyond the limit be refused, no file grow larger, and no core be dumped, where the system has such limits."""
    try:
        import resource
    except ImportError:
        return
    for kind, most in (("RLIMIT_DATA", memory), ("RLIMIT_FSIZE", file), ("RLIMIT_CORE", 0)):
        which = getattr(resource, kind, None)
        if which is None or (kind != "RLIMIT_CORE" and not most):
            continue
        with contextlib.suppress(OSError, ValueError):
            _, hard = resource.getrlimit(which)
            resource.setrlimit(which, (most if hard < 0 else min(most, hard), hard))


def _make_room(room: int, memory: int) -> None:
    """Let memory be refused from now on beyond what the process has and `room` bytes more, and beyond `memory` (0: no limit)."""
    try:
        import resource

        held = next(int(line.split()[1]) << 10 for line in _status() if line.startswith("VmData:"))
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limits = [most for most in (memory, held + room if room else 0, hard) if most > 0]
        resource.setrlimit(resource.RLIMIT_DATA, (min(limits, default=hard), hard))
    except (ImportError, AttributeError, OSError, ValueError, StopIteration):  # a system without such limits
        return


def _status() -> list[str]:
    """What Linux says of this process, line by line."""
    with open("/proc/self/status", encoding="ascii") as file:  # noqa: PTH123 - the path is no file's
        return file.read().splitlines()
