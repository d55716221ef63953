"""A calibration: what range the integers of each tensor are to hold, as a table that is kept.

The table is text in the form of the TPU-MLIR manual (3.3): a line a tensor, its name, the threshold for types whose zero point is
zero, and the least and the greatest number for the others. The histograms they were chosen from are kept beside it.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from transload.apart import need_free, note_written
from transload.cores import cores
from transload.digits import whole_number
from transload.errors import ReadError, UsageError
from transload.files import atomic_path, exists, need_svg, text_of
from transload.guard import users_code
from transload.ir import Module, input_names
from transload.notebook import table_html
from transload.samples.owned import need_sample
from transload.scratch import ScratchFolder

from . import auto
from .asked import need_floats
from .histogram import BINS, MANUAL_BINS, Histogram
from .measure import Progress, Sample, Spread, measured
from .picture import picture
from .state import load_histograms, need_own_histograms, save_histograms
from .thresholds import LEVELS, METHODS, Method, Range
from .words import as_word, of_word

__all__ = ["ALL_INT8", "WORK_MODES", "Calibration", "calibrate", "chosen", "need_room"]

ALL_INT8 = "QAT_all_int8"
WORK_MODES = (ALL_INT8, "QAT_mix_prec")
"""What tables of models that were trained quantized say of themselves (manual, 15.5): whether what they leave out is float."""
MODE = "# work_mode:{mode} //choices:[" + ", ".join(WORK_MODES) + "]\n"
WEIGHTS = re.compile(r'(?P<name>\S.*_(?:weight|bias)"?) (?P<count>\d+) (?P<numbers>\S.*)')
"""A line of scales, and as many zero points, of weights or a bias, which says how many before each."""

SHOWN = 24
"""Tensors that notebooks show."""
AUTO = "auto"
"""The method that tries ranges on the ops that use them (`auto`)."""
BINNED = ("kl", "entropy")
"""The methods that ask for a number of bins."""
LEAST_BINS, MOST_BINS = 2 * LEVELS, BINS
"""Fewer have no cut to choose; more would be finer than what is counted."""
HEADER = "# histogram number: {bins}\n# sample number: {samples}\n{tuned}# method: {method}\n###\n# op_name threshold min max\n"


@dataclass
class Calibration:
    """The range of each tensor, by its name."""

    ranges: dict[str, Range]
    """The least and the greatest number to hold, for types with a zero point."""
    samples: int = 0
    method: str = ""
    histograms: dict[str, Histogram] = field(default_factory=dict)
    """What they were chosen from, where that is known."""
    thresholds: dict[str, float] = field(default_factory=dict)
    """The distance from zero to hold, for types without; what is not there is that of the farther end of the range."""
    bins: int = MANUAL_BINS
    """How many bins of distances from zero `kl` and `entropy` looked at."""
    tuned: int = 0
    """The samples on which `auto` tried ranges."""
    mode: str = ""
    """One of `WORK_MODES`, where training made the table."""
    weights: dict[str, tuple[float, ...]] = field(default_factory=dict)
    """The scales of weights that training found, by their names in the table."""

    def kept(self, symmetric: bool) -> dict[str, Range]:
        """The ranges for types of which zero points are, or are not, zero."""
        if not symmetric:
            return dict(self.ranges)
        return {
            name: (-self.threshold(name) if low < 0.0 else 0.0, self.threshold(name) if high > 0.0 else 0.0)
            for name, (low, high) in self.ranges.items()}

    def threshold(self, name: str) -> float:
        """The distance from zero that a tensor's numbers are to be held to."""
        found = self.thresholds.get(name)
        return max(map(abs, self.ranges[name])) if found is None else found

    def save(self, path: str | Path) -> Path:
        """Write the table, and the histograms as an `.npz` with the table's name before that; both are complete or not there.

        Raises `UsageError` where such an `.npz` is there that holds no histograms: it is another program's.
        """
        file = Path(path)
        was_there = exists(file)
        need_free(file, _beside(file))
        if self.histograms or was_there:
            need_own_histograms(_beside(file))
        lines = [
            f"{as_word(name)} {self.threshold(name):.9g} {low:.9g} {high:.9g}\n" for name, (low, high) in self.ranges.items()]
        tuned = f"# tune number: {self.tuned}\n" if self.tuned else ""
        header = HEADER.format(bins=self.bins, samples=self.samples, tuned=tuned, method=self.method)
        if self.mode:
            header = MODE.format(mode=self.mode) + "# op_name threshold min max\n"
            lines += [
                f"{as_word(name)} {len(each)} {' '.join(f'{scale:.9g}' for scale in each)} {len(each)} "
                f"{' '.join('0' * len(each))}\n" for name, each in self.weights.items()]
        with atomic_path(file) as made:
            made.write_text(header + "".join(lines), encoding="utf-8")
            if self.histograms:  # both are written before one is put in its place
                save_histograms(_beside(file), self.histograms)
        if not self.histograms and was_there:
            _beside(file).unlink(missing_ok=True)  # of a table that was there before
        note_written(file, _beside(file))
        return file

    def plot(self, path: str | Path) -> Path:
        """Write a picture of the histograms and the ranges, an SVG file.

        Raises `UsageError` where it has no histograms, or no SVG file is called so.
        """
        need_svg(Path(path))
        shown = {name: histogram for name, histogram in self.histograms.items() if name in self.ranges}
        if not shown:
            raise UsageError(
                "the calibration has no histograms to show", hint="`calibrate` makes them; they lie beside a table as `.npz`")
        with atomic_path(path) as made:
            made.write_text(picture(shown, self.ranges, {name: self.threshold(name) for name in shown}), encoding="utf-8")
        return Path(path)

    def _repr_html_(self) -> str:
        """For notebooks: the ranges, and the first histograms as a picture."""
        rows = [(name, self.threshold(name), low, high) for name, (low, high) in list(self.ranges.items())[:SHOWN]]
        more = f"and {len(self.ranges) - SHOWN} more" if len(self.ranges) > SHOWN else ""
        title = f"Ranges of {len(self.ranges)} tensors{f' by {self.method}' if self.method else ''}"
        table = table_html(title, ("tensor", "threshold", "least", "greatest"), rows, more)
        shown = {name: self.histograms[name] for name, *_ in rows if name in self.histograms}
        if not shown:
            return table
        drawn = picture(shown, self.ranges, {name: self.threshold(name) for name in shown})
        return f'{table}<img alt="histograms" src="data:image/svg+xml;base64,{b64encode(drawn.encode()).decode()}">'

    @classmethod
    def load(cls, path: str | Path) -> Calibration:
        """Read a table, ours or TPU-MLIR's, with its histograms where they lie beside it.

        Of a model that was trained quantized, it has the scales of weights, too (MQBench; manual, 15.5). Raises `ReadError` that
        names the line that is none, and where a name has two.
        """
        lines = text_of(path, "a calibration table").splitlines()
        found = cls({})
        for number, line in enumerate(lines, 1):
            if line.startswith("#"):
                found._note(line, f"{path}:{number}")
            elif found.mode and (scales := _scales(f"{path}:{number}", line)) is not None:
                name, held = scales
                if name in found.weights:
                    raise ReadError(f"{path}:{number}: {name!r} has had a line before")
                found.weights[name] = held
            elif line.strip():
                name, threshold, kept = _parts(f"{path}:{number}", line)
                if name in found.ranges:
                    raise ReadError(f"{path}:{number}: {name!r} has had a line before")
                found.ranges[name], found.thresholds[name] = kept, threshold
        if not found.ranges:
            raise ReadError(
                f"{path}: is no calibration table: it has no line of a name, a threshold, a least and a greatest number")
        beside = _beside(Path(path))
        if exists(beside):
            found.histograms, _ = load_histograms(beside)
        return found

    @classmethod
    def of(cls, given: Any) -> Calibration | None:
        """What a quantizer is given as ranges: these, the path of a table, or what another method gives, which saves a table.

        None for none. `UsageError` for anything else, and for what saves something else.
        """
        if given is None or isinstance(given, cls):
            return given
        if isinstance(given, str | PathLike):
            return cls.load(Path(given))
        if callable(getattr(given, "save", None)) and not isinstance(given, type):
            return cls._saved_by(given)
        raise UsageError(
            f"a calibration is a table or its path, and this is of type {type(given).__name__}",
            hint="transload.calibrate(module, samples) makes one")

    @classmethod
    def _saved_by(cls, given: Any) -> Calibration:
        """The table that what another method gave saves, as who saves it and gives the path has it."""
        with ScratchFolder() as folder:
            table = folder / "table"
            with users_code():
                given.save(table)
            try:
                return cls.load(table)
            except ReadError as error:
                raise UsageError(
                    f"what a calibration of type {type(given).__name__} saves is no table: "
                    f"{error.message.removeprefix(str(table)).lstrip(': ')}",
                    hint="this scheme takes a table, a line a tensor: NAME THRESHOLD LEAST GREATEST; "
                         "what is saved as anything else is for quantizers that know it") from None

    def _note(self, line: str, where: str) -> None:
        key, _, value = line.lstrip("# ").partition(":")
        field_ = {"sample number": "samples", "histogram number": "bins", "tune number": "tuned"}.get(key)
        if field_ is not None:
            if (number := whole_number(value.strip())) is not None:
                setattr(self, field_, number)
        elif key == "method":
            self.method = value.strip()
        elif key == "work_mode":
            self.mode = value.partition("//")[0].strip()
            if self.mode not in WORK_MODES:
                raise ReadError(f"{where}: the work mode {self.mode!r} is none of {', '.join(WORK_MODES)}")


