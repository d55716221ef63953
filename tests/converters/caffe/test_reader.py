"""Reading Caffe's files: the formats of all ages, rules of phases, names, weights, and what is wrong said with its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("google.protobuf", reason="the package 'protobuf' is not installed")

import transload
from transload.errors import ConversionError, ReadError, TransloadError, UsageError
from transload.ir import Module
from transload_converters.caffe.shapes import RULES

from tests.support.caffe_files import net_text, weights_bytes, write_net

RNG = np.random.default_rng(0)
WEIGHT, BIAS = RNG.normal(size=(2, 3, 1, 1)).astype(np.float32), np.array([1, -2], np.float32)
CONV = 'layer { name: "c" type: "Convolution" bottom: "x" top: "c" convolution_param { num_output: 2 kernel_size: 1 } }\n'
X = RNG.normal(size=(1, 3, 4, 4)).astype(np.float32)
EXPECTED = np.einsum("oc,nchw->nohw", WEIGHT[:, :, 0, 0], X) + BIAS[:, None, None]


def load_text(text: str, **inputs: tuple[int, ...]) -> Module:
    return transload.load(text=text, format="caffe", inputs=inputs)


def output_of(module: Module, **inputs: np.ndarray) -> np.ndarray:
    (value,) = transload.run(module, inputs).values()
    return value


@pytest.mark.parametrize("said", [
    'input: "x" input_dim: 1 input_dim: 3 input_dim: 4 input_dim: 4',
    'input: "x" input_shape { dim: [1, 3, 4, 4] }',
    'layer { name: "d" type: "Input" top: "x" input_param { shape < dim: 1, dim: 3; dim: 4 dim: 4 > } }',
    'input: "x"',
])
def test_inputs_in_all_styles(tmp_path: Path, said: str) -> None:
    path = write_net(tmp_path, f"{said}\n{CONV}", {"c": [WEIGHT, BIAS]})
    module = transload.load(path, inputs={"x": (1, 3, 4, 4)})
    assert list(module.inputs) == ["x"] and str(module.outputs["c"]) == "tensor<1x2x4x4xf32>"
    np.testing.assert_allclose(output_of(module, x=X), EXPECTED, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["Convolution", "Deconvolution"])
def test_a_layer_of_several_bottoms_is_an_op_for_each(tmp_path: Path, kind: str) -> None:
    layer = CONV.replace('bottom: "x" top: "c"', 'bottom: "x" bottom: "y" top: "c" top: "d"').replace("Convolution", kind)
    weight = WEIGHT if kind == "Convolution" else WEIGHT.transpose(1, 0, 2, 3)
    module = transload.load(write_net(tmp_path, net_text(layer, x=X.shape, y=X.shape), {"c": [weight, BIAS]}))
    assert [op.name for op in module.ops()].count("caffe.Blob") == 2
    found = transload.run(module, {"x": X, "y": 2 * X})
    bias = BIAS[:, None, None]
    np.testing.assert_allclose(found["c"], EXPECTED, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found["d"], 2 * (EXPECTED - bias) + bias, rtol=1e-5, atol=1e-5)
    bare = load_text(net_text(layer, x=X.shape, y=X.shape))
    assert "the weights of 1 layers are missing (c)" in bare.notes[0]
    with pytest.raises(ReadError, match="has bottoms of several shapes"):
        load_text(net_text(layer, x=X.shape, y=(1, 3, 5, 5)))


def test_any_shape_can_be_asked_for(tmp_path: Path) -> None:
    path = write_net(tmp_path, net_text(CONV, x=(64, 3, 8, 8)), {"c": [WEIGHT, BIAS]})
    assert str(transload.load(path, inputs={"x": (1, 3, 4, 4)}).outputs["c"]) == "tensor<1x2x4x4xf32>"
    with pytest.raises(UsageError, match="4 dimensions, and 2 sizes"):
        transload.load(path, inputs={"x": (1, 3)})


V1 = """
layers { name: "c" type: CONVOLUTION bottom: "x" top: "c" blobs_lr: 1 convolution_param { num_output: 2 kernel_size: 1 } }
layers { name: "r" type: RELU bottom: "c" top: "c" }
layers { name: "ip" type: INNER_PRODUCT bottom: "c" top: "ip" inner_product_param { num_output: 2 } }
"""
V0 = """
layers { layer { name: "p" type: "padding" pad: 1 } bottom: "x" top: "p" }
layers { layer { name: "c" type: "conv" num_output: 2 kernelsize: 3 biasterm: false } bottom: "p" top: "c" }
layers { layer { name: "m" type: "pool" kernelsize: 2 stride: 2 pool: AVE } bottom: "c" top: "m" }
"""


@pytest.mark.parametrize("form", ["layer", "layers", "v0"])
def test_layers_of_the_second_format(tmp_path: Path, form: str) -> None:
    text = 'input: "x" input_dim: [1, 3, 4, 4]\n' + V1
    product = RNG.normal(size=(2, 32)).astype(np.float32)
    (tmp_path / "net.prototxt").write_text(text)
    (tmp_path / "net.caffemodel").write_bytes(weights_bytes({"c": [WEIGHT, BIAS], "ip": [product, BIAS]}, form))
    found = output_of(transload.load(tmp_path / "net.prototxt"), x=X)
    np.testing.assert_allclose(found, np.maximum(EXPECTED, 0).reshape(1, -1) @ product.T + BIAS, rtol=1e-4, atol=1e-4)


def test_layers_of_the_first_format(tmp_path: Path) -> None:
    weight = RNG.normal(size=(2, 3, 3, 3)).astype(np.float32)
    text = 'input: "x" input_dim: [1, 3, 4, 4]\n' + V0
    (tmp_path / "net.prototxt").write_text(text)
    (tmp_path / "net.caffemodel").write_bytes(weights_bytes({"c": [weight]}, "v0"))
    module = transload.load(tmp_path / "net.prototxt")
    conv = next(op for op in module.ops() if op.name == "caffe.Convolution")
    assert conv.attribute("pad") == (1,) and [op.name for op in module.ops()].count("caffe.Pooling") == 1
    assert output_of(module, x=X).shape == (1, 2, 2, 2)


def test_rules_of_phases_and_layers_of_training() -> None:
    module = load_text(net_text("""
        layer { name: "t" type: "ReLU" bottom: "x" top: "y" include { phase: TRAIN } }
        layer { name: "e" type: "TanH" bottom: "x" top: "y" include { phase: TEST } }
        layer { name: "d" type: "AbsVal" bottom: "y" top: "y" exclude { phase: TEST } }
        layer { name: "s" type: "Sigmoid" bottom: "y" top: "y" exclude { stage: "deploy" } exclude { phase: TRAIN } }
        layer { name: "l" type: "SoftmaxWithLoss" bottom: "y" bottom: "x" top: "loss" }
    """, x=(1, 4)))
    assert [op.name for op in module.ops()] == ["caffe.TanH", "caffe.Sigmoid", "func.return"]
    assert list(module.outputs) == ["y"] and "'l' (SoftmaxWithLoss)" in module.notes[0]


def test_a_network_for_training_is_one_for_its_data() -> None:
    text = """
        layer { name: "d" type: "Data" top: "x" top: "label" include { phase: TEST }
                data_param { source: "lmdb" batch_size: 2 backend: LMDB } transform_param { crop_size: 4 mean_value: 3 } }
        layer { name: "s" type: "Silence" bottom: "label" }
        layer { name: "r" type: "ReLU" bottom: "x" top: "r" }
        layer { name: "a" type: "Accuracy" bottom: "r" bottom: "label" top: "a" }
    """
    with pytest.raises(ReadError, match="no static shape") as caught:
        load_text(text)
    assert "x" in caught.value.hint
    assert list(load_text(text, x=(2, 3, 4, 4)).inputs) == ["x"]


TRAINED = """
    layer {{ name: "d" type: "Data" top: "x" top: "label" include {{ phase: TRAIN }}
            data_param {{ source: "lmdb" batch_size: 64 backend: LMDB }} transform_param {{ scale: 0.5 }} }}
    {}
    layer {{ name: "r" type: "ReLU" bottom: "x" top: "r" }}
    layer {{ name: "l" type: "SoftmaxWithLoss" bottom: "r" bottom: "label" top: "l" }}
