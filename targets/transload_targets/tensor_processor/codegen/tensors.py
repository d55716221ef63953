"""Tensors of a program: their numbers, where they lie in global memory, what lies there at the start."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from transload.ir import QuantType, TensorType, Value
from transload.ir.build import constant_of

from ..chip import Chip
from ..chip.description import WIDEST
from ..groups.forms import Held, dtype_name, sizes_of
from ..groups.reading import Reading
from ..groups.steps import Schedule
from ..instructions import ELEMENTS, Port, Tensor, Weights
from ..placement.everywhere import GlobalPlan, place_global
from .lifetimes import lifetimes

__all__ = ["Tensors"]


class Tensors:
    """The tensors of a network as those of a program, placed in global memory for the schedules of all cores."""

    def __init__(self, reading: Reading, chip: Chip, schedules: Sequence[Schedule]) -> None:
        self.reading, self.chip = reading, chip
        self.tensors: list[Tensor] = []
        self.numbers: dict[Hashable, int] = {}
        self.bases: dict[Hashable, tuple[int, ...]] = {}
        self.constants: dict[Hashable, tuple[str, Any, str]] = {}
        self._number()
        self.everywhere = self._place(schedules)

    def base(self, held: Held) -> Hashable:
        """The tensor of the program that a tensor of the network is a view of."""
        return id(held.data) if held.value is None else self.reading.root(held.value)

    def _number(self) -> None:
        """Number the tensors of the program, and collect constants."""
        for about, held in zip(self.reading.network.tensors, self.reading.held, strict=True):
            key = self.base(held)
            if key in self.numbers:
                continue
            shape = self.shape(held) if held.value is None else sizes_of(self.reading.root(held.value))
            self.numbers[key], self.bases[key] = len(self.tensors), shape
            self.tensors.append(Tensor(about.name, shape))
            if about.constant:
                data = held.data if held.data is not None or held.value is None else constant_of(self.reading.root(held.value))
                self.constants[key] = about.name, data, held.dtype

    def _place(self, schedules: Sequence[Schedule]) -> GlobalPlan:
        outputs = [key for key in map(self.reading.root, self.reading.outputs) if key not in self.constants]
        buffers = lifetimes(
            self.reading.network, schedules, self.reading.held, self.base, self._bytes,
            map(self.reading.root, self.reading.inputs), outputs)
        weights = [(key, self._bytes(key)) for key in self.constants]
        alignment, weight_alignment = (max(each, WIDEST) for each in (self.chip.alignment, self.chip.weight_alignment))
        return place_global(weights, buffers, alignment, weight_alignment, self.chip.global_bytes)

    def _bytes(self, key: Hashable) -> int:
        dtype = self.constants[key][2] if key in self.constants else dtype_name(key)  # type: ignore[arg-type]
        return ELEMENTS[dtype].size(prod(self.bases[key]))

    def shape(self, held: Held) -> tuple[int, ...]:
        """The dimensions that a tensor has of its own."""
        return sizes_of(held.value) if held.value is not None else np.asarray(held.data).shape

    def port(self, name: str, value: Value) -> Port:
        """An input or output of the program."""
        root = self.reading.root(value)
        element = value.type.element if isinstance(value.type, TensorType) else None
        scale, zero = (float(element.scales[0]), int(element.zero_points[0])) if isinstance(element, QuantType) else (0.0, 0)
        number = self.numbers[root]
        return Port(name, self.everywhere.addresses[root], sizes_of(value), dtype_name(value), number, scale, zero)

    def weights(self) -> Iterator[Weights]:
        """What lies in global memory at the start."""
        for key, (name, data, dtype) in self.constants.items():
            array = data if isinstance(data, np.ndarray) else data.numpy()
            yield Weights(self.everywhere.addresses[key], np.ascontiguousarray(array).tobytes(), name, self.numbers[key], dtype)
