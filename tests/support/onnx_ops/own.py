"""Cases of operators that ONNX's own tests leave out, with what onnxruntime gives of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import helper

__all__ = ["Case", "own_cases"]

RNG = np.random.default_rng(12)


@dataclass
class Case:
    """A model of one operator, as `onnx.backend.test` has them."""

    name: str
    model: Any
    data_sets: list[tuple[list[np.ndarray], list[np.ndarray]]]
    rtol: float = 1e-4
    atol: float = 1e-5


def _floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def _nodes() -> Iterator[tuple[Any, list[np.ndarray]]]:
    """Operators of trained models, by their attributes, and what they are given."""
    def made(name: str, outputs: int = 1, inputs: int = 1, **attributes: Any) -> Any:
        return helper.make_node(name, [f"x{i}" for i in range(inputs)], [f"y{i}" for i in range(outputs)], domain="ai.onnx.ml",
                                **attributes)

    x = _floats(5, 3)
    numbers = [float(number) for number in _floats(9)]
    yield made("LinearRegressor", coefficients=numbers[:6], intercepts=numbers[6:8], targets=2), [x]
    for post in ("NONE", "SOFTMAX", "LOGISTIC"):
        yield made("LinearClassifier", 2, coefficients=numbers, intercepts=numbers[:3], classlabels_ints=[4, 5, 9],
                   post_transform=post), [x]
    yield made("Scaler", offset=numbers[:3], scale=numbers[3:6]), [x]
    for norm in ("MAX", "L1", "L2"):
        yield made("Normalizer", norm=norm), [x]
    yield made("Imputer", imputed_value_floats=numbers[:3], replaced_value_float=float("nan")), [np.where(x > 1, np.nan, x)]
    yield made("OneHotEncoder", cats_int64s=[1, 2, 4], zeros=1), [np.array([1, 4, 3, 2], np.int64)]
    yield made("LabelEncoder", keys_int64s=[1, 2, 3], values_floats=[0.5, 2.5, -1.0], default_float=7.0), [np.array([3, 1, 8, 2])]
    yield made("FeatureVectorizer", inputs=2, inputdimensions=[3, 2]), [x, _floats(5, 2)]
    tree = {"nodes_treeids": [0] * 3 + [1] * 3, "nodes_nodeids": [0, 1, 2] * 2, "nodes_featureids": [0, 0, 0, 2, 0, 0],
            "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"] * 2, "nodes_values": [0.1, 0.0, 0.0, -0.2, 0.0, 0.0],
            "nodes_truenodeids": [1, 0, 0] * 2, "nodes_falsenodeids": [2, 0, 0] * 2}
    leaves = {"treeids": [0, 0, 1, 1], "nodeids": [1, 2, 1, 2], "weights": [0.3, 0.6, 0.2, 0.5]}
    yield made("TreeEnsembleRegressor", n_targets=2, target_ids=[0, 1, 0, 1],
               **tree, **{f"target_{key}": value for key, value in leaves.items()}), [x]
    yield made("TreeEnsembleClassifier", 2, classlabels_int64s=[0, 1, 2], class_ids=[0, 1, 2, 1],
               **tree, **{f"class_{key}": value for key, value in leaves.items()}), [x]
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        support = {"kernel_type": kernel, "kernel_params": [0.5, 0.1, 2.0], "support_vectors": [*numbers, *numbers[:3]]}
        yield made("SVMRegressor", coefficients=numbers[:4], n_supports=4, rho=[0.2], **support), [x]
        yield made("SVMClassifier", 2, classlabels_ints=[0, 1], coefficients=numbers[:4], vectors_per_class=[2, 2], rho=[0.2],
                   **support), [x]
    yield helper.make_node("GlobalLpPool", ["x0"], ["y0"], p=3), [np.abs(_floats(2, 3, 4, 5))]


def own_cases() -> list[Case]:
    """The cases, or none where onnxruntime is not installed."""
    try:
        import onnxruntime
    except ImportError:
        return []
    cases = []
    for node, arrays in _nodes():
        inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                  for name, array in zip(node.input, arrays, strict=True)]
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output]
        model = helper.make_model(helper.make_graph([node], node.op_type, inputs, outputs), ir_version=8, opset_imports=[
            helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)])
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        wanted = session.run(None, dict(zip(node.input, arrays, strict=True)))
        cases.append(Case(f"own_{node.op_type.lower()}_{len(cases)}", model, [(arrays, wanted)]))
    return cases
