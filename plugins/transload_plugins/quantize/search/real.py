"""What a choice of types is worth in truth: the module is quantized so, and runs on samples that nothing was chosen on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transload.errors import UsageError
from transload.evaluation.running import models_ready, run_ahead
from transload.ir import Module
from transload.plugin import Quantized
from transload.scratch import ScratchFolder

from ..layers import FLOAT, MODES, WIDE
from ..run import Prepared
from .measuring import Notes, key_of
from .promise import Kept, Promise, Quality
from .spending import Assignment, Units

__all__ = ["Real"]

WHY = "the search chose {mode}"


class Real:
    """Quantizes a module by choices of types, and judges what comes of it."""

    def __init__(
        self, floats: Module, ready: Prepared, units: Units, samples: Sequence[Mapping[str, Any]], labels: Sequence[Any],
        qualities: Sequence[Quality], promise: Promise, notes: Notes,
    ) -> None:
        """`samples` are held apart: neither ranges nor biases nor choices come from them."""
        self._floats, self._ready, self._units = floats, ready, units
        self._samples, self._labels = samples, labels
        self._qualities, self._promise, self._notes = qualities, promise, notes
        self._references: list[dict[str, np.ndarray]] | None = None
        """What the float model gives for the samples, when that was asked for."""

    def quantized(self, assignment: Assignment) -> Quantized:
        layers = self._units.layers(assignment)
        floats, wide = (
            {name: WHY.format(mode=mode) for name, mode in layers.items() if MODES[mode] == held} for held in (FLOAT, WIDE))
        return self._ready.quantized(floats, wide)

    def judged(self, assignment: Assignment) -> list[Kept]:
        """Each quality, on the samples that are held apart."""
        key = f"apart {key_of(assignment)}"
        if key not in self._notes.found:
            self._notes.add(key, self._rows(self.quantized(assignment).module))
        return [quality.judged(rows) for quality, rows in zip(self._qualities, self._notes.found[key], strict=True)]

    def cycles(self, assignment: Assignment) -> float:
        """What the promise's target reports of the module. Raises `UsageError` where it reports no cycles."""
        key = f"cycles {key_of(assignment)}"
        if key not in self._notes.found:
            self._notes.add(key, self._cycles(self.quantized(assignment).module))
        return float(self._notes.found[key])

    def _rows(self, module: Module) -> list[list[Any]]:
        if self._references is None:  # compiling and running the float model takes as long as the quantized one
            self._references = self._outputs(self._floats)
        found: list[list[Any]] = [[] for _ in self._qualities]
        for label, reference, held in zip(self._labels, self._references, self._outputs(module), strict=True):
            for rows, quality in zip(found, self._qualities, strict=True):
                rows.append(quality.measure(held, label, reference))
        return found

    def _outputs(self, module: Module) -> list[dict[str, np.ndarray]]:
        """What a module gives for each sample."""
        models = models_ready(module, {}, "auto")
        given = ((str(number), [sample]) for number, sample in enumerate(self._samples))
        return [dict(outputs()) for _, (outputs,) in run_ahead(models, given)]

    def _cycles(self, module: Module) -> float:
        from transload.convert_model import convert

        with ScratchFolder() as folder:
            report = convert(module, self._promise.target, folder, verify=False).report.target_report
        cycles = report.get("total_cycles", report.get("cycles"))
        if not isinstance(cycles, int | float):
            raise UsageError(f"target {self._promise.target!r} reports no cycles", hint="ethos-u85-256 and tp-large do")
        return float(cycles)
