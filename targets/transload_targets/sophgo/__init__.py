"""Sophgo's tensor processors by way of TPU-MLIR: its Top dialect as text and weights, its compiler, its simulator."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.plugin import ForeignFormat


@hookimpl
def register_targets(register: Any) -> None:
    from .target import SophgoTarget

    register(SophgoTarget())


@hookimpl
def register_formats(register: Any) -> None:
    register(ForeignFormat(
        "tpu-mlir", "TPU-MLIR's Top text (for its model_deploy and model_runner)",
        "where `transload convert --target sophgo` wrote it, the model lies beside it: `transload run {folder}` runs that",
        (".mlir",), "transload_targets.sophgo.text:is_text"))
