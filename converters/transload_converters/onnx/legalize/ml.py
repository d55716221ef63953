"""Operators of domain `ai.onnx.ml`: what scikit-learn and its like learn, as arithmetic on tensors.

Text is refused, as everywhere. Where the definitions leave something open, what onnxruntime computes is meant.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, F64, I32, I64, Dense, Op, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables

from .table import OnnxTable, attr, cast, choice, need, need_attr, opset, reshape, shape_of

__all__ = ["TABLE", "classified", "matrix", "scored"]

TABLE = OnnxTable()

_ML = "onnx.ai.onnx.ml"
_TEXT = "works on text, and only numbers can be converted"


def numbers(op: Op, name: str, dtype: Any = np.float32) -> np.ndarray | None:
    """An attribute's numbers; None where there is none."""
    given = attr(op, name)
    if given is None:
        return None
    array = given.numpy() if isinstance(given, Dense) else np.asarray(list(given), dtype)
    if array.dtype.kind not in "iufb":
        raise Unsupported(_TEXT)
    return array.reshape(-1)


def need_numbers(op: Op, name: str, dtype: Any = np.float32) -> np.ndarray:
    """The same, of an attribute that must be there."""
    array = numbers(op, name, dtype)
    if array is None:
        raise Unsupported(f"attribute {name!r} is missing")
    return array


def matrix(rw: Rewriter, op: Op, index: int = 0) -> Value:
    """The operand as rows of floats: one row where it is a vector."""
    value = need(op, index)
    shape = shape_of(value, least=1)
    value = value if len(shape) == 2 else reshape(rw, value, (1, shape[0]) if len(shape) == 1 else (shape[0], -1))
    return value if value.element in (F32, F64) else cast(rw, value, F32)


def like(rw: Rewriter, array: Any, value: Value) -> Value:
    """A constant with the element type of `value`."""
    return rw.constant(np.asarray(array).astype(dtype_of(value.element)), element=value.element)


# --- what prepares numbers


@TABLE(f"{_ML}.ArrayFeatureExtractor")
def array_feature_extractor(op: Op, rw: Rewriter) -> Value:
    """ArrayFeatureExtractor: some columns; of a vector as one row."""
    value, places = need(op, 0), need(op, 1)
    count = int(np.prod(shape_of(places)))
    taken = rw.emit("top.Gather", value, reshape(rw, places, (count,)), axis=len(shape_of(value, least=1)) - 1)
    return reshape(rw, taken, (1, count)) if len(shape_of(value)) == 1 else taken


@TABLE(f"{_ML}.Binarizer")
def binarizer(op: Op, rw: Rewriter) -> Value:
    """Binarizer: 1 for what is above the threshold."""
    value = need(op, 0)
    above = rw.emit("top.Compare", value, like(rw, attr(op, "threshold", 0.0), value), mode="Greater")
    return cast(rw, above, value.element)


@TABLE(f"{_ML}.Scaler")
def scaler(op: Op, rw: Rewriter) -> Value:
    """Scaler: `(x - offset) * scale`, of all columns or of each its own."""
    value = need(op, 0)
    value = value if value.element in (F32, F64) else cast(rw, value, F32)
    offset, scale = numbers(op, "offset"), numbers(op, "scale")
    columns = shape_of(value, least=1)[-1]
    for array in (offset, scale):
        if array is not None and array.size not in (1, columns):
            raise Unsupported(f"has {array.size} numbers for {columns} columns")
    moved = value if offset is None else rw.emit("top.Sub", value, like(rw, offset, value))
    result = moved if scale is None else rw.emit("top.Mul", moved, like(rw, scale, value))
    return cast(rw, result, F32)


