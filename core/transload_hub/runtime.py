"""What judges a module of the hub that is read from text: what its ops say, by the reference engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import transload
from transload.api import engine_for
from transload.contents import dialects_in
from transload.errors import RunError
from transload.ir import initial_states
from transload.meanings import as_stored

__all__ = ["available", "open_module"]

Run = Callable[..., dict[str, np.ndarray]]


def available() -> str | None:
    """Nothing has to be installed."""
    return None


def open_module(path: Path, function: str = "main") -> Run:
    """What runs a function of a module of `top` as it stands in its file, and gives its outputs without its states.

    As it runs, it raises `RunError` for a module of another dialect, which is defined elsewhere.
    """

    @cache
    def prepared(shapes: tuple[tuple[str, tuple[int, ...]], ...]) -> tuple[transload.Module, Any]:
        module = transload.load(path, format="mlir", inputs=dict(shapes), function=None if function == "main" else function)
        if others := sorted({*dialects_in(module)} - {"top"}):
            raise RunError(
                f"{path} has ops of {', '.join(others)}, and only what is of the hub ('top') says what it "
                "computes; where it is the beginning of a model, `transload convert MODEL --outputs NAMES` judges it by the "
                "model's own file")
        return module, engine_for("reference")(module, "main")

    def run(given: Mapping[str, np.ndarray], keep: bool = False) -> dict[str, np.ndarray]:
        module, execute = prepared(tuple((name, np.shape(array)) for name, array in given.items()))
        found: dict[str, np.ndarray] = execute({**as_stored(initial_states(module), module.inputs), **given}, keep)
        return found if keep else dict(islice(found.items(), len(found) - len(module.states)))

    return run
