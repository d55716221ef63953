"""The model of a case, as the bytes of a `.tflite` file, and the arrays it is fed with."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from transload_converters.tflite.writer import ModelWriter

from .spec import FORMATS, STATE, Case, Format, Tensor

__all__ = ["Assembly", "Built", "build"]

Quantization = tuple[list[float], list[int], int] | None
"""Scales, zero points, and the dimension that they belong to."""


@dataclass
class Built:
    """A model's bytes and what it is fed, by input name."""

    content: bytes
    feeds: dict[str, np.ndarray] = field(default_factory=dict)


def build(case: Case, result_shapes: Sequence[tuple[int, ...]] | None = None) -> Built:
    """The model of a case, its random numbers always the same.

    Results have the given shapes in the file. LiteRT finds the right ones whatever the file says, and so tells them.
    """
    assembly = Assembly(ModelWriter(description=str(case)), FORMATS[case.format], zlib.crc32(str(case).encode()))
    writer = assembly.writer
    if case.model is not None:
        case.model(assembly, *case.inputs, **case.options)
        return Built(writer.finish(), assembly.feeds)
    given = [assembly.add(f"in{index}", tensor) for index, tensor in enumerate(case.inputs)]
    shapes = result_shapes or [tensor.shape for tensor in case.results]
    made = [assembly.add_result(f"out{index}", *each) for index, each in enumerate(zip(case.results, shapes, strict=True))]
    if case.custom is not None:
        writer.add_custom_operator(case.op, given, made, case.custom)
    else:
        writer.add_operator(case.op, given, made, case.options, version=case.version)
    writer.outputs = made
    return Built(writer.finish(), assembly.feeds)


class Assembly:
    """Adds tensors of a format to a model, and draws the numbers of its constants and inputs.

    `operands` holds shape and quantization of the first operand of each role: a bias and a sum of products are scaled
    after the activation and the weights.
    """

    def __init__(self, writer: ModelWriter, form: Format, seed: int) -> None:
        self.writer = writer
        self.form = form
        self.generator = np.random.default_rng(seed)
        self.feeds: dict[str, np.ndarray] = {}
        self.operands: dict[str, tuple[tuple[int, ...], Quantization]] = {}

    def add(self, name: str, tensor: Tensor | None) -> int | None:
        """Add an operand; one without data becomes an input of the model, fed with random numbers."""
        if tensor is None:
            return None
        dtype = self.form.dtype(tensor.role)
        quantization = self._quantization(tensor, dtype)
        self.operands.setdefault(tensor.role, (tensor.shape, quantization))
        if tensor.data is STATE:
            return self.writer.add_tensor(name, tensor.shape, dtype, quantization=quantization, is_variable=True)
        if tensor.data is None:
            self.feeds[name] = self._random(tensor, dtype, quantization)
            index = self.writer.add_tensor(name, tensor.shape, dtype, None, quantization, _signature(tensor))
            self.writer.inputs.append(index)
            return index
        values = self._random(tensor, dtype, quantization) if isinstance(tensor.data, str) else tensor.data
        index = self.writer.add_tensor(name, tensor.shape, dtype, values, quantization)
        if dtype != "float16" or not self.form.weights_through_float:
            return index
        real = self.writer.add_tensor(f"{name}_f32", tensor.shape, "float32")
        self.writer.add_operator("DEQUANTIZE", [index], [real])
        return real

    def add_result(self, name: str, tensor: Tensor, shape: tuple[int, ...]) -> int:
        """Add a result of a shape."""
        dtype = self.form.dtype(tensor.role)
        return self.writer.add_tensor(name, shape, dtype, quantization=self._quantization(tensor, dtype))

    def _quantization(self, tensor: Tensor, dtype: str) -> Quantization:
        """What the tensor itself says, or the format for its role; None for floats and plain integers."""
        if tensor.role == "w" and dtype in ("int8", "uint8", "int4", "int2"):
            return self._weight_quantization(tensor, dtype)
        if tensor.role == "b" and self.form.quantization:
            scales = [self._scales("x")[0] * scale for scale in self._scales("w")]
            return scales, [0] * len(scales), 0
        scale, zero = self.form.quantization.get(tensor.role, (None, 0))
        if tensor.role == "y" and scale is not None and "w" in self.operands:
            scale = self._sum_scale()
        scale = scale if tensor.scale is None else tensor.scale
        return None if scale is None else ([scale * tensor.by], [zero if tensor.zero is None else tensor.zero], 0)

    def _weight_quantization(self, tensor: Tensor, dtype: str) -> Quantization:
        step = {"int4": 0.11, "int2": 0.4}.get(dtype, 0.007)
        if not self.form.per_axis or tensor.axis is None:
            return [step], [self.form.weight_zero], 0
        axis = tensor.axis % len(tensor.shape)
        scales = self.generator.uniform(step / 2, step * 2, tensor.shape[axis]).astype(np.float32).tolist()
        return scales, [0] * len(scales), axis

    def _scales(self, role: str) -> list[float]:
        return self.operands[role][1][0]  # type: ignore[index]

    def _sum_scale(self) -> float:
        """A scale for sums of products with the weights, so that most of them are in range."""
        shape = self.operands["w"][0]
        terms = math.prod(shape) / max(shape)
        return self._scales("x")[0] * 127 * float(np.mean(self._scales("w"))) * math.sqrt(terms)

    def _random(self, tensor: Tensor, dtype: str, quantization: Quantization) -> np.ndarray:
        """Random numbers: of the whole range in a quantized role, else between the tensor's limits."""
        shape, low, high = tensor.fed or tensor.shape, tensor.low, tensor.high
        if dtype.startswith("float"):
            return self.generator.uniform(low, high, shape).astype(dtype)
        if dtype == "bool":
            return self.generator.integers(0, 2, shape).astype(bool)
        if tensor.role == "b" and quantization is not None:
            return np.round(self.generator.uniform(low, high, shape) / np.asarray(quantization[0])).astype(dtype)
        if tensor.role == "w" and quantization is not None:
            least, most = {"int2": (-2, 1), "int4": (-7, 7), "uint8": (0, 255)}.get(dtype, (-127, 127))
            held = "int8" if dtype in ("int2", "int4") else dtype
            return self.generator.integers(least, most, shape, endpoint=True).astype(held)
        limits = np.iinfo(dtype)
        if quantization is not None and len(tensor.role) == 1:
            # Evenly over the range, in any order: 256 numbers are all numbers of 8 bits.
            numbers = np.linspace(limits.min, limits.max, math.prod(shape)).round()
            return self.generator.permutation(numbers).astype(dtype).reshape(shape)
        least = max(math.ceil(low), limits.min)
        return self.generator.integers(least, int(high), shape, "int64", endpoint=True).astype(dtype)


def _signature(tensor: Tensor) -> tuple[int, ...] | None:
    """-1 for the sizes that the file leaves open."""
    if tensor.fed is None:
        return None
    return tuple(size if size == fed else -1 for size, fed in zip(tensor.shape, tensor.fed, strict=True))
