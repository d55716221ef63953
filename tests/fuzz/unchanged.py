"""Cases of valid files as they are, quantized by every scheme, to every kind of target, with verification.

Changed files mostly end at a refusal. What is wrong with numbers, valid files find: of each number a file, a scheme and a target.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

from tests.fuzz.cases import Case
from tests.fuzz.onward import Onward

__all__ = ["unchanged_case_of"]

_TARGETS = ("tosa", "stablehlo", "onnx", "tflite", "tp-small", "tp-large", "xla-cpu")
_SCHEMES = (
    None, "int8", "int8", "int8-sym", "int8-asym", "uint8", "int16x8", "dynamic", "f8e4m3", "w8a16", "w4a16", "f16", "bf16")


def unchanged_case_of(number: int, seeds: Mapping[str, list[Path]]) -> Case:
    """The case with this number: as many in a row as there are files are of each file once, in a shuffled order."""
    files = [(format, file) for format in sorted(seeds) for file in seeds[format]]
    turn, place = divmod(number, len(files))
    random.Random(f"order {turn}").shuffle(files)
    format, file = files[place]
    dice = random.Random(f"unchanged {number}")
    onward = Onward(dice.choice(_TARGETS), dice.choice(_SCHEMES), True)
    return Case(number, format, file.read_bytes(), onward.target, check=True, onward=onward)
