"""Files in formats that nobody here reads: what they are, and what to do, is said of each."""

from __future__ import annotations

import json
import pickle
import re
import shlex
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import transload
from transload.errors import ReadError
from transload.plugin_host import host


def archive(*names: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as made:
            for name in names:
                made.writestr(name, "{}")

    return write


def content(data: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(data) and None


def folder(*names: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.mkdir()
        for name in names:
            (path / name).write_bytes(b"")

    return write


SAFETENSORS = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
FILES: list[tuple[str, Callable[[Path], None], str, str]] = [
    ("m.pt", archive("m/data.pkl", "m/version"), "PyTorch", "torch.export.save"),
    ("m.pth", content(pickle.dumps({"w": [1.0]}, protocol=2)), "PyTorch", "torch.export.save"),
    ("m.pkl", content(pickle.dumps({"w": [1.0]}, protocol=4)), "pickle", "skl2onnx"),
    ("m.safetensors", content(len(SAFETENSORS).to_bytes(8, "little") + SAFETENSORS), "safetensors", "optimum-cli"),
    ("weights.bin", content(len(SAFETENSORS).to_bytes(8, "little") + SAFETENSORS), "safetensors", "optimum-cli"),
    ("net.pdmodel", content(b"\x08\x01"), "PaddlePaddle", "paddle2onnx"),
    ("m.mlpackage", folder("Manifest.json"), "Core ML", "ONNX or TFLite"),
    ("m.mlmodel", content(b"\x08\x01"), "Core ML", "ONNX or TFLite"),
    ("n.mlmodel", content(b"\x08\x07\x12\xcd\x12"), "Core ML", "ONNX or TFLite"),
    ("m.xml", content(b'<?xml version="1.0"?>\n<net name="m" version="11">\n'), "OpenVINO", "was made from"),
    ("yolo.cfg", content(b"# a remark\n[net]\nbatch=1\n[convolutional]\n"), "Darknet", "torch.onnx.export"),
    ("net.param", content(b"7767517\n2 2\nInput data 0 1 data\n"), "ncnn", "was made from"),
    ("model.json", content(b'{"format":"graph-model","modelTopology":{"node":[]}}'), "TensorFlow.js", "was made from"),
    ("hand.task", archive("hand_detector.tflite"), "MediaPipe", "unpack it first"),
    ("saved.zip", archive("m/saved_model.pb", "m/variables/variables.index"), "SavedModel", "unpack it first"),
]


TORCH, WEIGHTS = archive("m/data.pkl", "m/version"), content(len(SAFETENSORS).to_bytes(8, "little") + SAFETENSORS)
MISNAMED = (".onnx", ".h5", ".keras", ".tflite", ".pt2", ".pb", ".mlir", ".caffemodel")
FILES += [(f"m{suffix}", write, title, way) for suffix in MISNAMED for write, title, way in (
    (TORCH, "PyTorch", "torch.export.save"), (WEIGHTS, "safetensors", "optimum-cli"))]
"""Of these the suffix says another format, which is read."""


@pytest.mark.parametrize(("name", "write", "title", "way"), FILES)
def test_known_formats_are_recognized(tmp_path: Path, name: str, write: Callable[[Path], None], title: str, way: str) -> None:
    file = tmp_path / "my models" / name
    file.parent.mkdir()
    write(file)
    with pytest.raises(ReadError, match=re.escape(str(file))) as caught:
        transload.load(file)
    assert title in caught.value.message and way in caught.value.hint
    command = re.search(r"python -c .*", caught.value.hint)
    if command is not None:  # it can be pasted: the shell reads it as code and the file, and the code is Python
        _, _, code, given = shlex.split(command[0])
        compile(code, name, "exec")
        assert given == str(file)


def test_what_is_nothing_known(tmp_path: Path) -> None:
    for name, data in (("m.pt", b"no pickle"), ("m.xml", b"<html>"), ("m.zip", b"PK\x03\x04 damaged")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ReadError, match="no reader knows this format"):
            transload.load(tmp_path / name)
    with pytest.raises(ReadError, match="is a directory, not a model file"):
        transload.load(tmp_path)


def test_none_is_read(tmp_path: Path) -> None:
    """A format that a reader is written for is foreign no more; one that shares a suffix with such knows its own files."""
    there = host()
    suffixes = {suffix for reader in there.readers.values() for suffix in reader.suffixes}
    assert not [format.name for format in there.formats.values() if suffixes & set(format.suffixes) and format.detect is None]


def saved_model(folder: Path) -> Path:
    """One whose input is not even of a known rank."""
    from transload_converters.tensorflow import messages_pb2 as messages

    from tests.support.tensorflow_graphs import T, graph, node

    nodes = [node("X", "Placeholder", dtype=T("float32")), node("y", "Abs", "X", T=T("float32"))]
    meta = messages.MetaGraphDef(graph_def=graph(*nodes), meta_info_def={"tags": ("serve",)})
    signature = meta.signature_def["serving_default"]
    signature.inputs["X"].name, signature.inputs["X"].dtype, signature.inputs["X"].tensor_shape.unknown_rank = "X:0", 1, True
    signature.outputs["y"].name, signature.outputs["y"].dtype, signature.outputs["y"].tensor_shape.unknown_rank = "y:0", 1, True
    folder.mkdir()
    saved = messages.SavedModel(saved_model_schema_version=1, meta_graphs=[meta])
    (folder / "saved_model.pb").write_bytes(saved.SerializeToString())
    return folder


def test_what_is_wrong_with_a_saved_model_is_not_its_format(tmp_path: Path) -> None:
    """Its first bytes are those of ONNX's models, too, and `--format onnx` stood where the shape was asked for."""
    folder = saved_model(tmp_path / "saved")
    for path, format in ((folder, None), (folder / "saved_model.pb", None), (folder / "saved_model.pb", "tensorflow")):
        with pytest.raises(ReadError, match="no static shape") as caught:
            transload.load(path, format=format)
        assert "--shape X:" in caught.value.hint
        assert transload.load(path, format=format, inputs={"X": (2,)}).main is not None


@pytest.mark.parametrize("suffix", [".tflite", ".onnx", ".keras", ".pt2", ".tosa", ".mlirbc", ".mlir"])
def test_a_saved_model_by_the_name_of_another_format(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"model{suffix}"
    file.write_bytes((saved_model(tmp_path / "saved") / "saved_model.pb").read_bytes())
    with pytest.raises(ReadError) as caught:
        transload.load(file)
    assert "--format tensorflow" in caught.value.hint
    assert transload.load(file, format="tensorflow", inputs={"X": (2,)}).main is not None


def test_a_hint_of_the_content_stays(tmp_path: Path) -> None:
    """Text of TOSA 1.0 is that of the reader `mlir`, too, which has nothing to do with what it was read for."""
    file = tmp_path / "model.mlir"
    file.write_text(
        'func.func @main(%0: tensor<2xf32>) -> tensor<2xf32> {\n'
        '  "tosa.custom_thing"(%0) : (tensor<2xf32>) -> ()\n  return %0 : tensor<2xf32>\n}\n')
    with pytest.raises(ReadError, match="no text of TOSA") as caught:
        transload.load(file, format="tosa-0.30")
    assert caught.value.hint == "newer text is read without --format"
