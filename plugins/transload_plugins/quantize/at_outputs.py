"""What quantization costs at the outputs alone: one question after the other, on samples that stay the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transload.ir import Op, Value

from .rules import Rule
from .running import Runner
from .simulation import Simulation, Types, typical

__all__ = ["OutputSimulation"]


class OutputSimulation(Simulation):
    """A simulation without the module as it is, which runs once beforehand: it takes less than half the time.

    Biases are not moved, so that `measure` is not for it.
    """

    def __init__(self, like: Simulation, samples: Sequence[Mapping[str, Any]]) -> None:
        """`like` is the whole simulation, whose groups and weights it has."""
        super().__init__(like.module, like.scheme, like.groups, like.weights)
        self._samples = samples
        self._outputs = self.judged
        exact = Runner(self.module, {name: self.tensors[int(name)] for name in self._runner.names}, runs=len(samples))
        self._exact = list(exact.each(samples, dict))

    def loss(self, types: Types) -> float:
        """The noise of the outputs relative to what they are (`typical`), tensors held in `types` by the root of their group."""
        parameters = self._parameters(types)
        each = np.zeros((len(self._samples), len(self.tensors), 2))
        given = ({**sample, **parameters} for sample in self._samples)
        for number, found in enumerate(self._runner.each(given, dict)):
            for name, held in found.items():
                exact = self._exact[number][name].astype(np.float64)
                each[number, int(name)] = np.sum(exact ** 2), np.sum((exact - held) ** 2)
        return typical(np.nan_to_num(each, nan=np.inf, posinf=np.inf), self._outputs)

    def _correctable(self) -> list[tuple[Op, Rule]]:
        return []

    def _given(self, means: list[Value]) -> dict[str, Value]:
        parts = dict.fromkeys(part for output in self.judged for part in output)
        return {str(part): self._held[self.tensors[part]] for part in parts}
