"""Attributes and types of the StableHLO dialect in bytecode that is not portable: what JAX and `stablehlo-opt` write.

The numbers are those of upstream's encoding (`StablehloBytecode.cpp`), which says that they never change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transload.ir.attributes import OpaqueAttr
from transload.ir.types import DialectType, Type, format_float
from transload.text.attribute_text import attribute_text

from .builtin import DYNAMIC_SIZE, double
from .cursor import UnknownConstruct
from .entries import EntryCursor
from .meshes import Axis, Mesh, MeshAxis, SubAxis, groups_along

__all__ = [
    "COMPARISONS", "COMPARISON_TYPES", "FFT_TYPES", "MODES", "PRECISIONS", "RNG_ALGORITHMS", "RNG_DISTRIBUTIONS", "TOKEN",
    "TRANSPOSES", "accuracy", "alias", "bounds", "enum_attribute", "read_attribute", "read_type", "structure",
]

TOKEN = DialectType("stablehlo.token")

COMPARISONS = dict(enumerate(("EQ", "NE", "GE", "GT", "LE", "LT")))
COMPARISON_TYPES = dict(enumerate(("NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")))
FFT_TYPES = dict(enumerate(("FFT", "IFFT", "RFFT", "IRFFT")))
PRECISIONS = dict(enumerate(("DEFAULT", "HIGH", "HIGHEST")))
RNG_ALGORITHMS = dict(enumerate(("DEFAULT", "THREE_FRY", "PHILOX")))
RNG_DISTRIBUTIONS = {1: "UNIFORM", 2: "NORMAL"}
TRANSPOSES = dict(enumerate(("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")))
MODES = dict(enumerate(("DEFAULT", "HIGHEST", "TOLERANCE")))

CONVOLUTION = (
    "input_batch_dimension", "input_feature_dimension", "[input_spatial_dimensions]",
    "kernel_input_feature_dimension", "kernel_output_feature_dimension", "[kernel_spatial_dimensions]",
    "output_batch_dimension", "output_feature_dimension", "[output_spatial_dimensions]",
)
DOT = ("[lhs_batching_dimensions]", "[rhs_batching_dimensions]", "[lhs_contracting_dimensions]", "[rhs_contracting_dimensions]")
GATHER = (
    "[offset_dims]", "[collapsed_slice_dims]", "[operand_batching_dims]", "[start_indices_batching_dims]", "[start_index_map]",
    "index_vector_dim",
)
SCATTER = (
    "[update_window_dims]", "[inserted_window_dims]", "[input_batching_dims]", "[scatter_indices_batching_dims]",
    "[scatter_dims_to_operand_dims]", "index_vector_dim",
)
CHANNEL = ("handle", "type")
SHAPES = {"conv": CONVOLUTION, "dot": DOT, "gather": GATHER, "scatter": SCATTER, "channel_handle": CHANNEL}
"""The members of structures in the order in which they are written; those in brackets are lists."""


def structure(mnemonic: str, values: Sequence[Any]) -> OpaqueAttr:
    """A structure by the values of its members; empty lists are left out, as a printer does."""
    parts = []
    for member, value in zip(SHAPES[mnemonic], values, strict=True):
        if member[0] != "[":
            if value or mnemonic in ("conv", "channel_handle"):
                parts.append(f"{member} = {value}")
        elif value or mnemonic == "conv":
            parts.append(f"{member[1:-1]} = [{', '.join(map(str, value))}]")
    return OpaqueAttr(f"#stablehlo.{mnemonic}<{'raw ' if mnemonic == 'conv' else ''}{', '.join(parts)}>")


def future(types: Sequence[Type]) -> Type:
    """What an asynchronous operation will give."""
    return DialectType(f"stablehlo.future<{', '.join(map(str, types))}>")


def enum_attribute(word: str, name: str) -> OpaqueAttr:
    return OpaqueAttr(f"#stablehlo<{word} {name}>")


def alias(output: list[int], operand: int, operand_indices: list[int]) -> OpaqueAttr:
    """Which result of a custom call may share memory with which operand."""
    return OpaqueAttr(
        f"#stablehlo.output_operand_alias<output_tuple_indices = {output}, operand_index = {operand}, "
        f"operand_tuple_indices = {operand_indices}>")


def bounds(sizes: list[int]) -> OpaqueAttr:
    """The greatest sizes of dynamic dimensions."""
    return OpaqueAttr(f"#stablehlo.bounds<{', '.join('?' if size == DYNAMIC_SIZE else str(size) for size in sizes)}>")


def accuracy(atol: float, rtol: float, ulps: int, mode: str) -> OpaqueAttr:
    """How near a function of one argument must come."""
    parts = [f"{name} = {_number(value)}" for name, value in (("atol", atol), ("rtol", rtol)) if value]
    parts += [f"ulps = {ulps}"] if ulps else []
    return OpaqueAttr(f"#stablehlo.result_accuracy<{', '.join([*parts, f'mode = #stablehlo.result_accuracy_mode<{mode}>'])}>")


def _number(value: float) -> str:
    """As MLIR prints a number: six digits after the point where they say it all."""
    short = f"{value:.6e}"
    return short if float(short) == value else format_float(value)


def read_attribute(r: EntryCursor, code: int) -> Any:
    """An attribute of StableHLO."""
    if code in _ENUMS:
        word, names = _ENUMS[code]
        return enum_attribute(word, r.enum(names, word))
    if code in _STRUCTURES:
        mnemonic = _STRUCTURES[code]
        return structure(mnemonic, [r.signed_list() if member[0] == "[" else r.signed() for member in SHAPES[mnemonic]])
    if code == 13:
        return bounds(r.signed_list())
    if code == 14:
        return alias(r.signed_list(), r.signed(), r.signed_list())
    if code == 15:
        return _dot_algorithm(r)
    if code == 17:
        atol, rtol, ulps, mode = double(r), double(r), r.signed(), r.attribute()
        word = mode.text.removesuffix(">").split()[-1] if isinstance(mode, OpaqueAttr) else ""
        return accuracy(atol, rtol, ulps, word)
    if code in _MESHES:
        return _MESHES[code](r)
    raise UnknownConstruct(f"attribute {code} of stablehlo in bytecode is not known")


def _dot_algorithm(r: EntryCursor) -> OpaqueAttr:
    lhs, rhs, accumulation = r.type(), r.type(), r.type()
    return OpaqueAttr(
        f"#stablehlo.dot_algorithm<lhs_precision_type = {lhs}, rhs_precision_type = {rhs}, accumulation_type = {accumulation}, "
        f"lhs_component_count = {r.signed()}, rhs_component_count = {r.signed()}, num_primitive_operations = {r.signed()}, "
        f"allow_imprecise_accumulation = {attribute_text(r.boolean())}>")


_ENUMS = {
    2: ("comparison_direction", COMPARISONS), 3: ("comparison_type", COMPARISON_TYPES), 6: ("fft_type", FFT_TYPES),
    8: ("precision", PRECISIONS), 9: ("rng_algorithm", RNG_ALGORITHMS), 10: ("rng_distribution", RNG_DISTRIBUTIONS),
    12: ("transpose", TRANSPOSES), 16: ("result_accuracy_mode", MODES),
}
_MESHES: dict[int, Any] = {
    18: lambda r: groups_along(r.attribute(), r.attributes()),
    19: lambda r: SubAxis(r.signed(), r.signed()),
    20: lambda r: Axis(r.string(), r.attribute() if r.boolean() else None),
    21: lambda r: MeshAxis(r.string(), r.signed()),
    22: lambda r: Mesh(r.attribute(), r.attribute() if r.boolean() else None),
}
_STRUCTURES = {1: "channel_handle", 4: "conv", 5: "dot", 7: "gather", 11: "scatter"}


def read_type(r: EntryCursor, code: int) -> Type:
    """A type of StableHLO."""
    if code == 0:
        return TOKEN
    if code == 1:
        return future(r.types())
    raise UnknownConstruct(f"type {code} of stablehlo in bytecode is not known")
