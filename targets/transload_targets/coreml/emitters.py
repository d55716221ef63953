"""Which function writes which op of the hub as calls of MIL, and what the functions share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transload.errors import Unsupported

from .program import Program

__all__ = ["EMITTERS", "Emitter", "emits", "need_channels_second"]

Emitter = Callable[[Any, Program], Any]
"""Called with an op and the program so far: the argument that stands for the op's result, or a list of them."""
EMITTERS: dict[str, Emitter] = {}


def emits(*names: str) -> Callable[[Emitter], Emitter]:
    """Register a function for ops of these names of `top`."""
    def add(function: Emitter) -> Emitter:
        EMITTERS.update({f"top.{name}": function for name in names})
        return function

    return add


def need_channels_second(op: Any) -> None:
    """Refuse an op whose channels are last."""
    if str(op.layout) != "NCHW":
        raise Unsupported("its channels are last, and Core ML has them second")
