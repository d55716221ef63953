"""What quantizing cost, as one HTML page: pictures are inline SVG, and nothing is fetched from anywhere.

Names of tensors come from files. The template escapes whatever it is given, and the page forbids scripts to whoever shows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .cli.show import bytes_text
from .errors import UsageError
from .files import atomic_path
from .kinds import MAPPING, PATH, TEXT, Kind, takes
from .report import LayerReport, LayersReport

__all__ = ["quantization_page"]

TEMPLATE = Path(__file__).parent / "templates" / "layers.html"
LONGEST = 100
"""Characters of a tensor's name that are shown; all of them are where the pointer rests on it."""
CHART = (920, 260)
"""Width and height of the chart along the network, and below of a histogram."""
HISTOGRAM = (260, 70)
STEP = 10
"""Decibels between two lines of the chart."""
HIGHEST = 80
"""Decibels above which a point lies at the chart's upper end."""
_REPORT = Kind("a report of layers", lambda value: isinstance(value, LayersReport), "transload.quantization_report makes one")


@dataclass(frozen=True)
class _Point:
    """A layer in the chart: where its two errors are."""

    layer: LayerReport
    x: float
    own: float | None
    accumulated: float


@dataclass(frozen=True)
class _Bars:
    """A histogram: the path of its bars, and where the ends of the range are that the type holds."""

    path: str
    ends: Sequence[float]


@takes(report=_REPORT, path=PATH, title=TEXT, about=MAPPING, kept=MAPPING)
def quantization_page(
    report: LayersReport, path: str | Path, title: str = "", about: Mapping[str, str] | None = None,
    kept: Mapping[str, str] | None = None,
) -> Path:
    """Write what `transload.quantization_report` gives as one HTML page, which needs nothing else.

    `about` are facts to begin with; `kept` tensors that stay float, with the reason, beside those that layers say. Raises
    `UsageError` where the package jinja2 is not installed, `TransloadError` where the place cannot be written.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise UsageError("a page needs the package jinja2", hint="pip install 'transload[report]'") from None
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_plain)
    environment.filters.update(db=_decibels, short=_short, bytes=_bytes, number=_number, percent=_percent)
    top, points = _chart(report.layers)
    text = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        report=report, title=title or "Quantization report", about=about or {}, points=points, top=top, step=STEP, chart=CHART,
        size=HISTOGRAM, kept={**(kept or {}), **{each.name: each.why for each in report.layers if each.why}},
        order=[*report.worst, *(each for each in report.layers if each.own is None)],
        bars={each.place: _bars(each) for each in report.layers}, sizes=_sizes(report))
    with atomic_path(path) as made:
        made.write_text(text, encoding="utf-8", errors="backslashreplace")
    return Path(path)


def _plain(value: object) -> object:
    """What is told, without characters that turn the direction of text or drive a terminal: names are of a model's file."""
    if type(value) is not str or value.isprintable():
        return value
    return "".join(
        each if each.isprintable() or each == "\n" else each.encode("unicode_escape").decode("ascii") for each in value)


def _chart(layers: Sequence[LayerReport]) -> tuple[int, list[_Point]]:
    """The decibels of the chart's upper end, and a point for each layer."""
    errors = [each for layer in layers for each in (layer.own, layer.accumulated) if each is not None]
    greatest = max((each.sqnr for each in errors if math.isfinite(each.sqnr)), default=0.0)
    top = int(min(max(math.ceil(greatest / STEP), 1) * STEP, HIGHEST))
    width, height = CHART
    step = width / max(len(layers), 1)

    def y(decibels: float) -> float:
        held = 0.0 if math.isnan(decibels) else min(max(decibels, 0.0), top)
        return round(height * (1.0 - held / top), 1)

    return top, [
        _Point(layer, round((place + 0.5) * step, 1), y(layer.own.sqnr) if layer.own is not None else None,
               y(layer.accumulated.sqnr))
        for place, layer in enumerate(layers)]


def _bars(layer: LayerReport) -> _Bars:
    """Counts on a logarithmic scale, as one path."""
    width, height = HISTOGRAM
    counts = np.log1p(np.asarray(layer.counts, np.float64))
    tall = counts / max(float(counts.max(initial=0.0)), 1.0) * height
    bar = width / max(len(counts), 1)
    path = "".join(
        f"M{place * bar:.1f},{height}v{-each:.1f}h{bar:.1f}v{each:.1f}z" for place, each in enumerate(tall) if each)
    span = layer.counts_to - layer.counts_from
    ends = [] if layer.low is None or layer.high is None or not 0.0 < span < math.inf else [
        round((end - layer.counts_from) / span * width, 1) for end in (layer.low, layer.high)]
    return _Bars(path, [end for end in ends if -1.0 <= end <= width + 1.0])


def _sizes(report: LayersReport) -> list[tuple[str, str, int, float]]:
    """Bars of sizes: what, when, how many bytes, and what share of the longest of the kind."""
    sizes = report.sizes
    return [
        (what, when, size, 100.0 * size / max(*both, 1))
        for what, both in (("weights", sizes.weights), ("activations", sizes.activations))
        for when, size in zip(("before", "after"), both, strict=True)]


def _decibels(value: Any) -> str:
    return "–" if value is None else "exact" if value.sqnr == math.inf else f"{value.sqnr:.1f}"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST // 2]}…{name[-LONGEST // 2 :]}"


def _bytes(size: float) -> str:
    return bytes_text(size)


def _number(value: float) -> str:
    return f"{value:.4g}"


def _percent(share: float) -> str:
    return f"{share:.3%}" if share else "0 %"
