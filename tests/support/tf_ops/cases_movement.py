"""Joining, cutting, padding, reordering, space and depth, patches."""

from __future__ import annotations

from .spec import cases, each, ints, scalar, values, x

_KINDS = "float32 int32 bool uint8"


def _masks(begin: int = 0, end: int = 0, ellipsis: int = 0, new: int = 0, shrink: int = 0) -> dict[str, int]:
    return {"begin_mask": begin, "end_mask": end, "ellipsis_mask": ellipsis, "new_axis_mask": new, "shrink_axis_mask": shrink}


_STRIDED = [
    ((ints(0, 1), ints(2, 3), ints(1, 1)), _masks()),
    ((ints(0, 1, 0), ints(2, 4, 5), ints(1, 2, 3)), _masks()),
    ((ints(-2, -1, 4), ints(5, -5, 0), ints(1, -1, -2)), _masks()),
    ((ints(1, 1, 1), ints(2, 3, 4), ints(1, 1, 1)), _masks(begin=5, end=2)),
    ((ints(1, 1), ints(2, 3), ints(1, 1)), _masks(begin=1, end=1)),
    ((ints(0, 1), ints(0, 3), ints(1, 1)), _masks(ellipsis=1)),
    ((ints(1, 0, 2), ints(2, 0, 4), ints(1, 1, 1)), _masks(ellipsis=2)),
    ((ints(0, 0, 1), ints(0, 2, 3), ints(1, 1, 1)), _masks(new=1)),
    ((ints(0, 0, 0, 1), ints(0, 2, 0, 3), ints(1, 1, 1, 1)), _masks(new=5)),
    ((ints(1, -1), ints(2, 0), ints(1, 1)), _masks(shrink=3)),
    ((ints(1, 0, 2), ints(2, 0, 3), ints(1, 1, 1)), _masks(ellipsis=2, shrink=5)),
    ((ints(0, 0, 0, 1), ints(0, 0, 0, 4), ints(1, 1, 1, 2)), _masks(ellipsis=1, new=2, shrink=4)),
    ((ints(0, 3, 0), ints(0, 0, 0), ints(1, -1, 1)), _masks(begin=7, end=7)),
    ((ints(0, 0, 0), ints(9, 9, 9), ints(2, 2, 2)), _masks()),
    ((ints(2, 2), ints(1, 1), ints(1, 1)), _masks()),
    ((ints(1, 1, dtype="int64"), ints(2, 3, dtype="int64"), ints(1, 1, dtype="int64")), _masks()),
]

