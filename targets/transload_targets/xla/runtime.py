"""XLA as the judge of StableHLO models: the program as its file has it, compiled for the CPU with nothing rewritten."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["open_model"]


def open_model(path: str | Path) -> Callable[..., dict[str, np.ndarray]]:
    """`run(inputs, keep=False)` for a model: outputs by name, in order; with `keep`, every named intermediate before them.

    Raises `ReadError` where the file cannot be read, `RunError` where XLA refuses the program or the inputs.
    """
    from transload.api import load

    from .engine import Execute, prepare_plain

    made: dict[tuple[Any, ...], Execute] = {}

    def run(inputs: Mapping[str, np.ndarray], keep: bool = False) -> dict[str, np.ndarray]:
        shapes = {name: tuple(np.shape(array)) for name, array in inputs.items()}
        key = tuple(shapes.items())
        if key not in made:
            made[key] = prepare_plain(load(path, format="stablehlo", inputs=shapes))
        return made[key](inputs, keep)

    return run
