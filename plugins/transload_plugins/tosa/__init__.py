"""TOSA: the dialect with its kernels, `.tosa` files, the lowering from `top`, and passes."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.plugin import Conversion, DialectSpec, Pass, Reader, Writer

_HERE = "transload_plugins.tosa"


@hookimpl
def register_dialects(register: Any) -> None:
    register(DialectSpec(
        "tosa", f"{_HERE}.dialect:TOSA", f"{_HERE}.kernels:KERNELS", "Tensor Operator Set Architecture 1.0 and 1.1."))


@hookimpl
def register_readers(register: Any) -> None:
    register(Reader("tosa", "tosa", (".tosa",), f"{_HERE}.flatbuffer.reader:read", f"{_HERE}.flatbuffer.reader:detect",
                    "TOSA flatbuffers, specification 1.0 and 1.1."))


@hookimpl
def register_writers(register: Any) -> None:
    register(Writer(
        "tosa", "tosa", (".tosa",), f"{_HERE}.flatbuffer.writer:write", "TOSA flatbuffers, specification 1.0 or 1.1."))


@hookimpl
def register_conversions(register: Any) -> None:
    register(Conversion("top-to-tosa", "top", "tosa", run=f"{_HERE}.lowering:lower", table=f"{_HERE}.lowering:TABLE",
                        doc="The hub to TOSA: float, and quantized with exact integer arithmetic."))


@hookimpl
def register_passes(register: Any) -> None:
    register(Pass("tosa-canonicalize", f"{_HERE}.canonicalize:canonicalize_tosa",
                  "Remove reshapes, transposes, casts and rescales that do nothing or cancel.", ("tosa",), ("tosa",)))
