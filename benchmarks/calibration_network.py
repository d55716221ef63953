"""A detector of faces with random weights, as an ONNX file: for figures of speed and memory, where no trained one is at hand.

Its layers follow those of UltraFace RFB 320 (Linzaer, Ultra-Light-Fast-Generic-Face-Detector-1MB), but are not the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["write_detector"]

BACKBONE = ((16, 32, 1), (32, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1), (64, 64, 1))
SECOND = ((64, 128, 2), (128, 128, 1), (128, 128, 1))
THIRD = ((128, 256, 2), (256, 256, 1))
"""Depthwise-separable layers: channels in, channels out, stride."""
HEADS = ((64, 3), (128, 2), (256, 2), (256, 3))
"""Channels of each feature map, and boxes at each of its places."""
BOXES = 4420


class _Graph:
    """Nodes and weights of an ONNX graph being written."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, array: Any) -> str:
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def emit(self, op: str, *operands: str, **attributes: Any) -> str:
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, operands, [name], name=name, **attributes))
        return name

    def conv(
        self, x: str, given: int, made: int, size: int = 3, stride: int = 1, groups: int = 1, relu: bool = True,
        dilation: int = 1,
    ) -> str:
        shape = (made, given // groups, size, size)
        weights = self.rng.standard_normal(shape) * np.sqrt(2.0 / np.prod(shape[1:]))
        y = self.emit(
            "Conv", x, self.constant(weights.astype(np.float32)), self.constant(np.zeros(made, np.float32)),
            kernel_shape=[size, size], strides=[stride, stride], pads=[size // 2 * dilation] * 4, group=groups,
            dilations=[dilation, dilation])
        return self.emit("Relu", y) if relu else y

    def separable(self, x: str, layers: Sequence[tuple[int, int, int]]) -> str:
        for given, made, stride in layers:
            x = self.conv(self.conv(x, given, given, 3, stride, given), given, made, 1)
        return x

    def receptive_fields(self, x: str) -> str:
        """Three branches that look at ever larger surroundings, and the input beside them."""
        branches = [
            self.conv(self.conv(self.conv(x, 64, 8, 1), 8, 16), 16, 16, relu=False, dilation=dilation) for dilation in (2, 3, 5)]
        joined = self.conv(self.emit("Concat", *branches, axis=1), 48, 64, 1, relu=False)
        return self.emit("Relu", self.emit("Add", joined, self.conv(x, 64, 64, 1, relu=False)))

    def head(self, x: str, channels: int, numbers: int, boxes: int) -> str:
        y = self.conv(self.conv(x, channels, channels, groups=channels), channels, boxes * numbers, 1, relu=False)
        y = self.emit("Transpose", y, perm=[0, 2, 3, 1])
        return self.emit("Reshape", y, self.constant(np.array([1, -1, numbers])))

    def part(self, x: str, first: int) -> str:
        """Two of the four numbers of each box."""
        return self.emit("Slice", x, *(self.constant(np.array([number])) for number in (first, first + 2, 2)))

    def decoded(self, boxes: str) -> str:
        """Corners of boxes from their places and sizes beside those of the anchors."""
        anchors = self.constant(self.rng.uniform(0.05, 1.0, (1, BOXES, 4)).astype(np.float32))
        sizes = self.part(anchors, 2)
        moved = self.emit("Mul", self.emit("Mul", self.part(boxes, 0), self.constant(np.float32(0.1))), sizes)
        center = self.emit("Add", moved, self.part(anchors, 0))
        grown = self.emit("Exp", self.emit("Mul", self.part(boxes, 2), self.constant(np.float32(0.2))))
        half = self.emit("Div", self.emit("Mul", grown, sizes), self.constant(np.float32(2.0)))
        return self.emit("Concat", self.emit("Sub", center, half), self.emit("Add", center, half), axis=2)


def write_detector(path: Path) -> Path:
    """Write the network to an ONNX file: images [1, 3, 240, 320] to scores [1, 4420, 2] and boxes [1, 4420, 4]."""
    g = _Graph()
    first = g.receptive_fields(g.separable(g.conv("input", 3, 16, stride=2), BACKBONE))
    second = g.separable(first, SECOND)
    third = g.separable(second, THIRD)
    fourth = g.separable(g.conv(third, 256, 64, 1), ((64, 256, 2),))
    maps = list(zip((first, second, third, fourth), HEADS, strict=True))
    scores, boxes = (
        g.emit("Concat", *(g.head(x, channels, numbers, count) for x, (channels, count) in maps), axis=1) for numbers in (2, 4))
    outputs = [g.emit("Softmax", scores, axis=2), g.decoded(boxes)]
    graph = helper.make_graph(
        g.nodes, "detector", [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, 240, 320])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs], g.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), str(path))
    return path
