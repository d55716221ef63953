"""TensorFlow, in a process of its own: what a model computes by its own framework.

Whatever form a file has, a session runs its graph: what is fetched and fed are tensors by their names, so that a graph,
a SavedModel of either kind, and a meta graph are judged alike, and intermediate values can be had by the names of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from transload.plugin import Source
from transload.worker import Remote, Worker

__all__ = ["TENSORFLOW", "available", "open_model", "warm"]

TENSORFLOW = Worker(
    "the process of TensorFlow", needs=("transload_converters", "numpy", "ml_dtypes", "pluggy", "tensorflow"),
    first=("transload_converters.tensorflow.session",))


def available() -> str | None:
    """None, or what to install."""
    return None if find_spec("tensorflow") is not None else "the package 'tensorflow' is not installed: pip install tensorflow"


def warm() -> None:
    """Start the process: importing TensorFlow takes seconds."""
    if available() is None:
        TENSORFLOW.start()


def open_model(path: str | Path, function: str = "main") -> Callable[..., dict[str, np.ndarray]]:
    """`run(inputs, keep=False, outputs=())` for a model: outputs by name, in order, or the tensors that are asked for as
    `outputs`; with `keep`, what nodes give before them. `function` is the signature that is run; main: the default one.

    Inputs that are states are what its variables hold before the run, and outputs of theirs what they hold after it.
    Raises `ReadError` where the file is none that is read here, `RunError` where TensorFlow refuses it or the inputs.
    """
    from .reader import outline

    file = Path(path)
    there: dict[tuple[tuple[str, ...], tuple[str, ...]], Remote] = {}

    def run(
        inputs: Mapping[str, np.ndarray], keep: bool = False, outputs: Sequence[str] = (),
    ) -> dict[str, np.ndarray]:
        key = tuple(sorted(inputs)), tuple(outputs)
        if key not in there:
            names = outline(Source(file, name=str(file), function=function), inputs, outputs)
            there[key] = TENSORFLOW.open(
                "transload_converters.tensorflow.session:Session", str(file.resolve()), str(file), *names, bool(outputs))
        found: dict[str, np.ndarray] = there[key](dict(inputs), keep)
        return found

    return run
