"""Writes the reference pages (`docs/reference/`) from what is registered: ops, passes, targets, coverage.

Run by `make docs`. The pages are not committed: they are what the installed code says of itself.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import transload
from transload.cli.listings import describe, type_text
from transload.coverage_report import coverage
from transload.ir import registry
from transload.plugin_host import host

HERE = Path(__file__).resolve().parent / "reference"
DIALECTS = {"top": "The hub dialect", "tosa": "TOSA", "tfl": "TensorFlow Lite", "onnx": "ONNX", "stablehlo": "StableHLO"}


def main() -> None:
    HERE.mkdir(exist_ok=True)
    for name, title in DIALECTS.items():
        (HERE / f"{name}.md").write_text(dialect_page(name, title), encoding="utf-8")
    (HERE / "passes.md").write_text(passes_page(), encoding="utf-8")
    (HERE / "targets.md").write_text(targets_page(), encoding="utf-8")
    (HERE / "library.md").write_text(library_page(), encoding="utf-8")
    (HERE / "coverage.md").write_text(coverage_page(), encoding="utf-8")


def cell(text: object) -> str:
    """Text that can stand in a table's cell."""
    return str(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def table(columns: list[str], rows: list[list[object]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(map(cell, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def dialect_page(name: str, title: str) -> str:
    dialect = registry.dialect(name)
    parts = [f"# {title}: `{name}`\n", f"{dialect.doc}\n", f"{len(dialect.ops)} ops.\n"]
    for op_name in sorted(dialect.ops):
        op = describe(dialect.ops[op_name])
        parts.append(f"## `{op_name}`\n\n{op['doc']}\n")
        values = [
            [f"`{s['name']}`", part[:-1], s["kind"], s["type"], s["doc"]] for part in ("operands", "results") for s in op[part]
        ]
        if values:
            parts.append(table(["value", "", "", "type", ""], values))
        if op["attributes"]:
            parts.append(
                table(
                    ["attribute", "type", "default", ""],
                    [[f"`{a['name']}`", a["type"], a["default"], a["doc"]] for a in op["attributes"]],
                )
            )
        parts += [f"- {text}\n" for text in op["constraints"]]
        facts = [*op["traits"], *(["executes in the reference engine"] if op["has_kernel"] else [])]
        if facts:
            parts.append(f"*{', '.join(facts)}*\n")
    return "\n".join(parts)


def passes_page() -> str:
    passes = [
        [f"`{p.name}`", ", ".join(f"`{k}={o.default}`" for k, o in p.options().items()), p.doc] for p in host().passes.values()
    ]
    conversions = [[f"`{c.name}`", c.source, c.target, c.doc] for c in host().conversions.values() if c.extends is None]
    return (
        "# Passes and conversions\n\nA pipeline is text: `canonicalize,layout{to=NHWC}`. Conversions can stand in it by name.\n\n"
        f"## Passes\n\n{table(['pass', 'options', 'what it does'], passes)}\n"
        f"## Conversions\n\nA route from one dialect to another is the shortest path over these.\n\n"
        f"{table(['conversion', 'from', 'to', ''], conversions)}"
    )


def targets_page() -> str:
    parts = ["# Targets\n"]
    for name, target in host().targets.items():
        parts.append(f"## `{name}`\n\n{target.doc}\n\nTakes {', '.join(f'`{d}`' for d in target.accepts)}.\n")
        rows = [[f"`{key}`", type_text(kind), default, doc] for key, (kind, default, doc) in target.options().items()]
        if rows:
            parts.append(table(["option", "type", "default", ""], rows))
    return "\n".join(parts)


def library_page() -> str:
    parts = ["# Library\n\n`import transload` gives:\n"]
    for name in ("load", "save", "legalize", "lower", "run", "convert", "compare", "coverage"):
        function = getattr(transload, name)
        parts.append(
            f"## `transload.{name}`\n\n```python\n{name}{inspect.signature(function)}\n```\n\n{inspect.getdoc(function)}\n"
        )
    return "\n".join(parts)


def coverage_page() -> str:
    parts = ["# Coverage\n\nOps of each framework that have a way to the hub, and from there to every target.\n"]
    for name in ("tfl", "onnx"):
        rows = coverage(name, "top")
        done = sum(row["covered"] for row in rows)
        parts.append(f"## `{name}`: {done} of {len(rows)}\n")
        cells = [[f"`{row['op']}`", "yes" if row["covered"] else "no", row["why"]] for row in rows]
        parts.append(table(["op", "covered", "why not"], cells))
    return "\n".join(parts)


if __name__ == "__main__":
    main()
