"""What LiteRT gives that says nothing of a model: a verification that fails there is not conclusive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from transload.ir import BOOL, F32, I8, I16, I32, I64, UI8, Dense, IntegerType, Module, Op, QuantType
from transload.ir.build import constant_of
from transload_hub.grids import MAX_SIZE

from .dialect import SPARSE_BLOCK
from .overflow import overflows
from .suppressions import open_selections

__all__ = ["has_narrow_bias", "undefined"]

_PRODUCTS = {
    "tfl.conv_2d": 0, "tfl.depthwise_conv_2d": 0, "tfl.fully_connected": 0, "tfl.transpose_conv": 2, "tfl.batch_matmul": 0}
"""The operand that weights are multiplied with, by operator."""
_BIASES = {"tfl.conv_2d": 2, "tfl.fully_connected": 2, "tfl.transpose_conv": 3}
"""The operand that is a bias, of operators that may say its type."""
_SCALES = (1e-12, 1e12)
"""Between which the scales of tensors of 8 and 16 bits are."""
_READ_BLOCK = 16
_LEFT_OUT = ("TANH", "SIGN_BIT")
_RECURRENT = frozenset(f"tfl.{name}" for name in (
    "lstm", "unidirectional_sequence_lstm", "bidirectional_sequence_lstm", "rnn", "unidirectional_sequence_rnn",
    "bidirectional_sequence_rnn", "svdf"))
"""Operators whose activation is that of their cells. Of all others LiteRT's kernels know ReLUs alone (measured, LiteRT 2.3)."""
_EQUALITIES = ("tfl.equal", "tfl.not_equal")
_ORDERS = ("tfl.greater", "tfl.greater_equal", "tfl.less", "tfl.less_equal")
"""Comparisons that go by stored numbers where these have 16 bits."""


def undefined(source: Module, hub: Module | None, given: Mapping[str, Any]) -> str:
    """Why LiteRT's results cannot be compared on these inputs; nothing where they can."""
    ops = list(source.walk())
    told = [(dict.fromkeys(str(op.origin or op.name) for op in ops if holds(op)), why) for holds, why in _BY_OP]
    large = [f"{op.origin or op.name} scales by {factor:g}" for op in ops if (factor := _beyond(op)) is not None]
    found = [f"{', '.join(list(names)[:3])}: {why}" for names, why in told if names]
    found += [f"LiteRT has no multipliers for such scales, and its sums overflow: {'; '.join(large[:3])}"] if large else []
    return "; ".join(filter(None, (*found, overflows(hub, given), open_selections(source, hub, given))))


def _is_bent(op: Op) -> bool:
    return op.attribute("fused_activation_function") in _LEFT_OUT and op.name not in _RECURRENT


def _begins_below_zero(op: Op) -> bool:
    """Whether its activation begins at -1, and its result has no sign: LiteRT takes -1 for the greatest number, and gives 1."""
    element = op.results[0].element_or_none if op.results else None
    unsigned = isinstance(element, IntegerType) and element.unsigned
    return unsigned and op.attribute("fused_activation_function") == "RELU_N1_TO_1"


def _is_rising(op: Op) -> bool:
    return op.name == "tfl.softmax" and float(op.attribute("beta", 1.0)) < 0


def _rounds_each(op: Op) -> bool:
    return op.name == "tfl.reduce_prod" and op.operands[0].is_quantized


def _compares_steps(op: Op) -> bool:
    """Whether it compares quantized numbers one of whose scales is 1 or more, beside which LiteRT has multipliers below 1 alone.

    Of two tensors of one scale of 3.7 it called 0 and 12 steps equal. Source: `ComparisonWithScaling` in
    `tensorflow/lite/kernels/internal/reference/comparisons.h`; measured with LiteRT 2.3, by all kernels.
    """
    if op.name not in (*_EQUALITIES, *_ORDERS):
        return False
    held = [quant for value in op.operands if (quant := value.quant) is not None]
    return any(quant.storage.width <= (16 if op.name in _EQUALITIES else 8) and max(quant.scales) >= 1 for quant in held)


def _has_large_steps(op: Op) -> bool:
    """Whether it is a bent function of 16 bits whose numbers, in units of its table, are beyond 32 bits: LiteRT wraps round.

    Source: `TanhPrepare` and `SigmoidPrepare` in `tensorflow/lite/kernels/activations.cc`: a unit is 1 / (3 * 4096).
    """
    given = op.operands[0].quant if op.name in ("tfl.tanh", "tfl.logistic") and op.operands else None
    return given is not None and given.storage == I16 and max(given.scales) * 3 * 4096 >= (1 << 16) + 1


def _has_far_scale(op: Op) -> bool:
    """Whether a tensor of 8 or 16 bits has a scale that no model has, and that is no multiplier of LiteRT's kernels."""
    held = [value.quant for value in (*op.operands, *op.results) if value.is_quantized]
    return op.dialect == "tfl" and any(
        not _SCALES[0] <= scale <= _SCALES[1] for quant in held if quant is not None and quant.storage.width <= 16
        for scale in (min(quant.scales), max(quant.scales)))


