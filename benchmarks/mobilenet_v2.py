"""Writes MobileNet v2 1.0 224 as ONNX, float, with random weights: a model to measure engines with.

    python benchmarks/mobilenet_v2.py build/mobilenet_v2_1.0_224_f32/model.onnx
    python benchmarks/engines.py build --only mobilenet_v2_1.0_224_f32

Source: Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018, table 2; batch normalization folded.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
"""Expansion, output channels, repeats, stride of the first."""


class Network:
    """Nodes and weights, added one after the other."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)
        self.nodes: list[onnx.NodeProto] = []
        self.weights = [
            numpy_helper.from_array(np.array(number, np.float32), name) for name, number in (("zero", 0), ("six", 6))]

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def weight(self, shape: tuple[int, ...], scale: float) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array((self.random.standard_normal(shape) * scale).astype(np.float32), name))
        return name

    def convolution(
        self, x: str, channels: int, wanted: int, kernel: int, stride: int, groups: int = 1, relu: bool = True
    ) -> str:
        shape = (wanted, channels // groups, kernel, kernel)
        weights, bias = self.weight(shape, float(np.sqrt(2 / np.prod(shape[1:])))), self.weight((wanted,), 0.1)
        y = self.node(
            "Conv", x, weights, bias, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=groups)
        return self.node("Clip", y, "zero", "six") if relu else y


def mobilenet_v2() -> onnx.ModelProto:
    net = Network()
    x, channels = net.convolution("input", 3, 32, 3, 2), 32
    for expansion, wanted, repeats, first_stride in STAGES:
        for index in range(repeats):
            stride = first_stride if index == 0 else 1
            wide = channels * expansion
            y = net.convolution(x, channels, wide, 1, 1) if expansion > 1 else x
            y = net.convolution(y, wide, wide, 3, stride, wide)
            y = net.convolution(y, wide, wanted, 1, 1, relu=False)
            x, channels = net.node("Add", x, y) if stride == 1 and channels == wanted else y, wanted
    x = net.node("Flatten", net.node("GlobalAveragePool", net.convolution(x, channels, 1280, 1, 1)))
    out = net.node("Gemm", x, net.weight((1000, 1280), 0.03), net.weight((1000,), 0.1), transB=1)
    tensors = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("input", [1, 3, 224, 224]), (out, [1, 1000]))]
    graph = helper.make_graph(net.nodes, "mobilenet_v2", tensors[:1], tensors[1:], net.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    path = parser.parse_args().path
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(mobilenet_v2(), path)


if __name__ == "__main__":
    main()
