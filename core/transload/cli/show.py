"""What the terminal shows: tables and errors."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from ..errors import Finding, TransloadError, causes, shortened
from ..escapes import escaped
from ..guard import DEBUG
from ..suggest import nearest
from .process import encodable
from .session import session

if TYPE_CHECKING:  # a command that prints nothing does not pay for it
    from rich.console import Console, Group
    from rich.table import Table
    from rich.text import Text

__all__ = [
    "bytes_text", "console", "error_console", "in_a_line", "lines", "number", "one_line", "printable", "prose", "seconds_text",
    "short_names", "show_defect", "show_error", "show_findings", "show_note", "show_traceback", "show_usage", "sized", "table",
    "usage_said",
]


_COMMAND = re.compile("`transload (?:'[^']*'|[^`'])*`|(?<=: )transload .*", re.MULTILINE)
"""In backticks, which names in quotes may have, too, or behind a colon to the end of the line, as hints end."""
_USUAL = 80
"""Columns of a terminal that does not say how many it has."""


def console() -> Console:
    """Standard output, where control characters in what is printed are escaped; without blanks at ends of lines in a file."""
    stream: Any = None if sys.stdout.isatty() else _Trimmed()
    return _console_class()(highlight=False, soft_wrap=False, quiet=session().quiet, file=stream)


class _Trimmed:
    """Standard output, whatever it is by then, of which the last column of a table is as wide as its text."""

    def write(self, text: str) -> int:
        sys.stdout.write(_BLANKS.sub("", text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stdout, name)


_BLANKS = re.compile(" +(?=\n)")


def error_console() -> Console:
    """Standard error, likewise."""
    return _console_class()(stderr=True, highlight=False, soft_wrap=True)


def show_note(text: str) -> None:
    """A note to standard error, which is quiet where nothing but errors is to be said."""
    if not session().quiet:
        error_console().print(f"note: {text}", markup=False)


@cache
def _console_class() -> type[Console]:
    from rich.console import Console
    from rich.text import Text

    class Shown(Console):
        """Names and messages come from files, and may hold what would do something to a terminal.

        A text is one line, and what it quotes below itself: `lines` are several. A command in one is not broken.
        """

        def __init__(self, **how: Any) -> None:
            super().__init__(**how)
            if self.width < 1:  # COLUMNS=0 says that nobody knows; in no columns nothing would be printed
                self.width = _USUAL

        def print(self, *objects: Any, **how: Any) -> None:
            said = [shown(each) for each in objects]
            if not self.soft_wrap and len(said) == 1 and isinstance(said[0], str) and _COMMAND.search(said[0]):
                said, how = [_with_whole_commands(said[0], self.width)], {**how, "soft_wrap": True}
            super().print(*said, **how)

    def shown(said: Any) -> Any:
        if isinstance(said, str):
            return _safe(said)
        return Text(_safe(said.plain)) if isinstance(said, Text) and _safe(said.plain) != said.plain else said

    return Shown


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None, right: Sequence[str] = ()) -> Table:
    """A table whose cells are plain text of one line (`prose` makes one of several); `right` names the columns to align right.

    It is as wide as the terminal at most. Where that is too narrow for the longest words of all columns side by side, each row
    is told one column below the other, and where it is too narrow for that, words are broken.
    """
    from rich.table import Table
    from rich.text import Text

    cells = [[_cell(cell) for cell in row] for row in rows]
    widths = _widths(columns, cells, console().width)
    if widths is None and any(columns):
        return _records(columns, cells, title)
    widths = widths or _widths(columns, cells, console().width, fair=1) or []
    made = Table(
        title=title and Text(in_a_line(title)), title_justify="left", box=None, pad_edge=False, header_style="bold",
        title_style="bold", show_header=any(columns),
    )
    for column, width in zip(columns, widths, strict=True):
        made.add_column(column, justify="right" if column in right else "left", overflow="fold", width=width)
    for row in cells:
        made.add_row(*row)
    return made


def _cell(said: Any) -> Text:
    from rich.text import Text

    plain = said.plain if isinstance(said, Text) else str(said)
    shown = in_a_line(shortened(plain))
    if isinstance(said, Text):
        return said if shown == plain else Text(shown, said.style)
    return Text(shown)


def in_a_line(text: str) -> str:
    """`printable`, with newlines escaped, too: in a table what comes behind one would look like a row, or a name, of its own."""
    return printable(text).replace("\n", "\\n")


def lines(text: str) -> Group:
    """Text of several lines that are ours, or of an array, as a console prints it."""
    from rich.console import Group
    from rich.text import Text

    return Group(*(Text(printable(line)) for line in text.split("\n")))


def prose(text: str) -> str:
    """Text that somebody wrote in lines of his own, for a table's cell, which has others."""
    return " ".join(text.split())


