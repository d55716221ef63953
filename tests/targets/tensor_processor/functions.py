"""Functions of dialect `tpu`, made by chance, and chips that are too small for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from transload.ir import I8, ArrayData, Dense, Module, TensorType, Value, new_module, set_results
from transload.ir.build import Builder
from transload_targets.tensor_processor.chip import Chip, load_chip


class Maker:
    """Adds ops to the main function of a module. Scales are such that results use the range of eight bits."""

    def __init__(self, shape: tuple[int, ...], seed: int = 0) -> None:
        self.module = new_module()
        self.main = self.module.add_function("main", [TensorType(shape, I8)], ["x"])
        self.block = self.main.regions[0].block
        self.random = np.random.default_rng(seed)
        self.count = 0

    @property
    def input(self) -> Value:
        return self.block.arguments[0]

    def emit(self, name: str, *operands: Any, **attributes: Any) -> Value:
        self.count += 1
        return Builder(self.block, location=f"{name.partition('.')[2]}{self.count}").emit(name, *operands, **attributes)

    def constant(self, array: np.ndarray) -> Value:
        return self.emit("top.Weight", value=Dense(ArrayData(array)))

    def constants(self, channels: int, terms: int) -> list[Value]:
        """Bias, multipliers and shifts for sums of so many products."""
        shift = 31 + int(np.log2(127 * terms ** 0.5))
        return [self.constant(array.astype(np.int32)) for array in (
            self.random.integers(-1000, 1000, channels), self.random.integers(1 << 30, (1 << 31) - 1, channels),
            np.full(channels, shift))]

    def conv(self, x: Value, channels: int, kernel: int = 3, stride: int = 1, groups: int = 1, **attributes: Any) -> Value:
        inner, half = x.shape[1] // groups, kernel // 2
        weights = self.constant(self.random.integers(-127, 128, (channels, inner, kernel, kernel)).astype(np.int8))
        return self.emit("tpu.conv2d", x, weights, *self.constants(channels, inner * kernel * kernel), **{
            "strides": (stride, stride), "pads": (half,) * 4, "groups": groups, "input_zero": -5, "output_zero": 3, **attributes})

    def add(self, a: Value, b: Value) -> Value:
        half = {"a_multiplier": 1 << 30, "a_shift": 31, "b_multiplier": 1 << 30, "b_shift": 31}
        return self.emit("tpu.add", a, b, a_zero=3, b_zero=3, left_shift=20, multiplier=1 << 30, shift=50, output_zero=1, **half)

    def matmul(self, x: Value, columns: int, transposed: bool) -> Value:
        rows = x.shape[-1]
        weights = self.random.integers(-127, 128, (columns, rows) if transposed else (rows, columns)).astype(np.int8)
        return self.emit("tpu.matmul", x, self.constant(weights), *self.constants(columns, rows), transposed=transposed)

    def done(self, *results: Value) -> Module:
        set_results(self.main, list(results), [f"y{number}" for number in range(len(results))])
        return self.module


def network(seed: int) -> Module:
    """Convolutions of all kinds, sums, pools and tables, one after the other and side by side."""
    made = Maker((1 + seed % 2, 3, 13 + seed % 5, 12), seed)
    x = made.conv(made.input, 4 + seed % 7)
    given = []
    for _ in range(6):
        channels, kind = x.shape[1], int(made.random.integers(7))
        if kind == 0:
            x = made.conv(x, int(made.random.integers(3, 20)), int(made.random.integers(1, 6)))
        elif kind == 1:
            x = made.conv(x, channels, 3, groups=channels)
        elif kind == 2 and x.shape[2] > 6:
            x = made.conv(x, channels + 2, 3, 2, pads=(1, 0, 0, 1))
        elif kind == 3:
            x = made.add(x, made.conv(made.conv(x, channels), channels, 1))
        elif kind == 4 and x.shape[2] > 4:
            x = made.emit("tpu.max_pool2d", x, kernel=(3, 2), strides=(2, 1), pads=(1, 0, 1, 1))
        elif kind == 5:
            x = made.emit("tpu.avg_pool2d", x, kernel=(3, 3), pads=(1, 0, 0, 1), padded=(0, 1, 1, 0), input_zero=3)
        else:
            x = made.emit("tpu.table", x, made.constant(made.random.integers(-128, 128, 256).astype(np.int8)))
            given.append(x)
    return made.done(x, *given[:1])


def chip(name: str, local_bytes: int | None = None) -> Chip:
    """A chip that comes with the package, with so much local memory."""
    found = load_chip(name)
    return found if local_bytes is None else replace(found, local_bytes=local_bytes)
