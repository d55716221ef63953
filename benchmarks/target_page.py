"""The page of targets: a table of models and targets, and behind it what is refused and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
STATE = re.compile(r"Measured on commit ([^:]+): ([^.]+)\.")
SHARE = re.compile(r"`([^`]+)` ([0-9.]+ %(?: of [0-9]+)?)")
Rows = Mapping[str, Mapping[str, Mapping[str, Any]]]


def write_page(page: Path, rows: Rows, targets: Sequence[str]) -> None:
    """Put the tables between the page's marks; a target that is not measured on every model there keeps what the page says."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    held, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{tables(rows, targets, Held.of(held))}\n\n{END}{after}", encoding="utf-8")


@dataclass
class Held:
    """What a page says: by target its totals, refusals, share and commit, and by model and target the cell."""

    totals: dict[str, str] = field(default_factory=dict)
    cells: dict[str, dict[str, str]] = field(default_factory=dict)
    refusals: dict[str, list[str]] = field(default_factory=dict)
    shares: dict[str, str] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Held:
        found, names = cls(), list[str]()
        for line in text.splitlines():
            parts = [part.strip() for part in line.removeprefix("|").removesuffix("|").split(" | ")]
            if line.startswith("| model |"):
                names = [part.strip("`") for part in parts[1:]]
            elif line.startswith("| `") and names:
                found.refusals.setdefault(parts[0].strip("`"), []).append(line)
            elif line.startswith("| `"):
                found.totals[parts[0].strip("`")] = line + " |" * (8 - line.count("|"))
            elif line.startswith("| ") and parts[0] != "target" and len(parts) == len(names) + 1:
                found.cells[parts[0]] = dict(zip(names, parts[1:], strict=True))
            elif line.startswith("Of the "):
                found.shares = dict(SHARE.findall(line))
            elif line.startswith("Measured on "):
                found.states = {name.strip("`"): state for state, names in STATE.findall(line) for name in names.split(", ")}
        return found


def tables(rows: Rows, targets: Sequence[str], held: Held) -> str:
    models = list(dict.fromkeys([*map(named, rows), *held.cells]))
    known = {named(model): row for model, row in rows.items()}
    new = [name for name in targets if any(name in row for row in rows.values())
           and all(name in known.get(model, {}) for model in models)
           and any(row.get(name, {}).get("verdict") not in (None, "absent") for row in rows.values())]
    there = [name for name in targets if name in new or name in held.totals]
    lines = ["| model | own ms | " + " | ".join(f"`{name}`" for name in there) + " |", "|---" * (len(there) + 2) + "|"]
    for model in models:
        own = min((cell["own_ms"] for cell in known.get(model, {}).values() if "own_ms" in cell), default=None)
        before = held.cells.get(model, dict[str, str]())
        shown = [cell_text(known[model].get(name)) if name in new else before.get(name, "") for name in there]
        lines.append(f"| {model} | {number(own) or before.get('own ms', '')} | " + " | ".join(shown) + " |")
    fresh = dict(zip(new, totals(rows, new)[2:], strict=True))
    counted = [*totals(rows, ())[:2], *(fresh.get(name) or held.totals[name] for name in there)]
    reasons = [line for name in there for line in (refusals(rows, [name])[2:] if name in new else held.refusals.get(name, ()))]
    right = shares(rows, new, there, held)
    return "\n".join([*counted, "", *right, "", *commits(rows, new, there, held.states), *lines, "", "**Refused, and why**", "",
                      *refusals({}, ()), *reasons])


def commits(rows: Rows, new: Sequence[str], there: Sequence[str], held: Mapping[str, str]) -> list[str]:
    """Of which state of Transload the columns are, as sentences; of those that are not measured as `held`."""
    found: dict[str, list[str]] = {}
    for name in new:
        states = sorted({str(row[name].get("commit", "an unknown one")) for row in rows.values() if name in row})
        found.setdefault(" and ".join(states), []).append(f"`{name}`")
    for name in there:
        if name not in new and name in held:
            found.setdefault(held[name], []).append(f"`{name}`")
    told = [f"Measured on commit {states}: {', '.join(names)}." for states, names in found.items()]
    if rest := [f"`{name}`" for name in there if name not in new and name not in held]:
        told.append(f"Measured on commits before that, not all on one: {', '.join(rest)}.")
    return [" ".join(told), ""] if told else []


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


def shares(rows: Rows, targets: Sequence[str], there: Sequence[str], held: Held) -> list[str]:
    """Of the models that reach the hub, those that each target takes and whose results are right; of other targets as `held`."""
    kept = [name for name in there if name not in targets]
    reached = [row for model, row in rows.items() if any(cell.get("verdict") in TAKEN for cell in row.values())
               or any(_takes(held.cells.get(named(model), {}).get(name, "")) for name in kept)]
    found = {name: held.shares.get(name, "") for name in there}
    for name in targets:
        cells = [row[name] for row in reached if name in row]
        right = sum(cell["verdict"] == "passed" for cell in cells)
        found[name] = f"{100 * right / max(len(cells), 1):.1f} %" + ("" if len(cells) == len(reached) else f" of {len(cells)}")
    said = ", ".join(f"`{name}` {share}" for name, share in found.items() if share)
    return [f"Of the {len(reached)} models that reach the hub (some target takes them), right: {said}."]


def _takes(text: str) -> bool:
    """Whether the text of a cell is that of a model which the target takes."""
    return bool(text) and not text.startswith((SHOWN["refused"], SHOWN["ended"]))


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