@TABLE(f"{_ML}.Normalizer")
def normalizer(op: Op, rw: Rewriter) -> Value:
    """Normalizer: each row over its greatest element, the sum of its sizes, or its length; rows of zeros stay."""
    value = need(op, 0)
    value = value if value.element in (F32, F64) else cast(rw, value, F32)
    kind, axis = choice(op, "norm", ("MAX", "L1", "L2"), "MAX"), len(shape_of(value, least=1)) - 1
    size = rw.emit("top.Reduce", value, axes=(axis,), mode={"MAX": "ReduceMax", "L1": "ReduceL1", "L2": "ReduceL2"}[kind])
    zero = rw.emit("top.Compare", size, like(rw, 0.0, value), mode="Equal")
    return cast(rw, rw.emit("top.Div", value, rw.emit("top.Where", zero, like(rw, 1.0, value), size)), F32)


@TABLE(f"{_ML}.Imputer")
def imputer(op: Op, rw: Rewriter) -> Value:
    """Imputer: other numbers in the place of one that stands for what is missing, which may be NaN."""
    value = need(op, 0)
    kind = "float" if value.is_float else "int64"
    dtype = np.float32 if value.is_float else np.int64
    instead, missing = need_numbers(op, f"imputed_value_{kind}s", dtype), attr(op, f"replaced_value_{kind}", 0)
    if instead.size not in (1, shape_of(value, least=1)[-1]):
        raise Unsupported(f"has {instead.size} numbers for {shape_of(value)[-1]} columns")
    where = rw.emit("top.IsNaN", value) if missing != missing else rw.emit(
        "top.Compare", value, like(rw, missing, value), mode="Equal")
    return rw.emit("top.Where", where, like(rw, instead, value), value)


@TABLE(f"{_ML}.FeatureVectorizer")
def feature_vectorizer(op: Op, rw: Rewriter) -> Value:
    """FeatureVectorizer: columns side by side, of each operand so many, with zeros where it has less."""
    parts = []
    for index, wanted in enumerate(need_attr(op, "inputdimensions")):
        part = cast(rw, need(op, index), F32)
        rows, columns = (*shape_of(part), 1)[:2]
        part = reshape(rw, part, (rows, columns))
        if wanted < columns:
            part = rw.emit("top.Slice", part, offset=(0, 0), ends=(rows, wanted), steps=(1, 1))
        elif wanted > columns:
            part = rw.emit("top.Pad", part, paddings=(0, 0, 0, wanted - columns), mode="constant")
        parts.append(part)
    return rw.emit("top.Concat", *parts, axis=1)


@TABLE(f"{_ML}.OneHotEncoder")
def one_hot_encoder(op: Op, rw: Rewriter) -> Value:
    """OneHotEncoder of numbers: 1 in the place of the category that each is, 0 everywhere where it is none."""
    value, categories = need(op, 0), need_numbers(op, "cats_int64s", np.int64)
    if not attr(op, "zeros", 1):
        rw.note(f"{op.origin or op.name} fails at numbers that are no category (zeros=0): here each becomes zeros")
    wide = reshape(rw, cast(rw, value, I64), (*shape_of(value), 1))
    return cast(rw, rw.emit("top.Compare", wide, rw.constant(categories), mode="Equal"), F32)


