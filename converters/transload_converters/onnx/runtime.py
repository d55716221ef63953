"""onnxruntime on the CPU: what an ONNX model computes, by its own framework.

Graph optimizations are off (`ORT_DISABLE_ALL`): every node is then computed by itself, as the file
says, and every intermediate value can be had. Measured with onnxruntime 1.31 on random inputs: on float
models and on QOperator models the levels agree; on a QDQ model (mobilenet_v1 0.25, int8) off and basic
are the same, and differ from extended and all, which fuse QDQ patterns into integer kernels, by one or two
steps of the output (cosine 0.992 to 0.998). A sum near a half goes one way in f32 and the other way in
integers, so no level is nearer to the truth; our integers differ from both by as much. So a QDQ model is judged by both
(`alternatives`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from transload.ir import Module, NoneType, Op, Value
from transload.ir.build import constant_of
from transload.worker import Remote

from .isolated import ONNX

__all__ = ["alternatives", "available", "open_model", "undefined"]



_RANDOM = frozenset(f"onnx.{name}" for name in (
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"))


def undefined(source: Module, hub: Module | None, inputs: Mapping[str, Any]) -> str:
    """Which operators draw random numbers: ONNX leaves the generator to the runtime, also where the model has a seed. And which
    onnxruntime computes otherwise than ONNX."""
    ops = list(source.walk())
    drawing = _named([op for op in ops if op.name in _RANDOM or _drops(op)])
    resizing = _named([op for op in ops if _is_between_corners(op)])
    drawn = f"{drawing}: random numbers, of which ONNX does not say how they are drawn, with a seed or without"
    resized = (f"{resizing}: the scales of corners that lie upon each other say no whole length, which ONNX takes as it is, and "
               "onnxruntime without its fraction; give sizes in place of scales")
    unpooling = _named([op for op in ops if op.name == "onnx.MaxUnpool" and len(op.operands) > 2 and _is_there(op.operands[2])])
    unpooled = (f"{unpooling}: places that are counted in the smallest output, as ONNX says, and by onnxruntime in the output of "
                "the size that is asked for")
    told = ((drawing, drawn), (resizing, resized), (unpooling, unpooled))
    return "; ".join(text for names, text in told if names)


def _is_there(value: Value) -> bool:
    return not isinstance(value.type, NoneType)


def _named(ops: Sequence[Op]) -> str:
    return ", ".join(dict.fromkeys(str(op.origin or op.name) for op in ops[:3]))


def _is_between_corners(op: Op) -> bool:
    """Whether it is a Resize with corners upon each other by scales that say a length with a fraction.

    ONNX's own tests (`test_resize_downsample_scales_linear_align_corners`) and reference have the last element at that length.
    """
    if op.name != "onnx.Resize" or op.attribute("coordinate_transformation_mode") != "align_corners" or len(op.operands) < 3:
        return False
    scales = constant_of(op.operands[2])
    if scales is None or not op.operands[0].is_static:
        return False
    shape = op.operands[0].static_shape
    axes = op.attribute("axes") or range(len(shape))
    lengths = [shape[axis] * float(scale) for axis, scale in zip(axes, scales.numpy().reshape(-1), strict=False)]
    return any(not math.isclose(length, round(length), rel_tol=1e-6) for length in lengths)


def _drops(op: Op) -> bool:
    """Whether it is a Dropout in training mode."""
    training = constant_of(op.operands[2]) if op.name == "onnx.Dropout" and len(op.operands) > 2 else None
    return training is not None and bool(np.any(training.numpy()))


def available() -> str | None:
    """None, or what to install."""
    missing = next((name for name in ("onnx", "onnxruntime") if find_spec(name) is None), None)
    return None if missing is None else f"the package {missing!r} is not installed: pip install 'transload[onnx,verify]'"


def alternatives(path: str | Path) -> dict[str, Callable[..., dict[str, np.ndarray]]]:
    """The other way in which onnxruntime computes a QDQ model: in integers, its patterns fused. Nothing for other models."""
    import onnx

    model = onnx.load(str(path), load_external_data=False)
    if not any(node.op_type == "DequantizeLinear" for node in model.graph.node):
        return {}
    return {"with all graph optimizations": open_model(path, optimized=True)}


def open_model(path: str | Path, optimized: bool = False) -> Callable[..., dict[str, np.ndarray]]:
    """`run(inputs, keep=False)` for a model: outputs by name, in order; with `keep`, every named intermediate before them.

    `optimized` turns graph optimizations on, of all levels. It runs in a process of its own.
    Raises `RunError` where onnxruntime refuses the model or the inputs.
    """
    file = Path(path)
    there: list[Remote] = []

    def run(inputs: Mapping[str, np.ndarray], keep: bool = False) -> dict[str, np.ndarray]:
        if not there:
            there.append(ONNX.open(
                "transload_converters.onnx.session:Session", str(file.resolve()), str(file), optimized))
        found: dict[str, np.ndarray] = there[0](dict(inputs), keep)
        return found

    return run
