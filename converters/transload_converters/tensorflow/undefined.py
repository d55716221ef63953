"""Where TensorFlow's results say nothing of a model: numbers that it draws anew in every run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transload.ir import Module, Op

__all__ = ["undefined"]

_DRAWS = frozenset({
    "tf.RandomUniform", "tf.RandomStandardNormal", "tf.TruncatedNormal", "tf.RandomUniformInt", "tf.RandomShuffle"})


def undefined(source: Module, hub: Module | None, inputs: Mapping[str, Any]) -> str:
    """Why TensorFlow's results cannot be compared; nothing where they can."""
    names = dict.fromkeys(str(op.origin or op.name) for op in source.walk() if op.name in _DRAWS and not _is_seeded(op))
    if not names:
        return ""
    return (f"{', '.join(list(names)[:3])}: random numbers without a seed, of which TensorFlow draws others in every run; with a "
            "seed in the model they can be compared")


def _is_seeded(op: Op) -> bool:
    return any(int(op.attributes.get(key) or 0) for key in ("seed", "seed2"))
