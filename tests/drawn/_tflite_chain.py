"""A chain of quantized TFLite operators that grows one by one; LiteRT tells the shape of what each gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transload_converters.tflite.writer import ModelWriter

from ._integers import LIMITS, Draws
from tests.support.litert import interpreter_of

__all__ = ["Chain", "Drawn", "NoCaseError"]


class NoCaseError(Exception):
    """LiteRT does not take what was drawn, or the operator does not go there."""


@dataclass(eq=False)
class Drawn:
    """A tensor: quantized where it has scales, an input of the model where it has no data and nothing makes it."""

    shape: tuple[int, ...]
    dtype: str
    scales: tuple[float, ...] = ()
    zero: int = 0
    axis: int = 0
    data: np.ndarray | None = None
    is_state: bool = False

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def scale(self) -> float:
        return self.scales[0]

    @property
    def reach(self) -> float:
        """How far from zero its real numbers go."""
        return max(abs(limit - self.zero) for limit in LIMITS[self.dtype]) * self.scale

    def like(self, shape: Sequence[int] | None = None, **more: Any) -> Drawn:
        """Another tensor of its type and quantization."""
        given = {
            "shape": tuple(self.shape if shape is None else shape),
            "dtype": self.dtype,
            "scales": self.scales,
            "zero": self.zero,
        }
        return Drawn(**{**given, **more})

    @property
    def quantization(self) -> tuple[Any, ...] | None:
        return (list(self.scales), [self.zero] * len(self.scales), self.axis) if self.scales else None


@dataclass
class Chain(Draws):
    """What was drawn so far, and what draws on."""

    inputs: list[Drawn] = field(default_factory=list)
    operators: list[tuple[str, list[Drawn | None], list[Drawn], dict[str, Any], list[Drawn]]] = field(default_factory=list)

    def quantized(self, shape: Sequence[int], dtype: str, reach: float, data: bool = False) -> Drawn:
        """A tensor of a quantization of its own, a constant with `data`."""
        made = Drawn(tuple(shape), dtype, (self.scale_for(reach, dtype),), self.zero(dtype))
        made.data = self.numbers(made) if data else None
        return made

    def operand(self, shape: Sequence[int], dtype: str, reach: float = 4.0) -> Drawn:
        """A second operand: a constant or another input of the model."""
        made = self.quantized(shape, dtype, reach, data=self.chance(0.5))
        if made.data is None:
            self.inputs.append(made)
        return made

    def ints(self, values: Any, dtype: str = "int32") -> Drawn:
        array = np.asarray(values, dtype)
        return Drawn(array.shape, dtype, data=array)

    def numbers(self, tensor: Drawn) -> np.ndarray:
        """Numbers of a tensor."""
        return self.values(tensor.shape, tensor.dtype, tensor.zero)

    def add(
        self,
        name: str,
        inputs: Sequence[Drawn | None],
        results: Sequence[Drawn],
        options: dict[str, Any] | None = None,
        intermediates: Sequence[Drawn] = (),
    ) -> Drawn:
        """One more operator; its results get the shapes that LiteRT says. Gives the first of them."""
        self.operators.append((name, list(inputs), list(results), options or {}, list(intermediates)))
        try:
            interpreter = interpreter_of(self.content(results))
            interpreter.allocate_tensors()
        except (RuntimeError, ValueError) as error:
            raise NoCaseError(f"{name}: {' '.join(str(error).split())[-160:]}") from None
        for result, detail in zip(results, interpreter.get_output_details(), strict=True):
            result.shape = tuple(map(int, detail["shape"]))
            if min(result.shape, default=1) < 1:
                raise NoCaseError(f"{name}: nothing is left")
        return results[0]

    def content(self, outputs: Sequence[Drawn]) -> bytes:
        """The bytes of a model with these outputs."""
        writer, numbers = ModelWriter(), dict[int, int]()

        def number(tensor: Drawn | None) -> int | None:
            if tensor is not None and id(tensor) not in numbers:
                numbers[id(tensor)] = writer.add_tensor(
                    f"t{len(numbers)}", tensor.shape, tensor.dtype, tensor.data, tensor.quantization, is_variable=tensor.is_state
                )
            return None if tensor is None else numbers[id(tensor)]

        writer.inputs = [number(tensor) for tensor in self.inputs]  # type: ignore[misc]
        for name, inputs, results, options, inner in self.operators:
            given, made, kept = ([number(tensor) for tensor in tensors] for tensors in (inputs, results, inner))
            writer.add_operator(name, given, made, options, version=4, intermediates=kept)  # type: ignore[arg-type]
        writer.outputs = [number(tensor) for tensor in outputs]  # type: ignore[misc]
        return writer.finish()