@TABLE(f"{_ML}.LabelEncoder")
def label_encoder(op: Op, rw: Rewriter) -> Value:
    """LabelEncoder of numbers: the value of the key that each is, else the default. NaN is found from opset 4 on."""
    keys, values = (_labels(op, name) for name in ("keys", "values"))
    if keys is None or values is None or keys.size != values.size or not keys.size:
        raise Unsupported(_TEXT if keys is None or values is None else f"has {keys.size} keys and {values.size} values")
    kind = "int64" if values.dtype == np.int64 else "float"
    default = numbers(op, "default_tensor")
    if default is None:
        default = np.array([attr(op, f"default_{kind}", -1 if kind == "int64" else -0.0)])
    value = need(op, 0)
    wide = reshape(rw, value, (*shape_of(value), 1))
    held = like(rw, keys, value)
    equal = rw.emit("top.Compare", wide, held, mode="Equal")
    if opset(op, "ai.onnx.ml") >= 4 and keys.dtype.kind == "f" and np.isnan(keys).any():
        unknown = rw.emit("top.LogicalAnd", rw.emit("top.IsNaN", wide), rw.constant(np.isnan(keys)))
        equal = rw.emit("top.LogicalOr", equal, unknown)
    first = rw.emit("top.Arg", cast(rw, equal, I32), axis=len(shape_of(value)), keepdims=False, mode="ArgMax", element=I32)
    found = rw.emit("top.Reduce", cast(rw, equal, I32), axes=(len(shape_of(value)),), keepdims=False, mode="ReduceMax")
    taken = rw.emit("top.Gather", rw.constant(values), first, axis=0)
    there = rw.emit("top.Compare", found, rw.constant(np.int32(0)), mode="Greater")
    return rw.emit("top.Where", there, taken, rw.constant(default.astype(values.dtype).reshape(())))


def _labels(op: Op, name: str) -> np.ndarray | None:
    for suffix, dtype in (("tensor", None), ("int64s", np.int64), ("floats", np.float32)):
        if attr(op, f"{name}_{suffix}") is not None:
            return numbers(op, f"{name}_{suffix}", dtype)
    return None


# --- scores and classes


TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""What an operator may end with."""


def scored(rw: Rewriter, scores: Value, transform: str) -> Value:
    """Scores [N, C] after the function that an operator ends with."""
    if transform == "NONE":
        return scores
    if transform == "LOGISTIC":
        return rw.emit("top.Sigmoid", scores)
    if transform == "SOFTMAX":
        return rw.emit("top.Softmax", scores, axis=1)
    if transform == "SOFTMAX_ZERO":  # where a score is 0, it stays 0
        there = cast(rw, rw.emit("top.LogicalNot", rw.emit("top.Compare", scores, like(rw, 0.0, scores), mode="Equal")),
                     scores.element)
        most = rw.emit("top.Reduce", scores, axes=(1,), mode="ReduceMax")
        powers = rw.emit("top.Mul", rw.emit("top.Exp", rw.emit("top.Sub", scores, most)), there)
        total = rw.emit("top.Reduce", powers, axes=(1,), mode="ReduceSum")
        none = rw.emit("top.Compare", total, like(rw, 0.0, scores), mode="Equal")
        return rw.emit("top.Div", powers, rw.emit("top.Where", none, like(rw, 1.0, scores), total))
    raise Unsupported(f"ends with post_transform {transform!r}", "NONE, LOGISTIC, SOFTMAX and SOFTMAX_ZERO can be converted")


def classified(op: Op, rw: Rewriter, place: Value, names: str = "classlabels_int64s") -> Value:
    """The label of each class [N]: whole numbers, or the places themselves where nothing can name them."""
    labels = numbers(op, names, np.int64)
    if labels is None or not labels.size:
        if op.results[0].uses:
            raise Unsupported("gives classes by texts, and only numbers can be converted", "take its scores alone")
        return cast(rw, place, I64)
    return rw.emit("top.Gather", rw.constant(labels), place, axis=0)


def best(rw: Rewriter, scores: Value) -> Value:
    """The place of each row's greatest score, the first of several."""
    return rw.emit("top.Arg", scores, axis=1, keepdims=False, mode="ArgMax", element=I32)


# --- linear models


@TABLE(f"{_ML}.LinearRegressor")
def linear_regressor(op: Op, rw: Rewriter) -> Value:
    """LinearRegressor: a product with a matrix."""
    return scored(rw, _linear(op, rw, attr(op, "targets", 1)), attr(op, "post_transform", "NONE"))


