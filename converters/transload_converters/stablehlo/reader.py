"""Reads StableHLO programs into the `stablehlo` dialect.

Bytecode and portable artifacts are read by our own reader (`bytecode`), text in generic form by core's parser; the bindings
(`bindings`) do the rest: they turn pretty text into bytecode. What other dialects brought along is lowered (`foreign`), and
jumps become regions (`control_flow`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from transload.errors import ForeignContent, ReadError, UsageError
from transload.files import is_binary
from transload.ir import Module, TensorType
from transload.ir.names import tell_apart
from transload.ir.verify import check
from transload.plugin import Source
from transload.shell import quoted
from transload.text import files, parse_module
from transload.text.files import fix_inputs

from . import bindings, worker
from .bytecode import MAGIC, UnknownConstruct, portable_version, read_bytecode
from .bytecode.structure import Successors
from .control_flow import structure_control_flow
from .exports import choose_platform, find_export
from .foreign import lower_foreign
from .globals_text import to_generic_globals
from .large_text import Blob, cut_blobs
from .refine import refine
from .spread import tell_devices

__all__ = ["detect", "read"]

_generic = re.compile(rb'"(?:builtin\.module|func\.func)"\s*\(')
_pretty = re.compile(rb"(?m)^\s*(?:module\b|func\.func\b)")
_operation = re.compile(rb"(?m)^[^\"\n]*(?:=\s*|^\s*)(?:stablehlo|chlo|vhlo|func|arith|cf|tensor|sdy|util|ml_program)\.\w+[\s(]")
_HEAD = 4096
_jumps = re.compile(rb'"(?:(?:cf|chlo|vhlo)\.\w+|sdy\.(?!mesh")\w+)"\s*\(')


def detect(head: bytes, path: Path) -> bool:
    """Whether a file is StableHLO in a form that core's reader of MLIR text does not read."""
    if head.startswith(MAGIC) or b"StableHLO_v" in head:
        return True
    if path.suffix == ".mlir":
        return not is_binary(head) and not files.detect(head, path)
    return b"stablehlo." in head and not _is_json(head)


def _is_json(head: bytes) -> bool:
    """Whether a text begins as JSON, which may name ops: in MLIR a brace comes first for resources alone."""
    start = head.lstrip()
    return start.startswith((b"{", b"[")) and not start.startswith(b"{-#")


def read(source: Source, inputs: Mapping[str, TensorType]) -> Module:
    """The program as a module of the `stablehlo` dialect; `inputs` fixes dynamic sizes of its arguments."""
    data, name = source.data, source.name
    if not len(data):
        raise ReadError(f"{name}: is empty")
    if bytes(data[:4]) == MAGIC:
        module = _from_bytecode(data, name)
    elif (export := find_export(data, name)) is not None:
        module = _from_bytecode(export.program, name)
        choose_platform(module, export)
    else:
        module = _from_text(data, name)
    findings = check(module, inferred=False)
    if findings:
        raise ReadError(f"{name}: its ops break the rules of their dialects", findings)
    if not module.functions:
        raise ReadError(f"{name}: holds no function")
    if fix_inputs(module, inputs, source.function or "main", name):
        _refine(module, name)
    tell_apart(module)
    tell_devices(module)
    return module


def _refine(module: Module, name: str) -> None:
    """`refine`, with what to say where an export does not take the sizes of its inputs."""
    try:
        refine(module)
    except UsageError as error:
        shapes = [f"--shape {quoted(f'{key}:' + 'x'.join(map(str, type_.shape)))}" for key, type_ in module.inputs.items()
                  if isinstance(type_, TensorType) and type_.shape]
        raise UsageError(f"{name}: {error.message}", hint=f"its inputs were read as {' '.join(shapes)}: say others") from None


# --- bytecode


def _from_bytecode(data: memoryview, name: str) -> Module:
    """By our own reader; what it does not know, by the bindings where they are."""
    try:
        return _finished(*read_bytecode(data), name)
    except UnknownConstruct as unknown:
        if bindings.available() is not None:
            hint = unknown.hint or f"jaxlib may read it: {bindings.available()}"
            raise ReadError(f"{name}: {unknown.message}", hint=hint) from None
        version = portable_version(data)
        if version is not None and version > bindings.numbers(bindings.version()):
            raise ReadError(f"{name}: {unknown.message}", hint=unknown.hint) from None
    except ReadError as error:
        if error.message.startswith(name):
            raise
        raise ReadError(f"{name}: {error.message}", error.findings, error.hint) from None
    return _finished(*_trusted(worker.bytecode_of(data, name), name, {}), name)


def _trusted(data: bytes, name: str, blobs: Mapping[str, Blob]) -> tuple[Module, Successors]:
    """Bytecode that the bindings wrote."""
    try:
        return read_bytecode(memoryview(data), blobs)
    except ReadError as error:
        raise ReadError(f"{name}: {error.message}", error.findings, error.hint) from None


def _finished(module: Module, successors: Successors, name: str) -> Module:
    lower_foreign(module, name)
    structure_control_flow(module, successors, name)
    return module


# --- text


def _from_text(data: memoryview, name: str) -> Module:
    if is_binary(bytes(data[:_HEAD])):
        raise ForeignContent(f"{name}: is neither text nor MLIR bytecode")
    text, blobs = cut_blobs(data, name)
    ours = _is_generic(text) or (bindings.available() is not None and not _pretty.search(text))
    if ours and not blobs:
        return _finished(parse_module(text, name=name), {}, name)
    if ours and bindings.available() is not None:
        return _finished(parse_module(data, name=name), {}, name)
    if bindings.available() is not None:
        raise ReadError(f"{name}: text in pretty form needs the bindings: {bindings.available()}",
                        hint="or print it in generic form (--mlir-print-op-generic), which needs nothing")
    program = worker.bytecode_of(to_generic_globals(text), name)
    return _finished(*_trusted(program, name, blobs), name)


def _is_generic(text: bytes) -> bool:
    """Whether text is in generic form throughout, and core's parser reads it: no jumps, CHLO or shardings."""
    return _generic.search(text) is not None and _operation.search(text) is None and _jumps.search(text) is None
