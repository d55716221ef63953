"""TOSA 0.30 as text: the generic form of MLIR 15 (September 2022), whose dialect `tosa` was of that version.

There, zero points stand in `quantization_info`, bounds of clamp come in pairs, padding and permutation are constant
operands, and `resize` has no border: the output size says it. Reading also takes what MLIR 14 and 16 wrote in
their place (dictionaries, `array<...>`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from transload.errors import Finding, ReadError, UsageError, merge_findings
from transload.files import atomic_path
from transload.ir import F32, I8, I32, Dense, FloatType, Module, Op, TensorType, Type, Value, dtype_of
from transload.ir.attributes import DenseArray, FloatAttr, IntAttr, OpaqueAttr
from transload.ir.build import Builder, constant_of
from transload.ir.verify import check
from transload.plugin import Source
from transload.text import parse_module, print_module
from transload.text.files import fix_inputs

from ..dialect.base import storage_of
from .base import one_number
from .dialect import TOSA030
from .movement import reached

__all__ = ["from_mlir", "parse_030", "print_030", "read", "to_mlir", "write"]

_SPELLED = "tosa_in_the_text_of_030"
"""The dialect's name while it is printed: one that nobody declares, so that each attribute is printed as it stands.

Functions are renamed, too: what is declared is printed as `<{...}>`, which MLIR reads only since version 17.
"""

_LISTS = frozenset((
    "kernel", "stride", "pad", "dilation", "out_pad", "out_shape", "new_shape", "start", "size", "multiples", "output_size"))
_ZERO_POINTS = {
    "avg_pool2d": ("unary_quant", ("input_zp", "output_zp"), ("input_zp", "output_zp")),
    "negate": ("unary_quant", ("input_zp", "output_zp"), ("input1_zp", "output_zp")),
    "matmul": ("matmul_quant", ("a_zp", "b_zp"), ("a_zp", "b_zp")),
    **dict.fromkeys(
        ("conv2d", "conv3d", "depthwise_conv2d", "transpose_conv2d", "fully_connected"),
        ("conv_quant", ("input_zp", "weight_zp"), ("input_zp", "weight_zp"))),
}
"""By operator: the attribute in MLIR, its fields, and ours."""


_TITLE = "// TOSA 0.30"
"""The first line of text that is written here: of many graphs nothing else tells of which specification they are."""
_signs = re.compile(
    rb'#tosa\.\w+_quant<|"tosa\.fully_connected"\(|"tosa\.[a-z]+(?:_[a-z]+)?"\([^\n]*\baxis\s*=\s*\d+\s*:\s*i64'
    rb'|"tosa\.(?:clamp|resize)"\([^\n]*\b(?:min_fp|stride_fp)\s*='
    rb'|"tosa\.(?:conv[23]d|depthwise_conv2d|transpose_conv2d)"\(%[^,\n()]*,[^,\n()]*,[^,\n()]*\)'
    rb'|"tosa\.mul"\(%[^,\n()]*,[^,\n()]*\)\s*<?\{[^\n]*\bshift\s*=|"tosa\.const"\(\)\s*<?\{(?:[^{}\n]*,\s*)?value\s*=')
"""What 1.0 has as operands, in other words, or not at all."""
_later_signs = re.compile(
    rb'"tosa\.const"\(\)\s*<?\{(?:[^{}\n]*,\s*)?values\s*=|"tosa\.const_shape"\(|\bacc_type\s*=|\bnan_mode\s*='
    rb'|"tosa\.(?:conv[23]d|depthwise_conv2d|transpose_conv2d)"\((?:%[^,\n()]*, *){4}[^,\n()]*\)'
    rb'|"tosa\.clamp"\([^\n]*\bmin_val\s*=|"tosa\.mul"\(%[^,\n()]*,[^,\n()]*,[^,\n()]*\)'
    rb'|"tosa\.(?:negate|matmul|avg_pool2d)"\(%[^,\n()]*,[^\n()]*,[^\n()]*\)')
"""What 0.30 has not."""
_titled = re.compile(rb"\A\s*// TOSA 0\.30\b").match


def detect(head: bytes, path: Path) -> bool:
    """Whether MLIR text is of TOSA 0.30: it says so, or has attributes of that time, and fewer that came later.

    So an attribute that is misspelt does not make a text one of another version, in which all others are wrong.
    """
    earlier = sum(1 for _ in _signs.finditer(head))
    return _titled(head) is not None or earlier > sum(1 for _ in _later_signs.finditer(head))


def print_030(module: Module, constants: str = "inline") -> str:
    """A module of `tosa030` as text; `constants` as in `transload.text.print_module`."""
    copy = module.clone()
    to_mlir(copy)
    text = print_module(copy, constants=constants)
    return f"{_TITLE}\n" + re.sub(
        rf'^(\s*(?:%[^"=]* = )?)"{_SPELLED}(_func)?\.', lambda m: f'{m[1]}"{"func" if m[2] else "tosa"}.', text,
        flags=re.MULTILINE)


def parse_030(text: str | bytes | memoryview, name: str = "<text>") -> Module:
    """The module of `tosa030` in a text; `ReadError` lists every op that 0.30 does not have or take."""
    module = parse_module(text, name=name)
    from_mlir(module, name)
    findings = check(module, inferred=False)
    if findings:
        raise ReadError(f"{name}: its ops break the rules of TOSA 0.30", findings)
    return module


def read(source: Source, inputs: Mapping[str, TensorType]) -> Module:
    """The reader of such text."""
    module = parse_030(source.data, source.name)
    if fix_inputs(module, inputs, where=source.name):
        raise UsageError(f"{source.name}: the inputs of TOSA 0.30 text have the shapes that it says", hint="leave out --shape")
    return module


def write(module: Module, path: Path, constants: str = "resource") -> None:
    """The writer of such text."""
    with atomic_path(path) as temporary:
        temporary.write_text(print_030(module, constants), encoding="utf-8")


# --- to MLIR


def to_mlir(module: Module) -> None:
    """Respell the ops of `tosa030`, in place, as MLIR had them."""
    for op in list(module.walk()):
        if op.name == "func.func":
            op.name = f"{_SPELLED}_func.func"
        if op.dialect == "tosa030":
            name = op.name.partition(".")[2]
            attributes = {key: op.attribute(key) for key in op.declaration.attributes}
            _TO_MLIR.get(name, lambda op, attributes: None)(op, attributes)
            _gather_zero_points(name, op, attributes)
            op.name = f"{_SPELLED}.{name}"
            op.attributes = {
                key: list(value) if key in _LISTS else value for key, value in attributes.items() if value is not None}


def _gather_zero_points(name: str, op: Op, attributes: dict[str, Any]) -> None:
    kind, fields, ours = _ZERO_POINTS.get(name, ("", (), ()))
    values = [attributes.pop(key) for key in ours]
    if any(values) or (values and str(storage_of(op.operands[0])) == "i8"):
        parts = ", ".join(f"{field} = {value}" for field, value in zip(fields, values, strict=True))
        attributes["quantization_info"] = OpaqueAttr(f"#tosa.{kind}<{parts}>")


def _constant_before(op: Op, array: np.ndarray, element: Any = None) -> Value:
    dense = Dense(array) if element is None else Dense(array, TensorType(array.shape, element))
    builder = Builder(op.parent, op, op.location)  # type: ignore[arg-type]
    return builder.create(f"{_SPELLED}.const", (), (dense.type,), {"value": dense}).result


def _clamp_to(op: Op, attributes: dict[str, Any]) -> None:
    low, high = attributes.pop("min_val"), attributes.pop("max_val")
    floats = isinstance(storage_of(op.operands[0]), FloatType)
    for side, value in (("min", low), ("max", high)):
        attributes[f"{side}_int"] = 0 if floats else int(value)
        attributes[f"{side}_fp"] = FloatAttr(float(value) if floats else 0.0, F32)


def _pad_to(op: Op, attributes: dict[str, Any]) -> None:
    element = storage_of(op.operands[0])
    padding = np.array(attributes.pop("padding"), np.int32).reshape(-1, 2)
    value = np.array(attributes.pop("pad_const")).astype(dtype_of(element))
    op.operands = (op.operands[0], _constant_before(op, padding), _constant_before(op, value, element))


def _transpose_to(op: Op, attributes: dict[str, Any]) -> None:
    op.operands = (op.operands[0], _constant_before(op, np.array(attributes.pop("perms"), np.int32)))


def _resize_to(op: Op, attributes: dict[str, Any]) -> None:
    del attributes["border"]
    floats = isinstance(storage_of(op.operands[0]), FloatType)
    for key in ("stride", "offset"):
        values = attributes.pop(key)
        attributes[key] = [0, 0] if floats else list(values)
        attributes[f"{key}_fp"] = [FloatAttr(float(v) if floats else 0.0, F32) for v in values]
    attributes["shift"] = IntAttr(attributes["shift"], I32)
    attributes["mode"] = "NEAREST_NEIGHBOR" if attributes["mode"] == "NEAREST" else attributes["mode"]


def _rescale_to(op: Op, attributes: dict[str, Any]) -> None:
    for key in ("input_zp", "output_zp"):
        attributes[key] = IntAttr(attributes[key], I32)
    for key in ("multiplier", "shift"):
        attributes[key] = [IntAttr(value, I32) for value in attributes[key]]


def _mul_to(op: Op, attributes: dict[str, Any]) -> None:
    attributes["shift"] = IntAttr(attributes["shift"], I32)


_TO_MLIR: dict[str, Callable[[Op, dict[str, Any]], None]] = {
    "clamp": _clamp_to, "pad": _pad_to, "transpose": _transpose_to, "resize": _resize_to, "rescale": _rescale_to, "mul": _mul_to,
}


# --- from MLIR


def from_mlir(module: Module, name: str = "<text>") -> None:
    """Make the `tosa` ops of a text of that time ops of `tosa030`, in place. `ReadError` lists those that cannot be."""
    findings: list[Finding] = []
    for op in list(module.walk()):
        if op.dialect != "tosa":
            continue
        kind = op.name.partition(".")[2]
        if f"tosa030.{kind}" not in TOSA030.ops:
            findings.append(Finding(op.name, "is no operator of TOSA 0.30", (op.origin,) if op.origin else ()))
            continue
        try:
            attributes = dict(op.attributes)
            _take_zero_points(kind, attributes)
            _FROM_MLIR.get(kind, lambda op, attributes: None)(op, attributes)
            for key in _LISTS & attributes.keys():
                if not _are_floats(attributes[key]):
                    attributes[key] = _integers(attributes[key], key)
            declared = TOSA030.ops[f"tosa030.{kind}"].attributes
            op.attributes = {
                key: int(value) if isinstance(value, IntAttr) and key in declared and declared[key].kind.text_type is not None
                else value for key, value in attributes.items()}  # MLIR 15 had i64 where later ones have i32
            op.name = f"tosa030.{kind}"
        except _Unlike as error:
            findings.append(Finding(op.name, str(error), (op.origin,) if op.origin else ()))
    if findings:
        raise ReadError(f"{name} is no text of TOSA 0.30", merge_findings(findings), hint="newer text is read without --format")
    for op in list(module.walk()):
        if op.name == "tosa030.const" and not op.result.uses:
            op.erase()


class _Unlike(Exception):
    """Something is not as MLIR wrote it at that time."""


def _take_zero_points(name: str, attributes: dict[str, Any]) -> None:
    given = attributes.pop("quantization_info", None)
    found: dict[str, int] = {}
    if isinstance(given, OpaqueAttr):
        found = {key: int(value) for key, value in re.findall(r"(\w+)\s*=\s*(-?\d+)", given.text)}
    elif isinstance(given, dict):
        found = {key: int(value) for key, value in given.items()}
    _, fields, ours = _ZERO_POINTS.get(name, ("", (), ()))
    for field, key in zip(fields, ours, strict=True):
        if field in found:
            attributes[key] = found[field]
    if name == "pad" and "input_zp" in found:
        attributes["input_zp"] = found["input_zp"]


def _are_floats(value: Any) -> bool:
    """Whether it is what `resize` made of its step and offset of floats."""
    return isinstance(value, DenseArray) and isinstance(value.element, FloatType)


def _integers(value: Any, key: str, narrow: tuple[Type, ...] = ()) -> tuple[int, ...]:
    """A list of integers, however it was written; an `array` is of i64, or of a narrower type that MLIR had there."""
    if isinstance(value, DenseArray) and value.element not in narrow:  # of i64 it is a tuple
        raise _Unlike(f"attribute {key!r} must be integers (i64), and is of type {value.element}")
    if isinstance(value, Dense):
        value = value.numpy().reshape(-1).tolist()
    if not isinstance(value, list | tuple) or not all(isinstance(item, int) for item in value):
        raise _Unlike(f"{value!r:.60} is no list of integers")
    return tuple(int(item) for item in value)


def _need(attributes: dict[str, Any], key: str) -> Any:
    if key not in attributes:
        raise _Unlike(f"attribute {key!r} is missing")
    return attributes.pop(key)


def _constant_operand(op: Op, index: int, what: str) -> np.ndarray:
    dense = constant_of(op.operands[index]) if index < len(op.operands) else None
    if dense is None:
        dense = _value_of(op.operands[index]) if index < len(op.operands) else None
    if dense is None:
        raise _Unlike(f"the {what} is no constant")
    return dense.numpy()


def _value_of(value: Value) -> Dense | None:
    """The constant of a `tosa.const` as it was: in attribute `value`."""
    held = value.op.attributes.get("value") if value.op is not None and value.op.name.endswith(".const") else None
    return held if isinstance(held, Dense) else None


def _clamp_from(op: Op, attributes: dict[str, Any]) -> None:
    element = storage_of(op.operands[0])
    kind, other = ("fp", "int") if isinstance(element, FloatType) else ("int", "fp")
    for side in ("min", "max"):
        attributes.pop(f"{side}_{other}", None)
        attributes[f"{side}_val"] = one_number(_need(attributes, f"{side}_{kind}"), element)


def _pad_from(op: Op, attributes: dict[str, Any]) -> None:
    zero_point = attributes.pop("input_zp", 0)
    attributes["padding"] = _integers(Dense(_constant_operand(op, 1, "padding")), "padding")
    value = _constant_operand(op, 2, "value to pad with").reshape(-1)[0] if len(op.operands) > 2 else zero_point
    attributes["pad_const"] = one_number(value, storage_of(op.operands[0]))
    op.operands = op.operands[:1]


def _transpose_from(op: Op, attributes: dict[str, Any]) -> None:
    attributes["perms"] = _integers(Dense(_constant_operand(op, 1, "order of dimensions")), "perms")
    op.operands = op.operands[:1]


def _resize_from(op: Op, attributes: dict[str, Any]) -> None:
    if "output_size" not in attributes:
        raise _Unlike("has no output_size, as resize had until 0.30")
    floats = isinstance(storage_of(op.operands[0]), FloatType)
    shift = attributes["shift"] = int(attributes.get("shift", 0))
    for key in ("stride", "offset"):
        given, as_float = attributes.pop(key, None), attributes.pop(f"{key}_fp", None)
        if floats:
            attributes[key] = DenseArray([float(value) for value in as_float or ()], F32)
        else:
            attributes[key] = _integers(given, key)
    attributes["mode"] = "NEAREST" if attributes.get("mode") == "NEAREST_NEIGHBOR" else attributes.get("mode")
    if not min(len(attributes["stride"]), len(attributes["offset"])) == 2 or min(attributes["stride"]) <= 0:
        raise _Unlike("stride and offset are not two numbers each")
    sizes, shape = _integers(attributes["output_size"], "output_size"), op.operands[0].tensor_type.shape
    places = [reached(n, shift, o, s) for n, o, s in zip(shape[1:3], attributes["offset"], attributes["stride"], strict=True)]  # type: ignore[index]
    attributes["border"] = tuple(size - place for size, place in zip(sizes, places, strict=True))


def _rescale_from(op: Op, attributes: dict[str, Any]) -> None:
    for key in ("multiplier", "shift"):
        attributes[key] = _integers(_need(attributes, key), key, (I8, I32))  # from MLIR 17 on arrays, of shifts i8 at last
    for key in ("input_zp", "output_zp"):
        attributes[key] = int(attributes.get(key, 0))


def _mul_from(op: Op, attributes: dict[str, Any]) -> None:
    attributes["shift"] = int(attributes.get("shift", 0))


_FROM_MLIR: dict[str, Callable[[Op, dict[str, Any]], None]] = {
    "clamp": _clamp_from, "pad": _pad_from, "transpose": _transpose_from, "resize": _resize_from, "rescale": _rescale_from,
    "mul": _mul_from,
}
