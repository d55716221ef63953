"""OpenCV as the judge, where it is installed; which files it is given; and the real models, through TOSA."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("google.protobuf", reason="the package 'protobuf' is not installed")

import transload
from transload.errors import ReadError, UsageError
from transload.metrics import cosine
from transload.plugin_host import host
from transload_converters.caffe.undefined import undefined

from tests.support.caffe_files import net_text, weights_bytes

RNG = np.random.default_rng(3)
WEIGHT = RNG.normal(size=(2, 3, 3, 3)).astype(np.float32)
NET = net_text("""
layer { name: "conv1" type: "Convolution" bottom: "x" top: "c"
        convolution_param { num_output: 2 kernel_size: 3 bias_term: false } }
layer { name: "act" type: "ReLU" bottom: "c" top: "c" }
layer { name: "pool" type: "Pooling" bottom: "c" top: "p" pooling_param { kernel_size: 3 stride: 2 } }
layer { name: "flat" type: "Flatten" bottom: "c" top: "f" }
""", x=(1, 3, 8, 8))


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A network, and weights that its name does not tell."""
    (tmp_path / "nets").mkdir()
    (tmp_path / "weights").mkdir()
    network, weights = tmp_path / "nets" / "net.prototxt", tmp_path / "weights" / "other.caffemodel"
    network.write_text(NET)
    weights.write_bytes(weights_bytes({"conv1": [WEIGHT]}))
    return network, weights


@pytest.fixture
def opencv() -> None:
    pytest.importorskip("cv2", reason="OpenCV is not installed")


def test_weights_that_are_named(pair: tuple[Path, Path]) -> None:
    network, weights = pair
    assert "missing" in transload.load(network).notes[0]
    module = transload.load(network, weights=weights)
    assert module.beside == (weights,) and not module.notes
    assert transload.inspect(network, "tosa", weights=weights).takes
    with pytest.raises(ReadError, match="nowhere"):
        transload.load(network, weights=weights.with_name("nowhere.caffemodel"))
    with pytest.raises(UsageError, match="no other file of weights"):
        transload.load(text="", format="mlir", weights=weights)


def test_the_command_line_takes_them(pair: tuple[Path, Path], tmp_path: Path, cli: Callable[..., tuple[int, str, str]]) -> None:
    network, weights = pair
    code, _, said = cli("convert", network, "--weights", weights, "-o", tmp_path / "out", "--no-verify")
    assert code == 0 and (tmp_path / "out" / "net.tosa").exists(), said
    code, _, said = cli("extract", network, "--weights", weights, "-o", tmp_path / "part.mlir")
    assert code == 0 and transload.inspect(tmp_path / "part.mlir").constant_bytes >= WEIGHT.nbytes, said
    np.savez(tmp_path / "x.npz", x=RNG.normal(size=(2, 1, 3, 8, 8)).astype(np.float32))
    code, table, said = cli(
        "eval", network, tmp_path / "out", "--weights", weights, "--data", tmp_path / "x.npz", "--metric", "cos")
    assert code == 0 and "cos" in table, said


