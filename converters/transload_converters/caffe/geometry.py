"""What Caffe computes with sizes: windows of convolutions and poolings, axes, shapes to reshape to.

`op` is an op of the dialect, or anything with the fields of its parameters as attributes. Everything raises `ShapeError`.
Sources: Caffe's layer catalogue, https://caffe.berkeleyvision.org/tutorial/layers.html.
"""

from __future__ import annotations

import math
from bisect import bisect, insort
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

from transload.errors import Finding, ShapeError
from transload.ir import Op
from transload.ir.locations import location_names

__all__ = [
    "MOST_PRIORS", "Windows", "axis_of", "boxes_kept", "conv_sizes", "conv_windows", "deconv_sizes", "fail", "flattened",
    "outputs_of", "pool_windows", "prior_counts", "reshaped", "slices", "upsampled",
]

Shape = tuple[int, ...]


def fail(op: Any, why: str, hint: str = "") -> NoReturn:
    """Raise `ShapeError` about an op."""
    names = tuple(location_names(op.location)[:1]) if isinstance(op, Op) else ()
    what = op.name if isinstance(op, Op) else "a layer"
    raise ShapeError(f"{what}: sizes or parameters do not fit", [Finding(what, why, names, hint)])


def axis_of(op: Any, axis: int, rank: int, end: int | None = None) -> int:
    """An axis counted from the front; it may be `rank` where `end` is 1."""
    if not -rank <= axis < rank + (end or 0):
        fail(op, f"axis {axis} is outside a tensor of rank {rank}")
    return axis + rank if axis < 0 else axis


class Windows(NamedTuple):
    """Windows over spatial dimensions: sizes, steps, padding before, distances, and how many windows there are."""

    kernel: Shape
    stride: Shape
    pad: Shape
    dilation: Shape
    outputs: Shape


def _per_dimension(op: Any, name: str, short: str, rank: int, default: int | None) -> Shape:
    """A size per spatial dimension: two fields `short_h`, `short_w`, or a repeated one of one entry or `rank`."""
    pair = op.attribute(f"{short}_h"), op.attribute(f"{short}_w")
    if any(size is not None for size in pair):
        if rank != 2:
            fail(op, f"{short}_h and {short}_w are of images, and there are {rank} spatial dimensions")
        whole = tuple(op.attribute(name) or ())
        fill = whole[0] if whole else default
        if fill is None and None in pair:
            fail(op, f"{short}_h is given without {short}_w, or the other way round")
        return tuple(fill if size is None else size for size in pair)  # type: ignore[misc]
    given = tuple(op.attribute(name) or ())
    if not given:
        if default is None:
            fail(op, f"{name} is not given")
        return (default,) * rank
    if len(given) not in (1, rank):
        fail(op, f"{name} has {len(given)} entries for {rank} spatial dimensions")
    return given * rank if len(given) == 1 else given


def _checked(op: Any, spatial: Shape, kernel: Shape, stride: Shape, pad: Shape, dilation: Shape) -> None:
    if min((*kernel, *stride, *dilation)) < 1 or min(pad) < 0:
        fail(op, f"kernel {kernel}, stride {stride} and dilation {dilation} must be positive, pad {pad} not negative")
    if max((*kernel, *stride, *pad, *dilation)) > 1 << 24:
        fail(op, f"kernel {kernel}, stride {stride}, pad {pad} or dilation {dilation} is larger than any image")
    for size, k, p, d in zip(spatial, kernel, pad, dilation, strict=True):
        if size + 2 * p < d * (k - 1) + 1:
            fail(op, f"a window of {d * (k - 1) + 1} does not fit into {size} with {p} of padding on both sides")


def conv_windows(op: Any, shape: Shape) -> tuple[int, Windows]:
    """The axis of the channels, and the windows of a convolution over what is behind it."""
    axis = axis_of(op, op.axis, len(shape))
    spatial = shape[axis + 1 :]
    rank = len(spatial)
    if not 1 <= rank <= 3:
        fail(op, f"a convolution over {rank} spatial dimensions")
    kernel = _per_dimension(op, "kernel_size", "kernel", rank, None)
    stride = _per_dimension(op, "stride", "stride", rank, 1)
    pad = _per_dimension(op, "pad", "pad", rank, 0)
    dilation = tuple(op.dilation or (1,))
    if len(dilation) not in (1, rank):
        fail(op, f"dilation has {len(dilation)} entries for {rank} spatial dimensions")
    dilation = dilation * rank if len(dilation) == 1 else dilation
    return axis, Windows(kernel, stride, pad, dilation, spatial)


