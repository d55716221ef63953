"""The sizes of which onnxruntime and the hub think otherwise than ONNX's inference.

Resize and Upsample by scales multiply in 32 bits, and inference in 64: a scale of 1.3 lies a little below it in a file, so that
50 elements become 64 for the one and 65 for the others. Windows of pooling that would begin in the padding at the end, by
`ceil_mode`, are none, as the operators say, and inference counts them. An STFT that does not say whether it is `onesided` is,
and inference takes it for one that is not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .shapes import write_sizes

__all__ = ["forget_other_sizes", "has_other_sizes", "scaled_sizes", "windows_of", "write_other_sizes"]

_SCALING, _POOLING, _SPECTRAL = ("Resize", "Upsample"), ("AveragePool", "LpPool", "MaxPool"), ("STFT",)


def scaled_sizes(lengths: Sequence[float], scales: Sequence[float]) -> list[int] | None:
    """Products of 32 bits without their fractions; None where one is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        real = [np.float32(length) * np.float32(scale) for length, scale in zip(lengths, scales, strict=True)]
    return [math.floor(size) for size in real] if np.isfinite(real).all() else None


def windows_of(free: int, stride: int, length: int, ceil: bool) -> int:
    """How many windows there are by steps of `stride` where the first leaves `free` elements, of `length` before the padding at
    the end; with `ceil` also one that reaches beyond that, unless it would begin in it."""
    count = -(-free // stride) + 1 if ceil else free // stride + 1
    return count - 1 if ceil and (count - 1) * stride >= length else count


def has_other_sizes(graph: Any) -> bool:
    """Whether a graph, but for those in it, has operators of whose sizes inference may think otherwise."""
    return any(node.op_type in (*_SCALING, *_POOLING, *_SPECTRAL) for node in graph.node)


def forget_other_sizes(graph: Any, around: Iterable[str] = (), seen: Mapping[str, list[int]] | None = None) -> set[str]:
    """Remove from a graph, and those in it, the shapes that inference, before the file was written, gave to what is scaled and
    pooled and is otherwise, and to all that comes behind. The names of these values are returned; `around` are those of the
    graph that this one lies in, of which shapes are `seen`.
    """
    known, found = {**(seen or {}), **_shapes(graph)}, set(around)
    sized = _sized(graph, known) if has_other_sizes(graph) else ()
    found |= {name for name, made, inexact in sized if known.get(name) == inexact != made}
    for node in graph.node:
        inner = [a.g for a in node.attribute if a.HasField("g")]
        behind = [forget_other_sizes(each, found, known) & {info.name for info in each.output} for each in inner]
        if any(behind) or not found.isdisjoint(node.input):
            found.update(filter(None, node.output))
    for info in (*graph.value_info, *graph.output):
        if info.name in found and info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")
    return found


def write_other_sizes(model: Any, inferred: Any, own: set[str]) -> bool:
    """Write into a model the sizes of what it scales and pools, where those `inferred`, of the same model, are others.

    Sizes that the file gives stay, but those of the values `own`, which were written before and are added to. What comes behind
    has to be inferred again, where anything was written, which is returned.
    """
    graph = model.graph
    if not has_other_sizes(graph):
        return False
    known = _shapes(inferred.graph)
    told = {info.name: info for group in (graph.value_info, graph.output) for info in group}
    values = (*inferred.graph.value_info, *inferred.graph.output)
    kinds = {info.name: info.type.tensor_type.elem_type for info in values}
    written = False
    for name, made, inexact in _sized(inferred.graph, known):
        after = known.get(name) if name in kinds else None
        declared = name in told and name not in own and _sizes(told[name]) is not None
        if after is None or len(made) != len(after) or made == after or min(made) < 0 or declared or (
                after != inexact and name not in own):
            continue
        if name not in told:
            told[name] = graph.value_info.add(name=name)
        told[name].type.tensor_type.elem_type = kinds[name]
        write_sizes(told[name].type.tensor_type, tuple(made))
        own.add(name)
        written = True
    return written


def _sized(graph: Any, known: Mapping[str, list[int]]) -> list[tuple[str, list[int], list[int]]]:
    """Values of whose sizes inference may think otherwise, with these, and with those that inference finds."""
    return [*_scaled(graph, known), *_pooled(graph, known), *_spectral(graph, known)]


def _scaled(graph: Any, known: Mapping[str, list[int]]) -> Iterator[tuple[str, list[int], list[int]]]:
    """What is scaled, with its sizes, and with those that inference finds."""
    for node, scales in _scaling(graph):
        before = known.get(node.input[0])
        axes = next((list(a.ints) for a in node.attribute if a.name == "axes"), None)
        if before is None or len(scales) != len(axes or before):
            continue
        full = [1.0] * len(before)
        for axis, scale in zip(axes or range(len(before)), scales, strict=True):
            if -len(full) <= axis < len(full):
                full[axis] = scale
        made = scaled_sizes(before, full)
        if made:
            yield node.output[0], made, [math.floor(size * scale) for size, scale in zip(before, full, strict=True)]


def _pooled(graph: Any, known: Mapping[str, list[int]]) -> Iterator[tuple[str, list[int], list[int]]]:
    """The same of what is pooled with windows that reach beyond the padding."""
    for node in graph.node:
        given = {a.name: a for a in node.attribute}
        before = known.get(node.input[0]) if node.input else None
        if node.domain or node.op_type not in _POOLING or before is None or "ceil_mode" not in given or not given["ceil_mode"].i:
            continue
        kernel, count = list(given["kernel_shape"].ints) if "kernel_shape" in given else [], len(before) - 2
        strides, dilations, pads = (
            list(given[name].ints) if name in given else [default] * length
            for name, default, length in (("strides", 1, count), ("dilations", 1, count), ("pads", 0, 2 * count)))
        fits = len(kernel) == len(strides) == len(dilations) == count and len(pads) == 2 * count and min(strides, default=0) > 0
        if not fits or ("auto_pad" in given and given["auto_pad"].s not in (b"NOTSET", b"")):
            continue
        sizes = list(zip(before[2:], pads[:count], pads[count:], kernel, dilations, strides, strict=True))
        free = [size + begin + end - (each - 1) * apart - 1 for size, begin, end, each, apart, _ in sizes]
        lengths = [size + begin for size, begin, *_ in sizes]
        made = [windows_of(*each, ceil=True) for each in zip(free, strides, lengths, strict=True)]
        inexact = [-(-rest // stride) + 1 for rest, stride in zip(free, strides, strict=True)]
        for name in filter(None, node.output):
            yield name, [*before[:2], *made], [*before[:2], *inexact]


def _spectral(graph: Any, known: Mapping[str, list[int]]) -> Iterator[tuple[str, list[int], list[int]]]:
    """The same of short-time Fourier transforms of which it is not said whether half of the frequencies stand for all."""
    nodes = [node for node in graph.node if node.op_type in _SPECTRAL and not node.domain and node.output
             and all(a.name != "onesided" for a in node.attribute)]
    if not nodes:
        return
    tensors = _constants(graph)
    for node in nodes:
        signal, step, window, frame = (*node.input, "", "", "", "")[:4]
        lengths = _whole(tensors.get(frame)) or known.get(window) or list(tensors[window].dims if window in tensors else ())
        steps, before = _whole(tensors.get(step)), known.get(signal)
        if before is None or len(before) < 2 or len(lengths) != 1 or not steps or min(*steps, *lengths) < 1:
            continue
        frames = (before[1] - lengths[0]) // steps[0] + 1
        yield node.output[0], [before[0], frames, lengths[0] // 2 + 1, 2], [before[0], frames, lengths[0], 2]


def _constants(graph: Any) -> dict[str, Any]:
    """The tensors of a graph that lie in its file."""
    tensors = {tensor.name: tensor for tensor in graph.initializer if not tensor.data_location}
    nodes = (node for node in graph.node if node.op_type == "Constant")
    return tensors | {node.output[0]: a.t for node in nodes for a in node.attribute if a.name == "value"}


def _whole(tensor: Any) -> list[int]:
    """A constant's one whole number; nothing where it is none."""
    from onnx.numpy_helper import to_array

    if tensor is None or tensor.data_type not in (6, 7):
        return []
    with suppress(ValueError, TypeError):  # of a file that is wrong, which is told where it is read
        numbers = to_array(tensor).reshape(-1).tolist()
        return numbers if len(numbers) == 1 else []
    return []


def _scaling(graph: Any) -> Iterator[tuple[Any, list[float]]]:
    """The nodes that scale by constant scales, and these."""
    from onnx.numpy_helper import to_array

    if not any(node.op_type in _SCALING for node in graph.node):
        return
    tensors = _constants(graph)
    for node in graph.node:
        if node.domain or node.op_type not in _SCALING or not node.input or not node.output:
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
