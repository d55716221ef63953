"""`transload.evaluate`: models side by side on samples, each as it would run.

    scores = transload.evaluate(["model.onnx", "build"], "val/", labels="val.txt", metrics=("top1", "agreement", "sqnr"))
    print(scores)

The first is the reference of what compares. Samples are streamed; what was measured of each can be saved as it goes, and an
evaluation that was ended goes on from there.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..api import load, runnable
from ..cores import cores
from ..engine import choice
from ..engine.quantized import dequantize
from ..errors import ReadError, UsageError
from ..files import need_file
from ..ir import Module, QuantType, TensorType, dtype_of
from ..ir.borders import input_limits
from ..plugin import Score, resolve
from ..plugin_host import host
from ..samples.preprocess import Preprocess, beside_of
from ..samples.samples import Data, Samples
from ..written import written_at
from .labels import Labels, labels_of
from .scores import Estimate, estimate, find_scores

__all__ = ["Evaluation", "evaluate"]

T = TypeVar("T")
Run = Callable[[Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]
NOT_NUMBERS = "NaN"
"""Where a row of measures says that an output was NaN; the name of no score."""
RUNS = 256
"""How many samples there are, about: what decides whether compiling a model pays."""


@dataclass(frozen=True)
class Evaluation:
    """What models are worth: for each model's name a score's `Estimate` by the score's name. As text, a table."""

    scores: Mapping[str, Mapping[str, Estimate]]
    samples: int
    skipped: Mapping[str, str]
    """Samples that were left out, as they are damaged, with the reason."""
    notes: tuple[str, ...] = ()

    def __getitem__(self, model: str) -> Mapping[str, Estimate]:
        return self.scores[model]

    def __str__(self) -> str:
        lines = [f"{self.samples} samples"]
        for model, found in self.scores.items():
            lines.append(f"{model}: " + ", ".join(f"{name} {shown(name, each)}" for name, each in found.items()))
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON has it: numbers that are not finite as null."""
        def finite(number: float | None) -> float | None:
            return None if number is None or not np.isfinite(number) else number

        return {
            "samples": self.samples, "skipped": dict(self.skipped), "notes": list(self.notes),
            "models": {
                model: {
                    name: {"value": finite(each.value), "low": finite(each.low), "high": finite(each.high)}
                    for name, each in found.items()}
                for model, found in self.scores.items()}}


def shown(name: str, found: Estimate) -> str:
    """A score with its interval, as tables have it."""
    unit = find_scores([name])[name].unit
    factor, digits = (100.0, 1) if unit == "%" else (1.0, 2 if unit else 4)
    text = f"{factor * found.value:.{digits}f}"
    if found.low is not None and found.high is not None and found.high > found.low:
        text += f" [{factor * found.low:.{digits}f}, {factor * found.high:.{digits}f}]"
    return f"{text} {unit}".strip()


def evaluate(
    models: Sequence[Module | str | Path] | Module | str | Path, data: Any, *, metrics: Sequence[str] = ("top1",),
    labels: Any = None, classes: Any = None, label_offset: int = 0, output: str | None = None,
    preprocess: Preprocess | None = None, shapes: Mapping[str, Any] | None = None, format: str | None = None,
    engine: str = "auto", resume: str | Path | None = None, watch: Callable[[Samples], Any] | None = None,
    weights: str | Path | None = None,
) -> Evaluation:
    """Score models on samples.

    `models` are modules, model files, or what `convert` wrote: a folder, or a file in it, which runs on its target's own runtime
    where there is one, and takes pixels where the preprocessing is a part of it. The first is the reference, which
    `shapes`, `format` and `weights` are for (`load`). `data` is what
    `open_samples` takes, or a `Data`; `labels`, `classes` and `label_offset` say what is known of the samples
    (`transload.evaluation.labels`). `metrics` are names of scores (registered ones, `topK`, `python:module:function`). `output`
    names the output that counts, for scores of one output the first without it. Outputs that are quantized are compared as the
    real numbers that they stand for. `resume` is a file to which measures are saved, and from which an evaluation that was
    ended goes on. `watch` is given the samples before they are gone through.

    Raises `UsageError` where a score lacks what it needs or samples do not fit, `ReadError` for files that cannot be read.
    """
    chosen = find_scores([metrics] if isinstance(metrics, str) else metrics)
    if not chosen:
        raise UsageError("no metric is asked for", hint=f"metrics: {', '.join(host().scores)}")
    ready = _models(models, {"inputs": shapes or {}, "format": format, "weights": weights}, engine)
    wanted = data if isinstance(data, Data) else Data(data)
    spans = _by_place(ready, [model.limits for model in ready])
    opened = [wanted.open(model.inputs, model.preprocess or preprocess, span) for model, span in zip(ready, spans, strict=True)]
    first = opened[0]
    label = labels_of(first, labels, classes, label_offset) if _needs_labels(chosen, labels) else lambda name: None
    if watch is not None:
        watch(first)
    asked = [models, str(wanted), sorted(chosen), output, label_offset, str(preprocess), _told(labels), _told(classes)]
    state = _State(Path(resume) if resume is not None else None, _digest(asked))
    stored = _by_place(ready, [model.quants for model in ready])

    def given() -> Iterator[tuple[str, list[Mapping[str, np.ndarray]]]]:
        for name, arrays in _together(opened):
            if name not in state.rows:
                integers = _by_place(ready, [each.integers for each in opened])
                yield name, [_meant(*each) for each in zip(arrays, integers, stored, strict=True)]

    for name, outputs in _run_ahead(ready, given()):
        try:
            state.add(name, _measured(ready, [each() for each in outputs], chosen, _label(label, name, chosen), output))
        except UsageError as error:
            where = "" if name in error.message else f"{name}: "
            raise UsageError(f"{where}{error.message}", error.findings, error.hint) from None
    rows = list(state.rows.values())
    scores = {
        model.name: {
            name: estimate(score, [row[place][name] for row in rows])
            for name, score in chosen.items() if place or "reference" not in score.needs}
        for place, model in enumerate(ready)}
    notes = (*_notes(ready, opened, stored), *_strange(ready, rows))
    return Evaluation(scores, len(rows), first.skipped, notes)


def _told(source: Any) -> str:
    """What is known of samples, as text: that of a file, as it is at this time."""
    path = Path(source) if isinstance(source, str | Path) else None
    return f"{source} {hashlib.sha256(path.read_bytes()).hexdigest()}" if path is not None and path.is_file() else str(source)


def _notes(
    models: Sequence[_Ready], opened: Sequence[Samples], stored: Sequence[Mapping[str, QuantType]],
) -> list[str]:
    """What to know of the models, and of what they were given."""
    notes = [note for model in models for note in model.notes]
    notes += dict.fromkeys(f"images are made {image}" for samples in opened for image in samples.images.values())
    notes += dict.fromkeys(
        f"{dtype} arrays for input {name!r} are taken as stored numbers of {quants[name]}"
        for samples, quants in zip(opened, stored, strict=True) for name, dtype in samples.integers.items()
        if name in quants and dtype == dtype_of(quants[name].storage))
    return notes


def _strange(models: Sequence[_Ready], rows: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    """Notes of the models whose outputs were no numbers on some samples."""
    counts = [sum(bool(row[place].get(NOT_NUMBERS)) for row in rows) for place in range(len(models))]
    return [
        f"{model.name}: gives NaN on {count} of {len(rows)} samples"
        for model, count in zip(models, counts, strict=True) if count]


def _needs_labels(chosen: Mapping[str, Score], labels: Any) -> bool:
    return labels is not None or any("label" in score.needs or not score.needs for score in chosen.values())


def _label(find: Labels, name: str, chosen: Mapping[str, Score]) -> Any:
    """The label of a sample; `UsageError` where a score needs one and there is none."""
    label = find(name)
    if label is None:
        needy = next((key for key, score in chosen.items() if "label" in score.needs), None)
        if needy is not None:
            raise UsageError(f"{needy} needs labels, and {name!r} has none",
                             hint=f"--labels FILE, or samples in a folder for each class; {_without_labels()} need none")
    return label


def _without_labels() -> str:
    """The scores that compare models with the first one."""
    return ", ".join(name for name, score in host().scores.items() if score.needs == ("reference",))


# --- the models


@dataclass(frozen=True)
class _Ready:
    """A model that can be run: its name, what it takes as real numbers, and how its outputs become such."""

    name: str
    inputs: Module | Mapping[str, TensorType]
    run: Run
    limits: Mapping[str, tuple[float, float]]
    """The least and the greatest number of an input, where they are known."""
    quants: Mapping[str, QuantType]
    """The types of the inputs that are quantized."""
    notes: tuple[str, ...] = ()
    preprocess: Preprocess | None = None
    """What becomes of images before it, where that is not what users say: of a program that takes pixels."""


def _models(models: Any, how: Mapping[str, Any], engine: str) -> list[_Ready]:
    given = [models] if isinstance(models, Module | str | Path) else list(models)
    if not given:
        raise UsageError("there is no model to evaluate")
    ready: list[_Ready] = []
    for place, model in enumerate(given):
        stem = str(model) if not isinstance(model, Module) else f"module {place + 1}"
        taken = {each.name for each in ready}
        name = stem if stem not in taken else f"{stem} ({place + 1})"
        ready.append(_ready(name, model, how if not place else {}, engine))
    return ready


def _ready(name: str, model: Module | str | Path, how: Mapping[str, Any], engine: str) -> _Ready:
    notes: tuple[str, ...] = ()
    own: Run | None = None
    if isinstance(model, Module):
        module = model
    else:
        written = written_at(Path(model)) if how.get("format") is None else None
        module = written.module if written is not None else load(model, **how)
        if written is not None:
            own, notes = written.run, (f"{name}: {written.note}",)
    run = own if own is not None else _by_engine(module, engine)
    outputs = module.outputs
    beside = beside_of(Path(model)) if not isinstance(model, Module) else None
    pixels = beside if beside is not None and beside.is_fused else None
    real = {key: _real(type_) if pixels is None else _held(type_) for key, type_ in module.inputs.items()}
    takes = module if real == module.inputs else real
    limits, quants = (_limits(module), _quants(module)) if pixels is None else ({}, {})
    return _Ready(name, takes, lambda sample: _as_real(run(_as_stored(sample, module)), outputs), limits, quants, notes, pixels)


def _by_engine(module: Module, engine: str) -> Run:
    ready = runnable(module)
    if engine == "auto":
        compiled = choice.prepare(ready, runs=RUNS)
        return lambda sample: compiled(sample, False)
    execute = resolve(host().get("engines", engine).prepare)(ready, "main")
    return lambda sample: execute(sample, False)


def _quants(module: Module) -> dict[str, QuantType]:
    """The types of the inputs that are quantized."""
    elements = {name: type_.element for name, type_ in module.inputs.items() if isinstance(type_, TensorType)}
    return {name: element for name, element in elements.items() if isinstance(element, QuantType)}


def _limits(module: Module) -> dict[str, tuple[float, float]]:
    """The least and the greatest number of each input, where its type or its file says them."""
    return {**input_limits(module.main), **{
        name: ((quant.storage_min - quant.zero_point) * quant.scale, (quant.storage_max - quant.zero_point) * quant.scale)
        for name, quant in _quants(module).items()}}


def _by_place(models: Sequence[_Ready], facts: Sequence[Mapping[str, T]]) -> list[dict[str, T]]:
    """What is known of inputs, for each model by input: what the first model that knows says, so that all are given the same."""
    names = [list(model.inputs.inputs if isinstance(model.inputs, Module) else model.inputs) for model in models]
    known: dict[int, T] = {}
    for each, inputs in zip(facts, names, strict=True):
        known = {**{place: each[name] for place, name in enumerate(inputs) if name in each}, **known}
    return [{name: known[place] for place, name in enumerate(inputs) if place in known} for inputs in names]


def _meant(
    sample: Mapping[str, np.ndarray], integers: Mapping[str, np.dtype], quants: Mapping[str, QuantType],
) -> Mapping[str, np.ndarray]:
    """A sample as real numbers: integers of the type that a quantized input stores are what it stores."""
    stored = {name for name, quant in quants.items() if integers.get(name) == dtype_of(quant.storage)}
    return {
        name: dequantize(array.astype(np.int64), quants[name]) if name in stored and array.dtype.kind == "f" else array
        for name, array in sample.items()}


def _real(type_: Any) -> Any:
    """The type of what an input takes as real numbers: a quantized one those that its integers stand for."""
    quant = type_.element if isinstance(type_, TensorType) else None
    return type_.with_element(quant.expressed) if isinstance(quant, QuantType) else type_


def _held(type_: Any) -> Any:
    """The type of what an input takes as it is stored."""
    quant = type_.element if isinstance(type_, TensorType) else None
    return type_.with_element(quant.storage) if isinstance(quant, QuantType) else type_


def _as_stored(sample: Mapping[str, np.ndarray], module: Module) -> dict[str, np.ndarray]:
    """A sample of real numbers, quantized where the inputs are."""
    given = dict(sample)
    for name, type_ in module.inputs.items():
        quant = type_.element if isinstance(type_, TensorType) else None
        if isinstance(quant, QuantType) and name in given and np.asarray(given[name]).dtype.kind == "f":
            stored = np.round(np.asarray(given[name], np.float64) / quant.scale) + quant.zero_point
            given[name] = stored.clip(quant.storage_min, quant.storage_max).astype(dtype_of(quant.storage))
    return given


def _as_real(outputs: Mapping[str, np.ndarray], types: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Outputs as real numbers, where it is known what their integers stand for."""
    return {
        name: dequantize(array, types[name].element) if name in types and _is_quantized(types[name], array) else np.asarray(array)
        for name, array in outputs.items()}


