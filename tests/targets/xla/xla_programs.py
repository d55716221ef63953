"""Programs for the tests of the XLA engines: functions of StableHLO put together from lines of text."""

from __future__ import annotations

from typing import Any

import numpy as np

import transload
from transload.ir import Module


def tensor(shape: tuple[int | str, ...], element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def dense(array: np.ndarray, element: str) -> str:
    """A constant of an array of integers, or of numbers that print exactly."""
    return f"dense<{array.tolist()}> : {tensor(array.shape, element)}"


def program(arguments: list[str], lines: list[str], results: list[tuple[str, str]]) -> Module:
    """A module of one function: types of its arguments `%a0`, ..., lines of its body, and names and types of its results."""
    inputs = ", ".join(f"%a{index}: {type_}" for index, type_ in enumerate(arguments))
    types = ", ".join(type_ for _, type_ in results)
    body = "\n  ".join([*lines, f"return {', '.join(name for name, _ in results)} : {types}"])
    return transload.load(text=f"func.func @main({inputs}) -> ({types}) {{\n  {body}\n}}", format="stablehlo")


def run(module: Module, inputs: list[Any], engine: str, **more: Any) -> list[np.ndarray]:
    """The results of a module in an engine, on inputs in order."""
    names = transload.ir.input_names(module.main)
    return list(transload.run(module, dict(zip(names, inputs, strict=True)), engine=engine, **more).values())
