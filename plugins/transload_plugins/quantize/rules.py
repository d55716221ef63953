"""How each op of the hub becomes an op on quantized numbers: facts of kind "quantization".

A rule says what types the results of a quantized op have, given those of its operands, and which operands are weights. Ops that
only move numbers need no rule: the numbers they move have one type before and after ("moves", `transload.analysis.movement`).
An op without either stays float.

Source: TPU-MLIR manual chapter 6; R. Krishnamoorthi, "Quantizing deep convolutional networks for efficient inference", 2018; the
fixed types of Softmax, Sigmoid and Tanh are those of the TFLite 8-bit quantization specification.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.facts import FactTable
from transload.ir.build import constant_of
from transload_hub.ops.infer import spatial_axes

from .thresholds import Fixed

if TYPE_CHECKING:
    from transload.ir import Op
    from transload_hub.ops.activation import Sigmoid, Softmax
    from transload_hub.ops.conv import Conv, Deconv
    from transload_hub.ops.matmul import MatMul
    from transload_hub.ops.resize import Interp

__all__ = ["FACT", "QUANTIZATION", "Rule"]


@dataclass(frozen=True)
class Rule:
    """How an op of a kind is quantized."""

    weights: int | None = None
    """Which operand holds weights, where it is constant: they have a scale for each output channel."""
    narrow: bool = False
    """Whether weights have 8 bits beside numbers of 16 where they are computed, too, for which there are no such products."""
    as_tensors: bool = False
    """Whether constant weights are held as any tensor is: in one scale, and as many bits."""
    bias: int | None = None
    """Which operand is added to the sums: 32 bits, in the scale of the products."""
    channels: Callable[[Any], int] = lambda op: 0
    """The dimension of the weights that counts output channels."""
    result_channels: Callable[[Any], int] = lambda op: -1
    """The dimension of the result that counts them."""
    slopes: int | None = None
    """Which operand has 8 bits where it is constant, whatever the others have: LiteRT's PRELU reads bytes."""
    operands: tuple[int, ...] | None = None
    """The operands that are quantized besides weights and bias; None: all."""
    fixed: Fixed | None = None
    """The range of the result, where it follows from the op alone."""
    shares: bool = False
    """Whether the result has the type of the first operand: between its numbers there are no others to hold."""
    alike: bool = False
    """Whether operands and result are numbers of one kind: where some were zero on all samples, the others say what scale is fine
    enough. LiteRT ends the process at sums whose operands' steps are too coarse beside the result's."""
    retypes: bool = False
    """Whether operands and results may be stored in unlike types."""
    table: bool = False
    """Whether it is a function of one number, a table: with 16 bits, one that is interpolated between 513 places."""
    rounding: Callable[[Any], str | None] = lambda op: None
    """The word by which the quantized result is rounded (`transload_hub.ops.rounding`), where it is not the op's default."""
    attributes: Callable[[Any], dict[str, Any]] = lambda op: {}
    """What attributes the quantized op has instead, None for none: integers have fewer forms than floats."""

    def own(self, op: Op) -> int | None:
        """The operand that holds constant weights of a type of their own; None where an op has none."""
        return self.weights if self.weights is not None and not self.as_tensors \
            and constant_of(op.operands[self.weights]) is not None else None


FACT = (Rule, Callable)
"""A fact of kind "quantization" is a rule, or a function of the op that gives one or None."""


def _conv_channels(op: Conv) -> int:
    return 1 if op.layout == "NCHW" else -1


def _deconv_filter(op: Deconv) -> int:
    return 1 if op.layout == "NCHW" else 0


def _matmul_columns(op: MatMul) -> int:
    rank = op.right.rank
    return rank - 2 if op.right_transpose and rank > 1 else rank - 1


def _matmul_rounding(op: MatMul) -> str | None:
    """A layer's default is that of LiteRT's FULLY_CONNECTED; a product of two computed matrices is its BATCH_MATMUL."""
    return None if constant_of(op.right) is not None and op.right.rank == 2 else "double"


QUANTIZATION: FactTable = FactTable("top")
QUANTIZATION.add(Rule(weights=1, narrow=True, bias=2, result_channels=_conv_channels), "Conv")
QUANTIZATION.add(Rule(weights=1, narrow=True, bias=2, channels=_deconv_filter, result_channels=_conv_channels), "Deconv")


