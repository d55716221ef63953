"""Models that are ready to be scored: what they take as real numbers, and what runs them, here or by the workers of a cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..api import loaded, model_of, runnable
from ..cores import cores
from ..engine import choice
from ..engine.first_run import from_first
from ..engine.quantized import dequantize
from ..errors import TransloadError, UsageError
from ..ir import Module, QuantType, TensorType, asked_inputs
from ..ir.borders import input_limits
from ..ir.types import Type
from ..kinds import PATH
from ..meanings import as_stored, reported_types, with_meanings
from ..plugin import resolve
from ..plugin_host import host
from ..samples.preprocess import Preprocess, beside_of
from ..samples.samples import Data, Samples
from ..scale import Crew
from ..text import parse_module, parse_type, print_module
from ..written import written_at

__all__ = ["Outputs", "Ready", "Runner", "models_ready", "run_ahead", "run_by"]

Run = Callable[[Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]
Outputs = Callable[[], Mapping[str, np.ndarray]]
"""Gives what a model gave for a sample, or raises what it raised."""
Given = Iterable[tuple[str, Sequence[Mapping[str, np.ndarray]]]]
"""Samples: the name of each, and what each model takes for it."""

RUNS = 256
"""How many samples there are, about: what decides whether compiling a model pays."""


@dataclass(frozen=True)
class Ready:
    """A model that can be run: its name, what it takes as real numbers, and how its outputs become such."""

    name: str
    inputs: Module | Mapping[str, TensorType]
    run: Run
    module: Module
    """Its states are in each sample that does not say them, as they are at first."""
    limits: Mapping[str, tuple[float, float]]
    """The least and the greatest number of an input, where they are known."""
    quants: Mapping[str, QuantType]
    """The types of the inputs that are quantized."""
    notes: tuple[str, ...] = ()
    preprocess: Preprocess | None = None
    """What becomes of images before it, where that is not what users say: of a program that takes pixels."""

    def opened(self, data: Data, preprocess: Preprocess | None, limits: Mapping[str, tuple[float, float]]) -> Samples:
        """Samples for it."""
        return data.open(self.inputs, self.preprocess or preprocess, limits).with_states(self.module)


def models_of(models: Any) -> list[str | Path | Module]:
    """The models that are given, one or several; `UsageError` for what is none."""
    one = isinstance(models, Module) or PATH.fits(models)
    return [model_of(model) for model in ([models] if one else models)]


def models_ready(models: Any, how: Mapping[str, Any], engine: str) -> list[Ready]:
    """Modules, model files, or what `convert` wrote; `how` is what `load` takes for the first of them."""
    given = models_of(models)
    if not given:
        raise UsageError("there is no model to evaluate")
    ready: list[Ready] = []
    for place, model in enumerate(given):
        stem = str(model) if not isinstance(model, Module) else f"module {place + 1}"
        taken = {each.name for each in ready}
        name = stem if stem not in taken else f"{stem} ({place + 1})"
        ready.append(_ready(name, model, how if not place else {}, engine))
    return ready


def _ready(name: str, model: Module | str | Path, how: Mapping[str, Any], engine: str) -> Ready:
    notes: tuple[str, ...] = ()
    own: Run | None = None
    if isinstance(model, Module):
        module = loaded(model, "evaluate", **how)
    else:
        written = written_at(Path(model)) if how.get("format") is None and how.get("function") is None else None
        module = loaded(model if written is None else written.module, "evaluate", **how)
        if written is not None:
            own, notes = written.run, (f"{name}: {written.note}",)
            if own is not None and written.in_parts:
                own = partial(own, engine=engine, runs=RUNS)
    run = own if own is not None else _by_engine(module, engine)
    meanings = reported_types(Path(model)) if not isinstance(model, Module) else {}
    inputs, outputs = with_meanings(module.inputs, meanings), with_meanings(module.outputs, meanings)
    beside = beside_of(Path(model)) if not isinstance(model, Module) else None
    pixels = beside if beside is not None and beside.is_fused else None
    real = {key: _real(type_) if pixels is None else _held(type_) for key, type_ in inputs.items()}
    takes = module if real == module.inputs else {key: real[key] for key in asked_inputs(module)}
    quants = _quants(inputs) if pixels is None else {}
    limits = {**input_limits(module.main), **_limits(quants)} if pixels is None else {}
    following = {state.output for state in module.states}

    def scored(sample: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        made = {key: array for key, array in run(as_stored(sample, inputs)).items() if key not in following}
        return _as_real(made, outputs)

    return Ready(name, takes, scored, module, limits, quants, notes, pixels)


def _by_engine(module: Module, engine: str) -> Run:
    ready = runnable(module)
    if engine == "auto":
        compiled = choice.prepare(ready, runs=RUNS)
        return from_first(compiled, ready)
    return from_first(resolve(host().get("engines", engine).prepare)(ready, "main"), ready)


def _quants(types: Mapping[str, Type]) -> dict[str, QuantType]:
    """The types of the inputs that are quantized."""
    elements = {name: type_.element for name, type_ in types.items() if isinstance(type_, TensorType)}
    return {name: element for name, element in elements.items() if isinstance(element, QuantType)}


def _limits(quants: Mapping[str, QuantType]) -> dict[str, tuple[float, float]]:
    """The least and the greatest number that quantized inputs stand for."""
    return {
        name: ((quant.storage_min - quant.zero_point) * quant.scale, (quant.storage_max - quant.zero_point) * quant.scale)
        for name, quant in quants.items()}


def _real(type_: Any) -> Any:
    """The type of what an input takes as real numbers: a quantized one those that its integers stand for."""
    quant = type_.element if isinstance(type_, TensorType) else None
    return type_.with_element(quant.expressed) if isinstance(quant, QuantType) else type_


def _held(type_: Any) -> Any:
    """The type of what an input takes as it is stored."""
    quant = type_.element if isinstance(type_, TensorType) else None
    return type_.with_element(quant.storage) if isinstance(quant, QuantType) else type_


def _as_real(outputs: Mapping[str, np.ndarray], types: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Outputs as real numbers, where it is known what their integers stand for."""
    return {
        name: dequantize(array, types[name].element) if name in types and _is_quantized(types[name], array) else np.asarray(array)
        for name, array in outputs.items()}


