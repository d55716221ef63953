"""PyTorch on the CPU: what a program computes, by its own framework.

`torch.export.load` is not used: it unpickles, and evaluates text of the file as Python. The calls of the program are done one
after the other by `session`, with the kernels that PyTorch has for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from transload.worker import Remote

from .isolated import TORCH, warm

__all__ = ["available", "open_model", "warm"]


def available() -> str | None:
    """None, or what to install."""
    return None if find_spec("torch") is not None else "the package 'torch' is not installed: pip install 'transload[pytorch]'"


def open_model(path: str | Path) -> Callable[..., dict[str, np.ndarray]]:
    """`run(inputs, keep=False)` for a program: outputs by name, in order; with `keep`, every tensor in it before them.

    It runs in a process of its own. Raises `RunError` where PyTorch refuses the program or the inputs.
    """
    file = Path(path)
    there: list[Remote] = []

    def run(inputs: Mapping[str, np.ndarray], keep: bool = False) -> dict[str, np.ndarray]:
        if not there:
            there.append(TORCH.open("transload_converters.pytorch.session:Session", str(file.resolve()), str(file)))
        found: dict[str, np.ndarray] = there[0](dict(inputs), keep)
        return found

    return run
