"""Lines that pages show, typed in a folder."""

from __future__ import annotations

import multiprocessing
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["OURS", "typed"]

OURS = Path(sys.executable).parent
FOR_SHELLS = re.compile(r"[|<>$;&*?~#]")


def typed(line: str, folder: Path, programs: Path = OURS) -> tuple[int, str]:
    """The exit code of a line, and what it prints: in a fork of a process that has loaded what commands need, or in a shell.

    The fork is faster, and is for commands of ours that need no shell. `programs` are found first: those of this environment,
    or of one of the page's own.
    """
    environment = {
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]), "NO_COLOR": "1", "PYTHONWARNINGS": "ignore"}
    if programs != OURS or not line.startswith("transload ") or FOR_SHELLS.search(line):
        shell = subprocess.run(
            line, shell=True, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
        return shell.returncode, shell.stdout + shell.stderr
    with tempfile.TemporaryDirectory() as place:
        out, err = Path(place) / "out", Path(place) / "err"
        child = _forking().Process(target=_be, args=(shlex.split(line)[1:], folder, {**os.environ, **environment}, out, err))
        child.start()
        child.join()
        assert child.exitcode is not None
        return child.exitcode, out.read_text(errors="replace") + err.read_text(errors="replace")


@cache
def _forking() -> Any:
    """Processes that are forked from one of their own: this one may have threads, of which a fork has none."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["transload.cli", "transload.convert_model", "transload.verification.compare", "onnxruntime"])
    return context


def _be(line: Sequence[str], folder: Path, environment: Mapping[str, str], out: Path, err: Path) -> None:
    """Be a command, in a process of its own."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, (name, file) in enumerate((("stdout", out), ("stderr", err)), 1):
        end = os.open(file, os.O_WRONLY | os.O_CREAT)
        os.dup2(end, number)
        setattr(sys, name, os.fdopen(end, "w", encoding="utf-8", errors="backslashreplace"))
        setattr(sys, f"__{name}__", getattr(sys, name))
    sys.argv = ["transload", *line]
    from transload.cli import main

    main(list(line))
