"""`python -m transload`."""

import sys
from pathlib import Path

if sys.path and sys.path[0] in ("", str(Path.cwd())):
    # Python put the current directory in front of all others, where a file beside a model could stand in for a library.
    # Behind them it still serves a checkout that is not installed.
    sys.path.append(sys.path.pop(0))

from .cli import main

main()
