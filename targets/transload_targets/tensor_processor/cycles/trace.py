"""A program in time as a trace for Perfetto (https://ui.perfetto.dev), and as a picture.

The trace is in the Trace Event Format, JSON that Perfetto opens: a process a core, a thread a queue, an event an instruction,
and what waits for what as flow arrows. Its unit of time is the microsecond; one is a cycle here, so that numbers are read as
they are.

Source: Trace Event Format (Chromium), "complete" (X), "flow" (s, f) and "metadata" (M) events.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from transload.files import atomic_path, need_svg

from ..instructions import QUEUES
from .timeline import Span, Timeline

__all__ = ["picture", "save_picture", "save_trace", "trace"]

WIDTH, HEIGHT, MARGIN = 1200, 34, 60
SHOWN = 20_000
"""Instructions that are drawn, the longest; more would be no picture."""
COLOURS = {"load": "#4a86c5", "store": "#3a9a6d", "copy": "#8a6fb5", "gather": "#b58a4a", "fill": "#999"}
COMPUTES = "#d9822b"


def trace(made: Timeline) -> dict[str, Any]:
    """The trace, as what JSON is made of."""
    events: list[dict[str, Any]] = []
    cores = sorted({span.instruction.core for span in made.spans})
    for core in cores:
        events.append({"ph": "M", "name": "process_name", "pid": core, "args": {"name": f"{made.chip.name} core {core}"}})
        events += [{"ph": "M", "name": "thread_name", "pid": core, "tid": number, "args": {"name": queue}}
                   for number, queue in enumerate(QUEUES)]
    ended = {(span.instruction.core, span.instruction.queue, span.instruction.id): span for span in made.spans}
    for number, span in enumerate(made.spans):
        one = span.instruction
        thread = QUEUES.index(one.queue)
        events.append({
            "ph": "X", "name": f"{one.operation} {one.name}".strip(), "cat": one.queue, "pid": one.core, "tid": thread,
            "ts": span.start, "dur": span.end - span.start,
            "args": {"instruction": one.label, "wait": one.wait, "bytes": span.bytes, "ideal": span.ideal}})
        before = ended.get((one.core, QUEUES[1 - thread], one.wait))
        if before is not None:
            flow = {"name": "wait", "cat": "wait", "id": number, "pid": one.core}
            events.append({"ph": "s", **flow, "tid": 1 - thread, "ts": before.end})
            events.append({"ph": "f", "bp": "e", **flow, "tid": thread, "ts": span.start})
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"chip": made.chip.name, "unit": "cycles"}}


def save_trace(made: Timeline, path: str | Path) -> Path:
    """Write the trace to a file. Raises `TransloadError` where that cannot be written."""
    with atomic_path(path) as file:
        file.write_text(json.dumps(trace(made)), encoding="utf-8")
    return Path(path)


def picture(made: Timeline, title: str = "") -> str:
    """Both queues of each core in time, as SVG text: a row a queue, a rectangle an instruction, which tells itself at the
    pointer.
    """
    cores = sorted({span.instruction.core for span in made.spans}) or [0]
    rows = {(core, queue): index for index, (core, queue) in enumerate((core, queue) for core in cores for queue in QUEUES)}
    scale = WIDTH / (made.cycles or 1.0)
    height = HEIGHT * len(rows) + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 2 * MARGIN} {height}" font-family="sans-serif" '
        'font-size="11">',
        f'<text x="{MARGIN}" y="{MARGIN / 2}">{escape(title)} {made.cycles:,.0f} cycles, {made.bytes:,} bytes moved, '
        f"{made.utilisation:.1%} of the lanes in use</text>"]
    parts += [f'<text x="{MARGIN - 6}" y="{MARGIN + HEIGHT * row + 20}" text-anchor="end">{queue}</text>'
              for (_, queue), row in rows.items()]
    for span in sorted(made.spans, key=lambda span: span.start - span.end)[:SHOWN]:
        one = span.instruction
        top = MARGIN + HEIGHT * rows[one.core, one.queue]
        parts.append(
            f'<rect x="{MARGIN + span.start * scale:.2f}" y="{top}" width="{max((span.end - span.start) * scale, 0.05):.2f}" '
            f'height="{HEIGHT - 6}" fill="{COLOURS.get(one.operation, COMPUTES)}" stroke="#fff" stroke-width="0.3">'
            f"<title>{escape(_told(span))}</title></rect>")
    parts += [
        f'<text x="{MARGIN}" y="{height - MARGIN / 2}">0</text>',
        f'<text x="{MARGIN + WIDTH}" y="{height - MARGIN / 2}" text-anchor="end">{made.cycles:,.0f}</text>', "</svg>"]
    return "\n".join(parts) + "\n"


def save_picture(made: Timeline, path: str | Path, title: str = "") -> Path:
    """Write `picture` to a file. Raises `TransloadError` where that cannot be written, or no SVG file is called so."""
    need_svg(Path(path))
    with atomic_path(path) as file:
        file.write_text(picture(made, title), encoding="utf-8", errors="backslashreplace")
    return Path(path)


def _told(span: Span) -> str:
    name = "".join(each if each.isprintable() else "�" for each in span.instruction.name)
    moved = f", {span.bytes:,} bytes" if span.bytes else ""
    return f"{span.instruction.label} {span.instruction.operation} {name}\n{span.start:,.0f} to {span.end:,.0f}{moved}"
