"""Operator options of TFLite models: from a dictionary of names to the schema's options table.

Every builtin operator of TFLite has at most one table of options (``Conv2DOptions``, ``Pool2DOptions``, ...).
The ``tflite`` package holds the code that the FlatBuffers compiler generated for each of these tables; this
module drives that code by name, so that it needs no list of the fields and follows the installed schema.

Source: the TFLite schema, ``tensorflow/lite/schema/schema.fbs``.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import re
from collections.abc import Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

import flatbuffers
import numpy as np
from flatbuffers import number_types
from tflite.BuiltinOperator import BuiltinOperator
from tflite.BuiltinOptions import BuiltinOptions
from tflite.BuiltinOptions2 import BuiltinOptions2

from transload_converters.tflite.writer_encoding import write_vector

#: Operators whose options table is not named after the operator. (``REDUCE_WINDOW`` is not a reduction of
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
_ENUMERATIONS = {
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


@dataclasses.dataclass(frozen=True)
class OptionField:
    """One field of an options table.

    Attributes:
        camel_name: the field's name in the generated code, such as ``"StrideW"``.
        dtype: the NumPy type of the scalar or of the vector's elements; None for a string.
        is_vector: whether the field holds a vector.
    """

    camel_name: str
    dtype: np.dtype[Any] | None
    is_vector: bool


def operator_code(name: str) -> int:
    """Return the ``BuiltinOperator`` value of a builtin operator's schema name, such as ``"CONV_2D"``.

    Raises:
        ValueError: the installed schema has no such operator.
    """
    code = getattr(BuiltinOperator, name, None)
    if not isinstance(code, int):
        raise ValueError(f"the TFLite schema has no builtin operator {name!r}")
    return code


@functools.cache
def options_table(operator: str) -> str | None:
    """Return the name of the options table of a builtin operator, or None where it has no options.

    ``"CONV_2D"`` gives ``"Conv2DOptions"``, ``"MEAN"`` gives ``"ReducerOptions"``, ``"RELU"`` gives None.
    """
    operator_code(operator)
    if operator in _SHARED_TABLES:
        return _SHARED_TABLES[operator]
    wanted = operator.replace("_", "").lower() + "options"
    tables = [name for union in (BuiltinOptions, BuiltinOptions2) for name in vars(union)]
    return next((table for table in tables if table.lower() == wanted), None)


def union_member(table: str) -> tuple[int, int]:
    """Return which union of an operator an options table belongs to, and its code in that union.

    The schema ran out of codes in its first union, ``builtin_options`` (1), and went on in a second one,
    ``builtin_options_2`` (2).

    Raises:
        ValueError: neither union has such a table.
    """
    for number, union in ((1, BuiltinOptions), (2, BuiltinOptions2)):
        code = getattr(union, table, None)
        if isinstance(code, int):
            return number, code
    raise ValueError(f"the TFLite schema has no options table {table!r}")


@functools.cache
def option_fields(table: str) -> dict[str, OptionField]:
    """Return the fields of an options table by their schema names, such as ``"stride_w"``."""
    module = _generated_module(table)
    fields = {}
    for function in vars(module):
        match = re.fullmatch(f"{table}Add(.+)", function)
        if match is not None:
            camel_name = match.group(1)
            snake_name = re.sub(r"(?<!^)(?=[A-Z])", "_", camel_name).lower()
            fields[snake_name] = _field(getattr(module, table)(), camel_name)
    return fields


def _field(reader: Any, camel_name: str) -> OptionField:
    """Find out the type of a field from the generated reader of its table.

    The types are nowhere listed in the generated code, but the method that reads a field asks the underlying
    FlatBuffers table for exactly one value of exactly one type. So the method is called on a stand-in for
    that table, which claims that every field is present and notes what it is asked for.
    """
    asked: list[OptionField] = []

    def note(flags: Any, is_vector: bool) -> None:
        dtype = None if flags is None else np.dtype(number_types.to_numpy_type(flags))
        asked.append(OptionField(camel_name, dtype, is_vector))

    reader._tab = SimpleNamespace(
        Pos=0,
        Offset=lambda _vtable_offset: 1,
        Get=lambda flags, _position: note(flags, is_vector=False),
        GetVectorAsNumpy=lambda flags, _position: note(flags, is_vector=True),
        String=lambda _position: note(None, is_vector=False),
    )
    getattr(reader, f"{camel_name}AsNumpy", getattr(reader, camel_name))()
    [field] = asked
    return field


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

    module = _generated_module(table)
    getattr(module, f"{table}Start")(builder)
    for camel_name, value in stored.items():
        getattr(module, f"{table}Add{camel_name}")(builder, value)
    return int(getattr(module, f"{table}End")(builder))


def _enumeration_value(field: str, member: str) -> int:
    """Return the number of an enumeration's member, given the name of the field that holds it."""
    if field not in _ENUMERATIONS:
        raise ValueError(f"the field {field} holds a number, not the member of an enumeration: {member!r}")
    enumeration = _ENUMERATIONS[field]
    code = getattr(getattr(_generated_module(enumeration), enumeration), member, None)
    if not isinstance(code, int):
        raise ValueError(f"{enumeration} has no member {member!r}")
    return code


def _generated_module(name: str) -> ModuleType:
    """Return the generated module of a table or enumeration.

    ``tflite.Conv2DOptions`` is a class in the package's own namespace; the module of that name, which has
    the functions that write the table, is found through the import system only.
    """
    return importlib.import_module(f"tflite.{name}")
