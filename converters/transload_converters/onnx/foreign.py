"""Formats that come here by way of ONNX, which exporters of most frameworks write."""

from __future__ import annotations

import re
from pathlib import Path

from transload.files import archive_names
from transload.plugin import ForeignFormat

__all__ = ["FORMATS", "is_openvino", "is_pickle", "is_safetensors", "is_torch", "is_torch_export"]

_HERE = "transload_converters.onnx.foreign"
_EXPORT = "torch.onnx.export(model, (example_input,), 'model.onnx')"

FORMATS = (
    ForeignFormat(
        "torch-export", "a program of torch.export",
        "with PyTorch installed, make an .onnx file of it: python -c \"import sys, torch; "
        "torch.onnx.export(torch.export.load(sys.argv[1]), f='model.onnx', dynamo=True)\" {path}",
        (".pt2",), f"{_HERE}:is_torch_export"),
    ForeignFormat(
        "torch", "a file of PyTorch",
        "it runs code when it is loaded, and may hold weights without a network; where the network is defined, load it and "
        f"export: {_EXPORT}",
        (".pt", ".pth"), f"{_HERE}:is_torch"),
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


def is_torch_export(head: bytes, path: Path) -> bool:
    """The archive of `torch.export.save`, of all versions."""
    names = {name.rpartition("/")[2] for name in archive_names(path)} if head.startswith(b"PK") else set()
    return "serialized_exported_program.json" in names or "archive_format" in names


def is_torch(head: bytes, path: Path) -> bool:
    """What `torch.save` and `torch.jit.save` write: an archive with a pickle in it, or, before 2020, a pickle."""
    if head.startswith(b"PK"):
        return any(name.endswith(("/data.pkl", "/constants.pkl")) for name in archive_names(path))
    return is_pickle(head, path) and path.suffix.lower() in (".pt", ".pth", ".bin", ".tar")


def is_pickle(head: bytes, path: Path) -> bool:
    """A pickle of protocol 2 or later."""
    return re.match(rb"\x80[\x02-\x05]", head) is not None


def is_safetensors(head: bytes, path: Path) -> bool:
    """The length of a header in eight bytes, and the header, in JSON."""
    return path.suffix.lower() == ".safetensors" or (
        re.match(rb"\{\s*\"", head[8:]) is not None and b"data_offsets" in head and int.from_bytes(head[:8], "little") < 1 << 27)


def is_openvino(head: bytes, path: Path) -> bool:
    """The network, in XML."""
    return re.search(rb"<net\s[^>]*version=", head) is not None