def _is_quantized(type_: Any, array: np.ndarray) -> bool:
    return isinstance(type_, TensorType) and isinstance(type_.element, QuantType) and np.asarray(array).dtype.kind in "iu"


def run_ahead(models: Sequence[Ready], samples: Given) -> Iterator[tuple[str, list[Outputs]]]:
    """Each sample's name, and what each model gives for it: a thread a core runs those that come next meanwhile."""
    waiting: deque[tuple[str, list[Future[Mapping[str, np.ndarray]]]]] = deque()
    with ThreadPoolExecutor(cores()) as pool:
        try:
            for name, given in samples:
                waiting.append((name, [
                    pool.submit(copy_context().run, model.run, sample) for model, sample in zip(models, given, strict=True)]))
                if len(waiting) > 2 * cores():
                    name, futures = waiting.popleft()
                    yield name, [future.result for future in futures]
            while waiting:
                name, futures = waiting.popleft()
                yield name, [future.result for future in futures]
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class Runner:
    """In a worker: the models, and what they give for a sample each. Paths are read there, modules come as text."""

    def __init__(self, models: Sequence[Sequence[Any]], how: Mapping[str, Any], engine: str) -> None:
        opened = [parse_module(bytes(given)) if kind == "module" else given for kind, given in models]
        shapes = {name: parse_type(each) if isinstance(each, str) else tuple(each) for name, each in how["inputs"].items()}
        self._models = models_ready(opened, {**how, "inputs": shapes}, engine)

    def __call__(self, given: Sequence[Mapping[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
        return [dict(model.run(sample)) for model, sample in zip(self._models, given, strict=True)]


def run_by(
    scheduler: Any, models: Any, how: Mapping[str, Any], engine: str, samples: Given,
) -> Iterator[tuple[str, list[Outputs]]]:
    """As `run_ahead`, by the workers of a Dask cluster: in the order of the samples, whichever ends first."""
    given = models_of(models)
    travelling = [
        ["module", print_module(model, constants="resource").encode()] if isinstance(model, Module)
        else ["path", str(Path(model).resolve())] for model in given]
    shapes = {name: str(each) if isinstance(each, TensorType) else list(each) for name, each in (how.get("inputs") or {}).items()}
    weights = how.get("weights")
    told = {**how, "inputs": shapes, "weights": None if weights is None else str(Path(weights).resolve())}
    names: list[str] = []
    early: dict[int, Any] = {}

    def tasks() -> Iterator[tuple[list[dict[str, np.ndarray]]]]:
        for name, arrays in samples:
            names.append(name)
            yield ([{key: np.asarray(array) for key, array in each.items()} for each in arrays],)

    upcoming = 0
    with Crew(scheduler=scheduler) as crew:
        for number, answer in crew.called("transload.evaluation.running:Runner", (travelling, told, engine), tasks()):
            early[number] = answer
            while upcoming in early:
                yield names[upcoming], _outputs(early.pop(upcoming), len(given))
                upcoming += 1


def _outputs(answer: Any, count: int) -> list[Outputs]:
    """What each model gave, as `run_ahead` has it; an error is raised where the outputs are asked for."""
    def one(place: int) -> Mapping[str, np.ndarray]:
        if isinstance(answer, TransloadError):
            raise answer
        found: Mapping[str, np.ndarray] = answer[place]
        return found

    return [partial(one, place) for place in range(count)]
