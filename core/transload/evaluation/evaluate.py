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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..apart import written_again
from ..digests import Digest
from ..engine.quantized import dequantize
from ..errors import ReadError, TransloadError, UsageError
from ..files import exists, is_file, is_folder, need_file
from ..interrupts import interrupts_kept
from ..ir import Module, QuantType, TensorType, dtype_of
from ..json_text import plain
from ..kinds import (
    CALLABLE,
    ITERABLE,
    LABELS,
    MAPPING,
    PATH,
    PREPROCESS,
    SAMPLES,
    SCHEDULER,
    TEXT,
    TEXTS,
    WHOLE,
    Kind,
    listed,
    takes,
)
from ..plugin import Score, resolve
from ..plugin_host import host
from ..samples.preprocess import Preprocess, beside_first, need_images
from ..samples.samples import Data, Samples
from ..sizes_of_data import sizes_from
from ..text.digest import digest_of_module
from .labels import Labels, labels_of
from .running import Ready, models_of, models_ready, run_ahead, run_by
from .scores import Estimate, estimate, find_scores
from .seen import Seen, Shown, shown_of
from .sources import told

__all__ = ["Evaluation", "evaluate"]

T = TypeVar("T")
NOT_NUMBERS = "NaN"
"""Where a row of measures says that an output was NaN; the name of no score."""


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

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __contains__(self, model: object) -> bool:
        return model in self.scores

    def __len__(self) -> int:
        return len(self.scores)

    def __str__(self) -> str:
        lines = [f"{self.samples} samples"]
        for model, found in self.scores.items():
            lines.append(f"{model}: " + ", ".join(f"{name} {shown(name, each)}" for name, each in found.items()))
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON has it: numbers that are not finite as texts, "Infinity" and "NaN", as everywhere (`json_text`)."""
        return plain({
            "samples": self.samples, "skipped": dict(self.skipped), "notes": list(self.notes),
            "models": {
                model: {
                    name: {"value": each.value, "low": each.low, "high": each.high} for name, each in found.items()}
                for model, found in self.scores.items()}})


def shown(name: str, found: Estimate) -> str:
    """A score with its interval, as tables have it."""
    unit = find_scores([name])[name].unit
    factor, digits = (100.0, 1) if unit == "%" else (1.0, 2 if unit else 4)
    text = f"{factor * found.value:.{digits}f}"
    if found.low is not None and found.high is not None and found.high > found.low:
        text += f" [{factor * found.low:.{digits}f}, {factor * found.high:.{digits}f}]"
    return f"{text} {unit}".strip()


_CLASSES = Kind("names of classes, or their file,", lambda value: PATH.fits(value) or TEXTS.fits(value), taken=listed)
_MODELS = Kind("models", lambda value: isinstance(value, Module) or PATH.fits(value) or ITERABLE.fits(value))


@takes(
    models=_MODELS, data=SAMPLES, metrics=TEXTS, labels=LABELS, classes=_CLASSES, label_offset=WHOLE, output=TEXT,
    preprocess=PREPROCESS, shapes=MAPPING, format=TEXT, engine=TEXT, resume=PATH, watch=CALLABLE, weights=PATH, function=TEXT,
    scheduler=SCHEDULER)
@interrupts_kept()
def evaluate(
    models: Sequence[Module | str | Path] | Module | str | Path, data: Any, *, metrics: Sequence[str] = ("top1",),
    labels: Any = None, classes: Any = None, label_offset: int = 0, output: str | None = None,
    preprocess: Preprocess | None = None, shapes: Mapping[str, Any] | None = None, format: str | None = None,
    engine: str = "auto", resume: str | Path | None = None, watch: Callable[[Samples], Any] | None = None,
    weights: str | Path | None = None, function: str | None = None, scheduler: Any = None,
) -> Evaluation:
    """Score models on samples.

    `models` are modules and model files, which run in an `engine` of ours, or what `convert` wrote: a folder, or a file in it,
    which runs on its target's own runtime where there is one (in the `engine`, where that is not "auto"), and takes pixels where
    the preprocessing is a part of it. The first is the reference, which `shapes`, `format`, `weights` and `function` are for
    (`load`). `data` is what `open_samples` takes, or a `Data`; images become what `preprocess` says, or else the file beside the
    first artifact that has one; arrays are given as they are, and what `preprocess` says beside them is refused. `labels`,
    `classes` and `label_offset` say what is known of the samples (`transload.evaluation.labels`). `metrics` are names of scores
    (registered ones, `topK`, `python:module:function`). `output` names the output that counts, for scores of one output the first
    without it. Outputs that are quantized are compared as the real numbers that they stand for. `resume` is a file to which
    measures are saved, and from which an evaluation that was ended goes on. `watch` is given the samples before they are gone
    through. With a `scheduler` (`transload.scale.Crew`) the workers of a Dask cluster run the models, which they find by the same
    paths; scores are the same.

    Raises `UsageError` where a score lacks what it needs or samples do not fit, `ReadError` for files that cannot be read.
    """
    chosen = find_scores([metrics] if isinstance(metrics, str) else metrics)
    if not chosen:
        raise UsageError("no metric is asked for", hint=f"metrics: {', '.join(host().scores)}")
    how: dict[str, Any] = {"inputs": shapes or {}, "format": format, "weights": weights, "function": function}
    models = models_of(models)
    ready, wanted, notes = _ready(models, how, engine, data, preprocess)
    said, preprocess = preprocess is not None, _preprocess_of(models, ready, preprocess)
    opened = _opened(ready, wanted, preprocess, said)
    first = opened[0]
    label = _labels(first, chosen, labels, classes, label_offset)
    if watch is not None:
        watch(first)
    _need_another(chosen, len(ready))
    state = _State(None, "") if resume is None else _State(Path(resume), _digest(models, ready, [
        engine, told(wanted), [told(each) for each in sorted(chosen)], output, label_offset, str(preprocess),
        *map(told, (labels, classes, weights)), str(shapes), format, function]))
    stored = _by_place(ready, [model.quants for model in ready])

    given = _given(ready, opened, stored, state.rows)
    for name, outputs in run_ahead(ready, given) if scheduler is None else run_by(scheduler, models, how, engine, given):
        try:
            given_back, known = [each() for each in outputs], _label(label, name, chosen, labels)
            state.add(name, _measured(ready, given_back, chosen, name, known, output, opened))
        except UsageError as error:
            where = "" if name in error.message else f"{name}: "
            raise UsageError(f"{where}{error.message}", error.findings, error.hint) from None
    rows = list(state.rows.values())
    scores = {
        model.name: {
            name: estimate(score, [row[place][name] for row in rows])
            for name, score in chosen.items() if place or "reference" not in score.needs}
        for place, model in enumerate(ready)}
    notes = (*notes, *_notes(ready, opened, stored), *_strange(ready, rows), *_uncounted(chosen, rows))
    return Evaluation(scores, len(rows), first.skipped, notes)


def _ready(
    models: Any, how: dict[str, Any], engine: str, data: Any, preprocess: Preprocess | None,
) -> tuple[list[Ready], Data, tuple[str, ...]]:
    """The models, of the sizes of the samples where they leave some open, which `how` says then; samples, and notes of that."""
    with sizes_from(data=data, preprocess=preprocess) as sizes:
        ready = models_ready(models, how, engine)
    if sizes.notes:  # the workers of a cluster read the model, and not the data
        shapes = {name: type_.shape for name, type_ in ready[0].types.items() if isinstance(type_, TensorType)}
        how["inputs"] = {**shapes, **how["inputs"]}
    assert sizes.data is not None, "it was given"
    return ready, sizes.data, sizes.notes


def _opened(models: Sequence[Ready], data: Data, preprocess: Preprocess | None, said: bool) -> list[Samples]:
    """The samples for each model. `UsageError` where it is `said` what becomes of images, and there is none."""
    spans = _by_place(models, [model.limits for model in models])
    opened = [model.opened(data, preprocess, span, models) for model, span in zip(models, spans, strict=True)]
    if said:
        need_images(bool(opened[0].images))
    return opened


def _preprocess_of(models: Sequence[Any], ready: Sequence[Ready], asked: Preprocess | None) -> Preprocess | None:
    """What becomes of images: as it is asked, or as the file beside the first artifact says; of inputs that a model has."""
    preprocess = asked if asked is not None else beside_first(models)
    if preprocess is not None:
        preprocess.need_inputs(dict.fromkeys(name for model in ready for name in model.taken))
    return preprocess


def _notes(
    models: Sequence[Ready], opened: Sequence[Samples], stored: Sequence[Mapping[str, QuantType]],
) -> list[str]:
    """What to know of the models, and of what they were given."""
    notes = [note for model in models for note in model.notes]
    notes += dict.fromkeys(f"images are made {image}" for samples in opened for image in samples.images.values())
    notes += [note for model, samples in zip(models, opened, strict=True) for note in model.otherwise(samples)]
    notes += dict.fromkeys(
        f"{dtype} arrays for input {name!r} are taken as stored numbers of {quants[name]}"
        for samples, quants in zip(opened, stored, strict=True) for name, dtype in samples.integers.items()
        if name in quants and dtype == dtype_of(quants[name].storage))
    return notes


def _strange(models: Sequence[Ready], rows: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    """Notes of the models whose outputs were no numbers on some samples."""
    counts = [sum(bool(row[place].get(NOT_NUMBERS)) for row in rows) for place in range(len(models))]
    return [
        f"{model.name}: gives NaN on {count} of {len(rows)} samples"
        for model, count in zip(models, counts, strict=True) if count]


def _uncounted(chosen: Mapping[str, Score], rows: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    """Notes of the scores that found nothing to count in any sample, and so are NaN."""
    return [
        f"{name}: nothing counts in any of the {len(rows)} samples (pixels whose mask is 255 do not, nor what no model sees)"
        for name, score in chosen.items() if score.pictured and rows and all(
            each.get(name) == [] for row in rows for each in row)]


def _need_another(chosen: Mapping[str, Score], count: int) -> None:
    """`UsageError` where a score compares models with the first, and there is no other."""
    alone = [name for name, score in chosen.items() if "reference" in score.needs] if count < 2 else []
    if alone:
        raise UsageError(f"{', '.join(alone)}: compares models with the first one, and there is no other",
                         hint="name another model behind it, or leave the metric out")


def _labels(samples: Samples, chosen: Mapping[str, Score], labels: Any, classes: Any, offset: int) -> Labels:
    """How labels are found, where a score needs them, or takes them where there are some."""
    needs = any("label" in score.needs for score in chosen.values())
    takes = any(not score.needs for score in chosen.values())
    if not needs and not takes:
        return _unlabelled(labels, classes, offset)
    if not needs and samples.known_length is None and labels is None and classes is None and not offset:
        return lambda name: None  # the names of a stream are not known before, and nobody says labels of them
    return labels_of(samples, labels, classes, offset)


def _unlabelled(labels: Any, classes: Any, label_offset: int) -> Labels:
    """Labels of samples that no score asks for. `UsageError` where something is said of them."""
    said = {"labels": labels is not None, "classes": classes is not None, "label_offset": bool(label_offset)}
    if (what := next((name for name, given in said.items() if given), None)) is not None:
        begin = "labels are given" if what == "labels" else f"{what} is said of labels"
        raise UsageError(f"{begin}, and no metric that is asked for needs any",
                         hint=f"{_without_labels()} need none; top1 does")
    return lambda name: None


def _label(find: Labels, name: str, chosen: Mapping[str, Score], labels: Any) -> Any:
    """The label of a sample; `UsageError` where a score needs one and there is none."""
    label = find(name)
    if label is None:
        needy = next((key for key, score in chosen.items() if "label" in score.needs), None)
        if needy is not None:
            way = f"{labels} says the labels of others; it has to name all samples" if isinstance(labels, str | Path) else (
                "--labels FILE, or samples in a folder for each class, of a list with --classes")
            raise UsageError(f"{needy} needs labels, and {name!r} has none", hint=f"{way}; {_without_labels()} need none")
    elif labels is not None and isinstance(label, int | float | str | np.generic):
        pictured = [key for key, score in chosen.items() if score.pictured and not score.needs]
        if pictured and all(key in pictured or "reference" in score.needs for key, score in chosen.items()):
            raise UsageError(
                f"the label of {name!r} is a class, and {pictured[0]} takes labels that are pictures",
                hint=f"--labels FOLDER, with a picture for each sample; without labels {pictured[0]} takes the first model")
    return label


def _without_labels() -> str:
    """The scores that compare models with the first one."""
    return ", ".join(name for name, score in host().scores.items() if score.needs == ("reference",))


# --- samples


def _by_place(models: Sequence[Ready], facts: Sequence[Mapping[str, T]]) -> list[dict[str, T]]:
    """What is known of inputs, for each model by input: what the first model that knows says, so that all are given the same."""
    names = [list(model.taken) for model in models]
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


def _given(
    ready: Sequence[Ready], opened: Sequence[Samples], stored: Sequence[Mapping[str, QuantType]], done: Collection[str],
) -> Iterator[tuple[str, list[Mapping[str, np.ndarray]]]]:
    """The samples that are not done yet, by name, as each model takes them."""
    for name, arrays in _together(opened):
        if name not in done:
            integers = _by_place(ready, [each.integers for each in opened])  # those of the first where all share its arrays
            yield name, [_meant(*each) for each in zip(arrays, integers, stored, strict=True)]


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


def _measured(
    models: Sequence[Ready], given: Sequence[Mapping[str, np.ndarray]], chosen: Mapping[str, Score], sample: str,
    label: Any, output: str | None, opened: Sequence[Samples],
) -> list[dict[str, Any]]:
    """What each score measures of what each model gave for one sample."""
    reference: Mapping[str, np.ndarray] | None = None
    shown = [shown_of(samples.types, samples.images or opened[0].images) for samples in opened]
    picture = _picture(opened[0], sample, shown[0], label) if any(score.pictured for score in chosen.values()) else None
    rows = []
    for place, (model, outcome) in enumerate(zip(models, given, strict=True)):
        outputs = _counted(outcome, output, model.name)
        if reference is not None and outputs.keys() == reference.keys():  # in the first model's order: its first is the first
            outputs = {name: outputs[name] for name in reference}
        beside = outputs if reference is None and len(models) > 1 else reference
        placed = Seen(label, shown[place], shown[0], picture)
        rows.append({
            name: resolve(score.measure)(outputs, placed if score.pictured else label, beside)
            for name, score in chosen.items()
            if place or "reference" not in score.needs})
        if any(np.isnan(np.asarray(each, np.float64)).any() for each in outputs.values()):
            rows[-1][NOT_NUMBERS] = True
        reference = outputs if reference is None else reference
    return rows


def _picture(samples: Samples, sample: str, shown: Shown, label: Any) -> tuple[int, int] | None:
    """The rows and columns of a sample's picture, where one is shown and the label is of places in it."""
    if shown.image is None or not isinstance(label, np.ndarray | Mapping | list | tuple):
        return None
    return samples.picture_sizes(sample, shown.image.name)


