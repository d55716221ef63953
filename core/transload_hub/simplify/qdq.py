"""QDQ patterns made into quantized ops: DequantizeLinear -> op -> QuantizeLinear becomes the op on quantized values.

After the operators were converted, a quantized model in QDQ form computes in floats between casts from
and to quantized types. Here an op whose operands are dequantized and whose result is quantized takes and
gives the quantized values themselves. An op that only moves numbers lets the cast pass below it. What
has no quantized neighbours on both sides stays in floats, and a weight that is then still dequantized
becomes a float constant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.analysis.movement import moved, moves_of
from transload.engine.quantized import dequantize
from transload.ir import I8, I32, FloatType, Module, Op, QuantType, SplatData, TensorType, Value
from transload.ir.build import constant_of
from transload.rewrite import CHANGED, Rewriter, RewriteTable, apply_greedily

from ..ops.rounding import rounds_results
from ..tables import distinct
from .biases import PRODUCTS, finest, output_axis, reach_of
from .weights import grid_of, real_weight

if TYPE_CHECKING:
    from transload_hub.ops.cast import Cast
    from transload_hub.ops.conv import Conv, Deconv
    from transload_hub.ops.matmul import MatMul

__all__ = ["dequantized", "fold_qdq", "folds", "has_casts", "kept"]

COMPUTE = (
    "Add", "Sub", "Mul", "Div", "AddConst", "MulConst", "AvgPool", "Reduce", "Softmax", "Interp", "Relu", "LeakyRelu", "PRelu",
    "Sigmoid", "SiLU", "HardSigmoid", "HardSwish", "GELU", "Elu", "Selu", "Celu", "Softplus", "Softsign", "Mish", "Clip", "Tanh",
    "Exp", "Log", "Sqrt", "Rsqrt", "Abs", "Neg", "Square", "Pad")
"""Ops that compute on tensors quantized per tensor."""



def _tops(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"top.{name}" for name in names)


ACTIVATED = (*_tops(("Add", "Sub", "Mul", "Div", "AddConst", "MulConst", "AvgPool", "MaxPool")), *PRODUCTS)
"""Ops that can apply a ReLU to their result."""


_CASTS, _COMPUTES = RewriteTable(), RewriteTable()


def _table(module: Module) -> RewriteTable:
    """The rewrites by op name, with those of ops that move numbers for all such ops in a module, of whatever dialect."""
    table = _CASTS + _COMPUTES
    for name in sorted({op.name for op in module.walk() if moves_of(op) is not None}):
        table.functions.setdefault(name, []).extend((move, join))
    return table


def fold_qdq(module: Module) -> bool:
    """Make quantized ops of QDQ patterns, in place; returns whether anything changed."""
    if not has_casts(module):
        return False
    changed = False
    table = _table(module)
    for _ in range(100):  # a cast that moved may complete the pattern of an op that was looked at before
        if not apply_greedily(module, table):
            break
        changed = True
    return apply_greedily(module, _LEFT) or changed


def has_casts(module: Module) -> bool:
    """Whether a module has casts from or to quantized types."""
    return any(_is_cast(op) for op in module.walk())


def folds(op: Op) -> bool:
    """Whether an op that computes is one that can be put on quantized tensors."""
    return op.name in _COMPUTES


def kept(rw: Rewriter, name: str, *operands: Value | None, **attributes: Any) -> Value:
    """`rw.emit` without computing it: a dequantized weight must stay visible as such."""
    fold, rw.fold = rw.fold, False
    try:
        return rw.emit(name, *operands, **attributes)
    finally:
        rw.fold = fold


def _mean(rw: Rewriter, value: Value, kind: QuantType) -> Value:
    """The mean over all spatial dimensions: a reduction where the step changes, as pooling rounds to a step of its input."""
    sizes = value.shape[2:]
    if len(sizes) == 2 and kind == value.element:
        return rw.emit("top.AvgPool", value, kernel_shape=sizes, layout="NCHW")
    return rw.emit("top.Reduce", value, axes=tuple(range(2, value.rank)), mode="ReduceMean", element=kind)


# --- what is quantized


def _quant(value: Value | None) -> QuantType | None:
    """The quantized element type of a value, if it has one."""
    type_ = None if value is None else value.type
    return type_.element if isinstance(type_, TensorType) and isinstance(type_.element, QuantType) else None


def _is_cast(op: Op) -> bool:
    return op.name == "top.Cast" and (_quant(op.operands[0]) is not None or _quant(op.results[0]) is not None)


def dequantized(value: Value | None) -> Value | None:
    """The quantized value of which `value` are the real numbers, or None."""
    owner = value.owner if value is not None else None
    if isinstance(owner, Op) and owner.name == "top.Cast" and isinstance(value.element, FloatType):  # type: ignore[union-attr]
        source = owner.operands[0]
        return source if _quant(source) is not None else None
    return None


def _quantizers(value: Value) -> list[Op]:
    """The casts to one quantized type, per tensor, that are all of a value's uses; empty where it is used otherwise."""
    users = list(value.uses)
    kinds = {_quant(user.results[0]) for user in users if user.name == "top.Cast"}
    if not users or len(kinds) != 1 or any(user.name != "top.Cast" for user in users):
        return []
    (kind,) = kinds
    return users if kind is not None and kind.per_tensor else []


