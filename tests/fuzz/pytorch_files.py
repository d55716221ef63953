"""Archives of torch.export changed: the program and the tables of tensors as JSON, the archive by its bytes."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.fuzz.archives import packed, unpacked
from tests.fuzz.numbers import other_float, other_integer

__all__ = ["mutate"]

_TARGETS = (
    "aten.add.Tensor", "aten.cat.default", "aten.view.default", "aten.index.Tensor", "aten.conv2d.default", "aten.copy_.default",
    "aten.select.int", "aten.sum.dim_IntList", "aten.lstm.input", "aten.scatter.src", "aten.einsum.default", "aten.topk.default",
    "higher_order.cond", "higher_order.while_loop", "mylib.magic.default", "aten.nothing", "")
_EXPRESSIONS = ("Symbol('s9', integer=True)", "Mul(Integer(2), Symbol('s31', positive=True, integer=True))", "Integer(0)",
                "Pow(Integer(9), Integer(99))", "FloorDiv(Integer(1), Integer(0))", "Add()", "x", "")


def mutate(dice: random.Random, content: bytes) -> bytes:
    """The archive with one to four changes."""
    held = unpacked(content)
    texts = [name for name in held if name.endswith(".json")]
    name = next((name for name in texts if "/models/" in name), texts[0]) if dice.randrange(4) else dice.choice(texts)
    document = json.loads(held[name])
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 4))):
        _change(dice, document)
    held[name] = json.dumps(document).encode()
    if dice.randrange(20) == 0:
        held.pop(dice.choice(list(held)))
    made = packed(held)
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
    pending = [value]
    while pending:
        held = pending.pop()
        keys = list(held) if isinstance(held, dict) else range(len(held)) if isinstance(held, list) else ()
        for key in keys:
            found.append((held, key))
            pending.append(held[key])
    return found


def _change(dice: random.Random, document: Any) -> None:
    """One place changed: another number, name or operator; one argument for another; something left out or twice."""
    places = _places(document)
    if not places:
        return
    holder, key = dice.choice(places)
    value = holder[key]
    what = dice.randrange(10)
    if what == 0 and isinstance(holder, list):
        holder.insert(key, value)
    elif what == 1:
        del holder[key]
    elif what == 2:
        holder[key] = dice.choice((None, 0, -1, "", [], {}, True, 1 << 40, {"as_none": True}))
    elif isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, int):
        holder[key] = other_integer(dice, value)
    elif isinstance(value, float):
        holder[key] = other_float(dice, value)
    elif isinstance(value, str):
        holder[key] = _other_text(dice, document, str(key))
    else:
        other, at = dice.choice(_places(document))
        holder[key] = json.loads(json.dumps(other[at]))


def _other_text(dice: random.Random, document: Any, key: str) -> str:
    if key == "target":
        return f"torch.ops.{dice.choice(_TARGETS)}"
    if key == "expr_str":
        return dice.choice(_EXPRESSIONS)
    words = [holder[at] for holder, at in _places(document) if at == key and isinstance(holder[at], str)]
    return str(dice.choice(words or [""]))
