"""OpenVINO: intermediate representation (`.xml`, `.bin`) for Intel's CPUs, GPUs and NPUs, and for Arm's CPUs."""

from __future__ import annotations

from typing import Any

from transload import hookimpl


@hookimpl
def register_targets(register: Any) -> None:
    from .target import OpenvinoTarget

    register(OpenvinoTarget())
