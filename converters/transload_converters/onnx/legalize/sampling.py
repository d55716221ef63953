"""Reading a tensor between its elements or by regions, and putting patches back: GridSample, RoiAlign, MaxRoiPool, Col2Im.."""

from __future__ import annotations

from transload.errors import Unsupported
from transload.ir import F32, I32, Op, Value
from transload.rewrite import Rewriter
from transload_hub.build import Window
from transload_hub.regions import greatest_of_bins
from transload_hub.sampling import affine_grid, columns_to_image, deformed, grid_sampled, regions_aligned

from .convolution import read_window
from .movement import slice_along
from .table import OnnxTable, attr, cast, choice, constant_ints, flag, need, need_attr, operand, opset, shape_of

__all__ = ["TABLE"]

TABLE = OnnxTable()


@TABLE("onnx.AffineGrid")
def affine_grid_of_a_size(op: Op, rw: Rewriter) -> Value:
    """AffineGrid, of a constant size [N, C, H, W] or [N, C, D, H, W].

    ONNX's definition by other operators takes a batch of one matrix apart as if there were none. A pixel that is alone in its
    dimension lies at -1, as there and in ONNX's reference, where corners are aligned; onnxruntime puts it at 1.
    """
    size, align = constant_ints(rw, need(op, 1), "the size"), flag(op, "align_corners")
    batch, rows, columns = shape_of(need(op, 0), rank=3)
    if len(size) not in (4, 5) or (batch, rows, columns) != (size[0], len(size) - 2, len(size) - 1):
        raise Unsupported(f"moves places of size {list(size)} by matrices of shape {[batch, rows, columns]}")
    return affine_grid(rw, need(op, 0), size[2:], bool(align), alone=-1.0)


@TABLE("onnx.GridSample")
def grid_sample(op: Op, rw: Rewriter) -> Value:
    """GridSample of [N, C, sizes..], by the nearest element, between neighbours, or (images) cubically among 16."""
    mode = attr(op, "mode", "linear")
    if not (need(op, 0).is_float and need(op, 1).is_float):
        raise Unsupported(f"reads {need(op, 0).element} at places of {need(op, 1).element}: there floats alone are between")
    return grid_sampled(rw, need(op, 0), need(op, 1), {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode),
                        attr(op, "padding_mode", "zeros"), flag(op, "align_corners", 0))


@TABLE("onnx.DeformConv")
def deform_conv(op: Op, rw: Rewriter) -> Value:
    """DeformConv of images: each element of each window is read where its offset says."""
    value, weights, offset, mask = need(op, 0), need(op, 1), need(op, 2), operand(op, 4)
    window = read_window(op, shape_of(value, 4)[2:], shape_of(weights, 4)[2:])
    shape_of(offset, 4)
    return deformed(rw, value, weights, operand(op, 3), offset, mask, window, attr(op, "offset_group", 1), attr(op, "group", 1))


@TABLE("onnx.RoiAlign")
def roi_align(op: Op, rw: Rewriter) -> Value:
    """RoiAlign: each bin of each region is the mean (or greatest) of what is read at points that lie evenly in it.

    How many points: `sampling_ratio`; where that is 0 it goes by the size of each region, and these must be constants.
    """
    value, regions, batches = need(op, 0), need(op, 1), need(op, 2)
    count = shape_of(regions, 2)[0]
    bins = attr(op, "output_height", 1), attr(op, "output_width", 1)
    mode = attr(op, "mode", "avg")
    usual = "half_pixel" if opset(op) >= 16 else "output_half_pixel"
    half = choice(op, "coordinate_transformation_mode", ("half_pixel", "output_half_pixel"), usual) == "half_pixel"
    if shape_of(regions)[1] != 4 or min(bins) < 1 or mode not in ("avg", "max") or shape_of(batches) != (count,):
        raise Unsupported(f"pools {mode!r} of regions {shape_of(regions)} in batches {shape_of(batches)} into {bins} bins")
    shape_of(value, 4)
    scaled = rw.emit("top.MulConst", cast(rw, regions, F32), const_val=float(attr(op, "spatial_scale", 1.0)))
    scaled = rw.emit("top.AddConst", scaled, const_val=-0.5) if half else scaled
    pooled = regions_aligned(rw, cast(rw, value, F32), scaled, batches, bins, attr(op, "sampling_ratio", 0), mode=mode, half=half)
    return cast(rw, pooled, value.element)


@TABLE("onnx.MaxRoiPool")
def max_roi_pool(op: Op, rw: Rewriter) -> Value:
    """MaxRoiPool: the greatest element of each bin of regions, rows of which image and which corners, in pixels."""
    value, regions, bins = need(op, 0), need(op, 1), tuple(need_attr(op, "pooled_shape"))
    if shape_of(regions, 2)[1] != 5 or len(bins) != 2:
        raise Unsupported(f"pools regions of the shape {list(shape_of(regions))} into {list(bins)} bins")
    shape_of(value, 4)
    image, *edges = (slice_along(rw, regions, 1, i, i + 1) for i in range(5))
    scale = float(attr(op, "spatial_scale", 1.0))
    corners = [rw.emit("top.MulConst", cast(rw, edge, F32), const_val=scale) for edge in edges]
    return greatest_of_bins(rw, value, corners, cast(rw, image, I32), bins)


@TABLE("onnx.Col2Im")
def col2im(op: Op, rw: Rewriter) -> Value:
    """Col2Im: patches put back into an image, added up where they overlap."""
    value = need(op, 0)
    image = constant_ints(rw, need(op, 1), "the image's shape")
    block = constant_ints(rw, need(op, 2), "the block's shape")
    n = len(image)
    strides = tuple(attr(op, "strides") or (1,) * n)
    dilations = tuple(attr(op, "dilations") or (1,) * n)
    pads = tuple(attr(op, "pads") or (0,) * 2 * n)
    shape_of(value, 3)
    fits = n and len(block) == len(strides) == len(dilations) == n and len(pads) == 2 * n
    if not fits or min(*block, *strides, *dilations) < 1:
        raise Unsupported(f"blocks {block} of images {image} do not fit a tensor of shape {shape_of(value)}")
    return columns_to_image(rw, value, image, Window(block, strides, pads, dilations))
