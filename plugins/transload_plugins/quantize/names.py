"""Tensors in tables of ranges: by the names of the model, or as TPU-MLIR calls them, by the kind of the operator behind that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from transload.errors import UsageError

from .calibration import Calibration

__all__ = ["name_of", "placed", "with_our_names"]

T = TypeVar("T")


def name_of(line: str, named: Mapping[str, Any]) -> str | None:
    """The tensor that a line of a table is of: TPU-MLIR's `472_Relu` is ONNX's `472`. None where there is none."""
    if line in named:
        return line
    stem = line.rpartition("_")[0]
    return stem if stem in named else None


def placed(given: Iterable[str], named: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """Of our tensors the line of each, by the name that is in the table; and the names that are nobody's.

    Raises `UsageError` where two lines are of one tensor.
    """
    found: dict[str, str] = {}
    unknown = []
    for line in given:
        name = name_of(line, named)
        if name is None:
            unknown.append(line)
        elif name in found:
            raise UsageError(f"the table has two lines for {name!r}: {found[name]!r} and {line!r}")
        else:
            found[name] = line
    return found, unknown


def with_our_names(table: Calibration, named: Mapping[str, Any]) -> Calibration:
    """The table with its lines by the model's names; lines that are no tensor's stay what they are. Raises as `placed` does, and
    where tensors of one name are numbered otherwise."""
    lines, unknown = placed(table.ranges, named)
    _need_our_numbers(lines, named)
    if all(name == line for name, line in lines.items()):
        return table
    lines |= {name: name for name in unknown}

    def renamed(held: Mapping[str, T]) -> dict[str, T]:
        return {name: held[line] for name, line in lines.items() if line in held}

    return replace(
        table, ranges=renamed(table.ranges), thresholds=renamed(table.thresholds), histograms=renamed(table.histograms))


def _need_our_numbers(lines: Mapping[str, str], named: Mapping[str, Any]) -> None:
    """`UsageError` for a table in which `name` is the first of several tensors, as tables once had it, and here a later one."""
    theirs, ours = ({name: place for place, name in enumerate(names)} for names in (lines, named))
    for name in lines:
        first = f"{name}#1"
        if first in theirs and theirs[name] < theirs[first] and ours[name] > ours[first]:
            raise UsageError(
                f"the table has {name!r} before {first!r}, and the model behind it: they are other tensors there",
                hint="calibrate the model anew: its tensors of one name were numbered otherwise when the table was made")
