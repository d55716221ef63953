"""Rotary embeddings of places, and attention whose keys are shared by groups of queries, as onnxruntime's optimizer writes them.

Source: onnxruntime, docs/ContribOperators.md.
"""

from __future__ import annotations

import math

import numpy as np

from transload.errors import Unsupported
from transload.ir import I32, Op, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import counted
from transload_hub.scatter import neutral

from .attention import heads_of, parts_of, repeated
from .movement import slice_along
from .table import OnnxTable, attr, cast, constant_int, flag, need, need_attr, operand, permute, reshape, scalar_like, shape_of

__all__ = ["TABLE"]

TABLE = OnnxTable()

_MS = "onnx.com.microsoft"


def rotated(rw: Rewriter, value: Value, places: Value, tables: tuple[Value, Value], interleaved: bool) -> Value:
    """Heads [batch, heads, places, size] turned by the angles of their places [batch or 1, places].

    Pairs of elements are turned, those next to each other (`interleaved`) or those half of the turned part away; `tables` are
    the cosines and sines [places, half]. What is behind the turned part stays.
    """
    batch, heads, count, size = shape_of(value, 4)
    half = shape_of(tables[0], 2)[1]
    if 2 * half > size:
        raise Unsupported(f"turns {2 * half} of {size} elements")
    rows = shape_of(places)[0]
    cos, sin = (reshape(rw, rw.emit("top.Gather", table, places, axis=0), (rows, 1, count, half)) for table in tables)
    turned = slice_along(rw, value, 3, 0, 2 * half) if 2 * half < size else value
    if interleaved:
        pairs = reshape(rw, turned, (batch, heads, count, half, 2))
        first, second = (reshape(rw, slice_along(rw, pairs, 4, i, i + 1), (batch, heads, count, half)) for i in (0, 1))
    else:
        first, second = slice_along(rw, turned, 3, 0, half), slice_along(rw, turned, 3, half, 2 * half)
    left = rw.emit("top.Sub", rw.emit("top.Mul", first, cos), rw.emit("top.Mul", second, sin))
    right = rw.emit("top.Add", rw.emit("top.Mul", first, sin), rw.emit("top.Mul", second, cos))
    if interleaved:
        made = reshape(rw, rw.emit("top.Pack", left, right, axis=4), (batch, heads, count, 2 * half))
    else:
        made = rw.emit("top.Concat", left, right, axis=3)
    return made if 2 * half == size else rw.emit("top.Concat", made, slice_along(rw, value, 3, 2 * half, size), axis=3)


