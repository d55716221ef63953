"""Tables of TFLite models: from a dictionary of names to the schema's table.

Every builtin operator of TFLite has at most one table of options (``Conv2DOptions``, ``Pool2DOptions``, ...); their fields,
as those of the tables that a model is made of, are listed in :mod:`transload_converters.tflite.schema`.

Source: the TFLite schema, ``tensorflow/lite/schema/schema.fbs``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transload.flatbuffer import FlatBuilder
from transload.flatbuffer.builder import layout

from .schema import ENUMERATIONS, enumeration, fields

__all__ = ["write_options", "write_table"]


def write_table(builder: FlatBuilder, table: str, values: Mapping[str, Any]) -> int:
    """Write a table of the schema into a FlatBuffer and return its place.

    Args:
        builder: what the file is built with.
        table: the table's schema name, such as ``"Tensor"``.
        values: by schema field name, numbers, and for anything else its place. What is None, or a number that is the
            schema's default, is left out.
    """
    present = []
    for name, value in values.items():
        field = fields(table)[name]
        is_number = bool(field.code) and not field.is_vector
        if value is not None and not (is_number and value == field.default):
            present.append((field.number, field.code if is_number else "O", value))
    return builder.table(layout(*((number, kind) for number, kind, _ in present)), [value for _, _, value in present])


def write_options(builder: FlatBuilder, table: str, options: Mapping[str, Any]) -> int:
    """Write an options table into a FlatBuffer and return its place.

    Args:
        builder: what the file is built with.
        table: the table's schema name, such as ``"Conv2DOptions"``.
        options: values by schema field name. A field of an enumeration takes the member's name (``"SAME"``,
            ``"RELU"``, ``"FLOAT32"``) or its number. Fields left out have the schema's default.

    Raises:
        ValueError: the table has no such field, or the enumeration no such member.
    """
    there = fields(table)
    unknown = sorted(set(options) - set(there))
    if unknown:
        raise ValueError(f"{table} has no field {', '.join(unknown)}; it has {', '.join(there) or 'none'}")
    stored = {}
    for name, value in options.items():
        field = there[name]
        if field.is_vector:
            stored[name] = builder.byte_vector(value) if isinstance(value, bytes) else builder.vector(field.code, value)
        elif not field.code:
            stored[name] = builder.string(value if isinstance(value, str) else bytes(value).decode())
        else:
            stored[name] = _enumeration_value(name, value) if isinstance(value, str) else value
    return write_table(builder, table, stored)


def _enumeration_value(field: str, member: str) -> int:
    """Return the number of an enumeration's member, given the name of the field that holds it."""
    if field not in ENUMERATIONS:
        raise ValueError(f"the field {field} holds a number, not the member of an enumeration: {member!r}")
    for code, name in enumeration(ENUMERATIONS[field]).items():
        if name == member:
            return code
    raise ValueError(f"{ENUMERATIONS[field]} has no member {member!r}")