def _is_quantized(type_: Any, array: np.ndarray) -> bool:
    return isinstance(type_, TensorType) and isinstance(type_.element, QuantType) and np.asarray(array).dtype.kind in "iu"


# --- measuring


def _together(opened: Sequence[Samples]) -> Iterator[tuple[str, list[Mapping[str, np.ndarray]]]]:
    """The samples of all models side by side, by the name of the first's."""
    if len({_signature(samples) for samples in opened}) == 1:
        for name, sample in opened[0].named():
            yield name, [sample] * len(opened)
        return
    for group in zip(*(samples.named() for samples in opened), strict=True):
        yield group[0][0], [sample for _, sample in group]


def _signature(samples: Samples) -> str:
    """What decides which arrays samples become: the types of the inputs, and what an image spans where nobody says it."""
    return str([{name: str(type_) for name, type_ in samples.types.items()}, samples.limits])


def _run_ahead(
    models: Sequence[_Ready], samples: Iterable[tuple[str, Sequence[Mapping[str, np.ndarray]]]],
) -> Iterator[tuple[str, list[Callable[[], Mapping[str, np.ndarray]]]]]:
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


def _measured(
    models: Sequence[_Ready], given: Sequence[Mapping[str, np.ndarray]], chosen: Mapping[str, Score], label: Any,
    output: str | None,
) -> list[dict[str, Any]]:
    """What each score measures of what each model gave for one sample."""
    reference: Mapping[str, np.ndarray] | None = None
    rows = []
    for place, (model, outcome) in enumerate(zip(models, given, strict=True)):
        outputs = _counted(outcome, output, model.name)
        beside = outputs if reference is None and len(models) > 1 else reference
        rows.append({
            name: resolve(score.measure)(outputs, label, beside) for name, score in chosen.items()
            if place or "reference" not in score.needs})
        if any(np.isnan(np.asarray(each, np.float64)).any() for each in outputs.values()):
            rows[-1][NOT_NUMBERS] = True
        reference = outputs if reference is None else reference
    return rows


