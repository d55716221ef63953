"""Errors that a user can meet.

Every error derives from `TransloadError`: a headline, and findings that each say what is wrong,
where (op, original tensor name, file), why, and what to do. All findings are reported at once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from .classes import is_a
from .interrupts import is_interrupt
from .shortage import MEMORY

if TYPE_CHECKING:
    from .convert_model import Artifact
    from .guard import PluginInfo
    from .report import Report

__all__ = [
    "DIGITS", "ArtifactError", "BuildError", "Cause", "ConversionError", "Finding", "InputError", "InternalError",
    "MissingFunction", "MissingKernel", "MissingPackage", "NumberError", "OpenSizes", "PassError", "PlacementError",
    "PluginError", "PluginFailure", "PluginShortage", "ReadError", "RunError", "ShapeError", "TargetError", "TextError",
    "TransloadError", "Unfit", "Unsupported", "UsageError", "VerificationError", "VerifyError", "after_colon", "causes",
    "class_name", "is_short", "merge_findings", "no_memory", "shortened", "unwhole", "written",
]

_PLACES, _KINDS = 8, 6
"""Names of tensors and kinds of ops in one line."""
_MOST = 1 << 20
"""Findings of one error: what gives more never ends."""
_LONGEST, _LONGEST_NAME = 4000, 1000
"""Characters of a message, a reason or a hint, and of a name in them: a line of a file that does not read may have a million."""
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_NAME + 1},}}")


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    `what` names the op or part, `names` the original tensor names (or places) where it
    occurs, `why` the reason, `hint` what the user can do about it; `count` how often. What only `follows` from other
    findings is left out where those are said.
    """

    what: str
    why: str
    names: tuple[str, ...] = ()
    hint: str = ""
    count: int = 1
    follows: bool = False

    def __post_init__(self) -> None:
        """Raise `TypeError` for members of other types, where they are given: names in one text would be told by letters."""
        texts = {"what": self.what, "why": self.why, "hint": self.hint}
        wrong = next((name for name, text in texts.items() if not isinstance(text, str)), None)
        if wrong is not None:
            raise TypeError(f"{wrong} of a Finding is text, and is {written(texts[wrong]):.100}")
        if not isinstance(self.names, tuple | list) or not all(isinstance(name, str) for name in self.names):
            raise TypeError(f"names of a Finding are a tuple of texts, and are {written(self.names):.100}")
        if not isinstance(self.count, int):
            raise TypeError(f"count of a Finding is a whole number, and is {written(self.count):.100}")
        object.__setattr__(self, "names", tuple(map(_as_text, self.names)))
        for part, text in texts.items():
            object.__setattr__(self, part, shortened(_as_text(text)))

    def __str__(self) -> str:
        return self.text()

    def text(self, places: int = _PLACES) -> str:
        """All of it, with the first of its names, in a line, and one for the hint where there is one."""
        hint = f"\n      → {self.hint}" if self.hint else ""
        return f"{_times(self.what, self.count)}{self.where(places)}: {self.why}{hint}"

    def where(self, places: int) -> str:
        """` at 'a', 'b' and 3 more`; nothing where no place has a name."""
        shown = ", ".join(repr(_ends_of(name, _LONGEST_NAME)) for name in self.names[:places])
        more = f" and {len(self.names) - places} more" if len(self.names) > places else ""
        return f" at {shown}{more}" if shown else ""


@dataclass(frozen=True)
class Cause:
    """A reason, and all findings that have it."""

    why: str
    hint: str
    findings: tuple[Finding, ...]

    @property
    def kinds(self) -> dict[str, int]:
        """How often it occurs, by kind of op or part, the most frequent first."""
        counts = Counter[str]()
        for finding in self.findings:
            counts[finding.what] += finding.count
        return dict(counts.most_common())

    def __str__(self) -> str:
        return self.text()

    def text(self, details: bool = False) -> str:
        """All of it, in a line, and one for the hint where there is one; with `details`, a line a kind with all its places."""
        kinds, hint = self.kinds, f"\n      → {self.hint}" if self.hint else ""
        if len(kinds) == 1:
            (finding,) = merge_findings(self.findings)
            return finding.text(len(finding.names) if details else _PLACES)
        head = f"{self.why}: {len(kinds)} kinds, {sum(kinds.values()):,} in all"
        if details:
            each = [f"{_times(one.what, one.count)}{one.where(len(one.names))}" for one in merge_findings(self.findings)]
            return "\n      ".join([head, *each]) + hint
        shown = ", ".join(_times(what, count) for what, count in list(kinds.items())[:_KINDS])
        more = f" and {len(kinds) - _KINDS} more" if len(kinds) > _KINDS else ""
        return f"{head}: {shown}{more}{hint}"


def _times(what: str, count: int) -> str:
    return f"{what} ({count} times)" if count > 1 else what


