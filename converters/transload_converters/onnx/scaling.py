"""The sizes that Resize and Upsample by scales give: ONNX's inference multiplies in 64 bits, onnxruntime and the hub in 32.

A scale of 1.3 lies a little below it in a file, so that 50 elements become 64 for the one and 65 for the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .shapes import write_sizes

__all__ = ["scaled_sizes", "write_scaled_sizes"]

_NAMES = ("Resize", "Upsample")


def scaled_sizes(lengths: Sequence[float], scales: Sequence[float]) -> list[int] | None:
    """Products of 32 bits without their fractions; None where one is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        real = [np.float32(length) * np.float32(scale) for length, scale in zip(lengths, scales, strict=True)]
    return [math.floor(size) for size in real] if np.isfinite(real).all() else None


def write_scaled_sizes(model: Any, inferred: Any, own: set[str]) -> bool:
    """Write into a model the sizes of what it scales, where those `inferred`, of the same model, are of 64 bits.

    Sizes that the file gives stay, but those of the values `own`, which were written before and are added to. What comes behind
    has to be inferred again, where anything was written, which is returned.
    """
    nodes = list(_scaling(inferred.graph))
    if not nodes:
        return False
    graph, known = model.graph, _shapes(inferred.graph)
    told = {info.name: info for group in (graph.value_info, graph.output) for info in group}
    values = (*inferred.graph.value_info, *inferred.graph.output)
    kinds = {info.name: info.type.tensor_type.elem_type for info in values}
    written = False
    for node, scales in nodes:
        name = node.output[0]
        before, after = known.get(node.input[0]), known.get(name) if name in kinds else None
        axes = next((list(a.ints) for a in node.attribute if a.name == "axes"), None)
        if before is None or after is None or len(before) != len(after) or len(scales) != len(axes or before):
            continue
        full = [1.0] * len(before)
        for axis, scale in zip(axes or range(len(before)), scales, strict=True):
            if -len(full) <= axis < len(full):
                full[axis] = scale
        made = scaled_sizes(before, full)
        inexact = [math.floor(size * scale) for size, scale in zip(before, full, strict=True)] if made else None
        declared = name in told and name not in own and _sizes(told[name]) is not None
        if made is None or made == after or min(made) < 0 or declared or (after != inexact and name not in own):
            continue
        if name not in told:
            told[name] = graph.value_info.add(name=name)
        told[name].type.tensor_type.elem_type = kinds[name]
        write_sizes(told[name].type.tensor_type, tuple(made))
        own.add(name)
        written = True
    return written


def _scaling(graph: Any) -> Iterator[tuple[Any, list[float]]]:
    """The nodes that scale by constant scales, and these."""
    from onnx.numpy_helper import to_array

    if not any(node.op_type in _NAMES for node in graph.node):
        return
    tensors = {tensor.name: tensor for tensor in graph.initializer if not tensor.data_location}
    constants = (node for node in graph.node if node.op_type == "Constant")
    tensors |= {node.output[0]: a.t for node in constants for a in node.attribute if a.name == "value"}
    for node in graph.node:
        if node.domain or node.op_type not in _NAMES or not node.input or not node.output:
            continue
        if any(a.name == "coordinate_transformation_mode" and a.s == b"tf_crop_and_resize" for a in node.attribute):
            continue  # whose scales are those of a part
        by_attribute = next((list(a.floats) for a in node.attribute if a.name == "scales"), None)
        if by_attribute is not None:
            yield node, by_attribute
        elif len(node.input) in (2, 3) and (scales := tensors.get(node.input[-1])) is not None and scales.data_type == 1:
            with suppress(ValueError, TypeError):  # of a file that is wrong, which is told where it is read
                yield node, to_array(scales).reshape(-1).tolist()


def _shapes(graph: Any) -> dict[str, list[int]]:
    """The shapes of values, where all sizes are known."""
    found = ((info.name, _sizes(info)) for group in (graph.value_info, graph.output, graph.input) for info in group)
    return {name: sizes for name, sizes in found if sizes is not None}


def _sizes(info: Any) -> list[int] | None:
    """The sizes that are noted for a value; None where some are not."""
    tensor = info.type.tensor_type
    if info.type.WhichOneof("value") != "tensor_type" or not tensor.HasField("shape"):
        return None
    return [dim.dim_value for dim in tensor.shape.dim] if all(dim.HasField("dim_value") for dim in tensor.shape.dim) else None