def conv_sizes(op: Any, windows: Windows) -> Shape:
    """How many windows a convolution has."""
    kernel, stride, pad, dilation, spatial = windows
    _checked(op, spatial, kernel, stride, pad, dilation)
    return tuple(
        (size + 2 * p - (d * (k - 1) + 1)) // s + 1
        for size, k, s, p, d in zip(spatial, kernel, stride, pad, dilation, strict=True))


def deconv_sizes(op: Any, windows: Windows) -> Shape:
    """The sizes that a transposed convolution gives."""
    kernel, stride, pad, dilation, spatial = windows
    if min((*kernel, *stride, *dilation)) < 1 or min(pad) < 0 or max((*kernel, *stride, *pad, *dilation)) > 1 << 24:
        fail(op, f"kernel {kernel}, stride {stride}, dilation {dilation} or pad {pad} is out of range")
    sizes = tuple(
        s * (size - 1) + d * (k - 1) + 1 - 2 * p
        for size, k, s, p, d in zip(spatial, kernel, stride, pad, dilation, strict=True))
    if min(sizes) < 1:
        fail(op, f"the padding {pad} takes all of the result away")
    return sizes


def pool_windows(op: Any, shape: Shape) -> Windows:
    """The windows of a pooling over an image: rounded up, those left out that begin in the padding behind it."""
    if len(shape) != 4:
        fail(op, f"pools images, of rank 4, and is given {list(shape)}")
    spatial: Shape = shape[2:]
    kernel, stride, pad = spatial, spatial, spatial
    if op.global_pooling:
        stride, pad = (1, 1), (0, 0)
    else:
        kernel = _pair(op, "kernel_size", "kernel", None)
        stride = _pair(op, "stride", "stride", 1)
        pad = _pair(op, "pad", "pad", 0)
    _checked(op, spatial, kernel, stride, pad, (1, 1))
    if any(p >= k for p, k in zip(pad, kernel, strict=True)):
        fail(op, f"pad {pad} must be smaller than the kernel {kernel}")
    rounded_up = op.ceil_mode if op.attribute("ceil_mode") is not None else op.round_mode == "CEIL"
    outputs = outputs_of(spatial, kernel, stride, pad, rounded_up)
    if any((out - 1) * s - p >= size for out, s, p, size in zip(outputs, stride, pad, spatial, strict=True)):
        fail(op, f"the last windows of {kernel} by steps of {stride} begin behind an image of {spatial[0]} x {spatial[1]}, where "
             "Caffe gives no number")
    return Windows(kernel, stride, pad, (1, 1), outputs)


