"""TOSA: the dialect with its kernels, `.tosa` files, the lowering from `top`, and passes."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.facts import Facts
from transload.plugin import Conversion, DialectSpec, Pass, Reader, Writer

_HERE = "transload_plugins.tosa"


@hookimpl
def register_dialects(register: Any) -> None:
    register(DialectSpec(
        "tosa", f"{_HERE}.dialect:TOSA", f"{_HERE}.kernels:KERNELS", "Tensor Operator Set Architecture 1.0 and 1.1."))
    register(DialectSpec(
        "tosa030", f"{_HERE}.v030.dialect:TOSA030", f"{_HERE}.v030.kernels:KERNELS", "Tensor Operator Set Architecture 0.30."))


@hookimpl
def register_facts(register: Any) -> None:
    register(Facts("moves", "tosa", f"{_HERE}.facts:MOVES"))
    register(Facts("indices", "tosa", f"{_HERE}.facts:INDICES"))
    register(Facts("cast", "tosa", f"{_HERE}.facts:CASTS"))
    register(Facts("control", "tosa", f"{_HERE}.facts:CONTROL"))


@hookimpl
def register_readers(register: Any) -> None:
    register(Reader("tosa", "tosa", (".tosa",), f"{_HERE}.flatbuffer.reader:read", f"{_HERE}.flatbuffer.reader:detect",
                    "TOSA flatbuffers, specification 1.0 and 1.1."))
    register(Reader("tosa-0.30", "tosa030", (), f"{_HERE}.v030.text:read", None,
                    "MLIR text of TOSA 0.30, as MLIR wrote it at that time (say --format tosa-0.30)."))


@hookimpl
def register_writers(register: Any) -> None:
    register(Writer(
        "tosa", "tosa", (".tosa",), f"{_HERE}.flatbuffer.writer:write", "TOSA flatbuffers, specification 1.0 or 1.1."))
    register(Writer(
        "tosa-0.30", "tosa030", (), f"{_HERE}.v030.text:write", "MLIR text of TOSA 0.30, as MLIR wrote it at that time."))


@hookimpl
def register_conversions(register: Any) -> None:
    register(Conversion("top-to-tosa", "top", "tosa", run=f"{_HERE}.lowering:lower", table=f"{_HERE}.lowering:TABLE",
                        doc="The hub to TOSA: float, and quantized with exact integer arithmetic.", options={
        "int64": (("proved", "assumed"), "proved",
                  "64-bit integers become 32-bit ones where that is proved to change no number, or wherever it may be so"),
        "f64": (("narrowed", "refused"), "narrowed", "f64 becomes f32, which is noted, or is refused")}))
    register(Conversion("tosa030-to-tosa", "tosa030", "tosa", run=f"{_HERE}.v030.upgrade:upgrade",
                        table=f"{_HERE}.v030.upgrade:TABLE", doc="TOSA 0.30 to 1.0: attributes become operands."))
    register(Conversion("tosa-to-tosa030", "tosa", "tosa030", run=f"{_HERE}.v030.downgrade:downgrade",
                        table=f"{_HERE}.v030.downgrade:TABLE", doc="TOSA 1.0 to 0.30, where it can be said."))


@hookimpl
def register_passes(register: Any) -> None:
    register(Pass("tosa-canonicalize", f"{_HERE}.canonicalize:canonicalize_tosa",
                  "Remove reshapes, transposes, casts and rescales that do nothing or cancel.", ("tosa",), ("tosa",)))
