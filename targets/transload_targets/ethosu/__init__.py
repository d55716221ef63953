"""Arm Ethos-U NPUs, through Arm's Vela compiler: `ethos-u55-128`, `ethos-u65-512`, `ethos-u85-256`, ..."""

from __future__ import annotations

from typing import Any

from transload import hookimpl


@hookimpl
def register_targets(register: Any) -> None:
    from .accelerators import ACCELERATORS
    from .target import EthosU

    for accelerator in ACCELERATORS:
        register(EthosU(accelerator))
