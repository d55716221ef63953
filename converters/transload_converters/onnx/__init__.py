"""ONNX: the `onnx` dialect, the reader of `.onnx` files, the conversion to `top`, and onnxruntime as the judge."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.plugin import Conversion, DialectSpec, Reader, Runtime

_HERE = "transload_converters.onnx"


@hookimpl
def register_dialects(register: Any) -> None:
    register(DialectSpec("onnx", f"{_HERE}.dialect:ONNX", doc="Operators of ONNX, opset 7 and later, one op each."))


@hookimpl
def register_readers(register: Any) -> None:
    register(Reader(
        "onnx", "onnx", (".onnx",), f"{_HERE}.reader:read", f"{_HERE}.wire:detect",
        "ONNX models, weights inside or in external files beside them."))


@hookimpl
def register_conversions(register: Any) -> None:
    register(Conversion(
        "onnx-to-top", "onnx", "top", f"{_HERE}.legalize:legalize", f"{_HERE}.legalize:TABLE",
        doc="ONNX operators to the hub; shape arithmetic is computed, QDQ patterns become quantized ops."))


@hookimpl
def register_runtimes(register: Any) -> None:
    register(Runtime(
        "onnxruntime", "onnx", f"{_HERE}.runtime:open_model", f"{_HERE}.runtime:available",
        "onnxruntime on the CPU, graph optimizations off.",
        f"{_HERE}.runtime:alternatives", f"{_HERE}.runtime:warm"))
