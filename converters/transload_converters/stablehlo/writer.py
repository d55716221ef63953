"""Writes modules of the `stablehlo` dialect as portable artifacts, which newer versions of StableHLO go on reading."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from transload.errors import UsageError
from transload.files import atomic_path
from transload.ir import Module, Op
from transload.ir.attributes import OpaqueAttr, Symbol
from transload.ir.constants import Dense, ElidedData
from transload.ir.locations import OpaqueLocation
from transload.ir.types import FloatType, IntegerType, Type
from transload.text import print_module

from .bytecode.splice import Strange, spliced
from .worker import portable_artifact

__all__ = ["write"]

LARGE = 1 << 12
"""Bytes; larger constants do not go through text, nor through the bindings."""
_MOST_STAND_INS = 1 << 20
_VERSION = re.compile(r"\d+\.\d+\.\d+").fullmatch


def write(module: Module, path: Path, version: str | None = None) -> None:
    """Write a portable artifact; `version` is the oldest StableHLO that is to read it (`"1.0.0"`), the newest where None.

    Large constants are copied from where they lie into the file, and never held. Raises `UsageError` where the module holds
    constants without data, or something that the version has not.
    """
    if version is not None and not _VERSION(version):
        raise UsageError(f"a version of StableHLO is three numbers, such as 1.0.0, not {version!r}")
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        for piece in _artifact(module, str(path), version):
            file.write(piece)


def _artifact(module: Module, name: str, version: str | None) -> Iterable[bytes | memoryview]:
    """The artifact in pieces: written with stand-ins for large constants, which are put in their places."""
    text, constants = _as_text(module, _StandIns(module))
    data = portable_artifact(text, name, version)
    if not constants:
        return [data]
    try:
        return spliced(data, constants)
    except Strange:  # the bindings have made a constant that is the same as a stand-in
        return [portable_artifact(_as_text(module, None)[0], name, version)]


class _StandIns:
    """Constants of one number that no other constant of the type has, each given once."""

    def __init__(self, module: Module) -> None:
        self.taken: dict[Type, set[bytes]] = {}
        for op in module.walk():
            for value in op.attributes.values():
                splat = value.splat_value() if isinstance(value, Dense) else None  # which may be held as one number
                if splat is not None and isinstance(value, Dense):
                    self.taken.setdefault(value.type, set()).add(splat.tobytes())

    def next(self, value: Dense) -> tuple[bytes, str] | None:
        """The bytes of one number, and its text; None where no number is left, as of 8 bits."""
        width, taken = value.numpy().dtype.itemsize, self.taken.setdefault(value.type, set())
        for number in range(len(taken) + 1, min(_MOST_STAND_INS, 1 << 8 * width - 1)):
            data = number.to_bytes(width, "little")
            if data not in taken:
                taken.add(data)
                return data, f"0x{number:0{2 * width}X}" if isinstance(value.type.element, FloatType) else str(number)
        return None


def _as_text(module: Module, stand_ins: _StandIns | None) -> tuple[str, dict[tuple[Type, bytes], np.ndarray]]:
    """The module's text, with stand-ins for its large constants, and these by type and number."""
    replaced: dict[tuple[Type, bytes], np.ndarray] = {}
    copy = module.clone()
    for op in copy.walk():
        _prepare(op)
        value = op.attributes.get("value")
        if op.name != "stablehlo.constant" or not isinstance(value, Dense):
            continue
        if isinstance(value.data, ElidedData):
            raise UsageError(
                f"the data of constant {op.origin or op.results[0].type!s} was left out of the file that the module is from",
                hint="give a file that has its constants")
        if stand_ins is not None and value.nbytes > LARGE and _is_plain(value) and value.splat_value() is None:
            made = stand_ins.next(value)
            if made is not None:
                replaced[value.type, made[0]] = value.numpy()
                op.attributes["value"] = OpaqueAttr(f"dense<{made[1]}> : {value.type}")
    return print_module(copy), replaced


def _prepare(op: Op) -> None:
    """Leave out what artifacts have no place for, and say of what has no location that it has none.

    Annotations of other dialects (`mhlo.sharding`, `jax.result_info`) are kept where they are texts, numbers, types, names of
    functions, arrays, constants, without a value, and lists and dictionaries of these.
    """
    if op.location is None:
        op.location = _NOWHERE
    for region in op.regions:
        for block in region.blocks:
            for argument in block.arguments:
                if argument.location is None:
                    argument.location = _NOWHERE
    for key in [key for key, value in op.attributes.items() if "." in key and not _is_writable(value)]:
        del op.attributes[key]
    for key in ("arg_attrs", "res_attrs"):
        if key in op.attributes:
            op.attributes[key] = [
                {name: value for name, value in each.items() if _is_writable(value)} for each in op.attributes[key]]


_NOWHERE = OpaqueLocation("unknown")


def _is_writable(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_writable, value.values()))
    if isinstance(value, list):
        return all(map(_is_writable, value))
    if isinstance(value, str):
        return not (isinstance(value, Symbol) and "::" in value)  # of a symbol in another one artifacts have no form
    return value is None or isinstance(value, (bool, int, float, Type, tuple, Dense))


def _is_plain(value: Dense) -> bool:
    """Whether bytecode has the elements as numpy does: whole bytes each."""
    element = value.type.element
    return (isinstance(element, FloatType) and not element.name.startswith(("f4", "f6", "tf32"))) or (
        isinstance(element, IntegerType) and element.width in (8, 16, 32, 64))
