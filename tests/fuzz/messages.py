"""Protocol buffers' messages changed by the fields that their descriptors name."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from typing import Any

from tests.fuzz.numbers import other_float, other_integer, other_number

__all__ = ["change_field", "is_map", "messages_in", "other_bytes", "repeats"]


def messages_in(message: Any) -> list[Any]:
    """The message and all in it, those of maps by their keys: a number is the same case in every process."""
    found = [message]
    for field, value in message.ListFields():
        if field.message_type is not None:
            held = [value[key] for key in sorted(value)] if is_map(field) else value if repeats(field) else (value,)
            for each in held:
                found += messages_in(each) if hasattr(each, "ListFields") else ()
    return found


def is_map(field: Any) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def repeats(field: Any) -> bool:
    return bool(field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED)


def change_field(dice: random.Random, message: Any, names: Sequence[str]) -> None:
    """Something else in a field of a message, more often in one that is there; `names` are what texts may become."""
    present = [field for field, _ in message.ListFields()]
    field = dice.choice(present if present and dice.randrange(6) else list(message.DESCRIPTOR.fields))
    if is_map(field):
        _change_map(dice, names, getattr(message, field.name))
    elif repeats(field):
        _change_list(dice, names, getattr(message, field.name), field)
    elif field.message_type is not None:
        message.ClearField(field.name)
    else:
        setattr(message, field.name, _other(dice, names, field, getattr(message, field.name)))


def _change_map(dice: random.Random, names: Sequence[str], items: Any) -> None:
    """An entry removed, or the value of another one for it or for a new key."""
    if not len(items):
        return
    keys = sorted(items)
    if dice.randrange(2):
        del items[dice.choice(keys)]
    elif hasattr(items[keys[0]], "CopyFrom"):
        items[dice.choice((*keys, dice.choice(names)))].CopyFrom(items[dice.choice(keys)])


def _change_list(dice: random.Random, names: Sequence[str], items: Any, field: Any) -> None:
    """An item changed, removed, repeated or added."""
    kind = dice.randrange(4)
    if len(items) and kind == 0:
        del items[dice.randrange(len(items))]
    elif len(items) and kind == 1 and field.message_type is not None:
        items.add().CopyFrom(dice.choice(list(items)))
    elif field.message_type is None:
        if len(items) and kind < 3:
            place = dice.randrange(len(items))
            items[place] = _other(dice, names, field, items[place])
        else:
            items.append(_other(dice, names, field, 0 if field.cpp_type != field.CPPTYPE_STRING else ""))


def _other(dice: random.Random, names: Sequence[str], field: Any, old: Any) -> Any:
    """Another value of a field that holds no message."""
    kind = field.cpp_type
    if kind == field.CPPTYPE_STRING:
        if field.type == field.TYPE_BYTES:
            return other_bytes(dice, old) if old else b"x"
        return dice.choice((*names, "", "NCHW", "x" * 300, "\x1b[31m"))
    if kind == field.CPPTYPE_BOOL:
        return not old
    if kind == field.CPPTYPE_ENUM:
        return dice.choice([value.number for value in field.enum_type.values])
    if kind in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return other_float(dice, old)
    width = 32 if kind in (field.CPPTYPE_INT32, field.CPPTYPE_UINT32) else 64
    return other_integer(dice, old, width, kind in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64))


def other_bytes(dice: random.Random, old: bytes) -> bytes:
    data = bytearray(old)
    code = dice.choice("qqfib")
    size = struct.calcsize(code)
    if len(data) < size or dice.randrange(10) == 0:
        return bytes(data[:-1])
    at = dice.randrange(len(data) // size) * size
    struct.pack_into(f"<{code}", data, at, other_number(dice, code, struct.unpack_from(f"<{code}", data, at)[0]))
    return bytes(data)