def _counted(outputs: Mapping[str, np.ndarray], output: str | None, model: str) -> Mapping[str, np.ndarray]:
    """The outputs that count: all, or that of the name."""
    if output is None:
        return outputs
    if output not in outputs:
        raise UsageError(f"{model}: has no output {output!r}", hint=f"outputs: {', '.join(outputs)}")
    return {output: outputs[output]}


_ANOTHER = "name a file that is not there yet"


class _State:
    """What was measured, by sample; with a file, saved line by line, and read again."""

    def __init__(self, file: Path | None, digest: str) -> None:
        self.file = file
        self.rows: dict[str, list[dict[str, Any]]] = {}
        if file is not None and file.exists():
            self._read(file, digest)
        elif file is not None:
            self._write({"evaluation": digest})

    def _read(self, file: Path, digest: str) -> None:
        need_file(file)
        try:
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            head = json.loads(lines[0])["evaluation"] if lines else digest
            entries = [json.loads(line) for line in lines[1:] if line.endswith("\n")]  # a kill may have cut the last one
            self.rows = {entry["sample"]: entry["rows"] for entry in entries}
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise ReadError(f"{file}: is not what an evaluation saved: {error}", hint=_ANOTHER) from None
        if head != digest:
            raise UsageError(f"{file} was saved by an evaluation of other models, samples or metrics",
                             hint=_ANOTHER)
        whole = "".join(line for line in lines if line.endswith("\n"))
        os.truncate(file, len(whole.encode()))

    def add(self, name: str, rows: list[dict[str, Any]]) -> None:
        self.rows[name] = rows
        if self.file is not None:
            self._write({"sample": name, "rows": rows})

    def _write(self, entry: dict[str, Any]) -> None:
        assert self.file is not None
        try:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise ReadError(f"{self.file}: cannot be written: {error.strerror}") from None


def _digest(parts: Any) -> str:
    """What tells evaluations apart: the models, by their files' digests, and all that was asked for."""
    models = parts[0] if isinstance(parts[0], list | tuple) else [parts[0]]
    known = []
    for model in models:
        path = Path(model) if isinstance(model, str | Path) else None
        files = [] if path is None else sorted(path.iterdir()) if path.is_dir() else [path] if path.is_file() else []
        known.append([str(path), *(hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file())])
    return hashlib.sha256(json.dumps([known, *parts[1:]], default=str).encode()).hexdigest()
