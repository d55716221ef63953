"""A process in which the bindings read programs: MLIR ends the process that reads a damaged one.

    data = bytecode_of(program, name)

The process is started for the first program, and waits for the next; where it ends, the program is refused, and another one
is started. A message is its length in eight bytes, and as many bytes; an answer has one more in front, which says whether it
is the result (0) or the reason why there is none (1).
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from typing import IO, Any

from transload.child import PythonChild
from transload.errors import ReadError

__all__ = ["bytecode_of", "serve"]

TIMEOUT = 600.0
"""Seconds that reading one program may take."""
_START = "from transload_converters.stablehlo.worker import serve; serve()"
_NEEDS = ("transload", "transload_converters", "transload_plugins", "numpy", "ml_dtypes", "jaxlib")


class _Worker:
    """The process, and one program at a time in it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.child: PythonChild | None = None
        self.owner = 0

    def ask(self, data: bytes | memoryview, name: str) -> bytes:
        """The program as bytecode; `ReadError` with the bindings' reason, or where the process ends."""
        with self.lock:
            process = self._running()
            timer = threading.Timer(TIMEOUT, process.kill)
            timer.start()
            try:
                _send(process.stdin, b"", data)
                refused = _receive(process.stdout, 1)[0]
                answer = _receive(process.stdout, int.from_bytes(_receive(process.stdout, 8), "little"))
            except OSError:
                self.stop()
                raise ReadError(
                    f"{name}: the program is damaged: MLIR cannot go on reading it", hint="write the file again, or get it anew"
                ) from None
            finally:
                timer.cancel()
        if refused:
            why, _, hint = answer.decode("utf-8", "replace").partition("\0")
            raise ReadError(f"{name}: {why}", hint=hint)
        return answer

    def _running(self) -> subprocess.Popen[bytes]:
        """The process; a new one where it ended, or belongs to the process that this one was forked from."""
        if self.child is not None and self.owner == os.getpid() and self.child.process.poll() is not None:
            self.stop()
        if self.child is None or self.owner != os.getpid():
            self.child = PythonChild(
                _START, needs=_NEEDS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.owner = os.getpid()
        return self.child.process

    def stop(self) -> None:
        """End the process."""
        child, self.child = self.child, None
        if child is not None and self.owner == os.getpid():
            child.stop()


_worker = _Worker()
atexit.register(_worker.stop)


def bytecode_of(data: bytes | memoryview, name: str) -> bytes:
    """A program (pretty text, or bytecode) as MLIR bytecode that our own reader reads; raises `ReadError`."""
    return _worker.ask(data, name)


def _send(pipe: IO[bytes] | None, mark: bytes, data: bytes | memoryview) -> None:
    if pipe is None:
        raise OSError
    pipe.write(mark + len(data).to_bytes(8, "little"))
    pipe.write(data)
    pipe.flush()


def _receive(pipe: Any, size: int) -> bytes:
    data = pipe.read(size) if pipe is not None else b""
    if len(data) != size:
        raise OSError("the process ended")
    return bytes(data)


def serve() -> None:
    """What the process does: read programs until there are no more."""
    from . import bindings

    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed does not get among the answers
    while True:
        head = source.read(8)
        if len(head) < 8:
            return
        data = source.read(int.from_bytes(head, "little"))
        try:
            _send(sink, b"\0", bindings.rewritten(data, "program"))
        except ReadError as error:
            _send(sink, b"\1", f"{error.message.removeprefix('program: ')}\0{error.hint}".encode("utf-8", "replace"))
