"""Reads StableHLO programs into the `stablehlo` dialect.

Text in generic form is read by core's own parser. All else goes through the bindings (`bindings.py`), which print
it in generic form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from transload.errors import ReadError
from transload.ir import Module, TensorType, dtype_of
from transload.ir.constants import ArrayData, Dense, ElidedData, LazyData, TensorData
from transload.ir.verify import check
from transload.plugin import Source
from transload.text import parse_attribute, parse_module
from transload.text.files import fix_inputs

from . import bindings

__all__ = ["detect", "read"]

_generic = re.compile(rb'"(?:builtin\.module|func\.func)"\s*\(')
_pretty = re.compile(rb"(?m)^\s*(?:module\b|func\.func\b)")


def detect(head: bytes, path: Path) -> bool:
    """Whether a file is StableHLO in a form that core's reader of MLIR text does not read."""
    if head.startswith(bindings.BYTECODE) or _find_artifact(head) is not None:
        return True
    if path.suffix == ".mlir":
        return not _generic.search(head)
    return b"stablehlo." in head


def _find_artifact(data: bytes) -> int | None:
    """Where, inside of a JAX export (a flatbuffer), the portable artifact begins: its length is before it."""
    match = bindings.artifact.search(data)
    return match.start() if match is not None and match.start() >= 4 else None


def read(source: Source, inputs: Mapping[str, TensorType]) -> Module:
    """The program as a module of the `stablehlo` dialect; `inputs` fixes dynamic sizes of its arguments."""
    data = bytes(source.data)
    if not data:
        raise ReadError(f"{source.name}: is empty")
    if not data.startswith(bindings.BYTECODE):
        at = _find_artifact(data)
        if at is not None:
            length = int.from_bytes(data[at - 4 : at], "little")
            if length > len(data) - at:
                raise ReadError(f"{source.name}: the program in it claims {length} bytes, and {len(data) - at} are there")
            data = data[at : at + length]
    module = _module_of(data, source.name)
    findings = check(module)
    if findings:
        raise ReadError(f"{source.name}: its ops break the rules of their dialects", findings)
    if not module.functions:
        raise ReadError(f"{source.name}: holds no function")
    if inputs:
        fix_inputs(module, inputs)
    return module


def _module_of(data: bytes, name: str) -> Module:
    ours = _is_generic(data) or (bindings.available() is not None and not _pretty.search(data))
    if ours and not data.startswith(bindings.BYTECODE):
        return parse_module(data, name=name)
    text, constants = bindings.generic_text(data, name)
    module = parse_module(text, name=name)
    _fill(module, constants, name)
    return module


def _is_generic(data: bytes) -> bool:
    """Whether text is in generic form throughout: no op of StableHLO or func stands without quotes."""
    return (
        _generic.search(data) is not None
        and re.search(rb"(?m)^[^\"\n]*(?:=\s*|^\s*)(?:stablehlo|chlo|vhlo|func)\.\w+[\s(]", data) is None
    )


def _fill(module: Module, constants: list[bindings.Constant], name: str) -> None:
    """Give the constants that the text left out their data."""
    ops = [op for op in module.walk() if op.name == "stablehlo.constant"]
    if len(ops) != len(constants):
        raise ReadError(f"{name}: has {len(constants)} constants, of which {len(ops)} were read")
    for op, constant in zip(ops, constants, strict=True):
        dense = op.attributes["value"]
        if isinstance(dense.data, ElidedData) and not (isinstance(constant, str) and "__elided__" in constant):
            # A new object: ops whose texts are alike share the one that was read.
            op.attributes["value"] = Dense(_data(constant, dense.type), dense.type)


def _data(constant: bindings.Constant, type_: TensorType) -> TensorData:
    """A constant's data: over the bindings' memory where numpy reads it so, else parsed from its text."""
    if isinstance(constant, str):
        return parse_attribute(constant).data
    dtype, array = dtype_of(type_.element), constant()
    shape = tuple(size or 0 for size in type_.shape or ())
    if array.dtype == dtype and array.shape == shape:
        return ArrayData(array)
    return LazyData(lambda: np.asarray(array).astype(dtype).reshape(shape), shape, dtype)