def _linear(op: Op, rw: Rewriter, count: int) -> Value:
    value = matrix(rw, op)
    columns, weights = shape_of(value)[1], need_numbers(op, "coefficients")
    offsets = numbers(op, "intercepts")
    if weights.size != count * columns or (offsets is not None and offsets.size not in (0, count)):
        raise Unsupported(f"has {weights.size} coefficients for {count} results of {columns} columns")
    bias = like(rw, offsets, value) if offsets is not None and offsets.size else None
    matrix_ = like(rw, weights.reshape(count, columns), value)
    return cast(rw, rw.emit("top.MatMul", value, matrix_, bias, right_transpose=True), F32)


@TABLE(f"{_ML}.LinearClassifier")
def linear_classifier(op: Op, rw: Rewriter) -> list[Value]:
    """LinearClassifier: scores of a linear model, and the class of the greatest; of two classes there may be one score."""
    columns = shape_of(matrix(rw, op))[1]
    count = need_numbers(op, "coefficients").size // max(columns, 1)
    scores = _linear(op, rw, count)
    transform = attr(op, "post_transform", "NONE")
    if count > 1:
        return [classified(op, rw, best(rw, scores), "classlabels_ints"), scored(rw, scores, transform)][: len(op.results)]
    positive = cast(rw, rw.emit("top.Compare", scores, like(rw, 0.0, scores), mode="Greater"), I32)
    place = reshape(rw, positive, (shape_of(scores)[0],))
    labels = attr(op, "classlabels_ints") or attr(op, "classlabels_strings") or ()
    if len(labels) != 2:
        raise Unsupported(f"has one score for {len(labels)} classes")
    both = second_class(rw, scores, transform, complement=True)
    return [classified(op, rw, place, "classlabels_ints"), both][: len(op.results)]


def second_class(rw: Rewriter, score: Value, transform: str, complement: bool = False) -> Value:
    """The scores of two classes of which one is computed, `score` [N, 1]: the other is its negative, or what it lacks to 1."""
    other = rw.emit("top.Neg", score)
    if transform not in ("NONE", "LOGISTIC"):
        raise Unsupported(f"has one score for two classes and post_transform {transform!r}", "NONE and LOGISTIC can be converted")
    if complement and transform == "NONE":
        return rw.emit("top.Concat", rw.emit("top.AddConst", other, const_val=1.0), score, axis=1)
    both = rw.emit("top.Concat", other, score, axis=1)
    return rw.emit("top.Sigmoid", both) if transform == "LOGISTIC" else both


# --- support vectors


def _kernel(op: Op, rw: Rewriter, value: Value, vectors: np.ndarray) -> Value:
    """The kernel of each row with each vector, [rows, vectors]."""
    kind = attr(op, "kernel_type", "LINEAR")
    gamma, offset, degree = [*(attr(op, "kernel_params") or ()), 0.0, 0.0, 0.0][:3]
    if kind == "RBF":  # of differences: squares of columns far from 0 would cancel out
        rows, columns = shape_of(value)
        apart = rw.emit("top.Sub", reshape(rw, value, (rows, 1, columns)), like(rw, vectors[None], value))
        away = rw.emit("top.Reduce", rw.emit("top.Square", apart), axes=(2,), keepdims=False, mode="ReduceSum")
        return rw.emit("top.Exp", rw.emit("top.MulConst", away, const_val=-float(gamma)))
    product = rw.emit("top.MatMul", value, like(rw, vectors, value), right_transpose=True)
    if kind == "LINEAR":
        return product
    if kind not in ("POLY", "SIGMOID"):
        raise Unsupported(f"has kernel {kind!r}, and LINEAR, POLY, RBF and SIGMOID can be converted")
    moved = rw.emit("top.AddConst", rw.emit("top.MulConst", product, const_val=float(gamma)), const_val=float(offset))
    return rw.emit("top.Tanh", moved) if kind == "SIGMOID" else rw.emit("top.Pow", moved, like(rw, degree, value))


