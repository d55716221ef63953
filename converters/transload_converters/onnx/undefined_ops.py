"""Operators of which onnxruntime's results say nothing: ONNX does not say them, or says others.

ONNX leaves the generator of random numbers to the runtime, also where the model has a seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from transload.ir import NoneType, Op, Value
from transload.ir.build import constant_of
from transload_hub.tables import distinct

from .legalize.table import opset

__all__ = ["UNDEFINED", "hides_what_a_mask_says"]

_RANDOM = frozenset(f"onnx.{name}" for name in (
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"))


def _draws(op: Op) -> bool:
    return op.name in _RANDOM or _drops(op)


def _is_unsorted(op: Op) -> bool:
    return op.name == "onnx.TopK" and op.attribute("sorted", 1) == 0


def _saturates_somehow(op: Op) -> bool:
    return op.name in ("onnx.Cast", "onnx.CastLike") and op.attribute("saturate", 1) not in (0, 1, None)


def _counts_places(op: Op) -> bool:
    return op.name == "onnx.MaxUnpool" and len(op.operands) > 2 and _is_there(op.operands[2])


def _is_updated_in_place(op: Op) -> bool:
    """Whether it is a BatchNormalization in training mode whose running statistics have another use, or are an output."""
    if op.name != "onnx.BatchNormalization" or not op.attribute("training_mode"):
        return False
    return any(len(value.uses) > 1 for value in op.operands[3:5])


def hides_what_a_mask_says(op: Op) -> bool:
    """Whether it is an Attention that adds a mask of floats and hides what comes later as well."""
    if op.name != "onnx.Attention" or not op.attribute("is_causal") or len(op.operands) < 4:
        return False
    return _is_there(op.operands[3]) and op.operands[3].is_float


def _is_there(value: Value) -> bool:
    return not isinstance(value.type, NoneType)


def _is_between_corners(op: Op) -> bool:
    """Whether it is a Resize with corners upon each other by scales that say a length with a fraction.

    ONNX's own tests (`test_resize_downsample_scales_linear_align_corners`) and reference have the last element at that length.
    """
    if op.name != "onnx.Resize" or op.attribute("coordinate_transformation_mode") != "align_corners" or len(op.operands) < 3:
        return False
    scales = constant_of(op.operands[2])
    if scales is None or not op.operands[0].is_static:
        return False
    shape = op.operands[0].static_shape
    axes = op.attribute("axes") or range(len(shape))
    lengths = [shape[axis] * float(scale) for axis, scale in zip(axes, scales.numpy().reshape(-1), strict=False)]
    return any(not math.isclose(length, round(length), rel_tol=1e-6) for length in lengths)


def _is_to_the_greatest(op: Op) -> bool:
    """Whether it is a Slice backward that ends at the greatest integer of 32 or 64 bits."""
    if op.name != "onnx.Slice" or len(op.operands) < 5:
        return False
    ends, steps = (constant_of(op.operands[place]) for place in (2, 4))
    if ends is None or steps is None or ends.numpy().size != steps.numpy().size:
        return False
    return bool(np.any(np.isin(ends.numpy(), ((1 << 31) - 1, (1 << 63) - 1)) & (steps.numpy() < 0)))


def _crops_of(op: Op) -> list[tuple[int, float, int | None]]:
    """The dimensions that a Resize by `tf_crop_and_resize` takes a part of, as (place among its axes, part, whole size)."""
    if op.name != "onnx.Resize" or op.attribute("coordinate_transformation_mode") != "tf_crop_and_resize" or len(op.operands) < 2:
        return []
    roi, shape = constant_of(op.operands[1]), getattr(op.operands[0].type, "shape", None)
    if roi is None or shape is None:
        return []
    starts, ends = np.array_split(roi.numpy().astype(np.float64).reshape(-1), 2)
    axes = op.attribute("axes") or range(len(shape))
    return [(place, end - start, shape[axis]) for place, (axis, start, end) in enumerate(zip(axes, starts, ends, strict=False))
            if (start, end) != (0, 1) and -len(shape) <= axis < len(shape)]


def _numbers(op: Op, place: int) -> np.ndarray | None:
    """The numbers of an operand that is a constant, in a row; None of others, of absent ones and of no numbers."""
    dense = constant_of(op.operands[place]) if len(op.operands) > place else None
    return dense.numpy().reshape(-1) if dense is not None and dense.numpy().size else None


def _is_cropped_whole(op: Op) -> bool:
    """Whether it is a Resize of a crop, along a dimension that is as long afterwards as the whole was; one element is all."""
    crops = _crops_of(op)
    if not crops:
        return False
    sizes, scales = _numbers(op, 3), _numbers(op, 2)
    axes, made = op.attribute("axes"), getattr(op.results[0].type, "shape", None)
    stretched = op.attribute("keep_aspect_ratio_policy", "stretch") == "stretch"
    for place, part, whole in crops:
        if sizes is None and scales is not None:
            after = math.floor(whole * part * scales[place]) if whole is not None else None
        else:
            after = sizes[place] if sizes is not None and stretched else made and made[axes[place] if axes else place]
        if whole != 1 and (after is None or whole is None or after == whole):
            return True
    return False


def _is_sized_from_behind(op: Op) -> bool:
    """Whether it is a Resize that keeps proportions, along axes that are counted from the end."""
    return (op.name == "onnx.Resize" and op.attribute("keep_aspect_ratio_policy", "stretch") != "stretch"
            and min(op.attribute("axes") or (0,)) < 0)


def _is_scaled_crop(op: Op) -> bool:
    """Whether it is a Resize of a crop by scales, of which the crop makes another size than the whole."""
    scales = _numbers(op, 2)
    if scales is None or _numbers(op, 3) is not None:
        return False
    return any(whole is None or math.floor(whole * part * scales[place]) != math.floor(whole * scales[place])
               for place, part, whole in _crops_of(op))


_POOLS = frozenset({"onnx.MaxPool", "onnx.AveragePool", "onnx.LpPool", "onnx.com.microsoft.QLinearAveragePool",
                    "onnx.com.microsoft.NhwcMaxPool"})


def _windows(op: Op) -> list[tuple[int, int, int, int]]:
    """The dimensions that a pool's windows move along, as (size, kernel, stride, dilation); none where sizes are not known."""
    kernel = op.attribute("kernel_shape")
    shape = getattr(op.operands[0].type, "shape", None) if op.name in _POOLS and op.operands else None
    if shape is None or not kernel:
        return []
    last = op.attribute("channels_last") or op.name.endswith("NhwcMaxPool")
    sizes = shape[1:-1] if last else shape[2:]
    strides, dilations = (op.attribute(name) or (1,) * len(kernel) for name in ("strides", "dilations"))
    return [each for each in zip(sizes, kernel, strides, dilations, strict=False) if each[0] is not None and min(each) > 0]


