"""The command `transload`, and `python -m transload`."""

import _signal  # part of the interpreter: nothing is loaded for it

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:  # it is not ignored, as behind `nohup`
    # Python would answer Ctrl-C with a traceback, from wherever it was importing, until `transload.cli` takes the signals.
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import sys
from pathlib import Path

if __name__ == "__main__" and sys.path:
    # Python put the current directory in front of all others, where a file beside a model could stand in for a library.
    # Behind them it still serves a checkout that is not installed. A directory that is gone has no name and no files.
    try:
        if sys.path[0] in ("", str(Path.cwd())):
            sys.path.append(sys.path.pop(0))
    except FileNotFoundError:
        sys.path.pop(0)

from .cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
