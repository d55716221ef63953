"""TensorFlow Lite for Microcontrollers: a model as an array of C, and a project around it."""

from __future__ import annotations

from typing import Any

from transload import hookimpl


@hookimpl
def register_targets(register: Any) -> None:
    from .target import TflmTarget

    register(TflmTarget())
