"""Reading images between their pixels: grids, regions, moved windows. What lies outside is among it."""

from __future__ import annotations

from .spec import Cases, t

__all__ = ["fill"]


def fill(cases: Cases) -> None:
    """Add the cases of this family."""
    for mode in (0, 1):
        for padding in (0, 1, 2):
            for align in (False, True):
                cases.add("grid_sampler_3d.default", t(1, 2, 3, 4, 5), t(1, 2, 3, 2, 3, lo=-1.3, hi=1.3), mode, padding, align)
    cases.add("grid_sampler_2d.default", t(1, 1, 60, 70, d="f16"), t(1, 5, 6, 2, d="f16", lo=-1, hi=1), 1, 0, False)
    boxes = (0.0, 1.0, 1.5, 6.0, 5.0, 1.0, -3.0, -4.5, 5.0, 5.0, 0.0, 5.0, 5.0, 19.0, 21.0, 1.0, 4.0, 4.0, 4.5, 4.2,
             1.0, 7.0, 8.0, 7.0, 8.0)
    for bins in ((1, 1), (2, 3), (7, 7)):
        for ratio in (1, 2, 3):
            for aligned in (False, True):
                rois = t(5, 5, values=boxes)
                cases.add("torchvision.roi_align.default", t(2, 3, 9, 8), rois, 0.7, *bins, ratio, aligned)
    for aligned in (False, True):  # as many samples as a region is large: of constant regions alone
        rois = t(5, 5, values=boxes, constant=True)
        cases.add("torchvision.roi_align.default", t(2, 3, 9, 8), rois, 1.0, 2, 3, 0, aligned)
    cases.add("torchvision.roi_align.default", t(2, 3, 9, 8, d="f16"), t(5, 5, d="f16", values=boxes), 0.5, 2, 2, 2, True)
    for kernel, stride, padding, dilation in (((3, 3), (1, 1), (1, 1), (1, 1)), ((1, 2), (2, 1), (0, 1), (1, 2)),
                                              ((2, 3), (2, 2), (2, 0), (1, 1))):
        rows, columns = ((size + 2 * p - d * (k - 1) - 1) // s + 1
                         for size, k, s, p, d in zip((7, 6), kernel, stride, padding, dilation, strict=True))
        for groups, apart in ((1, 1), (2, 1), (1, 2), (2, 4)):
            for masked in (False, True):
                many = apart * kernel[0] * kernel[1]
                cases.add("torchvision.deform_conv2d.default", t(2, 4, 7, 6), t(6, 4 // groups, *kernel),
                          t(2, 2 * many, rows, columns, lo=-3, hi=3), t(2, many if masked else 0, rows, columns, lo=0, hi=1),
                          t(6), *stride, *padding, *dilation, groups, apart, masked)
