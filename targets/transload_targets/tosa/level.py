"""The limits of TOSA's level 8K (specification 1.0, section "Levels")."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from transload.ir import Op, TensorType, Value
from transload.ir.build import constant_of
from transload.ir.types import DialectType

__all__ = ["MAX_RANK", "level_reasons"]

MAX_RANK = 6
MAX_KERNEL = 8192
MAX_STRIDE = 8192
MAX_SCALE = 256
MAX_LOG2_SIZE = 31
MAX_NESTS = 256
MAX_LIST = 64
MAX_SHAPE = 16

_LISTS = frozenset(("tosa.concat", "tosa.custom", "tosa.cond_if", "tosa.while_loop", "tosa.concat_shape"))


def level_reasons(op: Op) -> Iterator[str]:
    """Why an op is beyond level 8K, each limit that it passes."""
    for value in (*op.operands, *op.results):
        yield from _of_value(value)
    kernel = _extents(op)
    if max(kernel, default=0) > MAX_KERNEL:
        yield f"a window of {max(kernel)}, and level 8K ends at {MAX_KERNEL}"
    stride = _numbers(op, "stride")
    if max(stride, default=0) > MAX_STRIDE:
        yield f"a stride of {max(stride)}, and level 8K ends at {MAX_STRIDE}"
    pad = [abs(size) for key in ("pad", "out_pad") for size in _numbers(op, key)]
    if max(pad, default=0) > MAX_KERNEL:
        yield f"a padding of {max(pad)}, and level 8K ends at {MAX_KERNEL}"
    if op.name == "tosa.resize":
        scale = _constant(op.operands[1])
        for n, d in zip(scale[::2], scale[1::2], strict=False):
            if d > 0 and n > MAX_SCALE * d:
                yield f"a scale of {n}/{d}, and level 8K ends at {MAX_SCALE}"
    if op.name in _LISTS and max(len(op.operands), len(op.results)) > MAX_LIST:
        yield f"{max(len(op.operands), len(op.results))} tensors in a list, and level 8K ends at {MAX_LIST}"
    if op.regions and op.name.startswith("tosa."):
        depth, outer = 1, op.parent_op
        while outer is not None:
            depth += outer.name in ("tosa.cond_if", "tosa.while_loop")
            outer = outer.parent_op
        if depth > MAX_NESTS:
            yield f"graphs nested {depth} deep, and level 8K ends at {MAX_NESTS}"


def _of_value(value: Value) -> Iterator[str]:
    type_ = value.type
    if isinstance(type_, DialectType) and type_.text.startswith("tosa.shape<"):
        length = int(type_.text[11:-1])
        if length > MAX_SHAPE:
            yield f"a shape of {length} sizes, and level 8K ends at {MAX_SHAPE}"
    if not isinstance(type_, TensorType) or not type_.is_static:
        return
    if type_.rank > MAX_RANK:  # type: ignore[operator]
        yield f"has rank {type_.rank}, and level 8K ends at {MAX_RANK}"
    if type_.num_elements >= 1 << MAX_LOG2_SIZE:
        yield f"a tensor of {type_.num_elements} elements, and level 8K ends below 2^{MAX_LOG2_SIZE}"


def _extents(op: Op) -> list[int]:
    """The extents of an op's windows, dilated."""
    if op.name.startswith("tosa.conv") and op.name != "tosa.const":
        shape = _shape(op.operands[1])[1:-1]
    elif op.name == "tosa.depthwise_conv2d":
        shape = _shape(op.operands[1])[:2]
    elif op.name == "tosa.transpose_conv2d":
        return list(_shape(op.operands[1])[1:3])
    elif op.name in ("tosa.fft2d", "tosa.rfft2d"):
        return list(_shape(op.operands[0])[1:])
    else:
        return _numbers(op, "kernel")
    dilation = _numbers(op, "dilation") or [1] * len(shape)
    return [size * step for size, step in zip(shape, dilation, strict=False)]


def _shape(value: Value) -> tuple[int, ...]:
    shape = value.type.shape if isinstance(value.type, TensorType) else None
    return tuple(size or 0 for size in shape or ())


def _numbers(op: Op, key: str) -> list[int]:
    """An attribute of numbers, or the constant operand that the adaptive ops have in its place."""
    held: Any = op.attributes.get(key)
    if isinstance(held, tuple):
        return [int(size) for size in held]
    declaration = op.declaration
    getter = declaration.getters.get(key) if declaration is not None and key in {s.name for s in declaration.operands} else None
    return _constant(getter(op)) if getter is not None else []


def _constant(value: Value | None) -> list[int]:
    dense = constant_of(value)
    return [] if dense is None else [int(size) for size in dense.numpy().reshape(-1)]
