"""Comparing tensors, and an artifact with the model it came from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..borders import note_borders
from ..errors import UsageError
from ..ir import Module, QuantType, TensorType, initial_states, input_names
from ..plugin import Runtime, resolve
from ..plugin_host import host

__all__ = ["Comparison", "TensorDifference", "compare", "difference", "runtime_for", "warm_runtime"]


@dataclass(frozen=True)
class TensorDifference:
    """How one tensor differs from its reference."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    metrics: dict[str, float]
    note: str = ""

    @property
    def is_integer(self) -> bool:
        return self.dtype.startswith(("int", "uint", "bool"))


@dataclass
class Comparison:
    """How the tensors of two runs differ, in the reference's order."""

    reference: str
    actual: str
    tensors: list[TensorDifference] = field(default_factory=list)
    only_in_reference: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def worst(self, metric: str) -> float:
        """The worst value of a metric over all tensors."""
        better = host().metrics[metric].better
        values = [t.metrics[metric] for t in self.tensors if metric in t.metrics]
        if any(math.isnan(v) for v in values):
            return math.nan
        return (min if better == "higher" else max)(values, default=math.nan)


def difference(name: str, reference: np.ndarray, actual: np.ndarray) -> TensorDifference:
    """All registered metrics of two tensors; a note, and NaN, where their shapes do not fit."""
    reference, actual = np.asarray(reference), _like(np.asarray(actual), np.asarray(reference))
    if reference.shape != actual.shape:
        nothing = dict.fromkeys(host().metrics, math.nan)
        return TensorDifference(name, reference.shape, str(reference.dtype), nothing, f"shape {actual.shape}")
    measured = {key: float(resolve(metric.measure)(reference, actual)) for key, metric in host().metrics.items()}
    return TensorDifference(name, reference.shape, str(reference.dtype), measured)


def _like(actual: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """`actual` in the reference's view: channels first instead of last, sizes of 1 as there."""
    if actual.shape != reference.shape and actual.size == reference.size:
        if actual.ndim == reference.ndim >= 3 and np.moveaxis(actual, -1, 1).shape == reference.shape:
            return np.moveaxis(actual, -1, 1)
        if [n for n in actual.shape if n != 1] == [n for n in reference.shape if n != 1]:
            return actual.reshape(reference.shape)
    return actual


def compare_outputs(reference: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray]) -> list[TensorDifference]:
    """Outputs compared in order: their names are the model's in both."""
    return [difference(name, a, b) for (name, a), b in zip(reference.items(), actual.values(), strict=True)]


def runtime_for(format: str | None) -> tuple[Runtime | None, str]:
    """The runtime that judges models of a format, or None and the reason why there is none."""
    candidates = [runtime for runtime in host().runtimes.values() if runtime.format == format]
    if not candidates:
        return None, f"no runtime is registered for the format {format!r}"
    reasons: list[str] = []
    for runtime in candidates:
        why = resolve(runtime.available)()
        if why is None:
            return runtime, ""
        reasons.append(f"{runtime.name}: {why}")
    return None, "; ".join(reasons)


def warm_runtime(format: str | None) -> None:
    """Have the runtime that judges models of a format start what takes time to start."""
    runtime, _ = runtime_for(format)
    if runtime is not None and runtime.warm is not None:
        resolve(runtime.warm)()


def compare(
    model: str | Path,
    artifact: str | Path | Module,
    inputs: Mapping[str, Any] | None = None,
    *,
    per_layer: bool = False,
    seed: int = 0,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Comparison:
    """Run a model in its own runtime and an artifact in ours on the same inputs, and compare.

    `inputs` are arrays by input name, random where not given. With `per_layer`, every intermediate
    that both sides know by the same name is compared too. Raises `UsageError` where the model's
    runtime is not installed.
    """
    from ..api import load, run, runnable
    from .inputs import random_inputs

    source = load(model, inputs=shapes)
    runtime, why = runtime_for(source.source_format)
    if runtime is None:
        raise UsageError(f"nothing can run {model} to compare with: {why}")
    result = artifact.clone() if isinstance(artifact, Module) else load(artifact)
    note_borders(result, source)
    given = dict(inputs) if inputs is not None else random_inputs(source, runnable(source), seed)
    execute = resolve(runtime.open)(Path(model))
    reference = execute(given)
    names = input_names(result.main)
    fed = [*_in_order(given, input_names(source.main)), *initial_states(result).values()]
    if len(fed) != len(names):
        raise UsageError(
            f"the artifact has {len(names)} inputs, and the model {len(given)}",
            hint="a model whose state is explicit is compared by `transload convert`, which knows what the state is at first")
    by_order = dict(zip(names, fed, strict=True)) if set(names) != set(given) else given
    outputs = run(result, by_order)
    actual = dict(islice(outputs.items(), len(outputs) - len(result.states)))
    comparison = Comparison(runtime.name, "reference", compare_outputs(reference, actual))
    if per_layer:
        all_reference = execute(given, keep=True)
        all_actual = run(result, by_order, keep=True)
        offsets = _offsets(source)
        layers = [
            difference(name, array, _signed_as(all_actual[name], np.asarray(array), offsets.get(name)))
            for name, array in all_reference.items()
            if name in all_actual and name not in reference and name not in given
        ]
        comparison.only_in_reference = [name for name in all_reference if name not in all_actual]
        comparison.tensors = layers + comparison.tensors
    return comparison


def _in_order(given: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    missing = [name for name in names if name not in given]
    if missing:
        raise UsageError(f"inputs are missing: {', '.join(missing)}", hint=f"inputs: {', '.join(names)}")
    return [given[name] for name in names]


def _offsets(source: Module) -> dict[str, int]:
    """By tensor name, what an unsigned quantized tensor is shifted by where it is held signed."""
    shifts: dict[str, int] = {}
    for op in source.walk():
        for result in op.results:
            if (
                result.name
                and isinstance(result.type, TensorType)
                and isinstance(element := result.type.element, QuantType)
                and (element.storage.unsigned)
            ):
                shifts[result.name] = 1 << (element.storage.width - 1)
    return shifts


def _signed_as(actual: np.ndarray, reference: np.ndarray, shift: int | None) -> np.ndarray:
    """An intermediate that is unsigned in the source and was made signed: shifted back."""
    if shift is None or reference.dtype.kind != "u" or actual.dtype.kind != "i":
        return actual
    return (actual.astype(np.int64) + shift).astype(reference.dtype)
