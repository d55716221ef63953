"""Slices combined by the number of their segment."""

from __future__ import annotations

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub.build import scalar_like
from transload_hub.scatter import unsorted_segments

from .table import TfTable, constant_count, constant_data, need_place, shape_of

TABLE = TfTable()

_REDUCTIONS = {"Sum": "add", "Prod": "mul", "Max": "max", "Min": "min", "Mean": "add", "SqrtN": "add"}


@TABLE(*(f"UnsortedSegment{kind}" for kind in ("Sum", "Prod", "Max", "Min")),
       *(f"Segment{kind}V2" for kind in ("Sum", "Prod", "Max", "Min")))
def unsorted_segment(op: Op, rw: Rewriter) -> Value:
    """UnsortedSegmentSum, -Prod, -Max, -Min, SegmentSumV2, -ProdV2, -MaxV2, -MinV2: as many segments as a constant says."""
    value, ids, count = op.operands
    return unsorted_segments(rw, value, ids, constant_count(rw, count, "the number of segments"), _REDUCTIONS[_kind(op)])


@TABLE(*(f"Segment{kind}" for kind in ("Sum", "Prod", "Max", "Min", "Mean")))
def segment(op: Op, rw: Rewriter) -> Value:
    """SegmentSum, SegmentProd, SegmentMax, SegmentMin, SegmentMean: ids are constant, as they say how many segments there are."""
    value, ids = op.operands
    return _combined(rw, value, ids, constant_data(rw, ids), _kind(op))


@TABLE(*(f"SparseSegment{kind}" for kind in ("Sum", "Mean", "SqrtN")),
       *(f"SparseSegment{kind}WithNumSegments" for kind in ("Sum", "Mean", "SqrtN")))
def sparse_segment(op: Op, rw: Rewriter) -> Value:
    """SparseSegmentSum, -Mean, -SqrtN, and those with a number of segments: of the rows that indices name."""
    value, indices, ids = op.operands[:3]
    known = constant_data(rw, ids)
    count = constant_count(rw, op.operands[3], "the number of segments") if len(op.operands) > 3 else None
    return _combined(rw, rw.emit("top.Gather", value, indices, axis=0), ids, known, _kind(op), count)


def _kind(op: Op) -> str:
    name = op.name.removesuffix("WithNumSegments").removesuffix("V2")
    return name[name.index("Segment") + len("Segment") :]


def _combined(rw: Rewriter, value: Value, ids: Value, known: np.ndarray, kind: str, count: int | None = None) -> Value:
    """Slices combined by known ids; a segment without slices has 1 of products, else 0."""
    total = count if count is not None else int(known.max(initial=-1)) + 1
    if not total or known.min(initial=0) < 0 or known.max(initial=0) >= total:
        raise Unsupported(f"the segment ids must be from 0 to {total - 1}")
    need_place(total)
    whole = unsorted_segments(rw, value, ids, total, _REDUCTIONS[kind])
    counts = np.bincount(known.reshape(-1).astype(np.int64), minlength=total).reshape(-1, *(1,) * (len(shape_of(value)) - 1))
    if kind in ("Max", "Min") and not counts.all():
        return rw.emit("top.Where", rw.constant(counts > 0), whole, scalar_like(rw, whole, 0))
    if kind in ("Mean", "SqrtN"):
        shares = np.maximum(counts, 1)
        divisor = (shares if kind == "Mean" else np.sqrt(shares)).astype(dtype_of(whole.element))
        return rw.emit("top.Div", whole, rw.constant(divisor, element=whole.element))
    return whole