"""


def test_data_of_training_alone_are_inputs() -> None:
    """A `.caffemodel` holds the network that was trained, whose data only the phase TRAIN has."""
    with pytest.raises(ReadError, match="no static shape"):
        load_text(TRAINED.format(""))
    module = load_text(TRAINED.format(""), x=(1, 3, 4, 4))
    assert list(module.inputs) == ["x"] and list(module.outputs) == ["r"]
    assert "layer 'd' (Data) is of another phase or stage, and what it gives was taken as input" in module.notes
    assert any("--scale 0.5" in note for note in module.notes)


@pytest.mark.parametrize("own", [
    'layer { name: "t" type: "Input" top: "x" input_param { shape { dim: 1 dim: 2 } } include { phase: TEST } }',
    'input: "x" input_shape { dim: [1, 2] }'])
def test_data_of_training_are_no_inputs_where_others_are(own: str) -> None:
    module = load_text(TRAINED.format(own))
    assert str(module.inputs["x"]) == "tensor<1x2xf32>" and not any("another phase" in note for note in module.notes)


def test_what_nothing_gives_is_not_taken_from_training() -> None:
    layers = TRAINED.format('layer { name: "a" type: "AbsVal" bottom: "x" top: "z" include { phase: TRAIN } }')
    with pytest.raises(ReadError, match="takes 'z', which nothing gives"):
        load_text(layers.replace('bottom: "x" top: "r"', 'bottom: "z" top: "r"'))


@pytest.mark.parametrize(("layers", "outputs"), [
    ('layer { name: "p" type: "Split" bottom: "x" top: "a" top: "b" } layer { name: "s" type: "Silence" bottom: "a" }', ["b"]),
    ('layer { name: "p" type: "TanH" bottom: "x" top: "a" } layer { name: "s" type: "Silence" bottom: "a" } '
     'layer { name: "q" type: "ReLU" bottom: "x" top: "a" }', ["a"]),
])
def test_what_is_silenced_is_no_output(layers: str, outputs: list[str]) -> None:
    assert list(load_text(net_text(layers, x=(1, 4))).outputs) == outputs


def test_what_a_layer_of_data_does_to_images_is_said(tmp_path: Path) -> None:
    """It was left out without a word, and three means say three channels."""
    def load(transform: str, **inputs: tuple[int, ...]) -> transload.Module:
        return load_text(f"""
            layer {{ name: "data" type: "Data" top: "x" top: "label" data_param {{ source: "lmdb" batch_size: 2 backend: LMDB }}
                    transform_param {{ {transform} }} }}
            layer {{ name: "r" type: "ReLU" bottom: "x" top: "r" }}
        """, **inputs)

    module = load("crop_size: 4 mean_value: 104 mean_value: 117.5 mean_value: 123 scale: 0.5 mirror: true")
    assert module.inputs["x"].shape == (2, 3, 4, 4)
    assert module.notes == (
        "what layer 'data' does to images (transform_param) is no part of the model: of images --mean 104,117.5,123 --scale 0.5 "
        "--pixel-format bgr does it; 4 rows and columns from the middle are taken",)
    with pytest.raises(ReadError, match="no static shape"):
        load("mean_value: 3")
    (note,) = load('mean_file: "mean.binaryproto"', x=(2, 3, 4, 4)).notes
    assert note.endswith("the mean image 'mean.binaryproto' is to be subtracted")
    assert not load("mirror: true", x=(2, 3, 4, 4)).notes


def test_in_place_layers_keep_the_names_of_blobs() -> None:
    module = load_text(net_text("""
        layer { name: "a" type: "ReLU" bottom: "x" top: "y" }
        layer { name: "b" type: "TanH" bottom: "y" top: "y" }
        layer { name: "c" type: "AbsVal" bottom: "y" top: "z" }
    """, x=(1, 4)))
    assert [op.results[0].name for op in module.ops() if op.results] == ["y@a", "y", "z"]
    assert list(module.outputs) == ["z"]


def test_shared_weights_are_one_value(tmp_path: Path) -> None:
    layers = "".join(
        f'layer {{ name: "{name}" type: "InnerProduct" bottom: "x" top: "{name}" param {{ name: "w" }} param {{ name: "b" }} '
        f"inner_product_param {{ num_output: 2 }} }}\n" for name in ("one", "two"))
    product = RNG.normal(size=(2, 4)).astype(np.float32)
    module = transload.load(write_net(tmp_path, net_text(layers, x=(1, 4)), {"one": [product, BIAS], "two": [product, BIAS]}))
    first, second = (op for op in module.ops() if op.name == "caffe.InnerProduct")
    assert first.operands[1:] == second.operands[1:]


def test_a_layer_of_too_many_weights_is_named() -> None:
    layer = CONV.replace("kernel_size: 1", "kernel_size: 4294967295 pad: 4294967295")
    with pytest.raises(ReadError, match=r"(?s)the network is not valid.*layer 'c' at 'c': would need weights of the shape"):
        load_text(net_text(layer, x=(1, 3, 4, 4)))


def test_a_network_without_weights_names_what_is_missing() -> None:
    module = load_text(net_text(CONV, x=(1, 3, 4, 4)))
    assert str(module.outputs["c"]) == "tensor<1x2x4x4xf32>" and "missing (c): no file of weights was given" in module.notes[0]
    with pytest.raises(ConversionError) as caught:
        transload.legalize(module)
    assert "weights are missing" in str(caught.value) and "--weights" in str(caught.value)


@pytest.mark.parametrize(("network", "weights"), [
    ("net.prototxt", "net.caffemodel"), ("net_deploy.prototxt", "net_iter_500.caffemodel"),
    ("deploy.prototxt", "squeeze.caffemodel"),
])
def test_the_file_beside_it_is_found_from_both(tmp_path: Path, network: str, weights: str) -> None:
    (tmp_path / network).write_text(net_text(CONV, x=(1, 3, 4, 4)))
    (tmp_path / weights).write_bytes(weights_bytes({"c": [WEIGHT, BIAS]}))
    for given, other in ((network, weights), (weights, network)):
        module = transload.load(tmp_path / given)
        assert module.beside == (tmp_path / other,)
        np.testing.assert_allclose(output_of(module, x=X), EXPECTED, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("content", [b"", b"\x0a\x03net"], ids=["empty", "named"])
def test_an_empty_file_of_weights_has_none(content: bytes, tmp_path: Path) -> None:
    """It is a message of Caffe's without layers, which a network of layers without weights needs no more of."""
    relu = 'layer { name: "r" type: "ReLU" bottom: "x" top: "y" }'
    for name, layers in (("plain", relu), ("heavy", CONV)):
        (tmp_path / f"{name}.prototxt").write_text(net_text(layers, x=(1, 3, 4, 4)))
        (tmp_path / f"{name}.caffemodel").write_bytes(content)
    for suffix in ("prototxt", "caffemodel"):
        np.testing.assert_array_equal(output_of(transload.load(tmp_path / f"plain.{suffix}"), x=X), np.maximum(X, 0))
        heavy = transload.load(tmp_path / f"heavy.{suffix}")
        assert any("heavy.caffemodel has none for them" in note for note in heavy.notes)
        with pytest.raises(ConversionError, match="these weights are missing"):
            transload.legalize(heavy)
    (tmp_path / "alone.caffemodel").write_bytes(content)
    with pytest.raises(ReadError, match="holds no layers" if content else "is empty"):
        transload.load(tmp_path / "alone.caffemodel")