def test_opencv_judges(pair: tuple[Path, Path], tmp_path: Path, opencv: None) -> None:
    network, weights = pair
    artifact = transload.convert(network, "tosa", tmp_path / "out", weights=weights)
    assert artifact.verification.status == "passed" and artifact.verification.runtime == "opencv"
    module = transload.load(network, weights=weights)
    inputs = {"x": RNG.normal(size=(1, 3, 8, 8)).astype(np.float32)}
    kept = host().get("runtimes", "opencv").opened(network, module.beside)(inputs, True)
    assert list(kept) == ["c@conv1", "c", "p", "f"]
    ours = transload.run(module, inputs, keep=True)
    for name, value in kept.items():
        np.testing.assert_allclose(ours[name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layers", ['layer { name: "y" type: "ReLU" bottom: "x" top: "y" }', """
    layer { name: "r" type: "Reshape" bottom: "x" top: "r" reshape_param { shape { dim: -1 } } }
    layer { name: "y" type: "ReLU" bottom: "r" top: "y" }
"""])
def test_vectors_are_judged(layers: str, tmp_path: Path, opencv: None) -> None:
    """OpenCV gives them as columns, which was called a defect of ours."""
    network = tmp_path / "net.prototxt"
    network.write_text(net_text(layers, x=(4,) if "Reshape" not in layers else (2, 3)))
    artifact = transload.convert(network, "tosa", tmp_path / "out")
    assert artifact.verification.status == "passed", artifact.verification.why
    x = RNG.normal(size=(4,) if "Reshape" not in layers else (2, 3)).astype(np.float32)
    (made,) = host().get("runtimes", "opencv").opened(network)({"x": x}).values()
    np.testing.assert_array_equal(made, np.maximum(x, 0).reshape(-1))


def test_boxes_are_in_caffes_order(tmp_path: Path, opencv: None) -> None:
    """OpenCV gives the best of all labels first."""
    path = tmp_path / "ssd.prototxt"
    path.write_text(net_text("""
        layer { name: "d" type: "DetectionOutput" bottom: "l" bottom: "c" bottom: "p" top: "found"
                detection_output_param { num_classes: 3 share_location: true background_label_id: 0 keep_top_k: 6
                                         nms_param { nms_threshold: 0.5 top_k: 10 }
                                         code_type: CENTER_SIZE confidence_threshold: 0.1 } }
    """, l=(1, 24), c=(1, 18), p=(1, 2, 24)))
    corners = np.array([[i / 6, 0.1, i / 6 + 0.15, 0.4] for i in range(6)], np.float32)
    priors = np.stack([corners.reshape(-1), np.full(24, 0.1, np.float32)])[None]
    inputs = {"l": np.zeros((1, 24), np.float32), "c": RNG.uniform(0, 1, (1, 18)).astype(np.float32), "p": priors}
    module = transload.load(path)
    wanted = host().get("runtimes", "opencv").opened(path)(inputs)["found"]
    assert list(wanted[0, 0, :, 1]) == sorted(wanted[0, 0, :, 1])
    np.testing.assert_allclose(transload.run(module, inputs)["found"], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("tied", [True, False])
def test_boxes_of_equal_scores_are_in_any_order(tied: bool, tmp_path: Path) -> None:
    """A softmax that is 1 for several boxes: OpenCV sorted others first, and right detections were failed."""
    path = tmp_path / "ssd.prototxt"
    path.write_text(net_text("""
        layer { name: "d" type: "DetectionOutput" bottom: "l" bottom: "c" bottom: "p" top: "found"
                detection_output_param { num_classes: 3 share_location: true background_label_id: 0 keep_top_k: 6
                                         nms_param { nms_threshold: 0.5 top_k: 10 }
                                         code_type: CENTER_SIZE confidence_threshold: 0.1 } }
    """, l=(1, 24), c=(1, 18), p=(1, 2, 24)))
    scores = np.linspace(0.2, 0.9, 18, dtype=np.float32)
    if tied:
        scores[[1, 4]] = 1.0
    module = transload.load(path)
    given = {"l": np.zeros((1, 24), np.float32), "c": scores[None], "p": RNG.uniform(0, 1, (1, 2, 24)).astype(np.float32)}
    assert ("next to equal" in undefined(module, transload.lower(module, "top"), given)) == tied


def test_what_opencv_does_not_know_is_not_judged(tmp_path: Path, opencv: None) -> None:
    network = tmp_path / "net.prototxt"
    network.write_text(net_text('layer { name: "b" type: "BatchReindex" bottom: "x" bottom: "i" top: "y" }', x=(3, 2), i=(2,)))
    artifact = transload.convert(network, "tosa", tmp_path / "out")
    assert artifact.verification.status == "skipped" and "OpenCV" in artifact.verification.why


def test_what_opencv_passes_over_is_not_judged(tmp_path: Path, opencv: None) -> None:
    """It ignores `transpose`, and failed conversions that are right."""
    network, weights = tmp_path / "net.prototxt", tmp_path / "net.caffemodel"
    network.write_text(net_text("""
        layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y"
                inner_product_param { num_output: 5 transpose: true bias_term: false } }
    """, x=(2, 4)))
    held = RNG.normal(size=(4, 5)).astype(np.float32)
    weights.write_bytes(weights_bytes({"ip": [held]}))
    artifact = transload.convert(network, "tosa", tmp_path / "out", weights=weights)
    assert artifact.verification.status == "inconclusive" and "y: an inner product with `transpose`" in artifact.verification.why
    x = RNG.normal(size=(2, 4)).astype(np.float32)
    (made,) = transload.run(transload.load(network, weights=weights), {"x": x}).values()
    np.testing.assert_allclose(made, x @ held, rtol=1e-5, atol=1e-6)


PASSED_OVER = {
    'type: "LRN" bottom: "x" top: "y" lrn_param { alpha: 0.5 k: 2 }': "`k`",
    'type: "LRN" bottom: "x" top: "y" lrn_param { local_size: 3 }': "does not say `alpha`",
    'type: "Log" bottom: "x" top: "y" log_param { base: 2 }': "`base`",
    'type: "ReLU6" bottom: "x" top: "y" relu6_param { threshold: 1 }': "`threshold`",
    'type: "Proposal" bottom: "x" bottom: "d" bottom: "i" top: "y" proposal_param { ratio: 1 scale: 1 scale: 2 }': "`min_size`",
    'type: "ROIPooling" bottom: "x" bottom: "r" top: "y" roi_pooling_param { pooled_w: 2 pooled_h: 2 }': "no image of the batch",
    'type: "Swish" bottom: "x" top: "y" swish_param { beta: 0.5 }': "`beta`",
    'type: "MVN" bottom: "x" top: "y" mvn_param { eps: 0.1 }': "`eps`",
    'type: "Reorg" bottom: "x" top: "y" reorg_param { reverse: true }': "`reverse`",
    'type: "Interp" bottom: "x" top: "y" interp_param { zoom_factor: 3 pad_beg: -1 }': "no padding",
    'type: "Interp" bottom: "x" top: "y" interp_param { zoom_factor: 2 shrink_factor: 2 }': "one factor",
    'type: "Concat" bottom: "x" bottom: "x" top: "y" concat_param { concat_dim: 2 }': "`concat_dim`",
    'type: "Concat" bottom: "x" top: "y" concat_param { axis: 0 }': "of one tensor",
    'type: "PriorBox" bottom: "x" bottom: "x" top: "y" prior_box_param { min_size: 2 variance: 0.1 }': "`clip`",
    'type: "PriorBox" bottom: "x" bottom: "x" top: "y" prior_box_param { min_size: 2 variance: 0.1 clip: true img_size: 9 }':
        "`img_size`",
    'type: "Deconvolution" bottom: "x" top: "y" convolution_param { num_output: 4 kernel_size: 2 dilation: 2 }': "`dilation`",
    'type: "Deconvolution" bottom: "x" top: "y" convolution_param { num_output: 4 kernel_size: 1 pad: 1 }': "with padding",
    'type: "Scale" bottom: "x" bottom: "z" top: "y" scale_param { bias_term: true }': "with a bias",
    'type: "Softmax" bottom: "v" top: "y" softmax_param { axis: -1 }': "a vector",
}
JUDGED = [
    'type: "LRN" bottom: "x" top: "y" lrn_param { alpha: 0.5 }',
    'type: "LRN" bottom: "x" top: "y" lrn_param { alpha: 0.5 k: 2 norm_region: WITHIN_CHANNEL }',
    'type: "Log" bottom: "x" top: "y"', 'type: "ReLU6" bottom: "x" top: "y"', 'type: "Swish" bottom: "x" top: "y"',
    'type: "MVN" bottom: "x" top: "y" mvn_param { eps: 1e-9 }', 'type: "Reorg" bottom: "x" top: "y"',
    'type: "Interp" bottom: "x" top: "y" interp_param { height: 9 width: 7 }',
    'type: "Concat" bottom: "x" bottom: "x" top: "y" concat_param { concat_dim: 1 }',
    'type: "PriorBox" bottom: "x" bottom: "x" top: "y" prior_box_param { min_size: 2 variance: 0.1 clip: false }',
    'type: "Deconvolution" bottom: "x" top: "y" convolution_param { num_output: 4 kernel_size: 2 pad: 1 }',
    'type: "Scale" bottom: "x" bottom: "z" top: "y"', 'type: "Scale" bottom: "x" top: "y" scale_param { bias_term: true }',
    'type: "Softmax" bottom: "x" top: "y" softmax_param { axis: -1 }',
    'type: "Proposal" bottom: "x" bottom: "d" bottom: "i" top: "y" proposal_param { ratio: 1 scale: 1 scale: 2 min_size: 0 }',
    'type: "ROIPooling" bottom: "x" bottom: "q" top: "y" roi_pooling_param { pooled_w: 2 pooled_h: 2 }',
]


SHAPES = {"x": (1, 4, 4, 4), "z": (4,), "v": (3,), "d": (1, 8, 4, 4), "i": (1, 3), "r": (2, 5), "q": (3, 5)}


def _unjudged(layer: str) -> str:
    text = net_text(f'layer {{ name: "l" {layer} }}', **SHAPES)
    module = transload.load(text=text, format="caffe")
    given = {name: np.zeros(type_.static_shape, np.float32) for name, type_ in module.inputs.items()}
    given["r"][1, 0] = 0.25
    return undefined(module, None, given)


@pytest.mark.parametrize("layer", PASSED_OVER)
def test_each_field_that_opencv_takes_otherwise_is_told(layer: str) -> None:
    """A right LRN with `k` was failed by OpenCV, and so were the others."""
    assert PASSED_OVER[layer] in _unjudged(layer)


@pytest.mark.parametrize("layer", JUDGED)
def test_the_same_layers_are_judged_otherwise(layer: str) -> None:
    assert not _unjudged(layer)


@pytest.mark.models
@pytest.mark.parametrize("name", ["lenet_mnist", "cifar10_quick", "mtcnn_det1", "mtcnn_det2", "ultraface_rfb_320"])
def test_real_models(models: Path, name: str, opencv: None) -> None:
    path = next((models / "caffe" / name).glob("*.prototxt"))
    module = transload.load(path)
    inputs = {key: RNG.uniform(-1, 1, type_.static_shape).astype(np.float32) for key, type_ in module.inputs.items()}
    wanted = host().get("runtimes", "opencv").opened(path, module.beside)(inputs)
    found = transload.run(transload.lower(module, "tosa"), inputs)
    for key, value in wanted.items():
        assert cosine(value.astype(np.float64), found[key].astype(np.float64)) >= 0.99999


def test_layers_of_one_name_are_not_judged(tmp_path: Path) -> None:
    """OpenCV gave the tensor of the first of them, and the verification of what is right failed."""
    (tmp_path / "m.prototxt").write_text("""input: "data" input_shape { dim: 1 dim: 4 dim: 8 dim: 8 }
        layer { name: "l" type: "Pooling" bottom: "data" top: "p" pooling_param { kernel_size: 3 } }
        layer { name: "l" type: "Sigmoid" bottom: "p" top: "y" }""")
    found = transload.convert(tmp_path / "m.prototxt", "tosa", tmp_path / "out").verification
    assert found is not None and found.status == "skipped" and "several are called 'l'" in found.why


@pytest.mark.parametrize(("other", "status"), [(1.0, "passed"), (2.0, "skipped")])
def test_weights_that_layers_share_are_not_judged_where_the_file_has_others_for_each(
    other: float, status: str, tmp_path: Path,
) -> None:
    """Caffe copies the last into the memory of both, and OpenCV gives each its own."""
    layers = "".join(
        f'layer {{ name: "{name}" type: "InnerProduct" bottom: "x" top: "{name}" param {{ name: "w" }} '
        "inner_product_param { num_output: 2 bias_term: false } }\n" for name in ("one", "two"))
    weights = RNG.normal(size=(2, 4)).astype(np.float32)
    (tmp_path / "m.prototxt").write_text(net_text(layers, x=(1, 4)))
    (tmp_path / "m.caffemodel").write_bytes(weights_bytes({"one": [weights], "two": [weights * np.float32(other)]}))
    found = transload.convert(tmp_path / "m.prototxt", "tosa", tmp_path / "out").verification
    assert found is not None and found.status == status and (status == "passed" or "layers share the weights 'w'" in found.why)