_GAP = 2
"""Columns between two columns of a table."""
_FAIR = 36
"""So wide a column is, at least, that takes text; a longer word in it, as a path or a tensor's name, may be broken."""


def _widths(columns: Sequence[str], cells: Sequence[Sequence[Text]], room: int, fair: int = _FAIR) -> list[int] | None:
    """How wide each column is: as its longest cell, or less where there is no room for that; None where no width will do.

    A width will do if no word of up to `fair` characters is broken. With 1, there is always one.
    """
    widths, least = [], []
    for place, column in enumerate(columns):
        texts = [column, *(row[place].plain for row in cells)]
        widths.append(max((len(line) for text in texts for line in text.split("\n")), default=0))
        least.append(min(max((len(word) for text in texts for word in text.split()), default=0), fair))
    room = max(room - _GAP * (len(columns) - 1), len(columns) if fair == 1 else 0)
    if sum(least) > room:
        return None
    while sum(widths) > room:
        widest = max((place for place in range(len(widths)) if widths[place] > least[place]), key=widths.__getitem__)
        widths[widest] -= 1
    return widths


def _records(columns: Sequence[str], cells: Sequence[Sequence[Text]], title: str | None) -> Table:
    """A table of two columns for each row: what is asked, and what it is there."""
    rows: list[tuple[Any, Any]] = []
    for row in cells:
        rows.append((columns[0], row[0]))
        rows += [(f"  {column}", cell) for column, cell in zip(columns[1:], row[1:], strict=True) if cell.plain]
    return table(("", ""), rows, title)


_FORGED = re.compile(r"\n(?! {4})")


def one_line(text: str) -> str:
    """Text without newlines of names, which could look like lines of ours; what a message quotes below itself is indented."""
    return _FORGED.sub(r"\\n", text)


def _with_whole_commands(text: str, width: int) -> str:
    """Text in lines of so many columns, but for commands, which may be longer: who copies one has it in a line."""
    glued = _COMMAND.sub(lambda found: found[0].replace(" ", "\0"), text)
    lines = (wrap(line, width, break_long_words=False, break_on_hyphens=False, expand_tabs=False) for line in glued.split("\n"))
    return "\n".join("\n".join(each) for each in lines).replace("\0", " ")


def _safe(text: str) -> str:
    return printable(one_line(text))


def printable(text: str) -> str:
    """Text as a terminal may show it: control characters, which could do anything to it, are escaped, but for newlines.

    What the terminal's encoding has no character for is spelt out here, before lines are laid out, as it takes more of them.
    """
    return encodable(escaped(text, keeps="\n"), sys.stdout)


def bytes_text(size: float) -> str:
    """1536 is `1.5 KiB`."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def sized(count: int, what: str) -> str:
    """`1 sample`, `1,000 samples`."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def seconds_text(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def short_names(names: Sequence[str], longest: int = 48) -> list[str]:
    """Tensor names for a table's cells: as short as they can be and differ from each other as the names do.

    Converters join the names of all they fused by semicolons, of which the first says enough, where it is not that of others.
    """
    ways: tuple[Callable[[str], str], ...] = (
        lambda name: _cut(name.partition(";")[0], longest, name), lambda name: _middle_out(name, longest), str)
    shown = list(map(ways[0], names))
    for way in ways[1:]:
        counts = Counter(shown)
        shown = [way(name) if counts[short] > 1 else short for name, short in zip(names, shown, strict=True)]
    return shown


