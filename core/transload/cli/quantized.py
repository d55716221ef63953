"""What the terminal shows of quantizing: what it cost, the worst layers, what stayed float and why, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..plugin_host import host
from ..report import POOR, LayerReport, LayersReport, Nearness, QuantizationReport
from .show import bytes_text, console, short_names, sized, table

__all__ = ["all_rows", "need_page", "save_page", "seen_samples", "show_layers"]

LONGEST = 24
"""Characters of a layer's name: so that its row fits a terminal of 80 columns."""
WORST = 5
"""Layers that are shown."""
KEPT = 6
"""Tensors that stay float which are shown."""


def _rows(made: QuantizationReport) -> list[tuple[str, str]]:
    """By what a model was quantized, on what, and what holds its layers, as rows of a table."""
    options = "".join(f", {key} {value}" for key, value in made.options.items())
    samples = "" if made.samples is None else f" on {sized(made.samples, 'sample')}"
    skipped = f", {len(made.skipped)} damaged left out" if made.skipped else ""
    rows = [("quantized", f"{made.scheme}{options}{samples}{skipped}")]
    rows += [("images", text) for text in made.preprocess.values()]
    held = [layer.type for layer in _layers(made)]
    notes, nothing = (
        list(said) if isinstance(said := made.details.get(key), list | tuple) else [] for key in ("notes", "nothing quantized"))
    rows += [("warning" if note in nothing else "note", str(note)) for note in notes]
    if held:
        rows.append(("layers", ", ".join(f"{held.count(type_)} in {type_}" for type_ in dict.fromkeys(held))))
    return rows


def _cost_rows(measured: LayersReport, given: int | None) -> list[tuple[str, str]]:
    """Sizes, and how near the outputs are, likewise: on samples of the `given` ones, which quantizing saw."""
    (weights_before, weights), (values_before, values) = measured.sizes.weights, measured.sizes.activations
    on = seen_samples(measured.samples, given)
    return [
        ("weights", f"{bytes_text(weights)}, were {bytes_text(weights_before)}"),
        ("activations", f"at most {bytes_text(values)}, were {bytes_text(values_before)}"),
        ("outputs", f"{_outputs(measured) or 'none measured'}, beside the float model on {on}")]


def seen_samples(count: int, given: int | None) -> str:
    """So many of the samples that were given for quantizing, in words: numbers of these say less than those of others would."""
    if given is None or given < count:
        return sized(count, "sample")
    return f"{f'{count:,} of ' if count < given else ''}the {sized(given, 'sample')} it was quantized with"


def all_rows(made: QuantizationReport) -> list[tuple[str, str]]:
    """By what a model was quantized, on what, and what it cost, as rows of a table."""
    return [*_rows(made), *(_cost_rows(made.measured, made.samples) if made.measured is not None else ())]


def show_layers(made: QuantizationReport, page: Path | None, nearest: str = "") -> None:
    """The worst layers, what stays float, and the next step; `nearest` is the command that it begins with."""
    out = console()
    measured = made.measured
    if measured is not None and measured.worst:
        shown = measured.worst[:WORST]
        rows = [
            (name, layer.op.rpartition(".")[2], layer.type, _decibels(layer.own), _decibels(layer.accumulated),
             f"{layer.accumulated.cos:.5f}", f"{layer.saturated:.2%}")
            for name, layer in zip(short_names([layer.name for layer in shown], LONGEST), shown, strict=True)]
        headings = ("own dB", "total dB", "cos", "saturated")
        title = f"the worst of {sized(len(measured.worst), 'layer')}, by their own error"
        out.print(table(("layer", "op", "type", *headings), rows, title, right=headings))
    _show_reasons(made)
    if following := _next(made, page, nearest):
        out.print(f"next: {following}", markup=False)


def _show_reasons(made: QuantizationReport) -> None:
    wide = {layer.name: layer.why for layer in _layers(made) if layer.why and layer.name not in made.floats}
    for heading, kept in (("kept float", made.floats), ("more bits", wide)):
        if kept:
            names = list(kept)[:KEPT]
            rows = list(zip(short_names(names), (kept[name] for name in names), strict=True))
            if len(kept) > KEPT:
                rows.append((f"and {len(kept) - KEPT} more", "all are in the report"))
            console().print(table((heading, "why"), rows))


def _layers(made: QuantizationReport) -> Sequence[LayerReport]:
    return made.measured.layers if made.measured is not None else ()


def _outputs(measured: LayersReport) -> str:
    names = short_names(list(measured.outputs))
    return ", ".join(
        f"{name} {_with_unit(near)}" for name, near in list(zip(names, measured.outputs.values(), strict=True))[:KEPT])


def _with_unit(near: Nearness) -> str:
    """Nearness as a sentence has it: what is exact has no number."""
    found = _decibels(near)
    return found if near.sqnr == float("inf") else f"{found} dB"


def _decibels(near: Nearness | None) -> str:
    return "" if near is None else "exact" if near.sqnr == float("inf") else f"{near.sqnr:.1f}"


def _next(made: QuantizationReport, page: Path | None, nearest: str) -> str:
    """What a user does now: find out more where the result is poor, else go on."""
    measured, known = made.measured, host().quantizers.get(made.scheme)
    if measured is None:
        more = f", and {known.samples_do}" if known is not None and known.samples_do else ""
        return f"--data SAMPLES measures what quantizing cost{more}"
    if not all(near.sqnr >= POOR for near in measured.outputs.values()):  # NaN is none
        look = f"{page} shows where it is lost; " if page is not None else "--report page.html shows where it is lost; "
        finer = f", {known.finer}" if known is not None and known.finer else ""
        return f"{look}more samples{finer} may lose less"
    return nearest


def need_page(
    page: Path | None, scheme: str | None, data: Any, dump: Path | None = None, start: str | None = None,
) -> None:
    """`UsageError`, before anything is done, where a page is asked for of which nothing will be known, or cannot be made.

    What quantizing cost is measured while it is done: not where a `dump` is gone on from behind it.
    """
    from importlib.util import find_spec

    from ..dump import is_behind
    from ..journey import QUANTIZE

    if page is None:
        return
    if scheme is None or not data:
        raise UsageError("--report shows what quantizing cost on samples", hint="--quantize int8 --data PATH")
    if dump is not None and start is not None and is_behind(dump, QUANTIZE, start):
        raise UsageError(f"--report shows what quantizing cost, and stage {QUANTIZE!r} is behind {start!r}",
                         hint=f"--from {QUANTIZE}, or a stage before, quantizes anew")
    if find_spec("jinja2") is None:
        raise UsageError("a page needs the package jinja2", hint="pip install 'transload[report]'")


def save_page(made: QuantizationReport, page: Path | None, title: str) -> None:
    """Write the HTML page where one is asked for."""
    from ..layers_page import quantization_page

    if page is not None and made.measured is not None:
        quantization_page(made.measured, page, title, dict(_rows(made)), made.floats)
