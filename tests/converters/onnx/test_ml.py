"""Operators of `ai.onnx.ml`, on models made at random, against onnxruntime, in the hub; trees in TOSA, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import input_names

from tests.support.judge_versions import newer_onnxruntime
from tests.support.onnx_models import make_model, node, read_model

G = np.random.default_rng(8)
X = G.standard_normal((7, 5)).astype(np.float32)
ML = {"domain": "ai.onnx.ml"}


def ml(name: str, outputs: tuple[str, ...] = ("y",), **attributes: Any) -> Any:
    return node(name, ["x"], list(outputs), **ML, **attributes)


# --- trees


def _trees(count: int, depth: int, mode: str, what: str, targets: int, positive: bool = False) -> dict[str, Any]:
    """The attributes of random trees, some of whose branches end early; `what` is target or class."""
    nodes: dict[str, list[Any]] = {
        key: [] for key in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")}
    leaves: dict[str, list[Any]] = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(count):
        pending, made = [(0, 0)], 1
        while pending:
            number, level = pending.pop()
            leaf = level == depth or (level and G.uniform() < 0.25)
            entry: tuple[Any, ...] = (tree, number, 0, 0.0, "LEAF", 0, 0)
            if not leaf:
                entry = (tree, number, int(G.integers(5)), float(np.float32(G.normal())), f"BRANCH_{mode}", made, made + 1)
                pending += [(made, level + 1), (made + 1, level + 1)]
                made += 2
            else:
                for target in range(targets):
                    weight = float(G.uniform(0, 0.3)) if positive else float(G.normal())
                    for key, value in zip(leaves, (tree, number, target, weight), strict=True):
                        leaves[key].append(value)
            for key, value in zip(nodes, entry, strict=True):
                nodes[key].append(value)
    named = {f"nodes_{key}": value for key, value in nodes.items()}
    return {**named, **{f"{what}_{key}": value for key, value in leaves.items()}}


def _in_tosa(hub: Any) -> dict[str, np.ndarray]:
    tosa = transload.lower(hub, "tosa", int64="assumed")
    return dict(zip(transload.run(hub, {"x": X}), transload.run(tosa, {input_names(tosa.main)[0]: X}).values(), strict=True))


@pytest.mark.parametrize("mode", ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"])
def test_regression_by_trees(compare: Callable[..., Any], mode: str) -> None:
    trees = _trees(4, 4, mode, "target", 2)
    hub = compare(ml("TreeEnsembleRegressor", n_targets=2, base_values=[0.5, -1.0], **trees), {"x": X})
    np.testing.assert_allclose(_in_tosa(hub)["y"], transload.run(hub, {"x": X})["y"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", ["AVERAGE", "MIN", "MAX"])
def test_what_trees_give_is_joined(compare: Callable[..., Any], function: str) -> None:
    compare(ml("TreeEnsembleRegressor", n_targets=1, aggregate_function=function, **_trees(5, 3, "LEQ", "target", 1)), {"x": X})


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
def test_classes_by_trees(compare: Callable[..., Any], transform: str) -> None:
    compare(ml("TreeEnsembleClassifier", ("l", "y"), classlabels_int64s=[3, 5, 9], post_transform=transform,
               **_trees(4, 3, "LEQ", "class", 3)), {"x": X}, ("l", "y"))


NO_LOGISTIC = newer_onnxruntime("gives one score of two classes without the LOGISTIC that is asked for")


@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize(("transform", "base"), [
    ("NONE", []), pytest.param("LOGISTIC", [], marks=NO_LOGISTIC), pytest.param("LOGISTIC", [0.3], marks=NO_LOGISTIC),
    ("NONE", [0.3])])
def test_two_classes_by_trees(compare: Callable[..., Any], positive: bool, transform: str, base: list[float]) -> None:
    more = {"base_values": base} if base else {}
    compare(ml("TreeEnsembleClassifier", ("l", "y"), classlabels_int64s=[3, 5], post_transform=transform, **more,
               **_trees(4, 3, "LEQ", "class", 1, positive)), {"x": X}, ("l", "y"))


def test_two_base_values_for_one_score_are_refused() -> None:
    """onnxruntime adds the first, and gives the other class 0."""
    operator = ml("TreeEnsembleClassifier", ("l", "y"), classlabels_int64s=[3, 5], base_values=[0.1, 0.3],
                  **_trees(4, 3, "LEQ", "class", 1))
    with pytest.raises(ConversionError, match="two base values for two classes of which trees score one"):
        transload.legalize(read_model(make_model([operator], {"x": X}, ["l", "y"])))


def test_missing_numbers_go_the_way_that_trees_say(compare: Callable[..., Any]) -> None:
    trees = _trees(3, 4, "LT", "target", 1)
    missing = [int(G.integers(2)) for _ in trees["nodes_modes"]]
    x = np.where(G.uniform(size=X.shape) < 0.3, np.nan, X).astype(np.float32)
    compare(ml("TreeEnsembleRegressor", n_targets=1, nodes_missing_value_tracks_true=missing, **trees), {"x": x})


# --- others


@pytest.mark.parametrize(("name", "attributes"), [
    ("Scaler", {"offset": [0.5], "scale": [2.0]}),
    ("Scaler", {"offset": [1.0, 2.0, 3.0, 4.0, 5.0], "scale": [1.0, 0.5, 2.0, 1.0, -1.0]}),
    ("Normalizer", {"norm": "L1"}), ("Normalizer", {"norm": "L2"}), ("Normalizer", {"norm": "MAX"}),
    ("Binarizer", {"threshold": 0.25}),
    ("Imputer", {"imputed_value_floats": [9.0], "replaced_value_float": float(X[2, 3])}),
    ("LinearRegressor", {"coefficients": [0.5, 1.0, -1.0, 2.0, 0.25] * 2, "intercepts": [0.5, -1.0], "targets": 2}),
    ("LabelEncoder", {"keys_floats": [float(X[0, 0]), float(X[1, 1])], "values_floats": [1.5, 2.5], "default_float": -3.0}),
    ("SVMRegressor", {"coefficients": [1.0, -0.5], "rho": [0.3], "kernel_type": "LINEAR", "kernel_params": [0.4, 0.0, 3.0],
                      "n_supports": 2, "support_vectors": X[:2].reshape(-1).tolist()}),
    ("SVMRegressor", {"coefficients": [1.0, -0.5], "rho": [0.3], "kernel_type": "RBF", "kernel_params": [0.4, 0.0, 3.0],
                      "n_supports": 2, "support_vectors": X[:2].reshape(-1).tolist()}),
    ("SVMRegressor", {"coefficients": [1.0, -0.5], "rho": [0.3], "kernel_type": "POLY", "kernel_params": [0.4, 0.1, 3.0],
                      "n_supports": 2, "support_vectors": X[:2].reshape(-1).tolist()}),
    ("SVMRegressor", {"coefficients": [1.0, -0.5], "rho": [-0.1], "kernel_type": "SIGMOID", "kernel_params": [0.4, 0.1, 3.0],
                      "n_supports": 2, "support_vectors": X[:2].reshape(-1).tolist(), "one_class": 1}),
])
def test_numbers_of_numbers(compare: Callable[..., Any], name: str, attributes: dict[str, Any]) -> None:
    compare(ml(name, **attributes), {"x": X})


def test_categories_that_must_be_known_are_noted(compare: Callable[..., Any]) -> None:
    hub = compare(ml("OneHotEncoder", ("y",), cats_int64s=[1, 3, 9], zeros=0), {"x": np.array([[3, 1], [9, 3]], np.int64)})
    assert "fails at numbers that are no category" in hub.notes[0]


def test_whole_numbers(compare: Callable[..., Any]) -> None:
    x = np.array([[3, 1, 7], [9, 3, 3]], np.int64)
    compare([ml("OneHotEncoder", ("y",), cats_int64s=[1, 3, 9]),
             ml("LabelEncoder", ("z",), keys_int64s=[3, 7], values_int64s=[30, 70], default_int64=-5),
             node("ArrayFeatureExtractor", ["x", "c"], ["w"], **ML),
             node("FeatureVectorizer", ["f", "f"], ["v"], inputdimensions=[2, 4], **ML),
             node("Cast", ["x"], ["f"], to=1)], {"x": x}, ("y", "z", "w", "v"), {"c": np.array([2, 0])})


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize("keys", [[np.nan, 1.0], [1.0, np.nan, 1.0], [0.0, -0.0, 3.0]])
def test_nan_is_a_label_from_opset_4_on(compare: Callable[..., Any], keys: list[float], version: int) -> None:
    x = np.array([1, np.nan, 3, -0.0, 0, 2], np.float32)
    compare(ml("LabelEncoder", keys_floats=keys, values_floats=[7.0, 8.0, 9.0][: len(keys)], default_float=-4.0),
            {"x": x}, ml=version)


@pytest.mark.parametrize(("classes", "transform"), [
    (1, "NONE"), pytest.param(1, "LOGISTIC", marks=NO_LOGISTIC), (2, "NONE"), (2, "LOGISTIC"), (3, "SOFTMAX"), (3, "LOGISTIC"),
    (3, "SOFTMAX_ZERO")])
def test_linear_classes(compare: Callable[..., Any], classes: int, transform: str) -> None:
    labels = [4, 6, 8][: max(classes, 2)]
    compare(ml("LinearClassifier", ("l", "y"), coefficients=G.normal(size=5 * classes).tolist(),
               intercepts=G.normal(size=classes).tolist(), classlabels_ints=labels, post_transform=transform),
            {"x": X}, ("l", "y"))


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_by_support_vectors(compare: Callable[..., Any], classes: int) -> None:
    count = 2 * classes
    compare(ml("SVMClassifier", ("l", "y"), kernel_type="RBF", kernel_params=[0.3, 0.0, 3.0],
               vectors_per_class=[2] * classes, support_vectors=G.normal(size=count * 5).tolist(),
               coefficients=G.normal(size=count * (classes - 1)).tolist(),
               rho=G.normal(size=classes * (classes - 1) // 2).tolist(), classlabels_ints=[4, 6, 8][:classes]),
            {"x": X}, ("l", "y"))


def test_classes_that_are_texts_are_refused() -> None:
    operator = ml("LinearClassifier", ("l", "y"), coefficients=[1.0] * 10, intercepts=[0.0, 1.0], classlabels_strings=["a", "b"])
    with pytest.raises(ConversionError, match="gives classes by texts"):
        transload.legalize(read_model(make_model([operator], {"x": X}, ["l", "y"])))


# --- what came with them: runs of numbers, images in files


@pytest.mark.parametrize("mode", ["TF", *(
    pytest.param(mode, marks=newer_onnxruntime("takes weights in the order of the pool, and not of ngram_indexes"))
    for mode in ("IDF", "TFIDF"))])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_runs_of_numbers(compare: Callable[..., Any], mode: str, batch: tuple[int, ...]) -> None:
    x = G.integers(1, 6, (*batch, 12)).astype(np.int32)
    operator = node("TfIdfVectorizer", ["x"], ["y"], mode=mode, min_gram_length=1, max_gram_length=2, max_skip_count=3,
                    ngram_counts=[0, 3], ngram_indexes=[0, 2, 1, 4, 3, 5], pool_int64s=[2, 3, 5, 5, 4, 1, 2, 3, 3],
                    weights=[0.5, 1.0, 2.0, 3.0, 0.25, 1.5])
    compare(operator, {"x": x})


def test_an_image_in_a_file_is_decoded_and_a_damaged_one_refused() -> None:
    import io

    image = pytest.importorskip("PIL.Image")
    pixels = G.integers(0, 256, (4, 6, 3)).astype(np.uint8)
    stream = io.BytesIO()
    image.fromarray(pixels).save(stream, "PNG")
    def model(data: bytes, pixel_format: str) -> Any:
        operator = node("ImageDecoder", ["f"], ["y"], pixel_format=pixel_format)
        return read_model(make_model([operator], {}, ["y"], {"f": np.frombuffer(data, np.uint8)}, opset=20))
    made = transload.run(transload.legalize(model(stream.getvalue(), "BGR")), {})["y"]
    np.testing.assert_array_equal(made, pixels[..., ::-1])
    with pytest.raises(ConversionError, match="no image that can be decoded"):
        transload.legalize(model(b"no image", "RGB"))


def test_distances_of_columns_that_are_far_from_zero(compare: Callable[..., Any]) -> None:
    """Years and prices: the squares of 10,000 left nothing of distances of 1 between them."""
    far = (X + 1e4).astype(np.float32)
    attributes = {"kernel_type": "RBF", "kernel_params": [0.4, 0.0, 3.0], "n_supports": 2}
    compare(ml("SVMRegressor", coefficients=[1.0, -0.5], rho=[0.3], support_vectors=far[:2].reshape(-1).tolist(), **attributes),
            {"x": far})
