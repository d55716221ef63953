"""The parts of the schema `tosa.fbs` that reader and writer share: enums, and each operator's attributes by field.

The schema's unions and enums list operators in one order, which only ever grows at its end; so an
operator's number, and that of its attribute table, is its place in `OPERATORS`.
"""

from __future__ import annotations

from typing import NamedTuple

from transload.ir import BF16, BOOL, F16, F32, I4, I8, I16, I32, I48, I64, FloatType, Type

__all__ = ["DTYPES", "ENUMS", "IDENTIFIER", "MAX_DEPTH", "NUMBERS", "OPERATORS", "SHAPE", "Field", "Operator", "dtype_number"]

IDENTIFIER = b"TOSA"

SHAPE = 10
"""The number of the data type of shapes, which are no tensors."""

DTYPES: dict[int, Type] = {
    1: BOOL, 2: I4, 3: I8, 4: I16, 5: I32, 6: I48, 7: F32, 8: F16, 9: BF16, 11: FloatType("f8E4M3FN"), 12: FloatType("f8E5M2"),
    13: FloatType("f6E2M3FN"), 14: FloatType("f6E3M2FN"), 15: FloatType("f4E2M1FN"), 16: FloatType("f8E8M0FNU"), 17: I64,
}
NUMBERS: dict[Type, int] = {type_: number for number, type_ in DTYPES.items()}


def dtype_number(type_: Type) -> int | None:
    """The number of an element type, None where the schema has none."""
    return NUMBERS.get(type_)


ENUMS: dict[str, tuple[str, ...]] = {
    "nan": ("", "PROPAGATE", "IGNORE"),
    "resize": ("", "NEAREST_NEIGHBOR", "BILINEAR"),
    "rounding": ("", "SINGLE_ROUND", "INEXACT_ROUND", "DOUBLE_ROUND"),
}
"""Names by number, as MLIR spells them."""


class Field(NamedTuple):
    """One field of an attribute table.

    `kind` is `int`, `bool`, `ints`, `dtype`, a key of `ENUMS`, `number` (bytes of the operand's element type),
    `text`, `bytes` (a string held as bytes) or `graph` (the name of a region).
    """

    name: str
    kind: str


class Operator(NamedTuple):
    """An operator: its name in the schema, and its attribute table's fields in order."""

    schema_name: str
    fields: tuple[Field, ...]

    @property
    def op_name(self) -> str:
        """Its name in MLIR."""
        return "tosa." + self.schema_name.lower()


def _fields(text: str) -> tuple[Field, ...]:
    return tuple(Field(*word.split(":")) for word in text.split())


_CONVOLUTION = "pad:ints stride:ints dilation:ints local_bound:bool acc_type:dtype"
_WITH_FIELDS = {
    "ARGMAX": "axis:int nan_mode:nan",
    "AVG_POOL2D": "kernel:ints stride:ints pad:ints acc_type:dtype",
    "CONV2D": _CONVOLUTION, "CONV3D": _CONVOLUTION, "DEPTHWISE_CONV2D": _CONVOLUTION,
    "FFT2D": "inverse:bool local_bound:bool",
    "MAX_POOL2D": "kernel:ints stride:ints pad:ints nan_mode:nan",
    "RFFT2D": "local_bound:bool",
    "TRANSPOSE_CONV2D": "out_pad:ints stride:ints local_bound:bool acc_type:dtype",
    "CLAMP": "min_val:number max_val:number nan_mode:nan",
    "ARITHMETIC_RIGHT_SHIFT": "round:bool",
    "MAXIMUM": "nan_mode:nan", "MINIMUM": "nan_mode:nan",
    "REDUCE_ALL": "axis:int", "REDUCE_ANY": "axis:int", "REDUCE_MAX": "axis:int nan_mode:nan",
    "REDUCE_MIN": "axis:int nan_mode:nan",
    "REDUCE_PRODUCT": "axis:int", "REDUCE_SUM": "axis:int",
    "CONCAT": "axis:int", "REVERSE": "axis:int", "TRANSPOSE": "perms:ints", "RESIZE": "mode:resize",
    "RESCALE": "scale32:bool rounding_mode:rounding per_channel:bool input_unsigned:bool output_unsigned:bool",
    "CUSTOM": "operator_name:text domain_name:text implementation_attrs:bytes",
    "COND_IF": "then_graph:graph else_graph:graph", "WHILE_LOOP": "cond_graph:graph body_graph:graph",
    "DIM": "axis:int", "ASSERT_EQUAL_SHAPE": "allow_broadcast:bool",
    "MAX_POOL2D_ADAPTIVE": "nan_mode:nan", "AVG_POOL2D_ADAPTIVE": "acc_type:dtype",
}
_ORDER = """
    ARGMAX AVG_POOL2D CONV2D CONV3D DEPTHWISE_CONV2D FFT2D MATMUL MAX_POOL2D RFFT2D TRANSPOSE_CONV2D CLAMP ERF SIGMOID
    TANH ADD ARITHMETIC_RIGHT_SHIFT BITWISE_AND BITWISE_OR BITWISE_XOR INTDIV LOGICAL_AND LOGICAL_LEFT_SHIFT
    LOGICAL_RIGHT_SHIFT LOGICAL_OR LOGICAL_XOR MAXIMUM MINIMUM MUL POW SUB TABLE ABS BITWISE_NOT CEIL CLZ COS EXP FLOOR
    LOG LOGICAL_NOT NEGATE RECIPROCAL RSQRT SIN SELECT EQUAL GREATER GREATER_EQUAL REDUCE_ALL REDUCE_ANY REDUCE_MAX
    REDUCE_MIN REDUCE_PRODUCT REDUCE_SUM CONCAT PAD RESHAPE REVERSE SLICE TILE TRANSPOSE GATHER SCATTER RESIZE CAST
    RESCALE CONST IDENTITY CUSTOM COND_IF WHILE_LOOP VARIABLE VARIABLE_WRITE VARIABLE_READ CONST_SHAPE
    MATMUL_T_BLOCK_SCALED CAST_FROM_BLOCK_SCALED CAST_TO_BLOCK_SCALED DIM CONCAT_SHAPE ADD_SHAPE SUB_SHAPE MUL_SHAPE
    SLICE_SHAPE EXP2_SHAPE LOG2_CEIL_SHAPE LOG2_FLOOR_SHAPE MAX_SHAPE MIN_SHAPE MOD_SHAPE DIV_CEIL_SHAPE DIV_FLOOR_SHAPE
    ASSERT_EQUAL_SHAPE CONV2D_BLOCK_SCALED MAX_POOL2D_ADAPTIVE AVG_POOL2D_ADAPTIVE RESHAPE_BLOCK_SCALED
    ROW_GATHER_BLOCK_SCALED ROW_GATHER MATMUL_T
"""
OPERATORS: tuple[Operator, ...] = (
    Operator("UNKNOWN", ()), *(Operator(name, _fields(_WITH_FIELDS.get(name, ""))) for name in _ORDER.split()))
"""By number; the first one stands for none."""

MAX_DEPTH = 100
"""Graphs of control flow in each other that are read, and so written: each takes some frames of Python's stack."""
