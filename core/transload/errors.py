"""Errors that a user can meet.

Every error derives from `TransloadError`: a headline, and findings that each say what is wrong,
where (op, original tensor name, file), why, and what to do. All findings are reported at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .convert_model import Artifact
    from .guard import PluginInfo
    from .report import Report

__all__ = [
    "ConversionError", "Finding", "InternalError", "PassError", "PluginError", "PluginFailure", "ReadError", "RunError",
    "ShapeError", "TargetError", "TextError", "TransloadError", "Unsupported", "UsageError", "VerificationError", "VerifyError",
]


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    `what` names the op or part (`tfl.while`), `names` the original tensor names (or places) where it
    occurs, `why` the reason, `hint` what the user can do about it; `count` how often. What only `follows` from other
    findings is left out where those are said.
    """

    what: str
    why: str
    names: tuple[str, ...] = ()
    hint: str = ""
    count: int = 1
    follows: bool = False

    def __str__(self) -> str:
        times = f" ({self.count} times)" if self.count > 1 else ""
        shown = ", ".join(map(repr, self.names[:8]))
        if len(self.names) > 8:
            shown += f" and {len(self.names) - 8} more"
        where = f" at {shown}" if shown else ""
        hint = f"\n      → {self.hint}" if self.hint else ""
        return f"{self.what}{times}{where}: {self.why}{hint}"


class TransloadError(Exception):
    """Base of all errors that a file, a flag or a plugin can cause. `exit_code` is what the CLI ends with."""

    exit_code = 1

    def __init__(self, message: str, findings: Iterable[Finding] = (), hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.findings: tuple[Finding, ...] = tuple(findings)
        self.hint = hint
        self.report: Report | None = None
        """How far the conversion came that this ended; None of what is no conversion."""

    def __str__(self) -> str:
        lines = [self.message, *(f"  - {finding}" for finding in self.findings)]
        if self.hint:
            lines.append(f"  → {self.hint}")
        return "\n".join(lines)


class InternalError(TransloadError):
    """A defect in Transload or a plugin: a pass made invalid IR, a kernel broke its contract."""

    exit_code = 1


class UsageError(TransloadError):
    """A flag, option, name or argument that cannot be."""

    exit_code = 2


class ReadError(TransloadError):
    """A file is missing, damaged, of another format, or beyond what a reader accepts."""

    exit_code = 3


class TextError(ReadError):
    """MLIR text that does not parse, with line and column."""


class ConversionError(TransloadError):
    """The model cannot be converted; the findings list every op that could not be, with its reason."""

    exit_code = 3


class ShapeError(ConversionError):
    """Shapes or types that do not fit together."""


class TargetError(ConversionError):
    """The target cannot take the model; the findings list every reason."""


class VerificationError(TransloadError):
    """Converted and written, as `artifact`, but the result does not compute what the source computes, or was not compared."""

    exit_code = 4
    artifact: Artifact | None = None


class VerifyError(InternalError):
    """IR that breaks the declarations of its ops."""


class PassError(TransloadError):
    """A pass could not do its work."""

    exit_code = 3


class PluginError(TransloadError):
    """A plugin that does not load or breaks the rules of registration."""

    exit_code = 2


class PluginFailure(PluginError):
    """A plugin raised what is no error of ours, in a call into it: a defect of the plugin's.

    `plugin` is who it was (None where that is not known), `place` what was called; `__cause__` is what was raised.
    """

    exit_code = 3

    def __init__(
        self, message: str, findings: Iterable[Finding] = (), hint: str = "", *,
        plugin: PluginInfo | None = None, place: str = "",
    ) -> None:
        super().__init__(message, findings, hint)
        self.plugin = plugin
        self.place = place


class RunError(TransloadError):
    """A module could not be executed: no kernel, or inputs that do not fit."""

    exit_code = 3


class Unsupported(Exception):
    """Raised by a rewrite function: this op, as it stands, cannot be converted, and why.

    The conversion catches it, goes on, and reports every such op at its end; those that only `follow` from others, where
    there are no others.
    """

    def __init__(self, why: str, hint: str = "", follows: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.hint = hint
        self.follows = follows


def merge_findings(findings: Sequence[Finding]) -> list[Finding]:
    """Join findings that differ only in their names, summing counts, in order of first occurrence."""
    merged: dict[tuple[str, str, str], Finding] = {}
    for finding in findings:
        key = (finding.what, finding.why, finding.hint)
        old = merged.get(key)
        merged[key] = finding if old is None else Finding(
            finding.what, finding.why, old.names + finding.names, finding.hint, old.count + finding.count,
            old.follows and finding.follows)
    return list(merged.values())
