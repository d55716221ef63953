"""The pass `lower-to-tpu`: ops of the hub that a chip can compute become `tpu`, the others stay, and a note says why."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from transload.errors import Finding, Unsupported, merge_findings
from transload.ir import Module, Op, Value, update_function_types
from transload.plugin_host import host
from transload.rewrite import Rewriter, RewriteTable, Rewriting

from ..chip import Chip, load_chip
from . import TABLE
from .common import chip_of, quantized

__all__ = ["left_to_host", "lower_to_tpu"]

_TABLE = "one tensor of integers of 8 or 16 bits with one scale, beside numbers"
"""What a chip looks up in a table, in messages."""


def lower_to_tpu(module: Module, chip: str = "tp-large") -> bool:
    """Lower what `chip` can compute, in place; whether anything changed.

    `chip` is the name of a chip, or a path of a `.toml` file. What stays on the host, and why, is noted on the module. Layouts
    have to be NCHW (the pass `layout{to=NCHW}`), and functions inlined.
    """
    described = load_chip(chip)
    before = sum(op.dialect == "top" for op in module.walk())
    findings = _lower(module, described)
    notes = tuple(_note(described.name, finding) for finding in findings)
    module.notes = (*module.notes, *(note for note in notes if note not in module.notes))
    return sum(op.dialect == "top" for op in module.walk()) != before


def left_to_host(module: Module, chip: Chip) -> list[Finding]:
    """Why ops of a module stay on the host. The module is unchanged."""
    return _lower(module.clone(), chip)


def _lower(module: Module, chip: Chip) -> list[Finding]:
    """Lower what a chip can compute, in place; why it cannot compute the rest."""
    findings = Rewriting(module, _table_for(module), "top", fold=False, options={"chip": chip}).rewrite(module)
    update_function_types(module)
    return merge_findings(findings)


def _table_for(module: Module) -> RewriteTable:
    """Our rewrites, behind those that plugins give of the ops of a module (facts of kind "tpu-lowering")."""
    given, added = host().facts("tpu-lowering"), RewriteTable()
    for name in {op.name for op in module.walk()}:
        if given[name]:
            added.functions[name] = list(given[name])
    table = added + TABLE
    table("top.*")(partial(_absent, table.functions.keys()))  # behind all others
    return table


def _absent(known: Collection[str], op: Op, rw: Rewriter) -> None:
    """Refuse what nothing before took: a chip has no such op, has it as a table alone, or, of those `known`, in other forms."""
    chip, kind = chip_of(rw), op.name.removeprefix("top.")
    has_table = op.declaration is not None and "elementwise" in op.declaration.traits and "table" in chip.operations
    if op.name in known:
        also = f"; of integers it takes {_TABLE}" if has_table and any(value.quant is not None for value in op.operands) else ""
        raise Unsupported(f"{chip.name} has {kind}, and none of its forms takes {_types_of(op)}{also}")
    raise Unsupported(f"{chip.name} has {kind} as a table alone, of {_TABLE}" if has_table else f"{chip.name} has no {kind}")


def _types_of(op: Op) -> str:
    """The types of an op's elements, and what scales they have: what a form is chosen by."""
    operands, results = (", ".join(map(_type_of, values)) for values in (op.operands, op.results))
    return f"{operands} to {results}"


def _type_of(value: Value) -> str:
    type_ = value.quant
    if type_ is None:
        return str(value.element_or_none or value.type)
    scales = "one scale" if quantized(value) is not None else "a scale for each channel or block"
    return f"{type_.storage} with {scales}"


def _note(chip: str, finding: Finding) -> str:
    """What the user should know of ops that the chip leaves to the host."""
    count = f" ({finding.count} ops)" if finding.count > 1 else ""
    return f"{finding.what}{count} is not for {chip}: {finding.why}"
