"""Our own reader of MLIR bytecode, of the dialects that StableHLO programs are made of.

    module, successors = read_bytecode(data)

It needs no bindings, checks every bound, and copies no constant: they are views of `data`. Where a file holds something
that it has no decoder for, it raises `UnknownConstruct`, and the bindings may do better.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from transload.ir.constants import Dense
from transload.ir.module import Module
from transload.ir.types import TensorType

from . import builtin, quant, sdy, stablehlo, upgrade, vhlo
from .container import MAGIC, Container
from .cursor import BytecodeError, UnknownConstruct
from .entries import Decoder, Entries
from .structure import Structure, Successors

__all__ = ["MAGIC", "BytecodeError", "ResourceData", "UnknownConstruct", "entries_of", "portable_version", "read_bytecode"]

_DECODERS: dict[str, tuple[Decoder, Decoder]] = {
    "builtin": (builtin.read_attribute, builtin.read_type),
    "quant": (quant.read_attribute, quant.read_type),
    "sdy": (sdy.read_attribute, sdy.read_type),
    "stablehlo": (stablehlo.read_attribute, stablehlo.read_type),
    "vhlo": (vhlo.read_attribute, vhlo.read_type),
}
_HEAD = re.compile(re.escape(MAGIC) + rb"(?:[^\0]|\0.{8})(StableHLO_v[^\0]{1,60})\0", re.DOTALL).match


def portable_version(data: memoryview) -> tuple[int, int, int] | None:
    """The version of StableHLO that a portable artifact is written in; None where the data is none."""
    match = _HEAD(data[:100])
    numbers = upgrade.PRODUCER(match[1].decode("utf-8", "replace")) if match is not None else None
    return (int(numbers[1]), int(numbers[2]), int(numbers[3])) if numbers is not None else None


class ResourceData(Protocol):
    """Data that a file's text had, and its bytecode has not."""

    def dense(self, type_: TensorType) -> Dense: ...


def read_bytecode(data: memoryview, resources: Mapping[str, ResourceData] | None = None) -> tuple[Module, Successors]:
    """The module in MLIR bytecode, and the blocks at which its operations go on (of unstructured control flow only).

    `resources` has the data of resources that are not in the file, by their keys. Raises `BytecodeError` where the data is
    damaged, `UnknownConstruct` where it is newer or of other dialects.
    """
    version = portable_version(data)
    if version is None or upgrade.OLDEST <= version[:2] <= upgrade.NEWEST:
        return _read(data, resources or {})
    shown, oldest, newest = (".".join(map(str, each)) for each in (version, upgrade.OLDEST, upgrade.NEWEST))
    hint = f"write it for {newest} or an older version (the target version of stablehlo-translate or of the exporter)"
    if not upgrade.OLDEST <= version[:2] < (upgrade.NEWEST[0] + 1, 0):
        raise UnknownConstruct(
            f"it is a portable artifact of StableHLO {shown}; versions {oldest} to {newest} are read", hint=hint)
    try:  # within a major version, what is known stays as it is, and what is new has new names and numbers
        return _read(data, resources or {})
    except UnknownConstruct as unknown:
        raise UnknownConstruct(
            f"it is a portable artifact of StableHLO {shown}, of which Transload knows what {newest} had: {unknown.message}",
            hint=hint) from None


def entries_of(container: Container, resources: Mapping[str, ResourceData] | None = None) -> Entries:
    """The attributes and types of a file, decoded when they are asked for."""
    return Entries(container, _DECODERS, builtin.read_location, resources or {})


def _read(data: memoryview, resources: Mapping[str, ResourceData]) -> tuple[Module, Successors]:
    container = Container(data)
    if any(op.dialect == "chlo" for op in container.ops):
        raise UnknownConstruct("it holds operations of CHLO, whose decompositions are those of the bindings")
    structure = Structure(container, entries_of(container, resources))
    try:
        return structure.read(), structure.successors
    except RecursionError:
        raise BytecodeError("the bytecode is nested too deep") from None
