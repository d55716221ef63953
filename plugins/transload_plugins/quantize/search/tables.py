"""What a search found as files: the manual's quantize table and loss table, and the curve of price and quality.

Source: TPU-MLIR manual, 3.4. The date is left out of comments, so that the same search gives the same files.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from transload.files import atomic_path

from ..layers import HEADER
from ..words import as_word
from .choosing import decibels
from .climb import Point
from .searching import Found

__all__ = ["save_curve", "save_loss_table", "save_quantize_table"]

WIDTH, HEIGHT, MARGIN = 640, 320, 56
STYLE = (
    "text{font:11px sans-serif;fill:#333}path{fill:none;stroke:#06c}circle{fill:#9ab}.judged{fill:#06c}.chosen{fill:#c30}"
    ".axis{stroke:#999}")


def _comments(found: Found, chip: str) -> str:
    """The lines that both of the manual's tables begin with."""
    modes = sorted(set(found.layers.values())) or ["INT8"]
    judged = "".join(f"# {each.text}\n" for each in found.judged)
    return (
        f"# sample number: {sum(found.samples)}\n# all int8 loss: {-decibels(found.all_integers)}\n"
        f"# chip: {chip} mix_mode: {' '.join(modes)}\n{judged}")


def save_quantize_table(path: Path, found: Found, chip: str = "any") -> None:
    """The layers and their words; `layers.load_layers` reads it."""
    lines = "".join(f"{as_word(name)} {mode}\n" for name, mode in found.layers.items())
    _write(path, f"{_comments(found, chip)}{HEADER}{lines}")


def save_loss_table(path: Path, found: Found, chip: str = "any") -> None:
    """What the outputs lose, as negative decibels, with one layer given up, for each of them: what gains most is the first."""
    ordered = sorted(found.losses.items(), key=lambda each: each[1])
    lines = "".join(
        f"No.{number:<2}: Layer: {as_word(name)} Loss: {-decibels(loss)}\n" for number, (name, loss) in enumerate(ordered))
    _write(path, f"{_comments(found, chip)}###\n{lines}")


def save_curve(path: Path, found: Found) -> None:
    """The curve as a picture where the file is an `.svg`, else as a table with tabs between."""
    _write(path, _picture(found) if path.suffix.lower() == ".svg" else _table(found))


def _table(found: Found) -> str:
    head = ("layers", "floats", "16 bits", "price", "dB by simulation", "judged")
    rows = [
        (str(len(point.assignment)), f"{point.floats:.6f}", f"{point.wide:.6f}", f"{point.price:.6f}", f"{point.decibels:.3f}",
         "; ".join(each.text for each in point.judged)) for point in found.curve]
    return "".join("\t".join(row) + "\n" for row in (head, *rows))


def _picture(found: Found) -> str:
    """Decibels over the price in percent of all operations."""
    points = found.curve
    most = max((point.price for point in points), default=0.0) or 1.0
    low, high = (pick((point.decibels for point in points), default=0.0) for pick in (min, max))
    span = high - low or 1.0

    def place(point: Point) -> tuple[float, float]:
        return MARGIN + point.price / most * WIDTH, MARGIN + (high - point.decibels) / span * HEIGHT

    line = " ".join(f"{'L' if number else 'M'}{x:.1f} {y:.1f}" for number, (x, y) in enumerate(map(place, points)))
    dots = "".join(_dot(point, *place(point), found) for point in points)
    width, height = WIDTH + 2 * MARGIN, HEIGHT + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
        f'<style>{STYLE}</style>\n<path d="{line}"/>{dots}'
        f'<line class="axis" x1="{MARGIN}" x2="{MARGIN}" y1="{MARGIN}" y2="{MARGIN + HEIGHT}"/>'
        f'<line class="axis" x1="{MARGIN}" x2="{MARGIN + WIDTH}" y1="{MARGIN + HEIGHT}" y2="{MARGIN + HEIGHT}"/>'
        f'<text x="{MARGIN}" y="{MARGIN - 12}">{high:.1f} dB of the outputs</text>'
        f'<text x="4" y="{MARGIN + HEIGHT}">{low:.1f} dB</text>'
        f'<text x="{MARGIN + WIDTH}" y="{MARGIN + HEIGHT + 24}" text-anchor="end">{most:.1%} of all operations, those on 16 bits '
        "counted as a quarter</text></svg>\n")


def _dot(point: Point, x: float, y: float, found: Found) -> str:
    chosen = point.judged and point.judged == found.judged
    kind = ' class="chosen"' if chosen else ' class="judged"' if point.judged else ""
    told = f"{len(point.assignment)} layers, {point.floats:.2%} in floats, {point.decibels:.1f} dB"
    judged = "".join(f"; {each.text}" for each in point.judged)
    return f'<circle{kind} cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(told + judged)}</title></circle>'


def _write(path: Path, text: str) -> None:
    with atomic_path(path) as made:
        made.write_text(text, encoding="utf-8")
