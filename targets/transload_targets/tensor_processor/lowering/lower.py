"""The pass `lower-to-tpu`: ops of the hub that a chip can compute become `tpu`, the others stay, and a note says why."""

from __future__ import annotations

from transload.errors import Finding, merge_findings
from transload.ir import Module, update_function_types
from transload.plugin_host import host
from transload.rewrite import RewriteTable, Rewriting

from ..chip import load_chip
from . import TABLE

__all__ = ["lower_to_tpu"]


def lower_to_tpu(module: Module, chip: str = "tp-large") -> bool:
    """Lower what `chip` can compute, in place; whether anything changed.

    `chip` is the name of a chip, or a path of a `.toml` file. What stays on the host, and why, is noted on the module. Layouts
    have to be NCHW (the pass `layout{to=NCHW}`), and functions inlined.
    """
    described, table = load_chip(chip), _table_for(module)
    before = sum(op.dialect == "top" for op in module.walk())
    rewriting = Rewriting(module, table, "top", fold=False, options={"chip": described})
    findings = rewriting.rewrite(module)
    update_function_types(module)
    notes = tuple(_note(described.name, finding) for finding in merge_findings(findings))
    module.notes = (*module.notes, *(note for note in notes if note not in module.notes))
    return sum(op.dialect == "top" for op in module.walk()) != before


def _table_for(module: Module) -> RewriteTable:
    """Our rewrites, behind those that plugins give of the ops of a module (facts of kind "tpu-lowering")."""
    given, added = host().facts("tpu-lowering"), RewriteTable()
    for name in {op.name for op in module.walk()}:
        if given[name]:
            added.functions[name] = list(given[name])
    return added + TABLE


def _note(chip: str, finding: Finding) -> str:
    """What the user should know of ops that the chip leaves to the host."""
    count = f" ({finding.count} ops)" if finding.count > 1 else ""
    return f"{finding.what}{count} is not for {chip}: {finding.why}"
