"""Keras files changed: the config as JSON, the weights as an HDF5 file, whose bytes are changed."""

from __future__ import annotations

import json
import random
import zipfile
from typing import Any

from tests.fuzz.archives import packed, unpacked
from tests.fuzz.numbers import other_float, other_integer

__all__ = ["mutate"]

_CLASSES = (
    "Dense", "Conv2D", "LSTM", "GRU", "Bidirectional", "TimeDistributed", "BatchNormalization", "Flatten", "Reshape", "Dot",
    "Concatenate", "Add", "MultiHeadAttention", "Embedding", "UpSampling2D", "Cropping2D", "Functional", "Sequential", "Lambda",
    "Softmax", "GroupNormalization", "Conv2DTranspose", "DepthwiseConv2D", "AveragePooling1D", "RepeatVector", "Permute", "")


def mutate(dice: random.Random, content: bytes) -> bytes:
    """The file with one to four changes."""
    if not content.startswith(b"PK"):
        return _bytes(dice, content)
    held = unpacked(content)
    if dice.randrange(10) < 7:
        config = json.loads(held["config.json"])
        for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 4))):
            _change(dice, config)
        held["config.json"] = json.dumps(config).encode()
    else:
        held["model.weights.h5"] = _bytes(dice, held["model.weights.h5"])
    made = packed(held, dice.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
    return made if dice.randrange(20) else _bytes(dice, made)


def _bytes(dice: random.Random, content: bytes) -> bytes:
    """Some bytes changed, or the end cut off."""
    changed = bytearray(content)
    if dice.randrange(6) == 0:
        return bytes(changed[: dice.randrange(len(changed))])
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(changed))
        changed[at] = dice.choice((0, 1, 255, changed[at] ^ 1 << dice.randrange(8)))
    return bytes(changed)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a structure: what holds it, and by which key."""
    found: list[tuple[Any, Any]] = []
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        found.append((value, key))
        found += _places(value[key])
    return found


def _change(dice: random.Random, config: Any) -> None:
    places = _places(config)
    if not places:  # all was taken out before
        return
    holder, key = dice.choice(places)
    old = holder[key]
    kind = dice.randrange(8)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        other, at = dice.choice(places)
        if at in other if isinstance(other, dict) else at < len(other):
            holder[key] = json.loads(json.dumps(other[at]))
    elif kind == 2 and isinstance(holder, list):
        holder.insert(key, json.loads(json.dumps(old)))
    elif isinstance(old, bool):
        holder[key] = not old
    elif isinstance(old, int):
        holder[key] = other_integer(dice, max(-(1 << 62), min(old, 1 << 62)))
    elif isinstance(old, float):
        holder[key] = other_float(dice, old)
    elif isinstance(old, str):
        holder[key] = dice.choice((*_CLASSES, old + "x", "same", "channels_first", "float16", "int8"))
    else:
        holder[key] = dice.choice((None, 0, -1, 1 << 40, 2.5, "x", [], {}, [1, 2], True))
