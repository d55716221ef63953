"""Keras, on TensorFlow, in a process of its own: what a model computes by its own framework.

Keras is asked to run no code of a file (`safe_mode`), and is given none: what our own reader refuses, it is not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from transload.plugin import Source
from transload.worker import Remote, Worker

__all__ = ["KERAS", "available", "open_model", "warm"]

KERAS = Worker(
    "the process of Keras", needs=("transload_converters", "numpy", "ml_dtypes", "pluggy", "tensorflow", "keras"),
    first=("transload_converters.tensorflow.keras.session",))


def available() -> str | None:
    """None, or what to install."""
    missing = next((name for name in ("tensorflow", "keras") if find_spec(name) is None), None)
    return None if missing is None else f"the package {missing!r} is not installed: pip install tensorflow"


def warm() -> None:
    """Start the process: importing TensorFlow takes seconds."""
    if available() is None:
        KERAS.start()


def open_model(path: str | Path) -> Callable[..., dict[str, np.ndarray]]:
    """`run(inputs, keep=False)` for a model: outputs by name, in order; with `keep`, what each layer gives before them.

    Raises `ReadError` where the file is none that is read here, `RunError` where Keras refuses it or the inputs.
    """
    from .reader import outline

    file = Path(path)
    there: list[Remote] = []

    def run(inputs: Mapping[str, np.ndarray], keep: bool = False) -> dict[str, np.ndarray]:
        if not there:
            names = outline(Source(file, name=str(file)))
            there.append(KERAS.open(
                "transload_converters.tensorflow.keras.session:Session", str(file.resolve()), str(file), *map(list, names)))
        found: dict[str, np.ndarray] = there[0](dict(inputs), keep)
        return found

    return run
