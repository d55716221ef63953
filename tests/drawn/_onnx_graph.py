"""A graph of quantized ONNX operators that grows one by one, in QDQ or in QOperator form; onnxruntime tells shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._integers import LIMITS, Draws

__all__ = ["NARROW", "Graph", "NoCaseError", "Quantized", "run_level"]

NARROW = ("int8", "uint8")
LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")


class NoCaseError(Exception):
    """onnxruntime does not take what was drawn, or the operator does not go there."""


@dataclass(frozen=True)
class Quantized:
    """A tensor of integers by its name; the names of its scale and zero point among the constants."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float
    zero: int
    by: tuple[str, str]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def reach(self) -> float:
        return max(abs(limit - self.zero) for limit in LIMITS[self.dtype]) * self.scale

    @property
    def named(self) -> tuple[str, str, str]:
        """What QLinear operators list of an operand."""
        return (self.name, *self.by)


def run_level(content: bytes, feeds: dict[str, np.ndarray], level: str) -> list[np.ndarray]:
    """What onnxruntime gives at a level of optimization, as on processors on which no product of u8 by i8 saturates."""
    import onnxruntime

    from transload_converters.onnx.saturation import made_exact, saturates

    if saturates():
        import onnx

        model = onnx.load_from_string(content)
        made_exact(model)
        content = model.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return list(session.run(None, feeds))


@dataclass
class Graph(Draws):
    """What was drawn so far."""

    nodes: list[Any] = field(default_factory=list)
    feeds: dict[str, np.ndarray] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    count: int = 0
    opset: int = 21

    def name(self, stem: str = "t") -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def constant(self, value: Any, dtype: str | None = None) -> str:
        """A constant by its name; of int4 and uint4 as well."""
        from onnx import TensorProto, helper

        name = self.name("c")
        if dtype in ("int4", "uint4"):
            value = np.asarray(value)
            value = helper.make_tensor(name, getattr(TensorProto, dtype.upper()), value.shape, value.ravel().tolist())
        self.constants[name] = value if dtype in ("int4", "uint4") else np.asarray(value, dtype)
        return name

    def quantization(self, scale: Any, zero: Any, dtype: str) -> tuple[str, str]:
        return self.constant(scale, "float32"), self.constant(zero, dtype)

    def result(self, shape: Sequence[int], dtype: str, reach: float, halves: bool = True) -> Quantized:
        """A tensor that is to be, of a quantization of its own; `halves`: numbers may well be in the middle of two steps."""
        scale, zero = (self.scale_for if halves else self.uneven)(reach, dtype), self.zero(dtype)
        return Quantized(self.name("q"), tuple(shape), dtype, scale, zero, self.quantization(scale, zero, dtype))

    def alike(self, x: Quantized, shape: Sequence[int] | None = None) -> Quantized:
        """A tensor that is to be, of the quantization of another."""
        return Quantized(self.name("q"), x.shape if shape is None else tuple(shape), x.dtype, x.scale, x.zero, x.by)

    def operand(self, shape: Sequence[int], dtype: str, reach: float = 4.0, data: bool | None = None) -> Quantized:
        """A second operand: a constant, or an input of the model."""
        made = self.result(shape, dtype, reach)
        values = self.values(shape, dtype, made.zero)
        (self.constants if (self.chance(0.5) if data is None else data) else self.feeds)[made.name] = values
        return made

    def weights(self, shape: Sequence[int], dtype: str, axis: int | None) -> tuple[str, str, str, np.ndarray]:
        """Constant weights with their scale and zero point, one for each index of an axis; and the scales."""
        count = None if axis is None else shape[axis]
        scales = np.asarray(float(self.pick(0.01, 1e-3, 0.3)) * self.random.uniform(0.05, 2, count), np.float32)
        zeros = np.zeros(count or (), int) if self.chance(0.6) else self.random.integers(*LIMITS[dtype], count or ())
        return (self.constant(self.values(shape, dtype), dtype), *self.quantization(scales, zeros, dtype), scales)

    def add(self, operator: str, inputs: Sequence[str], outputs: Sequence[str], ms: bool = False, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(operator, inputs, outputs, domain="com.microsoft" if ms else "", **attributes))
        return outputs[0]

    def real(self, x: Quantized) -> str:
        """The real numbers of a tensor, by a DequantizeLinear."""
        return self.add("DequantizeLinear", x.named, [self.name("r")])

    def rounded(self, real: str, made: Quantized) -> Quantized:
        """The tensor `made` of real numbers, by a QuantizeLinear, with the shape that onnxruntime says.

        Which integer a NaN becomes ONNX does not say: onnxruntime's vector units take the least, others the zero point, as we do.
        """
        self.add("QuantizeLinear", [real, *made.by], [made.name])
        if np.isnan(self.outputs([real], LEVELS[0])[0]).any():
            raise NoCaseError("not a number")
        return self.settled(made)

    def settled(self, made: Quantized) -> Quantized:
        shape = self.outputs([made.name], LEVELS[0])[0].shape
        if 0 in shape:
            raise NoCaseError("nothing is left")
        return Quantized(made.name, shape, made.dtype, made.scale, made.zero, made.by)

    def outputs(self, names: Sequence[str], level: str) -> list[np.ndarray]:
        try:
            return run_level(self.content(names), self.feeds, level)
        except Exception as error:  # onnxruntime's errors share no class
            raise NoCaseError(str(error)[-200:]) from None

    def content(self, outputs: Sequence[str]) -> bytes:
        from tests.support.onnx_models import make_model

        return make_model(self.nodes, self.feeds, outputs, self.constants, self.opset).SerializeToString()
