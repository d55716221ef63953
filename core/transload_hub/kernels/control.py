"""Kernels: control flow. `run(region, *arrays)` executes a region and gives what it yields."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.engine.custom import run_custom
from transload.plugin import KernelTable

from .common import Array

if TYPE_CHECKING:
    from ..ops.control import Custom, If, While

__all__ = ["KERNELS"]

KERNELS = KernelTable()


def _holds(condition: Array) -> bool:
    return bool(np.asarray(condition).reshape(-1)[0])


@KERNELS("top.If", quantized="native")
def if_(op: If, condition: Array, *, run: Callable[..., list[Array]]) -> tuple[Array, ...]:
    return tuple(run(op.then_region if _holds(condition) else op.else_region))


@KERNELS("top.While", quantized="native")
def while_(op: While, *inputs: Array, run: Callable[..., list[Array]]) -> tuple[Array, ...]:
    state = list(inputs)
    while _holds(run(op.cond, *state)[0]):
        state = run(op.body, *state)
    return tuple(state)


@KERNELS("top.Custom", quantized="native")
def custom(op: Custom, *inputs: Array) -> Any:
    return run_custom(op, op.attribute("name"), op.options or {}, inputs)
