"""Formats that come here by way of ONNX, which exporters of most frameworks write."""

from __future__ import annotations

import re
from pathlib import Path

from transload.plugin import ForeignFormat

__all__ = ["FORMATS", "is_openvino", "is_pickle", "is_safetensors"]

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
)


def is_pickle(head: bytes, path: Path) -> bool:
    """A pickle of protocol 2 or later, but none of PyTorch, of which another plugin says what to do."""
    return re.match(rb"\x80[\x02-\x05]", head) is not None and path.suffix.lower() not in (".pt", ".pth", ".bin", ".tar")


def is_safetensors(head: bytes, path: Path) -> bool:
    """The length of a header in eight bytes, and the header, in JSON."""
    return path.suffix.lower() == ".safetensors" or (
        re.match(rb"\{\s*\"", head[8:]) is not None and b"data_offsets" in head and int.from_bytes(head[:8], "little") < 1 << 27)


def is_openvino(head: bytes, path: Path) -> bool:
    """The network, in XML."""
    return re.search(rb"<net\s[^>]*version=", head) is not None