def causes(findings: Iterable[Finding]) -> list[Cause]:
    """Findings by their reason, in the order in which the reasons first occur."""
    by_reason: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        by_reason.setdefault((finding.why, finding.hint), []).append(finding)
    return [Cause(why, hint, tuple(found)) for (why, hint), found in by_reason.items()]


def shortened(text: str) -> str:
    """What anybody reads of a text: where it is longer, the beginnings and ends of its long words first, and then its own."""
    if len(text) <= _LONGEST:
        return text
    return _ends_of(_LONG_WORD.sub(lambda word: _ends_of(word[0], _LONGEST_NAME), text), _LONGEST)


def _ends_of(text: str, longest: int) -> str:
    """A text's beginning and end, and how much was left out, where it is longer."""
    if len(text) <= longest:
        return text
    return f"{text[: longest * 3 // 4]} ... ({len(text) - longest:,} characters more) ... {text[-(longest // 4):]}"


def class_name(value: Any) -> str:
    """The name of a value's class, whatever its metaclass makes of names."""
    name: str = type.__dict__["__name__"].__get__(type(value))
    return name


DIGITS = 128
"""Bits of the integers that messages show; of those that are far larger Python does not tell the digits."""


def written(given: object) -> str:
    """The `repr` of what was given, whatever that is: a class may fail to say, an integer be too long, a list hold itself."""
    if issubclass(type(given), int) and (bits := int.bit_length(given)) > DIGITS:  # type: ignore[arg-type]
        return f"an integer of {bits:,} bits"
    try:
        return str.__str__(repr(given))
    except BaseException as error:
        if is_interrupt(error):
            raise
        return f"an object of {class_name(given)}"


def _as_text(said: Any) -> str:
    """What an error is to say, as text: whoever raises one may give it another error, or several lines."""
    if isinstance(said, str):
        return str.__str__(said)  # of a subclass, which may format itself otherwise
    if isinstance(said, list | tuple):
        return "; ".join(map(_as_text, said))
    text = str(said)
    return f"{class_name(said)}: {text}" if isinstance(said, BaseException) and text else text or class_name(said)


class TransloadError(Exception):
    """Base of all errors that a file, a flag or a plugin can cause. `exit_code` is what the CLI ends with."""

    exit_code = 1

    def __init__(self, message: str, findings: Iterable[Finding] = (), hint: str = "") -> None:
        self.message = shortened(_as_text(message))
        super().__init__(self.message)
        self.findings: tuple[Finding, ...] = tuple(
            each if isinstance(each, Finding) else Finding("finding", _as_text(each)) for each in islice(findings, _MOST))
        self.hint = shortened(_as_text(hint))
        self.report: Report | None = None
        """How far the conversion came that this ended; None of what is no conversion."""

    def __str__(self) -> str:
        lines = [self.message, *(f"  - {cause}" for cause in causes(self.findings))]
        if self.hint:
            lines.append(f"  → {self.hint}")
        return "\n".join(lines)


    @property
    def in_a_line(self) -> str:
        """All of it in one line, as a reason that stands in another text."""
        return "; ".join(line.strip().removeprefix("- ").removeprefix("→ ") for line in str(self).splitlines())


class InternalError(TransloadError):
    """A defect in Transload or a plugin: a pass made invalid IR, a kernel broke its contract."""

    exit_code = 1


class UsageError(TransloadError):
    """A flag, option, name or argument that cannot be."""

    exit_code = 2


class MissingFunction(UsageError):
    """A model has no function or signature of the name that was asked for."""


class BuildError(TransloadError):
    """An op is to be built of parts that do not fit its declaration; `place` is the line of code that asks for it."""

    exit_code = 2

    def __init__(self, message: str, hint: str = "", place: str = "") -> None:
        super().__init__(f"{message} ({place})" if place else message, hint=hint)
        self.place = place


class ReadError(TransloadError):
    """A file is missing, damaged, of another format, or beyond what a reader accepts."""

    exit_code = 3


class MissingPackage(ReadError):
    """A reader needs a package that is not installed: nothing is known of the file. The hint says what installs it."""


class ForeignContent(ReadError):
    """A file is not written in the format that it was read as: its bytes do not parse, or hold nothing that the format has.

    `load` says of such a file alone that it is of another format. What a reader has to say of a model's content stays as it is.
    """


class InvalidContent(ReadError):
    """A reader of a plugin's gives, of a file, a module whose ops break the rules of their dialects."""


class TextError(ForeignContent):
    """MLIR text that does not parse, with line and column."""


class ConversionError(TransloadError):
    """The model cannot be converted; the findings list every op that could not be, with its reason."""

    exit_code = 3


class ShapeError(ConversionError):
    """Shapes or types that do not fit together."""


class TargetError(ConversionError):
    """The target cannot take the model; the findings list every reason."""


