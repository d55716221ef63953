"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""

from __future__ import annotations

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter, RewriteTable

from .common import constant_ints, emit_like, layout
from .storage import moves_stored

TABLE = RewriteTable()


@TABLE("tfl.resize_bilinear", "tfl.resize_nearest_neighbor")
@moves_stored
def resize(op: Op, rw: Rewriter) -> Value:
    """RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR: by the corners, by the centres, or by the upper left edges of pixels."""
    sizes = constant_ints(rw, op.operands[1], "the size to resize to")
    corners, centres = op.attribute("align_corners"), op.attribute("half_pixel_centers")
    if corners and centres:
        raise Unsupported("align_corners and half_pixel_centers exclude each other")
    if op.name == "tfl.resize_bilinear":
        coordinates = "align_corners" if corners else "half_pixel" if centres else "asymmetric"
        return emit_like(rw, op, "top.Interp", op.operands[0], sizes=sizes, mode="linear", coord_mode=coordinates, layout=layout)
    coordinates = "align_corners" if corners else "tf_half_pixel_for_nn" if centres else "asymmetric"
    return emit_like(
        rw, op, "top.Interp", op.operands[0], sizes=sizes, mode="nearest", coord_mode=coordinates,
        nearest_mode="round_prefer_ceil" if corners else "floor", layout=layout)
