"""Operators on text: refused, but for TfIdfVectorizer of numbers. Images in files, where these are constants."""

from __future__ import annotations

import numpy as np

from transload.errors import ReadError, Unsupported
from transload.ir import F32, Op, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables

from ..image_files import decoded
from .table import OnnxTable, attr, cast, choice, need, need_attr, reshape, shape_of

TABLE = OnnxTable()

_HINT = "let the program that runs the model work on the text, and give the model numbers"
TABLE.refuse({
    **{f"onnx.{name}": ("works on text, and only tensors of numbers can be converted", _HINT)
       for name in ("StringConcat", "StringSplit", "StringNormalizer", "RegexFullMatch")},
    **{f"onnx.ai.onnx.ml.{name}": ("works on texts, or on maps, and only tensors of numbers can be converted", _HINT)
       for name in ("CategoryMapper", "DictVectorizer", "CastMap", "ZipMap")},
})


@TABLE("onnx.TfIdfVectorizer")
def tf_idf_vectorizer(op: Op, rw: Rewriter) -> Value:
    """TfIdfVectorizer of numbers: how often each run of some numbers occurs, with up to so many skipped between two."""
    value = need(op, 0)
    shape = shape_of(value, least=1)
    if attr(op, "pool_int64s") is None or len(shape) > 2:
        raise Unsupported("looks for runs of texts, and only numbers can be converted", _HINT)
    names = "pool_int64s", "ngram_counts", "ngram_indexes"
    pool, begins, places = (np.array(need_attr(op, name), np.int64) for name in names)
    skips = attr(op, "max_skip_count", 0)
    if not len(begins) or places.min(initial=0) < 0 or skips < 0:
        raise Unsupported(f"has {len(begins)} lengths of runs, the places {places.tolist()[:8]}, and skips {skips} numbers",
                          "there is one length at least, and neither places nor what is skipped are below 0")
    mode, given = attr(op, "mode", "TF"), attr(op, "weights")
    weights = np.ones(len(places), np.float32) if given is None or mode == "TF" else np.array(list(given), np.float32)
    rows = value if len(shape) == 2 else reshape(rw, value, (1, *shape))
    batch, length = shape_of(rows)
    counts: list[Value] = []
    into: list[np.ndarray] = []
    first = 0
    for size, (begin, end) in enumerate(zip(begins, [*begins[1:], len(pool)], strict=True), 1):
        if not 0 <= begin <= end <= len(pool) or (end - begin) % size:
            raise Unsupported(f"numbers {begin} to {end} of its pool are no runs of {size}")
        grams = pool[begin:end].reshape(-1, size)
        own = tables.arange(first, first + len(grams))
        first += len(grams)
        if attr(op, "min_gram_length", 1) <= size <= attr(op, "max_gram_length", 1) and len(grams):
            counts.append(_occurrences(rw, rows, grams, skips if size > 1 else 0))
            into.append(own)
    if first != len(places) or len(weights) != len(places) or mode not in ("TF", "IDF", "TFIDF"):
        raise Unsupported(f"has {first} runs, {len(places)} places and {len(weights)} weights, mode {mode!r}")
    width = int(places.max(initial=-1)) + 1
    if not counts or not batch or not length:
        return rw.constant(tables.zeros((*shape[:-1], width), np.float32))
    found = counts[0] if len(counts) == 1 else rw.emit("top.Concat", *counts, axis=1)
    if mode == "IDF":
        found = rw.emit("top.Clip", found, min=0.0, max=1.0)
    taken = np.concatenate(into)
    matrix = tables.zeros((len(taken), width), np.float32)
    matrix[np.arange(len(taken)), places[taken]] = weights[taken]
    return reshape(rw, rw.emit("top.MatMul", found, rw.constant(matrix)), (*shape[:-1], width))


def _occurrences(rw: Rewriter, rows: Value, grams: np.ndarray, skips: int) -> Value:
    """How often each run [G, size] is in each row, [rows, G], its numbers next to each other or up to `skips` apart."""
    batch, length = shape_of(rows)
    count, size = grams.shape
    totals = []
    for step in range(1, skips + 2):
        starts = length - (size - 1) * step
        if starts < 1:
            break
        equal = None
        for place in range(size):
            part = rw.emit("top.Slice", rows, offset=(0, place * step), ends=(batch, place * step + starts), steps=(1, 1))
            wanted = rw.constant(grams[:, place].astype(dtype_of(rows.element)))
            same = rw.emit("top.Compare", reshape(rw, part, (batch, starts, 1)), wanted, mode="Equal")
            equal = same if equal is None else rw.emit("top.LogicalAnd", equal, same)
        assert equal is not None
        totals.append(rw.emit("top.Reduce", cast(rw, equal, F32), axes=(1,), keepdims=False, mode="ReduceSum"))
    if not totals:
        return rw.constant(tables.zeros((batch, count), np.float32))
    return totals[0] if len(totals) == 1 else rw.emit("top.Add", *totals)


@TABLE("onnx.ImageDecoder")
def image_decoder(op: Op, rw: Rewriter) -> Value:
    """ImageDecoder of a file that is a constant."""
    data = np.asarray(rw.need_constant(need(op, 0), "the image's file"), np.uint8)
    pixel_format = choice(op, "pixel_format", ("RGB", "BGR", "Grayscale"), "RGB")
    try:
        return rw.constant(decoded(data.tobytes(), pixel_format))
    except ReadError as error:
        raise Unsupported(str(error)) from None
