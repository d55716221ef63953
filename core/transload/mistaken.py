"""What a file is that is called a model and is none: said where a reader refused it, in whose words it is damaged."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .errors import TransloadError
from .plugin import Reader, resolve

__all__ = ["knows", "mistaken"]

_BEGINNINGS: tuple[tuple[tuple[bytes, ...], str], ...] = (
    ((b"version https://git-lfs",), "it is a pointer of Git LFS, which stands for the file: `git lfs pull` fetches that"),
    ((b"<!doctype html", b"<html"), "it is a web page, as where a download needs a login: fetch the file itself"),
    ((b"\x1f\x8b", b"\xfd7zxz\x00", b"bzh", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c"), "it is compressed: unpack it first"),
)
"""Beginnings of files, letters in lower case, and what they are."""


def mistaken(head: bytes, path: Path, refused: Reader | None = None, readers: Iterable[Reader] = ()) -> str:
    """What the file is whose first bytes are `head`, and what to do, in words; "" where nothing is known of it.

    It is of another format where the reader that `refused` it does not know it, and one alone of the others, `readers`, does.
    """
    if not head:
        return "it is empty: what was to write or fetch it did not"
    start = head.lstrip()[:64].lower()
    for beginnings, what in _BEGINNINGS:
        if start.startswith(beginnings):
            return what
    if refused is not None and knows(refused, head, path):  # it is what it is called, and something else is wrong with it
        return ""
    # Readers that share a suffix read one language in several forms: what is wrong in it none of the others reads.
    own = set() if refused is None else set(refused.suffixes)
    others = [reader.name for reader in readers if own.isdisjoint(reader.suffixes) and knows(reader, head, path)]
    return f"its bytes are those of another format: --format {others[0]}, or call it so" if len(others) == 1 else ""


def knows(reader: Reader, head: bytes, path: Path) -> bool:
    """Whether a reader tells by the first bytes of a file that it is its own."""
    try:
        return reader.detect is not None and bool(resolve(reader.detect)(head, path))
    except (TransloadError, OSError):
        return False
