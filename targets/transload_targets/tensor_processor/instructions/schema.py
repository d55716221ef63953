"""The tables of `program.fbs` that reader and writer share: the fields of each, in the order of their numbers.

A field is `name:type`, with its default where that is not zero; `[type]` is a vector.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

__all__ = ["ENUMERATIONS", "IDENTIFIER", "KINDS", "PLACES", "TABLES", "Field", "fields"]

IDENTIFIER = b"TPU1"

TABLES: dict[str, str] = {
    "Machine": "name:string lanes:uint local_bytes:ulong banks:uint eu_bytes:uint cores:uint",
    "Tensor": "name:string shape:[ulong] alias:int=-1",
    "Operand": "place:Place address:ulong shape:[ulong] dtype:DType strides:[long] lane:uint tensor:int=-1 offset:[long] "
               "steps:[long]",
    "Attribute": "name:string kind:Kind integers:[long] reals:[double] text:string",
    "Instruction": "queue:Queue id:uint wait:uint operation:string inputs:[uint] outputs:[uint] attributes:[uint] core:uint "
                   "name:string",
    "Port": "name:string address:ulong shape:[ulong] dtype:DType tensor:int=-1 scale:double zero_point:long",
    "Weights": "name:string address:ulong dtype:DType tensor:int=-1 data:[ubyte]",
    "Program": "name:string machine:Machine global_bytes:ulong tensors:[Tensor] operands:[Operand] attributes:[Attribute] "
               "instructions:[Instruction] inputs:[Port] outputs:[Port] weights:[Weights]",
}
PLACES = ("global_memory", "aligned", "compact", "weights", "channels", "copies")
"""Where an operand lies, by number: global memory, or a layout of local memory."""
KINDS = ("truth", "integer", "real", "text", "integers", "reals")
"""What an attribute is, by number."""
ENUMERATIONS: dict[str, tuple[str, ...]] = {
    "Queue": ("tiu", "dma"),
    "Place": PLACES,
    "DType": (
        "bool_", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
        "bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"),
    "Kind": KINDS,
}
_CODES = {"uint": "I", "int": "i", "ulong": "Q", "long": "q", "double": "d", "ubyte": "B"}


class Field(NamedTuple):
    """A field: its number, and what it holds.

    `code` is of a number, or of those in a vector, the format in `struct`; "O" stands for a string or a table.
    """

    number: int
    code: str
    vector: bool
    default: int


@cache
def fields(table: str) -> dict[str, Field]:
    """The fields of a table by name."""
    found = {}
    for number, text in enumerate(TABLES[table].split()):
        name, _, rest = text.partition(":")
        type_, _, default = rest.partition("=")
        inner = type_.strip("[]")
        code = "B" if inner in ENUMERATIONS else _CODES.get(inner, "O")
        found[name] = Field(number, code, type_ != inner, int(default or 0))
    return found
