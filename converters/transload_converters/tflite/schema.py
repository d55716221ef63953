"""What the TFLite format knows: operators, their options tables, enumerations; and MLIR's names for them.

All of it is read, when it is asked for, from `schema_table`, which a script of ours makes of LiteRT's own schema.

Sources: the TFLite schema, `tensorflow/lite/schema/schema.fbs`; op names of MLIR's `tfl` dialect,
`tensorflow/compiler/mlir/lite/ir/tfl_ops.td`.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from .schema_table import ENUMERATIONS as _ENUMERATIONS
from .schema_table import TABLES as _TABLES

__all__ = [
    "ENUMERATIONS", "OptionField", "enumeration", "fields", "numbers", "operator_code", "operators", "option_fields",
    "options_table", "struct_code", "union_member",
]

#: Operators whose options table is not named after the operator. (`REDUCE_WINDOW` is not a reduction of
#: this family: it has a table of its own name.)
_SHARED_TABLES = {
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "L2_POOL_2D": "Pool2DOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "L2_NORMALIZATION": "L2NormOptions",
    "MAXIMUM": "MaximumMinimumOptions",
    "MINIMUM": "MaximumMinimumOptions",
    "MEAN": "ReducerOptions",
    "SUM": "ReducerOptions",
    "REDUCE_ALL": "ReducerOptions",
    "REDUCE_ANY": "ReducerOptions",
    "REDUCE_MAX": "ReducerOptions",
    "REDUCE_MIN": "ReducerOptions",
    "REDUCE_PROD": "ReducerOptions",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNNOptions",
    "CONV_3D_TRANSPOSE": "Conv3DOptions",
    "MULTINOMIAL": "RandomOptions",
    "RANDOM_STANDARD_NORMAL": "RandomOptions",
    "RANDOM_UNIFORM": "RandomOptions",
}

#: Enumerations of the schema by the name of the scalar field that holds one of their values. The generated
#: code knows such a field only as a small integer.
ENUMERATIONS = {
    "algorithm": "RngAlgorithm",
    "combiner": "CombinerType",
    "compare_type": "StablehloComparisonType",
    "comparison_direction": "StablehloComparisonDirection",
    "composite_attributes_format": "CustomOptionsFormat",
    "fused_activation_function": "ActivationFunctionType",
    "idx_out_type": "TensorType",
    "in_data_type": "TensorType",
    "kernel_type": "LSTMKernelType",
    "key_dtype": "TensorType",
    "mode": "MirrorPadMode",
    "out_data_type": "TensorType",
    "out_type": "TensorType",
    "output_type": "TensorType",
    "padding": "Padding",
    "quantized_bias_type": "TensorType",
    "reduce_function": "ReduceWindowFunction",
    "type": "LSHProjectionType",
    "value_dtype": "TensorType",
    "weights_format": "FullyConnectedOptionsWeightsFormat",
}

_CODES = {
    "bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q",
    "uint64": "Q", "float32": "f", "float64": "d",
}
"""The types of numbers as `struct` calls them."""


def struct_code(dtype: str) -> str:
    """What `struct` calls a type of numbers: of `"int32"`, `"i"`."""
    return _CODES[dtype]


class OptionField(NamedTuple):
    """One field of a table.

    `number` is its place in the schema, `dtype` the numpy type of the scalar or of the vector's elements, None for a
    string; `code` what `struct` calls that type, nothing for what is no number; `is_vector` whether it holds a vector;
    `default` what it is where the file leaves it out.
    """

    number: int
    type: str
    is_vector: bool
    default: Any

    @property
    def dtype(self) -> np.dtype[Any] | None:
        return np.dtype(self.type) if self.type in _CODES else None

    @property
    def code(self) -> str:
        return _CODES.get(self.type, "")


@functools.cache
def enumeration(name: str) -> dict[int, str]:
    """The members of an enumeration of the schema by their numbers."""
    members = (member.split("=") for member in _ENUMERATIONS[name].split())
    return {int(number): member for member, number in members}


@functools.cache
def operators() -> dict[int, str]:
    """The builtin operators by their codes, the placeholder left out."""
    return {code: name for code, name in enumeration("BuiltinOperator").items() if not name.startswith("PLACEHOLDER")}


def operator_code(name: str) -> int:
    """The `BuiltinOperator` value of a builtin operator's schema name, such as `"CONV_2D"`.

    Raises `ValueError` where the schema has no such operator.
    """
    for code, operator in operators().items():
        if operator == name:
            return code
    raise ValueError(f"the TFLite schema has no builtin operator {name!r}")


@functools.cache
def options_table(operator: str) -> str | None:
    """The name of the options table of a builtin operator, or None where it has no options.

    `"CONV_2D"` gives `"Conv2DOptions"`, `"MEAN"` gives `"ReducerOptions"`, `"RELU"` gives None.
    """
    if operator in _SHARED_TABLES:
        return _SHARED_TABLES[operator]
    return _options_tables().get(operator.replace("_", "").lower() + "options")


@functools.cache
def _options_tables() -> dict[str, str]:
    """All options tables by their names in lower case."""
    return {name.lower(): name for union in ("BuiltinOptions2", "BuiltinOptions") for name in enumeration(union).values()}


def union_member(table: str) -> tuple[int, int]:
    """Which union of an operator an options table belongs to, and its code in that union.

    The schema ran out of codes in its first union, `builtin_options` (1), and went on in a second one,
    `builtin_options_2` (2). Raises `ValueError` where neither union has such a table.
    """
    for number, union in ((1, "BuiltinOptions"), (2, "BuiltinOptions2")):
        for code, member in enumeration(union).items():
            if member == table:
                return number, code
    raise ValueError(f"the TFLite schema has no options table {table!r}")


@functools.cache
def fields(table: str) -> dict[str, OptionField]:
    """The fields of a table by their schema names, such as `"stride_w"`."""
    return {
        word.partition(":")[0]: _field(number, word.partition(":")[2])
        for number, word in enumerate(_TABLES[table].split()) if word != "-"}


option_fields = fields
"""The fields of an options table."""


def _field(number: int, text: str) -> OptionField:
    """`int32`, `int32=1`, `[uint8]`, `string`: a field that is described so."""
    kind, _, default = text.partition("=")
    if kind.startswith("["):
        return OptionField(number, kind[1:-1], True, ())
    if kind not in _CODES:
        return OptionField(number, kind, False, "" if kind == "string" else None)
    if kind == "bool":
        return OptionField(number, kind, False, default == "True")
    return OptionField(number, kind, False, float(default or 0) if kind.startswith("float") else int(default or 0))


def numbers(table: str, *names: str) -> tuple[int, ...]:
    """The numbers of fields of a table, by which a reader asks for them."""
    there = fields(table)
    return tuple(there[name].number for name in names)
