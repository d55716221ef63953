"""Every single change of a document that leaves it what it is: other numbers, flags, words and operands, one after the other.

Where fuzzing draws, these are listed: a file has a few hundred, and all of them are judged by `python -m tests.fuzz --single`.
An edit is a function that changes the decoded document in place.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Iterator, MutableSequence, Sequence
from functools import partial
from typing import Any

from tests.fuzz.messages import is_map, repeats

__all__ = ["Edit", "edits_of_bytes", "edits_of_json", "edits_of_list", "edits_of_message", "floats", "integers"]

Edit = Callable[[], object]
_FEW = 6
"""Items of a list, and numbers of a constant, that are changed; the others are as the first are."""
_LENGTHS = (9, 65, 100_000)
"""How long lists become: ranks beyond what code expects, and beyond what may be; and what takes long for each."""


def integers(old: int, width: int = 64, unsigned: bool = False) -> list[int]:
    """Other integers of so many bits: near the old one, small, the edges of types."""
    edge = 1 << (width - 1)
    tried = (
        old - 1, old + 1, 2 * old, -old, 0, 1, 2, 3, 5, 8, -1, -2, 127, 256, 1000, 65536, (1 << 31) - 1, 1 << 31, -1 << 31,
        1 << 40, 1 << 62, -1 << 62, edge - 1, -edge)
    low, high = (0, 2 * edge - 1) if unsigned else (-edge, edge - 1)
    return [new for new in dict.fromkeys(tried) if new != old and low <= new <= high]


def floats(old: float, largest: float = math.inf) -> list[float]:
    """Other numbers, none beyond `largest` but the infinite: near the old one, extreme, and none at all."""
    tried = (
        old * 0.5, old * 3.0, -old, 0.0, -0.0, 1.0, -1.0, 0.5, 6.0, 5e-324, 1e-45, 1e-30, 1e-6, 1e9, 3e38, 1e308, math.inf,
        -math.inf, math.nan)
    return [new for new in dict.fromkeys(tried) if repr(new) != repr(old) and (not abs(new) > largest or math.isinf(new))]


def edits_of_list(items: MutableSequence[Any], others: Callable[[Any], Iterable[Any]]) -> Iterator[Edit]:
    """Each of the first items another, or left out; the last one twice, and many times; none at all."""
    for place in range(min(len(items), _FEW)):
        for new in others(items[place]):
            yield partial(items.__setitem__, place, new)
        yield partial(items.__delitem__, place)
    if len(items):
        yield partial(items.append, items[-1])
        yield partial(items.__delitem__, slice(None))
        for length in _LENGTHS:
            yield partial(items.extend, [items[-1]] * length)


def edits_of_bytes(data: bytes, code: str, put: Callable[[bytes], object]) -> Iterator[Edit]:
    """Each of the first numbers of a constant another; `put` takes all its bytes."""
    size = struct.calcsize(f"<{code}")
    for at in range(0, min(len(data) // size, _FEW) * size, size):
        for new in _others(code, struct.unpack_from(f"<{code}", data, at)[0]):
            yield partial(put, data[:at] + struct.pack(f"<{code}", new) + data[at + size :])


def _others(code: str, old: Any) -> list[Any]:
    if code == "?":
        return [not old]
    if code in "efd":
        return floats(old, {"e": 6e4, "f": 3.4e38, "d": math.inf}[code])
    return list(integers(old, 8 * struct.calcsize(f"<{code}"), code.isupper()))


def edits_of_json(value: Any, words: Callable[[str], Iterable[str]], most: int = 2000) -> Iterator[Edit]:
    """Each number, flag and word of a structure another one; `words` are those that a key may have."""
    pending: list[Any] = [value]
    while pending and most > 0:
        held = pending.pop()
        for key in list(held) if isinstance(held, dict) else range(min(len(held), 3 * _FEW)) if isinstance(held, list) else ():
            old = held[key]
            most -= 1
            if isinstance(old, dict | list):
                pending.append(old)
                others: Iterable[Any] = (0, None, [], [*old] * 100_000)  # what is no list, and long ones
            elif isinstance(old, str):
                others = (word for word in words(str(key)) if word != old)
            else:
                others = _others_of_json(old)
            for new in others:
                yield partial(held.__setitem__, key, new)
            if isinstance(held, dict):
                yield partial(held.pop, key)


def _others_of_json(old: Any) -> Iterable[Any]:
    if old is None:
        return (0, 1, True, [])
    if isinstance(old, bool):
        return (not old, None, -1)
    return (*(floats(old) if isinstance(old, float) else integers(old)), [old], [old] * 100_000, str(old))


def edits_of_message(message: Any, words: Sequence[str], skip: Sequence[str] = ()) -> Iterator[Edit]:
    """Each field that a protobuf message has, and each of those in it, another; `words` are what texts may be.

    Fields named in `skip` stay what they are.
    """
    for field, value in message.ListFields():
        if field.name in skip:
            continue
        if field.message_type is not None:
            held = [value[key] for key in sorted(value)] if is_map(field) else value if repeats(field) else (value,)
            for each in held if not is_map(field) or hasattr(next(iter(held), None), "ListFields") else ():
                yield from edits_of_message(each, words, skip)
            if not repeats(field):
                yield partial(message.ClearField, field.name)
        elif repeats(field):
            yield from edits_of_list(value, partial(_others_of_field, field, words))
        else:
            for new in _others_of_field(field, words, value):
                yield partial(setattr, message, field.name, new)


def _others_of_field(field: Any, words: Sequence[str], old: Any) -> Iterable[Any]:
    kind = field.cpp_type
    if kind == field.CPPTYPE_STRING:
        encoded = [word.encode() for word in words] if field.type == field.TYPE_BYTES else words
        return [word for word in encoded if word != old]
    if kind == field.CPPTYPE_BOOL:
        return [not old]
    if kind == field.CPPTYPE_ENUM:
        return [value.number for value in field.enum_type.values if value.number != old]
    if kind in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return floats(old, 3.4e38 if kind == field.CPPTYPE_FLOAT else math.inf)
    narrow = kind in (field.CPPTYPE_INT32, field.CPPTYPE_UINT32)
    return integers(old, 32 if narrow else 64, kind in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64))
