"""Convolutions, products, and what moves elements, of the hub as calls of MIL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import FloatType, Value
from transload.ir.build import constant_of

from .calculations import activated, reshaped, scalar, tiled
from .emitters import emits, need_channels_second
from .program import Argument, Program


def _interleaved(pads: Sequence[int]) -> list[int]:
    """Paddings of the hub, all begins before all ends, as MIL has them: begin and end of each dimension."""
    if min(pads, default=0) < 0:
        raise Unsupported("its padding takes elements away, which Core ML has no word for")
    n = len(pads) // 2
    return [size for pair in zip(pads[:n], pads[n:], strict=True) for size in pair]


def _window(op: Any, *, dilations: bool = True) -> dict[str, Any]:
    need_channels_second(op)
    if not 1 <= len(op.kernel_shape) <= 3:
        raise Unsupported(f"Core ML has windows of one to three dimensions, not of {len(op.kernel_shape)}")
    window: dict[str, Any] = {"strides": list(op.strides), "pad_type": "custom", "pad": _interleaved(op.pads)}
    return {**window, "dilations": list(op.dilations)} if dilations else window


def _need_floats(op: Any, does: str = "multiplies") -> None:
    if not isinstance(op.input.element, FloatType):
        raise Unsupported(f"Core ML {does} floats here, not integers", "quantized models go to it with floats between casts")


@emits("Conv", "Deconv")
def convolution(op: Any, p: Program) -> Argument:
    _need_floats(op)
    bias = p.of(op.bias) if op.bias is not None else None
    beside = bias if isinstance(bias, np.ndarray) else None
    more: dict[str, Any] = {"groups": op.group}
    if op.name == "top.Deconv":
        more["output_shape"] = list(op.result.static_shape)
    y = p("conv" if op.name == "top.Conv" else "conv_transpose", x=p.of(op.input), weight=p.of(op.filter), bias=beside,
          **_window(op), **more)
    if bias is not None and beside is None:
        y = p("add", x=y, y=p("reshape", x=bias, shape=[-1, *(1,) * len(op.kernel_shape)]))
    return activated(op, p, y)


@emits("AvgPool")
def avg_pool(op: Any, p: Program) -> Argument:
    return activated(op, p, p(
        "avg_pool", x=p.of(op.input), kernel_sizes=list(op.kernel_shape),
        exclude_padding_from_average=not op.count_include_pad, **_window(op, dilations=False)))


@emits("MaxPool")
def max_pool(op: Any, p: Program) -> Argument:
    _need_floats(op, "pools")
    if any(size != 1 for size in op.dilations):
        raise Unsupported("its window is dilated, which Core ML's pooling is not")
    return activated(op, p, p("max_pool", x=p.of(op.input), kernel_sizes=list(op.kernel_shape), **_window(op, dilations=False)))


@emits("MatMul")
def matmul(op: Any, p: Program) -> Argument:
    """A vector is a matrix of one row or column: coremltools gives a vector beside a batch another shape than Core ML has."""
    _need_floats(op)
    sides = []
    for value, shape in ((op.input, (1, -1)), (op.right, (-1, 1))):
        side = p.of(value)
        sides.append(p("reshape", x=side, shape=list(shape)) if value.rank == 1 else side)
    y = p("matmul", x=sides[0], y=sides[1], transpose_x=bool(op.left_transpose) and op.input.rank > 1,
          transpose_y=bool(op.right_transpose) and op.right.rank > 1)
    if 1 in (op.input.rank, op.right.rank):
        y = reshaped(p, y, op.results[0].static_shape)
    return activated(op, p, y if op.bias is None else p("add", x=y, y=p.of(op.bias)))


# --- shapes


@emits("Reshape", "Squeeze", "Unsqueeze")
def reshape(op: Any, p: Program) -> Argument:
    return reshaped(p, p.of(op.operands[0]), op.results[0].static_shape)


@emits("Permute")
def permute(op: Any, p: Program) -> Argument:
    return p("transpose", x=p.of(op.input), perm=[axis % len(op.order) for axis in op.order])


@emits("Expand", "Tile")
def tile(op: Any, p: Program) -> Argument:
    return tiled(p, op.operands[0], op.results[0].static_shape)


@emits("Concat")
def concat(op: Any, p: Program) -> Argument:
    return activated(op, p, p("concat", values=[p.of(value) for value in op.inputs], axis=op.axis % op.output.rank))


@emits("Pack")
def pack(op: Any, p: Program) -> Argument:
    return p("stack", values=[p.of(value) for value in op.inputs], axis=op.axis % op.output.rank)


@emits("Split")
def split(op: Any, p: Program) -> list[Argument]:
    if len(op.results) == 1:
        return [p("identity", x=p.of(op.input))]
    made: list[Argument] = p(
        "split", len(op.results), x=p.of(op.input), split_sizes=list(op.split_size), axis=op.axis % op.input.rank)
    return made


@emits("Unpack")
def unpack(op: Any, p: Program) -> list[Argument]:
    x, axis = p.of(op.input), op.axis % op.input.rank
    parts = [x] if len(op.results) == 1 else p("split", len(op.results), x=x, num_splits=len(op.results), axis=axis)
    return [p("squeeze", x=part, axes=[axis]) for part in parts]


@emits("Slice")
def slice_(op: Any, p: Program) -> Argument:
    """Ends before the first element, of slices that go down, are said by a mask."""
    masks = [step < 0 and end < 0 for end, step in zip(op.ends, op.steps, strict=True)]
    ends = [0 if mask else end for end, mask in zip(op.ends, masks, strict=True)]
    return p("slice_by_index", x=p.of(op.input), begin=list(op.offset), end=ends, stride=list(op.steps), end_mask=masks)


@emits("Pad")
def pad(op: Any, p: Program) -> Argument:
    _need_floats(op, "pads")
    modes = {"constant": "constant", "reflect": "reflect", "edge": "replicate"}
    if op.mode not in modes:
        raise Unsupported(f"Core ML does not pad by {op.mode}")
    value = constant_of(op.value) if op.value is not None else None
    if op.value is not None and value is None:
        raise Unsupported("what it pads with is computed at run time")
    number = float(value.numpy().reshape(-1)[0]) if value is not None else op.val
    pads = _interleaved(op.paddings)
    if op.mode != "constant":  # along the last two dimensions alone
        pads = pads[-4:] if not any(pads[:-4]) else pads
    return p("pad", x=p.of(op.input), pad=pads, mode=modes[op.mode],
             constant_val=scalar(number, op.input) if op.mode == "constant" else None)


@emits("Reverse")
def reverse(op: Any, p: Program) -> Argument:
    return p("reverse", x=p.of(op.input), axes=[axis % op.input.rank for axis in op.axes])


@emits("ReverseSequence")
def reverse_sequence(op: Any, p: Program) -> Argument:
    rank = op.input.rank
    return p("reverse_sequence", x=p.of(op.input), lengths=p.of(op.lengths), seq_axis=op.seq_axis % rank,
             batch_axis=op.batch_axis % rank)


@emits("Depth2Space")
def depth_to_space(op: Any, p: Program) -> Argument:
    need_channels_second(op)
    if op.block_h != op.block_w:
        raise Unsupported("its blocks are not square, and Core ML's are")
    x = p.of(op.input)
    if op.is_CRD:
        if op.is_inversed:
            return p("pixel_unshuffle", x=x, downscale_factor=np.uint32(op.block_h).reshape(()))
        return p("pixel_shuffle", x=x, upscale_factor=op.block_h)
    return p("space_to_depth" if op.is_inversed else "depth_to_space", x=x, block_size=op.block_h)


@emits("SpaceToBatch", "BatchToSpace")
def blocks(op: Any, p: Program) -> Argument:
    """The hub's have channels last, MIL's second."""
    if len(op.block_shape) != 2:
        raise Unsupported(f"Core ML has blocks of two dimensions, not of {len(op.block_shape)}")
    x = p("transpose", x=p.of(op.input), perm=[0, 3, 1, 2])
    cut = op.pads if op.name == "top.SpaceToBatch" else op.crops
    pairs = np.array(_interleaved(cut), np.int32).reshape(2, 2)
    y = (p("space_to_batch", x=x, block_shape=list(op.block_shape), paddings=pairs) if op.name == "top.SpaceToBatch"
         else p("batch_to_space", x=x, block_shape=list(op.block_shape), crops=pairs))
    return p("transpose", x=y, perm=[0, 2, 3, 1])


# --- positions


def _positions(op: Any, p: Program, size: int) -> Argument:
    """Positions of which none is negative: those count from the end."""
    found = p.of(op.indices)
    if isinstance(found, np.ndarray):
        return np.where(found < 0, found + size, found).astype(np.int32)
    below = p("less", x=found, y=np.int32(0).reshape(()))
    return p("select", cond=below, a=p("add", x=found, y=np.int32(size).reshape(())), b=found)


@emits("Gather")
def gather(op: Any, p: Program) -> Argument:
    axis = op.axis % op.input.rank
    size = op.input.static_shape[axis]
    return p("gather", x=p.of(op.input), indices=_positions(op, p, size), axis=axis, batch_dims=op.batch_dims,
             validate_indices=False)


@emits("GatherElements")
def gather_elements(op: Any, p: Program) -> Argument:
    axis = op.axis % op.input.rank
    size = op.input.static_shape[axis]
    return p("gather_along_axis", x=p.of(op.input), indices=_positions(op, p, size), axis=axis, validate_indices=False)


@emits("GatherND")
def gather_nd(op: Any, p: Program) -> Argument:
    found = p.of(op.indices)
    if not isinstance(found, np.ndarray):
        raise Unsupported("its positions are computed at run time, and negative ones count from the end")
    sizes = np.array(op.input.static_shape[op.batch_dims : op.batch_dims + found.shape[-1]], np.int32)
    return p("gather_nd", x=p.of(op.input), indices=np.where(found < 0, found + sizes, found).astype(np.int32),
             batch_dims=op.batch_dims, validate_indices=False)


_UPDATES = {"none": "update", "add": "add", "mul": "mul", "min": "min", "max": "max"}


@emits("ScatterND")
def scatter_nd(op: Any, p: Program) -> Argument:
    found = p.of(op.indices)
    if not isinstance(found, np.ndarray):
        raise Unsupported("its positions are computed at run time, and negative ones count from the end")
    sizes = np.array(op.input.static_shape[: found.shape[-1]], np.int32)
    return p("scatter_nd", data=p.of(op.input), indices=np.where(found < 0, found + sizes, found).astype(np.int32),
             updates=p.of(op.updates), mode=_UPDATES[str(op.reduction)], validate_indices=False)


@emits("TopK")
def topk(op: Any, p: Program) -> list[Argument]:
    made: list[Argument] = p("topk", 2, x=p.of(op.input), k=op.k, axis=op.axis % op.input.rank, ascending=not op.largest,
                             sort=bool(op.sorted))
    return made


@emits("OneHot")
def one_hot(op: Any, p: Program) -> Argument:
    ends = [_number(value) for value in (op.on_value, op.off_value)]
    return p("one_hot", indices=_positions(op, p, op.depth), one_hot_vector_size=op.depth,
             axis=op.axis % op.output.rank, on_value=scalar(ends[0], op.on_value), off_value=scalar(ends[1], op.on_value))


def _number(value: Value) -> float:
    held = constant_of(value)
    if held is None:
        raise Unsupported("its numbers are computed at run time")
    return float(held.numpy().reshape(-1)[0])


# --- images

_SAMPLING = {"half_pixel": "UNALIGN_CORNERS", "asymmetric": "DEFAULT", "align_corners": "STRICT_ALIGN_CORNERS"}


@emits("Upsample")
def upsample(op: Any, p: Program) -> Argument:
    need_channels_second(op)
    return activated(op, p, _enlarged(op, p, op.scale_h, op.scale_w))


def _enlarged(op: Any, p: Program, rows: int, columns: int) -> Argument:
    """Each pixel so many times."""
    return p("upsample_nearest_neighbor", x=p.of(op.input), scale_factor_height=np.float32(rows).reshape(()),
             scale_factor_width=np.float32(columns).reshape(()))


@emits("Interp")
def interp(op: Any, p: Program) -> Argument:
    """Linear, of two dimensions; the nearest pixel where sizes grow by a whole factor, whatever is near there."""
    need_channels_second(op)
    before, after = op.input.static_shape[2:], op.result.static_shape[2:]
    factors = [new // old for new, old in zip(after, before, strict=True)]
    whole = all(new == old * factor for new, old, factor in zip(after, before, factors, strict=True))
    ratios = [new / old for new, old in zip(after, before, strict=True)]
    own = op.scales is not None and str(op.coord_mode) != "align_corners" and not np.allclose(op.scales, ratios, 1e-6, 0)
    if len(before) != 2 or op.antialias or op.exclude_outside or own:
        raise Unsupported("Core ML resizes two dimensions, by their sizes, without smoothing")
    if str(op.mode) == "nearest" and whole and (str(op.coord_mode), str(op.nearest_mode)) in (
            ("asymmetric", "floor"), ("half_pixel", "round_prefer_floor"), ("half_pixel", "round_prefer_ceil")):
        return _enlarged(op, p, *factors)
    if str(op.mode) != "linear" or str(op.coord_mode) not in _SAMPLING:
        raise Unsupported(f"Core ML does not resize by {op.mode} pixels with coordinates {op.coord_mode}")
    return p("resize", x=p.of(op.input), shape=np.array(after, np.int32), resized_dims=np.array(len(after), np.uint32),
             interpolation_mode="LINEAR", sampling_mode=_SAMPLING[str(op.coord_mode)])
