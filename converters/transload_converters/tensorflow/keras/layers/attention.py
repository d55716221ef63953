"""Attention."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, F16, Value
from transload_hub import tables

from ..graph import Graph, shape_of
from ..layer import LAYERS, Call
from .activations import masked_softmax
from .core import projected

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _dense_variables(config: Mapping[str, Any]) -> Sequence[str]:
    names = ["query", "key", "value", "output"]
    if config.get("use_gate"):
        names.insert(2, "gate")
    return [f"_{name}_dense/{weight}" for name in names for weight in ("kernel", "bias:use_bias")]


def _multi_head_variables(config: Mapping[str, Any]) -> Sequence[str]:
    return [name.removeprefix("_") for name in _dense_variables(config)]


@LAYERS.layer("MultiHeadAttention", variables=_multi_head_variables, ends_masks=(3, 8), trained_by=("dropout",))
def multi_head(call: Call, query: Value, value: Value, key: Value | None = None, *more: Any) -> Any:
    """Attention of several heads, over one dimension or several (`attention_axes`)."""
    g = call.g
    key = value if key is None else key
    rank = query.rank
    axes = [g.axis(axis, rank) for axis in call.option("attention_axes", list(range(1, rank - 1)))]
    heads = [_projected(call, name, tensor, 1) for name, tensor in (("query", query), ("key", key), ("value", value))]
    mask = _attention_mask(call, query, value, key, more)
    letters = _LETTERS[: rank + 1]
    batch = "".join(letters[place] for place in range(rank) if place not in axes and place != rank - 1) + letters[rank - 1]
    there = dict(zip(axes, _LETTERS[rank + 1 :], strict=False))
    source = "".join(there.get(place, letters[place]) for place in range(rank + 1))
    scores_of = batch + "".join(letters[axis] for axis in axes) + "".join(there[axis] for axis in axes)
    scores = g.einsum(f"{source},{letters}->{scores_of}", heads[1], g.Mul(heads[0], 1 / math.sqrt(int(call.config["key_dim"]))))
    axis = -1 if len(axes) == 1 else list(range(scores.rank - len(axes), scores.rank))
    flat = masked_softmax(g, scores, _for_heads(g, mask, scores.rank, len(axes)), axis, _zeros(call, query))
    y = g.einsum(f"{scores_of},{source}->{letters}", flat, heads[2])
    made = _finished(call, y, flat, query, 2)
    call.end_masks(query, value, key)
    return made


def _for_heads(g: Graph, mask: Value | None, rank: int, axes: int) -> Value | None:
    """A mask [batch, queries, keys] with a place for the heads before the dimensions of attention."""
    if mask is None:
        return None
    while mask.rank < rank:
        mask = g.expand(mask, -2 * axes - 1)
    return mask


def _zeros(call: Call, query: Value) -> bool:
    """Whether a query that may look at nothing gets zeros: not where Keras has all computed at once (`dot_product_attention`)."""
    return bool(call.option("dropout", 0.0) > 0 or call.arguments.get("return_attention_scores") or query.rank != 3)


def _projected(call: Call, name: str, x: Value, bound: int, prefix: str = "") -> Value:
    """Along the last dimensions (`bound`) times a kernel: of two dimensions more, heads and numbers, or of one."""
    free = x.rank - bound
    left, right = _LETTERS[: x.rank], _LETTERS[x.rank : x.rank + 2]
    owner = f"{prefix}{name}_dense"
    kernel = call.weight(f"{owner}/kernel")
    right = right[: kernel.rank - bound]
    return projected(call, x, f"{left},{left[free:]}{right}->{left[:free]}{right}", right, f"{owner}/kernel", f"{owner}/bias")


def _finished(call: Call, y: Value, scores: Value, query: Value, bound: int, prefix: str = "") -> Any:
    """The gate, the last product, and what was asked for beside it."""
    if call.option("use_gate", False):
        y = call.g.Mul(y, call.g.Sigmoid(_projected(call, "gate", query, 1, prefix)))
    y = _projected(call, "output", y, bound, prefix)
    call.set_mask(y, call.mask(query))
    return [y, scores] if call.arguments.get("return_attention_scores") else y


def _attention_mask(call: Call, query: Value, value: Value, key: Value, more: Sequence[Any]) -> Value | None:
    """All that limits attention, as [batch, queries, keys]: masks of the tensors, a mask given, what lies ahead, a window.

    A layer that ends masks takes that of the queries from their tensor alone, whatever `query_mask` it is given.
    """
    g = call.g
    given = dict(zip(("query_mask", "value_mask", "key_mask", "attention_mask"), more, strict=False))
    parts: list[Value] = []
    for name, tensor, axis in (("query_mask", query, -1), ("value_mask", value, -2), ("key_mask", key, -2)):
        said = call.arguments.get(name, given.get(name))
        mask = said if name != "query_mask" or not call.ends_masks else None
        mask = mask if mask is not None else call.mask(tensor) if name != "key_mask" or key is not value else None
        if mask is not None:
            parts.append(g.expand(g.cast(mask, BOOL), axis))
    rows, columns = tables.arange(shape_of(query)[1])[:, None], tables.arange(shape_of(value)[1])
    if call.arguments.get("use_causal_mask"):
        parts.append(g.constant((rows >= columns)[None], BOOL))
    if call.config.get("sliding_window") is not None:
        parts.append(g.constant((abs(rows - columns) < int(call.config["sliding_window"]))[None], BOOL))
    mask = call.arguments.get("attention_mask", given.get("attention_mask"))
    if mask is not None:
        parts.append(g.cast(mask, BOOL))
    joined = None
    for part in parts:
        joined = part if joined is None else g.LogicalAnd(joined, part)
    return joined


@LAYERS.layer("GroupedQueryAttention", "GroupQueryAttention", variables=_dense_variables, trained_by=("dropout",))
def grouped_query(call: Call, query: Value, value: Value, key: Value | None = None, *more: Any) -> Any:
    """Several heads of queries share those of keys and values."""
    g = call.g
    key = value if key is None else key
    heads, size = int(call.config["num_query_heads"]), int(call.config["head_dim"])
    shared = int(call.config["num_key_value_heads"])
    if shared < 1 or heads % shared:
        raise Unsupported(f"{heads} heads of queries do not share {shared}")
    q, k, v = (_projected(call, name, tensor, 1, "_") for name, tensor in (("query", query), ("key", key), ("value", value)))
    k, v = (g.repeat(each, heads // shared, 2) for each in (k, v))
    mask = _attention_mask(call, query, value, key, more)
    scores = g.einsum("btnh,bsnh->bnts", g.Mul(q, 1 / math.sqrt(size)), k)
    scores = masked_softmax(g, scores, _for_heads(g, mask, 4, 1), zeros=_zeros(call, query))
    return _finished(call, g.einsum("bnts,bsnh->btnh", scores, v), scores, query, 2, "_")


def _pieces(call: Call, given: Sequence[Value]) -> tuple[Value, Value, Value]:
    if not isinstance(given, list | tuple) or not 2 <= len(given) <= 3:
        raise Unsupported("it is called with other tensors than [query, value] or [query, value, key]")
    query, value, *rest = given
    return query, value, rest[0] if rest else value


def _weighed(call: Call, scores: Value, query: Value, value: Value, masks: Any) -> Any:
    """The values, weighed by the softmax of the scores; masked queries give zeros. `masks`, if given, are those of both."""
    g = call.g
    if isinstance(masks, Value):  # those of all tensors, where a file has them as numbers
        masks = g.unstack(masks, 0)
    query_mask, value_mask, *_ = masks if masks is not None else (call.mask(query), call.mask(value))
    mask = g.cast(g.expand(value_mask, -2), BOOL) if value_mask is not None else None
    if call.arguments.get("use_causal_mask") or call.option("causal", False):  # the latter before Keras 2.10
        rows, columns = shape_of(scores)[-2:]
        causal = g.constant(np.tril(tables.ones((1, rows, columns), bool)), BOOL)
        mask = causal if mask is None else g.LogicalAnd(mask, causal)
    if mask is not None:  # where it leaves nothing, all scores are about equal, and so are the weights
        scores = g.select(mask, scores, g.Sub(scores, 65504.0 if scores.element == F16 else 1e9))
    weights = g.Softmax(scores)
    y = g.matmul(weights, value)
    if query_mask is not None:
        y = g.select(g.cast(g.expand(query_mask, -1), BOOL), y, 0.0)
        call.set_mask(y, query_mask)
    return [y, weights] if call.arguments.get("return_attention_scores") else y


def _attention_variables(config: Mapping[str, Any]) -> Sequence[str]:
    if config.get("score_mode") == "concat":
        return ("scale:use_scale", "concat_score_weight")
    return ("scale",) if config.get("use_scale") else ()


@LAYERS.layer("Attention", variables=_attention_variables, trained_by=("dropout",))
def attention(call: Call, given: Sequence[Value], mask: Any = None) -> Any:
    """Luong's: scores are products, or sums through tanh."""
    g = call.g
    query, value, key = _pieces(call, given)
    if call.option("score_mode", "dot") == "concat":
        both = g.AddV2(g.expand(query, -2), g.expand(key, -3))
        if call.option("use_scale", False):
            both = g.Mul(both, call.weight("scale", ()))
        scores = g.Mul(g.reduce("Sum", g.Tanh(both), -1), call.weight("concat_score_weight", ()))
    else:
        scores = g.matmul(query, key, transpose_y=True)
        if call.option("use_scale", False):
            scores = g.Mul(scores, call.weight("scale", ()))
    return _weighed(call, scores, query, value, mask)


@LAYERS.layer("AdditiveAttention", variables=lambda config: ("scale",) if config.get("use_scale", True) else (),
              trained_by=("dropout",))
def additive(call: Call, given: Sequence[Value], mask: Any = None) -> Any:
    """Bahdanau's: scores are sums through tanh, weighed."""
    g = call.g
    query, value, key = _pieces(call, given)
    both = g.Tanh(g.AddV2(g.expand(query, -2), g.expand(key, -3)))
    if call.option("use_scale", True):
        both = g.Mul(both, call.weight("scale", (shape_of(query)[-1],)))
    return _weighed(call, g.reduce("Sum", both, -1), query, value, mask)