def _is_padded_otherwise(op: Op) -> bool:
    """Whether it is a pool that is padded by `auto_pad` where onnxruntime finds other padding.

    It takes the size of the kernel for how far a window reaches, and negative padding as it is; its sizes follow from that.
    """
    mode, ceil = str(op.attribute("auto_pad", "")), bool(op.attribute("ceil_mode"))
    if not mode.startswith("SAME"):
        return False
    for size, kernel, stride, dilation in _windows(op):
        extent, count = (kernel - 1) * dilation + 1, -(-size // stride)
        due, given = max((count - 1) * stride + extent - size, 0), (count - 1) * stride + kernel - size
        lower = mode == "SAME_LOWER"
        free = size + given - extent
        windows = (-(-free // stride) if ceil else free // stride) + 1
        if count != windows or (due + lower) // 2 != int((given + lower) / 2):
            return True
        if due != given and (op.attribute("count_include_pad") or (ceil and dilation > 1 and op.name.endswith("AveragePool"))):
            return True  # the same sizes, and others of them are counted
    return False


def _goes_beyond(op: Op) -> bool:
    """Whether it is a pool with `ceil_mode` and no padding by `auto_pad`, whose last window would end behind the end."""
    if op.attribute("auto_pad", "") != "VALID" or not op.attribute("ceil_mode"):
        return False
    return any(
        (free := size - (kernel - 1) * dilation - 1) > 0 and free % stride and -(-free // stride) * stride < size
        for size, kernel, stride, dilation in _windows(op))


def _is_of_one_target(op: Op) -> bool:
    return (op.name == "onnx.ai.onnx.ml.LinearRegressor" and op.attribute("targets", 1) == 1
            and op.attribute("post_transform", "NONE") != "NONE")


def _takes_off(op: Op) -> bool:
    """Whether it is a ConvTranspose with strides longer than its kernel reaches, padded to be the same size times the strides."""
    if op.name != "onnx.ConvTranspose" or not str(op.attribute("auto_pad", "")).startswith("SAME") or len(op.operands) < 2:
        return False
    kernel = (getattr(op.operands[1].type, "shape", None) or ())[2:]
    strides, dilations = op.attribute("strides") or (1,) * len(kernel), op.attribute("dilations") or (1,) * len(kernel)
    return any(
        size is not None and stride > (size - 1) * dilation + 1
        for size, stride, dilation in zip(kernel, strides, dilations, strict=False))


def _crops(op: Op) -> bool:
    """Whether it is a Conv with a stride as long as the image, whose end its kernel does not reach: padding is negative."""
    if op.name != "onnx.Conv" or not str(op.attribute("auto_pad", "")).startswith("SAME") or len(op.operands) < 2:
        return False
    sizes, kernel = ((getattr(value.type, "shape", None) or ())[2:] for value in op.operands[:2])
    strides, dilations = op.attribute("strides") or (1,) * len(kernel), op.attribute("dilations") or (1,) * len(kernel)
    return any(
        None not in (size, reach) and (reach - 1) * dilation + 1 < size <= stride
        for size, reach, stride, dilation in zip(sizes, kernel, strides, dilations, strict=False))


def _drops(op: Op) -> bool:
    """Whether it is a Dropout in training mode."""
    training = constant_of(op.operands[2]) if op.name == "onnx.Dropout" and len(op.operands) > 2 else None
    return training is not None and bool(np.any(distinct(training.numpy())))


_TAKES_ALPHA = frozenset({"affine", "elu", "hardsigmoid", "leakyrelu", "scaledtanh", "thresholdedrelu"})
_TAKES_BETA = frozenset({"affine", "hardsigmoid", "scaledtanh"})
_ALPHA_OF_NOTHING = frozenset({"affine", "scaledtanh", "thresholdedrelu"})
_BETA_OF_NOTHING = frozenset({"scaledtanh"})


def _scales_by_nothing(op: Op) -> bool:
    """Whether it is a recurrent layer with an activation that is not given the number that ONNX has 1 for."""
    if op.name not in ("onnx.RNN", "onnx.GRU", "onnx.LSTM"):
        return False
    names = [str(name).lower() for name in op.attribute("activations") or ()]
    for attribute, takes, of_nothing in (
            ("activation_alpha", _TAKES_ALPHA, _ALPHA_OF_NOTHING), ("activation_beta", _TAKES_BETA, _BETA_OF_NOTHING)):
        given = len(op.attribute(attribute) or ())
        if of_nothing.intersection([name for name in names if name in takes][given:]):
            return True
    return False


def _swaps_transforms(op: Op) -> bool:
    """Whether it is a TreeEnsemble that ends with SOFTMAX (1) or LOGISTIC (2)."""
    return op.name == "onnx.ai.onnx.ml.TreeEnsemble" and op.attribute("post_transform", 0) in (1, 2)


def _reaches_no_leaf(op: Op) -> bool:
    """Whether it is a regressor by trees that may give some target nothing, and base values or the least of none matter."""
    targets = op.attribute("n_targets", 1)
    if op.name != "onnx.ai.onnx.ml.TreeEnsembleRegressor" or targets < 2:
        return False
    if not any(op.attribute("base_values") or ()) and op.attribute("aggregate_function", "SUM") not in ("MIN", "MAX"):
        return False
    nodes = zip(*(op.attribute(f"nodes_{name}") or () for name in ("treeids", "nodeids", "modes")), strict=False)
    leaves: dict[int, set[int]] = {}
    for tree, node, mode in nodes:
        if mode == "LEAF":
            leaves.setdefault(tree, set()).add(node)
    given: dict[tuple[int, int], set[int]] = {}
    gives = zip(*(op.attribute(f"target_{name}") or () for name in ("treeids", "nodeids", "ids")), strict=False)
    for tree, node, target in gives:
        given.setdefault((tree, target), set()).add(node)
    return any(all(held - given.get((tree, target), set()) for tree, held in leaves.items()) for target in range(targets))


def _tells_what_it_kept(op: Op) -> bool:
    """Whether it is a Dropout of opset 7 to 11 whose mask is used."""
    return op.name == "onnx.Dropout" and opset(op) < 12 and len(op.results) > 1 and bool(op.results[1].uses)


def _squeezes_nothing(op: Op) -> bool:
    """Whether it is a Squeeze along no axes, which are said."""
    if op.name != "onnx.Squeeze":
        return False
    axes = constant_of(op.operands[1]) if len(op.operands) > 1 else None
    return op.attribute("axes") in ((), []) or (axes is not None and axes.numpy().size == 0)


UNDEFINED: tuple[tuple[Callable[[Op], bool], str], ...] = (
    (_crops, "padding that takes off instead of adding, of which ONNX does not say from where"),
    (_is_unsorted, "the greatest elements in no order, as it is asked for: onnxruntime has another one"),
    (_saturates_somehow, "`saturate` is 0 or 1 for ONNX; onnxruntime leaves undone what has another number there"),
    (_is_to_the_greatest, "a slice backward to the greatest integer, which ends before it starts, and which onnxruntime takes "
                          "for all; give the least integer"),
    (_is_sized_from_behind, "onnxruntime leaves the sizes as they are where a Resize keeps proportions along negative axes"),
    (_is_cropped_whole, "onnxruntime does not crop along dimensions that keep their size"),
    (_is_scaled_crop, "ONNX says that scales are those of the part that is cropped; onnxruntime takes them for those of the "
                      "whole; give sizes in place of scales"),
    (_is_padded_otherwise, "`auto_pad` makes as many windows as the strides fit into the size, as ONNX says; onnxruntime leaves "
                           "dilations out of this padding, and takes off where strides are longer than windows"),
    (_goes_beyond, "ONNX lets `ceil_mode` add no window where `auto_pad` is VALID; onnxruntime adds one that goes beyond the "
                   "end"),
    (_is_of_one_target, "ONNX transforms what a regressor of one target gives, too; onnxruntime leaves it as it is"),
    (_takes_off, "ONNX says that the result is the strides times as large, for which padding adds to the image; onnxruntime "
                 "gives it without that"),
    (_is_updated_in_place, "statistics that the model has elsewhere, too, over which onnxruntime writes the new ones"),
    (_draws, "random numbers, of which ONNX does not say how they are drawn, with a seed or without"),
    (_is_between_corners, "the scales of corners that lie upon each other say no whole length, which ONNX takes as it is, and "
                          "onnxruntime without its fraction; give sizes in place of scales"),
    (_scales_by_nothing, "activations without their `activation_alpha` or `activation_beta`, for which ONNX has 1, and "
                         "onnxruntime 0; give the numbers"),
    (_swaps_transforms, "a TreeEnsemble with SOFTMAX (1) or LOGISTIC (2), which onnxruntime takes for one another"),
    (_reaches_no_leaf, "a target that no leaf gives anything for some inputs, to which onnxruntime adds no base value, and of "
                       "which it takes 0 for the least or greatest"),
    (_tells_what_it_kept, "the mask of a Dropout that drops nothing: onnxruntime gives false before opset 12, and true since"),
    (_squeezes_nothing, "a Squeeze along no axes, which onnxruntime takes for all of size 1"),
    (_counts_places, "places that are counted in the smallest output, as ONNX says, and by onnxruntime in the output of the size "
                     "that is asked for"),
)
"""What holds for an operator, and why nothing is judged then."""
