"""torchvision's operators in Python, where its C++ is not there: it is built for one version of torch, and often for CUDA.

`nms`, `roi_align` and `deform_conv2d` compute (they gave what torchvision's C++ gives, within 1e-5, on 800 random calls each);
of the others torchvision wants to know only that they exist, when it is imported.
"""

from __future__ import annotations

import importlib.util
import sys

import torch
from torch.nn import functional as F

__all__ = ["declare"]

_LIBRARY: list[torch.library.Library] = []
_ROI = "Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_COMPUTED = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    f"roi_align({_ROI}, int sampling_ratio, bool aligned) -> Tensor",
    "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, "
    "SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor")
_OTHERS = (
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    f"qroi_align({_ROI}, int sampling_ratio, bool aligned) -> Tensor",
    f"roi_pool({_ROI}) -> (Tensor, Tensor)",
    f"ps_roi_pool({_ROI}) -> (Tensor, Tensor)",
    f"ps_roi_align({_ROI}, int sampling_ratio) -> (Tensor, Tensor)",
    "_cuda_version() -> int",
    *(f"_{name}_backward(Tensor grad) -> Tensor"
      for name in ("roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool", "deform_conv2d")))


def declare() -> None:
    """Have `torchvision::nms` and `torchvision::roi_align`, once: torchvision's own, or those of this file."""
    if _LIBRARY or _imported():
        return
    library = torch.library.Library("torchvision", "FRAGMENT")
    _LIBRARY.append(library)
    for schema in (*_COMPUTED, *_OTHERS):
        library.define(schema)
    library.impl("nms", _nms, "CPU")
    library.impl("roi_align", _roi_align, "CPU")
    library.impl("deform_conv2d", _deform_conv2d, "CompositeImplicitAutograd")
    torch.library.register_fake("torchvision::roi_align", _pooled, lib=library)
    if not _imported():  # torchvision, where it is there, says itself of what shape this one's result is
        torch.library.register_fake("torchvision::nms", _any_number, lib=library)


def _imported() -> bool:
    """Whether torchvision is there, as Python at least, and its operators exist."""
    if importlib.util.find_spec("torchvision") is None:
        return False
    try:
        import torchvision  # noqa: F401
    except RuntimeError:  # an operator that its Python speaks of does not exist
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        return False
    return True


def _nms(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> torch.Tensor:
    """The boxes that are kept, the best first: each drops those that it overlaps by more than the threshold."""
    left = torch.argsort(scores, descending=True, stable=True).tolist()
    kept = []
    while left:
        best, *left = left
        kept.append(best)
        left = [each for each in left if _overlap(boxes[best], boxes[each]) <= threshold]
    return torch.tensor(kept, dtype=torch.int64)


def _overlap(a: torch.Tensor, b: torch.Tensor) -> float:
    sides = (torch.minimum(a[2:], b[2:]) - torch.maximum(a[:2], b[:2])).clamp(min=0)
    shared = sides.prod()
    return float(shared / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - shared))


def _any_number(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> torch.Tensor:
    count = torch.library.get_ctx().new_dynamic_size()
    return boxes.new_empty(count, dtype=torch.int64)


def _pooled(
    features: torch.Tensor, rois: torch.Tensor, scale: float, height: int, width: int, ratio: int, aligned: bool,
) -> torch.Tensor:
    return features.new_empty(rois.shape[0], features.shape[1], height, width)


def _roi_align(
    features: torch.Tensor, rois: torch.Tensor, scale: float, height: int, width: int, ratio: int, aligned: bool,
) -> torch.Tensor:
    """Each box in `height` x `width` bins: the mean of `ratio` x `ratio` places in a bin, each between four pixels.

    A ratio of 0 or less stands for as many places as a bin has pixels, begun ones too.
    """
    found = []
    for image, *corners in rois.tolist():
        left, top, right, bottom = (corner * scale - (0.5 if aligned else 0.0) for corner in corners)
        least = -torch.inf if aligned else 1.0
        sides = max(bottom - top, least), max(right - left, least)
        places = [_places(*each, ratio) for each in zip((top, left), sides, (height, width), strict=True)]
        sampled = _between(features[int(image)], *places)
        apart = sampled.reshape(len(sampled), height, len(places[0]) // height, width, len(places[1]) // width)
        found.append(apart.mean((2, 4)).nan_to_num(0.0))  # of a region without a height or width nothing is read
    return torch.stack(found).to(features.dtype) if found else _pooled(features, rois, scale, height, width, ratio, aligned)


def _places(start: float, side: float, bins: int, ratio: int) -> torch.Tensor:
    """Where samples are taken along one side of a box."""
    count = ratio if ratio > 0 else max(int(-(-side // bins)), 0)
    return start + (torch.arange(bins * count) + 0.5) * (side / bins / max(count, 1))


def _between(image: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """Bilinear samples of an image, [channels, rows, columns]; 0 from more than a pixel outside."""
    for axis, places in ((1, rows), (2, columns)):
        last = image.shape[axis] - 1
        inside = (places >= -1) & (places <= last + 1)
        held = places.clamp(0, last)
        low = held.floor().long()
        part = (held - low) * inside
        shape = [-1 if each == axis else 1 for each in range(3)]
        image = (image.index_select(axis, low) * (inside * 1.0 - part).view(shape)
                 + image.index_select(axis, (low + 1).clamp(max=last)) * part.view(shape))
    return image


def _deform_conv2d(
    image: torch.Tensor, weight: torch.Tensor, offset: torch.Tensor, mask: torch.Tensor, bias: torch.Tensor, stride_h: int,
    stride_w: int, pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool,
) -> torch.Tensor:
    """Each element of each window is read where its offset says; a convolution of what was read, element by element."""
    batch, channels, height, width = image.shape
    rows, columns = offset.shape[2:]
    of_groups = image.reshape(batch * offset_groups, channels // offset_groups, height, width)
    moved = offset.reshape(batch * offset_groups, -1, 2, rows, columns)
    total = bias.view(1, -1, 1, 1).expand(batch, -1, rows, columns)
    for element in range(moved.shape[1]):
        down, across = divmod(element, weight.shape[3])
        y = moved[:, element, 0] + (torch.arange(rows) * stride_h - pad_h + down * dilation_h)[:, None]
        x = moved[:, element, 1] + torch.arange(columns) * stride_w - pad_w + across * dilation_w
        grid = torch.stack([2 * x / (width - 1) - 1, 2 * y / (height - 1) - 1], dim=-1)
        read = F.grid_sample(of_groups, grid, align_corners=True)
        if use_mask:
            read = read * mask.reshape(batch * offset_groups, -1, 1, rows, columns)[:, element]
        filters = weight[:, :, down, across, None, None]
        total = total + F.conv2d(read.reshape(batch, channels, rows, columns), filters, groups=groups)
    return total