def _has_coarse_places(op: Op) -> bool:
    """Whether an image of integers is made, or is, so large that the distance between its pixels is no whole number of 1024ths.

    Over all of them that adds up (`resize_bilinear.h`: `ResizeBilinearInteger`); of an image beyond the sizes that chips resize
    by whole numbers, places are fractions.
    """
    if op.name != "tfl.resize_bilinear" or len(op.operands) < 2 or op.operands[0].element_or_none == F32:
        return False
    sizes = constant_of(op.operands[1])
    if sizes is None:
        return False
    pairs = zip((op.operands[0].shape or ())[1:3], sizes.numpy().reshape(-1).tolist(), strict=False)
    less = 1 if op.attribute("align_corners") else 0
    return any(size is not None and (made > 512 or size >= MAX_SIZE) and 1024 * (size - less) % (made - less)
               for size, made in pairs if made > 1)


def _has_length_one(op: Op) -> bool:
    lengths = constant_of(op.operands[1]) if op.name == "tfl.rfft2d" and len(op.operands) > 1 else None
    return lengths is not None and 1 in lengths.numpy().reshape(-1).tolist()


def _is_unwritten(op: Op) -> bool:
    """Whether it is a sum or product of nothing in integers of 8 or 16 bits.

    Measured with LiteRT 2.3: of its usual kernels some write nothing, and some a 0, whatever the zero point is.
    """
    if op.name not in ("tfl.sum", "tfl.reduce_prod") or not op.operands or not op.operands[0].is_static:
        return False
    element = op.operands[0].element
    stored = element.storage if isinstance(element, QuantType) else element
    return isinstance(stored, IntegerType) and stored.width < 32 and 0 in op.operands[0].static_shape


def _is_misread(op: Op) -> bool:
    """Whether it has sparse weights of 8 bits that LiteRT's kernels read as if they were dense, beyond their end.

    Measured with LiteRT 2.3: beside floats and int8 blocks of 16 in a row are read as what they are, beside int16 none.
    """
    if op.name != "tfl.fully_connected" or not op.attribute(SPARSE_BLOCK, 0) or not op.operands[1].is_quantized:
        return False
    given = op.operands[0].quant
    return op.attribute(SPARSE_BLOCK) != _READ_BLOCK or (given is not None and given.storage.width > 8)


def _reads_packed(op: Op) -> bool:
    """Whether it has weights of less than a byte that LiteRT's kernels read as bytes or floats, beyond their end.

    Measured with LiteRT 2.3, all kernels: CONV_2D unpacks 4 bits and not 2, DEPTHWISE_CONV_2D 4 bits beside int8 alone.
    """
    if op.name not in ("tfl.conv_2d", "tfl.depthwise_conv_2d") or len(op.operands) < 2:
        return False
    weights, given = op.operands[1].quant, op.operands[0].quant
    if weights is None or weights.storage.width >= 8:
        return False
    unpacks = op.name == "tfl.conv_2d" or (given is not None and given.storage == I8)
    return weights.storage.width != 4 or not unpacks


def _holds_other_truths(op: Op) -> bool:
    """Whether it is a constant of truths that are other bytes than 0 and 1, of which C++ says nothing: 72 and 1 is neither."""
    value = op.attributes.get("value") if op.name == "tfl.pseudo_const" else None
    if not isinstance(value, Dense) or value.type.element != BOOL:
        return False
    held = np.asarray(value.numpy())
    return held.dtype == np.bool_ and bool((held.view(np.uint8) > 1).any())


def has_narrow_bias(op: Op) -> bool:
    """Whether sums beside activations of 16 bits have a bias of 32, and nothing says so.

    LiteRT takes it for one of 64 bits then, two numbers for one, and reads beyond its end. Measured with LiteRT 2.3: CONV_2D and
    TRANSPOSE_CONV by all kernels, FULLY_CONNECTED by the reference ones; DEPTHWISE_CONV_2D is refused.
    """
    return op.attribute("quantized_bias_type", "FLOAT32") == "FLOAT32" and _has_bias(op, (I16,), I32)


def _has_bias(op: Op, given: tuple[IntegerType, ...], bias: IntegerType) -> bool:
    """Whether sums beside quantized activations stored as `given` have a bias that is stored as `bias`."""
    place = _BIASES.get(op.name)
    if place is None or len(op.operands) <= place:
        return False
    x, held = op.operands[_PRODUCTS[op.name]].quant, op.operands[place].element_or_none
    return x is not None and x.storage in given and (held.storage if isinstance(held, QuantType) else held) == bias


def _misreads_bias(op: Op) -> bool:
    return op.name != "tfl.fully_connected" and has_narrow_bias(op)


