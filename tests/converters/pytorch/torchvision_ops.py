"""torchvision's operator `nms`, in Python, where torchvision itself is not there (it is built for one version of torch)."""

from __future__ import annotations

import torch

_LIBRARY: list[torch.library.Library] = []


def declare() -> None:
    """Declare `torchvision::nms`, once, where nobody has."""
    if _LIBRARY or hasattr(torch.ops.torchvision, "nms"):
        return
    library = torch.library.Library("torchvision", "FRAGMENT")
    library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    library.impl("nms", _nms, "CPU")
    torch.library.register_fake("torchvision::nms", _any_number, lib=library)
    _LIBRARY.append(library)


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
