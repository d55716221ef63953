"""What notebooks show of reports and comparisons: tables as HTML, in which all texts are escaped.

Each function here is what a class's `_repr_html_` gives; modules have theirs in `ir.readable`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .report import ComparedOutput, LayersReport, Nearness, QuantizationReport, Report
    from .verification.compare import Comparison
    from .verification.differences import TensorDifference

__all__ = ["comparison_html", "decibels_colour", "layers_html", "quantization_html", "report_html", "table_html"]

ROWS = 12
"""Layers, tensors or entries that are shown; of more, the first, or the worst."""
POOR, GOOD = 5.0, 45.0
"""Decibels that are wholly red, and wholly green."""
_STATUS = {"passed": "#1a7f37", "converted": "#1a7f37", "failed": "#cf222e", "refused": "#cf222e"}


def table_html(caption: str, headings: Sequence[str], rows: Iterable[Sequence[Any]], more: str = "") -> str:
    """A table; a cell is a text, a number, or what has `_repr_html_` of its own. `more` is said below it."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>" for row in rows)
    below = f"<p>{escape(more)}</p>" if more else ""
    return f"<table><caption>{escape(caption)}</caption>" + (f"<tr>{head}</tr>" if head else "") + f"{body}</table>{below}"


class _Coloured:
    """A text with a dot before it that says at a glance how good it is."""

    def __init__(self, text: str, colour: str) -> None:
        self.text, self.colour = text, colour

    def _repr_html_(self) -> str:
        return f'<span style="color:{self.colour}">●</span> {escape(self.text)}'


def _cell(cell: Any) -> str:
    if hasattr(cell, "_repr_html_"):
        return str(cell._repr_html_())
    if isinstance(cell, float):
        return f"{cell:.5g}"
    return escape(str(cell))


def decibels_colour(decibels: float) -> str:
    """Red where much is lost, yellow, green where little is."""
    share = 0.0 if math.isnan(decibels) else min(max((decibels - POOR) / (GOOD - POOR), 0.0), 1.0)
    return f"hsl({round(130 * share)},72%,42%)"


def _decibels(near: Nearness | None) -> Any:
    if near is None:
        return "–"
    return _Coloured("exact" if near.sqnr == math.inf else f"{near.sqnr:.1f}", decibels_colour(near.sqnr))


def _metric(tensor: TensorDifference | ComparedOutput, name: str) -> Any:
    return tensor.metrics.get(name, "–")


def _nearness(tensor: TensorDifference | ComparedOutput) -> Any:
    """Decibels; of indices the share of equal ones."""
    if "sqnr" in tensor.metrics or tensor.equal is None:
        sqnr = tensor.metrics.get("sqnr", math.nan)
        return _Coloured(f"{sqnr:.1f}", decibels_colour(sqnr))
    return _Coloured(f"{tensor.equal:.1%} equal", decibels_colour(POOR + tensor.equal * (GOOD - POOR)))


def report_html(report: Report) -> str:
    """A conversion: what became of which model, how near it is, what quantizing cost, and what the target says."""
    status = _Coloured(report.status, _STATUS[report.status])
    checked = report.verification
    rows: list[tuple[str, Any]] = [("model", report.model or "made in memory"), ("target", report.target), ("status", status)]
    if report.error is not None:
        rows.append(("why", report.error.message))
    told = " ".join(filter(None, [checked.status, f"by {checked.runtime}" if checked.runtime else "", checked.why]))
    rows.append(("verification", _Coloured(told, _STATUS.get(checked.status, "#9a6700"))))
    rows += [("file", f"{name}, {size:,} bytes") for name, size in report.files.items()]
    rows += [("note", note) for note in report.notes]
    rows += [(name, value) for name, value in report.target_report.items() if isinstance(value, str | int | float)]
    parts = [table_html("Conversion", (), rows)]
    if checked.outputs:
        parts.append(table_html("Outputs", ("output", "cosine", "greatest difference", "dB"), [
            (each.name, _metric(each, "cos"), _metric(each, "max_abs"), _nearness(each)) for each in checked.outputs[:ROWS]]))
    if report.error is not None and report.error.findings:
        parts.append(table_html("Findings", ("what", "why", "how often"), [
            (each.what, each.why, each.count) for each in report.error.findings[:ROWS]], _rest(len(report.error.findings))))
    if report.quantization is not None:
        parts.append(quantization_html(report.quantization))
    return "".join(parts)


def quantization_html(report: QuantizationReport) -> str:
    """What quantized a model, and what it cost."""
    kept = [("stays float", name) for name in list(report.floats)[:ROWS]]
    rows = [("quantizer", report.scheme), *report.options.items(), *kept]
    if report.samples is not None:
        rows.append(("samples", str(report.samples)))
    return table_html("Quantized", (), rows) + (layers_html(report.measured) if report.measured is not None else "")


def layers_html(report: LayersReport) -> str:
    """Sizes and outputs, and the layers that lose most by themselves."""
    weights, values = report.sizes.weights, report.sizes.activations
    sizes = [
        ("weights", f"{weights[0]:,} → {weights[1]:,} bytes"), ("activations", f"{values[0]:,} → {values[1]:,} bytes at most")]
    outputs = [(f"output {name}", _decibels(near)) for name, near in list(report.outputs.items())[:ROWS]]
    worst = report.worst
    rows = [
        (each.name, each.op, each.type, _decibels(each.own), _decibels(each.accumulated), each.accumulated.cos,
         f"{each.saturated:.2%}") for each in worst[:ROWS]]
    return table_html("What it cost, in dB beside the float model", (), [*sizes, *outputs]) + table_html(
        "Layers, those first that lose most by themselves", ("layer", "op", "type", "own", "accumulated", "cosine", "saturated"),
        rows, _rest(len(worst)))


def comparison_html(comparison: Comparison) -> str:
    """How the tensors of two runs differ, the worst first."""
    def lost(tensor: TensorDifference) -> float:
        found = tensor.metrics.get("sqnr", -math.inf if tensor.equal is not None and tensor.equal < 1.0 else math.inf)
        return -math.inf if math.isnan(found) else found

    tensors = sorted(comparison.tensors, key=lost)
    def row(tensor: TensorDifference) -> tuple[Any, ...]:
        shape = "×".join(map(str, tensor.shape)) or "scalar"
        return (tensor.name + " (turned)" * tensor.turned, shape, tensor.dtype, _metric(tensor, "cos"),
                _metric(tensor, "max_abs"), tensor.note or _nearness(tensor))

    rows = [row(each) for each in tensors[:ROWS]]
    heading = f"{comparison.actual} beside {comparison.reference}, the worst first"
    return table_html(heading, ("tensor", "shape", "type", "cosine", "greatest difference", "dB"), rows, _rest(len(tensors)))


def _rest(count: int) -> str:
    return f"and {count - ROWS} more" if count > ROWS else ""
