"""The page of targets: a table of models and targets, and behind it what is refused and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["write_page"]

BEGIN, END = "<!-- measured: python benchmarks/targets.py --page docs/targets.md -->", "<!-- /measured -->"
SHOWN = {"passed": "right", "failed": "**fails**", "refused": "–", "ended": "**ended**", "inconclusive": "?",
         "skipped": "not judged"}
MARKS = {"of the source's own file": "¹", "last bits moved": "²", "judged by": "³"}
"""What notes say of how a cell was judged, and how that is marked."""
FAILS_ANYHOW = "; with --option "
"""What the reason of a refusal says where the option that it names was tried, and verification failed with it."""
TAKEN = ("passed", "failed", "inconclusive", "skipped")
"""Verdicts of models that a target takes."""
Rows = Mapping[str, Mapping[str, Mapping[str, Any]]]


def write_page(page: Path, rows: Rows, targets: Sequence[str]) -> None:
    """Put the tables between the page's marks."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{tables(rows, targets)}\n\n{END}{after}", encoding="utf-8")


def tables(rows: Rows, targets: Sequence[str]) -> str:
    there = [name for name in targets if any(cell.get("verdict") not in (None, "absent") for row in rows.values()
                                             for key, cell in row.items() if key == name)]
    lines = ["| model | own ms | " + " | ".join(f"`{name}`" for name in there) + " |", "|---" * (len(there) + 2) + "|"]
    for model, row in rows.items():
        own = min((cell["own_ms"] for cell in row.values() if "own_ms" in cell), default=None)
        shown = [cell_text(row.get(name)) for name in there]
        lines.append(f"| {named(model)} | {number(own)} | " + " | ".join(shown) + " |")
    before = [*totals(rows, there), "", *shares(rows, there), ""]
    return "\n".join([*before, *lines, "", "**Refused, and why**", "", *refusals(rows, there)])


def named(model: str) -> str:
    return model if model.startswith("tensorflow:") else "/".join(model.split("/")[:2])


def cell_text(cell: Mapping[str, Any] | None) -> str:
    """`right, = bits, 0.25 ms, 53 KiB`: what a cell says in a line."""
    if cell is None:
        return ""
    parts = [SHOWN.get(cell["verdict"], cell["verdict"])]
    if cell["verdict"] == "failed" and cell.get("cos") is not None:
        parts[0] += f" (cos {cell['cos']:.5f})"
    if cell["verdict"] == "refused" and FAILS_ANYHOW in cell.get("why", ""):
        parts[0] += "⁴"
    if cell["verdict"] == "passed" and cell.get("integers") and cell.get("max_abs") == 0:
        parts[0] = "same bits"
    if cell["verdict"] == "passed":
        parts[0] += next((mark for said, mark in MARKS.items() if any(said in note for note in cell.get("notes", ()))), "")
    if "ms" in cell:
        parts.append(f"{number(cell['ms'])} ms")
    if cell.get("bytes") and cell["verdict"] not in ("refused", "ended"):
        parts.append(f"{number(cell['bytes'] / 1024)} KiB")
    return ", ".join(parts)


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def totals(rows: Rows, targets: Sequence[str]) -> list[str]:
    lines = ["| target | right | of these, integers with the same bits | fails | not judged | refused |"
             " of these, fails with the option ⁴ |", "|---" * 7 + "|"]
    for name in targets:
        cells = [row[name] for row in rows.values() if name in row]
        counts = Counter(cell["verdict"] for cell in cells)
        whole = [cell for cell in cells if cell["verdict"] == "passed" and cell.get("integers")]
        exact = sum(cell.get("max_abs") == 0 for cell in whole)
        open_ = counts["inconclusive"] + counts["skipped"]
        marked = sum(any(said in note for said in MARKS for note in cell.get("notes", ())) for cell in cells
                     if cell["verdict"] == "passed")
        beside = f", {marked} by ¹ ² ³" if marked else ""
        shown = [f"`{name}`", f"{counts['passed']} of {len(cells)}{beside}", f"{exact} of {len(whole)}", counts["failed"], open_,
                 counts["refused"] + counts["ended"], sum(FAILS_ANYHOW in cell.get("why", "") for cell in cells)]
        lines.append(f"| {' | '.join(map(str, shown))} |")
    return lines


def shares(rows: Rows, targets: Sequence[str]) -> list[str]:
    """Of the models that reach the hub, those that each target takes and whose results are right, as sentences."""
    reached = [row for row in rows.values() if any(cell.get("verdict") in TAKEN for cell in row.values())]
    found = []
    for name in targets:
        cells = [row[name] for row in reached if name in row]
        right = sum(cell["verdict"] == "passed" for cell in cells)
        if cells:
            share = f"`{name}` {100 * right / len(cells):.1f} %"
            found.append(share if len(cells) == len(reached) else f"{share} of {len(cells)}")
    return [f"Of the {len(reached)} models that reach the hub (some target takes them), right: {', '.join(found)}."]


def refusals(rows: Rows, targets: Sequence[str]) -> list[str]:
    """By target and reason, the models."""
    lines = ["| target | why | models |", "|---|---|---|"]
    for name in targets:
        reasons: dict[str, list[str]] = {}
        for model, row in rows.items():
            cell = row.get(name, {})
            if cell.get("verdict") in ("refused", "ended", "failed"):
                reasons.setdefault(str(cell.get("why", "")), []).append(named(model))
        lines += [f"| `{name}` | {_plain(why)} | {', '.join(these)} |" for why, these in reasons.items()]
    return lines


def _plain(why: str) -> str:
    """A reason in a cell of a table: its beginning, and what an option came to."""
    said, mark, tried = why.partition(FAILS_ANYHOW)
    return f"{said[:300]}{mark}{tried[:200]}".replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
