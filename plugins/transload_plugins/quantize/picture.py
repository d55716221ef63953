"""Pictures of histograms with the ranges that were chosen from them, as one SVG file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np

from .histogram import Histogram
from .thresholds import Range

__all__ = ["picture"]

COLUMNS, WIDTH, HEIGHT, GAP = 3, 300, 90, 34
"""Pictures side by side; the size of one, and the room above it for its name."""
STEP = (WIDTH + GAP, HEIGHT + 2 * GAP)
"""From one to the next."""
BARS = 150
STYLE = (
    "text{font:11px sans-serif;fill:#333}rect{fill:#9ab}.end{stroke:#06c;stroke-dasharray:4 3}.threshold{stroke:#c30}"
    ".axis{stroke:#999}")


def picture(histograms: Mapping[str, Histogram], ranges: Mapping[str, Range], thresholds: Mapping[str, float]) -> str:
    """An SVG document: for each tensor its counts, on a logarithmic scale, from the least number to the greatest.

    Broken lines are the ends of the range for types with a zero point, whole ones the threshold on either side of zero, where
    they lie among the numbers.
    """
    each = [
        _one(name, histogram, ranges[name], thresholds[name], place % COLUMNS * STEP[0], place // COLUMNS * STEP[1])
        for place, (name, histogram) in enumerate(histograms.items())]
    width, height = COLUMNS * STEP[0], -(-len(each) // COLUMNS) * STEP[1]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="{-GAP // 2} 0 {width} {height}">\n'
        f"<style>{STYLE}</style>\n" + "".join(each) + "</svg>\n")


def _one(name: str, histogram: Histogram, kept: Range, threshold: float, left: int, top: int) -> str:
    low, high = (histogram.low, histogram.high) if histogram.total else (0.0, 0.0)
    span = high - low
    counts, _ = np.histogram(
        np.clip(histogram.centers, low, high), BARS, (low, high if span > 0.0 else low + 1.0), weights=histogram.counts)
    heights = np.log1p(counts) / max(float(np.log1p(counts.max())), 1.0) * HEIGHT
    bar = WIDTH / BARS
    bars = "".join(
        f'<rect x="{place * bar:.1f}" y="{HEIGHT - tall:.1f}" width="{bar:.1f}" height="{tall:.1f}"/>'
        for place, tall in enumerate(heights) if tall)
    lines = [("end", kept[0]), ("end", kept[1]), ("threshold", -threshold), ("threshold", threshold)]
    marks = "".join(
        f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{HEIGHT}"/>'
        for kind, number in lines if span > 0.0 and low <= number <= high for x in [(number - low) / span * WIDTH])
    shown = name if len(name) <= 48 else f"…{name[-47:]}"
    return (
        f'<g transform="translate({left},{top + GAP})"><title>{escape(name)}: {kept[0]:.6g} to {kept[1]:.6g}, threshold '
        f'{threshold:.6g}</title><text y="-8">{escape(shown)}</text>{bars}{marks}'
        f'<line class="axis" x1="0" x2="{WIDTH}" y1="{HEIGHT}" y2="{HEIGHT}"/><text y="{HEIGHT + 14}">{low:.4g}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT + 14}" text-anchor="end">{high:.4g}</text></g>\n')
