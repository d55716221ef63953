"""Caffe: the dialect `caffe`, the reader of `.prototxt` and `.caffemodel`, its conversion to `top`, and OpenCV as the judge."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.plugin import Conversion, DialectSpec, Reader, Runtime

_HERE = "transload_converters.caffe"


@hookimpl
def register_dialects(register: Any) -> None:
    register(DialectSpec("caffe", f"{_HERE}.dialect:CAFFE", doc="The layers of Caffe and of its forks, one op each."))


@hookimpl
def register_readers(register: Any) -> None:
    register(Reader(
        "caffe", "caffe", (".prototxt", ".caffemodel"), f"{_HERE}.reader:read", f"{_HERE}.reader:detect",
        "Caffe's networks: text, with weights beside it, or both in one file.", weights=True))


@hookimpl
def register_conversions(register: Any) -> None:
    register(Conversion(
        "caffe-to-top", "caffe", "top", f"{_HERE}.legalize:TABLE", after="dce,recognize",
        doc="The layers of Caffe as hub operations, with Caffe's own arithmetic.", evidence=f"{_HERE}:coverage.json"))


@hookimpl
def register_runtimes(register: Any) -> None:
    register(Runtime(
        "opencv", "caffe", f"{_HERE}.runtime:open_model", f"{_HERE}.runtime:available", "OpenCV's networks on the CPU.",
        warm=f"{_HERE}.isolated:warm", undefined=f"{_HERE}.undefined:undefined", beside=True))
