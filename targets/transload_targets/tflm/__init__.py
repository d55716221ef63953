"""TensorFlow Lite for Microcontrollers: a model as an array of C, and a project around it."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.plugin import Pass, Runtime

_HERE = "transload_targets.tflm"


@hookimpl
def register_targets(register: Any) -> None:
    from .target import TflmTarget

    register(TflmTarget())


@hookimpl
def register_passes(register: Any) -> None:
    register(Pass("tflm-write-otherwise", f"{_HERE}.kernels:write_otherwise",
                  "Write operators of floats that tflite-micro has no kernel of by those that it has.", ("tfl",), ("tfl",)))


@hookimpl
def register_runtimes(register: Any) -> None:
    register(Runtime(
        "tflite-micro", "tflite", f"{_HERE}.interpreter:open_source", f"{_HERE}.target:unavailable",
        "The interpreter of microcontrollers, for models that LiteRT does not run.", of_target="tflm"))
