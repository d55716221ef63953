"""Reverse-mode differentiation of programs of the hub: ops are added that compute how a sum changes with values before.

Each op has an adjoint, which makes of what its results are worth what its operands are worth; it is made of ops of the hub,
too, so that any engine computes it. Rounding has the derivative 1, the straight-through estimator: by the chain rule the step
of a grid `s * clip(round(x / s))` has that of LSQ, `round(x / s) - x / s` within the grid and its end outside. Where a caller
says which ops make a grid (`Grid`), they have one adjoint together, for which `x` and the result are held, nothing between them.

Source: Y. Bengio et al., "Estimating or propagating gradients through stochastic neurons", 2013 (straight-through); S. Esser et
al., "Learned step size quantization", ICLR 2020, equation 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from transload.ir import F32, Block, Dense, Op, TensorType, Value
from transload.ir.build import Builder, constant_of

__all__ = ["RULES", "Grid", "gradients"]

Worth = Sequence[Value | None]
"""What each result, or each operand, is worth; None where that is nothing."""
Rule = Callable[[Builder, Any, Worth, Sequence[bool]], Worth | None]
"""Of an op, what its results are worth, and which operands are asked for; None where the adjoint of such an op is not known."""


@dataclass(frozen=True)
class Grid:
    """What is rounded to a grid, which some ops do together: `step * clip(round(value / step), least, greatest)`."""

    value: Value
    step: Value
    """This and the two ends, in steps, are one number each, of rank 1."""
    least: Value
    greatest: Value


def gradients(
    block: Block, before: Op, seeds: Mapping[Value, Value], wanted: Sequence[Value], grids: Mapping[Value, Grid] | None = None,
) -> list[Value | None]:
    """Append, in front of an op, what computes the gradient of `sum(seed * value)` over all `seeds` by each of `wanted`.

    Values are float32 and of static shapes; `grids` says which are rounded to one. Ops without an adjoint end the gradient: what
    lies before them is worth what other ways say. None is the gradient of what nothing depends on.
    """
    build = Builder(block, before=before)
    ops = [op for op in block if op.results]
    moving = set(wanted)
    for op in ops:
        if any(value in moving for value in op.operands):
            moving.update(op.results)
    worth: dict[Value, list[Value]] = {value: [seed] for value, seed in seeds.items()}
    for op in reversed(ops):
        given = [_sum(build, worth.pop(result, [])) for result in op.results]
        rule, operands = RULES.get(op.name), tuple(op.operands)
        if grids and (grid := grids.get(op.results[0])) is not None:
            rule, operands = partial(_rounded, grid), (grid.value, grid.step)
        asked = [value in moving and value.element == F32 for value in operands]
        if rule is None or not any(asked) or all(each is None for each in given):
            continue
        given = _before_activation(build, op, given)
        for value, made in zip(operands, rule(build, op, given, asked) or (), strict=False):
            if made is not None and value in moving:
                worth.setdefault(value, []).append(made)
    return [_sum(build, worth.get(value, [])) for value in wanted]


def _sum(build: Builder, values: Sequence[Value]) -> Value | None:
    if len(values) < 2:
        return values[0] if values else None
    total: Value = build.emit("top.Add", *values)
    return total


def _before_activation(build: Builder, op: Op, given: Worth) -> list[Value | None]:
    """What the results are worth before the activation that an op has of its own."""
    if not op.attribute("do_relu", False) or given[0] is None:
        return list(given)
    return [_within(build, given[0], op.results[0], 0.0, op.attribute("relu_limit", -1.0))]


# --- pieces


def _number(build: Builder, number: float) -> Value:
    made: Value = build.constant(Dense(np.array([number], np.float32)), element=F32)
    return made


def _where(build: Builder, left: Value, mode: str, right: Value, then: Value, other: Value) -> Value:
    made: Value = build.emit("top.Where", build.emit("top.Compare", left, right, mode=mode), then, other)
    return made


def _within(build: Builder, given: Value, value: Value, low: float, high: float) -> Value:
    """What is given where a value lies between two ends, of which the upper is none where it is below the lower.

    What was brought between the ends lies there where it did before: of an activation its result is asked, which is held anyway.
    """
    zero = _number(build, 0.0)
    made = _where(build, value, "Greater", _number(build, low), given, zero)
    return made if high <= low else _where(build, value, "Less", _number(build, high), made, zero)


def _fitted(build: Builder, given: Value, value: Value) -> Value:
    """Sums of what is given along the dimensions in which a value was broadcast."""
    if given.static_shape == value.static_shape:
        return given
    more = given.rank - value.rank
    axes = tuple(axis for axis, size in enumerate(given.static_shape)
                 if axis < more or (value.static_shape[axis - more] == 1 and size != 1))
    if axes:
        given = build.emit("top.Reduce", given, axes=axes, keepdims=True, mode="ReduceSum")
    return _shaped(build, given, value.static_shape)


def _shaped(build: Builder, given: Value, shape: tuple[int, ...]) -> Value:
    made: Value = given if given.static_shape == shape else build.emit("top.Reshape", given, shape=shape)
    return made


# --- adjoints


def _add(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth | None:
    if op.coeff is not None and any(factor != 1.0 for factor in op.coeff):
        return None
    return [_fitted(build, given[0], value) if ask else None  # type: ignore[arg-type]
            for value, ask in zip(op.operands, asked, strict=True)]


def _sub(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth:
    left, right = op.operands
    return [_fitted(build, given[0], left) if asked[0] else None,  # type: ignore[arg-type]
            _fitted(build, build.emit("top.MulConst", given[0], const_val=-1.0), right) if asked[1] else None]


def _mul(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth:
    found: list[Value | None] = []
    for place, (value, ask) in enumerate(zip(op.operands, asked, strict=True)):
        others = [other for index, other in enumerate(op.operands) if index != place]
        found.append(_fitted(build, build.emit("top.Mul", given[0], *others), value) if ask else None)
    return found


def _div(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth:
    left, right = op.operands
    share = build.emit("top.Div", given[0], right)
    falls = build.emit("top.MulConst", build.emit("top.Mul", share, op.results[0]), const_val=-1.0) if asked[1] else None
    return [_fitted(build, share, left) if asked[0] else None, _fitted(build, falls, right) if falls is not None else None]


def _extreme(mode: str) -> Rule:
    """That of the greatest or the least of two: it is worth what the one of them is that it is."""
    def rule(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth | None:
        if len(op.operands) != 2:
            return None
        left, right = op.operands
        zero, whole = _number(build, 0.0), given[0]
        assert whole is not None
        return [_fitted(build, _where(build, left, mode, right, whole, zero), left) if asked[0] else None,
                _fitted(build, _where(build, left, mode, right, zero, whole), right) if asked[1] else None]

    return rule


def _rounded(grid: Grid, build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth:
    """By what is rounded and by the step: `q - x` within the grid, divided by the step, and `q` outside."""
    whole, half, zero = given[0], _number(build, 0.5), _number(build, 0.0)
    assert whole is not None
    low = build.emit("top.Mul", build.emit("top.Sub", grid.least, half), grid.step)
    high = build.emit("top.Mul", build.emit("top.Add", grid.greatest, half), grid.step)
    inside = _where(build, grid.value, "Less", high, _where(build, grid.value, "Greater", low, whole, zero), zero)
    if not asked[1]:
        return [_fitted(build, inside, grid.value), None]
    moved = build.emit("top.Sub", build.emit("top.Mul", whole, op.results[0]), build.emit("top.Mul", inside, grid.value))
    return [_fitted(build, inside, grid.value) if asked[0] else None,
            build.emit("top.Div", _fitted(build, moved, grid.step), grid.step)]


def _as_it_is(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth:
    return given


def _reshaped(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth:
    return [_shaped(build, given[0], op.operands[0].static_shape)]  # type: ignore[arg-type]


def _relu(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth:
    return [_within(build, given[0], op.results[0], 0.0, op.relu_limit)]  # type: ignore[arg-type]


def _clip(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth:
    return [_within(build, given[0], op.results[0], op.min, op.max)]  # type: ignore[arg-type]


def _sigmoid(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth | None:
    if op.log or op.scale != 1.0 or op.bias != 0.0:
        return None
    made = op.results[0]
    slope = build.emit("top.Mul", made, build.emit("top.Sub", _number(build, 1.0), made))
    return [build.emit("top.Mul", given[0], slope)]


def _softmax(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth | None:
    if op.log:
        return None
    shares = op.results[0]
    mean = build.emit("top.Reduce", build.emit("top.Mul", given[0], shares), axes=(op.axis,), keepdims=True, mode="ReduceSum")
    made = build.emit("top.Mul", shares, build.emit("top.Sub", given[0], mean))
    return [made if op.beta == 1.0 else build.emit("top.MulConst", made, const_val=op.beta)]


def _permute(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth:
    rank = op.operands[0].rank
    return [build.emit("top.Permute", given[0], order=tuple(np.argsort([axis % rank for axis in op.order]).tolist()))]


def _concat(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth:
    sizes = tuple(value.static_shape[op.axis] for value in op.operands)
    return list(build.emit("top.Split", given[0], axis=op.axis, split_size=sizes)) if len(sizes) > 1 else given


def _split(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth:
    parts = [build.constant(Dense(np.zeros(result.static_shape, np.float32)), element=F32) if each is None else each
             for each, result in zip(given, op.results, strict=True)]
    return [build.emit("top.Concat", *parts, axis=op.axis) if len(parts) > 1 else parts[0]]


def _reduce(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth | None:
    value = op.operands[0]
    axes = [axis % value.rank for axis in op.axes]
    if not value.rank or not axes:
        return None
    spread = _shaped(build, given[0], tuple(  # type: ignore[arg-type]
        1 if axis in axes else size for axis, size in enumerate(value.static_shape)))
    if op.mode == "ReduceSumSquare":
        return [build.emit("top.Mul", build.emit("top.MulConst", spread, const_val=2.0), value)]
    if op.mode not in ("ReduceMean", "ReduceSum"):
        return None
    share = 1.0 / np.prod([value.static_shape[axis] for axis in axes]) if op.mode == "ReduceMean" else 1.0
    ones = np.full(value.static_shape, share, np.float32)
    return [build.emit("top.Mul", build.constant(Dense(ones), element=F32), spread)]


def _mean_pool(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth | None:
    """Means of windows without padding: sums with the same number for each channel."""
    value = op.operands[0]
    if any(op.pads):
        return None
    first = op.layout == "NCHW"
    channels = value.static_shape[1 if first else -1]
    share = np.full((channels, 1, *op.kernel_shape), 1.0 / np.prod(op.kernel_shape), np.float32)
    weights = share if first else np.moveaxis(share, 1, -1)
    return [_transposed(build, op, given[0], weights, channels, (1,) * len(op.kernel_shape))]  # type: ignore[arg-type]


def _convolution(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth | None:
    """By its input alone, with constant weights."""
    dense = constant_of(op.operands[1])
    if dense is None or min(op.pads) < 0:
        return None
    return [_transposed(build, op, given[0], dense.numpy().astype(np.float32), op.group, op.dilations)]  # type: ignore[arg-type]


def _transposed(
    build: Builder, op: Any, given: Value, weights: np.ndarray, group: int, dilations: tuple[int, ...],
) -> Value:
    """What each number that windows of an op see is worth, by weights as a convolution of its layout has them."""
    n = len(op.kernel_shape)
    at = slice(2, None) if op.layout == "NCHW" else slice(1, -1)
    reach = tuple((kernel - 1) * dilation for kernel, dilation in zip(op.kernel_shape, dilations, strict=True))
    pads = tuple(far - pad for far, pad in zip(reach * 2, op.pads, strict=True))
    common = {"kernel_shape": op.kernel_shape, "strides": op.strides, "dilations": dilations, "layout": op.layout, "group": group}
    if all(stride == 1 for stride in op.strides) and min(pads) >= 0:  # a runtime unfolds what a transposed one takes
        turned = build.constant(Dense(_turned(weights, group, op.layout)), element=F32)
        conv: Value = build.emit("top.Conv", given, turned, pads=pads, **common)
        return conv
    windows = zip(given.static_shape[at], op.strides, reach, op.pads[:n], op.pads[n:], strict=True)
    reached = [(size - 1) * stride + far + 1 - begin - end for size, stride, far, begin, end in windows]
    missing = tuple(size - there for size, there in zip(op.operands[0].static_shape[at], reached, strict=True))
    if op.layout != "NCHW":  # [O, kernel.., I] is [I, kernel.., O]: what goes in and what comes out change places
        weights = np.swapaxes(weights, 0, -1).copy()
    deconv: Value = build.emit(
        "top.Deconv", given, build.constant(Dense(weights), element=F32), pads=op.pads, output_padding=missing, **common)
    return deconv


def _turned(weights: np.ndarray, group: int, layout: str) -> np.ndarray:
    """Weights of the convolution that takes back what one of strides 1 does: of each group inputs and outputs change places, and
    kernels are turned about."""
    grouped = weights.reshape(group, len(weights) // group, *weights.shape[1:])
    inputs = 2 if layout == "NCHW" else grouped.ndim - 1
    swapped = np.swapaxes(grouped, 1, inputs)
    kernel = tuple(axis for axis in range(2, grouped.ndim) if axis != inputs)
    return np.flip(swapped, kernel).reshape(-1, *swapped.shape[2:]).copy()


def _matrix(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth | None:
    left, right = op.operands[:2]
    if left.rank < 2 or right.rank < 2 or op.left_transpose or (len(op.operands) > 2 and asked[2]):
        return None
    found: list[Value | None] = [None, None]
    if asked[0]:
        found[0] = _fitted(build, build.emit("top.MatMul", given[0], right, right_transpose=not op.right_transpose), left)
    if asked[1]:
        pair = (given[0], left) if op.right_transpose else (left, given[0])
        found[1] = _fitted(build, build.emit("top.MatMul", *pair, left_transpose=True), right)
    return found


def _cast(build: Builder, op: Any, given: Worth, asked: Sequence[bool]) -> Worth | None:
    source = op.operands[0]
    return given if source.element == op.results[0].element else \
        [build.emit("top.Cast", given[0], types=[TensorType(source.tensor_type.shape, source.element)])]


RULES: Mapping[str, Rule] = {
    "top.Add": _add, "top.Sub": _sub, "top.Mul": _mul, "top.Div": _div,
    "top.Max": _extreme("GreaterOrEqual"), "top.Min": _extreme("LessOrEqual"),
    "top.Round": _as_it_is, "top.Floor": _as_it_is, "top.Cast": _cast,
    "top.Relu": _relu, "top.Clip": _clip, "top.Sigmoid": _sigmoid, "top.Softmax": _softmax,
    "top.Reshape": _reshaped, "top.Squeeze": _reshaped, "top.Unsqueeze": _reshaped, "top.Permute": _permute,
    "top.Concat": _concat, "top.Split": _split,
    "top.Reduce": _reduce, "top.AvgPool": _mean_pool, "top.Conv": _convolution, "top.MatMul": _matrix,
}
"""Adjoints by the name of an op; a plugin's own ops end the gradient."""
