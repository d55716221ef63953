"""Graphs of TensorFlow that were trained with FakeQuant nodes, and a simulator of them in numpy.

The simulator takes a `GraphDef` by itself. FakeQuant is computed in float32 by the kernels' published formula (`Nudge` and the
functors in `tensorflow/core/kernels/fake_quant_ops_functor.h`), all else in float64, and each FakeQuant tells its integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .tensorflow_graphs import T, const, graph, node, placeholder

__all__ = ["FLOAT", "Made", "simulated"]

FLOAT = T("float32")


# --- graphs


@dataclass
class Made:
    """A graph node by node, with random weights; each method adds a node and what it takes, and gives its name."""

    shape: tuple[int, ...] = (1, 8, 8, 3)
    nodes: list[Any] = field(default_factory=list)
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __post_init__(self) -> None:
        self.nodes.append(placeholder("x", self.shape))

    def op(self, name: str, kind: str, *inputs: str | np.ndarray, **attributes: Any) -> str:
        """An op of floats; arrays become constants."""
        names = []
        for place, given in enumerate(inputs):
            if isinstance(given, np.ndarray):
                self.nodes.append(const(f"{name}/{place}", given))
                given = f"{name}/{place}"
            names.append(given)
        self.nodes.append(node(name, kind, *names, T=FLOAT, **attributes))
        return name

    def fake(self, name: str, source: str | np.ndarray, low: Any, high: Any, **attributes: Any) -> str:
        """FakeQuant with a range, or with one for each of the last dimension."""
        ends = [np.asarray(end, np.float32) for end in (low, high)]
        kind = "FakeQuantWithMinMaxVars" + ("PerChannel" if ends[0].ndim else "")
        name = self.op(name, kind, source, *ends, **attributes)
        del self.nodes[-1].attr["T"]
        return name

    def weights(self, name: str, *shape: int, channels: bool = False, dead: int | None = None, **attributes: Any) -> str:
        """Random weights, rounded by their greatest numbers; channel `dead` is nothing but 0."""
        numbers = self.random.normal(0, 0.3, shape).astype(np.float32)
        if dead is not None:
            numbers[..., dead] = 0
        most = np.abs(numbers).max(tuple(range(len(shape) - 1)) if channels else None)
        return self.fake(name, numbers, -most, most, narrow_range=True, **attributes)

    def conv(self, name: str, source: str, weights: str, step: int = 1, kind: str = "Conv2D", padding: str = "SAME") -> str:
        return self.op(name, kind, source, weights, strides=[1, step, step, 1], padding=padding)

    def biased(self, name: str, source: str, channels: int) -> str:
        return self.op(name, "BiasAdd", source, self.random.normal(0, 0.1, channels).astype(np.float32))

    def done(self) -> Any:
        return graph(*self.nodes)


# --- the simulator


def simulated(graph: Any, feeds: Mapping[str, np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The last node's numbers, and the integers of each FakeQuant by name, as signed ones."""
    values, integers = dict(feeds), {}
    for given in graph.node:
        each = type(given).FromString(given.SerializeToString())  # asking for an attribute makes it
        if each.op == "Placeholder":
            continue
        if each.op == "Const":
            tensor = each.attr["value"].tensor
            shape = [dim.size for dim in tensor.tensor_shape.dim]
            values[each.name] = np.frombuffer(tensor.tensor_content, {1: "<f4", 3: "<i4"}[tensor.dtype]).reshape(shape)
            continue
        given = [values[name] for name in each.input]
        if each.op.startswith("FakeQuant"):
            values[each.name], integers[each.name] = _fake(each, *given)
        else:
            values[each.name] = _OPS[each.op](each, *(x.astype(np.float64) if x.dtype.kind == "f" else x for x in given))
    return values[graph.node[-1].name], integers


def _fake(node: Any, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    bits = node.attr["num_bits"].i or 8
    least, most = np.float32(node.attr["narrow_range"].b), np.float32(2**bits - 1)
    nothing = (low == 0) & (high == 0)
    high = np.where(nothing, np.float32(1), high)
    scale, inverse = (high - low) / (most - least), (most - least) / (high - low)
    zero = np.clip(np.floor((least - low / scale).astype(np.float64) + 0.5), least, most).astype(np.float32)
    nudged = (least - zero) * scale, (most - zero) * scale
    shifted = np.maximum(np.minimum(x.astype(np.float32), nudged[1]), nudged[0]) - nudged[0]
    steps = shifted * inverse if low.ndim else shifted / scale
    whole = np.floor(steps - np.floor(-nudged[0] * inverse + np.float32(0.5)) + np.float32(0.5))
    whole = np.where(nothing, 0, whole)
    middle = np.where(nothing, 0, zero - 2 ** (bits - 1))
    return whole.astype(np.float64) * scale, (whole + middle).astype(int)


def _same(size: int, kernel: int, step: int) -> tuple[int, int]:
    total = max((-(-size // step) - 1) * step + kernel - size, 0)
    return total // 2, total - total // 2


def _conv(node: Any, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    step, (rows, columns) = node.attr["strides"].list.i[1], w.shape[:2]
    if node.attr["padding"].s == b"SAME":
        x = np.pad(x, [(0, 0), _same(x.shape[1], rows, step), _same(x.shape[2], columns, step), (0, 0)])
    high, wide = (x.shape[1] - rows) // step + 1, (x.shape[2] - columns) // step + 1
    total: Any = 0
    for i in range(rows):
        for j in range(columns):
            part = x[:, i : i + (high - 1) * step + 1 : step, j : j + (wide - 1) * step + 1 : step]
            is_depthwise = node.op.startswith("Depthwise")
            total = total + ((part[..., None] * w[i, j]).reshape(*part.shape[:3], -1) if is_depthwise else part @ w[i, j])
    return total


def _norm(node: Any, x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    return (x - mean) / np.sqrt(variance + node.attr["epsilon"].f) * gamma + beta


def _softmax(node: Any, x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


_OPS: dict[str, Any] = {
    "Conv2D": _conv, "DepthwiseConv2dNative": _conv, "FusedBatchNormV3": _norm, "Softmax": _softmax,
    "BiasAdd": lambda node, x, y: x + y, "AddV2": lambda node, x, y: x + y, "MatMul": lambda node, x, y: x @ y,
    "Relu": lambda node, x: np.maximum(x, 0), "Relu6": lambda node, x: np.clip(x, 0, 6), "Identity": lambda node, x: x,
    "Mean": lambda node, x, axes: x.mean(tuple(axes)), "Reshape": lambda node, x, shape: x.reshape(shape),
    "ConcatV2": lambda node, *given: np.concatenate(given[:-1], int(given[-1])),
    "MaxPool": lambda node, x: np.maximum.reduce([x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)])}
