"""Programs of pt2e written op by op, and what they compute: each op is one of `aten`, and a function of numpy beside it.

The functions are what torch documents of its operators, in float64: `quantize_per_tensor` is `clamp(round(x / scale) +
zero_point, quant_min, quant_max)` with halves to the even number, `dequantize_*` is `(x - zero_point) * scale`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transload.ir import ArrayData, Dense, Module, Op, TensorType, Value, new_module, set_results
from transload.ir.constants import element_type_of
from transload_converters.pytorch.schemas import schema_of

__all__ = ["Program"]

_Q = "quantized_decomposed."


class Program:
    """A program of one input `x`, and its numbers. Methods add an op, called `name` where that is given, and give its value."""

    def __init__(
        self, shape: tuple[int, ...] = (1, 3, 8, 8), dtype: str = "float32", ends: tuple[int, int] = (-128, 127),
    ) -> None:
        self.module: Module = new_module()
        self.ends, self.stored = ends, "uint8" if ends[0] >= 0 else "int8"
        self.main = self.module.add_function("main", [TensorType(shape, element_type_of(np.dtype(dtype)))], ["x"])
        self.block = self.module.body_of_main
        self.x: Value = self.block.arguments[0]
        self.random = np.random.default_rng(0)
        self.steps: list[tuple[Value, Callable[..., Any], list[Any], str]] = []

    # --- ops

    def op(self, name: str, function: Callable[..., Any], like: np.ndarray | tuple[int, ...], *given: Any, dtype: str = "float32",
           called: str = "", **more: Any) -> Value:
        """An op of `aten` with the arguments of its schema, in order and by name; `like` is the result's shape."""
        schema = schema_of(f"aten.{name}")
        assert schema is not None
        held = {**dict(zip((argument.name for argument in schema.arguments), given, strict=False)), **more}
        operands: list[Value] = []
        attributes: dict[str, Any] = {}
        for argument in schema.arguments:
            value = held.get(argument.name)
            if argument.is_tensor:
                operands += value if argument.many else [value if value is not None else self._nothing()]
            elif value is not None:
                attributes[argument.name] = tuple(value) if isinstance(value, list) else (
                    float(value) if argument.kind == "float" else value)
        types = [TensorType(tuple(like), element_type_of(np.dtype(dtype)))]
        made = self.block.append(Op(f"aten.{name}", operands, types, attributes, (), called or f"t{len(self.steps)}")).results[0]
        self.steps.append((made, function, [value for value in given if _is_tensor(value)], called))
        return made

    def _nothing(self) -> Value:
        from transload.ir.types import NONE

        return self.block.append(Op("aten.NoValue", (), (NONE,))).results[0]

    def constant(self, array: np.ndarray) -> Value:
        dense = Dense(ArrayData(array))
        made = self.block.append(Op("aten.Constant", (), (dense.type,), {"value": dense})).results[0]
        self.steps.append((made, lambda: array, [], ""))
        return made

    def quantize(self, x: Value, scale: float, point: int, name: str = "") -> Value:
        low, high = self.ends

        def function(x: np.ndarray) -> np.ndarray:
            return np.clip(np.round(x / scale) + point, low, high).astype(self.stored)

        return self.op(f"{_Q}quantize_per_tensor.default", function, x.static_shape, x, scale, point, low, high,
                       element_type_of(np.dtype(self.stored)), dtype=self.stored, called=name)

    def dequantize(self, x: Value, scale: float, point: int) -> Value:
        return self.op(f"{_Q}dequantize_per_tensor.default", lambda x: (x.astype(np.float64) - point) * scale, x.static_shape, x,
                       scale, point, *self.ends, x.element)

    def rounded(self, x: Value, scale: float, point: int, name: str = "") -> Value:
        """Quantized and dequantized."""
        return self.dequantize(self.quantize(x, scale, point, name), scale, point)

    def weights(self, *shape: int, axis: int = 0, ends: tuple[int, int] = (-127, 127), dtype: str = "int8",
                scales: np.ndarray | None = None) -> Value:
        """Random integers with a scale for each index of a dimension, dequantized."""
        numbers = self.random.integers(ends[0], ends[1] + 1, shape).astype(dtype)
        held = self.random.uniform(0.001, 0.004, shape[axis]).astype(np.float32) if scales is None else scales
        spread = [-1 if place == axis else 1 for place in range(len(shape))]
        given = [self.constant(array) for array in (numbers, held, np.zeros(shape[axis], np.int64))]

        def function(x: np.ndarray, scales: np.ndarray, _: np.ndarray) -> np.ndarray:
            return x.astype(np.float64) * scales.astype(np.float64).reshape(spread)

        return self.op(f"{_Q}dequantize_per_channel.default", function, shape, *given, axis, *ends,
                       element_type_of(np.dtype(dtype)))

    def bias(self, size: int) -> Value:
        return self.constant(self.random.normal(0, 0.3, size).astype(np.float32))

    def conv(self, x: Value, w: Value, b: Value | None = None, groups: int = 1, pad: int = 1) -> Value:
        (n, _, rows, columns), (channels, _, high, wide) = x.static_shape, w.static_shape
        shape = (n, channels, rows + 2 * pad - high + 1, columns + 2 * pad - wide + 1)

        def function(x: np.ndarray, w: np.ndarray, b: np.ndarray | float = 0.0) -> np.ndarray:
            x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
            seen = np.lib.stride_tricks.sliding_window_view(x, (high, wide), (2, 3))
            parts = [np.einsum("nchwij,ocij->nohw", part, own) for part, own in zip(
                np.split(seen, groups, 1), np.split(w, groups, 0), strict=True)]
            return np.concatenate(parts, 1) + np.reshape(b, (-1, 1, 1))

        return self.op("conv2d.default", function, shape, x, w, b, [1, 1], [pad, pad], [1, 1], groups)

    def relu(self, x: Value) -> Value:
        return self.op("relu.default", lambda x: np.maximum(x, 0), x.static_shape, x)

    def hardtanh(self, x: Value) -> Value:
        return self.op("hardtanh.default", lambda x: np.clip(x, 0, 6), x.static_shape, x, 0.0, 6.0)

    def add(self, x: Value, y: Value) -> Value:
        return self.op("add.Tensor", np.add, x.static_shape, x, y)

    def mul(self, x: Value, y: Value) -> Value:
        return self.op("mul.Tensor", np.multiply, x.static_shape, x, y)

    def maxpool(self, x: Value) -> Value:
        n, c, h, w = x.static_shape
        return self.op("max_pool2d.default", lambda x: x.reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5)), (n, c, h // 2, w // 2),
                       x, [2, 2], [2, 2])

    def mean(self, x: Value) -> Value:
        return self.op("mean.dim", lambda x: x.mean((2, 3)), x.static_shape[:2], x, [2, 3], False)

    def cat(self, parts: list[Value]) -> Value:
        n, _, h, w = parts[0].static_shape
        channels = sum(part.static_shape[1] for part in parts)
        return self.op("cat.default", lambda parts: np.concatenate(parts, 1), (n, channels, h, w), parts, 1)

    def linear(self, x: Value, w: Value, b: Value) -> Value:
        return self.op("linear.default", lambda x, w, b: x @ w.T + b, (*x.static_shape[:-1], w.static_shape[0]), x, w, b)

    def addmm(self, b: Value, x: Value, w: Value) -> Value:
        """`b + x w`, the weights [outputs, inputs] turned by an op."""
        turned = self.op("permute.default", lambda w: w.T, w.static_shape[::-1], w, [1, 0])
        return self.op("addmm.default", lambda b, x, w: b + x @ w, (x.static_shape[0], w.static_shape[0]), b, x, turned)

    # --- the whole

    def done(self, *results: Value) -> Program:
        set_results(self.main, results, [f"y{place}" for place in range(len(results))])
        return self

    def run(self, x: np.ndarray) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
        """The results, and the integers of what is called by a name."""
        values: dict[Value, np.ndarray] = {self.x: x.astype(np.float64) if x.dtype.kind == "f" else x}
        for made, function, given, _ in self.steps:
            values[made] = function(*([values[each] for each in value] if isinstance(value, list) else values[value]
                                      for value in given))
        return [values[value] for value in self.block.terminator.operands], {
            name: values[made] for made, _, _, name in self.steps if name}


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Value) or (isinstance(value, Sequence) and bool(value) and isinstance(value[0], Value))