def _halves_bias(op: Op) -> bool:
    """Whether sums beside activations of 8 bits have a bias of 64: by all kernels, whatever is said (measured, LiteRT 2.3).

    Beside weights of 16 bits one of 64 is read as what it is where that is said. Of FULLY_CONNECTED; others are refused.
    """
    if op.name != "tfl.fully_connected":
        return False
    unsaid = op.attribute("quantized_bias_type", "FLOAT32") == "FLOAT32" and op.operands[1].stored_element == I16
    return _has_bias(op, (I8, UI8, I16) if unsaid else (I8, UI8), I64)


_RESCALED: dict[str, tuple[IntegerType, ...]] = {
    **dict.fromkeys(("tfl.mean", "tfl.sum", "tfl.div"), (I8, UI8, I16)),
    **dict.fromkeys(("tfl.relu", "tfl.relu6", "tfl.relu_n1_to_1", "tfl.relu_0_to_1"), (I8, UI8, I16)),
    "tfl.mul": (I8, UI8), "tfl.prelu": (I8, UI8), "tfl.batch_matmul": (I8, I16)}
"""Operators that all kernels take for quantized ones by the type of their operand alone, and the types."""


def _rescales_integers(op: Op) -> bool:
    """Whether it computes with numbers of 8 or 16 bits that are not quantized, which all kernels scale by 0 / 0 (LiteRT 2.3).

    Source: `EvalQuantizedMean` and `EvalSum` in `tensorflow/lite/kernels/reduce.cc`, `EvalQuantized` in `mul.cc` and `div.cc`,
    `ReluPrepare` in `activations.cc`, and `batch_matmul.cc`, which go by the type of the tensor alone.
    """
    plain = _RESCALED.get(op.name)
    return plain is not None and op.operands[0].element_or_none in plain and op.results[0].element_or_none in (I8, UI8, I16)


def _beyond(op: Op) -> float | None:
    """The scale of sums of products in steps of the result, where it is greater than the multipliers that LiteRT has.

    Source: `QuantizeMultiplier` in `tensorflow/lite/kernels/internal/quantization_util.cc` ends at a shift of 30, and sums of 64
    bits, beside numbers of 16, have multipliers of 15 bits.
    """
    if op.name not in _PRODUCTS or not op.results or len(op.operands) < 2:
        return None
    x, w, y = op.operands[_PRODUCTS[op.name]].quant, op.operands[1].quant, op.results[0].quant
    if x is None or w is None or y is None or not (x.per_tensor and y.per_tensor and y.scale):
        return None
    factor = x.scale * max(w.scales) / y.scale
    return factor if factor >= (2.0**13 if x.storage.width > 8 else 2.0**29) else None


def _slices_beyond(op: Op) -> bool:
    """Whether a slice has an ellipsis beside ends that are offsets, of which its kernel reads what lies beyond the tensor."""
    return op.name == "tfl.strided_slice" and bool(op.attribute("offset")) and bool(op.attribute("ellipsis_mask"))


_BY_OP: tuple[tuple[Callable[[Op], bool], str], ...] = (
    (_is_unwritten, "LiteRT reduces nothing, and leaves in its result what was there"),
    (_holds_other_truths, "truth values are bytes other than 0 and 1, and LiteRT's operators compute with the bytes"),
    (_is_bent, f"LiteRT leaves out an activation that is fused, of {' and '.join(_LEFT_OUT)}"),
    (_begins_below_zero, "LiteRT takes -1, at which an activation begins, for the greatest number of an unsigned type"),
    (_has_far_scale, f"steps of less than {_SCALES[0]:g} or more than {_SCALES[1]:g}, for which LiteRT has no multipliers"),
    (_has_large_steps, "LiteRT takes numbers of 16 bits in units of 1/12288, and with scales above 5.33 they are beyond 32 bits"),
    (_has_length_one, "LiteRT's transform is none for a length of 1"),
    (_slices_beyond, "LiteRT does not take an ellipsis beside ends that are offsets for all that there is, and reads beyond it"),
    (_has_coarse_places, "LiteRT finds places between pixels of integers in 1024ths of their distance"),
    (_is_misread, "LiteRT reads sparse weights of 8 bits in blocks of 1 x 16 alone, and only beside floats and int8"),
    (_reads_packed, "LiteRT's convolutions read weights of 2 bits, and by channels beside other than int8 those of 4, as if each "
                    "had its own byte"),
    (_misreads_bias, "LiteRT reads a bias of 32 bits beside activations of 16 as one of 64, where quantized_bias_type does not "
                     "say INT32"),
    (_halves_bias, "LiteRT reads a bias of 64 bits beside activations of 8, or weights of 16 where quantized_bias_type does not "
                   "say INT64, as one of 32, half a number for one"),
    (_compares_steps, "LiteRT compares quantized numbers by multipliers below 1, and a scale here is 1 or more"),
    (_rescales_integers, "LiteRT computes with numbers of 8 and 16 bits as if they were quantized, and these are not"),
    (_rounds_each, "LiteRT rounds behind each factor of a product of quantized numbers"),
    (_is_rising, "LiteRT takes the greatest number off, so that a factor below 0 needs exponentials above that of 0: it has none "
                 "for integers, and of floats they may be infinite"),
)
"""What holds for an operator, and why nothing is judged then."""
