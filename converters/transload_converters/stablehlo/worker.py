"""The process in which the bindings read and write programs: MLIR ends the process that reads a damaged one."""

from __future__ import annotations

from transload.errors import ReadError, TransloadError, UsageError
from transload.worker import ChildEnded, Worker, unread

from . import bindings

__all__ = ["JAXLIB", "bytecode_of", "portable_artifact"]

JAXLIB = Worker("MLIR", needs=("transload_converters", "transload_plugins", "numpy", "ml_dtypes", "jaxlib"))
_BINDINGS = "transload_converters.stablehlo.bindings"
READING_SECONDS, READING_SPEED = 20.0, 1e6
"""What reading may take: these seconds, and one more for so many bytes. There are damaged files that MLIR never ends reading."""


def bytecode_of(data: bytes | memoryview, name: str) -> bytes:
    """A program (pretty text, or bytecode) as MLIR bytecode that our own reader reads; raises `ReadError`."""
    try:
        within = READING_SECONDS + len(data) / READING_SPEED
        return bytes(JAXLIB.call(f"{_BINDINGS}:rewritten", data, "program", within=within, about=0))
    except ChildEnded as error:
        raise unread(error, f"{name}: the program", "write the file again, or get it anew",
                     f"{READING_SECONDS:g} s, and one more for each {READING_SPEED / 1e6:g} MB") from None
    except ReadError as error:
        raise ReadError(f"{name}: {error.message.removeprefix('program: ')}", error.findings, error.hint) from None
    except TransloadError as error:
        raise ReadError(f"{name}: {error.message}", error.findings, error.hint) from None


def portable_artifact(text: str, name: str, target: str | None) -> bytes:
    """A program, as text, as a portable artifact of StableHLO version `target`: `bindings.portable_artifact`, there."""
    why = bindings.available()
    if why:
        raise UsageError(f"this form of StableHLO cannot be read or written: {why}")
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        broken = text[error.start : error.start + 1]
        raise UsageError(f"{name}: holds text that is not UTF-8 ({broken!r} in a name or attribute)") from None
    try:
        return bytes(JAXLIB.call(f"{_BINDINGS}:portable_artifact", data, name, target, about=0))
    except ChildEnded as error:
        raise UsageError(f"{name}: cannot be written as a portable artifact: {error.message} while it read the program") from None
