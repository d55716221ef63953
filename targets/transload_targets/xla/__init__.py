"""XLA, through jaxlib and PJRT: engines that compile modules and run them, and targets that write the programs."""

from __future__ import annotations

import os
from typing import Any

from transload import hookimpl
from transload.plugin import Engine, Runtime

_HERE = "transload_targets.xla"

# XLA reads this when it is imported; its start-up lines are no news to a user.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")


@hookimpl
def register_engines(register: Any) -> None:
    for name, prepare, available, doc in (
        ("xla", "prepare", "available", "XLA on the best device here: compiled, multi-threaded."),
        ("xla-cpu", "prepare_cpu", "available_cpu", "XLA on the CPU."),
        ("xla-gpu", "prepare_gpu", "available_gpu", "XLA on a GPU, through a PJRT plugin."),
        ("xla-tpu", "prepare_tpu", "available_tpu", "XLA on a TPU, through libtpu."),
        ("xla-plain", "prepare_plain", "available_cpu", "XLA on the CPU, the program unchanged: to judge others by."),
    ):
        register(Engine(
            name, f"{_HERE}.engine:{prepare}", doc, available=f"{_HERE}.platforms:{available}", compiles=name == "xla"))


@hookimpl
def register_targets(register: Any) -> None:
    from .platforms import PLATFORMS
    from .target import XlaTarget

    for platform in PLATFORMS:
        register(XlaTarget(platform))


@hookimpl
def register_runtimes(register: Any) -> None:
    register(Runtime(
        "xla", "stablehlo", f"{_HERE}.runtime:open_model", f"{_HERE}.platforms:available_cpu",
        "XLA on the CPU, the program unchanged: the judge of StableHLO models.", warm=f"{_HERE}.client:warm", functions=True,
        undefined=f"{_HERE}.undefined:undefined"))