class PlacementError(ConversionError):
    """Buffers do not fit into the memory that there is; the findings list the biggest of those alive where most is needed.

    `best` is the memory that the best placement needs that was found; None where none was looked for.
    """

    def __init__(self, message: str, findings: Iterable[Finding] = (), hint: str = "", best: int | None = None) -> None:
        super().__init__(message, findings, hint)
        self.best = best


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


class PluginShortage(PluginFailure, MemoryError):
    """A plugin asked for more memory than there is: nobody's defect, and told with its name.

    It is a `MemoryError`, too, to who has something to say of one.
    """


class RunError(TransloadError):
    """A module could not be executed: no kernel, or inputs that do not fit."""

    exit_code = 3


class InputError(RunError, UsageError):
    """What the inputs of a function are given does not fit them, or is missing: whoever asks for the run can mend it."""

    exit_code = 2


class ArtifactError(RunError):
    """An artifact breaks the rules of what it is for, whatever it is run on: what made it is wrong.

    A target's `run` raises it. A plain `RunError` says that the artifact cannot be run here, and verification then has an engine
    run the module in its place; with this one it does not, as the artifact is what was to be judged.
    """


class MissingKernel(RunError):
    """A runtime has no kernel for what it was given, which may be right all the same: nothing is known of it.

    Where no engine can run the artifact either, verification is skipped, and says so.
    """


class Unsupported(Exception):
    """Raised by a rewrite function: this op, as it stands, cannot be converted, and why.

    The conversion catches it, goes on, and reports every such op at its end; those that only follow from others, where there
    are no others. Whether one `follows` is told by what comes before it, unless that is said.
    """

    def __init__(self, why: str, hint: str = "", follows: bool | None = None) -> None:
        self.why, self.hint = _as_text(why), _as_text(hint)
        super().__init__(self.why)
        self.follows = follows


class OpenSizes(Unsupported):
    """The op needs sizes, or numbers that become constants with the sizes of the inputs, which nobody said yet.

    Where the sizes of all inputs are known, there is nothing to say: a conversion tells then that they depend on numbers.
    """

    GIVEN = ("the sizes of all inputs are known: this depends on numbers that are given or computed when the model runs, which "
             "have to be constants in the model")

    def __init__(self, why: str) -> None:
        super().__init__(why, "give the inputs static shapes: --shape NAME:1x224x224x3, in Python inputs=")


class Unfit(TypeError, ValueError):
    """A question about a value that its type has no answer to: the elements of what is no tensor, an unknown size.

    Where a rewrite function takes an answer for granted, the model is what does not fit, and the op cannot be converted.
    """


class NumberError(BuildError, Unfit):
    """A number is to be held in a type that it is no number of. Where a rewrite function does so, its op does not fit."""


def merge_findings(findings: Sequence[Finding]) -> list[Finding]:
    """Join findings that differ only in their names, each told once, summing counts, in order of first occurrence."""
    alike: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        alike.setdefault((finding.what, finding.why, finding.hint), []).append(finding)
    return [
        Finding(what, why, tuple(dict.fromkeys(name for each in group for name in each.names)), hint,
                sum(each.count for each in group), all(each.follows for each in group))
        for (what, why, hint), group in alike.items()]


def unwhole(error: TransloadError | Unsupported) -> str:
    """What an error of a class of others' lacks of its base's, behind a comma; nothing where it is whole."""
    members: dict[str, Any] = {"why": str, "hint": str, "follows": bool | None} if is_a(error, Unsupported) else {
        "message": str, "hint": str, "findings": tuple | list, "exit_code": int}
    try:
        for member, kind in members.items():
            if not hasattr(error, member):
                return f", without {member}: its __init__ has to call super().__init__()"
            value = getattr(error, member)
            if not isinstance(value, kind) or (member == "findings" and not all(isinstance(each, Finding) for each in value)) or (
                    member == "exit_code" and not 0 < value < 256):  # 0 says that all is well
                return f", whose {member} cannot be {written(value):.100}"
        str(error)
    except BaseException as raised:  # a property of its own, whatever it raises
        if is_interrupt(raised):
            raise
        return ", which cannot be looked at"
    return ""


def is_short(error: Exception) -> bool:
    """Whether an error of a rewrite says that a shape or a list ended too early, where nobody looks at ranks before."""
    return isinstance(error, IndexError) or "values to unpack" in str(error)


def after_colon(error: BaseException) -> str:
    """What an exception says, behind a colon; nothing where it says nothing, as a `MemoryError` may."""
    return f": {error}" if str(error) else ""


def no_memory(error: MemoryError) -> TransloadError:
    """What is told where memory does not hold what a conversion, a run or a page needs; where that is a plugin, it is said."""
    if isinstance(error, TransloadError):
        return error
    return RunError(f"{MEMORY}{after_colon(error)}", hint="smaller inputs, another machine, or more for this process (ulimit -v)")