def _single_use(value: Value) -> Op | None:
    """The op that alone uses a value, once."""
    if len(value.uses) != 1:
        return None
    (user, count), = value.uses.items()
    return user if count == 1 else None


def _in_type(
    rw: Rewriter, source: Value, kind: QuantType, round_mode: str | None = "HalfToEven", location: Any = None,
) -> Value:
    """A quantized value in another quantized type: a constant's real numbers, rounded once, as they are known here."""
    dense = constant_of(source)
    if dense is not None:
        real = dequantize(distinct(dense.numpy()), source.element)  # type: ignore[arg-type]
        source = rw.constant(np.broadcast_to(real, dense.shape))
    return rw.emit("top.Cast", source, element=kind, round_mode=round_mode, location=location)


# --- casts next to each other, and above ops that move numbers


@_CASTS("top.Cast")
def cast_of_cast(op: Cast, rw: Rewriter) -> Any:
    """Quantizing what was dequantized is a requantization, or nothing; quantizing moves above ops that move numbers."""
    kind = _quant(op.results[0])
    value = op.operands[0]
    if kind is None or not kind.per_tensor or not isinstance(value.element, FloatType):
        return None
    source = dequantized(value)
    if source is not None and _quant(source).per_tensor:  # type: ignore[union-attr]
        if source.element == kind:
            if source.op is not None and source.name is None and len(source.op.results) == 1 and op.location is not None:
                source.op.location = op.location  # the tensor of that name
            return source
        return _in_type(rw, source, kind, op.attributes.get("round_mode"), op.location)
    maker = value.owner
    if not isinstance(maker, Op) or _single_use(value) is not op or len(maker.results) != 1:
        return None
    rounding = op.attributes.get("round_mode")
    if maker.name in ("top.Relu", "top.Clip") and _within(kind, *_limits(maker)):
        return rw.emit("top.Cast", maker.operands[0], element=kind, round_mode=rounding, location=op.location)
    if _moves_first(maker, by_value=_ends_computing(maker.operands[0])) and constant_of(maker.operands[0]) is None:
        stored = rw.emit("top.Cast", maker.operands[0], element=kind, round_mode=rounding)
        return rw.emit(maker.name, stored, *maker.operands[1:], location=op.location, **maker.attributes)
    return None


def _ends_computing(value: Value) -> bool:
    """Whether a tensor that is taken once is what an op computes that could give it quantized, with a ReLU or without.

    The greatest of rounded numbers is the greatest, rounded: then that op rounds, in front of a maximum.
    """
    op = value.op if len(value.uses) == 1 else None
    if op is not None and op.name == "top.Relu":
        op = op.operands[0].op if len(op.operands[0].uses) == 1 else None
    return op is not None and folds(op)


def _limits(op: Op) -> tuple[float, float]:
    """Between what numbers a Relu or Clip keeps its operand."""
    if op.name == "top.Clip":
        return op.attribute("min"), op.attribute("max")
    limit = op.attribute("relu_limit")
    return 0.0, limit if limit >= 0 else float("inf")


def _within(kind: QuantType, low: float, high: float) -> bool:
    """Whether the numbers that a quantized type can hold lie between limits, so that saturation does what clipping would."""
    least = kind.scale * (kind.storage_min - kind.zero_point)
    most = kind.scale * (kind.storage_max - kind.zero_point)
    slack = 1e-6 * (most - least)
    return low - slack <= least and most <= high + slack


# --- ops that move numbers


def _moves_first(op: Op, by_value: bool = True) -> bool:
    """Whether the elements of an op's results are all elements of its first operand, whose quantized type they keep."""
    values = moved(op, by_value=by_value, constants=False)
    return len(values) == 1 and values[0] is op.operands[0]


