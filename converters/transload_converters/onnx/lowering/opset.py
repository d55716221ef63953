"""The pass `onnx-set-opset`: operators of the opset that lowerings write, as those of the one that is wanted.

Most operators only took up new types and attributes between opsets 13 and 21, so that what a model uses of them is the same.
Those that changed, or are younger, are written by others here; what an opset has no word for is told, all at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from transload.errors import ConversionError, Finding, UsageError, merge_findings
from transload.ir import Module, NoneType, Op, TensorType, Value
from transload.ir.build import Builder, constant_of, part_location

from ..dialect import default_of, schema_of
from ..reader import OPSET
from ..types import OPSET_WRITTEN, type_word
from .common import emit, ints, scalar

__all__ = ["OLDEST", "set_opset"]

OLDEST = 13
"""The oldest opset that is written: it brought axes as operands and scales by channels."""


QUANTIZED = 20
"""The opset of quantized models that it has words for: what onnxruntime's optimizer makes of QuantizeLinear of opset 21 and later
it may refuse itself (https://github.com/microsoft/onnxruntime/issues/25526)."""


def set_opset(module: Module, opset: int = 0) -> bool:
    """Make the operators those of an opset from 13 to 21, and note it on the module; 0 is the one that runs best."""
    if not opset:
        opset = _usual(module)
    elif not OLDEST <= opset <= OPSET_WRITTEN:
        raise UsageError(f"option opset is to be {opset}, and {OLDEST} to {OPSET_WRITTEN} can be written",
                         hint="0 is the one that runs best")
    if opset < OPSET_WRITTEN:
        _write_older(module, opset)
    findings = merge_findings([each for op in module.walk() if op.dialect == "onnx" for each in _unknown(op, opset)])
    if findings:
        raise ConversionError(f"the model cannot be written in opset {opset} of ONNX", findings)
    contributed = any(op.name.startswith("onnx.com.microsoft.") for op in module.walk())
    module.attributes[OPSET] = {"ai.onnx": opset, **({"com.microsoft": 1} if contributed else {})}
    return True


def _usual(module: Module) -> int:
    """The newest opset, but `QUANTIZED` for a quantized model that can be written in it."""
    if not any(op.name == "onnx.QuantizeLinear" for op in module.walk()):
        return OPSET_WRITTEN
    try:
        set_opset(module.clone(), QUANTIZED)
    except ConversionError:  # of 16 bits, say
        return OPSET_WRITTEN
    return QUANTIZED


def _write_older(module: Module, opset: int) -> None:
    """Replace operators that are younger than an opset, then change all, those in their places too, to what they were then."""
    operators = {op: op.name.removeprefix("onnx.") for op in module.walk() if op.dialect == "onnx"}
    for op, name in operators.items():
        if name in _OTHERWISE and opset < _OTHERWISE[name][0]:
            assert op.parent is not None
            builder = Builder(op.parent, op, part_location(op.location, op.name))
            op.replace_with([_OTHERWISE[name][1](op, builder)])
    for op in module.walk():
        if op.dialect == "onnx":
            _take_axes(op, opset)
            _forget_defaults(op, opset)


def _take_axes(op: Op, opset: int) -> None:
    """Make the operand that says along which axes an operator reduces an attribute, as it was before opset 18."""
    if not op.name.startswith("onnx.Reduce") or op.name == "onnx.ReduceSum" or opset >= 18:
        return
    axes = constant_of(op.operands[1]) if len(op.operands) > 1 else None
    if axes is not None:
        op.operands = op.operands[:1]
        op.attributes["axes"] = tuple(int(axis) for axis in axes.numpy().reshape(-1))


def _forget_defaults(op: Op, opset: int) -> None:
    """Leave out attributes that an opset does not have where they say what is meant without them."""
    name = op.name.removeprefix("onnx.")
    newest, schema = schema_of(name, OPSET_WRITTEN), schema_of(name, opset)
    if newest is None or schema is None:
        return
    for key in [key for key in op.attributes if key in newest.attributes and key not in schema.attributes]:
        if op.attributes[key] == default_of(newest.attributes[key]):
            del op.attributes[key]


def _gelu(op: Op, rw: Builder) -> Value:
    x = op.operands[0]
    if op.attributes.get("approximate") == "tanh":
        cube = emit(rw, "Mul", emit(rw, "Mul", emit(rw, "Mul", x, x), x), scalar(rw, 0.044715, x.element))
        part = emit(rw, "Tanh", emit(rw, "Mul", emit(rw, "Add", x, cube), scalar(rw, math.sqrt(2 / math.pi), x.element)))
    else:
        part = emit(rw, "Erf", emit(rw, "Mul", x, scalar(rw, math.sqrt(0.5), x.element)))
    return emit(rw, "Mul", emit(rw, "Mul", x, scalar(rw, 0.5, x.element)), emit(rw, "Add", part, scalar(rw, 1, x.element)))


def _hard_swish(op: Op, rw: Builder) -> Value:
    return emit(rw, "Mul", op.operands[0], emit(rw, "HardSigmoid", op.operands[0], alpha=1 / 6, beta=0.5))


def _mish(op: Op, rw: Builder) -> Value:
    return emit(rw, "Mul", op.operands[0], emit(rw, "Tanh", emit(rw, "Softplus", op.operands[0])))


def _centred(rw: Builder, x: Value, axes: tuple[int, ...], epsilon: float) -> Value:
    """Numbers less their mean over some dimensions, over the root of their variance."""
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(x.static_shape))
    along = ints(rw, axes)
    away = emit(rw, "Sub", x, emit(rw, "ReduceMean", x, along, shape=shape))
    variance = emit(rw, "ReduceMean", emit(rw, "Mul", away, away), along, shape=shape)
    root = emit(rw, "Sqrt", emit(rw, "Add", variance, scalar(rw, epsilon, x.element)))
    return emit(rw, "Div", away, root, shape=x.static_shape)


