"""Models that are ready to be scored: what they take as real numbers, and what runs them, here or by the workers of a cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..api import loaded, model_of, runnable
from ..borders import note_borders
from ..cores import cores
from ..engine import choice
from ..engine.first_run import from_first
from ..engine.quantized import dequantize
from ..errors import TransloadError, UsageError
from ..input_shapes import static_inputs
from ..ir import Module, QuantType, TensorType, asked_inputs
from ..ir.borders import input_limits
from ..ir.types import Type
from ..kinds import PATH
from ..meanings import (
    as_stored,
    names_no_function,
    of_function,
    reported_function,
    reported_types,
    unsaid_function,
    with_meanings,
)
from ..plugin_host import host
from ..samples.preprocess import FILE, Preprocess, beside_of
from ..samples.samples import Data, Samples
from ..scale import Crew
from ..text import parse_module, parse_type, print_module
from ..written import opened_at, with_batch_of, written_at

__all__ = ["Outputs", "Ready", "Runner", "models_of", "models_ready", "run_ahead", "run_by"]

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
    beside: Preprocess | None = None
    """What the file beside it says of images."""

    @property
    def taken(self) -> Collection[str]:
        """The names of its inputs."""
        return self.types.keys()

    @property
    def types(self) -> Mapping[str, Type]:
        """The types of its inputs."""
        return self.inputs.inputs if isinstance(self.inputs, Module) else self.inputs

    def in_place_of(self, name: str, place: int) -> Sequence[Type]:
        """The type of its input that is given what another model's is: that of this name, or else in this place; none, or one."""
        return [self.types[name]] if name in self.types else [*self.types.values()][place : place + 1]

    def opened(
        self, data: Data, preprocess: Preprocess | None, limits: Mapping[str, tuple[float, float]], others: Sequence[Ready] = (),
    ) -> Samples:
        """Samples for it, of the same parts of images as for all; of pixels for a program that takes these.

        `others` are given the same images: a layout that is one of theirs alone is not that of its own inputs.
        """
        if preprocess is not None:
            own = preprocess.whole().before(self.beside)
            for place, (name, type_) in enumerate(self.types.items()):
                own = own.laid_out_for(name, type_, [found for each in others for found in each.in_place_of(name, place)])
            preprocess = replace(own, inputs={name: each for name, each in own.inputs.items() if name in self.taken})
        elif self.beside is not None and self.beside.is_fused:
            preprocess = self.beside
        return data.open(self.inputs, preprocess, limits).with_states(self.module)

    def otherwise(self, samples: Samples) -> list[str]:
        """In words, the inputs for which its own file says other images than these."""
        if self.beside is None or self.beside.is_fused:
            return []
        return [f"{self.name}: its own {FILE} says {own}, which is not gone by here"
                for name, image in samples.images.items()
                if not (own := self.beside.settled(name, image.type, samples.limits.get(name))).is_like(image)]


def models_of(models: Any) -> list[str | Path | Module]:
    """The models that are given, one or several; `UsageError` for what is none."""
    one = isinstance(models, Module) or PATH.fits(models)
    return [model_of(model) for model in ([models] if one else models)]


def models_ready(models: Any, how: Mapping[str, Any], engine: str) -> list[Ready]:
    """Modules, model files, or what `convert` wrote; `how` is what `load` takes for the first of them."""
    given = models_of(models)
    if not given:
        raise UsageError("there is no model to evaluate")
    opened: list[_Opened] = []
    for place, model in enumerate(given):
        stem = str(model) if not isinstance(model, Module) else f"module {place + 1}"
        taken = {each.name for each in opened}
        name = stem if stem not in taken else f"{stem} ({place + 1})"
        opened.append(_open(
            name, model, how if not place else {}, engine, opened[0].module if opened else None, () if place else given[1:],
            how.get("function")))
    return [_ready(each) for each in _with_meanings_of_others(opened)]


@dataclass(frozen=True)
class _Opened:
    """A model that can be run, and of what types its inputs and outputs are, as far as it says so itself."""

    name: str
    module: Module
    run: Run
    inputs: Mapping[str, Type]
    outputs: Mapping[str, Type]
    notes: tuple[str, ...]
    beside: Preprocess | None