CASES = [
    *cases("Pack", on=[(x(2, 3),), (x(2, 3), x(2, 3)), (x(2, 3),) * 3], axis=each(0, 1, -1), types="float32 int32"),
    *cases("Unpack", x(3, 2), num=3, axis=0, types=_KINDS),
    *cases("Unpack", x(3, 2, 4), ways=[{"num": 2, "axis": 1}, {"num": 4, "axis": -1}]),
    *cases("ConcatV2", on=[(x(2, 3), x(2, 1), scalar(1)), (x(2, 3), x(1, 3), scalar(0)), (x(2, 3), x(2, 3), x(2, 3), scalar(-1))],
           types=_KINDS),
    *cases("Concat", on=[(scalar(1), x(2, 3), x(2, 1)), (scalar(0), x(2, 3), x(1, 3))], types="float32 int32"),
    *cases("Split", on=[(scalar(0), x(4, 3)), (scalar(-2), x(2, 4, 3))], num_split=each(2, 4), types="float32 int32"),
    *cases("Split", scalar(0), x(4, 3), num_split=1),
    *cases("SplitV", on=[(x(6, 2), ints(1, 2, 3), scalar(0)), (x(2, 6), ints(2, -1, 1), scalar(1)),
                         (x(2, 6), ints(3, 2, 1, dtype="int64"), scalar(-1))], num_split=3, types="float32 int32"),
    *cases("Slice", on=[(x(3, 4), ints(0, 1), ints(2, 2)), (x(3, 4), ints(1, 0), ints(-1, -1)), (x(5), ints(2), ints(0)),
                        (x(3, 4), ints(1, 2, dtype="int64"), ints(1, 2, dtype="int64")), (x(6), values([2], "int32"), ints(3)),
                        (x(3, 4), values([1, 2], "int32"), ints(2, 2))], types="float32 int32"),
    *[case for given, masks in _STRIDED for case in cases("StridedSlice", x(3, 4, 5), *given, types="float32 int32 bool",
        **masks)],
    *cases("StridedSlice", x(4, 5), values([2], "int32"), values([3], "int32"), ints(1), shrink_axis_mask=1, note="moving"),
    *[case for (given, masks), back in zip(_STRIDED[:3], (x(2, 2, 5), x(2, 2, 2), x(2, 4, 2)), strict=True)
      for case in cases("StridedSliceGrad", ints(3, 4, 5), *given, back, **masks)],
    *cases("TensorStridedSliceUpdate", x(3, 4), ints(0, 1), ints(2, 3), ints(1, 1), x(2, 2)),
    *cases("TensorStridedSliceUpdate", x(3, 4), ints(0, 1), ints(3, 4), ints(2, 2), x(2, 2)),
    *cases("Pad", on=[(x(2, 3), values([[1, 2], [0, 1]], "int32").const), (x(4), values([[0, 3]], "int64").const),
                      (x(2, 3), values([[0, 0], [0, 0]], "int32").const)], types="float32 int32 uint8"),
    *cases("PadV2", x(2, 3), values([[1, 2], [0, 1]], "int32").const, each(scalar(-7.5, "float32"), values(3.0))),
    *cases("PadV2", x(2, 3), values([[1, 0], [0, 1]], "int32").const, scalar(9), types="int32"),
    *cases("MirrorPad", x(3, 4), values([[1, 2], [0, 3]], "int32").const, mode=each("REFLECT", "SYMMETRIC"),
           types="float32 int32"),
    *cases("ReverseV2", on=[(x(2, 3, 4), ints(0)), (x(2, 3, 4), ints(-1, 0)), (x(2, 3), ints()), (x(5), ints(0,
           dtype="int64"))], types=_KINDS),
    *cases("Reverse", x(2, 3), values([True, False], "bool").const, types="float32 int32"),
    *cases("ReverseSequence", x(4, 3, 5), each(values([1, 2, 4], "int32"), values([3, 1, 0], "int64").const), seq_dim=0,
           batch_dim=1),
    *cases("ReverseSequence", x(2, 6), values([6, 3], "int32"), seq_dim=1, types="float32 int32"),
    *cases("Roll", on=[(x(5), scalar(2), scalar(0)), (x(3, 4), ints(1, -2), ints(0, 1)), (x(3, 4), ints(1, 1), ints(1, 1))],
           types="float32 int32"),
    *cases("SpaceToDepth", x(2, 4, 6, 3), block_size=2, types="float32 uint8"),
    *cases("SpaceToDepth", x(1, 2, 4, 6), block_size=2, data_format="NCHW", xla=True),
    *cases("DepthToSpace", x(2, 2, 3, 8), block_size=2, types="float32 uint8"),
    *cases("DepthToSpace", x(1, 18, 2, 2), block_size=3, data_format="NCHW", xla=True),
    *cases("SpaceToBatchND", on=[
        (x(1, 4, 4, 2), ints(2, 2), values([[0, 0], [0, 0]], "int32").const),
        (x(2, 3, 5, 1), ints(2, 3), values([[1, 0], [0, 1]], "int32").const),
        (x(1, 6, 2), ints(3), values([[0, 0]], "int32").const), (x(2, 4), ints(2), values([[1, 1]], "int32").const)],
            types="float32 int32"),
    *cases("BatchToSpaceND", on=[
        (x(4, 2, 2, 2), ints(2, 2), values([[0, 0], [0, 0]], "int32").const),
        (x(6, 2, 2, 1), ints(2, 3), values([[1, 0], [0, 2]], "int32").const),
        (x(3, 2, 2), ints(3), values([[1, 2]], "int32").const)], types="float32 int32"),
    *cases("SpaceToBatch", x(1, 4, 4, 2), values([[0, 0], [1, 1]], "int32").const, block_size=2),
    *cases("BatchToSpace", x(4, 2, 3, 2), values([[0, 0], [1, 1]], "int32").const, block_size=2),
    *cases("ExtractImagePatches", x(1, 6, 5, 2), ksizes=[1, 2, 3, 1], strides=each([1, 1, 1, 1], [1, 2, 2, 1]),
           rates=each([1, 1, 1, 1], [1, 2, 2, 1]), padding="VALID"),
    *cases("ExtractImagePatches", x(2, 4, 5, 1), ksizes=[1, 3, 3, 1], strides=[1, 2, 1, 1], rates=[1, 1, 1, 1], padding="SAME"),
    *cases("ExtractVolumePatches", x(1, 3, 4, 4, 1), ksizes=[1, 2, 2, 2, 1], strides=[1, 1, 2, 1, 1], padding=each("SAME",
           "VALID")),
]