@TABLE(f"{_ML}.SVMRegressor")
def svm_regressor(op: Op, rw: Rewriter) -> Value:
    """SVMRegressor: a sum of kernels with the support vectors, or of columns; of one class its sign."""
    value = matrix(rw, op)
    weights, rho, count = need_numbers(op, "coefficients"), need_numbers(op, "rho"), attr(op, "n_supports", 0)
    columns = shape_of(value)[1]
    if count:
        vectors = need_numbers(op, "support_vectors")
        if vectors.size != count * columns or weights.size != count:
            raise Unsupported(f"has {vectors.size} numbers in {count} support vectors of {columns} columns")
        value = _kernel(op, rw, value, vectors.reshape(count, columns))
    elif weights.size != columns:
        raise Unsupported(f"has {weights.size} coefficients for {columns} columns")
    total = rw.emit("top.MatMul", value, like(rw, weights.reshape(-1, 1), value))
    total = rw.emit("top.AddConst", total, const_val=float(rho[0]))
    if attr(op, "one_class", 0):
        positive = rw.emit("top.Compare", total, like(rw, 0.0, total), mode="Greater")
        return cast(rw, rw.emit("top.Where", positive, like(rw, 1.0, total), like(rw, -1.0, total)), F32)
    return cast(rw, total, F32)


@TABLE(f"{_ML}.SVMClassifier")
def svm_classifier(op: Op, rw: Rewriter) -> list[Value]:
    """SVMClassifier: each two classes decide for one of them, and the class with most votes, the first of several, is it."""
    value = matrix(rw, op)
    columns, rows = shape_of(value)[1], shape_of(value)[0]
    sizes, rho = numbers(op, "vectors_per_class", np.int64), need_numbers(op, "rho")
    if attr(op, "prob_a"):
        raise Unsupported("gives probabilities, which are found by iteration", "export the model without probabilities")
    if sizes is None or not sizes.sum():
        raise Unsupported("has no support vectors", "a LinearClassifier is the same, and can be converted")
    classes, count = len(sizes), int(sizes.sum())
    vectors, weights = need_numbers(op, "support_vectors"), need_numbers(op, "coefficients")
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    if vectors.size != count * columns or weights.size != count * (classes - 1) or rho.size != len(pairs) or classes < 2:
        raise Unsupported(f"has {vectors.size} numbers in {count} support vectors of {columns} columns for {classes} classes")
    begins = np.cumsum(sizes) - sizes
    weights = weights.reshape(classes - 1, count)
    deciding = tables.zeros((count, len(pairs)), np.float32)
    votes = tables.zeros((2, len(pairs), classes), np.float32)
    for column, (i, j) in enumerate(pairs):
        first, second = (slice(begins[each], begins[each] + sizes[each]) for each in (i, j))
        deciding[first, column], deciding[second, column] = weights[j - 1, first], weights[i, second]
        votes[0, column, i] = votes[1, column, j] = 1
    kernels = _kernel(op, rw, value, vectors.reshape(count, columns))
    scores = rw.emit("top.Add", rw.emit("top.MatMul", kernels, like(rw, deciding, value)), like(rw, rho, value))
    positive = cast(rw, rw.emit("top.Compare", scores, like(rw, 0.0, scores), mode="Greater"), scores.element)
    negative = rw.emit("top.AddConst", rw.emit("top.Neg", positive), const_val=1.0)
    counted = rw.emit("top.Add", rw.emit("top.MatMul", positive, like(rw, votes[0], value)),
                      rw.emit("top.MatMul", negative, like(rw, votes[1], value)))
    place = best(rw, counted)
    transform, given = attr(op, "post_transform", "NONE"), cast(rw, scores, F32)
    labels = classified(op, rw, place, "classlabels_ints")
    if classes == 2:
        return [labels, second_class(rw, reshape(rw, given, (rows, 1)), transform)][: len(op.results)]
    return [labels, scored(rw, given, transform)][: len(op.results)]
