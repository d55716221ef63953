"""TensorFlow Lite: the reader of `.tflite` files, the dialect `tfl`, its legalization to `top`, and the LiteRT runtime."""

from __future__ import annotations

from typing import Any

from transload.hookspecs import hookimpl
from transload.plugin import Conversion, DialectSpec, Reader, Runtime

from .choices import OPTIONS

_HERE = "transload_converters.tflite"


@hookimpl
def register_dialects(register: Any) -> None:
    register(DialectSpec("tfl", f"{_HERE}.dialect:TFL", doc="The builtin operators of TensorFlow Lite."))
    register(DialectSpec(
        "tflite", f"{_HERE}.postprocess:TFLITE", f"{_HERE}.postprocess:KERNELS", "What TFLite's custom operations compute."))


@hookimpl
def register_readers(register: Any) -> None:
    register(Reader(
        "tflite", "tfl", (".tflite",), f"{_HERE}.reader:read", f"{_HERE}.reader:detect", "TensorFlow Lite models."))


@hookimpl
def register_conversions(register: Any) -> None:
    register(Conversion(
        "tfl-to-top", "tfl", "top", f"{_HERE}.legalize:legalize", f"{_HERE}.legalize:TABLE",
        doc="The operators of TensorFlow Lite as hub operations.", options=OPTIONS,
        evidence=f"{_HERE}:coverage.json"))


@hookimpl
def register_runtimes(register: Any) -> None:
    register(Runtime(
        "litert", "tflite", f"{_HERE}.runtime:open_model", f"{_HERE}.runtime:available", "LiteRT's reference kernels.",
        warm=f"{_HERE}.runtime:warm"))