@TABLE(f"{_MS}.RotaryEmbedding")
def rotary_embedding(op: Op, rw: Rewriter) -> Value:
    """RotaryEmbedding of [batch, places, columns] or [batch, heads, places, size]; places are given, or where they begin."""
    value, places = need(op, 0), need(op, 1)
    if attr(op, "is_packed_batching", 0):
        raise Unsupported("packs sequences of a batch into one row")
    shape = shape_of(value, least=3)
    tables = need(op, 2), need(op, 3)
    if len(shape) == 4:
        split = value
    else:
        half = shape_of(tables[0], 2)[1]
        part = attr(op, "rotary_embedding_dim", 0)
        if part and not attr(op, "num_heads", 0):
            raise Unsupported("turns a part of each head (rotary_embedding_dim), and does not say how many heads there are")
        split = heads_of(rw, value, attr(op, "num_heads", 0) or shape[2] // (2 * half))
    count = shape_of(split)[2]
    if len(shape_of(places)) == 1:
        steps = rw.constant(counted(count, dtype=dtype_of(places.element))[None])
        places = rw.emit("top.Add", reshape(rw, places, (1, 1)), steps)
    made = rotated(rw, split, places, tables, flag(op, "interleaved"))
    return made if len(shape) == 4 else reshape(rw, permute(rw, made, (0, 2, 1, 3)), shape)


@TABLE(f"{_MS}.GroupQueryAttention")
def group_query_attention(op: Op, rw: Rewriter) -> list[Value]:
    """GroupQueryAttention: each place sees those up to itself; keys and values of earlier steps, where given, are before them.

    As many of these as the lengths say: new ones take the places after them, in the room that the given ones leave, or behind.
    """
    for name in ("smooth_softmax", "qk_output", "kv_cache_bit_width", "sliding_window_cache"):
        if attr(op, name, 0) not in (0, -1, None):
            raise Unsupported(f"has {name} {attr(op, name)}")
    if any(operand(op, index) is not None for index in range(11, 17)) or attr(op, "causal", 1) != 1:
        raise Unsupported("has sinks, scales, norms or lengths of queries, or sees later places")
    heads, groups = need_attr(op, "num_heads"), need_attr(op, "kv_num_heads")
    q, k, v = _queries(op, rw, heads, groups)
    batch, _, count, size = shape_of(q, 4)
    begins = _begins(op, rw, batch, count)
    queries = rw.emit("top.Add", begins, rw.constant(counted(count, dtype=np.int32)[None]))  # the place of each query
    if attr(op, "do_rotary", 0):
        tables = need(op, 7), need(op, 8)
        given = operand(op, 9)
        places = queries if given is None else given
        turn = flag(op, "rotary_interleaved")
        q, k = (rotated(rw, value, places, tables, turn) for value in (q, k))
    if operand(op, 3) is not None:
        k, v = (_kept(op, rw, need(op, index), value, begins) for index, value in ((3, k), (4, v)))
    scale = float(attr(op, "scale", 0.0)) or 1.0 / math.sqrt(size)
    scores = rw.emit("top.MatMul", q, repeated(rw, k, heads // groups), right_transpose=True)
    scores = rw.emit("top.MulConst", scores, const_val=scale)
    softcap = float(attr(op, "softcap", 0.0))
    if softcap > 0:  # what is not greater caps nothing, in onnx.reference and onnxruntime
        bent = rw.emit("top.Tanh", rw.emit("top.MulConst", scores, const_val=1 / softcap))
        scores = rw.emit("top.MulConst", bent, const_val=softcap)
    least = neutral(scores.element, "max")
    bias = operand(op, 10)
    if bias is not None:  # what is seen stays more than what is not, where a bias is the least number or minus infinity, too
        scores = rw.emit("top.Add", scores, rw.emit("top.Max", bias, scalar_like(rw, bias, least / 2)))
    scores = rw.emit("top.Where", _seen(op, rw, queries, scores), scores, scalar_like(rw, scores, least))
    mixed = rw.emit("top.MatMul", rw.emit("top.Softmax", scores, axis=-1), repeated(rw, v, heads // groups))
    output = reshape(rw, permute(rw, mixed, (0, 2, 1, 3)), (batch, count, heads * shape_of(v)[3]))
    return [output, k, v][: len(op.results)]


def _queries(op: Op, rw: Rewriter, heads: int, groups: int) -> list[Value]:
    """Queries, keys and values by heads; they may lie side by side in one tensor."""
    if min(heads, groups) < 1 or heads % groups:
        raise Unsupported(f"has {heads} heads of queries for {groups} of keys")
    if operand(op, 1) is not None:
        values = [need(op, index) for index in range(3)]
    else:
        size = shape_of(need(op, 0), 3)[2] // (heads + 2 * groups)
        values = parts_of(rw, need(op, 0), (heads * size, groups * size, groups * size))
    return [heads_of(rw, value, n) for value, n in zip(values, (heads, groups, groups), strict=True)]


def _begins(op: Op, rw: Rewriter, batch: int, count: int) -> Value:
    """How many keys there are before the new ones, [batch, 1] of i32: the lengths less those, and none in a first prompt."""
    lengths = operand(op, 5)
    if operand(op, 3) is None or lengths is None:
        return rw.constant(tables.zeros((batch, 1), np.int32))
    if count > 1 and constant_int(rw, operand(op, 6), "the total length, of several new keys,") == count:
        return rw.constant(tables.zeros((batch, 1), np.int32))
    return reshape(rw, rw.emit("top.AddConst", cast(rw, lengths, I32), const_val=1 - count), (batch, 1))


def _kept(op: Op, rw: Rewriter, given: Value, new: Value, begins: Value) -> Value:
    """Keys or values for later steps, [batch, groups, keys, size]: the given ones, from where these end the new ones, then 0."""
    batch, groups, held, size = shape_of(given, 4)
    count = shape_of(new)[2]
    total = _total(op, rw, held, count)
    known = rw.constant_of(begins)
    if known is not None and (known == held).all() and total == held + count:
        return rw.emit("top.Concat", given, new, axis=2)
    if total > held:
        room = rw.constant(tables.zeros((batch, groups, total - held, size), dtype_of(given.element)), element=given.element)
        given = rw.emit("top.Concat", given, room, axis=2)
    places = rw.emit("top.Sub", rw.constant(counted(total, dtype=np.int32)[None]), begins)  # [batch, keys], among the new ones
    ends = rw.constant(np.int32(count - 1)), rw.constant(np.int32(0))
    rows = rw.emit("top.Max", rw.emit("top.Min", places, ends[0]), ends[1])
    spread = rw.emit("top.Expand", reshape(rw, rows, (batch, 1, total, 1)), shape=(batch, groups, total, size))
    moved = rw.emit("top.GatherElements", new, spread, axis=2)
    here, behind = (reshape(rw, rw.emit("top.Compare", *pair, mode=mode), (batch, 1, total, 1))
                    for pair, mode in (((rows, places), "Equal"), ((places, ends[0]), "Greater")))
    kept = rw.emit("top.Where", here, moved, given)
    return rw.emit("top.Where", behind, scalar_like(rw, kept, 0.0), kept)  # no longer what it was, as onnxruntime gives it


def _total(op: Op, rw: Rewriter, held: int, count: int) -> int:
    """How many keys there are room for afterwards; of a length that only the run tells, as many as before."""
    known = rw.constant_of(operand(op, 6))
    if known is not None:
        total = int(np.reshape(known, ()))
        if total > held and total != held + count:
            raise Unsupported(f"is given {held} earlier keys and {count} new ones for a total length of {total}",
                              "a total of both, or of no more keys than there is room for")
        return max(held, total)
    rw.note("GroupQueryAttention writes new keys and values into the room that the given ones leave, for the total length is not "
            "known; a file whose keys grow by each step needs it as a constant")
    return held


def _seen(op: Op, rw: Rewriter, queries: Value, scores: Value) -> Value:
    """Of which scores [batch, heads, queries, keys] the key is there, not behind its query, and not too far before it."""
    _, _, count, total = shape_of(scores)
    rows = shape_of(queries)[0]
    keys = rw.constant(counted(total, dtype=np.int32)[None, None])
    away = rw.emit("top.Sub", reshape(rw, queries, (rows, count, 1)), keys)  # how far a key lies before a query
    seen = rw.emit("top.Compare", away, rw.constant(np.int32(0)), mode="GreaterOrEqual")
    window = attr(op, "local_window_size", -1)
    if window >= 0:
        near = rw.emit("top.Compare", away, rw.constant(np.int32(window)), mode="Less")
        seen = rw.emit("top.LogicalAnd", seen, near)
    lengths = operand(op, 5)
    if lengths is not None:
        last = reshape(rw, cast(rw, lengths, I32), (shape_of(lengths)[0], 1, 1))
        seen = rw.emit("top.LogicalAnd", seen, rw.emit("top.Compare", keys, last, mode="LessOrEqual"))
    return reshape(rw, seen, (shape_of(seen)[0], 1, *shape_of(seen)[1:]))
