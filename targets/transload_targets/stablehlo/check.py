"""What of a module a portable artifact of some version cannot hold: everything at once, under the names the user knows.

What came with which version is known to the bindings that write artifacts. They stop at the first op that an older
version does not have; so when a module is refused, each of its ops is tried by itself (`transload.trials`).
"""

from __future__ import annotations

import re
from pathlib import Path

from transload.contents import STRUCTURE
from transload.errors import Finding, TransloadError, UsageError
from transload.ir import Module, Op, new_module, set_results
from transload.scratch import ScratchFolder
from transload.trials import FEW, is_of_files, refused_ops, without_data

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
        why = _refusal(without_data(module, keeps=FEW), path, version)
        if why is None:
            return []
        _need_version(path, version)
        never = {id(op) for op, _ in refused_ops(module, lambda alone: _refusal(alone, path, NEWEST))}
        found = [
            _finding(op, f"cannot be said in StableHLO {version}: {reason}", "" if id(op) in never else _HINT)
            for op, reason in refused_ops(module, lambda alone: _refusal(alone, path, version))]
        hint = _HINT if _refusal(without_data(module, keeps=FEW), path, NEWEST) is None else ""
    return found or [Finding("the module", f"cannot be said in StableHLO {version}: {why}", hint=hint)]


_HINT = f"ask for a later minimum_version, or for {NEWEST}"
"""Where a later version has it."""


def _finding(op: Op, why: str, hint: str = "") -> Finding:
    return Finding(op.name, why, (op.origin,) if op.origin else (), hint)


def _refusal(module: Module, path: Path, version: str) -> str | None:
    """Why a module cannot be written, or None. Raises `TransloadError` where the place is what it cannot be written to."""
    try:
        write_artifact(module, path, version)
    except TransloadError as error:
        if is_of_files(error):
            raise
        said = error.message.partition(": ")[2] or error.message
        return re.sub(r"\s+", " ", said).removeprefix(f"cannot be written as StableHLO {version}: ")
    return None


def _need_version(path: Path, version: str) -> None:
    """Raise `UsageError` for what is no version that is written: it cannot even say a program that does nothing."""
    module = new_module()
    set_results(module.add_function("main", []), [])
    try:
        write_artifact(module, path, version)
    except UsageError as error:
        why = error.message.partition(": ")[2] or error.message
        raise UsageError(f"option minimum_version: {why}", hint=error.hint) from None
