"""Formats that come here by way of ONNX, which exporters of most frameworks write."""

from __future__ import annotations

import re
from pathlib import Path

from transload.files import archive_names
from transload.plugin import ForeignFormat

__all__ = ["FORMATS", "is_darknet", "is_mediapipe", "is_ncnn", "is_openvino", "is_pickle", "is_safetensors",
           "is_tensorflowjs", "is_zipped_saved_model"]

_HERE = "transload_converters.onnx.foreign"
_EXPORT = "torch.onnx.export(model, (example_input,), 'model.onnx')"

FORMATS = (
    ForeignFormat(
        "pickle", "a Python pickle",
        "it runs code when it is loaded; where the model is defined, load it and export it to ONNX (PyTorch: "
        f"{_EXPORT}; scikit-learn: skl2onnx.to_onnx(model, example_input))",
        (".pkl", ".joblib"), f"{_HERE}:is_pickle"),
    ForeignFormat(
        "safetensors", "a safetensors file, which holds weights without a network",
        f"load them into the network, where that is defined, and export it: {_EXPORT}; of a model on the Hugging Face Hub: "
        "optimum-cli export onnx --model NAME FOLDER",
        (".safetensors",), f"{_HERE}:is_safetensors"),
    ForeignFormat(
        "paddle", "a PaddlePaddle model",
        "with paddle2onnx installed: paddle2onnx --model_dir {folder} --model_filename NAME.pdmodel "
        "--params_filename NAME.pdiparams --save_file model.onnx",
        (".pdmodel", ".pdiparams")),
    ForeignFormat(
        "coreml", "a Core ML model",
        "nothing exports it; export the model that it was made from, to ONNX or TFLite", (".mlmodel", ".mlpackage", ".mlmodelc")),
    ForeignFormat(
        "openvino", "a model of OpenVINO",
        "nothing exports it; convert the ONNX or TFLite file that it was made from", (".xml",), f"{_HERE}:is_openvino"),
    ForeignFormat(
        "tensorrt", "a program that TensorRT compiled for one GPU",
        "convert the ONNX file that it was made from", (".engine", ".plan", ".trt")),
    ForeignFormat(
        "gguf", "a GGUF file, which holds weights without a network",
        "of a model on the Hugging Face Hub: optimum-cli export onnx --model NAME FOLDER", (".gguf",)),
    ForeignFormat(
        "darknet", "a network of Darknet, whose weights are in a file beside it",
        "load both in PyTorch, by an implementation of the network, and export that: " + _EXPORT, (), f"{_HERE}:is_darknet"),
    ForeignFormat(
        "ncnn", "a network of ncnn",
        "nothing exports it; convert the ONNX file or the PyTorch program that it was made from", (), f"{_HERE}:is_ncnn"),
    ForeignFormat(
        "tensorflowjs", "a model of TensorFlow.js",
        "convert the SavedModel or the Keras model that it was made from; of a layers model: tensorflowjs_converter "
        "--input_format=tfjs_layers_model --output_format=keras {path} model.h5", (), f"{_HERE}:is_tensorflowjs"),
    ForeignFormat(
        "mediapipe", "a bundle of MediaPipe, an archive with a TFLite model or more",
        "unpack it first (unzip {path}), and convert each .tflite file of it", (), f"{_HERE}:is_mediapipe"),
    ForeignFormat(
        "zipped-savedmodel", "an archive with a SavedModel", "unpack it first (unzip {path}), and convert the folder", (),
        f"{_HERE}:is_zipped_saved_model"),
)


def is_pickle(head: bytes, path: Path) -> bool:
    """A pickle of protocol 2 or later, but none of PyTorch, of which another plugin says what to do."""
    return re.match(rb"\x80[\x02-\x05]", head) is not None and path.suffix.lower() not in (".pt", ".pth", ".bin", ".tar")


def is_safetensors(head: bytes, path: Path) -> bool:
    """The length of a header in eight bytes, and the header, in JSON."""
    return path.suffix.lower() == ".safetensors" or (
        re.match(rb"\{\s*\"", head[8:]) is not None and b"data_offsets" in head and int.from_bytes(head[:8], "little") < 1 << 27)


def is_darknet(head: bytes, path: Path) -> bool:
    """Sections in brackets, of which the first, but for remarks, is the network, and a layer follows."""
    return re.match(rb"(?:\s|[#;][^\n]*\n)*\[(?:net|network)\]\s", head) is not None and path.suffix.lower() == ".cfg"


def is_ncnn(head: bytes, path: Path) -> bool:
    """The number that all its texts begin with."""
    return re.match(rb"7767517\r?\n", head) is not None


def is_tensorflowjs(head: bytes, path: Path) -> bool:
    """JSON of a network, or of where its weights are, and which of both forms it has."""
    return head.lstrip().startswith(b"{") and re.search(
        rb"\"(modelTopology|weightsManifest)\"|\"format\"\s*:\s*\"(graph|layers)-model\"", head) is not None


def is_mediapipe(head: bytes, path: Path) -> bool:
    """An archive with models of TFLite."""
    return any(name.endswith(".tflite") for name in _members(head, path))


def is_zipped_saved_model(head: bytes, path: Path) -> bool:
    """An archive with what a SavedModel begins with."""
    return any(name.rpartition("/")[2] in ("saved_model.pb", "saved_model.pbtxt") for name in _members(head, path))


def _members(head: bytes, path: Path) -> list[str]:
    """The names of what an archive holds; none of anything else."""
    return archive_names(path) if head.startswith(b"PK\x03\x04") else []


def is_openvino(head: bytes, path: Path) -> bool:
    """The network, in XML."""
    return re.search(rb"<net\s[^>]*version=", head) is not None
