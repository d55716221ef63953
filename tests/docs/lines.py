"""Lines that pages show, typed in a folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.support.commands import Surroundings, ended

__all__ = ["OURS", "typed"]

OURS = Path(sys.executable).parent
FOR_SHELLS = re.compile(r"[|<>$;&*?~#]")


def typed(line: str, folder: Path, programs: Path = OURS) -> tuple[int, str]:
    """The exit code of a line, and what it prints: in a fork of this process, which is faster, or where it needs one in a shell.

    `programs` are found first: those of this environment, or of one of the page's own.
    """
    environment = {
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]), "NO_COLOR": "1", "PYTHONWARNINGS": "ignore"}
    if programs == OURS and line.startswith("transload ") and not FOR_SHELLS.search(line):
        made = ended(shlex.split(line)[1:], Surroundings(environment, folder=folder))
        return made.code, (made.out + made.err).decode(errors="replace")
    shell = subprocess.run(
        line, shell=True, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    return shell.returncode, shell.stdout + shell.stderr
