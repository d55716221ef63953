"""What a share of the cases goes on to: another framework's file, a program for a chip, integers in the place of floats."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from transload.api import load, lower
from transload.budget import allowance, allowed
from transload.convert_model import convert
from transload.engine.steps import elements_of
from transload.inspection import inspect
from transload.ir import Module, TensorType, input_types
from transload.verification.inputs import plain_integers, random_inputs

__all__ = ["SHARE", "Onward", "onward_of", "written"]

SHARE = 10
"""One case of so many is written as something."""
_TARGETS = (
    "tflite", "tflite", "onnx", "onnx", "stablehlo", "tosa", "tp-large", "tp-small", "tp-tiny", "ethos-u85-256", "iree-llvm-cpu")
_COARSE = ("tp-tiny",)
"""Targets that compute with coarser numbers than a tolerance allows: with multipliers of 8 bits."""
_MOST = 1 << 22
"""Elements of the inputs of which samples are made."""
_READABLE = {".tflite", ".onnx", ".mlir", ".tosa", ".mlirbc"}


@dataclass(frozen=True)
class Onward:
    """The target that a module is converted to, and whether as integers, by two samples; `check` has the result compared."""

    target: str
    quantize: str | None
    check: bool


def onward_of(number: int) -> Onward | None:
    """What becomes of case `number`, where it is one of these; the dice of the case itself are not touched."""
    dice = random.Random(f"onward {number}")
    if dice.randrange(SHARE):
        return None
    target, scheme, check = dice.choice(_TARGETS), dice.choice((None, None, "int8")), dice.randrange(4) == 0
    return Onward(target, scheme, check and target not in _COARSE)


def written(module: Module, onward: Onward, folder: Path) -> tuple[str, list[str]]:
    """Convert it, and read what was written; what became of it, and what is wrong with the numbers where that was compared.

    Raises what converting and reading raise.
    """
    with allowed(elements=1 << 24, products=1 << 30, seconds=15):
        data = None
        if onward.quantize is not None:
            if not _is_small(module):
                return "judge refused", []
            data = list(_samples(module))
        artifact = convert(
            module, onward.target, folder / "out", verify=onward.check, quantize=onward.quantize, data=data)
        for file in sorted((folder / "out").iterdir()):
            if file.suffix in _READABLE:
                load(file)
        inspect(folder / "out")
    verdict = artifact.verification
    if verdict is None:
        return "written", []
    return ("differs", verdict.broken) if verdict.failed else ("checked" if verdict.passed else "judge refused", [])


def _is_small(module: Module) -> bool:
    """Whether samples of the inputs, and what the module makes of them, are no more than a case may compute."""
    sizes = [math.prod(type_.static_shape) if isinstance(type_, TensorType) and type_.is_static else _MOST + 1
             for type_ in input_types(module.main)]
    return sum(sizes) <= _MOST and elements_of(lower(module, "top")) <= allowance().elements


def _samples(module: Module) -> Iterator[dict[str, np.ndarray]]:
    hub = lower(module, "top")
    for seed in range(2):
        yield dict(random_inputs(module, hub, seed, signed=plain_integers(hub)))
