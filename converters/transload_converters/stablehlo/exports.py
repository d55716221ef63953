"""What `jax.export` serializes: a flatbuffer with a portable artifact inside.

Of the table `Exported` (its fields are numbered in the order of JAX's schema, which only grows at its end) the program, its
name and the platforms are read; gradients (`vjp`), which are exports of their own inside, are passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from transload.errors import ReadError
from transload.ir.constants import Dense, SplatData
from transload.ir.core import Op
from transload.ir.module import Module, update_function_type
from transload.ir.types import TensorType
from transload.passes.inline import inline_calls

from .bytecode import MAGIC
from .refine import choose_branches

__all__ = ["Export", "choose_platform", "find_export"]

_PLATFORMS, _PROGRAM = 9, 13
_WANTED = ("cpu",)
"""The platforms whose code is taken from an export for several, the preferred first; else its first."""


_SEARCHED = 1 << 20
_ARTIFACT = re.compile(re.escape(MAGIC) + rb".StableHLO_v", re.DOTALL)


@dataclass
class Export:
    """A serialized function: its program, and for which platforms it was exported."""

    program: memoryview
    platforms: list[str] = field(default_factory=list)


class _Table:
    """A table of a flatbuffer; every offset is checked."""

    def __init__(self, data: memoryview, position: int) -> None:
        self.data = data
        self.position = position
        self.vtable = position - self._number(position, 4, signed=True)
        self.size = self._number(self.vtable, 2)

    def _number(self, at: int, size: int, signed: bool = False) -> int:
        if at < 0 or at + size > len(self.data):
            raise ValueError
        return int.from_bytes(self.data[at : at + size], "little", signed=signed)

    def vector(self, number: int) -> tuple[int, int] | None:
        """Where a vector field begins, and its length; None where it is not there."""
        entry = 4 + 2 * number
        offset = self._number(self.vtable + entry, 2) if entry + 2 <= self.size else 0
        if not offset:
            return None
        at = self.position + offset
        start = at + self._number(at, 4)
        return start + 4, self._number(start, 4)

    def strings(self, number: int) -> list[str]:
        """The texts of a vector of strings."""
        place = self.vector(number)
        if place is None:
            return []
        start, count = place
        if count > len(self.data) // 4:
            raise ValueError
        found = []
        for at in range(start, start + 4 * count, 4):
            text = at + self._number(at, 4)
            length = self._number(text, 4)
            if length > 100:
                raise ValueError
            found.append(bytes(self.data[text + 4 : text + 4 + length]).decode("utf-8", "replace"))
        return found


def find_export(data: memoryview, name: str) -> Export | None:
    """The export that `data` is, or None where it is none; `ReadError` where its program is cut off.

    Of a container in another schema, the artifact near its beginning is taken, whose length stands before it.
    """
    if len(data) < 12:
        return None
    platforms: list[str] = []
    try:
        root = _Table(data, int.from_bytes(data[:4], "little"))
        place = root.vector(_PROGRAM)
        if place is not None and bytes(data[place[0] : place[0] + 4]) == MAGIC:
            platforms = root.strings(_PLATFORMS)
        else:
            place = _search(data)
    except ValueError:
        place = _search(data)
    if place is None:
        return None
    start, length = place
    if start + length > len(data):
        raise ReadError(f"{name}: the program in it claims {length} bytes, and {len(data) - start} are there")
    return Export(data[start : start + length], platforms)


def _search(data: memoryview) -> tuple[int, int] | None:
    """Where an artifact begins, and the number before it."""
    match = _ARTIFACT.search(data[:_SEARCHED])
    if match is None or match.start() < 4:
        return None
    start = match.start()
    return start, int.from_bytes(data[start - 4 : start], "little")


def choose_platform(module: Module, export: Export) -> None:
    """Fix the platform of an export for several: the argument with its number becomes a constant, and is taken away."""
    for function in module.functions.values():
        attributes = function.attributes.get("arg_attrs") or []
        index = next((i for i, each in enumerate(attributes) if each.get("jax.global_constant") == "_platform_index"), None)
        if index is None or function.attributes.get("sym_visibility") == "private":
            continue
        block = function.regions[0].block
        argument = block.arguments[index]
        if not isinstance(argument.type, TensorType) or argument.type.shape != ():
            continue
        number = next((export.platforms.index(each) for each in _WANTED if each in export.platforms), 0)
        dense = Dense(SplatData(np.array(number, np.int32), ()), argument.type)
        constant = block.insert(Op("stablehlo.constant", (), [argument.type], {"value": dense}), block.first)
        argument.replace_all_uses_with(constant.results[0])
        block.erase_argument(index)
        function.attributes["arg_attrs"] = [each for i, each in enumerate(attributes) if i != index]
        update_function_type(function)
        if any(user.name == "func.call" for user in constant.results[0].uses):
            inline_calls(module)
        choose_branches(module)
