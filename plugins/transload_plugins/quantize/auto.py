"""The method `auto`: each tensor the range with the least error at the outputs of the ops that use it.

What saturates in a tensor and what is rounded weigh differently in what is computed from it: rounding errors of many numbers
cancel in a sum, those of numbers that are cut off do not; and what nobody looks at may be cut. So the ops that use a tensor are
computed on a few samples with the tensor held in integers over each of some ranges, all else being float. The range is taken for
which the squared error in their results, times that in the tensor itself on all samples, is least. The first alone follows the
few samples, and is far worse on others (by 5 to 15 dB on three of four networks): a softmax that is certain forgives any cut.

Source: the auto-tune of the TPU-MLIR manual (chapter 7), generalized to any method's ranges.
"""

from __future__ import annotations

import contextvars
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transload.cores import cores
from transload.ir import Module, NoneType, Op, Value
from transload.ir.build import constant_of
from transload.plugin_host import host

from .groups import Groups, rule_of
from .histogram import Histogram
from .observe import observed
from .running import Runner
from .thresholds import METHODS, Range, mse, percentile, quantization_errors

__all__ = ["SAMPLES", "candidates", "least_error"]

SAMPLES = 8
"""Samples on which ranges are tried, at most."""
SHARES = (1.0, 0.85, 0.7)
"""Of the farthest number, as further thresholds."""
ALIKE = 0.01
"""Ranges whose ends differ by less than this share of their width are one."""


def candidates(histogram: Histogram, bits: int, symmetric: bool) -> list[Range]:
    """The ranges that are tried, those that are nearly another left out; the first is that of the least squared error."""
    found = [mse(histogram, bits, symmetric)]
    found += [METHODS[name](histogram, bits, symmetric) for name in ("minmax", "kl", "aciq")]
    found += [percentile(histogram, bits, symmetric, share) for share in (0.999, 0.9999, 0.99999)]
    low, high = found[1]
    found += [(low * share, high * share) for share in SHARES]
    kept: list[Range] = []
    for one in found:
        width = max(one[1], 0.0) - min(one[0], 0.0)
        if all(max(abs(one[0] - other[0]), abs(one[1] - other[1])) > ALIKE * width for other in kept):
            kept.append(one)
    return kept


def least_error(
    module: Module, histograms: Mapping[str, Histogram], samples: Sequence[Mapping[str, Any]], bits: int, symmetric: bool,
) -> dict[str, Range]:
    """For each tensor that has a histogram, its range, tried on `samples`, of which a few are enough.

    Tensors that share a type share a range. Where nothing that uses them computes, it is that of the least squared error of the
    tensors themselves.
    """
    groups = _groups(module, histograms)
    for group in groups:
        group.candidates = (candidates if group.users else _only)(group.histogram, bits, symmetric)
    asked = [group for group in groups if group.users and len(group.candidates) > 1]
    operands = {value for group in asked for op, _ in group.users for value in (*op.operands, *op.results)}
    computed = {str(number): value for number, value in enumerate(operands)
                if constant_of(value) is None and not isinstance(value.type, NoneType)}
    errors = [np.zeros(len(group.candidates)) for group in asked]
    if asked:
        runner = Runner(module, computed, runs=len(samples))
        with ThreadPoolExecutor(cores()) as pool:
            for sample in samples:
                arrays = {computed[key]: array for key, array in runner(sample).items()}
                futures = [
                    pool.submit(contextvars.copy_context().run, group.errors, arrays, bits, symmetric) for group in asked]
                for total, future in zip(errors, futures, strict=True):
                    total += future.result()
    for group, total in zip(asked, errors, strict=True):
        own = quantization_errors(group.histogram, group.candidates, bits, symmetric)
        group.candidates = [group.candidates[int(np.argmin(_beside(total) * _beside(own)))]]
    return {name: group.candidates[0] for group in groups for name in group.names}


def _only(histogram: Histogram, bits: int, symmetric: bool) -> list[Range]:
    return [mse(histogram, bits, symmetric)]


def _beside(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Errors as multiples of the first; what is next to nothing beside the greatest counts as such a share of it."""
    least = float(errors.max()) * 1e-6 or 1.0
    return np.maximum(errors, least) / max(float(errors[0]), least)


@dataclass
class _Group:
    """Tensors that share a type, and what uses them."""

    names: list[str] = field(default_factory=list)
    histogram: Histogram = field(default_factory=Histogram)
    users: list[tuple[Op, int]] = field(default_factory=list)
    """Ops that compute from one of the tensors, and the number of the operand."""
    candidates: list[Range] = field(default_factory=list)

    def errors(self, arrays: Mapping[Value, NDArray[Any]], bits: int, symmetric: bool) -> NDArray[np.float64]:
        """For each candidate the squared error of the users' results, as a share of their squares."""
        found = np.zeros(len(self.candidates))
        held: dict[tuple[Value, int], NDArray[Any]] = {}
        for op, operand in self.users:
            given = [arrays[value] if value in arrays else _constant(value) for value in op.operands]
            right = arrays[op.results[0]].astype(np.float32)
            power = float(np.vdot(right, right)) or 1.0
            kernel = host().kernel(op.name)
            assert kernel is not None, f"{op.name} has just run"
            for number, kept in enumerate(self.candidates):
                key = (op.operands[operand], number)
                if key not in held:
                    held[key] = _held(arrays[op.operands[operand]], kept, bits, symmetric)
                given[operand] = held[key]
                made = kernel[0](op, *given)
                off = (made[0] if isinstance(made, tuple) else made).astype(np.float32) - right
                found[number] += float(np.vdot(off, off)) / power
        return found


def _groups(module: Module, histograms: Mapping[str, Histogram]) -> list[_Group]:
    joined = Groups(module)
    found: dict[tuple[Value, bool], _Group] = {}
    for name, value in observed(module).items():
        if name not in histograms:
            continue
        cut = joined.is_cut(value)  # exists in sums alone, and is of no group
        group = found.setdefault((value if cut else joined.root(value), cut), _Group())
        group.names.append(name)
        group.histogram.join(histograms[name])
        if not cut:
            group.users += [
                (op, number) for op in value.uses for number, operand in enumerate(op.operands)
                if operand is value and op.parent is module.body_of_main and rule_of(op) is not None
                and not op.regions and len(op.results) == 1]
    return list(found.values())


def _constant(value: Value) -> Any:
    """What a kernel is given for an operand that is constant, or absent."""
    dense = constant_of(value)
    return dense.numpy() if dense is not None else None


def _held(array: NDArray[Any], kept: Range, bits: int, symmetric: bool) -> NDArray[np.float32]:
    """Real numbers as integers over a range hold them."""
    low, high = min(kept[0], 0.0), max(kept[1], 0.0)
    greatest = (1 << (bits - 1)) - 1
    scale = (max(-low, high) / greatest if symmetric else (high - low) / (2 * greatest + 1)) or 1.0
    zero = 0.0 if symmetric else float(np.round(-low / scale)) - greatest - 1
    numbers = array.astype(np.float32) * np.float32(1.0 / scale)
    np.rint(numbers, out=numbers)
    np.clip(numbers, -greatest - 1 - zero, greatest - zero, out=numbers)
    numbers *= np.float32(scale)
    return numbers
