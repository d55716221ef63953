"""XLA as the judge of StableHLO models: the program as its file has it, compiled for the CPU with nothing rewritten."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["open_model"]


def open_model(path: str | Path, function: str = "main") -> Callable[..., dict[str, np.ndarray]]:
    """`run(inputs, keep=False)` for a function of a file: outputs by name, in order; with `keep`, named tensors before them.

    Raises `ReadError` where the file cannot be read, `RunError` where XLA refuses the program or the inputs.
    """
    from transload.api import load_artifact

    from .engine import Execute, prepare_plain

    made: dict[tuple[Any, ...], Execute] = {}

    def run(inputs: Mapping[str, np.ndarray], keep: bool = False) -> dict[str, np.ndarray]:
        shapes = {name: tuple(np.shape(array)) for name, array in inputs.items()}
        key = tuple(shapes.items())
        if key not in made:
            named = None if function == "main" else function
            made[key] = prepare_plain(load_artifact(path, format="stablehlo", inputs=shapes, function=named))
        return made[key](inputs, keep)

    return run
