"""The roofline of a chip with the layers or groups of a program: how fast each is, over how much it computes for what it moves.

Both axes are in terms of the chip: of 1 upwards is how fast computing with all lanes full is; along the other, 1 is where moving
takes as long as computing with full lanes. So the roof rises to (1, 1) and is level from there.

Source: S. Williams, A. Waterman, D. Patterson, "Roofline: An Insightful Visual Performance Model", CACM 2009.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from math import log10
from pathlib import Path
from typing import Any

from transload.files import atomic_path, need_svg

from ..chip import Chip

__all__ = ["point", "roofline_picture", "save_roofline"]

SIZE, MARGIN = 420, 60
DECADES = 4
"""Powers of ten along the axis, and half as many upwards."""


def point(row: Mapping[str, Any], chip: Chip) -> tuple[float, float] | None:
    """Where a layer or group lies: its intensity, and the part of the chip's speed that it reaches; None where it computes
    nothing.
    """
    if not row["ideal"] or not row["compute"]:
        return None
    moving = row["bytes"] / chip.dma_bytes
    return row["ideal"] / moving if moving else 10.0 ** DECADES, row["ideal"] / max(row["compute"], row["move"])


def roofline_picture(rows: Iterable[Mapping[str, Any]], chip: Chip, title: str = "") -> str:
    """The picture, as SVG text: a dot a row of `tables.layers` or `tables.groups`, which tells itself at the pointer."""

    def x(value: float) -> float:
        return round(MARGIN + SIZE * min(max(log10(value) / DECADES + 0.5, 0.0), 1.0), 1)

    def y(value: float) -> float:
        return round(MARGIN - SIZE * max(log10(value) / (DECADES / 2), -1.0), 1)

    left, right, floor = 10.0 ** (-DECADES / 2), 10.0 ** (DECADES / 2), 10.0 ** (-DECADES / 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE + 2 * MARGIN} {SIZE + 2 * MARGIN}" '
        'font-family="sans-serif" font-size="11">',
        f'<text x="{MARGIN}" y="{MARGIN / 2}" font-size="13">{escape(title)}</text>',
        f'<polyline points="{x(left)},{y(left)} {x(1)},{y(1)} {x(right)},{y(1)}" fill="none" stroke="#c23030"/>',
        f'<polyline points="{x(left)},{y(1)} {x(left)},{y(floor)} {x(right)},{y(floor)}" fill="none" stroke="#888"/>',
        f'<text x="{x(1)}" y="{y(floor) + 30}" text-anchor="middle">cycles of computing with full lanes for each of moving'
        "</text>",
        f'<text x="{MARGIN - 6}" y="{y(1) + 4}" text-anchor="end">1</text>',
        f'<text x="{MARGIN - 6}" y="{y(floor)}" text-anchor="end">{floor:g}</text>']
    parts += [f'<text x="{x(10.0 ** power)}" y="{y(floor) + 14}" text-anchor="middle">{10.0 ** power:g}</text>'
              for power in range(-DECADES // 2, DECADES // 2 + 1)]
    for row in rows:
        place = point(row, chip)
        if place is not None:
            told = f"{row['name']}\n{place[1]:.1%} of the speed of full lanes, {row['compute']:,.0f} cycles computing, " \
                   f"{row['move']:,.0f} moving {row['bytes']:,} bytes"
            colour = "#d9822b" if row["bound"] == "compute" else "#4a86c5"
            parts.append(f'<circle cx="{x(place[0])}" cy="{y(place[1])}" r="4" fill="{colour}" fill-opacity="0.7">'
                         f"<title>{escape(''.join(each if each.isprintable() or each == chr(10) else '�' for each in told))}"
                         "</title></circle>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def save_roofline(rows: Iterable[Mapping[str, Any]], chip: Chip, path: str | Path, title: str = "") -> Path:
    """Write `roofline_picture` to a file. Raises `TransloadError` where that cannot be written, or no SVG file is called so."""
    need_svg(Path(path))
    with atomic_path(path) as file:
        file.write_text(roofline_picture(rows, chip, title), encoding="utf-8", errors="backslashreplace")
    return Path(path)
