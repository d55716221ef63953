"""Operator options of TFLite models: from a dictionary of names to the schema's options table.

Every builtin operator of TFLite has at most one table of options (``Conv2DOptions``, ``Pool2DOptions``, ...).
Their fields are those that :mod:`transload_converters.tflite.schema` found in the generated code, which this
module drives by name.

Source: the TFLite schema, ``tensorflow/lite/schema/schema.fbs``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import flatbuffers

from transload_converters.tflite.schema import (
    ENUMERATIONS,
    OptionField,
    generated_module,
    is_newer,
    operator_code,
    option_fields,
    options_table,
    union_member,
)
from transload_converters.tflite.writer_encoding import write_vector

__all__ = ["OptionField", "operator_code", "option_fields", "options_table", "union_member", "write_options"]


def write_options(builder: flatbuffers.Builder, table: str, options: Mapping[str, Any]) -> int:
    """Write an options table into a FlatBuffer and return its offset.

    Args:
        builder: the FlatBuffers builder, outside any table.
        table: the table's schema name, such as ``"Conv2DOptions"``.
        options: values by schema field name. A field of an enumeration takes the member's name (``"SAME"``,
            ``"RELU"``, ``"FLOAT32"``) or its number. Fields left out have the schema's default.

    Raises:
        ValueError: the table has no such field, or the enumeration no such member.
    """
    fields = option_fields(table)
    unknown = sorted(set(options) - set(fields))
    if unknown:
        raise ValueError(f"{table} has no field {', '.join(unknown)}; it has {', '.join(fields) or 'none'}")

    # FlatBuffers forbids to write a vector or a string while a table is being written: these come first.
    stored = {}
    for name, value in options.items():
        field = fields[name]
        if field.dtype is None:
            stored[field.camel_name] = builder.CreateString(value)
        elif field.is_vector:
            stored[field.camel_name] = write_vector(builder, value, field.dtype)
        else:
            stored[field.camel_name] = _enumeration_value(name, value) if isinstance(value, str) else value

    if is_newer(table):
        return _write_vectors(builder, fields, stored)
    module = generated_module(table)
    getattr(module, f"{table}Start")(builder)
    for camel_name, value in stored.items():
        getattr(module, f"{table}Add{camel_name}")(builder, value)
    return int(getattr(module, f"{table}End")(builder))


def _write_vectors(builder: flatbuffers.Builder, fields: Mapping[str, OptionField], stored: Mapping[str, int]) -> int:
    """Write a table of vectors that the generated code does not know, field by field."""
    builder.StartObject(len(fields))
    for field in fields.values():
        if field.camel_name in stored:
            builder.PrependUOffsetTRelativeSlot((field.slot - 4) // 2, stored[field.camel_name], 0)
    return int(builder.EndObject())


def _enumeration_value(field: str, member: str) -> int:
    """Return the number of an enumeration's member, given the name of the field that holds it."""
    if field not in ENUMERATIONS:
        raise ValueError(f"the field {field} holds a number, not the member of an enumeration: {member!r}")
    enumeration = ENUMERATIONS[field]
    code = getattr(getattr(generated_module(enumeration), enumeration), member, None)
    if not isinstance(code, int):
        raise ValueError(f"{enumeration} has no member {member!r}")
    return code