def _layer_norm(op: Op, rw: Builder) -> Value:
    x, *scales = op.operands
    rank = len(x.static_shape)
    y = _centred(rw, x, tuple(range(op.attributes.get("axis", -1) % rank, rank)), op.attributes.get("epsilon", 1e-5))
    for name, scale in zip(("Mul", "Add"), scales, strict=False):
        y = y if isinstance(scale.type, NoneType) else emit(rw, name, y, scale)
    return y


def _group_norm(op: Op, rw: Builder) -> Value:
    x, weight, bias = op.operands
    batch, channels, *spatial = x.static_shape
    groups = op.attributes["num_groups"]
    grouped = (batch, groups, channels // groups, *spatial)
    split = emit(rw, "Reshape", x, ints(rw, grouped), shape=grouped)
    y = _centred(rw, split, tuple(range(2, len(grouped))), op.attributes.get("epsilon", 1e-5))
    y = emit(rw, "Reshape", y, ints(rw, x.static_shape), shape=x.static_shape)
    wide = (channels, *(1,) * len(spatial))
    for name, scale in (("Mul", weight), ("Add", bias)):
        y = emit(rw, name, y, emit(rw, "Reshape", scale, ints(rw, wide), shape=wide))
    return y


_OTHERWISE: dict[str, tuple[int, Callable[[Op, Builder], Value]]] = {
    "Gelu": (20, _gelu), "HardSwish": (14, _hard_swish), "Mish": (18, _mish), "LayerNormalization": (17, _layer_norm),
    "GroupNormalization": (21, _group_norm)}
"""Operators that are written by others in opsets before the one here."""


_LATER_WORDS = {
    "ScatterElements": ("reduction", {"max": 18, "min": 18}), "ScatterND": ("reduction", {"max": 18, "min": 18}),
    "Pad": ("mode", {"wrap": 19}), "Resize": ("coordinate_transformation_mode", {"half_pixel_symmetric": 19})}
"""Attributes whose words came later than they themselves, and in which opsets; schemas do not say so."""


def _unknown(op: Op, opset: int) -> Iterator[Finding]:
    """What of an operator an opset has no word for, and the next opset that has one."""
    name = op.name.removeprefix("onnx.")
    if name in ("NoValue", "Yield") or name.startswith("com.microsoft."):
        return
    lack = _lack(op, name, opset)
    if lack:
        newer = next((each for each in range(opset + 1, OPSET_WRITTEN) if not _lack(op, name, each)), OPSET_WRITTEN)
        hint = f"opset {newer} has it: `--option opset={newer}`" if opset < OPSET_WRITTEN else ""
        yield Finding(op.name, lack, (op.origin,) if op.origin else (), hint)


def _lack(op: Op, name: str, opset: int) -> str:
    """What an operator asks for that an opset does not have; "" where it has all of it."""
    schema = schema_of(name, opset)
    if schema is None or schema.since_version > opset:
        return f"opset {opset} does not have it"
    more = sorted(key for key in op.attributes if key not in schema.attributes and name != "Constant")
    if more:
        return f"opset {opset} does not have its attribute {more[0]!r}"
    key, words = _LATER_WORDS.get(name, ("", {}))
    word = str(op.attributes.get(key, ""))
    if opset < words.get(word, 0):
        return f"its {key} is {word!r}, which opset {opset} does not have"
    if len(op.operands) > schema.max_input:
        return f"takes {len(op.operands)} operands, and {schema.max_input} in opset {opset}"
    given = () if name == "Constant" else op.results  # whose type those tell that take it
    for verb, values, formals in (("takes", op.operands, schema.inputs), ("gives", given, schema.outputs)):
        for place, value in enumerate(values):
            formal = formals[min(place, len(formals) - 1)]
            of = type_word(getattr(value.element, "storage", value.element)) if isinstance(value.type, TensorType) else ""
            if of and f"tensor({of})" not in formal.types:
                return f"{verb} no {of} in opset {opset}"
    return ""
