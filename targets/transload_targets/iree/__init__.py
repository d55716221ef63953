"""IREE: programs compiled for CPUs, and for GPUs through CUDA, ROCm and Vulkan, as `.vmfb` modules for its runtime."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.plugin import Pass


@hookimpl
def register_passes(register: Any) -> None:
    register(Pass("iree-order-equal-elements", "transload_targets.iree.sorts:order_equal_elements",
                  "Have stable sorts compare the places of equal elements: IREE's own sorts exchange these.", ("stablehlo",),
                  ("stablehlo",)))
    register(Pass("iree-special-numbers", "transload_targets.iree.special_numbers:write_out_special_numbers",
                  "Write out powers, angles and roots where IREE's own formulas give NaN.", ("stablehlo",),
                  ("stablehlo",)))
    register(Pass("iree-cut-leftovers", "transload_targets.iree.leftovers:cut_leftovers",
                  "Cut off rows and columns that no window reaches where one window is all that fits: IREE refuses them.",
                  ("stablehlo",), ("stablehlo",)))


@hookimpl
def register_targets(register: Any) -> None:
    from .backends import BACKENDS
    from .target import IreeTarget

    for backend in BACKENDS:
        register(IreeTarget(backend))