def need_room(table: Path) -> None:
    """Raise `UsageError` where another program's file is in the place of the histograms that a table is saved with, or one
    that is read.
    """
    need_free(_beside(table))
    need_own_histograms(_beside(table))


def _beside(table: Path) -> Path:
    """Where a table's histograms are."""
    return table.with_name(f"{table.name}.npz")


def _parts(where: str, line: str) -> tuple[str, float, Range]:
    """A line's name, which may have spaces in it, its threshold and its range. Raises `ReadError` where it has none."""
    parts = line.rsplit(maxsplit=3)
    try:
        threshold, low, high = map(float, parts[1:])
    except ValueError:
        raise ReadError(f"{where}: {line!r} is not a name, a threshold, a least and a greatest number") from None
    farthest = float(np.finfo(np.float32).max)
    if not (np.abs([threshold, low, high]) <= farthest * (1 + 1e-8)).all():  # nine digits of the greatest float are more
        raise ReadError(f"{where}: {parts[0]!r} has a number that is not finite, as a float of 32 bits")
    threshold, low, high = np.clip([threshold, low, high], -farthest, farthest).tolist()
    if threshold < 0.0:
        raise ReadError(f"{where}: {parts[0]!r} has the threshold {threshold:g}, which is negative")
    if low > high:
        raise ReadError(f"{where}: {parts[0]!r} has the least number {low:g}, which is above the greatest, {high:g}")
    return of_word(parts[0]), threshold, (low, high)