@QUANTIZATION("MatMul")
def _products(op: MatMul) -> Rule:
    """A layer's weights have scales and a bias; of a batch of products both sides are tensors, as of LiteRT's BATCH_MATMUL."""
    return Rule(weights=1, bias=2, channels=_matmul_columns, rounding=_matmul_rounding, as_tensors=op.right.rank > 2)


QUANTIZATION.add(Rule(alike=True), "Add", "Sub", "SquaredDifference")
QUANTIZATION.add(Rule(), "Mul", "AvgPool", "AddConst", "MulConst")
QUANTIZATION.add(Rule(), "LeakyRelu", "Abs", "Neg", "Square")
QUANTIZATION.add(Rule(slopes=1), "PRelu")
QUANTIZATION.add(
    Rule(table=True), "SiLU", "HardSigmoid", "HardSwish", "GELU", "Elu", "Selu", "Celu", "ThresholdedRelu", "Shrink",
    "Softplus", "Softsign", "Mish", "Sqrt", "Erf", "Exp", "Log", "Log1p", "Rsqrt", "Reciprocal",
    "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh")
QUANTIZATION.add(Rule(fixed=Fixed(-1.0, 1.0)), "Tanh")


@QUANTIZATION("Softmax", "Sigmoid")
def _share(op: Softmax | Sigmoid) -> Rule | None:
    """Between 0 and 1, but for their logarithms: of a softmax that has no form in integers."""
    if op.log:
        return Rule() if op.name == "top.Sigmoid" else None
    return Rule(fixed=Fixed(0.0, 1.0))


@QUANTIZATION("Div", "Pow")
def _of_one_number(op: Op) -> Rule | None:
    """A table where the second operand is a constant number; two tensors have no form in integers."""
    dense = constant_of(op.operands[1])
    return Rule(table=op.name == "top.Pow") if dense is not None and dense.numpy().size == 1 else None


@QUANTIZATION("Interp")
def _interpolated(op: Interp) -> Rule | None:
    """Linear between places that LiteRT's kernels of integers know; any other interpolation has no form in integers."""
    words = {"scales": op.scales, "coord_mode": op.coord_mode, **_fractions(op)}
    known = words["scales"] is None and words["coord_mode"] in ("half_pixel", "align_corners", "asymmetric")
    is_plain = op.mode == "linear" and len(op.sizes) <= 2 and not op.antialias and not op.exclude_outside
    return Rule(shares=True, attributes=_fractions) if op.mode == "nearest" or (is_plain and known) else None


def _fractions(op: Interp) -> dict[str, Any]:
    """Scales that are quotients of the sizes left away, and places by `half_pixel`, where other words for them mean the same.

    LiteRT's kernels of integers, which say what interpolated integers are, know no others.
    """
    sizes = [op.input.static_shape[axis] for axis in spatial_axes(op.layout, op.input.rank)]
    instead: dict[str, Any] = {}
    if op.scales is not None and all(
            np.float32(scale) == np.float32(out / size) for scale, out, size in zip(op.scales, op.sizes, sizes, strict=True)):
        instead["scales"] = None
    if op.coord_mode == "pytorch_half_pixel" and min(op.sizes) > 1:
        instead["coord_mode"] = "half_pixel"
    if op.coord_mode == "half_pixel_symmetric" and (op.scales is None or "scales" in instead):
        instead["coord_mode"] = "half_pixel"
    return instead


@QUANTIZATION("Cast")
def _of_integers(op: Op) -> Rule | None:
    """Of integers of 8 bits that stand for real numbers: these stay what they are, without a rounding."""
    type_ = op.operands[0].quant
    if type_ is None or not type_.per_tensor or type_.storage.width != 8:
        return None
    low, high = ((end - type_.zero_point) * type_.scale for end in (type_.storage_min, type_.storage_max + 1))
    return Rule(fixed=Fixed(low, high), retypes=True)


def _mean(op: Op) -> Rule | None:
    return Rule() if op.mode in ("ReduceMean", "ReduceSum") else None


QUANTIZATION.add(_mean, "Reduce")
