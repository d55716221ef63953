"""Models written in older opsets: what changed since is written by other operators, and what they lack is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import transload
from transload.errors import ConversionError, UsageError
from transload_converters.onnx.writer import model_of

from tests.support.onnx_models import make_model, node, read_model
from tests.support.onnx_out.roundtrip import run_model

pytest.importorskip("onnxruntime")

G = np.random.default_rng(2)
X = {"x": G.standard_normal((2, 6, 4, 4)).astype(np.float32)}
DIGITS = Path(__file__).parents[3] / "examples" / "digits"
CASES: dict[str, tuple[list[Any], dict[str, Any], int]] = {
    "gelu": ([node("Gelu", ["x"], ["y"])], {}, 20),
    "gelu by tanh": ([node("Gelu", ["x"], ["y"], approximate="tanh")], {}, 20),
    "mish": ([node("Mish", ["x"], ["y"])], {}, 18),
    "hard swish": ([node("HardSwish", ["x"], ["y"])], {}, 14),
    "layer norm": ([node("LayerNormalization", ["x", "g", "b"], ["y"], axis=-2)],
                   {"g": G.standard_normal((4, 4)).astype(np.float32), "b": np.ones((4, 4), np.float32)}, 17),
    "group norm": ([node("GroupNormalization", ["x", "g", "b"], ["y"], num_groups=2)],
                   {"g": np.arange(6, dtype=np.float32), "b": np.ones(6, np.float32)}, 21),
    "means": ([node("ReduceMean", ["x", "a"], ["y"])], {"a": np.array([1, 3])}, 18),
    "resized": ([node("Resize", ["x", "", "s"], ["y"], mode="linear")], {"s": np.array([1, 1, 2, 2], np.float32)}, 19),
}


@pytest.mark.parametrize("opset", range(13, 21))
@pytest.mark.parametrize("name", CASES)
def test_operators_that_changed_are_written_as_they_were(name: str, opset: int) -> None:
    nodes, constants, since = CASES[name]
    hub = transload.legalize(read_model(make_model(nodes, X, ["y"], constants, opset=21)))
    model = model_of(transload.lower(hub, "onnx", opset=opset))
    onnx.checker.check_model(model, full_check=True)
    assert model.opset_import[0].version == opset
    assert opset >= since or nodes[0].op_type not in {each.op_type for each in model.graph.node} or name in ("means", "resized")
    np.testing.assert_allclose(run_model(model, X)[0], transload.run(hub, X)["y"], rtol=1e-4, atol=1e-5)


def test_what_an_opset_lacks_is_told() -> None:
    images = np.load(DIGITS / "test_images.npz")["images"] / np.float32(16)
    samples = [{"image": image.reshape(1, 1, 8, 8)} for image in images[:16]]
    quantized = transload.quantize(transload.load(DIGITS / "digits_float.onnx"), "int16x8", samples)
    with pytest.raises(ConversionError, match="takes no int16 in opset 17"):
        transload.lower(quantized, "onnx", opset=17, form="qdq")


@pytest.mark.parametrize(("of", "given", "opset", "lack", "newer"), [
    (node("ScatterND", ["x", "i", "u"], ["y"], reduction="add"), np.float32, 15, "does not have its attribute 'reduction'", 16),
    (node("ScatterND", ["x", "i", "u"], ["y"], reduction="max"), np.float32, 17, "reduction is 'max'", 18),
    (node("Add", ["x", "x"], ["y"]), np.int16, 13, "takes no int16 in opset 13", 14),
    (node("Cast", ["x"], ["y"], to=onnx.TensorProto.INT4), np.float32, 17, "gives no int4 in opset 17", 21),
    (node("BitwiseNot", ["x"], ["y"]), np.int32, 13, "opset 13 does not have it", 18)])
def test_what_an_opset_lacks_is_told_with_one_that_has_it(of: Any, given: Any, opset: int, lack: str, newer: int) -> None:
    constants = {"i": np.array([[0]]), "u": np.ones((1, 3), given)} if len(of.input) > 2 else {}
    hub = transload.legalize(read_model(make_model([of], {"x": np.ones((2, 3), given)}, ["y"], constants, opset=21)))
    with pytest.raises(ConversionError) as told:
        transload.lower(hub, "onnx", opset=opset)
    (finding,) = told.value.findings
    assert lack in finding.why and f"--option opset={newer}`" in finding.hint
    assert transload.lower(hub, "onnx", opset=newer).attributes["onnx.opset"] == {"ai.onnx": newer}


@pytest.mark.parametrize("opset", [-1, 12, 22])
def test_an_opset_that_is_not_written_is_a_mistake_in_the_call(opset: int, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="13 to 21 can be written"):
        transload.lower(transload.load(DIGITS / "digits_float.onnx"), "onnx", opset=opset)
    with pytest.raises(UsageError, match=f"option opset is to be {opset}"):
        transload.convert(DIGITS / "digits_float.onnx", "onnx", tmp_path / "out", options={"opset": opset})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("scheme", "opset"), [("int8", 20), ("int16x8", 21)])
def test_quantized_models_are_of_the_opset_that_onnxruntime_optimizes(examples: Path, scheme: str, opset: int) -> None:
    model = transload.load(examples / "digits" / "digits_float.onnx")
    samples = [{"image": np.random.default_rng(n).random((1, 1, 8, 8), np.float32)} for n in range(4)]
    quantized = transload.quantize(model, scheme, samples, islands="none")
    assert transload.lower(quantized, "onnx", form="qdq").attributes["onnx.opset"] == {"ai.onnx": opset}
    assert transload.lower(quantized, "onnx", opset=21, form="qdq").attributes["onnx.opset"] == {"ai.onnx": 21}
    assert transload.lower(model, "onnx").attributes["onnx.opset"]["ai.onnx"] != 20


def test_a_quantized_model_of_what_came_later_is_of_that_opset_too() -> None:
    """Its normalization by groups is written by other operators, in the words of the opset."""
    weights = {"w": G.standard_normal((6, 6, 1, 1)).astype(np.float32)} | CASES["group norm"][1]
    nodes = [node("Conv", ["x", "w"], ["c"]), node("GroupNormalization", ["c", "g", "b"], ["y"], num_groups=2)]
    model = transload.legalize(read_model(make_model(nodes, X, ["y"], weights, opset=21)))
    quantized = transload.quantize(model, "int8", [X], islands="none")
    assert transload.lower(quantized, "onnx", form="qdq").attributes["onnx.opset"] == {"ai.onnx": 20}
