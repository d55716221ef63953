"""Writes an int8 network that finds poses as TFLite, with random weights: a model of many operators to time conversions with.

    python benchmarks/pose_network.py build/pose_network_int8/model.tflite
    python benchmarks/tflite_vs_peer.py build --only pose_network_int8

It is of the form of MoveNet Lightning: MobileNet v2 at 192 x 192, a pyramid of features, four heads, and float operators that
decode them. Weights are quantized per channel, symmetrically; activations per tensor.

Source: Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018, table 2; Lin et al., "Feature Pyramid
Networks for Object Detection", 2017; the model card of MoveNet.SinglePose.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from transload_converters.tflite.writer import ModelWriter, Quantization

STAGES = ((6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
"""Expansion, output channels, repeats, stride of the first."""
PYRAMID = ((3, 64, 64), (1, 64, 32), (0, 32, 24))
"""From coarse to fine: the stage whose result joins in, the channels that it joins in with, and those that are left."""
HEADS = (1, 34, 17, 34)
"""Channels: the centre, offsets from it to each joint, a map for each joint, offsets within a place of it."""
ACTIVATION = Quantization([0.05], [3])


class Network:
    """Tensors and operators, added one after the other; tensors are known by their numbers in the file."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)
        self.model = ModelWriter("pose network, int8, random weights")
        self.shapes: dict[int, tuple[int, ...]] = {}

    def tensor(self, shape: tuple[int, ...], dtype: str, data: Any = None, quantization: Quantization | None = None) -> int:
        number = self.model.add_tensor(f"pose/tensor_{len(self.shapes)}", shape, dtype, data, quantization)
        self.shapes[number] = shape
        return number

    def operator(
        self, name: str, inputs: list[int], shape: tuple[int, ...], dtype: str = "int8", version: int = 1,
        quantization: Quantization | None = ACTIVATION, **options: Any,
    ) -> int:
        result = self.tensor(shape, dtype, None, quantization if dtype in ("int8", "uint8") else None)
        self.model.add_operator(name, inputs, [result], options or None, version=version)
        return result

    def filter(self, shape: tuple[int, ...], axis: int) -> list[int]:
        """Weights and biases with a scale for each index of dimension `axis`."""
        channels = shape[axis]
        scales = self.random.uniform(0.001, 0.01, channels).astype(np.float32).tolist()
        weights = self.random.integers(-127, 128, shape).astype(np.int8)
        biases = self.random.integers(-1000, 1000, channels).astype(np.int32)
        of_sums = [float(np.float32(scale) * np.float32(0.05)) for scale in scales]
        return [
            self.tensor(shape, "int8", weights, Quantization(scales, [0] * channels, axis)),
            self.tensor((channels,), "int32", biases, Quantization(of_sums, [0] * channels, 0))]

    def convolution(self, x: int, wanted: int, kernel: int = 1, stride: int = 1, activation: str = "RELU6") -> int:
        batch, height, width, channels = self.shapes[x]
        return self.operator(
            "CONV_2D", [x, *self.filter((wanted, kernel, kernel, channels), 0)],
            (batch, -(-height // stride), -(-width // stride), wanted), version=3, padding="SAME", stride_h=stride,
            stride_w=stride, fused_activation_function=activation)

    def depthwise(self, x: int, stride: int = 1, activation: str = "RELU6") -> int:
        batch, height, width, channels = self.shapes[x]
        return self.operator(
            "DEPTHWISE_CONV_2D", [x, *self.filter((1, 3, 3, channels), 3)],
            (batch, -(-height // stride), -(-width // stride), channels), version=3, padding="SAME", stride_h=stride,
            stride_w=stride, depth_multiplier=1, fused_activation_function=activation)

    def sum(self, a: int, b: int) -> int:
        return self.operator("ADD", [a, b], self.shapes[a], version=2, fused_activation_function="NONE")

    def resized(self, x: int, height: int, width: int) -> int:
        size = self.tensor((2,), "int32", np.array([height, width], np.int32))
        batch, _, _, channels = self.shapes[x]
        return self.operator(
            "RESIZE_BILINEAR", [x, size], (batch, height, width, channels), version=2, align_corners=False,
            half_pixel_centers=False)

    def floats(self, name: str, *inputs: int | float | list[int], shape: tuple[int, ...], **options: Any) -> int:
        """An operator on floats; numbers among its inputs become constants, and lists of numbers constants of integers."""
        held = [
            self.tensor((1,), "float32", np.array([each], np.float32)) if isinstance(each, float)
            else self.tensor((len(each),), "int32", np.array(each, np.int32)) if isinstance(each, list)
            else each for each in inputs]
        return self.operator(name, held, shape, "float32", **options)


def backbone(net: Network, image: int) -> tuple[int, list[int]]:
    """MobileNet v2: its result, and that of each stage."""
    x = net.convolution(net.depthwise(net.convolution(image, 32, 3, 2)), 16, activation="NONE")
    results = []
    for expansion, wanted, repeats, first_stride in STAGES:
        for index in range(repeats):
            y = net.convolution(x, net.shapes[x][3] * expansion)
            y = net.convolution(net.depthwise(y, first_stride if index == 0 else 1), wanted, activation="NONE")
            x = net.sum(x, y) if index else y
        results.append(x)
    return net.convolution(x, 1280), results


def decoded(net: Network, heads: list[int]) -> int:
    """The offsets and maps at the place of the centre, as floats in a row."""
    batch, height, width, _ = net.shapes[heads[0]]
    certain = net.operator("LOGISTIC", heads[:1], net.shapes[heads[0]], quantization=Quantization([1 / 256], [-128]))
    new_shape = net.tensor((2,), "int32", np.array([batch, height * width], np.int32))
    row = net.operator("RESHAPE", [certain, new_shape], (batch, height * width), quantization=Quantization([1 / 256], [-128]))
    axis = net.tensor((), "int32", np.array(1, np.int32))
    centre = net.operator("ARG_MAX", [row, axis], (batch,), "int32", output_type="INT32")
    place = net.floats("CAST", centre, shape=(batch,), in_data_type="INT32", out_data_type="FLOAT32")
    line = net.floats("FLOOR", net.floats("DIV", place, float(width), shape=(batch,), fused_activation_function="NONE"),
                      shape=(batch,))
    parts = []
    for head in heads[1:]:
        channels = net.shapes[head][3]
        shape = (batch, channels)
        real = net.floats("DEQUANTIZE", head, shape=net.shapes[head], version=2)
        rows = net.floats("RESHAPE", real, [height * width, channels], shape=(height * width, channels))
        found = net.floats("GATHER", rows, centre, shape=shape, axis=0)
        length = net.floats("SQRT", net.floats("MUL", found, found, shape=shape, fused_activation_function="NONE"), shape=shape)
        moved = net.floats("ADD", length, line, shape=shape, fused_activation_function="NONE")
        bounded = net.floats("MINIMUM", net.floats("MAXIMUM", moved, 0.0, shape=shape), float(width - 1), shape=shape)
        parts.append(net.floats("SUB", bounded, 0.5, shape=shape, fused_activation_function="NONE"))
    total = sum(net.shapes[part][1] for part in parts)
    return net.floats("CONCATENATION", *parts, shape=(batch, total), axis=1, fused_activation_function="NONE")


def pose_network() -> bytes:
    net = Network()
    image = net.tensor((1, 192, 192, 3), "uint8", None, Quantization([1 / 127.5], [127]))
    x, stages = backbone(net, net.operator("QUANTIZE", [image], (1, 192, 192, 3)))
    x = net.convolution(x, PYRAMID[0][1], activation="NONE")
    for stage, joining, left in PYRAMID:
        finer = net.convolution(stages[stage], joining, activation="NONE")
        x = net.sum(finer, net.resized(x, *net.shapes[finer][1:3]))
        x = net.convolution(net.depthwise(x, activation="NONE"), left, activation="RELU")
    heads = [
        net.convolution(net.convolution(net.depthwise(x, activation="NONE"), 96, activation="RELU"), wanted, activation="NONE")
        for wanted in HEADS]
    net.model.inputs, net.model.outputs = [image], [decoded(net, heads)]
    return net.model.finish()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    path = parser.parse_args().path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pose_network())


if __name__ == "__main__":
    main()
