"""Where OpenCV computes something else than Caffe: fields that it passes over, defaults of its own, and kernels that are wrong.

Found by running every layer that both know, with each of its fields, beside the definitions of the layers in numpy
(OpenCV 4.14). What OpenCV refuses is not here: it says so itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from transload.ir import Module, Op, TensorType
from transload_hub.far import looked_at

from .geometry import Windows, conv_windows

__all__ = ["undefined"]

COARSE_EPS = 1e-6
"""Up to which `eps` a deviation plus it is nearly what the root of the variance plus it is."""


def undefined(source: Module, hub: Module | None, inputs: Mapping[str, Any]) -> str:
    """Why OpenCV's results cannot be compared; nothing where they can."""
    found: dict[str, list[str]] = {}
    for op in source.walk():
        for why, holds in _PASSED_OVER.get(op.name.removeprefix("caffe."), {}).items():
            if holds(op):
                found.setdefault(why, []).append(str(op.location))
        if _pools_of_no_image(source, op, inputs):
            found.setdefault(_NO_IMAGE, []).append(str(op.location))
    detections = [str(op.location) for op in source.walk() if op.name == "caffe.DetectionOutput"]
    if detections and hub is not None and _are_tied(hub, inputs):
        found[_TIED] = detections
    return "; ".join(f"{', '.join(names[:3])}: {why}" for why, names in found.items())


_NO_IMAGE = (
    "regions whose first number is no image of the batch, for which OpenCV gives what it begins with: --input gives others")


def _pools_of_no_image(source: Module, op: Op, inputs: Mapping[str, Any]) -> bool:
    """Whether it pools regions that are an input, of images that there are not: numbers that are drawn are such."""
    shape = _shape(op) if op.name in ("caffe.ROIPooling", "caffe.PSROIPooling") and len(op.operands) == 2 else None
    places = source.body_of_main.arguments
    if shape is None or op.operands[1] not in places:
        return False
    regions = np.asarray([*inputs.values()][places.index(op.operands[1])], np.float64).reshape(-1, 5)
    return not ((regions[:, 0] >= 0) & (regions[:, 0] < shape[0]) & (regions[:, 0] % 1 == 0)).all()


_TIED = "scores that are next to equal, of which OpenCV sorts any first"
_NEAR = 1e-6
"""How near two scores are, beside their size, for roundings to exchange them."""


def _are_tied(hub: Module, inputs: Mapping[str, Any]) -> bool:
    """Whether scores are sorted of which two that are above 0 are next to equal."""
    sorts = [op for op in hub.walk() if op.name == "top.TopK" and op.operands[0].is_float and op.attribute("largest", True)]

    def tied(op: Op, operands: Sequence[Any]) -> bool:
        scores = np.sort(np.moveaxis(np.asarray(operands[0], np.float64), op.attribute("axis", -1), -1))
        return bool(((np.diff(scores) <= _NEAR * scores[..., :-1]) & (scores[..., :-1] > 0)).any())

    return any(looked_at(hub, inputs, sorts, tied).values())


def _windows(op: Any) -> Windows | None:
    """The windows of a convolution, None where its input's shape is not known."""
    shape = _shape(op)
    return None if shape is None else conv_windows(op, shape)[1]


def _shape(op: Op) -> tuple[int, ...] | None:
    type_ = op.operands[0].type
    return type_.static_shape if isinstance(type_, TensorType) and type_.is_static else None


def _dilated(op: Any) -> bool:
    windows = _windows(op)
    return windows is not None and max(windows.dilation) > 1


def _padded_pixel(op: Any) -> bool:
    windows = _windows(op)
    return windows is not None and max(windows.pad) > 0 and {*windows.kernel, *windows.stride} == {1}


def _resized_otherwise(op: Any) -> bool:
    factors = [factor for factor in (op.zoom_factor, op.shrink_factor) if factor != 1]
    return bool(op.pad_beg or op.pad_end) or len(factors) + bool(op.height and op.width) > 1


def _added_to(op: Any) -> bool:
    """Whether a Scale by a bottom has a bias, too."""
    factor = op.operands[1].op
    return bool(op.bias_term) and (factor is None or factor.name != "caffe.Blob")


_PASSED_OVER: dict[str, dict[str, Callable[[Any], bool]]] = {
    "Concat": {
        "a Concat by `concat_dim`, which OpenCV does not have: `axis` says the same":
            lambda op: "concat_dim" in op.attributes and op.concat_dim != 1,
        "a Concat of one tensor along its samples, for which OpenCV gives what its memory held":
            lambda op: len(op.operands) == 1 and op.axis == 0,
    },
    "Deconvolution": {
        "a Deconvolution with `dilation`, which OpenCV passes over": _dilated,
        "a Deconvolution of single pixels with padding, which OpenCV does not take away, and writes beyond its memory":
            _padded_pixel,
    },
    "InnerProduct": {
        "an inner product with `transpose`, which OpenCV does not have: it takes the weights as if they were not transposed; "
        "`transpose: false` with the weights turned computes the same": lambda op: op.transpose,
    },
    "Interp": {
        "an Interp of which OpenCV takes `height` and `width` or one factor alone, and no padding": _resized_otherwise,
    },
    "LRN": {
        "an LRN with `k`, which OpenCV passes over: it takes 1":
            lambda op: op.k != 1 and op.norm_region == "ACROSS_CHANNELS",
        "an LRN that does not say `alpha`, which is 1 in Caffe and another number in OpenCV":
            lambda op: "alpha" not in op.attributes,
    },
    "Log": {
        "a Log, whose `base`, `scale` and `shift` OpenCV passes over": lambda op: (op.base, op.scale, op.shift) != (-1, 1, 0),
    },
    "MVN": {
        "an MVN with `eps`, which OpenCV adds to the variance, and Caffe to its root":
            lambda op: op.normalize_variance and op.eps > COARSE_EPS,
    },
    "PriorBox": {
        "a PriorBox that does not say `clip`, which OpenCV takes for true": lambda op: "clip" not in op.attributes,
        "a PriorBox with `img_size`, `img_h` or `img_w`, which OpenCV passes over":
            lambda op: bool({"img_size", "img_h", "img_w"} & set(op.attributes)),
    },
    "Proposal": {
        "a Proposal with `min_size`, 16 where nothing is said, which OpenCV passes over: `min_size: 0` takes all boxes":
            lambda op: op.min_size > 0,
    },
    "ReLU6": {"a ReLU6 with `threshold`, which OpenCV passes over: it takes 6": lambda op: op.threshold != 6},
    "Reorg": {"a Reorg with `reverse`, which OpenCV passes over": lambda op: op.reverse},
    "Scale": {"a Scale by another layer's tensor with a bias, which OpenCV passes over": _added_to},
    "Softmax": {
        "a Softmax along the last dimension of a vector, which is a column in OpenCV":
            lambda op: op.axis == -1 and len(_shape(op) or ()) == 1,
    },
    "Swish": {"a Swish with `beta`, which OpenCV passes over: it takes 1": lambda op: op.beta != 1},
}
"""By the type of the layer: what differs, and of which layers."""
