"""What becomes of an image, in words: the lines of `preprocess.toml`, and the sizes and numbers in what is said of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .preprocess import Preprocess

__all__ = ["lines_of", "lines_of_fused", "numbers_text", "toml_string"]


def lines_of(own: Preprocess) -> list[str]:
    """What is said, a line each."""
    lines = []
    for each in fields(own):
        value = getattr(own, each.name)
        if each.name in ("inputs", "fused") or value is None or (value == each.default and not own.keep_aspect_ratio):
            continue
        if isinstance(value, bool):
            text = str(value).lower()
        elif each.name == "stored":
            lines.append(f"# The integers that go in stand for these numbers: {_integers(own)}.")
            text = toml_string(str(value))
        elif isinstance(value, str):
            text = toml_string(value)
        else:
            text = str(list(value) if isinstance(value, tuple) else value)
        lines.append(f"{each.name} = {text}")
    return lines


def lines_of_fused(own: Preprocess, table: str) -> list[str]:
    """A table for what a program does itself with the pixels that it takes, a line each; nothing where it does nothing."""
    if own.fused is None:
        return []
    return ["", "# What the program itself does with the pixels that it takes.", f"[{table}]", *lines_of(own.fused)]


def _integers(own: Preprocess) -> str:
    """How pixels become the integers that go in, in words."""
    assert own.stored is not None
    step, zero = own.stored.scale, own.stored.zero_point
    if not own.mean or not own.scale:
        return f"number / {step:g} + {zero}, rounded"
    scale = [by / step for by in own.scale]
    mean = [of - zero / by for of, by in zip(own.mean, scale, strict=True)] if len(own.mean) == len(scale) else own.mean
    return f"(x - {numbers_text(mean)}) * {numbers_text(scale)}, rounded"


def toml_string(value: str) -> str:
    """A basic string of TOML, which escapes as JSON does."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def numbers_text(numbers: Sequence[float] | None) -> str:
    """Numbers of the channels, one where all are the same."""
    shown = [f"{number + 0.0:g}" for number in numbers or ()]  # no number is -0
    return shown[0] if len(set(shown)) == 1 else f"({', '.join(shown)})"
