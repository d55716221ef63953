"""Tensors and their parts: which elements an operand is, and tensors put together again of what instructions wrote."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..instructions import Instruction, Operand, Program, Tensor

__all__ = ["Assembled", "elements_of"]


def elements_of(operand: Operand, tensors: Sequence[Tensor]) -> np.ndarray:
    """The numbers, row-major, that an operand's elements have in the tensor of which it is a part, in the operand's shape."""
    part = operand.part
    if part is None:
        raise ValueError("the operand is no part of a tensor")
    whole = tensors[part.tensor].shape
    everything = prod(operand.shape) == prod(whole) and (not part.offset or operand.shape == whole)
    if everything and part.steps is None:
        return np.arange(prod(whole), dtype=np.int64).reshape(operand.shape)
    own = [prod(whole[axis + 1 :]) for axis in range(len(whole))]
    found = np.array(sum(index * step for index, step in zip(part.offset, own, strict=False)), np.int64)
    for extent, step in zip(operand.shape, own if part.steps is None else part.steps, strict=True):
        found = found[..., None] + np.arange(extent, dtype=np.int64) * step
    return found


class Assembled:
    """The tensors of a program, as far as instructions have written them; not those that are there from the start."""

    def __init__(self, program: Program) -> None:
        self._tensors = program.tensors
        self._given = {one.tensor for one in program.weights} | {port.tensor for port in program.inputs}
        self._flat: dict[int, np.ndarray] = {}

    def add(self, one: Instruction, arrays: Sequence[np.ndarray]) -> None:
        """Put what an instruction wrote where it belongs."""
        for operand, array in zip(one.outputs, arrays, strict=True):
            if operand.part is not None and operand.part.tensor not in self._given:
                number = operand.part.tensor
                held = self._flat.get(number)
                if held is None or held.dtype != array.dtype:
                    held = self._flat[number] = np.zeros(prod(self._tensors[number].shape), array.dtype)
                held[elements_of(operand, self._tensors)] = array

    def arrays(self) -> dict[str, np.ndarray]:
        """The tensors by name, in the order in which they were first written."""
        return {self._tensors[number].name: flat.reshape(self._tensors[number].shape) for number, flat in self._flat.items()}
