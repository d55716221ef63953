"""Findings that do not stop what goes on: a pass says what is in the way of a conversion, and all comes in one error.

    def narrow_integers(module: Module) -> bool:
        refuse(findings_of(module))     # the rewrites that follow add theirs
        return True
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from .context import current
from .errors import ConversionError, Finding, merge_findings

__all__ = ["Refused", "collected_findings", "refuse"]


@dataclass
class Refused:
    """What cannot be converted, as far as it was found."""

    findings: list[Finding] = field(default_factory=list)
    cause: BaseException | None = None
    """The first defect of a plugin among the reasons."""


@dataclass
class _Conversion:
    """What a run notes down: what was refused in the conversion that runs; None where none does."""

    refused: Refused | None = None


def refuse(findings: Iterable[Finding], cause: BaseException | None = None) -> None:
    """Say what cannot be converted. In a conversion the rest goes on, and its error holds these findings, too.

    Outside of a conversion (a pass that runs by itself) raises `ConversionError` where there are findings.
    """
    findings = list(findings)
    run = current()
    refused = run.scratch(_Conversion).refused if run.is_run else None
    if refused is not None:
        refused.findings.extend(findings)
        refused.cause = refused.cause or cause
    elif findings:
        raise ConversionError("the module cannot be converted", merge_findings(findings)) from cause


@contextmanager
def collected_findings() -> Iterator[Refused]:
    """Inside, in this run, `refuse` adds to what this gives."""
    noted = current().scratch(_Conversion)
    before, noted.refused = noted.refused, Refused()
    try:
        yield noted.refused
    finally:
        noted.refused = before
