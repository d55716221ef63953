"""Embeddings of few bits, distances and shapes of domain `com.microsoft`.

Their definitions: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

import numpy as np

from transload.errors import Unsupported
from transload.ir import IntegerType, Op, TensorType, Value, dtype_of
from transload.ir.build import constant_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.simplify.qdq import kept

from .contrib import unpacked
from .indexing import gathered
from .quantize import blocked, mirrored, over_blocks
from .table import OnnxTable, attr, axis_of, constant_int, need, operand, reshape, shape_of

__all__ = ["TABLE"]

TABLE = OnnxTable()
_MS = "onnx.com.microsoft"


@TABLE(f"{_MS}.GatherBlockQuantized")
def gather_block_quantized(op: Op, rw: Rewriter) -> Value:
    """GatherBlockQuantized: rows of a constant table of 4 or 8 bits, which has a scale for each block along a dimension.

    A table of bytes with `bits` 4 has two numbers in each, along the last dimension; its zero points lie in the middle by
    default, those of i4 and u4 at 0.
    """
    table, scales, given = need(op, 0), need(op, 2), operand(op, 3)
    block, bits = attr(op, "block_size", 128), attr(op, "bits", 4)
    stored = np.asarray(rw.need_constant(table, "the table"))
    numbers = np.asarray(rw.need_constant(scales, "the scales"))
    zeros = None if given is None else np.asarray(rw.need_constant(given, "the zero points"))
    dense = constant_of(table)
    assert dense is not None
    kind = dense.type.element if isinstance(dense.type, TensorType) else None
    if stored.dtype == np.uint8:
        if bits not in (4, 8):
            raise Unsupported(f"has {bits} bits in bytes; 4 and 8 can be converted")
        storage, middle = IntegerType(bits, "u"), 1 << (bits - 1)
        if bits == 4:
            stored = unpacked(stored, 4)
            zeros = None if zeros is None else unpacked(zeros, 4)[..., : numbers.shape[-1]]
    elif isinstance(kind, IntegerType) and kind.width == 4:
        storage, middle = kind, 0
    else:
        raise Unsupported(f"has a table of {kind}")
    if block < 1:
        raise Unsupported(f"has blocks of {block}")
    rank = stored.ndim
    axis = axis_of(attr(op, "quantize_axis", 1), rank, "quantize_axis")
    if zeros is None:
        zeros = tables.full(numbers.shape, middle)
    fine = numbers.astype(np.float32)
    if numbers.shape == tuple(-(-n // block) if dim == axis else n for dim, n in enumerate(stored.shape)) == zeros.shape:
        stored, fine, zeros = mirrored(stored, fine, zeros, storage, over_blocks(axis, block, stored.shape[axis]))
    quantized = blocked(storage, fine, zeros.astype(np.int64), axis, block, stored.shape, scales.element)
    real = kept(rw, "top.Cast", rw.constant(stored.astype(dtype_of(storage)), element=quantized), element=scales.element)
    return gathered(rw, real, need(op, 1), axis_of(attr(op, "gather_axis", 0), rank, "gather_axis"))


@TABLE(f"{_MS}.CDist")
def cdist(op: Op, rw: Rewriter) -> Value:
    """CDist: distances of each row of A [M, K] from each of B [N, K], as [M, N]; squared by default."""
    a, b = need(op, 0), need(op, 1)
    (rows, depth), (columns, _) = shape_of(a, rank=2), shape_of(b, rank=2)
    metric = attr(op, "metric", "sqeuclidean")
    if metric not in ("euclidean", "sqeuclidean"):
        raise Unsupported(f"measures by {metric!r}")
    apart = rw.emit("top.Sub", reshape(rw, a, (rows, 1, depth)), reshape(rw, b, (1, columns, depth)))
    squared = rw.emit("top.Reduce", rw.emit("top.Square", apart), axes=(2,), mode="ReduceSum", keepdims=False)
    return squared if metric == "sqeuclidean" else rw.emit("top.Sqrt", squared)


@TABLE(f"{_MS}.ExpandDims", stored="carried")
def expand_dims(op: Op, rw: Rewriter) -> Value:
    """ExpandDims: a dimension of size 1 at a constant place of the result."""
    value = need(op, 0)
    shape = list(shape_of(value))
    shape.insert(axis_of(constant_int(rw, need(op, 1), "the axis"), len(shape) + 1), 1)
    return reshape(rw, value, tuple(shape))
