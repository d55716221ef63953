"""Without any extra installed: every command says what is missing and how it comes, whatever it is given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

EXTRAS = [
    "ai_edge_litert", "cv2", "faster_coco_eval", "flatbuffers", "google", "h5py", "jaxlib", "jinja2", "keras", "onnx",
    "onnxruntime", "tensorflow", "torch"]

RUN = """
import contextlib, io, json, os, sys
from importlib.machinery import ModuleSpec

class Without:
    "A finder that does not see some packages."
    def __init__(self, finder): self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in BLOCKED else self.finder.find_spec(name, path, target)
    def __getattr__(self, name): return getattr(self.finder, name)

BLOCKED, lines = json.loads(sys.stdin.read())
sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
from transload.cli import run
said = []
for line in lines:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(line)
    said.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, examples: Path) -> Path:
    """Something of each kind that is read or given: what matters is which reader takes it."""
    folder = tmp_path_factory.mktemp("bare")
    for name in ("digits_float.onnx", "digits_int8.tflite", "digits_float.tflite"):
        (folder / name).write_bytes((examples / "digits" / name).read_bytes())
    (folder / "net.prototxt").write_text('name: "net"\n')
    (folder / "net.caffemodel").write_bytes(b"\x0a\x03net")
    (folder / "graph.pb").write_bytes(b"\x0a\x08\x0a\x01x\x12\x03Abs")
    (folder / "graph.pbtxt").write_text('node { name: "x" op: "Placeholder" }')
    (folder / "saved").mkdir()
    (folder / "saved" / "saved_model.pb").write_bytes(b"\x08\x01\x12\x00")
    (folder / "model.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(64))
    with zipfile.ZipFile(folder / "model.keras", "w") as archive:
        archive.writestr("config.json", "{}")
        archive.writestr("metadata.json", "{}")
        archive.writestr("model.weights.h5", b"")
    (folder / "pretty.mlir").write_text(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = stablehlo.abs %x : tensor<2xf32>\n"
        "  return %0 : tensor<2xf32>\n}\n")
    generator = np.random.default_rng(0)
    np.savez(folder / "data.npz", image=generator.random((8, 8, 8, 1), np.float32))
    (folder / "labels.txt").write_text("0\n" * 8)
    return folder


MODELS = (
    "digits_float.onnx", "net.prototxt", "net.caffemodel", "graph.pb", "graph.pbtxt", "saved", "model.h5", "model.keras",
    "pretty.mlir")
TFLITE = "digits_int8.tflite"
NEED = [  # what cannot be done without a package
    *([command, model] for command in ("inspect", "run") for model in MODELS),
    *(["convert", model, "-o", "out"] for model in MODELS),
    *(["convert", TFLITE, "-o", "out", "--target", target] for target in ("stablehlo", "xla-cpu", "onnx")),
    ["inspect", TFLITE, "--target", "stablehlo"], ["inspect", TFLITE, "--target", "onnx"],
    ["run", TFLITE, "--engine", "xla"], ["run", TFLITE, "--engine", "onnxruntime"],
    ["compare", TFLITE, TFLITE],
    *([command, dialect] for command in ("ops", "coverage --from") for dialect in ("onnx", "caffe")),
    ["convert", "digits_float.tflite", "-o", "out", "--quantize", "int8", "--data", "data.npz", "--report", "page.html"],
    ["eval", "digits_float.tflite", "--data", "data.npz", "--labels", "labels.txt", "--metric", "map"],
]
WORK = [  # what needs none
    ["plugins"], ["targets"], ["passes"], ["coverage"], ["coverage", "--json"], ["ops", "tf"], ["ops", "aten"], ["ops", "tflite"],
    ["inspect", TFLITE], ["convert", TFLITE, "-o", "done"], ["convert", TFLITE, "-o", "again", "--target", "tflite"],
    ["run", "done"], ["tosa-requirements", "done/digits_int8.tosa"],
    ["convert", "digits_float.tflite", "-o", "small", "--quantize", "int8", "--data", "data.npz"],
    ["eval", "digits_float.tflite", "small", "--data", "data.npz", "--metric", "sqnr"],
]


def test_every_command_without_any_extra(files: Path) -> None:
    need = [word.split() + rest for word, *rest in NEED]
    done = subprocess.run(
        [sys.executable, "-c", RUN], input=json.dumps([EXTRAS, need + WORK]), cwd=files, env=os.environ,
        capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    for line, (code, out, err) in zip(need + WORK, said, strict=True):
        command = f"transload {' '.join(line)}: {code}\n{out[-500:]}{err}"
        assert "failed in" not in err and "defect" not in err and "Traceback" not in err, command
        if line in WORK:
            assert code == 0, command
        else:
            assert code in (2, 3) and "pip install" in err, command
