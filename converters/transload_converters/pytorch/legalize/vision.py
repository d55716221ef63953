"""torchvision's operators: what follows the boxes of a detector."""

from __future__ import annotations

from transload.errors import Unsupported
from transload.ir import F32, I64, Value
from transload.rewrite import Rewriter
from transload_hub.build import Window
from transload_hub.sampling import deformed, regions_aligned
from transload_hub.suppression import race

from .movement import slice_along
from .table import AtenTable, Call, cast, reshape, shape_of, wide

TABLE = AtenTable()


@TABLE("torchvision.nms.default")
def nms(call: Call, rw: Rewriter) -> Value:
    """The boxes that are kept, the best first; as there must be so many as there are boxes, the best one again behind them.

    Who writes at these places, or takes the first of them, gets what PyTorch gives.
    """
    boxes = shape_of(call.dets)[0]
    scores = reshape(rw, call.scores, (1, boxes))
    places, _, alive = race(rw, call.dets, scores, boxes, float(call.iou_threshold))
    best = slice_along(rw, places, 1, 0, 1)
    kept = rw.emit("top.Where", alive, places, best)
    rw.note("non-maximum suppression gives as many places as there are boxes: behind those that are kept, the best one again")
    return reshape(rw, cast(rw, kept, I64), (boxes,))


@TABLE("torchvision.roi_align.default")
def roi_align(call: Call, rw: Rewriter) -> Value:
    """Means of samples between pixels, in each cell of each region."""
    value, rois = wide(rw, call.input)[0], wide(rw, call.rois)[0]
    shape_of(value, 4)
    bins = (call.pooled_height, call.pooled_width)
    if shape_of(rois, 2)[1] != 5 or min(bins) < 1 or F32 not in (value.element, rois.element):
        raise Unsupported(f"pools regions {list(shape_of(rois))} of {rois.element} into {list(bins)} bins of {value.element}")
    scaled = rw.emit("top.MulConst", slice_along(rw, rois, 1, 1, 5), const_val=float(call.spatial_scale))
    scaled = rw.emit("top.AddConst", scaled, const_val=-0.5) if call.aligned else scaled
    batches = reshape(rw, slice_along(rw, rois, 1, 0, 1), (shape_of(rois)[0],))
    made = regions_aligned(rw, value, scaled, batches, bins, call.sampling_ratio, half=bool(call.aligned))
    return cast(rw, made, call.input.element)


@TABLE("torchvision.deform_conv2d.default")
def deform_conv2d(call: Call, rw: Rewriter) -> Value:
    """A convolution whose windows are read where offsets say, times a mask where `use_mask` says so."""
    for value in (call.input, call.weight, call.offset):
        shape_of(value, 4)
    window = Window(shape_of(call.weight)[2:], (call.stride_h, call.stride_w), (call.pad_h, call.pad_w) * 2,
                    (call.dilation_h, call.dilation_w))
    if min(*window.kernel, *window.strides, *window.dilations) < 1 or min(window.pads) < 0:
        raise Unsupported(f"moves windows {list(window.kernel)} by {list(window.strides)}, padded by {list(window.pads[:2])}")
    return deformed(rw, call.input, call.weight, call.bias, call.offset, call.mask if call.use_mask else None, window,
                    call.offset_groups, call.groups)


TABLE.refuse_all(
    "pools regions by their greatest pixel, or by their place, and is not converted", "use roi_align",
    "torchvision.roi_pool.default", "torchvision.ps_roi_align.default", "torchvision.ps_roi_pool.default")