def move(op: Op, rw: Rewriter) -> Any:
    """Dequantizing passes below an op that moves or compares the numbers of its first operand."""
    source = dequantized(op.operands[0]) if _moves_first(op) else None
    kind = _quant(source)
    if source is None or kind is None:
        return None
    if not kind.per_tensor and not moves_of(op).keeps_dimensions:  # type: ignore[union-attr]
        return None
    real = op.operands[0].element
    made = rw.emit(op.name, source, *op.operands[1:], **op.attributes)
    values = made if isinstance(made, tuple) else (made,)
    return [kept(rw, "top.Cast", value, element=real) for value in values]


def join(op: Op, rw: Rewriter) -> Any:
    """Joining or comparing dequantized tensors: of the quantized ones, brought to the type of the result where they differ."""
    values = moved(op, constants=False)
    if not values or _moves_first(op):
        return None
    found = {value: dequantized(value) or _exact(rw, value) for value in values}
    sources = [source for source in found.values() if source is not None]
    kinds = {_quant(source) for source in sources}
    if len(sources) < len(found) or any(kind is None or not kind.per_tensor for kind in kinds):
        return None
    quantizers = _quantizers(op.results[0]) if len(op.results) == 1 else []
    kind = _quant(quantizers[0].results[0]) if quantizers else None

    def stored(value: Value) -> Value:
        source = found.get(value)
        if source is None or kind is None or source.element == kind:
            return value if source is None else source
        return _in_type(rw, source, kind)

    if quantizers:
        joined = rw.emit(op.name, *map(stored, op.operands), location=quantizers[0].location, **op.attributes)
        return _replace(op, quantizers, joined)
    if len(kinds) != 1:
        return None
    joined = rw.emit(op.name, *map(stored, op.operands), **op.attributes)
    return kept(rw, "top.Cast", joined, element=op.results[0].element)


# --- ops that compute


@_COMPUTES(*_tops(COMPUTE))
def compute(op: Op, rw: Rewriter) -> Any:
    """An op between dequantized operands and quantized results, on the quantized values."""
    if op.name == "top.Reduce" and op.attribute("mode") not in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"):
        return None
    if op.name == "top.Pad" and (len(op.operands) > 1 or (op.attribute("mode") == "constant" and op.attribute("val") != 0.0)):
        return None
    ending = _ending(op)
    if ending is None:
        return None
    quantizers, relu = ending
    sources = [dequantized(value) or _exact(rw, value) for value in op.operands]
    if any(source is None or not _quant(source).per_tensor for source in sources):  # type: ignore[union-attr]
        return None
    if all(constant_of(source) is not None for source in sources):
        return None
    if op.name == "top.AvgPool" and relu is None and op.kernel_shape == op.input.shape[2:] and not any(op.pads):
        made = _mean(rw, sources[0], _quant(quantizers[0].results[0]))  # type: ignore[arg-type]
        made.owner.location = quantizers[0].location  # type: ignore[union-attr]
        return _replace(op, quantizers, made)
    if not rounds_results(op) or moved(op, by_value=False):  # it moves numbers: it is a cast that rounds them
        kind = _quant(quantizers[0].results[0])
        sources = [
            source if source.element == kind else _in_type(rw, source, kind)  # type: ignore[union-attr, arg-type]
            for source in sources]
    return _quantized(op, rw, sources, quantizers, relu)


@_COMPUTES(*PRODUCTS)
def product(op: Conv | Deconv | MatMul, rw: Rewriter) -> Any:
    """A convolution or product: weights per tensor or per output channel, of a product in blocks, too, and a bias of i32."""
    ending = _ending(op)
    value, weights = dequantized(op.operands[0]), dequantized(op.operands[1])
    if ending is None or value is None:
        return None
    weights = weights if weights is not None else _on_grid(op, rw)
    if weights is None:
        return None
    kind, weight_kind = _quant(value), _quant(weights)
    if not kind.per_tensor or not _fits_product(op, weights, weight_kind):  # type: ignore[union-attr, arg-type]
        return None
    operands: list[Value | None] = [value, weights]
    bias = op.operand("bias")
    if bias is not None:
        stored = _stored_bias(op, rw, bias, value, weights, _quant(ending[0][0].results[0]))
        if stored is None:
            return None
        operands.append(stored)
    return _quantized(op, rw, operands, *ending)


