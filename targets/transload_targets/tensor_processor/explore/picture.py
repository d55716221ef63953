"""Variations of a chip as a picture: time and bytes over what is varied, a line for each of the other values."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from transload.files import atomic_path, need_svg

from .sweep import Explored

__all__ = ["picture", "save_picture"]

WIDTH, HEIGHT, MARGIN = 420, 300, 70
COLOURS = ("#4a86c5", "#d9822b", "#3a9a6d", "#8a6fb5", "#c23030", "#7d6147", "#777777", "#c2a000")
PANELS = (("milliseconds", "ms"), ("bytes", "bytes moved"))


def picture(rows: Sequence[Explored], title: str = "") -> str:
    """Two panels as SVG text: milliseconds and bytes moved over the values of what has the most of them."""
    sound = [row for row in rows if row.settings and not row.note]
    width, height = 2 * (WIDTH + MARGIN) + MARGIN, HEIGHT + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        f'<text x="{MARGIN}" y="{MARGIN / 3}" font-size="13">{escape(title)}</text>']
    if sound:
        names = list(sound[0].settings)
        axis = max(names, key=lambda name: len({row.settings[name] for row in sound}))
        for number, (figure, word) in enumerate(PANELS):
            parts += _panel(sound, axis, figure, word, MARGIN + number * (WIDTH + MARGIN))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(rows: Sequence[Explored], axis: str, figure: str, word: str, left: float) -> list[str]:
    """One panel: values of `axis` at equal distances, a line for each combination of the others."""
    places = {value: number for number, value in enumerate(sorted({row.settings[axis] for row in rows}))}
    most = max(getattr(row, figure) for row in rows) or 1.0
    lines: dict[tuple[tuple[str, int], ...], list[Explored]] = {}
    for row in rows:
        lines.setdefault(tuple((name, value) for name, value in row.settings.items() if name != axis), []).append(row)

    def at(row: Explored) -> tuple[float, float]:
        across = places[row.settings[axis]] / max(len(places) - 1, 1)
        return round(left + 10 + across * (WIDTH - 20), 1), round(MARGIN + HEIGHT * (1 - getattr(row, figure) / most), 1)

    bottom = MARGIN + HEIGHT
    parts = [f'<rect x="{left}" y="{MARGIN}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#bbb"/>',
             f'<text x="{left}" y="{MARGIN - 8}">{word}, up to {most:,.6g}</text>',
             f'<text x="{left + WIDTH / 2}" y="{bottom + 34}" text-anchor="middle">{escape(axis)}</text>']
    for value, place in places.items():
        x = round(left + 10 + place / max(len(places) - 1, 1) * (WIDTH - 20), 1)
        parts.append(f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{value:,}</text>')
    for number, (others, along) in enumerate(sorted(lines.items())):
        colour = COLOURS[number % len(COLOURS)]
        told = ", ".join(f"{name}={value:,}" for name, value in others)
        points = [at(row) for row in sorted(along, key=lambda row: row.settings[axis])]
        parts.append(f'<polyline points="{" ".join(f"{x},{y}" for x, y in points)}" fill="none" stroke="{colour}"/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"><title>{escape(told)} {getattr(row, figure):,.6g}</title>'
                  "</circle>" for (x, y), row in zip(points, sorted(along, key=lambda row: row.settings[axis]), strict=True)]
        if told and number < len(COLOURS):
            parts.append(f'<text x="{left + WIDTH - 6}" y="{MARGIN + 14 + 13 * number}" text-anchor="end" fill="{colour}">'
                         f"{escape(told)}</text>")
    return parts


def save_picture(rows: Sequence[Explored], path: str | Path, title: str = "") -> Path:
    """Write `picture` to a file. Raises `TransloadError` where that cannot be written, or no SVG file is called so."""
    need_svg(Path(path))
    with atomic_path(path) as file:
        file.write_text(picture(rows, title), encoding="utf-8", errors="backslashreplace")
    return Path(path)