def _scales(where: str, line: str) -> tuple[str, tuple[float, ...]] | None:
    """The name and the scales of a line of weights; None where it is none. Raises `ReadError` where its numbers are no scales."""
    match = WEIGHTS.fullmatch(line.strip())
    if match is None:
        return None
    name, count, numbers = match["name"], int(match["count"]), match["numbers"].split()
    if not count or len(numbers) != 2 * count + 1 or numbers[count] != match["count"]:
        if len(numbers) == 2:
            return None  # a tensor that is called so
        raise ReadError(f"{where}: {name!r} is to have {count} scales, their number again, and as many zero points")
    try:
        scales, points = np.array(numbers[:count], np.float64), np.array(numbers[count + 1:], np.float64)
    except ValueError:
        raise ReadError(f"{where}: {name!r} has scales or zero points that are no numbers") from None
    held = scales.astype(np.float32)
    if not (np.isfinite(held) & (held > 0.0)).all():
        raise ReadError(f"{where}: {name!r} has a scale that is no positive number")
    if points.any():
        raise ReadError(f"{where}: {name!r} has zero points, and products need weights whose zero is 0")
    return of_word(name), tuple(held.astype(float).tolist())


def calibrate(
    module: Module, samples: Iterable[Sample], method: str = "mse", *, bits: int = 8, symmetric: bool | None = None,
    workers: int | None = None, resume: str | Path | None = None, progress: Progress | None = None, scheduler: Any = None,
    bins: int | None = None, tune: int | None = None, tune_samples: Iterable[Sample] | None = None, floats: Collection[str] = (),
) -> Calibration:
    """Run a float module of the hub on samples, and choose the range of each of its tensors by `auto` or a method of `METHODS`.

    `samples` are dicts of arrays by input name, any iterable of them, gone through once and not kept but for a few. `bits` is how
    many the activations will have; `symmetric`, whether their zero points will be zero: it takes the time for both else.
    `workers`, `resume` and `progress` are as in `measured`, whose errors are raised; with a `scheduler`
    the workers of a Dask cluster count (`transload.scale.Crew`). `bins` is how many bins `kl` and `entropy` look at, 2048 without
    it. `auto` tries ranges on `tune` of the samples, up to eight without it, or on the first so many of `tune_samples`. What
    `floats` names, which stays float, may be infinite.
    """
    _check_asked(method, bins, tune, tune_samples)
    need_floats(module)
    spread = Spread(samples, auto.SAMPLES if tune is None else 2 * tune)
    if scheduler is None:
        histograms, count = measured(module, spread, workers=workers, resume=resume, progress=progress, floats=floats)
    elif resume is None:
        from .counters import counted_by

        histograms, count = counted_by(scheduler, module, spread, progress)
    else:
        raise UsageError("a calibration by a cluster keeps no state to go on from", hint="leave out resume, or scheduler")
    if method != AUTO:
        return chosen(histograms, count, method, bits, symmetric is not False, bins or MANUAL_BINS)
    found = chosen(histograms, count, "mse", bits)
    found.method = AUTO
    if bits <= 8:  # of more bits none is worth a number that saturates
        some = _to_tune_on(module, spread, tune, tune_samples)
        found.tuned = len(some)
        if symmetric is not True:
            found.ranges = auto.least_error(module, histograms, some, bits, False)
        if symmetric is not False:
            ranges = auto.least_error(module, histograms, some, bits, True)
            found.thresholds = {name: max(map(abs, kept)) for name, kept in ranges.items()}
    return found