def test_of_several_networks_it_is_the_one_for_use(tmp_path: Path) -> None:
    for name in ("deploy", "train_val", "solver"):
        (tmp_path / f"{name}.prototxt").write_text(net_text(CONV, x=(1, 3, 4, 4)))
    (tmp_path / "squeeze.caffemodel").write_bytes(weights_bytes({"c": [WEIGHT, BIAS]}))
    assert transload.load(tmp_path / "squeeze.caffemodel").beside == (tmp_path / "deploy.prototxt",)


def test_of_several_files_none_is_guessed(tmp_path: Path) -> None:
    (tmp_path / "net.prototxt").write_text(net_text(CONV, x=(1, 3, 4, 4)))
    for name in ("one", "two"):
        (tmp_path / f"{name}.caffemodel").write_bytes(weights_bytes({"c": [WEIGHT, BIAS]}))
    assert "missing" in transload.load(tmp_path / "net.prototxt").notes[0]


def test_weights_with_their_network_are_enough(tmp_path: Path) -> None:
    from transload_converters.caffe import caffe_pb2
    from transload_converters.caffe.network import parse_text

    net, _ = parse_text(memoryview(net_text(CONV, x=(1, 3, 4, 4)).encode()), "x")
    held = caffe_pb2.NetParameter.FromString(weights_bytes({"c": [WEIGHT, BIAS]})).layer[0].blobs
    net.layer[1].blobs.extend(held)
    (tmp_path / "whole.caffemodel").write_bytes(net.SerializeToString())
    np.testing.assert_allclose(
        output_of(transload.load(tmp_path / "whole.caffemodel"), x=X), EXPECTED, rtol=1e-5, atol=1e-5)
    (tmp_path / "alone.caffemodel").write_bytes(weights_bytes({"c": [WEIGHT, BIAS]}))
    with pytest.raises(ReadError, match="weights alone, and no network") as caught:
        transload.load(tmp_path / "alone.caffemodel")
    assert ".prototxt" in caught.value.hint


