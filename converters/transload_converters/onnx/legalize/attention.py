"""Attention as onnxruntime's optimizer fuses it: Attention, MultiHeadAttention, the embeddings in front of them; FlexAttention.

Source: onnxruntime, docs/ContribOperators.md. Keys and values of earlier steps come before the new ones; a buffer that is written
in place is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from transload.errors import Unsupported
from transload.ir import BF16, F16, F32, I32, Op, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import counted
from transload_hub.scatter import neutral

from ..types import UNKNOWN, element_code, element_of
from .control import inlined
from .movement import slice_along
from .normalization import trailing_norm
from .quantize import quantized_operand
from .table import OnnxTable, attr, cast, need, need_attr, operand, permute, reshape, scalar_like, shape_of, unused_results

__all__ = ["TABLE", "heads_of", "parts_of", "repeated"]

TABLE = OnnxTable()

_MS = "onnx.com.microsoft"


def _refuse(op: Op, inputs: Sequence[int]) -> None:
    """Refuse operands that this does not compute with: buffers of earlier steps, whose length is an input, and beams."""
    used = [str(index) for index in inputs if operand(op, index) is not None]
    if used:
        raise Unsupported(f"has input {', '.join(used)}: keys and values of earlier steps in a buffer that is written in place",
                          "export the model with keys and values that grow by each step, or without any")


def heads_of(rw: Rewriter, value: Value, heads: int) -> Value:
    """`[batch, places, heads * size]` as `[batch, heads, places, size]`."""
    batch, places, width = shape_of(value, 3)
    if heads < 1 or width < 1 or width % heads:
        raise Unsupported(f"{width} columns are not of {heads} heads")
    return permute(rw, reshape(rw, value, (batch, places, heads, width // heads)), (0, 2, 1, 3))


def _filter(op: Op) -> float:
    return float(attr(op, "mask_filter_value", -10000.0))


def _mask(op: Op, rw: Rewriter, mask: Value | None, keys: int, like: Value) -> Value | None:
    """What is added to scores of queries `like` for a mask of truths `[batch, keys]` or `[batch, queries, keys]`, or of places.

    Of places, one for each of a batch: where keys end `[batch]`, then where they begin `[2 * batch]`; or where they end, and then
    where queries and keys begin in a tensor without padding `[3 * batch + 2]`, which is for kernels that take such.
    """
    if mask is None:
        return None
    shape = shape_of(mask)
    batch, _, queries, _ = shape_of(like, 4)
    if len(shape) == 1 and shape[0] in (batch, 2 * batch, 3 * batch + 2):
        seen = _between(rw, cast(rw, mask, I32), batch, keys)
    elif len(shape) in (2, 3) and shape[-1] == keys and shape[0] in (1, batch) and (len(shape) == 2 or shape[1] in (1, queries)):
        seen = rw.emit("top.Compare", cast(rw, mask, I32), rw.constant(np.int32(0)), mode="Greater")
    elif len(shape) == 2 and shape[0] in (1, batch) and shape[1] == 1:
        return None  # the same is added to all
    else:
        raise Unsupported(f"has a mask of shape {list(shape)} for {queries} queries and {keys} keys in a batch of {batch}")
    shape = shape_of(seen)
    seen = reshape(rw, seen, (shape[0], 1, 1 if len(shape) == 2 else shape[1], keys))
    return rw.emit("top.Where", seen, scalar_like(rw, like, 0.0), scalar_like(rw, like, _filter(op)))


def _between(rw: Rewriter, ends: Value, batch: int, keys: int) -> Value:
    """Which keys `[batch, keys]` lie before their ends, and not before where they begin, if that is said."""
    places = rw.constant(counted(keys, dtype=np.int32).reshape(1, keys))
    count = shape_of(ends, 1)[0]
    first = ends if count == batch else slice_along(rw, ends, 0, 0, batch)
    seen = rw.emit("top.Compare", places, reshape(rw, first, (batch, 1)), mode="Less")
    if count != 2 * batch:
        return seen
    begins = reshape(rw, slice_along(rw, ends, 0, batch, count), (batch, 1))
    return rw.emit("top.LogicalAnd", seen, rw.emit("top.Compare", places, begins, mode="GreaterOrEqual"))


def _longer(rw: Rewriter, earlier: Value, new: Value) -> Value:
    """Keys or values of earlier steps `[batch, heads, earlier, size]`, and the new ones behind them."""
    held, shape = shape_of(earlier, 4), shape_of(new, 4)
    if (held[:2], held[3]) != (shape[:2], shape[3]):
        raise Unsupported(f"has keys or values {list(held)} of earlier steps, which {list(shape)} do not go on")
    return rw.emit("top.Concat", earlier, new, axis=2)


def _attended(op: Op, rw: Rewriter, q: Value, k: Value, v: Value, masks: Sequence[Value | None], earlier: int = 0) -> Value:
    """`softmax(q @ k' * scale + masks) @ v` by heads, as `[batch, places, heads * size]`; `earlier` keys come before."""
    *_, places, size = shape_of(q, 4)
    keys = shape_of(k, 4)[2]
    if not size:
        raise Unsupported(f"its queries of shape {shape_of(q)} have no columns")
    scale = float(attr(op, "scale", 0.0)) or 1.0 / math.sqrt(size)
    scores = rw.emit("top.MulConst", rw.emit("top.MatMul", q, k, right_transpose=True), const_val=scale)
    padding, *more = masks
    if attr(op, "unidirectional", 0):
        padding = _causal(rw, padding, (places, keys, earlier), q)
    for mask in (padding, *more):
        if mask is not None:
            scores = rw.emit("top.Add", scores, mask)
    mixed = rw.emit("top.MatMul", rw.emit("top.Softmax", scores, axis=-1), v)
    batch, heads, places, size = shape_of(mixed)
    return reshape(rw, permute(rw, mixed, (0, 2, 1, 3)), (batch, places, heads * size))


def _causal(rw: Rewriter, mask: Value | None, counts: tuple[int, int, int], like: Value) -> Value:
    """What a mask adds to scores, and the least number for a key later than its query; `counts` of queries, keys, earlier keys.

    `mask_filter_value` is for padding alone: a row whose own keys are padding would see later ones, if they had the same number.
    Of another tensor's keys each query sees those up to its own place, and the last one all, as onnxruntime computes it.
    """
    places, keys, earlier = counts
    later = np.triu(tables.ones((places, keys), bool), 1 + earlier)
    later[-1:] = False
    least = neutral(like.element, "max")
    if mask is None:
        return rw.constant(np.where(later, least, 0).astype(dtype_of(like.element)))
    return rw.emit("top.Where", rw.constant(later), scalar_like(rw, like, least), mask)


def parts_of(rw: Rewriter, value: Value, sizes: Sequence[int]) -> list[Value]:
    """`value` cut along its last dimension."""
    if sum(sizes) != shape_of(value, least=1)[-1]:
        raise Unsupported(f"{shape_of(value, least=1)[-1]} columns are not {' + '.join(map(str, sizes))}")
    made = rw.emit("top.Split", value, axis=len(shape_of(value)) - 1, split_size=tuple(sizes))
    return list(made)


# --- ONNX's own, with subgraphs for scores and probabilities


_FLEX = "onnx.ai.onnx.preview.FlexAttention"


@TABLE(_FLEX)
def flex_attention(op: Op, rw: Rewriter) -> Value:
    """FlexAttention: `softmax(score_mod(q @ k' * scale)) -> prob_mod -> @ v`, heads of keys shared by groups of queries.

    What comes after a subgraph has no type before that is converted: so it is made of ONNX's ops, which are rewritten in turn.
    """
    q, k, v = (need(op, index) for index in range(3))
    (_, heads, _, size), (_, held, _, _) = shape_of(q, 4), shape_of(k, 4)
    if not size or not held or heads % held or shape_of(v, 4)[1] != held:
        raise Unsupported(f"has queries {shape_of(q)}, keys {shape_of(k)} and values {shape_of(v)}")
    precision = element_of(attr(op, "softmax_precision", 0)) or (F32 if q.element in (F16, BF16) else q.element)
    scale = float(attr(op, "scale", 1.0 / math.sqrt(size)))
    root = math.sqrt(abs(scale))
    left = rw.emit("top.MulConst", q, const_val=math.copysign(root, scale))
    right = rw.emit("top.MulConst", repeated(rw, k, heads // held), const_val=root)
    scores = cast(rw, rw.emit("top.MatMul", left, right, right_transpose=True), precision)
    names = list(attr(op, "region_names", ()))
    bodies = dict(zip(names, op.regions, strict=True))
    if "score_mod" in bodies:
        (scores,) = inlined(rw, bodies["score_mod"].block, [scores])
    probable = rw.create("onnx.Softmax", [scores], [UNKNOWN], {"axis": -1, "onnx.opset": 13}).results[0]
    if "prob_mod" in bodies:
        (probable,) = inlined(rw, bodies["prob_mod"].block, [probable])
    values = cast(rw, repeated(rw, v, heads // held), precision)
    mixed = rw.create("onnx.MatMul", [probable, values], [UNKNOWN], {"onnx.opset": 13}).results[0]
    to = {"to": element_code(v.element), "onnx.opset": 13}
    return rw.create("onnx.Cast", [mixed], [op.results[0].type], to).results[0]


def repeated(rw: Rewriter, value: Value, times: int) -> Value:
    """Each head of [batch, heads, places, size] so many times, one after the other."""
    if times == 1:
        return value
    batch, heads, places, size = shape_of(value)
    wide = rw.emit("top.Expand", reshape(rw, value, (batch, heads, 1, places, size)), shape=(batch, heads, times, places, size))
    return reshape(rw, wide, (batch, heads * times, places, size))


# --- onnxruntime's


@TABLE(f"{_MS}.Attention")
def attention(op: Op, rw: Rewriter) -> list[Value]:
    """Attention: one product gives queries, keys and values; before these two, those of earlier steps."""
    _refuse(op, (6,))
    if attr(op, "do_rotary", 0):
        raise Unsupported("rotates queries and keys (do_rotary)")
    x, weights, heads = need(op, 0), need(op, 1), need_attr(op, "num_heads")
    sizes = list(op.attributes.get("qkv_hidden_sizes") or (shape_of(weights, 2)[1] // 3,) * 3)
    product = rw.emit("top.MatMul", x, weights)
    if operand(op, 2) is not None:
        product = rw.emit("top.Add", product, operand(op, 2))
    q, k, v = (heads_of(rw, part, heads) for part in parts_of(rw, product, sizes))
    past, earlier = operand(op, 4), 0
    if past is not None:
        earlier = shape_of(past, 5)[3]
        k, v = (_longer(rw, part, new) for part, new in zip(_keys_and_values(rw, past), (k, v), strict=True))
    masks = [_mask(op, rw, operand(op, 3), shape_of(k, 4)[2], q), operand(op, 5)]
    made = _attended(op, rw, q, k, v, masks, earlier)
    if len(op.results) == 1 or not op.results[1].uses:
        return [made] * len(op.results)
    return [made, rw.emit("top.Pack", k, v, axis=0)]


def _keys_and_values(rw: Rewriter, packed: Value) -> list[Value]:
    """Keys and values `[batch, heads, places, size]` that lie in one tensor, `[2, ...]`."""
    two, *shape = shape_of(packed, 5)
    if two != 2:
        raise Unsupported(f"has {two} tensors of earlier steps, which are keys and values")
    return [reshape(rw, slice_along(rw, packed, 0, i, i + 1), shape) for i in range(2)]


@TABLE(f"{_MS}.QAttention", stored="native")
def quantized_attention(op: Op, rw: Rewriter) -> list[Value]:
    """QAttention: Attention whose input and weights are integers, and whose result is floats."""
    x = cast(rw, quantized_operand(rw, need(op, 0), need(op, 3), operand(op, 6), 0), F32)
    weights = cast(rw, quantized_operand(rw, need(op, 1), need(op, 4), operand(op, 7), 1), F32)
    none = rw.none("top")
    operands = [x, weights, need(op, 2), operand(op, 5) or none, operand(op, 8) or none]
    made = rw.create(f"{_MS}.Attention", operands, [result.type for result in op.results], dict(op.attributes))
    return list(made.results)


@TABLE(f"{_MS}.MultiHeadAttention")
def multi_head_attention(op: Op, rw: Rewriter) -> list[Value]:
    """MultiHeadAttention: of queries, keys and values `[batch, places, columns]`; keys and values may lie by heads already.

    Those of earlier steps do, `[batch, heads, earlier, size]`, and so do those for later steps.
    """
    _refuse(op, (8, 9))
    heads, bias = need_attr(op, "num_heads"), operand(op, 3)
    if operand(op, 1) is None or operand(op, 2) is None or len(shape_of(need(op, 0))) != 3:
        raise Unsupported("packs queries, keys and values into one tensor")
    values = [need(op, index) for index in range(3)]
    if bias is not None:
        widths = [shape_of(value, least=1)[-1] * (heads if len(shape_of(value)) == 4 else 1) for value in values]
        values = [value if len(shape_of(value)) == 4 else rw.emit("top.Add", value, part)
                  for value, part in zip(values, parts_of(rw, bias, widths), strict=True)]
    q, k, v = (value if len(shape_of(value)) == 4 else heads_of(rw, value, heads) for value in values)
    earlier = 0
    if operand(op, 6) is not None or operand(op, 7) is not None:
        earlier = shape_of(need(op, 6), 4)[2]
        k, v = (_longer(rw, need(op, index), new) for index, new in ((6, k), (7, v)))
    masks = [_mask(op, rw, operand(op, 4), shape_of(k, 4)[2], q), operand(op, 5)]
    made = _attended(op, rw, q, k, v, masks, earlier)
    return [*[made, k, v][: len(op.results)], *unused_results(op, made, 3)]


@TABLE(f"{_MS}.EmbedLayerNormalization")
def embed_layer_norm(op: Op, rw: Rewriter) -> list[Value]:
    """EmbedLayerNormalization: embeddings of words, places and segments, added and normalized; row lengths; the sum."""
    words = need(op, 0)
    batch, places = shape_of(words, 2)
    total = rw.emit("top.Gather", need(op, 2), words, axis=0)
    positions = operand(op, 8)
    if positions is None:
        positions = rw.constant(counted(places, dtype=np.int32).reshape(1, places))
    total = rw.emit("top.Add", total, rw.emit("top.Gather", need(op, 3), positions, axis=0))
    segments, table = operand(op, 1), operand(op, 4)
    if segments is not None and table is not None:
        total = rw.emit("top.Add", total, rw.emit("top.Gather", table, segments, axis=0))
    normal = trailing_norm(rw, "top.LayerNorm", total, (need(op, 5), operand(op, 6)), 2, float(attr(op, "epsilon", 1e-12)))
    mask = operand(op, 7)
    if mask is None:
        lengths = rw.constant(tables.zeros(batch, np.int32))
    else:
        held = rw.emit("top.Compare", cast(rw, mask, I32), rw.constant(np.int32(1)), mode="Equal")  # no other number counts
        lengths = rw.emit("top.Reduce", cast(rw, held, I32), axes=(1,), keepdims=False, mode="ReduceSum")
    return [normal, lengths, total][: len(op.results)]
