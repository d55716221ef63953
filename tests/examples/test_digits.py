"""The committed files of examples/digits: present, small, and as accurate as the folder says.

The accuracy is measured here with code of its own, not with the example's, so that a mistake there (in the
layout or the scaling of the images, say) does not confirm itself.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "digits"
MODELS = ["digits_float.onnx", "digits_float.tflite", "digits_int8.tflite"]


@pytest.fixture(scope="module")
def test_set() -> tuple[np.ndarray, np.ndarray]:
    """Return the held-out images, uint8 [N, 8, 8], and labels, [N]."""
    with np.load(FOLDER / "test_images.npz") as arrays:
        return arrays["images"], arrays["labels"]


@pytest.fixture(scope="module")
def report() -> dict:
    """Return the content of accuracy.json."""
    return json.loads((FOLDER / "accuracy.json").read_text())


def probabilities(name: str, images: np.ndarray) -> np.ndarray:
    """Return what a model's public runtime gives for images, as real numbers [N, 10]."""
    pixels = images.astype(np.float32) / np.float32(16.0)
    if name.endswith(".onnx"):
        runtime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
        session = runtime.InferenceSession(FOLDER / name, providers=["CPUExecutionProvider"])
        return session.run(None, {"image": pixels.reshape(-1, 1, 8, 8)})[0]

    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    resolver = litert.OpResolverType.BUILTIN_REF
    interpreter = litert.Interpreter(str(FOLDER / name), experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    [given], [result] = interpreter.get_input_details(), interpreter.get_output_details()
    if given["dtype"] == np.int8:
        # 0 to 1 in 256 steps: the input's scale is 1 / 255 and its zero point -128.
        pixels = np.round(pixels * 255.0 - 128.0).astype(np.int8)
    rows = []
    for image in pixels.reshape(-1, 1, 8, 8, 1):
        interpreter.set_tensor(given["index"], image)
        interpreter.invoke()
        rows.append(interpreter.get_tensor(result["index"])[0])
    values = np.array(rows)
    return (values + 128.0) / 256.0 if result["dtype"] == np.int8 else values


@pytest.mark.parametrize("name", [*MODELS, "test_images.npz"])
def test_files_are_small(name: str) -> None:
    assert 1_000 < (FOLDER / name).stat().st_size <= 100_000


def test_images(test_set: tuple[np.ndarray, np.ndarray]) -> None:
    images, labels = test_set
    assert (images.shape, images.dtype, images.min(), images.max()) == ((360, 8, 8), np.uint8, 0, 16)
    assert (labels.shape, set(labels.tolist())) == ((360,), set(range(10)))


@pytest.mark.parametrize("name", MODELS)
def test_measured_accuracy_is_the_stated_one(
    name: str, test_set: tuple[np.ndarray, np.ndarray], report: dict
) -> None:
    images, labels = test_set
    correct = int(np.sum(probabilities(name, images).argmax(axis=1) == labels))
    stated = report["files"][name]
    assert report["test_images"] == len(images)
    assert stated["accuracy"] == round(stated["correct"] / len(images), 4) >= 0.97
    assert stated["bytes"] == (FOLDER / name).stat().st_size
    # A runtime of another version or on another processor may round one close decision the other way.
    assert abs(correct - stated["correct"]) <= 1


def test_readme_states_the_same_numbers(report: dict) -> None:
    readme = (FOLDER / "README.md").read_text()
    for name, stated in report["files"].items():
        share = f"{stated['correct']} of {report['test_images']}"
        assert f"| `{name}` | {share} | {stated['accuracy']:.4f} | {stated['bytes']:,} |" in readme


def test_float_files_hold_the_same_network(test_set: tuple[np.ndarray, np.ndarray]) -> None:
    images, _labels = test_set
    onnx, tflite = (probabilities(name, images) for name in MODELS[:2])
    np.testing.assert_allclose(onnx, tflite, atol=2e-6)


def test_int8_file_stays_close(test_set: tuple[np.ndarray, np.ndarray]) -> None:
    images, _labels = test_set
    exact, rounded = (probabilities(name, images) for name in MODELS[1:])
    assert np.mean(np.abs(exact - rounded)) < 0.005
    np.testing.assert_allclose(rounded.sum(axis=1), 1.0, atol=10 / 256)


def test_operators_and_batch_dimension() -> None:
    schema = pytest.importorskip("ai_edge_litert.schema_py_generated", reason="LiteRT's schema is not installed")
    operators = [
        ("CONV_2D", 3),
        ("DEPTHWISE_CONV_2D", 3),
        ("CONV_2D", 3),
        ("ADD", 2),
        ("AVERAGE_POOL_2D", 2),
        ("RESHAPE", 1),
        ("FULLY_CONNECTED", 4),
        ("SOFTMAX", 2),
    ]
    builtin = {number: name for name, number in vars(schema.BuiltinOperator).items() if isinstance(number, int)}
    for name in MODELS[1:]:
        model = schema.Model.GetRootAs((FOLDER / name).read_bytes(), 0)
        graph = model.Subgraphs(0)
        found = []
        for number in range(graph.OperatorsLength()):
            code = model.OperatorCodes(graph.Operators(number).OpcodeIndex())
            found.append((builtin[code.BuiltinCode()], code.Version()))
        versions = operators if "int8" in name else [(operator, 1) for operator, _version in operators]
        assert found == versions
        image = graph.Tensors(graph.Inputs(0))
        assert image.Name() == b"image"
        assert image.ShapeSignatureAsNumpy().tolist() == [-1, 8, 8, 1]
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    [image] = onnx.load(FOLDER / MODELS[0]).graph.input
    dimensions = [size.dim_param or size.dim_value for size in image.type.tensor_type.shape.dim]
    assert (image.name, dimensions) == ("image", ["batch", 1, 8, 8])


def test_int8_quantization_follows_the_specification() -> None:
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    interpreter = litert.Interpreter(str(FOLDER / MODELS[2]))
    parameters = {
        tensor["name"]: tensor["quantization_parameters"] for tensor in interpreter.get_tensor_details()
    }
    assert parameters["probabilities"]["scales"] == 1.0 / 256.0
    assert parameters["probabilities"]["zero_points"] == -128
    assert (
        parameters["pooled"]["scales"]
        == parameters["flattened"]["scales"]
        == parameters["residual"]["scales"]
    )
    channels = {"conv1": (16, 0), "depthwise": (32, 3), "pointwise": (32, 0), "logits": (1, 0)}
    sources = {"conv1": "image", "depthwise": "conv1", "pointwise": "depthwise", "logits": "flattened"}
    for layer, (count, axis) in channels.items():
        weights, bias = parameters[f"{layer}_weights"], parameters[f"{layer}_bias"]
        assert (len(weights["scales"]), weights["quantized_dimension"]) == (count, axis)
        assert not weights["zero_points"].any() and not bias["zero_points"].any()
        products = parameters[sources[layer]]["scales"] * weights["scales"]
        np.testing.assert_allclose(bias["scales"], products, rtol=1e-6)


def test_gradients_against_differences() -> None:
    """Compare the hand-written backward pass of the training with central differences of the loss."""
    spec = importlib.util.spec_from_file_location("digits_network", FOLDER / "network.py")
    assert spec is not None and spec.loader is not None
    network = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(network)

    random = np.random.default_rng(3)
    parameters = network.initial_parameters(random)
    for name, values in parameters.items():
        # Biases that are not zero, so that few sums lie at the kink of ReLU.
        parameters[name] = values + random.normal(0.0, 0.1, values.shape)
    images, labels = random.random((4, 8, 8, 1)), np.array([1, 2, 3, 4])

    def loss() -> float:
        found = network.forward(parameters, images)["probabilities"]
        return -np.log(found[np.arange(4), labels]).mean()

    step = 1e-6
    gradient = network.gradients(parameters, network.forward(parameters, images), labels)
    for name, values in parameters.items():
        assert gradient[name].shape == values.shape
        for _ in range(5):
            place = tuple(random.integers(0, size) for size in values.shape)
            original = values[place]
            values[place] = original + step
            above = loss()
            values[place] = original - step
            below = loss()
            values[place] = original
            slope = (above - below) / (2.0 * step)
            assert slope == pytest.approx(gradient[name][place], abs=1e-7), name