def _open(
    name: str, model: Module | str | Path, how: Mapping[str, Any], engine: str, first: Module | None,
    others: Sequence[Module | str | Path], function: str | None,
) -> _Opened:
    """One of the models; `others` are those behind the first, which may say the sizes that it leaves open.

    `function` is that of the first model which is asked for: those behind it are compared with that.
    """
    notes: tuple[str, ...] = ()
    own: Run | None = None
    if isinstance(model, Module):
        module = loaded(model, "evaluate", **how)
    else:
        written = written_at(Path(model)) if how.get("format") is None else None
        asked, reported = how.get("function"), _function_of(others)
        with static_inputs():  # which samples need
            module = written.module if written is not None else with_batch_of(
                _of_known_sizes(others), how.get("inputs") or {},
                lambda inputs: of_function(
                    lambda function: loaded(model, "evaluate", **{**how, "inputs": inputs, "function": function}),
                    asked, reported))
        if written is not None:
            alone = first is None and not others
            written.need_unasked(Path(model), how.get("inputs"), how.get("function"), how.get("weights"), sizes=alone)
            own, notes = written.run, (f"{name}: {written.said(engine)}",)
            if own is not None and written.in_parts:
                own = partial(own, engine=engine, runs=RUNS, own=engine == "auto")
            elif own is not None and engine != "auto":
                written.need_program()
                own = None
        if first is not None:
            note_borders(module, first)
            if function is not None and names_no_function(Path(model)):
                notes = (*notes, f"{name}: {unsaid_function(function)}")
    meanings = reported_types(Path(model)) if not isinstance(model, Module) else {}
    inputs, outputs = with_meanings(module.inputs, meanings), with_meanings(module.outputs, meanings)
    beside = beside_of(Path(model)) if not isinstance(model, Module) else None
    return _Opened(name, module, own if own is not None else _by_engine(module, engine), inputs, outputs, notes, beside)


def _function_of(models: Sequence[Module | str | Path]) -> str | None:
    """The function that the first of these was made of which says one."""
    said = (reported_function(Path(model)) for model in models if not isinstance(model, Module))
    return next((name for name in said if name is not None), None)


def _of_known_sizes(models: Sequence[Module | str | Path]) -> Module | None:
    """The first of these that takes what the model that it was made of does: not pixels in its place."""
    for model in models:
        if isinstance(model, Module):
            return model
        beside = beside_of(Path(model))
        if beside is None or not beside.is_fused:
            return opened_at(Path(model))[1]
    return None


def _with_meanings_of_others(opened: Sequence[_Opened]) -> Sequence[_Opened]:
    """The same, integers of which a model does not say a scale as those that the first model has that does, in that place."""
    known: dict[str, dict[int, tuple[str, QuantType]]] = {"inputs": {}, "outputs": {}}
    for each in opened:
        for side, found in known.items():
            for place, type_ in enumerate(getattr(each, side).values()):
                element = type_.element if isinstance(type_, TensorType) else None
                if isinstance(element, QuantType) and element.per_tensor:
                    found.setdefault(place, (each.name, element))
    made = []
    for each in opened:
        notes = list(each.notes)
        types = {}
        for side, found in known.items():
            own: Mapping[str, Type] = getattr(each, side)
            types[side] = with_meanings(own, {key: found[place][1] for place, key in enumerate(own) if place in found})
            notes += [f"{each.name}: integers of {side[:-1]} {key!r} are taken as those of {found[place][0]}, {found[place][1]}"
                      for place, key in enumerate(own) if types[side][key] != own[key]]
        made.append(replace(each, inputs=types["inputs"], outputs=types["outputs"], notes=tuple(notes)))
    return made


def _ready(opened: _Opened) -> Ready:
    module, run, inputs, outputs, beside = opened.module, opened.run, opened.inputs, opened.outputs, opened.beside
    pixels = beside if beside is not None and beside.is_fused else None
    real = {key: _real(type_) if pixels is None else _held(type_) for key, type_ in inputs.items()}
    takes = module if real == module.inputs else {key: real[key] for key in asked_inputs(module)}
    quants = _quants(inputs) if pixels is None else {}
    limits = {**input_limits(module.main), **_limits(quants)} if pixels is None else {}
    following = {state.output for state in module.states}

    def scored(sample: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        made = {key: array for key, array in run(as_stored(sample, inputs)).items() if key not in following}
        return _as_real(made, outputs)

    return Ready(opened.name, takes, scored, module, limits, quants, opened.notes, beside)


def _by_engine(module: Module, engine: str) -> Run:
    ready = runnable(module)
    if engine == "auto":
        compiled = choice.prepare(ready, runs=RUNS)
        return from_first(compiled, ready)
    return from_first(host().engine(engine)(ready, "main"), ready)


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
