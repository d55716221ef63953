"""The command line. `main` is the entry point: it turns every error into one clear message and an exit code."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .session import Session

__all__ = ["main"]

_DATA = ("opt", "completion")
_DATA_FLAG = "--show-pipeline"
"""The commands, and the flag of others beside `--json`, whose standard output is not for a reader's eyes alone."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit.

    Exit codes: 0 done and verified, 1 a defect in our code, 2 usage, 3 the model cannot be converted,
    4 converted but verification failed; 128 + n where signal n ended it, as 130 after Ctrl-C.
    """
    from ..shortage import MORE, shortage  # here, for where there is too little nothing more may be loaded
    from .process import Signals, open_streams, written

    out, errors = open_streams()  # before anything else is opened, which would take the place of one that is closed
    given = sys.argv[1:] if arguments is None else arguments
    Signals(json=_gives_json(given))
    try:
        code = run(given)
    except KeyboardInterrupt as error:  # of somebody's own: a signal has ended the process before
        errors.write("".join(["interrupted", *(f": no signal came, {note}" for note in getattr(error, "__notes__", ())), "\n"]))
        code = 130
    except (MemoryError, ImportError, SystemError, RuntimeError, OSError) as error:
        lack = shortage(error)
        if lack is None or "--debug" in given:
            raise
        error.__traceback__ = error.__context__ = None  # what they hold on to is memory
        errors.write(f"error: {lack}: not even to say more of it\n  → {MORE}\n")
        code = 3
    out.flush()
    if out.lost is not None:
        errors.write(f"error: cannot write to standard output: {out.lost.strerror}\n")
        if (place := written()) is not None:
            errors.write(f"  → what was written is whole, in {place}\n")
        code = code or 1
    errors.flush()
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)  # when the process ends nothing is looked for once more; who called this from Python may go on
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run the command line and return the exit code."""
    from ..garbage import rare_collections  # here, for signals are to be answered before

    with rare_collections():
        return _run(arguments)


def _run(arguments: list[str]) -> int:
    from ..guard import is_debugged, tracebacks_shown
    from .answer import data_alone
    from .session import Session

    session = Session(debug=is_debugged() or "--debug" in arguments)
    arguments = [argument for argument in arguments if argument != "--debug"]
    with tracebacks_shown(session.debug), data_alone() if _gives_data(arguments) else nullcontext():
        return _outcome(arguments, session)


def _gives_data(arguments: list[str]) -> bool:
    """Whether standard output is for data: of a command of ours that says so. Those of plugins print what they mean to.

    Plugins are asked for their commands where what they print at that is not in the way.
    """
    from .answer import COMPLETION, data_alone
    from .app import app

    if os.environ.get(COMPLETION):
        return True
    name = next((each for each in arguments if not each.startswith("-")), None)
    if name is not None and name not in app.commands:
        from ..errors import TransloadError
        from ..plugin_host import host

        with data_alone(), suppress(TransloadError):  # which is told where the command is looked for
            _ = host().commands
        return False
    return name in _DATA or _DATA_FLAG in arguments or _gives_json(arguments)


def _gives_json(arguments: list[str]) -> bool:
    """Whether a command line asks for JSON; one that does so wrongly (`--json=yes`) is told in it, too."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return any(each.partition("=")[0] == "--json" for each in options)


def _completed(session: Session) -> int:
    """Print how the line goes on that the shell's variables say, as click does, and as data: plugins are asked for names."""
    from click.shell_completion import get_completion_class

    from .answer import COMPLETION, print_data
    from .app import app

    shell, _, asked = os.environ[COMPLETION].partition("_")
    known = get_completion_class(shell)
    if known is None or asked not in ("source", "complete"):
        return 1
    made = known(app, {"obj": session}, "transload", COMPLETION)
    print_data(made.source() if asked == "source" else made.complete() + "\n")
    return 0


def _outcome(arguments: list[str], session: Session) -> int:
    from ..importing import Imports

    imports = Imports()  # of now: a plugin may have nothing be imported any more, and what tells of that is imported then
    try:
        from ..apart import inputs_kept
        from .answer import COMPLETION
        from .app import app

        with inputs_kept():
            outcome = _completed(session) if os.environ.get(COMPLETION) else app(
                args=arguments, prog_name="transload", standalone_mode=False, obj=session)
        if not isinstance(outcome, int):
            return 0
        return outcome if 0 <= outcome <= 255 else 1  # what a plugin's command gives may be no exit code
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a plugin's own kind of exception may be no Exception
        imports.put_back(function=True)
        from ..classes import is_a
        from .endings import ending
        from .show import show_traceback

        if (cause := error.__cause__) is not None and is_a(cause, KeyboardInterrupt):  # click's Abort
            raise cause from None
        end = ending(error, session)
        if session.debug and end.is_traced:
            show_traceback(error)
        if _gives_json(arguments):
            end.print_json()
        end.show()
        return end.code
