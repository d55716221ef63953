"""IREE's compiler and runtime, asked from here: they work in processes of their own, within limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transload.budget import timed
from transload.errors import RunError, TargetError
from transload.worker import ChildEnded, Worker

__all__ = ["compiled", "complaints", "open_program", "why_nothing"]

_COMPILER = Worker("IREE's compiler", needs=("transload_targets", "numpy"))
_RUNTIME = Worker("IREE", needs=("transload_targets", "numpy", "ml_dtypes"))
_HERE = "transload_targets.iree"
_SUM = (b"func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {\n  %0 = stablehlo.add %a, %a : tensor<4xi32>\n"
        b"  return %0 : tensor<4xi32>\n}\n")
"""A program that every device has."""


def complaints(program: bytes, flags: Sequence[str]) -> list[list[Any]]:
    """`compiler.complaints`, there; a program that ends the process is refused, too."""
    try:
        found: list[list[Any]] = _COMPILER.call(f"{_HERE}.compiler:complaints", program, list(flags))
    except ChildEnded as error:
        return [[error.message, []]]
    return found


def compiled(program: bytes, flags: Sequence[str]) -> tuple[bytes | None, list[list[Any]]]:
    """`compiler.compile_program`, there: the code or None, and what was said. `TargetError` where the compiler falls over."""
    try:
        with timed():
            made = _COMPILER.call(f"{_HERE}.compiler:compile_program", program, list(flags))
    except ChildEnded as error:
        raise TargetError(
            f"the program could not be compiled: {error.message}", hint=f"IREE's flags were {' '.join(flags)}") from None
    return made["code"], made["said"]


def why_nothing(flags: Sequence[str]) -> str:
    """Why IREE compiles with flags not even a sum: the flags are wrong, and no model is. Empty where it compiles that."""
    try:
        code, said = compiled(_SUM, flags)
    except TargetError as error:
        return error.message
    return str(said[0][0]) if code is None else ""


def open_program(path: Path, driver: str) -> Any:
    """What runs a compiled program: `run(arrays)` gives arrays. Raises `RunError` where there is no such device."""
    try:
        return _RUNTIME.open(f"{_HERE}.runtime:Session", str(path.resolve()), driver)
    except ChildEnded as error:
        raise RunError(f"{path}: {error.message}") from None
