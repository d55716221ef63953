"""Operators of a TFLite file: which op of `tfl` each is, and its options as attributes.

What there is to know about an operator code is found out once and kept, so that reading an operator costs
little more than unpacking its options.

Source: the TFLite schema, tables `OperatorCode`, `Operator` and the options tables.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from transload.flatbuffer import FlatFile, Table
from transload.ir import OpaqueAttr, Symbol

from .dialect import BASIC_LSTM, SUBGRAPH_ATTRIBUTES, attribute_name, op_name
from .schema import ENUMERATIONS, enumeration, numbers, operators, option_fields, options_table, union_member

__all__ = ["OperatorCode", "bytes_attribute", "bytes_of", "read_attributes", "read_operator_code"]

_OLD_CODE, _CUSTOM_CODE, _CODE = numbers("OperatorCode", "deprecated_builtin_code", "custom_code", "builtin_code")
_CUSTOM_OPTIONS, _LARGE_OFFSET, _LARGE_SIZE = numbers(
    "Operator", "custom_options", "large_custom_options_offset", "large_custom_options_size")
_OPTIONS = {  # of the two unions: the member's number, the table
    1: numbers("Operator", "builtin_options_type", "builtin_options"),
    2: numbers("Operator", "builtin_options2_type", "builtin_options2"),
}


@dataclasses.dataclass(frozen=True)
class _Field:
    """How to read one options field into an attribute.

    `names` are the members of an enumeration; `subgraph` says that the numbers stand for subgraphs.
    """

    attribute: str
    number: int
    code: str
    default: Any
    is_vector: bool
    names: Mapping[int, str] | None
    subgraph: bool


@dataclasses.dataclass(frozen=True)
class OperatorCode:
    """What a file's operators of one code have in common."""

    op: str
    operator: str
    """The schema's name, for messages."""
    custom_code: str
    type_number: int
    """Of the field with the number of the options table, and of that with the table."""
    options_number: int
    member: int
    fields: tuple[_Field, ...]


@functools.cache
def _builtin(code: int) -> OperatorCode:
    """What the schema knows of a builtin operator."""
    operator = operators()[code]
    table = options_table(operator)
    if table is None:
        return OperatorCode(op_name(operator), operator, "", 0, 0, 0, ())
    fields = []
    for name, field in option_fields(table).items():
        is_enumeration = name in ENUMERATIONS and not field.is_vector
        fields.append(_Field(
            attribute=attribute_name(name),
            number=field.number,
            code=field.code,
            default=field.default,
            is_vector=field.is_vector,
            names=enumeration(ENUMERATIONS[name]) if is_enumeration and field.code else None,
            subgraph=name in SUBGRAPH_ATTRIBUTES,
        ))
    union, member = union_member(table)
    type_number, options_number = _OPTIONS[union]
    return OperatorCode(op_name(operator), operator, "", type_number, options_number, member, tuple(fields))


def read_operator_code(table: Table) -> OperatorCode:
    """Read one of the file's operator codes.

    The number moved to a wider field when the first one was full; the greater of the two counts.
    """
    number = max(table.scalar(_OLD_CODE, "b"), table.scalar(_CODE, "i"))
    if number not in operators():
        table.file.fail(
            f"the operator number {number} is not known (the greatest known is {max(operators())})",
            "the file is newer than this reader, or damaged")
    code = _builtin(number)
    if code.operator == "CUSTOM":
        return dataclasses.replace(code, custom_code=table.text(_CUSTOM_CODE))
    return code


def read_attributes(code: OperatorCode, table: Table, functions: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The op's name and attributes; `functions` are the names of the subgraphs' functions.

    Options of another table than the operator's own are as if they were absent, as for TFLite itself.
    """
    file = table.file
    if code.operator == "CUSTOM":
        return code.op, {"custom_code": code.custom_code, "custom_option": bytes_attribute(_custom_options(table))}
    options = None
    if code.member and table.scalar(code.type_number, "B") == code.member:
        options = table.table(code.options_number)
    attributes = {field.attribute: _read_field(field, options, file, functions) for field in code.fields}
    if code.operator == "LSTM" and attributes["kernel_type"] == "BASIC":
        return BASIC_LSTM, attributes
    return code.op, attributes


def _read_field(field: _Field, options: Table | None, file: FlatFile, functions: Sequence[str]) -> Any:
    """The value of an attribute."""
    if field.is_vector:
        if field.code == "B":
            return bytes_attribute(options.data(field.number) if options is not None else b"")
        values = options.numbers(field.number, field.code) if options is not None else ()
        if field.subgraph:
            return [_function(index, file, functions) for index in values]
        return tuple(map(int, values)) if field.code == "?" else values
    if not field.code:
        return options.text(field.number) if options is not None else ""
    value = field.default if options is None else options.scalar(field.number, field.code, field.default)
    if field.subgraph:
        return _function(value, file, functions)
    if field.names is None:
        return value
    if value not in field.names:
        file.fail(f"the option {field.attribute} is {value}, which is none of {', '.join(field.names.values())}")
    return field.names[value]


def _function(index: int, file: FlatFile, functions: Sequence[str]) -> Symbol:
    if not 0 <= index < len(functions):
        file.fail(f"the operator runs subgraph {index}; the model has {len(functions)}")
    return Symbol(functions[index])


def _custom_options(table: Table) -> bytes:
    """A custom operator's bytes, which in large files lie behind the FlatBuffer."""
    file = table.file
    start, size = table.scalar(_LARGE_OFFSET, "Q"), table.scalar(_LARGE_SIZE, "Q")
    if start <= 1 or not size:
        return table.data(_CUSTOM_OPTIONS)
    if start + size > file.size:
        file.fail(f"the operator's options lie outside the file: bytes {start} to {start + size} of {file.size}")
    file.spend(size)
    return bytes(file.data[start : start + size])


def bytes_attribute(data: bytes) -> OpaqueAttr:
    """Bytes as MLIR's `tfl` dialect writes them."""
    return OpaqueAttr(f'#tfl<const_bytes : "0x{data.hex().upper()}">')


def bytes_of(attribute: Any) -> bytes:
    """The bytes of such an attribute; empty for anything else."""
    if not isinstance(attribute, OpaqueAttr):
        return b""
    text = attribute.text.partition('"0x')[2].rstrip('">')
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""
