"""The digest of a module, by what it prints as."""

from __future__ import annotations

from hashlib import blake2b

from ..ir import Module
from .printer import write_module
from .resources import ResourceKeys

__all__ = ["digest_of_module"]


class _Hashing:
    """Text that is hashed as it is written."""

    def __init__(self) -> None:
        self.state = blake2b(digest_size=16)

    def write(self, text: str) -> None:
        self.state.update(text.encode())


def digest_of_module(module: Module) -> str:
    """The same for what prints the same, constants by their digests."""
    hashing = _Hashing()
    write_module(module, hashing, constants="file", keys=ResourceKeys(digests=True))  # type: ignore[arg-type]
    return hashing.state.hexdigest()
