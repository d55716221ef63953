"""How much memory a module takes where it is run, and how much it may: a file of a kilobyte may ask for gigabytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..budget import VARIABLE, allowance
from ..contents import constant_bytes, unpacked_bytes
from ..errors import RunError
from ..ir import Block, Module
from .memory import bytes_of, peak_bytes

__all__ = ["NoRoom", "allowed_of", "memory_of", "need_bytes", "need_room", "own_bytes", "room_of"]

_VALUES_OF_ONE = 64
"""Bytes of values at one time for each byte of a model's constants and inputs, where these are more than the allowance."""
_MADE_UP = 1 << 24
"""Bytes of inputs that are drawn for which as many times the bytes of values may be there: a photograph of a megapixel."""
_ROOM: ContextVar[int | None] = ContextVar("room", default=None)


class NoRoom(RunError):
    """Values would take more than they may at one time."""


def memory_of(module: Module, block: Block | None = None) -> int:
    """The bytes that the values of a block, by default that of `main`, take at one time in a runtime that has loaded the module,
    with what that made of its constants."""
    return peak_bytes(module.body_of_main if block is None else block, once=True) + unpacked_bytes(module)


def own_bytes(module: Module, block: Block | None = None, given: bool = True) -> int:
    """The bytes of a module's constants, and of the inputs of a block, by default of `main`: of those that nobody has `given`,
    which a file of a kilobyte may say are gigabytes, no more than `_MADE_UP`."""
    arguments = (module.body_of_main if block is None else block).arguments
    inputs = bytes_of(each.type for each in arguments)
    return constant_bytes(module) + (inputs if given else min(inputs, _MADE_UP))


def allowed_of(own: int) -> int:
    """The bytes that may be taken at one time: as `Allowance.memory` says, or 64 times what a module has of its own."""
    return max(allowance().memory, _VALUES_OF_ONE * own)


def need_room(module: Module, function: str = "main") -> None:
    """Raise `NoRoom` where the values of a function, of sizes that are known, would take more than they may."""
    (block,) = module.function(function).regions[0].blocks
    _need(memory_of(module, block), allowed_of(own_bytes(module, block)))


@contextmanager
def room_of(own: int) -> Iterator[None]:
    """What runs within takes no more than a module may that has so many bytes of its own: `need_bytes` says where it would."""
    token = _ROOM.set(allowed_of(own))
    try:
        yield
    finally:
        _ROOM.reset(token)


def need_bytes(count: int) -> None:
    """Raise `NoRoom` where values whose sizes are found as a module runs would take more than that may."""
    most = _ROOM.get()
    if most is not None:
        _need(count, most)


def _need(count: int, most: int) -> None:
    if count > most:
        count = min(count, 10**80)  # Python does not write numbers of thousands of digits
        raise NoRoom(
            f"to run the module would take {count:,} bytes at one time, and {most:,} are allowed",
            hint=f"{VARIABLE}=memory={count} allows that")
