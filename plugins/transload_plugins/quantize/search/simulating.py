"""A module in which any tensors are held in 8 or 16 bits or are float, as one program: what it gives for each such choice.

As `simulation.Simulation` it rounds to grids that are inputs of the program. Beside these each op has an input that says whether
it computes with floats: between its weights as integers stand for them, with their bias corrected, and those that the model has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from transload.ir import F32, Dense, Op, Value
from transload.ir.borders import output_names
from transload.ir.build import constant_of

from ..layers import FLOAT, MODES
from ..rules import Rule
from ..running import Runner
from ..scheme import Scheme
from ..simulation import Simulation, Types
from .spending import Assignment, Units

__all__ = ["MixedSimulation"]

FLOATS = "transload.floats"
WORST = 1e12
"""The noise of outputs that are no numbers."""


class MixedSimulation(Simulation):
    """The program for a module; `given` runs it."""

    def __init__(
        self, units: Units, scheme: Scheme, weights: Mapping[Value, np.ndarray], shifts: Mapping[Value, np.ndarray],
        types: Types, wide: Types,
    ) -> None:
        """`weights` are those that were rounded otherwise than to the nearest, `shifts` what is added to the biases of ops that
        are quantized, both by what their op computes; `types` and `wide` the types of groups in 8 and in 16 bits."""
        self._units = units
        self._shifted = shifts
        self._chosen = [op for op in units.groups.ops if any(constant_of(value) is not None for value in op.operands)]
        self._switches: dict[Op, Value] = {}
        self._types, self._wide = types, wide
        self.names = output_names(units.module.main)
        super().__init__(units.module, scheme, units.groups, weights)
        judged = {f"part{part}": self.tensors[part] for parts in self.judged for part in parts}
        returned = {f"output{place}": value for place, value in enumerate(self.module.body_of_main.terminator.operands)}
        self._exact = Runner(self.module, {**returned, **judged})

    def references(self, samples: Sequence[Mapping[str, Any]]) -> list[dict[str, np.ndarray]]:
        """What the module gives for samples as it is: outputs, and what they are judged by."""
        return list(self._exact.each(samples, dict))

    def given(
        self, assignment: Assignment, samples: Sequence[Mapping[str, Any]],
    ) -> Iterator[dict[str, np.ndarray]]:
        """The same with the tensors of `assignment` float or in 16 bits, and all others in 8."""
        parameters = self._parameters(self._held_in(assignment))
        floats = set(self._units.floats(assignment))
        parameters[FLOATS] = np.array([op in floats for op in self._chosen] or [False], np.float32)
        return self._runner.each(({**sample, **parameters} for sample in samples), dict)

    def named_outputs(self, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs by name, of what `given` or `references` gave."""
        return {name: given[f"output{place}"] for place, name in enumerate(self.names)}

    def loss(self, given: Sequence[Mapping[str, np.ndarray]], exact: Sequence[Mapping[str, np.ndarray]]) -> float:
        """The noise of the outputs relative to what they are: of all samples together, and in the mean of the outputs.

        Promises are of all samples together, too, where those that are worse than others weigh the more.
        """
        totals: dict[int, tuple[float, float]] = {}
        for part in {part for parts in self.judged for part in parts}:
            name = f"part{part}"
            pairs = [(wanted[name].astype(np.float64), held[name]) for held, wanted in zip(given, exact, strict=True)]
            totals[part] = sum(float(np.sum(right**2)) for right, _ in pairs), sum(
                float(np.sum((right - held) ** 2)) for right, held in pairs)
        ratios = {part: noise / max(signal, 1e-30) for part, (signal, noise) in totals.items()}
        found = float(np.mean([sum(share * ratios[part] for part, share in parts.items()) for parts in self.judged]))
        return found if np.isfinite(found) else WORST

    def _held_in(self, assignment: Assignment) -> Types:
        """The types of groups: none of what is float, or what only ops that are float make and take."""
        floats = set(self._units.floats(assignment))
        used = {unit for op, units in self._units.of_op.items() if op not in floats for unit in units}
        found = {}
        for unit, root in self._units.roots.items():
            mode = MODES.get(assignment.get(unit, "INT8"), "INT8")
            if mode != FLOAT and unit in used and root in self._types:
                found[root] = self._types[root] if mode == "INT8" else self._wide[root]
        return found

    # --- building

    def _correctable(self) -> list[tuple[Op, Rule]]:
        return []

    def _more_inputs(self) -> tuple[str, ...]:
        switches = self._argument((max(len(self._chosen), 1),), FLOATS)
        self._switches = dict(zip(self._chosen, self._cut(switches, [1] * len(self._chosen)), strict=True))
        return (FLOATS,)

    def _given(self, means: list[Value]) -> dict[str, Value]:
        judged = {f"part{part}": self._held[self.tensors[part]] for parts in self.judged for part in parts}
        returned = self.module.body_of_main.terminator.operands
        return {**{f"output{place}": self._held[value] for place, value in enumerate(returned)}, **judged}

    def _round_constants(self, op: Op, rule: Rule | None, operands: dict[Value, Value]) -> None:
        """Constant operands between what integers stand for and what they are."""
        for index, value in enumerate(op.operands):
            dense = constant_of(value)
            if dense is None or not value.is_float:
                continue
            exact = dense.numpy().astype(np.float64)
            if rule is not None and index == rule.bias:
                held = exact + self._shifted[op.results[0]] if op.results[0] in self._shifted else exact
            else:
                held = self._rounded(op, rule, index, dense.numpy()).astype(np.float64)
            if np.array_equal(held, exact):
                continue
            build = self._build()
            first, way = (build.constant(Dense(array.astype(np.float32)), element=F32) for array in (held, exact - held))
            switch = self._in_shape(value, self._switches[op])
            made = build.emit("top.Add", first, build.emit("top.Mul", way, switch))
            operands[value] = self._as(made, value.element)
