"""The blobs of a `.caffemodel`: whose they are where layers share them, and which shapes fit a layer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("google.protobuf", reason="the package 'protobuf' is not installed")

import transload
from transload.errors import ReadError

from tests.support.caffe_files import net_text, weights_bytes, write_net

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1, 4)).astype(np.float32)
WEIGHTS = [RNG.normal(size=(2, 4)).astype(np.float32) for _ in range(2)]
BIASES = [RNG.normal(size=2).astype(np.float32) for _ in range(2)]
TWINS = "".join(
    f'layer {{ name: "{name}" type: "InnerProduct" bottom: "x" top: "{name}" param {{ name: "w" }} param {{ name: "b" }} '
    f"inner_product_param {{ num_output: 2 }} }}\n" for name in ("one", "two"))


@pytest.mark.parametrize(("held", "last"), [
    ({"one": 0}, 0), ({"two": 1}, 1), ({"one": 0, "two": 1}, 1), ({"two": 1, "one": 0}, 0), ({"one": 0, "other": 1}, 0)])
def test_what_layers_share_is_what_the_file_has_last(tmp_path: Path, held: dict[str, int], last: int) -> None:
    """Caffe copies blobs layer by layer, in the file's order, and those of layers that share one into the same memory."""
    blobs = {name: [WEIGHTS[which], BIASES[which]] for name, which in held.items()}
    module = transload.load(write_net(tmp_path, net_text(TWINS, x=X.shape), blobs))
    assert not module.notes and [op.name for op in module.ops()].count("caffe.Blob") == 2
    for value in transload.run(module, {"x": X}).values():
        np.testing.assert_allclose(value, X @ WEIGHTS[last].T + BIASES[last], rtol=1e-5, atol=1e-5)


def test_a_blob_that_is_not_shared_is_still_missing(tmp_path: Path) -> None:
    text = net_text(TWINS.replace(' param { name: "b" }', ""), x=X.shape)
    module = transload.load(write_net(tmp_path, text, {"two": [WEIGHTS[1], BIASES[1]]}))
    (note,) = module.notes
    assert "the weights of 1 layers are missing (one)" in note


LAYERS = {
    "Convolution": "convolution_param { num_output: 5 kernel_h: 1 kernel_w: 3 bias_term: false }",
    "Deconvolution": "convolution_param { num_output: 5 kernel_h: 1 kernel_w: 3 bias_term: false }",
    "InnerProduct": "inner_product_param { num_output: 5 transpose: true bias_term: false }",
    "PReLU": "", "Normalize": "norm_param { channel_shared: true }",
}


@pytest.mark.parametrize(("kind", "shape", "form", "fits"), [
    ("Convolution", (5, 3, 1, 3), "layer", True), ("Convolution", (5, 3, 3, 1), "layer", False),
    ("Convolution", (5, 3, 3, 1), "layers", False), ("Convolution", (1, 1, 5, 9), "layers", False),
    ("Deconvolution", (3, 5, 1, 3), "layer", True), ("Deconvolution", (5, 3, 1, 3), "layer", False),
    ("InnerProduct", (48, 5), "layer", True), ("InnerProduct", (48, 5), "layers", True),
    ("InnerProduct", (5, 48), "layer", False), ("InnerProduct", (5, 48), "layers", False),
    ("PReLU", (3,), "layer", True), ("PReLU", (3,), "layers", True), ("PReLU", (1, 3, 1, 1), "layer", True),
    ("Normalize", (), "layer", True), ("Normalize", (1,), "layers", True),
])
def test_weights_of_other_shapes_are_refused(tmp_path: Path, kind: str, shape: tuple[int, ...], form: str, fits: bool) -> None:
    """As many numbers in another order are not this layer's; the ones that older files have in front do not count."""
    layer = f'layer {{ name: "l" type: "{kind}" bottom: "x" top: "y" {LAYERS[kind]} }}'
    (tmp_path / "net.prototxt").write_text(net_text(layer, x=(1, 3, 4, 4)))
    (tmp_path / "net.caffemodel").write_bytes(weights_bytes({"l": [np.ones(shape, np.float32)]}, form))
    if fits:
        transload.load(tmp_path / "net.prototxt")
        return
    with pytest.raises(ReadError, match="and the layer needs the shape") as caught:
        transload.load(tmp_path / "net.prototxt")
    assert "net.caffemodel" in str(caught.value)


def test_weights_that_say_no_shape_fit_by_their_number(tmp_path: Path) -> None:
    from transload_converters.caffe import caffe_pb2

    net = caffe_pb2.NetWeights.FromString(weights_bytes({name: [WEIGHTS[0], BIASES[0]] for name in ("one", "two")}))
    for layer in net.layer:
        for blob in layer.blobs:
            blob.ClearField("shape")
    (tmp_path / "net.prototxt").write_text(net_text(TWINS, x=X.shape))
    (tmp_path / "net.caffemodel").write_bytes(net.SerializeToString())
    found = transload.run(transload.load(tmp_path / "net.prototxt"), {"x": X})
    np.testing.assert_allclose(found["one"], X @ WEIGHTS[0].T + BIASES[0], rtol=1e-5, atol=1e-5)