def _cut(text: str, longest: int, whole: str) -> str:
    return text if text == whole and len(text) <= longest else text[: longest - 1] + "…"


def _middle_out(text: str, longest: int) -> str:
    half = longest // 2
    return text if len(text) <= longest else f"{text[: longest - half - 1]}…{text[-half:]}"


def number(value: float) -> str:
    """A metric for a table: enough digits to tell 0.99999 from 1."""
    if value != value or value in (float("inf"), float("-inf")) or value == int(value):
        return f"{value:g}"
    return f"{value:.7g}"


def show_error(error: TransloadError, verbose: bool = False) -> None:
    """An error with all its findings, to standard error."""
    from rich.text import Text

    out = error_console()
    out.print(Text.assemble(("error: ", "bold red"), error.message))
    show_findings(out, error.findings, verbose)
    if error.hint:
        out.print(Text(f"  → {error.hint}", "cyan"))
    if error.report is not None and error.report.dialect is None:  # sizes that were chosen may be why it cannot be lowered
        for note in error.report.notes:
            out.print(Text(f"  note: {shortened(note)}"))


def show_findings(out: Console, findings: Sequence[Finding], verbose: bool) -> None:
    """Findings by their reasons; where `verbose`, with all their places."""
    from rich.text import Text

    reasons = causes(findings)
    for reason in reasons:
        text, arrow, hint = reason.text(details=verbose).partition("\n      → ")
        out.print(Text(f"  • {text}"))
        if hint:
            out.print(Text(f"{arrow[1:]}{hint}", "cyan"), soft_wrap=True if _COMMAND.search(hint) else None)
    if not verbose and any(len(reason.kinds) > 1 for reason in reasons):
        out.print(Text("  -v tells where each of them is", "cyan"))


def show_usage(error: Any) -> None:
    """A mistake in the command line, as the command-line library found it."""
    from rich.text import Text

    out = error_console()
    if type(error).__name__ == "NoArgsIsHelpError":  # of click, or typer: its message is the help of the group
        out.print(lines(error.format_message()))
        return
    context = getattr(error, "ctx", None)
    if context is not None:
        out.print(lines(context.get_usage()))
    out.print(Text.assemble(("error: ", "bold red"), usage_said(error)))


_NO_CHOICE = re.compile(r"'(.*)' is not one of ", re.DOTALL)
"""How it begins to say that a value is none of those that an option takes."""


def usage_said(error: Any) -> str:
    """What the command-line library has to say of a mistake; of the words that it proposes, those that are near.

    It counts what all options begin with, by which any short one is like any other.
    """
    proposed = getattr(error, "possibilities", None)
    if proposed:
        name = str(getattr(error, "option_name", "") or getattr(error, "command_name", ""))
        error.possibilities = [each for each in proposed if nearest(name.lstrip("-"), [each.lstrip("-")])]
    said = str(error.format_message()).replace("\n\t", " ")  # which it puts between the words that there are
    choices = getattr(getattr(getattr(error, "param", None), "type", None), "choices", ())
    given = _NO_CHOICE.match(str(getattr(error, "message", ""))) if choices else None
    guess = nearest(given[1], map(str, choices)) if given is not None else None
    return said if guess is None else f"{said} Did you mean {guess!r}?"


def show_traceback(error: BaseException) -> None:
    """Where an exception was raised: shown before what is told of it, which is the same without."""
    error_console().print(lines("".join(traceback.format_exception(error)).rstrip("\n")))


def show_defect(error: BaseException) -> None:
    """An exception that should not have come this far."""
    from rich.text import Text

    out = error_console()
    told = f"a defect in Transload or a plugin: {type(error).__name__}: {shortened(str(error))}"
    out.print(Text.assemble(("error: ", "bold red"), told))
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is not None:
        place = os.path.relpath(frame.tb_frame.f_code.co_filename, sys.prefix)
        out.print(Text(f"  at {place}:{frame.tb_lineno}"))
    out.print(Text(f"  → please report it with the model; {DEBUG}=1 shows the whole traceback", "cyan"))
