"""Writes the reference pages (`docs/reference/`) from what is registered: ops, library, passes, targets, coverage.

Run by `make docs`. The pages are not committed: they are what the installed code says of itself.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from api_pages import write_library
from command_pages import write_commands
from op_pages import write_dialect
from tables import table

from transload.cli.listings import type_text
from transload.conversion import options_of
from transload.coverage_report import coverage, evidence, verdict
from transload.plugin_host import host

HERE = Path(__file__).resolve().parent / "reference"
DIALECTS = {
    "top": "The hub dialect", "tosa": "TOSA", "tfl": "TensorFlow Lite", "onnx": "ONNX", "tf": "TensorFlow",
    "caffe": "Caffe",
    "aten": "PyTorch (ATen)", "stablehlo": "StableHLO"}
FRAMEWORKS = ("tfl", "onnx", "tf", "aten", "caffe")
MEASURED = {
    "tflite_coverage": ("tfl", "tosa", "TensorFlow Lite to TOSA, measured"),
    "onnx_coverage": ("onnx", "tosa", "ONNX to TOSA, measured"),
    "aten_coverage": ("aten", "tosa", "PyTorch to TOSA, measured"),
    "tf_coverage": ("tf", "tosa", "TensorFlow to TOSA, measured"),
    "caffe_coverage": ("caffe", "tosa", "Caffe to TOSA, measured"),
}
"""Pages of what tests measured of a way: file -> source dialect, target, title."""


def main() -> None:
    HERE.mkdir(exist_ok=True)
    for name, title in DIALECTS.items():
        write_dialect(HERE, name, title)
    write_library(HERE)
    write_commands(HERE)
    (HERE / "passes.md").write_text(passes_page(), encoding="utf-8")
    (HERE / "targets.md").write_text(targets_page(), encoding="utf-8")
    (HERE / "coverage.md").write_text(coverage_page(), encoding="utf-8")
    for name, (source, target, title) in MEASURED.items():
        (HERE / f"{name}.md").write_text(measured_page(source, target, title), encoding="utf-8")


def passes_page() -> str:
    passes = [
        [f"`{p.name}`", ", ".join(f"`{k}={o.default}`" for k, o in p.options().items()), p.doc] for p in host().passes.values()
    ]
    own = [c for c in host().conversions.values() if c.extends is None]
    conversions = [[f"`{c.name}`", c.source, c.target, c.doc] for c in own]
    around = [[f"`{c.name}`", _pipeline(c.before), _pipeline(c.after)] for c in own]
    options = [
        [f"`{c.name}.{key}`", type_text(kind), f"`{default}`", doc]
        for c in own for key, (kind, default, doc) in options_of(c).items()]
    return (
        "# Passes and conversions\n\nA pipeline is text: `canonicalize,layout{to=NHWC}`. Conversions can stand in it by name.\n\n"
        f"## Passes\n\n{table(['pass', 'options', 'what it does'], passes)}\n"
        f"## Conversions\n\nA route from one dialect to another is the shortest path over these.\n\n"
        f"{table(['conversion', 'from', 'to', ''], conversions)}\n"
        f"## What runs around the rewrites\n\n`transload convert MODEL --show-pipeline` prints all that runs for a model.\n\n"
        f"{table(['conversion', 'passes before', 'passes after'], around)}\n"
        f"## Options of conversions\n\n`--option KEY=VALUE`, or `OWNER.KEY=VALUE` as here.\n\n"
        f"{table(['option', 'may be', 'default', 'what it chooses'], options)}"
    )


def _pipeline(text: str) -> str:
    """The passes of a pipeline as they are declared, `$name` standing for an option's value."""
    return " ".join(f"`{step}`" for step in re.findall(r"[\w.-]+(?:\{[^}]*\})?", text))


def targets_page() -> str:
    parts = ["# Targets\n"]
    for name, target in host().targets.items():
        parts.append(f"## `{name}`\n\n{target.doc}\n\nTakes {', '.join(f'`{d}`' for d in target.accepts)}.\n")
        rows = [[f"`{key}`", type_text(kind), default, doc] for key, (kind, default, doc) in target.options().items()]
        if rows:
            parts.append(table(["option", "type", "default", ""], rows))
    return "\n".join(parts)


def coverage_page() -> str:
    parts = [
        "# Coverage\n\nOps of each framework that have a way to the hub, and how many of them each target takes. What a chip "
        "takes was asked of its own check, for each case that was measured; what was not measured counts as its dialect "
        "can say it.\n",
        table(["", *(f"`{source}`" for source in FRAMEWORKS)], [
            [f"`{target}`", *(_covered(coverage(source, target)) for source in FRAMEWORKS)]
            for target in ("top", *host().targets)])]
    for name in FRAMEWORKS:
        rows = coverage(name, "top")
        parts.append(f"## `{name}`: {_covered(rows)}\n")
        cells = [[f"`{row['op']}`", "yes" if row["covered"] else "no", row["why"]] for row in rows]
        parts.append(table(["op", "covered", "why not"], cells))
    return "\n".join(parts)


def _covered(rows: list[dict[str, Any]]) -> str:
    return f"{sum(row['covered'] for row in rows)} of {len(rows)}"


def measured_page(source: str, target: str, title: str) -> str:
    """Op by op and number format by number format how near the results are, and what is not converted and why."""
    record, rows = evidence(source, target), coverage(source, target)
    formats = [name for name in record["formats"] if any(row["evidence"].get(name, {}).get("cases") for row in rows)]
    done = [row for row in rows if row["covered"]]
    cases = sum(cell["cases"] for row in rows for cell in row["evidence"].values())
    cells = [
        [f"`{row['op']}`", *(verdict(row["evidence"][name]) if name in row["evidence"] else "" for name in formats)]
        for row in done
    ]
    notes = [
        [f"`{row['op']}`", name, verdict(cell) if cell["cases"] else "no case", ". ".join(filter(None, [
            cell.get("why", ""), f"Judge: {cell['judge']}" if "judge" in cell else ""]))]
        for row in done for name, cell in row["evidence"].items()
        if (cell.get("why") or "judge" in cell) and (cell["cases"] or cell["why"] != NO_KERNEL)
    ]
    parts = [
        f"# {title}\n",
        f"{record['judge']}\n",
        f"{len(done)} of {len(rows)} ops convert; {cases} cases were run. **exact**: the same bits (integers), the same numbers "
        "(floats). **within 1**: of integers at most one step apart. A number: the greatest relative difference of floats. "
        "**-**: nothing was measured, as is said below, or because the judge has no kernel. Empty: there is no such case.\n",
        table(["format", "what it is"], [[f"`{name}`", record["formats"][name]] for name in formats]),
        "## Op by op\n",
        table(["op", *(f"`{name}`" for name in formats)], cells),
        "## Not to the bit, and why\n",
        table(["op", "format", "", "why"], notes),
        "## Not converted, and why\n",
        table(["op", "why"], [[f"`{row['op']}`", row["why"]] for row in rows if not row["covered"]]),
    ]
    return "\n".join(parts)


NO_KERNEL = "LiteRT has no kernel for it"

if __name__ == "__main__":
    main()
