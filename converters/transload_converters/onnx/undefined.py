"""Where onnxruntime's results say nothing of a model: ONNX does not say them, or it computes otherwise than ONNX says.

ONNX leaves the generator of random numbers to the runtime, also where the model has a seed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from transload.ir import Module, NoneType, Op, Value
from transload.ir.build import constant_of
from transload_hub.far import greatest, is_counted, looked_at, powers_beyond

__all__ = ["undefined"]

_RANDOM = frozenset(f"onnx.{name}" for name in (
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"))

_MOST = float((1 << 31) - 1)


def undefined(source: Module, hub: Module | None, inputs: Mapping[str, Any]) -> str:
    """Why onnxruntime's results cannot be compared on these inputs; nothing where they can."""
    ops = list(source.walk())
    drawing = _named([op for op in ops if op.name in _RANDOM or _drops(op)])
    resizing = _named([op for op in ops if _is_between_corners(op)])
    drawn = f"{drawing}: random numbers, of which ONNX does not say how they are drawn, with a seed or without"
    resized = (f"{resizing}: the scales of corners that lie upon each other say no whole length, which ONNX takes as it is, and "
               "onnxruntime without its fraction; give sizes in place of scales")
    unpooling = _named([op for op in ops if op.name == "onnx.MaxUnpool" and len(op.operands) > 2 and _is_there(op.operands[2])])
    unpooled = (f"{unpooling}: places that are counted in the smallest output, as ONNX says, and by onnxruntime in the output of "
                "the size that is asked for")
    powers = _named(powers_beyond(hub, inputs))
    divided = f"{powers}: powers of integers that no integer is: negative ones of 0, or beyond what the type holds"
    endless = _without_integers(hub, inputs)
    counted = (f"{endless}: what QuantizeLinear is given is no number, or more than 2^31 steps; ONNX does not say what becomes "
               "of it, and onnxruntime gives the least number, or any")
    updating = _named([op for op in ops if _is_updated_in_place(op)])
    updated = f"{updating}: statistics that the model has elsewhere, too, over which onnxruntime writes the new ones"
    backward = _named([op for op in ops if _is_to_the_greatest(op)])
    sliced = (f"{backward}: a slice backward to the greatest integer, which ends before it starts, and which onnxruntime takes "
              "for all; give the least integer")
    cropping = _named([op for op in ops if _is_cropped_whole(op)])
    cropped = f"{cropping}: onnxruntime does not crop along dimensions that keep their size"
    strided = _named([op for op in ops if _takes_off(op)])
    grown = (f"{strided}: ONNX says that the result is the strides times as large, for which padding adds to the image; "
             "onnxruntime gives it without that")
    cutting = _named([op for op in ops if _crops(op)])
    cut = f"{cutting}: padding that takes off instead of adding, of which ONNX does not say from where"
    unsorted = _named([op for op in ops if op.name == "onnx.TopK" and op.attribute("sorted", 1) == 0])
    ordered = f"{unsorted}: the greatest elements in no order, as it is asked for: onnxruntime has another one"
    casting = _cast_of_no_integers(hub, inputs)
    cast = f"{casting}: integers are made of numbers that no integer of 32 bits is, of which ONNX does not say which"
    told = ((cutting, cut), (unsorted, ordered),
            (backward, sliced), (cropping, cropped), (strided, grown), (casting, cast), (updating, updated),
            (drawing, drawn), (resizing, resized), (unpooling, unpooled), (powers, divided),
            (endless, counted))
    return "; ".join(text for names, text in told if names)


def _cast_of_no_integers(hub: Module | None, inputs: Mapping[str, Any]) -> str:
    """Which casts make integers of what is no number, or far beyond them."""
    casts = [op for op in hub.walk() if op.name == "top.Cast" and op.operands[0].is_float and op.results[0].is_integer
             ] if hub is not None else []
    if hub is None or not casts:
        return ""

    def is_beyond(op: Op, operands: Sequence[np.ndarray]) -> bool:
        return bool((~(np.abs(np.asarray(operands[0], np.float64)) <= _MOST)).any())

    return _named([op for op, beyond in looked_at(hub, inputs, casts, is_beyond).items() if beyond])


def _without_integers(hub: Module | None, inputs: Mapping[str, Any]) -> str:
    """Which ops are quantized where they are no number, or further than 32 bits reach."""
    ops = [op for op in hub.walk() if is_counted(op)] if hub is not None else []
    if hub is None or not ops:
        return ""
    found = looked_at(hub, inputs, ops, partial(greatest, most=_MOST))
    return _named([op for op, most in found.items() if most > _MOST])


def _is_updated_in_place(op: Op) -> bool:
    """Whether it is a BatchNormalization in training mode whose running statistics have another use, or are an output."""
    if op.name != "onnx.BatchNormalization" or not op.attribute("training_mode"):
        return False
    return any(len(value.uses) > 1 for value in op.operands[3:5])


def _is_there(value: Value) -> bool:
    return not isinstance(value.type, NoneType)


def _named(ops: Sequence[Op]) -> str:
    return ", ".join(dict.fromkeys(str(op.origin or op.name) for op in ops[:3]))


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


def _is_cropped_whole(op: Op) -> bool:
    """Whether it is a Resize of a crop with a dimension that is as long afterwards as the whole was."""
    if op.name != "onnx.Resize" or op.attribute("coordinate_transformation_mode") != "tf_crop_and_resize":
        return False
    before, after = op.operands[0].type, op.results[0].type
    sizes = constant_of(op.operands[3]) if len(op.operands) > 3 else None
    made = sizes.numpy().tolist() if sizes is not None else getattr(after, "shape", None)
    return made is None or any(a == b for a, b in zip(getattr(before, "shape", None) or (), made, strict=False))


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
    return training is not None and bool(np.any(training.numpy()))