def binary(tmp_path: Path, layer: str, inside: str = "", unnamed: bytes = b"") -> Path:
    """A network without text of this layer, with serialized fields in it, or in a message of it."""
    from transload_converters.caffe.network import parse_text

    net, _ = parse_text(memoryview(net_text(layer, x=(1, 4, 4, 4)).encode()), "x")
    holder = getattr(net.layer[1], inside) if inside else net.layer[1]
    holder.MergeFromString(unnamed)
    (tmp_path / "net.caffemodel").write_bytes(net.SerializeToString())
    return tmp_path / "net.caffemodel"


POOL = 'layer { name: "p" type: "Pooling" bottom: "x" top: "y" pooling_param { kernel_size: 2 } }'
DROP = 'layer { name: "d" type: "Dropout" bottom: "x" top: "y" dropout_param { dropout_ratio: 0.5 } }'
SHUFFLE = 'layer { name: "s" type: "ShuffleChannel" bottom: "x" top: "y" }'


@pytest.mark.parametrize(("layer", "inside", "unnamed", "why"), [
    (POOL, "pooling_param", b"\xf8\x07\x01", "layer 'p': field 127 of pooling_param"),
    (DROP, "dropout_param", b"\x10\x00", "layer 'd': field 2 of dropout_param"),  # forks mean several things by it
    (SHUFFLE, "", b"\xd2\x09\x02\x08\x02", "layer 's': field 154"),  # its parameters have other numbers in every fork
])
def test_fields_that_have_no_name_are_refused(tmp_path: Path, layer: str, inside: str, unnamed: bytes, why: str) -> None:
    with pytest.raises(ReadError, match="network is not valid") as caught:
        transload.load(binary(tmp_path, layer, inside, unnamed))
    (finding,) = caught.value.findings
    assert why in finding.what and "which has names" in finding.hint


