"""Arm Ethos-U NPUs, through Arm's Vela compiler: `ethos-u55-128`, `ethos-u65-512`, `ethos-u85-256`, ..."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.plugin import Pass


@hookimpl
def register_passes(register: Any) -> None:
    register(Pass("ethosu-keep-widening", "transload_targets.ethosu.widening:keep_widening",
                  "Keep 8-bit numbers that become 16-bit ones apart from convolutions, on Ethos-U85.", ("tosa",), ("tosa",)))


@hookimpl
def register_targets(register: Any) -> None:
    from .accelerators import ACCELERATORS
    from .target import EthosU

    for accelerator in ACCELERATORS:
        register(EthosU(accelerator))
