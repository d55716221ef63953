"""The command line. `main` is the entry point: it turns every error into one clear message and an exit code."""

from __future__ import annotations

import gc
import io
import os
import sys

from ..garbage import rare_collections

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit.

    Exit codes: 0 done and verified, 1 a defect in our code, 2 usage, 3 the model cannot be converted,
    4 converted but verification failed.
    """
    for stream in (sys.stdout, sys.stderr):  # a path need not be UTF-8, nor a terminal: what it cannot show is escaped
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    code = run(sys.argv[1:] if arguments is None else arguments)
    gc.freeze()  # the process ends: nothing is looked for once more
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run the command line and return the exit code."""
    with rare_collections():
        return _run(arguments)


def _run(arguments: list[str]) -> int:
    from ..guard import DEBUG
    from .session import Session

    session = Session(debug=bool(os.environ.get(DEBUG)) or "--debug" in arguments)
    arguments = [argument for argument in arguments if argument != "--debug"]
    try:
        from .app import app

        outcome = app(args=arguments, prog_name="transload", standalone_mode=False, obj=session)
        return outcome if isinstance(outcome, int) else 0
    except BrokenPipeError:
        # The reader of our output (`| head`) went away: that is no error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        from .endings import ending

        end = ending(error, session)
        if session.debug and end.is_traced:
            raise
        if "--json" in arguments:
            end.print_json()
        end.show()
        return end.code