@pytest.mark.parametrize(("layer", "inside", "unnamed"), [
    (POOL, "pooling_param", b"\x58\x01"), (POOL, "", b"\xa2\x49\x02\x08\x02"), (SHUFFLE, "", b"\x2d\x00\x00\x80\x3f"),
])
def test_numbers_of_engines_and_rates_mean_nothing(tmp_path: Path, layer: str, inside: str, unnamed: bytes) -> None:
    assert not transload.load(binary(tmp_path, layer, inside, unnamed)).notes


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_blobs_of_doubles_and_halves(tmp_path: Path, dtype: type) -> None:
    from transload_converters.caffe import caffe_pb2

    content = weights_bytes({"c": [WEIGHT.astype(np.float64), BIAS]})
    if dtype is np.float16:
        net = caffe_pb2.NetWeights.FromString(weights_bytes({"c": [WEIGHT, BIAS]}))
        blob = net.layer[0].blobs[0]
        del blob.data[:]
        blob.raw_data, blob.raw_data_type = WEIGHT.astype(np.float16).tobytes(), 2
        content = net.SerializeToString()
    (tmp_path / "net.prototxt").write_text(net_text(CONV, x=(1, 3, 4, 4)))
    (tmp_path / "net.caffemodel").write_bytes(content)
    np.testing.assert_allclose(output_of(transload.load(tmp_path / "net.prototxt"), x=X), EXPECTED, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("size", [4, 4096])
@pytest.mark.parametrize(("floats", "doubles", "said"), [
    (2, 0, "holds {} numbers"), (0, 0.5, "holds {} numbers"), (1, 0, ""), (0, 1, ""), (1, 1, "")])
def test_numbers_are_of_the_field_they_lie_in(tmp_path: Path, size: int, floats: float, doubles: float, said: str) -> None:
    """Twice as many floats as there are weights were taken for doubles; of both the doubles hold, as in `Blob::FromProto`."""
    from transload_converters.caffe import caffe_pb2

    net = caffe_pb2.NetWeights.FromString(weights_bytes({"ip": [np.zeros((1, size), np.float32)]}))
    blob = net.layer[0].blobs[0]
    del blob.data[:]
    blob.data.extend([1.0] * int(floats * size))
    blob.double_data.extend([2.0] * int(doubles * size))
    layer = ('layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y" '
             "inner_product_param { num_output: 1 bias_term: false } }")
    (tmp_path / "net.prototxt").write_text(net_text(layer, x=(1, size)))
    (tmp_path / "net.caffemodel").write_bytes(net.SerializeToString())
    if said:
        with pytest.raises(ReadError, match=said.format(int((floats + doubles) * size))):
            transload.load(tmp_path / "net.prototxt")
        return
    made = output_of(transload.load(tmp_path / "net.prototxt"), x=np.ones((1, size), np.float32))
    np.testing.assert_array_equal(made, [[size * (2 if doubles else 1)]])


def test_large_weights_stay_in_the_file(tmp_path: Path) -> None:
    size = 4096
    product = np.ones((size, size), np.float32)
    text = net_text(f'layer {{ name: "p" type: "InnerProduct" bottom: "x" top: "y" inner_product_param {{ num_output: {size} '
                    "bias_term: false } }", x=(1, size))
    # The message by hand: the parser would take seconds to hold as many numbers.
    from transload.protobuf import varint

    data = product.tobytes()
    shape = b"\x3a" + varint(len(dim := b"\x0a" + varint(4) + varint(size) + varint(size))) + dim
    blob = shape + b"\x2a" + varint(len(data)) + data
    layer = b"\x0a\x01p" + b"\x3a" + varint(len(blob)) + blob
    (tmp_path / "net.prototxt").write_text(text)
    (tmp_path / "net.caffemodel").write_bytes(b"\xa2\x06" + varint(len(layer)) + layer)
    module = transload.load(tmp_path / "net.prototxt")
    value = next(op for op in module.ops() if op.name == "caffe.Blob").attribute("value").numpy()
    assert value.shape == (size, size) and value[-1, -1] == 1 and not value.flags.owndata


@pytest.mark.parametrize(("written", "name"), [
    (r'"d\303\251"', "d\u00e9"), (r'"d\xc3" "\xa9"', "d\u00e9"), ('"d\u00e9"', "d\u00e9"), (r'"d\u00e9"', "d\u00e9"),
    (r'"\U0001F600"', "\U0001f600"), (r'"\144\t\?\"\1034"', 'd\t?"C4'), (r'"\351"', "\u00e9"), (r'"\U99999999"', "U99999999")])
def test_escapes_in_texts_are_bytes_of_utf_8(written: str, name: str) -> None:
    """As protobuf writes them; what is not UTF-8 is Latin-1, as older editors wrote it."""
    module = load_text(f'input: {written} input_dim: [1, 3, 4, 4] layer {{ name: "r" type: "ReLU" bottom: {written} top: "y" }}')
    assert list(module.inputs) == [name]


def test_bytes_in_texts_are_kept() -> None:
    from transload_converters.caffe.network import parse_text

    net, _ = parse_text(memoryview(rb'layer { blobs { raw_data: "\303\251\351" } }'), "x")
    assert net.layer[0].blobs[0].raw_data == b"\xc3\xa9\xe9"


# --- what is wrong

BROKEN = {
    'layer { name: "r" type: "ReLU" bottom: "x" top: "y" relu_param { negative_slope: "a" } }': "it is no text",
    'layer { name: "r" type: "ReLU" bottom: "x" top: "y" relu_param { slope: 1 } }': "is no field of the parameters of ReLU",
    'layer { name: "r" type: "ReLU" bottom: "nowhere" top: "y" }': "takes 'nowhere', which nothing gives",
    'layer { name: "r" type: "ReLU" bottom: "z" top: "y" }\nlayer { name: "s" type: "ReLU" bottom: "y" top: "z" }':
        "takes 'z', which only a later layer gives",
    'layer { name: "r" type: "ReLU" bottom: "x" bottom: "x" top: "y" }': "has 2 bottoms",
    'layer { name: "r" type: "ReLU" bottom: "x" top: "y" top: "z" }': "has 2 tops",
    'layer { name: "r" name: "s" type: "ReLU" bottom: "x" top: "y" }': "stands there twice",
    'layer { name: "c" type: "Convolution" bottom: "x" top: "y" convolution_param { num_output: 2 } }':
        "kernel_size is not given",
    'layer { name: "c" type: "Pooling" bottom: "x" top: "y" pooling_param { kernel_size: 9 } }': "does not fit into",
    'layer { name: "c" type: "Pooling" bottom: "x" top: "y" pooling_param { pool: BEST kernel_size: 2 } }':
        "MAX, AVE, STOCHASTIC",
    'layer { name: "r" type: "Reshape" bottom: "x" top: "y" reshape_param { shape { dim: -1 dim: 7 } } }': "cannot be split",
    'layer { name: "r" type: "Reshape" bottom: "x" top: "y" reshape_param { axis: -9223372036854775808 } }':
        "axis: cannot be '-9223372036854775808': it is a number of -2147483648 to 2147483647",
    'layer { name: "p" type: "Pooling" bottom: "x" top: "y" pooling_param { kernel_size: -1 } }':
        "it is a number of 0 to 4294967295",
    'layer { name: "p" type: "Pooling" bottom: "x" top: "y" pooling_param { kernel_size: ² } }':
        "cannot be",
    'layer { name: "r" type: "Softmax" bottom: "x" top: "y" softmax_param { axis: 1 ': "is not closed",
    "layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'y' } }": "expected the name of a field",
    'layer { name: "r" type: ReLU bottom: "x" top: "y" }': "a text stands in quotes",
    'layer { name: "r" type: "" bottom: "x" top: "y" }': "has no type",
    "layer " * 3 + "{": "expected ':' or a message",
    "a { " * 100: "more than 32 deep",
    "a: \x01": "cannot be read",
}


@pytest.mark.parametrize("layers", BROKEN)
def test_what_is_wrong_is_said(layers: str) -> None:
    with pytest.raises(ReadError) as caught:
        load_text(net_text(layers, x=(1, 3, 4, 4)) if "\x01" not in layers else layers)
    assert BROKEN[layers] in str(caught.value) or "\x01" in layers


@pytest.mark.parametrize("kind", sorted(RULES))
def test_tensors_without_dimensions(kind: str) -> None:
    """What a layer takes for granted of its bottoms is said, not an IndexError."""
    for count in (1, 2, 3):
        bottoms = " ".join(f'bottom: "x{i}"' for i in range(count))
        numbers = "num_output: 2 kernel_size: 1" if "onvolution" in kind else "keep_topk: 5"
        parameter = {"YoloDetection": "yolo_detection_param", "RetinaFaceDetection": "retinaface_detection_param"}.get(
            kind, "convolution_param" if "onvolution" in kind else "")
        more = f"{parameter} {{ {numbers} }}" if parameter else ""
        try:
            load_text(net_text(f'layer {{ name: "r" type: "{kind}" {bottoms} top: "y" {more} }}', **dict.fromkeys(
                [f"x{i}" for i in range(count)], ())))
        except TransloadError as error:
            assert "defect" not in str(error)


def test_everything_wrong_is_said_at_once_and_with_its_line() -> None:
    with pytest.raises(ReadError) as caught:
        load_text('input: "x" input_dim: [1, 3, 4, 4]\nlayer { name: 3 type: "ReLU"\n bottom: "x" top: "y"\n relu_param: 2 }')
    assert [finding.what.split(" ")[-2:] for finding in caught.value.findings] == [
        ["text>:2:", "name"], ["text>:4:", "relu_param"]]


def test_weights_that_do_not_fit(tmp_path: Path) -> None:
    path = write_net(tmp_path, net_text(CONV, x=(1, 5, 4, 4)), {"c": [WEIGHT, BIAS]})
    with pytest.raises(ReadError, match="holds 6 numbers, and the layer needs") as caught:
        transload.load(path)
    assert "net.caffemodel" in str(caught.value)
    path = write_net(tmp_path, net_text(CONV, x=(1, 3, 4, 4)), {"c": [WEIGHT]})
    with pytest.raises(ReadError, match="has 1 blobs, and needs 2"):
        transload.load(path)


@pytest.mark.parametrize("sizes", [(0, 1 << 62), (1 << 62, 1 << 62, 0)])
def test_blobs_of_sizes_that_cannot_be_are_refused(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    """Also beside a size of 0, where there are no numbers that would not fit."""
    from transload_converters.caffe import caffe_pb2

    (tmp_path / "n.prototxt").write_text(
        'layer { name: "p" type: "Parameter" top: "p" parameter_param { shape { '
        + " ".join(f"dim: {size}" for size in sizes) + " } } }")
    held = caffe_pb2.NetParameter()
    held.layer.add(name="p", type="Parameter").blobs.add().shape.dim.extend(sizes)
    (tmp_path / "n.caffemodel").write_bytes(held.SerializeToString())
    with pytest.raises(TransloadError, match="a blob claims the shape"):
        transload.load(tmp_path / "n.prototxt")


def test_types_that_nobody_knows_stay_and_are_refused_when_converted() -> None:
    module = load_text(net_text("""
        layer { name: "n" type: "Novel" bottom: "x" top: "y" novel_param { size: 3 kind: "a" } }
        layer { name: "r" type: "ReLU" bottom: "y" top: "z" }
    """, x=(1, 4)))
    op = next(op for op in module.ops() if op.name == "caffe.Novel")
    assert op.attributes["novel_param"] == {"size": 3, "kind": "a"}
    with pytest.raises(ConversionError, match=r"1 op.* and 1 more that come after"):
        transload.legalize(module)


def test_fields_that_a_layer_does_not_take_are_told() -> None:
    module = load_text(net_text(
        'layer { name: "r" type: "ReLU" bottom: "x" top: "y" novel_param { size: 3 } } strange: 1 base_lr: 2', x=(1, 4)))
    assert ["strange" in note or "novel_param" in note for note in module.notes] == [True, True]


@pytest.mark.models
def test_real_files(models: Path) -> None:
    for path in models.glob("caffe/*/*.prototxt"):
        module = transload.load(path)
        assert not [note for note in module.notes if "missing" in note]