def _check_asked(method: str, bins: int | None, tune: int | None, tune_samples: Iterable[Sample] | None) -> None:
    """`UsageError` for a method that there is not, and for numbers that it does not ask for, or that are none of it."""
    if method not in (AUTO, *METHODS):
        raise UsageError(f"no method of calibration is called {method!r}", hint=f"methods: {', '.join((AUTO, *METHODS))}")
    if bins is not None and method not in BINNED:
        raise UsageError(
            f"method {method!r} takes the histograms as they are, and no number of bins",
            hint=f"leave it out, or take one of the methods {', '.join(BINNED)}")
    if bins is not None and (not LEAST_BINS <= bins <= MOST_BINS or bins % LEVELS):
        raise UsageError(
            f"a histogram cannot have {bins} bins", hint=f"a multiple of {LEVELS}, from {LEAST_BINS} to {MOST_BINS}")
    if (tune is not None or tune_samples is not None) and method != AUTO:
        raise UsageError(
            f"method {method!r} tunes on no samples", hint=f"method {AUTO!r} does, which begins with the ranges of the others")
    if tune is not None and tune < 1:
        raise UsageError(f"{tune} samples to tune on are asked for; 1 is the least")


def _to_tune_on(module: Module, spread: Spread, tune: int | None, own: Iterable[Sample] | None) -> list[Sample]:
    """The samples on which ranges are tried: of those that were counted, or others, of which as many are taken."""
    if own is None:
        return spread.kept if tune is None else spread.some(tune)
    some = list(islice(own, tune))
    if not some:
        raise UsageError("ranges are to be tried on samples of their own, and there is none")
    for number, sample in enumerate(some, 1):
        need_sample(sample, input_names(module.main), number)
    return some


def chosen(
    histograms: Mapping[str, Histogram], count: int, method: str, bits: int = 8, thresholds: bool = True, bins: int = MANUAL_BINS,
) -> Calibration:
    """The ranges that a method of `METHODS` takes from histograms, and `thresholds` for types whose zero points are zero."""
    found = Calibration({}, count, method, dict(histograms), bins=bins)
    own: Any = METHODS[method]
    choose: Method = partial(own, bins=bins) if method in BINNED else own

    def both(histogram: Histogram) -> tuple[Range, Range | None]:
        if not histogram.total:
            histogram = Histogram([np.zeros(1)])  # no number was ever in it, and any range will do
        return choose(histogram, bits, False), choose(histogram, bits, True) if thresholds else None

    with ThreadPoolExecutor(cores()) as pool:
        for name, (kept, symmetric) in zip(histograms, pool.map(both, histograms.values()), strict=True):
            found.ranges[name] = kept
            if symmetric is not None:
                found.thresholds[name] = max(map(abs, symmetric))
    return found
