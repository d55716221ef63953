"""Writes modules of the `stablehlo` dialect as portable artifacts, which newer versions of StableHLO go on reading."""

from __future__ import annotations

import re
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

from .worker import portable_artifact

__all__ = ["write"]

LARGE = 1 << 12
"""Bytes; larger constants do not go through text."""
_VERSION = re.compile(r"\d+\.\d+\.\d+").fullmatch


def write(module: Module, path: Path, version: str | None = None) -> None:
    """Write a portable artifact; `version` is the oldest StableHLO that is to read it (`"1.0.0"`), the newest where None.

    Raises `UsageError` where the module holds constants without data, or something that the version has not.
    """
    if version is not None and not _VERSION(version):
        raise UsageError(f"a version of StableHLO is three numbers, such as 1.0.0, not {version!r}")
    text, constants = _as_text(module)
    data = portable_artifact(text, str(path), version, constants)
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def _as_text(module: Module) -> tuple[str, dict[str, np.ndarray]]:
    """The module's text, with resources in the places of its large constants, and these by key."""
    taken: dict[str, np.ndarray] = {}
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
        if value.nbytes > LARGE and _is_plain(value) and value.splat_value() is None:
            key = f"constant_{len(taken)}"
            taken[key] = np.ascontiguousarray(value.numpy())
            op.attributes["value"] = OpaqueAttr(f"dense_resource<{key}> : {value.type}")
    return print_module(copy), taken


def _prepare(op: Op) -> None:
    """Leave out what artifacts have no place for, and say of what has no location that it has none.

    Annotations of other dialects (`mhlo.sharding`, `jax.result_info`) are kept where they are texts, numbers, types, and
    lists and dictionaries of these.
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
    return isinstance(value, (bool, int, float, Type)) or (isinstance(value, str) and not isinstance(value, Symbol))


def _is_plain(value: Dense) -> bool:
    """Whether the bindings take the array as it is: numbers that numpy has by itself."""
    element = value.type.element
    return (isinstance(element, FloatType) and element.name in ("f16", "f32", "f64")) or (
        isinstance(element, IntegerType) and element.width in (8, 16, 32, 64))
