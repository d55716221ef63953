"""What the TFLite format knows: operators, their options tables, enumerations; and MLIR's names for them.

The `tflite` package holds the code that the FlatBuffers compiler generated from the schema. This module asks
that code for the fields of every options table (`option_fields`), so that neither the reader nor the writer
needs a list of them. What the format gained after that package's schema is in small tables of our own.

Sources: the TFLite schema, `tensorflow/lite/schema/schema.fbs`; op names of MLIR's `tfl` dialect,
`tensorflow/compiler/mlir/lite/ir/tfl_ops.td`.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import re
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from transload.errors import UsageError

try:
    from flatbuffers import number_types
    from tflite.BuiltinOptions import BuiltinOptions
    from tflite.BuiltinOptions2 import BuiltinOptions2
except ModuleNotFoundError as error:
    raise UsageError(
        f"TFLite models need the package {error.name!r}, which is not installed",
        hint="pip install 'transload[tflite]'") from None

__all__ = [
    "ENUMERATIONS", "OptionField", "enumeration", "generated_module", "is_newer", "operator_code", "operators", "option_fields",
    "options_table", "union_member",
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

#: Members that enumerations gained after the schema of the `tflite` package.
_NEWER_MEMBERS = {
    "TensorType": {"INT2": 19, "UINT4": 20, "FLOAT8_E4M3FN": 21, "FLOAT8_E5M2": 22},
    "BuiltinOperator": {"STABLEHLO_CASE": 209},
}


@dataclasses.dataclass(frozen=True)
class OptionField:
    """One field of an options table.

    `camel_name` is its name in the generated code (`StrideW`), `dtype` the numpy type of the scalar or of the
    vector's elements, None for a string; `is_vector` whether it holds a vector; `slot` its place in the
    FlatBuffers vtable, in bytes; `default` what it is where the file leaves it out.
    """

    camel_name: str
    dtype: np.dtype[Any] | None
    is_vector: bool
    slot: int
    default: Any


#: Options tables that the schema gained after the `tflite` package's.
_NEWER_TABLES = {
    "StablehloCaseOptions": {
        "branch_subgraph_indices": OptionField("BranchSubgraphIndices", np.dtype(np.int32), True, slot=4, default=())},
}


def generated_module(name: str) -> ModuleType:
    """The generated module of a table or enumeration.

    `tflite.Conv2DOptions` is a class in the package's own namespace; the module of that name, which has
    the functions that write the table, is found through the import system only.
    """
    return importlib.import_module(f"tflite.{name}")


@functools.cache
def enumeration(name: str) -> dict[int, str]:
    """The members of an enumeration of the schema by their numbers."""
    members = vars(getattr(generated_module(name), name)).items()
    numbers = {value: member for member, value in members if isinstance(value, int) and not member.startswith("_")}
    return numbers | {value: member for member, value in _NEWER_MEMBERS.get(name, {}).items()}


@functools.cache
def operators() -> dict[int, str]:
    """The builtin operators by their codes, the placeholder left out."""
    return {code: name for code, name in enumeration("BuiltinOperator").items() if not name.startswith("PLACEHOLDER")}


def operator_code(name: str) -> int:
    """The `BuiltinOperator` value of a builtin operator's schema name, such as `"CONV_2D"`.

    Raises `ValueError` where the installed schema has no such operator.
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
    return _tables().get(operator.replace("_", "").lower() + "options")


@functools.cache
def _tables() -> dict[str, str]:
    """All options tables by their names in lower case."""
    names = [*_NEWER_TABLES, *(name for union in (BuiltinOptions2, BuiltinOptions) for name in vars(union))]
    return {name.lower(): name for name in names}


_NEWER_UNION_MEMBERS = {"StablehloCaseOptions": (2, 23)}
"""Options tables that the unions gained after the `tflite` package's -> union, code."""


def union_member(table: str) -> tuple[int, int]:
    """Which union of an operator an options table belongs to, and its code in that union.

    The schema ran out of codes in its first union, `builtin_options` (1), and went on in a second one,
    `builtin_options_2` (2). Raises `ValueError` where neither union has such a table.
    """
    if table in _NEWER_UNION_MEMBERS:
        return _NEWER_UNION_MEMBERS[table]
    for number, union in ((1, BuiltinOptions), (2, BuiltinOptions2)):
        code = getattr(union, table, None)
        if isinstance(code, int):
            return number, code
    raise ValueError(f"the TFLite schema has no options table {table!r}")


def is_newer(table: str) -> bool:
    """Whether the `tflite` package has no code for an options table."""
    return table in _NEWER_TABLES


@functools.cache
def option_fields(table: str) -> dict[str, OptionField]:
    """The fields of an options table by their schema names, such as `"stride_w"`."""
    if table in _NEWER_TABLES:
        return _NEWER_TABLES[table]
    module = generated_module(table)
    fields = {}
    adds = f"{table}Add"  # the function that writes a field has its name behind this
    for function in vars(module):
        if function.startswith(adds):
            camel_name = function.removeprefix(adds)
            snake_name = _CAPITAL.sub("_", camel_name).lower()
            fields[snake_name] = _field(getattr(module, table)(), camel_name)
    return fields


_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def _field(reader: Any, camel_name: str) -> OptionField:
    """Find out what a field is from the generated reader of its table.

    The types are nowhere listed in the generated code, but the method that reads a field asks the underlying
    FlatBuffers table for exactly one value of exactly one type. So the method is called on a stand-in for
    that table, which claims that the field is present and notes what it is asked for; and on one that claims
    that it is absent, which gives the default.
    """
    asked: list[tuple[np.dtype[Any] | None, bool]] = []
    slots: list[int] = []

    def note(flags: Any, is_vector: bool) -> None:
        asked.append((None if flags is None else np.dtype(number_types.to_numpy_type(flags)), is_vector))

    def offset(slot: int) -> int:
        slots.append(slot)
        return present

    reader._tab = SimpleNamespace(
        Pos=0,
        Offset=offset,
        Get=lambda flags, _position: note(flags, is_vector=False),
        GetVectorAsNumpy=lambda flags, _position: note(flags, is_vector=True),
        String=lambda _position: note(None, is_vector=False),
    )
    read = getattr(reader, f"{camel_name}AsNumpy", getattr(reader, camel_name))
    present = 1
    read()
    present = 0
    default = read()
    [(dtype, is_vector)] = asked
    if is_vector:
        default = ()
    elif dtype is None:
        default = ""
    return OptionField(camel_name, dtype, is_vector, slots[0], default)