def _counted(outputs: Mapping[str, np.ndarray], output: str | None, model: str) -> Mapping[str, np.ndarray]:
    """The outputs that count: all, or that of the name."""
    if output is not None and output not in outputs:
        raise UsageError(f"{model}: has no output {output!r}", hint=f"outputs: {', '.join(outputs)}")
    counted = outputs if output is None else {output: outputs[output]}
    for name, array in counted.items():
        if np.iscomplexobj(array):
            raise UsageError(
                f"{model}: output {name!r} is of complex numbers, and scores are of real ones", hint="--output names another one")
    return counted


_ANOTHER = "name a file that is not there yet"


class _State:
    """What was measured, by sample; with a file, saved line by line, and read again.

    Each line has a checksum of its own: what was changed or damaged since would be scored as if it had been measured.
    """

    def __init__(self, file: Path | None, digest: str) -> None:
        self.file, self.digest = file, digest
        self.rows: dict[str, list[dict[str, Any]]] = {}
        if file is not None and exists(file):
            self._read(file, digest)
        elif file is not None:
            self._write({"evaluation": digest})

    def _read(self, file: Path, digest: str) -> None:
        with written_again():
            need_file(file)
        try:
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            head = json.loads(lines[0])["evaluation"] if lines else digest
            entries = [json.loads(line) for line in lines[1:] if line.endswith("\n")]  # a kill may have cut the last one
            self.rows = {entry["sample"]: entry["rows"] for entry in entries}
            changed = [entry["sample"] for entry in entries if entry["sum"] != self._sum(entry)] if head == digest else []
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise ReadError(f"{file}: is not what an evaluation saved: {error}", hint=_ANOTHER) from None
        if head != digest:
            raise UsageError(
                f"{file} was saved by an evaluation of other models, samples or metrics, of other sizes, or by another engine",
                hint=_ANOTHER)
        if changed:
            raise ReadError(f"{file}: what it holds of {changed[0]!r} is damaged, or was changed", hint=_ANOTHER)
        whole = "".join(line for line in lines if line.endswith("\n"))
        os.truncate(file, len(whole.encode()))

    def add(self, name: str, rows: list[dict[str, Any]]) -> None:
        self.rows[name] = rows
        if self.file is not None:
            entry = {"sample": name, "rows": rows}
            self._write({**entry, "sum": self._sum(entry)})

    def _sum(self, entry: Mapping[str, Any]) -> str:
        """The checksum of a line: of what is told of a sample, and whose evaluation it is."""
        return hashlib.sha256(json.dumps([self.digest, entry["sample"], entry["rows"]]).encode()).hexdigest()[:16]

    def _write(self, entry: dict[str, Any]) -> None:
        assert self.file is not None
        try:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as error:
            with suppress(OSError):
                if not self.file.stat().st_size:
                    self.file.unlink()
            raise TransloadError(f"{self.file}: cannot be written: {error.strerror}") from None


def _digest(models: Sequence[Any], ready: Sequence[Ready], asked: Sequence[Any]) -> str:
    """What tells evaluations apart: the models, by their files' digests and by what was read, and all that was asked for.

    What was read has the sizes that were said, and the weights that lie beside a file.
    """
    known = []
    for model, read in zip(models, ready, strict=True):
        path = Path(model) if isinstance(model, str | Path) else None
        files = [] if path is None else sorted(path.rglob("*")) if is_folder(path) else [path] if is_file(path) else []
        known.append([str(path), digest_of_module(read.module), *(Digest(file).text() for file in files if file.is_file())])
    return hashlib.sha256(json.dumps([known, *asked], default=str).encode()).hexdigest()
