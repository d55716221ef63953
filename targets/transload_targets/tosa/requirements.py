"""Which profiles and extensions of TOSA a module needs: what an implementation must offer to run it."""

from __future__ import annotations

from typing import Any

from transload.ir import Module, Op, TensorType

__all__ = ["requirements_of"]

_BY_ELEMENT = {"i4": "int4", "i48": "int16", "bf16": "bf16", "f8E4M3FN": "fp8e4m3", "f8E5M2": "fp8e5m2", "i64": "int64"}
_BY_OP = {
    "tosa.fft2d": "fft", "tosa.rfft2d": "fft", "tosa.cond_if": "controlflow", "tosa.while_loop": "controlflow",
    "tosa.variable": "variable", "tosa.variable_read": "variable", "tosa.variable_write": "variable",
}
_INT16_OPS = frozenset(
    f"tosa.{name}" for name in (
        "argmax", "avg_pool2d", "max_pool2d", "conv2d", "conv3d", "depthwise_conv2d", "transpose_conv2d", "matmul", "clamp",
        "table",
        "concat", "resize"))
"""Operators whose int16 modes belong to the extension; those of the rest belong to the integer profile."""
_ANY_PROFILE = frozenset(
    f"tosa.{name}" for name in (
        "add", "sub", "mul", "intdiv", "logical_and", "logical_or", "logical_xor", "logical_not", "logical_left_shift",
        "logical_right_shift", "reduce_all", "reduce_any", "const", "const_shape", "identity", "yield"))
"""Operators whose i1 and i32 modes are in both profiles."""
_MOVES = frozenset(f"tosa.{name}" for name in ("concat", "pad", "reshape", "reverse", "slice", "tile", "transpose", "select"))


def requirements_of(module: Module) -> dict[str, Any]:
    """`profiles` and `extensions`, each a sorted list of names as `tosa-opt --tosa-attach-target` takes them."""
    profiles: set[str] = set()
    extensions: set[str] = set()
    for op in module.walk():
        if not op.name.startswith("tosa."):
            continue
        if op.name in _BY_OP:
            extensions.add(_BY_OP[op.name])
        rounding = op.attributes.get("rounding_mode")
        if rounding in ("DOUBLE_ROUND", "INEXACT_ROUND"):
            extensions.add(rounding.replace("_", "").lower())
        if op.name == "tosa.dim" or (op.name.endswith("_shape") and op.name != "tosa.const_shape"):
            extensions.add("shape")
        _by_elements(op, profiles, extensions)
    return {"profiles": sorted(profiles), "extensions": sorted(extensions)}


def _by_elements(op: Op, profiles: set[str], extensions: set[str]) -> None:
    data = [*op.operands[:1], *op.results]
    if op.name in ("tosa.conv2d", "tosa.conv3d", "tosa.depthwise_conv2d", "tosa.transpose_conv2d"):
        data.append(op.operands[1])
    if op.name == "tosa.select":
        data = [*op.operands[1:2], *op.results]
    for value in data:
        if not isinstance(value.type, TensorType):
            continue
        element = str(value.type.element)
        if element in _BY_ELEMENT:
            extensions.add(_BY_ELEMENT[element])
        elif element == "i16" and op.name in _INT16_OPS:
            extensions.add("int16")
        elif element in ("f16", "f32"):
            profiles.add("pro_fp")
        elif not _in_any_profile(op.name, element):
            profiles.add("pro_int")


def _in_any_profile(name: str, element: str) -> bool:
    """Whether both profiles have the operator's mode for these integers or booleans."""
    if name in ("tosa.const", "tosa.identity"):
        return True
    return (element in ("i1", "i32") and name in _ANY_PROFILE) or (element == "i1" and name in _MOVES)
