"""TOSA files: MLIR text and a `.tosa` flatbuffer, for every tool chain that takes TOSA."""

from __future__ import annotations

from typing import Any

from transload import hookimpl


@hookimpl
def register_targets(register: Any) -> None:
    from .target import TosaTarget

    register(TosaTarget())


@hookimpl
def register_commands(register: Any) -> None:
    from .command import show

    register(("tosa-requirements", show))
