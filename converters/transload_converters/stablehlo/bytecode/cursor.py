"""A position in bytes, and the numbers of MLIR's bytecode (mlir.llvm.org/docs/BytecodeFormat, "Encoding")."""

from __future__ import annotations

from typing import NoReturn

from transload.errors import ReadError

__all__ = ["PADDING", "BytecodeError", "Cursor", "UnknownConstruct"]

PADDING = 0xCB
MAX_ALIGNMENT = 1 << 20


class BytecodeError(ReadError):
    """Bytecode that cannot be what a writer of MLIR wrote."""


class UnknownConstruct(ReadError):
    """Bytecode that may well be right, and holds something that this reader has no decoder for."""


class Cursor:
    """Reads from `data[pos:end]`; every method raises `BytecodeError` where bytes are missing.

    `data` is `bytes` or a `memoryview` of bytes (constants are not copied out of the latter).
    """

    __slots__ = ("data", "end", "pos", "what")

    def __init__(self, data: bytes | memoryview, pos: int = 0, end: int | None = None, what: str = "bytecode") -> None:
        self.data = data
        self.pos = pos
        self.end = len(data) if end is None else end
        self.what = what

    def error(self, why: str) -> NoReturn:
        raise BytecodeError(f"the {self.what} is damaged at byte {self.pos}: {why}")

    @property
    def at_end(self) -> bool:
        return self.pos >= self.end

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return self.end - self.pos

    def need_end(self) -> None:
        """Raise `BytecodeError` where something is left."""
        if not self.at_end:
            self.error(f"{self.left} bytes are left over")

    def byte(self) -> int:
        pos = self.pos
        if pos >= self.end:
            self.error("it ends too early")
        self.pos = pos + 1
        return self.data[pos]

    def varint(self) -> int:
        """An unsigned number: as many more bytes as the first one has trailing zeros, little-endian."""
        pos = self.pos
        if pos >= self.end:
            self.error("it ends too early")
        first = self.data[pos]
        if first & 1:
            self.pos = pos + 1
            return first >> 1
        if first == 0:
            self.pos = pos + 1
            return int.from_bytes(self.take(8), "little")
        more = (first & -first).bit_length() - 1
        return int.from_bytes(self.take(more + 1), "little") >> (more + 1)

    def flagged(self) -> tuple[int, bool]:
        """A number whose lowest bit is a flag."""
        value = self.varint()
        return value >> 1, bool(value & 1)

    def signed(self) -> int:
        """A signed number: its sign in the lowest bit."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def count(self, what: str, size: int = 1) -> int:
        """How many things follow, each of at least `size` bytes: more than fit are refused before any is read."""
        number = self.varint()
        if number * size > self.end - self.pos:
            self.error(f"{number} {what} are claimed, and {self.end - self.pos} bytes are left")
        return number

    def signed_list(self) -> list[int]:
        """Signed numbers behind their count."""
        return [self.signed() for _ in range(self.count("numbers"))]

    def take(self, size: int) -> bytes | memoryview:
        """The next `size` bytes."""
        pos = self.pos
        if size > self.end - pos:
            self.error(f"{size} bytes are claimed, and {self.end - pos} are left")
        self.pos = pos + size
        return self.data[pos : pos + size]

    def align(self, alignment: int, origin: int = 0) -> None:
        """Skip the padding up to a multiple of `alignment`, counted from `origin`."""
        if alignment < 1 or alignment & (alignment - 1) or alignment > MAX_ALIGNMENT:
            self.error(f"an alignment of {alignment}")
        while (self.pos - origin) % alignment:
            if self.byte() != PADDING:
                self.error("the padding holds something")

    def c_string(self) -> bytes:
        """Bytes up to a zero."""
        start = self.pos
        pos, end, data = start, self.end, self.data
        while pos < end and data[pos]:
            pos += 1
        if pos >= end:
            self.error("a string is not ended")
        self.pos = pos + 1
        return bytes(data[start:pos])
