"""Files that stand for those which the pages speak of, such as `model.tflite`: small networks that fit what is said there."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.caffe_files import write_net

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"
KEPT = ROOT / "tests" / "converters" / "pytorch" / "kept"

__all__ = ["STAND_INS", "put_stand_ins"]


def quantized_digits(path: Path) -> None:
    shutil.copy(DIGITS / "digits_int8.tflite", path)


def float_digits(path: Path) -> None:
    shutil.copy(DIGITS / "digits_float.onnx", path)


def image_network(path: Path) -> None:
    """ONNX: `image`, a batch of any number of 3 x 224 x 224, to ten logits; a convolution with stride 16, a mean, a product."""
    import onnx
    from onnx import helper, numpy_helper

    rng = np.random.default_rng(7)
    weights = {"kernel": rng.normal(0, 0.05, (8, 3, 16, 16)), "dense": rng.normal(0, 0.5, (8, 10))}
    graph = helper.make_graph(
        [helper.make_node("Conv", ["image", "kernel"], ["conv1"], strides=[16, 16]),
         helper.make_node("Relu", ["conv1"], ["relu1"]),
         helper.make_node("ReduceMean", ["relu1", "axes"], ["mean"], keepdims=0),
         helper.make_node("MatMul", ["mean", "dense"], ["logits"])],
        "image_network",
        [helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, ["N", 3, 224, 224])],
        [helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, ["N", 10])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
        + [numpy_helper.from_array(np.array([2, 3], np.int64), "axes")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def images(path: Path) -> None:
    """Ten pictures of noise around ten colours."""
    from PIL import Image

    path.mkdir()
    rng = np.random.default_rng(8)
    for number in range(10):
        pixels = np.clip(rng.normal(rng.integers(40, 200, 3), 30, (48, 48, 3)), 0, 255)
        Image.fromarray(pixels.astype(np.uint8)).save(path / f"{number}.png")


def one_image(path: Path) -> None:
    pixels = np.random.default_rng(9).normal(size=(1, 3, 224, 224)).astype(np.float32)
    if path.suffix == ".npz":
        np.savez(path, image=pixels)
    else:
        np.save(path, pixels)


def digits_samples(path: Path) -> None:
    images = np.load(DIGITS / "test_images.npz")["images"][:40]
    np.save(path, (images / np.float32(16)).reshape(-1, 1, 8, 8))


def zoo(path: Path) -> None:
    path.mkdir()
    quantized_digits(path / "digits_int8.tflite")
    float_digits(path / "digits_float.onnx")


def caffe(path: Path) -> None:
    """The network of that name with its weights, whichever of the two files is asked for."""
    rng = np.random.default_rng(10)
    layer = 'layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 10 } }'
    made = write_net(path.parent, _net(layer, path.stem), {
        "ip": [rng.normal(size=(10, 784)).astype(np.float32), np.zeros(10, np.float32)]}, "made_for_caffe")
    weights = path if path.suffix == ".caffemodel" else {"lenet": path.with_name("lenet_iter_10000.caffemodel")}.get(path.stem)
    if path.suffix == ".prototxt":
        shutil.copy(made, path)
    if weights is not None:
        shutil.copy(made.with_suffix(".caffemodel"), weights)


def _net(layer: str, name: str) -> str:
    return f'name: "{name}" input: "data" input_shape {{ dim: 1 dim: 1 dim: 28 dim: 28 }} {layer}'


def frozen_graph(path: Path) -> None:
    path.write_bytes(_image_graph().SerializeToString())


def saved_model(path: Path) -> None:
    from transload_converters.tensorflow import messages_pb2 as messages

    path.mkdir()
    saved = messages.SavedModel(saved_model_schema_version=1)
    meta = saved.meta_graphs.add()
    meta.graph_def.CopyFrom(_image_graph((1, 8, 8, 3)))
    meta.meta_info_def.tags.append("serve")
    signature = meta.signature_def["serving_default"]
    given, made = signature.inputs["input"], signature.outputs["mean"]
    for entry, name, shape in ((given, "input:0", (1, 8, 8, 3)), (made, "mean:0", (1, 3))):
        entry.name, entry.dtype = name, 1
        for size in shape:
            entry.tensor_shape.dim.add().size = size
    (path / "saved_model.pb").write_bytes(saved.SerializeToString())


def _image_graph(shape: tuple[int | None, ...] = (None, None, None, 3)) -> Any:
    from tests.support.tensorflow_graphs import T, const, graph, node, placeholder

    real = T("float32")
    return graph(
        placeholder("input", shape), node("relu", "Relu", "input", T=real), const("axes", np.array([1, 2], np.int32)),
        node("mean", "Mean", "relu", "axes", T=real, Tidx=T("int32"), keep_dims=False))


def pytorch_program(path: Path) -> None:
    shutil.copy(KEPT / "cnn.pt2", path)


def hub_text(path: Path) -> None:
    """A module of the hub as text, as `transload opt` takes it."""
    import transload

    transload.save(transload.legalize(transload.load(DIGITS / "digits_float.onnx", inputs={"image": (1, 1, 8, 8)})), path)


STAND_INS: dict[str, Callable[[Path], None]] = {
    "model.tflite": quantized_digits, "mobilenet_v2_1.0_224_quant.tflite": quantized_digits, "digits_float.onnx": float_digits,
    "samples.npy": digits_samples, "model.onnx": image_network, "images": images, "in.npz": one_image,
    "cat.npy": one_image, "zoo": zoo,
    "lenet.prototxt": caffe, "deploy.prototxt": caffe, "squeezenet_v1.1.caffemodel": caffe, "graph.pb": frozen_graph,
    "my_saved_model": saved_model, "model.pt2": pytorch_program, "model.mlir": hub_text, "hub.mlir": hub_text}


def put_stand_ins(folder: Path, text: str) -> None:
    """Put into a folder what the commands in `text` name, and the repository's examples."""
    for name, make in STAND_INS.items():
        if name in text:
            make(folder / name)
    (folder / "examples").symlink_to(ROOT / "examples")