def outputs_of(spatial: Shape, kernel: Shape, stride: Shape, pad: Shape, rounded_up: bool) -> Shape:
    """How many windows a pooling has."""
    outputs = []
    for size, k, s, p in zip(spatial, kernel, stride, pad, strict=True):
        room = size + 2 * p - k
        outputs.append((-(-room // s) if rounded_up else room // s) + 1)
    if any(pad):
        for place, (size, s, p) in enumerate(zip(spatial, stride, pad, strict=True)):
            if (outputs[place] - 1) * s >= size + p:
                outputs[place] -= 1
    return tuple(outputs)


def _pair(op: Any, name: str, short: str, default: int | None) -> Shape:
    height, width = op.attribute(f"{short}_h"), op.attribute(f"{short}_w")
    whole = op.attribute(name)
    fill = default if whole is None else whole
    height, width = (fill if size is None else size for size in (height, width))
    if height is None or width is None:
        fail(op, f"{name} is not given, nor are {short}_h and {short}_w")
    return int(height), int(width)


def flattened(op: Any, shape: Shape) -> Shape:
    """Of Flatten."""
    first, last = axis_of(op, op.axis, len(shape), 1), axis_of(op, op.end_axis, len(shape))
    if last < first - 1:
        fail(op, f"axis {op.axis} stands behind end_axis {op.end_axis}")
    return (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])


def reshaped(op: Any, shape: Shape) -> Shape:
    """Of Reshape: `shape` stands for the `num_axes` dimensions from `axis` on."""
    wanted = tuple(op.attribute("shape") or ())
    start = op.axis if op.axis >= 0 else len(shape) + op.axis + 1
    end = len(shape) if op.num_axes == -1 else start + op.num_axes
    if not 0 <= start <= end <= len(shape) or op.num_axes < -1:
        fail(op, f"axis {op.axis} and num_axes {op.num_axes} are outside a tensor of rank {len(shape)}")
    if wanted.count(-1) > 1 or min(wanted, default=0) < -1:
        fail(op, f"{list(wanted)} is no shape to reshape to: one size may be -1, others must not be negative")
    middle = []
    for place, size in enumerate(wanted):
        if size == 0 and start + place >= len(shape):
            fail(op, f"size {place} is to be kept, and {list(shape)} does not have it")
        middle.append(shape[start + place] if size == 0 else size)
    total = math.prod(shape)
    known = math.prod([*shape[:start], *(size for size in middle if size != -1), *shape[end:]])
    if -1 in middle:
        if not known or total % known:
            fail(op, f"the {total} elements of {list(shape)} cannot be split into {list(wanted)}")
        middle[middle.index(-1)] = total // known
    found = (*shape[:start], *middle, *shape[end:])
    if math.prod(found) != total:
        fail(op, f"{list(shape)} has {total} elements, {list(found)} {math.prod(found)}")
    return found


def slices(op: Any, shape: Shape, count: int) -> tuple[int, tuple[int, ...]]:
    """Of Slice: the axis, and the sizes of the pieces."""
    given = op.attributes if isinstance(op, Op) else {}
    axis = axis_of(op, op.slice_dim if "slice_dim" in given and "axis" not in given else op.axis, len(shape))
    size = shape[axis]
    points = tuple(op.slice_point or ())
    if points:
        edges = (0, *points, size)
        if len(points) != count - 1 or any(b <= a for a, b in pairwise(edges)):
            fail(op, f"slice points {list(points)} do not cut {size} into {count} pieces")
        return axis, tuple(b - a for a, b in pairwise(edges))
    if not count or size % count:
        fail(op, f"{size} cannot be cut into {count} equal pieces")
    return axis, (size // count,) * count


def upsampled(op: Any, shape: Shape) -> Shape:
    """The spatial sizes that Upsample gives."""
    if len(shape) != 4:
        fail(op, f"works on images, of rank 4, and is given {list(shape)}")
    height, width = op.upsample_h, op.upsample_w
    scale_h = op.scale if op.scale_h is None else op.scale_h
    scale_w = op.scale if op.scale_w is None else op.scale_w
    found = (
        height or shape[2] * scale_h - int(op.pad_out_h), width or shape[3] * scale_w - int(op.pad_out_w))
    if min(found) < 1 or max(found) > 1 << 24:
        fail(op, f"sizes {found} cannot be made")
    return found


MOST_PRIORS = 1 << 22
_MOST_RATIOS = 1 << 12


def prior_counts(op: Any) -> tuple[list[float], int]:
    """The aspect ratios of PriorBox, 1 first, and how many boxes it makes around a pixel."""
    if len(op.aspect_ratio or ()) > _MOST_RATIOS:
        fail(op, f"has {len(op.aspect_ratio):,} aspect ratios, more than {_MOST_RATIOS:,}")
    ratios, ordered = [1.0], [1.0]
    for ratio in op.aspect_ratio or ():
        if not (ratio > 0 and math.isfinite(ratio) and math.isfinite(1 / ratio)):
            fail(op, f"aspect ratio {ratio}: it must be positive and finite")
        place = bisect(ordered, ratio)
        if any(abs(ratio - other) < 1e-6 for other in ordered[max(place - 1, 0) : place + 1]):
            continue
        for new in (ratio, 1.0 / ratio) if op.flip else (ratio,):
            ratios.append(new)
            insort(ordered, new)
    n_min, n_max = len(op.min_size or ()), len(op.max_size or ())
    if not n_min or n_max not in (0, n_min):
        fail(op, f"{n_min} of min_size and {n_max} of max_size: there must be as many, or none, of the latter")
    for least, most in zip(op.min_size, op.max_size or op.min_size, strict=True):
        if not 0 < least <= most < math.inf:
            fail(op, f"min_size {least} and max_size {most}: sizes must be positive, and max_size is not below min_size")
    return ratios, len(ratios) * n_min + n_max


def boxes_kept(op: Any, n_priors: int) -> int:
    """How many boxes of an image DetectionOutput keeps at most: `keep_top_k`, or, without it, `top_k` of each class."""
    kept, top = op.keep_top_k, op.attribute("top_k") or -1
    if kept == -1 and top > 0:
        classes = op.num_classes or 0
        labels = classes - (0 <= op.background_label_id < classes)
        kept = max(labels, 1) * min(top, n_priors)
    elif kept == -1:
        fail(op, "neither keep_top_k nor nms_param's top_k says how many boxes to keep, and shapes are static here",
             "say one of them")
    if not 0 < kept < 1 << 20:
        fail(op, f"keeps {kept:,} boxes: keep_top_k says how many, from 1 to {(1 << 20) - 1:,}")
    return int(kept)
