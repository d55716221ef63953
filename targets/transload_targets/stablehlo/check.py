"""What of a module a portable artifact of some version cannot hold: everything at once, under the names the user knows.

What came with which version is known to the bindings that write artifacts. They stop at the first op that an older
version does not have; so when a module is refused, each of its ops is tried by itself, in a function of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from transload.contents import STRUCTURE
from transload.errors import Finding, TransloadError
from transload.ir import Dense, Module, Op, Value, new_module, set_results
from transload.ir.constants import SplatData
from transload.ir.regions import captured_values
from transload.scratch import ScratchFolder

from .versions import NEWEST, write_artifact

__all__ = ["findings_of"]


def findings_of(module: Module, version: str) -> list[Finding]:
    """Everything in `module` that a portable artifact for `version` cannot hold; nothing where it can be written."""
    foreign = [_finding(op, "is no operation of StableHLO", "`transload coverage` says which conversions are there")
               for op in module.ops() if op.dialect not in ("stablehlo", *STRUCTURE)]
    if foreign:
        return foreign
    with ScratchFolder() as folder:
        path = folder / "trial.mlirbc"
        why = _refusal(_without_data(module), path, version)
        if why is None:
            return []
        found = list(_refused_ops(module, path, version))
    return found or [Finding("the module", why, hint=_HINT)]


_HINT = f"ask for a later minimum_version, or for {NEWEST}"


def _finding(op: Op, why: str, hint: str = "") -> Finding:
    return Finding(op.name, why, (op.origin,) if op.origin else (), hint)


def _refusal(module: Module, path: Path, version: str) -> str | None:
    """Why a module cannot be written, or None."""
    try:
        write_artifact(module, path, version)
    except TransloadError as error:
        said = error.message.partition(": ")[2] or error.message
        return re.sub(r"\s+", " ", said)
    return None


def _refused_ops(module: Module, path: Path, version: str) -> Iterator[Finding]:
    """The ops that cannot be written by themselves; of nested ones the innermost."""
    outcomes: dict[str, str | None] = {}

    def refused(op: Op) -> Iterator[Finding]:
        inner = [finding for region in op.regions for block in region.blocks for each in block for finding in refused(each)]
        if inner:
            yield from inner
            return
        if op.dialect in STRUCTURE or (op.declaration is not None and "terminator" in op.declaration.traits):
            return
        alone = _alone(op)
        key = _signature(op)
        if key not in outcomes:
            outcomes[key] = _refusal(alone, path, version)
        why = outcomes[key]
        if why is not None:
            yield _finding(op, f"cannot be said in StableHLO {version}: {why}", _HINT)

    for function in module.functions.values():
        yield from refused(function)


def _signature(op: Op) -> str:
    """What decides whether an op can be written: its name, attributes and types; where it has regions, the op itself."""
    types = [str(value.type) for value in (*op.operands, *op.results)]
    members = {key: value for key, value in op.attributes.items() if key != "value"}
    return f"{op.name} {members} {types}" + (f" {id(op)}" if op.regions else "")


def _without_data(module: Module) -> Module:
    """A copy whose constants hold zeros: what can be written depends on types, not on numbers."""
    copy = module.clone()
    for op in copy.walk():
        dense = op.attributes.get("value")
        if op.name == "stablehlo.constant" and isinstance(dense, Dense):
            zeros = SplatData(0, tuple(dense.shape), dense.data.dtype)
            op.attributes["value"] = Dense(zeros, dense.type)
    return copy


def _alone(op: Op) -> Module:
    """A module with a function that does nothing but `op`: what it takes are the arguments."""
    captured = list(dict.fromkeys([*op.operands, *captured_values(op)]))
    made = new_module()
    function = made.add_function("main", [value.type for value in captured])
    block = function.regions[0].block
    mapping: dict[Value, Value] = dict(zip(captured, block.arguments, strict=True))
    copy = op.clone(mapping)
    block.append(copy)
    set_results(function, copy.results)
    return made
