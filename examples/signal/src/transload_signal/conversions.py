"""How the ops come out of TFLite models, and what they are in TOSA and StableHLO."""

from __future__ import annotations

from typing import Any

from transload import RewriteTable, Unsupported
from transload.ir import QuantType, TensorType
from transload_plugins.tosa import build

__all__ = ["FROM_TFLITE", "TO_STABLEHLO", "TO_TOSA"]

FROM_TFLITE, TO_TOSA, TO_STABLEHLO = RewriteTable(), RewriteTable(), RewriteTable()


@FROM_TFLITE("tfl.sub")
def sub_of_neighbours(op: Any, rw: Any) -> Any:
    """`x[1:] - x[:-1]`, which is how TensorFlow writes it, is a Delta."""
    if op.fused_activation_function != "NONE" or op.results[0].type.shape is None:
        return None
    later, earlier = (value.op for value in op.operands)
    if later is None or earlier is None or later.name != "top.Slice" or earlier.name != "top.Slice":
        return None
    x = later.input
    ones = (1,) * x.rank
    if earlier.input is not x or later.steps != ones or earlier.steps != ones or any(earlier.offset):
        return None
    moved = [place for place, start in enumerate(later.offset) if start]
    if len(moved) != 1 or later.offset[moved[0]] != 1 or isinstance(x.element, QuantType):
        return None
    made = tuple(size - (place == moved[0]) for place, size in enumerate(x.shape))
    return rw.emit("signal.Delta", x, axis=moved[0]) if op.results[0].shape == made else None


def _parts(op: Any) -> tuple[int, list[tuple[int, ...]], tuple[int, ...]]:
    """The axis, where the later and the earlier samples start, and the shape of both."""
    shape = op.output.shape
    if op.output.type.shape is None or None in shape:
        raise Unsupported("Delta is lowered for sizes that are known", "give the shapes of the inputs")
    axis = op.axis % len(shape)
    return axis, [tuple(start if place == axis else 0 for place in range(len(shape))) for start in (1, 0)], shape


@TO_TOSA("signal.Delta")
def delta_to_tosa(op: Any, rw: Any) -> Any:
    """The SUB of two SLICEs."""
    if isinstance(op.input.element, QuantType):
        raise Unsupported("Delta is lowered for plain numbers, not for quantized ones")
    _, starts, shape = _parts(op)
    later, earlier = (build.slice_(rw, op.input, start, shape) for start in starts)
    return rw.emit("tosa.sub", later, earlier)


@TO_TOSA("signal.Interleave")
def interleave_to_tosa(op: Any, rw: Any) -> Any:
    """TRANSPOSE of the parts, as a dimension of their own."""
    split, order = _interleaved(op)
    turned = build.transpose(rw, build.reshape(rw, op.input, split), order)
    return build.reshape(rw, turned, op.output.shape)


def _interleaved(op: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape with a dimension for the parts, and the order that puts it behind the samples."""
    shape = op.output.shape
    axis = op.axis % len(shape)
    split = (*shape[:axis], op.ways, shape[axis] // op.ways, *shape[axis + 1 :])
    order = (*range(axis), axis + 1, axis, *range(axis + 2, len(split)))
    return split, order


@TO_TOSA("signal.Extremes")
def extremes_to_tosa(op: Any, rw: Any) -> Any:
    """REDUCE_MIN and REDUCE_MAX, which keep the dimension, and a RESHAPE each; of stored integers as they are."""
    axis = op.axis % op.input.rank
    ends = (rw.emit(name, op.input, axis=axis) for name in ("tosa.reduce_min", "tosa.reduce_max"))
    return tuple(build.reshape(rw, end, op.least.shape) for end in ends)


@TO_STABLEHLO("signal.Delta")
def delta_to_stablehlo(op: Any, rw: Any) -> Any:
    """`subtract` of two `slice`s."""
    _, starts, shape = _parts(op)
    later, earlier = (
        rw.emit("stablehlo.slice", op.input, start_indices=start, strides=(1,) * len(shape),
                limit_indices=tuple(begin + size for begin, size in zip(start, shape, strict=True))) for start in starts)
    return rw.emit("stablehlo.subtract", later, earlier)


@TO_STABLEHLO("signal.Extremes")
def extremes_to_stablehlo(op: Any, rw: Any) -> Any:
    """Two reductions of the hub, which the conversion then takes on."""
    axes = (op.axis % op.input.rank,)
    return tuple(rw.emit("top.Reduce", op.input, axes=axes, keepdims=False, mode=mode) for mode in ("ReduceMin", "ReduceMax"))


@TO_STABLEHLO("signal.Interleave")
def interleave_to_stablehlo(op: Any, rw: Any) -> Any:
    """`transpose` of the parts, as a dimension of their own."""
    split, order = _interleaved(op)
    parts = rw.create("stablehlo.reshape", [op.input], [TensorType(split, op.input.element)]).result
    turned = rw.emit("stablehlo.transpose", parts, permutation=order)
    return rw.create("stablehlo.reshape", [turned], [op.output.type]).result
