"""jaxlib, in a process of its own: whether it takes a program of MLIR, what it makes of one, and what XLA computes by it.

Programs that are changed at random end MLIR now and then; `JUDGE.call` then raises `ChildEnded`, and starts another.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from transload.worker import Worker

JUDGE = Worker("jaxlib", needs=(
    "tests", "transload_converters", "transload_plugins", "transload_targets", "numpy", "ml_dtypes", "jaxlib"))
SECONDS = 60.0


def verdict(program: str | bytes) -> tuple[str, str]:
    """Why jaxlib refuses a program (text, bytecode, an artifact), or "", and its text in generic form, without locations."""
    return tuple(JUDGE.call("tests.support.jaxlib_judge:_verdict", program, within=SECONDS))


def artifact(text: str) -> tuple[str, bytes]:
    """Why jaxlib does not write a program as a portable artifact, or "", and the artifact."""
    return tuple(JUDGE.call("tests.support.jaxlib_judge:_artifact", text, within=SECONDS))


def computed(text: str, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What XLA computes on this CPU by function `main` of a program that it is given as it is; `RunError` where it does not."""
    return list(JUDGE.call("tests.support.jaxlib_judge:_computed", text, list(arrays), within=SECONDS))


# --- in that process


@lru_cache(maxsize=1)
def _context() -> Any:
    from transload_converters.stablehlo import bindings

    return bindings._context()


def _parsed(program: str | bytes) -> Any:
    from transload_converters.stablehlo import bindings

    ir, _, stablehlo, _ = bindings._modules()
    with _context(), ir.Location.unknown():
        if isinstance(program, bytes) and b"StableHLO_v" in program[:40]:
            return stablehlo.deserialize_portable_artifact(_context(), program)
        return ir.Module.parse(program)


def _verdict(program: str | bytes) -> tuple[str, str]:
    try:
        module = _parsed(program)
    except Exception as error:  # MLIRError, ValueError: what jaxlib says is the verdict
        return str(error) or type(error).__name__, ""
    with _context():
        text = str(module.operation.get_asm(print_generic_op_form=True))
        return "", "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#loc"))


def _artifact(text: str) -> tuple[str, bytes]:
    from transload_converters.stablehlo import bindings

    module = _parsed(text)
    with _context():
        try:
            return "", bytes(bindings._modules()[2].serialize_portable_artifact(module, bindings.version()))
        except Exception as error:  # ValueError: something that artifacts have no form for
            return str(error) or type(error).__name__, b""


def _computed(text: str, arrays: list[np.ndarray]) -> list[np.ndarray]:
    from transload_targets.xla.client import Program

    return Program(text, "the judge", "cpu")(arrays)
