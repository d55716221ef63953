"""Measuring how many test images the files of the digits network get right, in public runtimes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
from ai_edge_litert.interpreter import Interpreter, OpResolverType

#: The images' pixels are counts from 0 to this number; the network takes them divided by it.
LARGEST_PIXEL = 16.0


def classify(path: Path, images: np.ndarray) -> np.ndarray:
    """Return the classes that a file's network gives to images.

    Args:
        path: an ``.onnx`` or ``.tflite`` file.
        images: uint8 pixels 0 to 16, [N, 8, 8].

    Returns:
        Classes 0 to 9, integers [N].
    """
    pixels = (images / LARGEST_PIXEL).astype(np.float32)
    run = _run_onnx if path.suffix == ".onnx" else _run_tflite
    classes: np.ndarray = np.argmax(run(path, pixels), axis=1)
    return classes


def _run_onnx(path: Path, pixels: np.ndarray) -> np.ndarray:
    """Run ONNX Runtime; NCHW."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    [probabilities] = session.run(["probabilities"], {"image": pixels[:, None, :, :]})
    return np.asarray(probabilities)


def _run_tflite(path: Path, pixels: np.ndarray) -> np.ndarray:
    """Run LiteRT with its reference kernels, which follow the specification to the letter; NHWC."""
    resolver = OpResolverType.BUILTIN_REF
    interpreter = Interpreter(str(path), experimental_op_resolver_type=resolver)
    [image] = interpreter.get_input_details()
    [probabilities] = interpreter.get_output_details()
    values = pixels[:, :, :, None]
    if image["dtype"] == np.int8:
        scale, zero_point = image["quantization"]
        values = np.clip(np.round(values / scale) + zero_point, -128, 127).astype(np.int8)
    interpreter.resize_tensor_input(image["index"], values.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(image["index"], values)
    interpreter.invoke()
    return np.asarray(interpreter.get_tensor(probabilities["index"]))
