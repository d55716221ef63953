"""Resizing of images."""

from __future__ import annotations

from .spec import axes, cases, each, x, y

WAYS = ({}, {"align_corners": True}, {"half_pixel_centers": True})
SIZES = each(axes(8, 10), axes(7, 7), axes(2, 3), axes(4, 5), axes(1, 1), axes(12, 5))
BOTH = "RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR"

CASES = [
    *cases(BOTH, x(2, 4, 5, 3), SIZES, ways=WAYS, formats="f32 i8t u8 i16t", result=x()),
    *cases(BOTH, x(1, 4, 4, 1).sized(2, 4, 4, 1), axes(8, 8), ways=WAYS, formats="f32 i8t", result=x()),
    *cases(BOTH, x(2, 4, 5, 3), axes(7, 7), ways=WAYS, formats="i8t u8 i16t", result=y()),
    *cases("RESIZE_NEAREST_NEIGHBOR", x(2, 4, 5, 3), axes(8, 10), ways=WAYS, formats="i32 bool", result=x()),
    *cases("RESIZE_NEAREST_NEIGHBOR", x(2, 4, 5, 3), SIZES, ways=({"align_corners": True, "half_pixel_centers": True},),
           formats="f32 i8t", result=x()),
    *cases(BOTH, x(1, 1, 6, 2), axes(3, 9), ways=WAYS, formats="f32 i8t", result=x()),
]
