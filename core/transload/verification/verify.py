"""Verifying a conversion: the source in its own runtime, the result in ours, and how near they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from transload.verification.bounds import Bounded, check_bounds, has_bounds

from ..errors import RunError, UsageError
from ..ir import FloatType, Module, QuantType, TensorType, Value, initial_states, input_names
from ..plugin import resolve
from ..plugin_host import host
from .compare import TensorDifference, compare_outputs, runtime_for
from .inputs import random_inputs
from .tolerance import Tolerance

__all__ = ["Verification", "verify_conversion"]


@dataclass
class Verification:
    """The outcome. `status` is "passed", "failed", or "skipped" with the reason in `why`."""

    status: str
    why: str = ""
    runtime: str = ""
    engine: str = ""
    tensors: list[TensorDifference] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    bounds: list[Bounded] = field(default_factory=list)
    """Tensors within the model that may differ by a bound of their own, and were compared with the source's alone."""

    @property
    def passed(self) -> bool:
        return self.status == "passed"

    @property
    def failed(self) -> bool:
        return self.status == "failed"

    def as_dict(self) -> dict[str, Any]:
        return {
            "status": self.status, "why": self.why, "runtime": self.runtime, "engine": self.engine, "broken": self.broken,
            "bounds": [asdict(bounded) for bounded in self.bounds],
            "outputs": [{"name": t.name, "dtype": t.dtype, "shape": list(t.shape), **t.metrics} for t in self.tensors],
        }


def verify_conversion(
    source: Module, result: Module, *, hub: Module | None = None, tolerance: Tolerance | None = None,
    inputs: Mapping[str, Any] | None = None, engine: str = "auto", seed: int = 0,
) -> Verification:
    """Compare `result` with the file `source` was read from.

    Skipped, with the reason, where the source's runtime is not installed or itself refuses the
    model. Raises `UsageError` where `inputs` do not fit the model.
    """
    tolerance = tolerance or Tolerance()
    if source.source is None:
        return Verification("skipped", "the model was not read from a file")
    runtime, why = runtime_for(source.source_format)
    if runtime is None:
        return Verification("skipped", why)
    names = input_names(source.main)
    if inputs is not None and set(inputs) != set(names):
        raise UsageError(f"the input data has {', '.join(inputs) or 'nothing'}", hint=f"the model's inputs: {', '.join(names)}")
    given = {name: np.asarray(inputs[name]) for name in names} if inputs is not None else random_inputs(source, hub, seed)
    try:
        reference = resolve(runtime.open)(source.source)(given)
    except RunError as error:
        return Verification("skipped", f"{runtime.name} cannot run the model: {error}", runtime.name, engine)
    execute = resolve(host().get("engines", engine).prepare)(result, "main")
    # The source keeps its state itself, and starts from the same: what becomes of it is behind the outputs.
    fed = (*given.values(), *initial_states(result).values())
    actual = execute(dict(zip(input_names(result.main), fed, strict=True)), False)
    choice = getattr(execute, "choice", None)
    used = f"{choice.engine} ({choice.why})" if choice is not None else engine
    tensors = compare_outputs(reference, dict(islice(actual.items(), len(actual) - len(result.states))))
    steps = output_steps(hub)[: len(tensors)] if hub is not None else []
    steps += [None] * (len(tensors) - len(steps))
    judged, bounds = tensors, list[Bounded]()
    if hub is not None and has_bounds(hub):
        kept = resolve(runtime.open)(source.source)(given, keep=True)
        outputs, bounds = check_bounds(result, hub, given, kept, engine)
        judged = compare_outputs(reference, outputs)
    broken = [reason for tensor, step in zip(judged, steps, strict=True) for reason in _broken(tensor, tolerance, step)]
    broken += [f"{each.name}: differs by {each.max_abs:g}, its bound is {each.bound:g}" for each in bounds if not each.kept]
    return Verification("failed" if broken else "passed", "", runtime.name, used, tensors, broken, bounds)


_MOVES = frozenset({"top.Reshape", "top.Squeeze", "top.Unsqueeze", "top.Permute", "top.Slice", "top.Reverse"})


def output_steps(hub: Module) -> list[float | None]:
    """For each output, the step between its numbers where it is a dequantized integer, else None.

    Such a float output is as exact as the integer behind it: one step of that is one step of it.
    """
    return [_step(value) for value in hub.body_of_main.terminator.operands]


def _step(value: Value) -> float | None:
    while (maker := value.op) is not None and maker.name in _MOVES:
        value = maker.operands[0]
    if maker is None or maker.name != "top.Cast" or not isinstance(value.type, TensorType):
        return None
    before = maker.operands[0].type
    if not isinstance(value.type.element, FloatType) or not isinstance(before, TensorType):
        return None
    element = before.element
    return max(element.scales) if isinstance(element, QuantType) else None


def _broken(tensor: TensorDifference, tolerance: Tolerance, step: float | None = None) -> list[str]:
    """Which limits a tensor breaks, in words; `step` is that between the numbers of a dequantized integer."""
    if tensor.note:
        return [f"{tensor.name}: {tensor.note}, and the source gives {tensor.shape}"]
    if tensor.is_integer:
        worst = tensor.metrics["max_abs"]
        return [] if worst <= tolerance.integer else [f"{tensor.name}: differs by {worst:g} steps, allowed {tolerance.integer}"]
    if step is not None and tensor.metrics["max_abs"] <= min((tolerance.integer + 1e-3) * step, tolerance.max_abs):
        return []
    if tensor.metrics["max_abs"] <= min(tolerance.floor, tolerance.max_abs):
        return []
    limits = (("cos", tolerance.cos, True), ("euclid", tolerance.euclid, True), ("max_abs", tolerance.max_abs, False))
    broken = []
    for name, limit, higher in limits:
        value = tensor.metrics[name]
        if not (value >= limit if higher else value <= limit):  # NaN breaks every limit
            broken.append(f"{tensor.name}: {name} {value:g}, allowed {limit:g}")
    return broken
