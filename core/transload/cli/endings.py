"""How a command ends that raised something: the exit code, what is said in words, and the JSON of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..errors import ConversionError, RunError, TransloadError, Unsupported, no_memory
from ..files import LOST, lost_directory
from ..shortage import MEMORY, MORE, line_of, shortage
from .session import Session

__all__ = ["Ending", "ending"]


@dataclass(frozen=True)
class Ending:
    """What becomes of an exception."""

    error: BaseException
    code: int
    show: Callable[[], None]
    """Says it to standard error."""
    is_traced: bool
    """Whether `--debug` shows the traceback: not of a mistake in the command line."""
    said: str = ""
    """What is told, where that is not what the exception says itself."""

    def print_json(self) -> None:
        """What `--json` prints: the report of a conversion, else the error alone, in the same place."""
        from ..report import error_report
        from .answer import print_json

        report, told = getattr(self.error, "report", None), error_report(self.error)
        told = replace(told, message=self.said or told.message)
        print_json(report if report is not None else {"exit_code": self.code, "error": told})


def ending(error: BaseException, session: Session) -> Ending:
    """What becomes of an exception that no command caught: an error of ours, one of click's, no memory, or a defect."""
    from .show import error_console, show_defect, show_error, show_usage, usage_said

    lack = shortage(error)
    if lack == MEMORY:
        said_itself = error if isinstance(error, MemoryError) else MemoryError(line_of(error))
        error = no_memory(said_itself).with_traceback(error.__traceback__)
    elif lack is not None and not isinstance(error, OSError):
        error = RunError(f"{lack}: {line_of(error)}", hint=MORE).with_traceback(error.__traceback__)
    if isinstance(error, OSError):  # of a plugin's command, whose files are its own
        said = LOST if lost_directory(error) else f"{error.filename or 'a file'}: {error.strerror or error}"
        error = (TransloadError(said) if lack is None else RunError(said, hint=MORE)).with_traceback(error.__traceback__)
    if isinstance(error, Unsupported):  # which a rule says, and a plugin said elsewhere
        error = ConversionError(error.why, hint=error.hint).with_traceback(error.__traceback__)
    if isinstance(error, TransloadError):
        return Ending(error, error.exit_code, lambda: show_error(error, session.verbose), True)
    if type(error).__name__ == "Abort":  # of click, or typer: the user said no
        return Ending(error, 1, lambda: error_console().print("aborted"), False)
    code = getattr(error, "exit_code", None)
    if code is not None and hasattr(error, "format_message"):
        return Ending(error, 2, lambda: show_usage(error), False, usage_said(error))
    if code is not None:
        return Ending(error, int(code), lambda: None, False)
    return Ending(error, 1, lambda: show_defect(error), True)


