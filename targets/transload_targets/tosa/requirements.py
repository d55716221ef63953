"""Which profile, extension and level of TOSA each op of a module needs, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from transload.errors import Finding
from transload.ir import Module, Op, TensorType
from transload.ir.build import is_constant
from transload.ir.verify import check

from .level import level_reasons

__all__ = ["Requirement", "profile_030", "requirements", "requirements_of"]

PROFILES = ("pro_int", "pro_fp")

_BY_ELEMENT = {"i4": "int4", "i48": "int16", "bf16": "bf16", "f8E4M3FN": "fp8e4m3", "f8E5M2": "fp8e5m2", "i64": "int64"}
_BY_OP = {
    "tosa.fft2d": "fft", "tosa.rfft2d": "fft", "tosa.cond_if": "controlflow", "tosa.while_loop": "controlflow",
    "tosa.variable": "variable", "tosa.variable_read": "variable", "tosa.variable_write": "variable",
}
_INT16_OPS = frozenset(
    f"tosa.{name}" for name in (
        "argmax", "avg_pool2d", "max_pool2d", "conv2d", "conv3d", "depthwise_conv2d", "transpose_conv2d", "matmul", "clamp",
        "table", "concat", "resize"))
"""Operators whose int16 modes belong to the extension; those of the rest belong to the integer profile."""
_CONVOLUTIONS = frozenset(f"tosa.{name}" for name in ("conv2d", "conv3d", "depthwise_conv2d", "transpose_conv2d"))
_DATA = frozenset(("tosa.const", "tosa.const_shape", "tosa.identity", "tosa.yield"))
_BOTH = {
    **dict.fromkeys(
        (f"tosa.{name}" for name in ("add", "sub", "mul", "intdiv")), frozenset(("i32",))),
    **dict.fromkeys(("tosa.logical_left_shift", "tosa.logical_right_shift"), frozenset(("i8", "i16", "i32"))),
    **dict.fromkeys(
        (f"tosa.{name}" for name in (
            "logical_and", "logical_or", "logical_xor", "logical_not", "reduce_all", "reduce_any", "concat", "pad", "reshape",
            "reverse", "slice", "tile", "transpose", "select")),
        frozenset(("i1",))),
}
"""Operators whose modes for these elements both profiles have."""


@dataclass(frozen=True)
class Requirement:
    """What one op needs.

    `profiles` are those of which an implementation must have one (none: every profile has it, or an extension
    gives it), `extensions` those that it must have all of, `level` is "8k" where the op keeps the limits of level 8K
    and "none" where not. `violations` are the rules that it breaks (ERROR_IF, data types, level).
    """

    op: str
    name: str | None
    """The tensor's original name."""
    profiles: tuple[str, ...]
    extensions: tuple[str, ...]
    level: str
    violations: tuple[Finding, ...] = ()


def requirements(module: Module, version: str = "1.0", level: str = "8k") -> list[Requirement]:
    """What each op of a module needs, in order; constants that every implementation has are left out.

    Violations are judged for the specification's `version`, with the limits of `level` ("8k" or "none").
    """
    from .check import op_findings

    number: tuple[int, int] = (1, 1) if version == "1.1" else (1, 0)
    broken: dict[tuple[str, str | None], list[Finding]] = {}
    for finding in check(module):
        for name in finding.names or (None,):
            broken.setdefault((finding.what, name), []).append(
                Finding(finding.what, finding.why, (name,) if name else (), finding.hint))
    listed = []
    for op in module.walk():
        if not op.name.startswith("tosa.") or op.name == "tosa.yield":
            continue
        limits = tuple(level_reasons(op))
        violations = [*broken.get((op.name, op.origin), ()), *op_findings(op, number, level)]
        profiles, extensions = _needs(op)
        if op.name in ("tosa.const", "tosa.const_shape") and not (extensions or limits or violations or len(profiles) == 1):
            continue
        listed.append(Requirement(
            op.name, op.origin, profiles, tuple(sorted(extensions)), "none" if limits else "8k",
            tuple(dict.fromkeys(violations))))
    return listed


def requirements_of(module: Module) -> dict[str, Any]:
    """`profiles`, `extensions` (sorted names, as `tosa-opt --tosa-attach-target` takes them) and `level` of the whole module."""
    profiles: set[str] = set()
    extensions: set[str] = set()
    level = "8k"
    for op in module.walk():
        if op.name.startswith("tosa."):
            some, more = _needs(op)
            extensions |= more
            if len(some) == 1:
                profiles.update(some)
            if next(iter(level_reasons(op)), None) is not None:
                level = "none"
    return {"profiles": sorted(profiles), "extensions": sorted(extensions), "level": level}


def _needs(op: Op) -> tuple[tuple[str, ...], set[str]]:
    """The profiles that have the op's mode, and the extensions that it needs."""
    extensions: set[str] = set()
    if op.name in _BY_OP:
        extensions.add(_BY_OP[op.name])
    rounding = op.attributes.get("rounding_mode")
    if rounding in ("DOUBLE_ROUND", "INEXACT_ROUND"):
        extensions.add(rounding.replace("_", "").lower())
    if op.name == "tosa.dim" or (op.name.endswith("_shape") and op.name != "tosa.const_shape"):
        extensions.add("shape")
    needed: set[str] = set()
    other: set[str] = set()
    for element in _elements(op):
        if element in _BY_ELEMENT:
            other.add(_BY_ELEMENT[element])
        elif element == "i16" and op.name in _INT16_OPS:
            other.add("int16")
        elif element in ("f16", "f32"):
            needed.add("pro_fp")
        elif op.name not in _DATA and element not in _BOTH.get(op.name, ()):
            needed.add("pro_int")
    if (op.name == "tosa.cast" and "pro_fp" in needed) or (op.name in (
        "tosa.argmax", "tosa.gather", "tosa.scatter") and _is_float(op)):
        needed.discard("pro_int")  # the integers are those of the float mode: numbers cast, places, rows
    if op.name in _BY_OP:
        needed = set()  # the extension brings its operators with it
    return tuple(profile for profile in PROFILES if not needed or profile in needed), extensions | other


def profile_030(module: Module) -> str:
    """The profile of TOSA 0.30 that a module of `tosa030` needs: BI (integers), MI (floats), MT (weights that are computed)."""
    profile = "BI"
    for op in module.walk():
        if op.dialect != "tosa030":
            continue
        constants = getattr(op.declaration.definition, "constants", ())
        if any(not is_constant(op.declaration.getters[name](op)) for name in constants):
            return "MT"
        if any(value.is_float for value in (*op.operands, *op.results)):
            profile = "MI"
    return profile


def _is_float(op: Op) -> bool:
    return bool(op.operands) and op.operands[0].is_float


def _elements(op: Op) -> Iterable[str]:
    """The element types that decide on an op's mode: of its data, not of conditions, zero points and shapes."""
    data = [*op.operands[:1], *op.results]
    if op.name in _CONVOLUTIONS:
        data.append(op.operands[1])
    if op.name == "tosa.select":
        data = [*op.operands[1:2], *op.results]
    elif op.name in ("tosa.equal", "tosa.greater", "tosa.greater_equal"):
        data = [*op.operands[:1]]
    return [str(value.type.element) for value in data if isinstance(value.type, TensorType)]
