"""Calibration: what range each tensor of a float module takes on samples, as a table that is kept.

The table is text in the form of the TPU-MLIR manual (3.3): a line a tensor, its name, the threshold for symmetric types, and the
least and the greatest number for asymmetric ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from transload.api import at_hub, run
from transload.errors import ReadError, UsageError
from transload.files import atomic_path
from transload.ir import Module, Value, input_names

from .histogram import BINS, Extent, Histogram
from .observe import observed
from .thresholds import METHODS, Range

__all__ = ["Calibration", "calibrate"]

Sample = Mapping[str, Any]
HEADER = "# histogram number: {bins}\n# sample number: {samples}\n# method: {method}\n###\n# op_name threshold min max\n"


@dataclass
class Calibration:
    """The range of each tensor, by its name; `histograms` are there where it was just measured, not in the table."""

    ranges: dict[str, Range]
    samples: int = 0
    method: str = ""
    histograms: dict[str, Histogram] = field(default_factory=dict)

    def save(self, path: str | Path) -> Path:
        """Write the table; the file is complete or not there."""
        lines = [
            f"{name} {max(abs(low), abs(high)):.7f} {low:.7f} {high:.7f}\n" for name, (low, high) in self.ranges.items()]
        with atomic_path(path) as file:
            file.write_text(HEADER.format(bins=BINS, samples=self.samples, method=self.method) + "".join(lines), encoding="utf-8")
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Calibration:
        """Read a table, ours or TPU-MLIR's. Raises `ReadError` that names the line that is none."""
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ReadError(f"{path}: cannot be read as a calibration table: {error}") from None
        found = cls({})
        for number, line in enumerate(lines, 1):
            if line.startswith("#"):
                found._note(line)
            elif line.strip():
                name, numbers = _parts(line)
                if numbers is None:
                    raise ReadError(f"{path}:{number}: {line!r} is not a name, a threshold, a least and a greatest number")
                found.ranges[name] = numbers
        return found

    def _note(self, line: str) -> None:
        key, _, value = line.lstrip("# ").partition(":")
        if key == "sample number" and value.strip().isdigit():
            self.samples = int(value)
        elif key == "method":
            self.method = value.strip()


def _parts(line: str) -> tuple[str, Range | None]:
    """A line's name, which may have spaces in it, and its range; None where there is none."""
    parts = line.rsplit(maxsplit=3)
    try:
        _, low, high = map(float, parts[1:])
    except ValueError:
        return line, None
    return parts[0], (low, high) if np.isfinite([low, high]).all() and low <= high else None


def calibrate(module: Module, samples: Iterable[Sample], method: str = "mse") -> Calibration:
    """Run a float module on samples, and choose the range of each of its tensors at the hub by a method of `METHODS`.

    `samples` are dicts of arrays by input name, and are gone through twice; an iterator is kept in memory. Raises
    `UsageError` where there are none, where one lacks an input, or holds NaN or infinity, and says which.
    """
    if method not in METHODS:
        raise UsageError(f"no method of calibration is called {method!r}", hint=f"methods: {', '.join(METHODS)}")
    module = at_hub(module)
    again = samples if not hasattr(samples, "__next__") else list(samples)
    names = {value: name for name, value in observed(module).items()}
    extents = dict.fromkeys(names.values(), Extent())
    count = 0
    for count, sample in enumerate(again, 1):
        for name, array in _seen(module, sample, names, count):
            try:
                extents[name] = extents[name].seen(array)
            except UsageError as error:
                raise UsageError(f"tensor {name!r} in sample {count} {error.message}", hint=error.hint) from None
    if not count:
        raise UsageError("calibration needs samples, and there is none")
    histograms = {name: Histogram(extent) for name, extent in extents.items()}
    for number, sample in enumerate(again, 1):
        for name, array in _seen(module, sample, names, number):
            histograms[name].add(array)
    ranges = {name: METHODS[method](histogram) for name, histogram in histograms.items()}
    return Calibration(ranges, count, method, histograms)


def _seen(module: Module, sample: Sample, names: Mapping[Value, str], number: int) -> Iterable[tuple[str, np.ndarray]]:
    """The tensors of a run on one sample, by name."""
    missing = [name for name in input_names(module.main) if name not in sample]
    if missing:
        there = ", ".join(map(repr, sample)) or "nothing"
        raise UsageError(f"sample {number} has no {', '.join(map(repr, missing))}", hint=f"it has {there}")
    found: list[tuple[str, np.ndarray]] = []
    for name, value in zip(input_names(module.main), module.body_of_main.arguments, strict=True):
        if value in names:
            found.append((names[value], np.asarray(sample[name])))

    def watch(value: Value, array: np.ndarray) -> None:
        if value in names and value.op is not None:
            found.append((names[value], np.asarray(array)))

    run(module, sample, watch=watch)
    return found
