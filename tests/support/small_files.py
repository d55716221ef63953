"""A small model of each format that is read, and files that are none, made in a folder under any name."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .caffe_files import net_text, write_net
from .commands import DIGITS
from .keras_models import dense_layer, functional, input_entry, keras_file
from .small_onnx import saved
from .tensorflow_graphs import T, graph, node, placeholder

KEPT = DIGITS.parents[1] / "tests" / "converters" / "pytorch" / "kept"
STABLEHLO = """"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3xf32>) -> tensor<2x3xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<2x3xf32>):
    %0 = "stablehlo.add"(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    "func.return"(%0) : (tensor<2x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""
UNKNOWN = """"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<2xf32>):
    %0 = "tfl.nosuch"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    "func.return"(%0) : (tensor<2xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""


def _copy(name: Path) -> Callable[[Path], Path]:
    return lambda path: Path(shutil.copyfile(name, path))


def _text(text: str) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        path.write_text(text)
        return path

    return write


def _onnx_beside(path: Path) -> Path:
    """A model whose weights lie in another file."""
    import onnx

    saved(path, [("MatMul", "x w", "y")], [1, 400], {"w": np.ones((400, 2), np.float32)})
    onnx.save_model(onnx.load(path), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path


def _onnx_names(path: Path) -> Path:
    """Names as no identifier of a language is, nor of `np.savez`: its inputs and outputs are called by them."""
    import onnx

    saved(path, [("Neg", "x", "y"), ("Neg", "y", "m")], [1, 4], {}, also="m")
    model = onnx.load(path)
    new = {"x": "allow_pickle", "y": "file", "m": "ä/ö: \x1b[31m\n\U0001f600"}
    for each in model.graph.node:
        each.input[:], each.output[:] = [new[name] for name in each.input], [new[name] for name in each.output]
    for value in (*model.graph.input, *model.graph.output):
        value.name = new[value.name]
    onnx.save(model, path)
    return path


def _caffe(path: Path) -> Path:
    layer = 'layer { name: "i" type: "InnerProduct" bottom: "x" top: "i" inner_product_param { num_output: 2 } }'
    return write_net(
        path.parent, net_text(layer, x=(1, 4)), {"i": [np.ones((2, 4), np.float32), np.ones(2, np.float32)]}, path.stem
    )


def _keras(path: Path) -> Path:
    model = functional([input_entry("x", [None, 4]), dense_layer("d", "x", 2)], ["x"], ["d"])
    weights = {"layers/dense/vars/0": np.ones((4, 2), np.float32), "layers/dense/vars/1": np.ones(2, np.float32)}
    return keras_file(path, model, weights)


def _graph(path: Path) -> Path:
    made = graph(placeholder("x", (2, 3)), node("y", "Relu", "x", attributes={"T": T("float32")}))
    path.write_bytes(made.SerializeToString())
    return path


MODELS: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "int8": (".tflite", _copy(DIGITS / "digits_int8.tflite")),
    "float": (".tflite", _copy(DIGITS / "digits_float.tflite")),
    "onnx": (".onnx", _copy(DIGITS / "digits_float.onnx")),
    "onnx beside": (".onnx", _onnx_beside),
    "onnx names": (".onnx", _onnx_names),
    "stablehlo": (".mlir", _text(STABLEHLO)),
    "caffe": (".prototxt", _caffe),
    "keras": (".keras", _keras),
    "tensorflow": (".pb", _graph),
    "pytorch": (".pt2", _copy(KEPT / "slices.pt2")),
}
"""What makes a model that is right, and its suffix."""
NO_MODELS: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "unknown op": (".mlir", _text(UNKNOWN)),
    "empty": (".tflite", _text("")),
    "a page": (".onnx", _text("<html>404</html>")),
    "no text": (".mlir", _text("module {")),
}