def _on_grid(op: Op, rw: Rewriter) -> Value | None:
    """Constant weights of floats that integers were, as these: on a grid for each output channel. None of all others."""
    dense, axis = constant_of(op.operands[1]), output_axis(op, op.operands[1])
    if dense is None or axis is None or not isinstance(op.operands[1].element, FloatType) or len(dense.shape) < 2:
        return None
    numbers = dense.numpy().astype(np.float64)
    channels = np.moveaxis(numbers, axis, 0)
    steps = grid_of(channels.reshape(len(channels), -1))
    if not steps.all():
        return None
    shape = [1] * numbers.ndim
    shape[axis] = -1
    kind = QuantType(I8, op.operands[1].element, tuple(steps.tolist()), (0,), axis, -127, 127)
    return rw.constant(np.rint(numbers / steps.reshape(shape)).astype(np.int8), element=kind)


def _fits_product(op: Op, weights: Value, kind: QuantType) -> bool:
    """Whether the sums of products with such weights can be scaled: all by one scale, each channel by its own, or in groups."""
    if kind.blocks is not None:
        return op.name == "top.MatMul" and weights.rank == 2 and constant_of(weights) is not None
    return kind.per_tensor or kind.axis == output_axis(op, weights)


def _stored_bias(op: Op, rw: Rewriter, bias: Value, x: Value, weights: Value, result: QuantType | None) -> Value | None:
    """A constant bias as integers: in steps of the product's scale where it is given so, else in the finest that fit.

    Of weights in blocks the product's scale is the least one's. None where the bias is computed, or beyond 32 bits.
    """
    kind, held = _quant(x), _quant(weights)
    source = dequantized(bias)
    dense = constant_of(bias if source is None else source)
    if kind is None or held is None or dense is None or bias.rank != 1:
        return None
    array = dense.numpy().astype(np.float64)
    if source is not None:
        array = dequantize(dense.numpy(), _quant(source), np.float64)  # type: ignore[arg-type]
    scales = kind.scale * (held.scale_array if held.blocks is None else held.scale_array.min(keepdims=True))
    stored = finest(array, scales, reach_of(op, kind, weights, held), result)
    if stored is None:
        return None
    axis = None if len(stored.scales) == 1 else 0
    return rw.constant(stored.numbers, element=QuantType(I32, kind.expressed, stored.scales, (0,), axis))


def _ending(op: Op) -> tuple[list[Op], Op | None] | None:
    """The casts that quantize an op's result, and the Relu between, where the op can apply it."""
    result = op.results[0]
    quantizers = _quantizers(result)
    if quantizers:
        return quantizers, None
    relu = _single_use(result)
    if relu is None or relu.name != "top.Relu" or op.name not in ACTIVATED or op.attributes.get("do_relu"):
        return None
    quantizers = _quantizers(relu.results[0])
    return (quantizers, relu) if quantizers else None


def _quantized(op: Op, rw: Rewriter, operands: list[Value | None], quantizers: list[Op], relu: Op | None) -> Any:
    """Put the op on quantized operands in the place of its result's casts."""
    attributes = dict(op.attributes)
    if relu is not None:
        attributes["do_relu"] = True
        limit = relu.attribute("relu_limit")
        if limit >= 0:
            attributes["relu_limit"] = limit
    kind = _quant(quantizers[0].results[0])
    made = rw.emit(op.name, *operands, element=kind, location=quantizers[0].location, **attributes)
    return _replace(op, quantizers, made, relu)


def _replace(op: Op, quantizers: list[Op], made: Value, relu: Op | None = None) -> Any:
    for quantizer in quantizers:
        quantizer.replace_with([made])
    if relu is not None:
        relu.erase()
    op.erase()
    return CHANGED


def _exact(rw: Rewriter, value: Value) -> Value | None:
    """A constant with one and the same float everywhere, as a quantized number that is exactly it."""
    dense = constant_of(value)
    if dense is None or not isinstance(value.element, FloatType):
        return None
    array = distinct(dense.numpy())
    if not array.size or not (array == array.flat[0]).all() or not np.isfinite(array.flat[0]):
        return None
    number = float(array.flat[0])
    kind = QuantType(I8, value.element, (abs(number) or 1.0,), (0,))
    return rw.constant(SplatData(np.int8(np.sign(number)), dense.shape), element=kind)


# --- what is left

_LEFT = RewriteTable()


@_LEFT("top.Cast")
def weight_in_floats(op: Cast, rw: Rewriter) -> Any:
    """A weight that is used in floats becomes a float constant.

    Not one with a scale for each block: that was made so to be small, and chips have products for it. Lowerings dequantize it.
    """
    kind = _quant(op.operands[0])
    return real_weight(op, rw) if kind is not None and kind.blocks is None else None
