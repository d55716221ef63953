"""Running the file of a module whose ops mean what our kernels compute, as the runtime that judges conversions of it.

A dialect's plugin makes a `Runtime` of this where nothing outside defines its ops, or its kernels are known to give what
that does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from .api import engine_for, load
from .contents import dialects_in
from .engine.anew import begun_anew
from .errors import RunError
from .ir import Module, initial_states
from .meanings import as_stored

__all__ = ["Run", "always", "open_by_kernels"]

Run = Callable[..., dict[str, np.ndarray]]


def always() -> str | None:
    """Nothing has to be installed."""
    return None


def open_by_kernels(path: Path, function: str, *, dialect: str, format: str) -> Run:
    """What runs a function of a module as it stands in its file, by the reference engine.

    `format` is the file's reader. Outputs are without the states. Each run is a first one: variables begin with their
    initial values. As it runs, it raises `RunError` for a module with ops of other dialects, which are defined elsewhere.
    """

    @cache
    def prepared(shapes: tuple[tuple[str, tuple[int, ...]], ...]) -> tuple[Module, Any]:
        module = load(path, format=format, inputs=dict(shapes), function=None if function == "main" else function)
        if others := sorted({*dialects_in(module)} - {dialect}):
            raise RunError(
                f"{path} has ops of {', '.join(others)}, and only what is of {dialect!r} says here what it "
                "computes; where it is the beginning of a model, `transload convert MODEL --outputs NAMES` judges it by the "
                "model's own file")
        return module, engine_for("reference")(module, "main")

    def run(given: Mapping[str, np.ndarray], keep: bool = False) -> dict[str, np.ndarray]:
        module, execute = prepared(tuple((name, np.shape(array)) for name, array in given.items()))
        with begun_anew():
            found: dict[str, np.ndarray] = execute({**as_stored(initial_states(module), module.inputs), **given}, keep)
        return found if keep else dict(islice(found.items(), len(found) - len(module.states)))

    return run
