"""A placement as a picture: time from left to right, offsets upwards, a rectangle a buffer."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from html import escape
from pathlib import Path

import numpy as np

from ..errors import UsageError
from ..files import atomic_path, need_svg
from .buffers import shown
from .planning import Plan

__all__ = ["picture", "save_picture"]

WIDTH, HEIGHT, MARGIN = 960, 480, 56
SHOWN = 20_000
"""Rectangles that are drawn, the biggest; more would be no picture."""
LONGEST = 120
"""Characters of a name that are shown where the pointer rests on its buffer."""


def picture(plan: Plan, title: str = "") -> str:
    """The arena of a plan as SVG text, which needs nothing else.

    Each buffer is a rectangle with its name, steps, offset and size where the pointer rests on it; the line is what is alive
    at each step, and the dashed line the lower bound. Names are escaped.
    """
    if not isinstance(plan, Plan):
        raise UsageError(
            f"a picture is made of a plan, and not of type {type(plan).__name__}", hint="memory.plan(buffers) gives one")
    problem, profile = plan.problem, plan.profile
    offsets = plan.by_group[problem.group]
    alive = np.flatnonzero(problem.size > 0)
    first = int(problem.start[alive].min()) if len(alive) else 0
    steps = max(int(problem.end[alive].max()) - first, 1) if len(alive) else 1
    room = max(plan.peak, plan.capacity or 0, 1)

    def x(step: float) -> float:
        return round(MARGIN + (step - first) / steps * WIDTH, 2)

    def y(offset: float) -> float:
        return round(MARGIN / 2 + HEIGHT - offset / room * HEIGHT, 2)

    area = (problem.end[alive] - problem.start[alive]).astype(float) * problem.size[alive]
    drawn = np.sort(alive[np.argsort(-area, kind="stable")[:SHOWN]])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 2 * MARGIN} {HEIGHT + 2 * MARGIN}" '
        'font-family="sans-serif" font-size="11">',
        f"<title>{_text(title or 'Memory')}</title>",
        f'<rect x="{MARGIN}" y="{y(room)}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/>']
    for each in drawn.tolist():
        start, end, low, size = (int(array[each]) for array in (problem.start, problem.end, offsets, problem.size))
        parts.append(
            f'<rect x="{x(start)}" y="{y(low + size)}" width="{round(x(end) - x(start), 2)}" '
            f'height="{round(y(low) - y(low + size), 2)}" fill="{_colour(each)}" stroke="#fff" stroke-width="0.5">'
            f"<title>{_text(problem.names[each])}\n"
            f"steps {start} until before {end}, offset {low:,}, {size:,} bytes</title></rect>")
    parts.append(_outline(profile.steps.tolist(), profile.load.tolist(), x, y))
    for level, word, dash in ((plan.bound.bytes, "lower bound", "6 4"), (plan.capacity, "capacity", "2 3")):
        if level is not None:
            parts.append(f'<line x1="{MARGIN}" x2="{MARGIN + WIDTH}" y1="{y(level)}" y2="{y(level)}" stroke="#c00" '
                         f'stroke-dasharray="{dash}"><title>{word}: {level:,} bytes</title></line>')
    parts += [
        f'<text x="{MARGIN - 4}" y="{y(0)}" text-anchor="end">0</text>',
        f'<text x="{MARGIN - 4}" y="{y(room) + 4}" text-anchor="end">{room:,}</text>',
        f'<text x="{MARGIN}" y="{y(0) + 16}">step {first}</text>',
        f'<text x="{MARGIN + WIDTH}" y="{y(0) + 16}" text-anchor="end">step {first + steps}</text>',
        f'<text x="{MARGIN}" y="{y(0) + 36}">{_text(f"{title}: {plan}" if title else str(plan))}</text>', "</svg>"]
    return "\n".join(parts) + "\n"


def save_picture(plan: Plan, path: str | Path, title: str = "") -> Path:
    """Write `picture` to a file. Raises `TransloadError` where that cannot be written, or no SVG file is called so."""
    need_svg(Path(path))
    with atomic_path(path) as made:
        made.write_text(picture(plan, title), encoding="utf-8", errors="backslashreplace")
    return Path(path)


def _outline(steps: Sequence[int], load: Sequence[int], x: Callable[[float], float], y: Callable[[float], float]) -> str:
    """What is alive at each step, as a line."""
    points = [f"{x(step)},{y(height)}" for place, (step, after) in enumerate(zip(steps, load, strict=True))
              for height in (load[place - 1] if place else 0, after)]
    return f'<polyline points="{" ".join(points)}" fill="none" stroke="#000" stroke-width="1"/>'


def _colour(number: int) -> str:
    """Colours of which neighbours differ: hues a golden section apart."""
    return f"hsl({round(number * 137.508 % 360)} 55% 65%)"


def _text(thing: Hashable) -> str:
    """A name as text of XML: cut where it is long, and without the control characters that XML has no form for."""
    text = shown(thing)
    text = text if len(text) <= LONGEST else f"{text[:LONGEST // 2]}…{text[-LONGEST // 2:]}"
    return escape("".join(each if each.isprintable() else "�" for each in text))
