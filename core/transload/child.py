"""Child processes that run Python: isolated from the folder, the environment and the files of whoever uses Transload.

A model may lie beside any file at all, a `numpy.py` among them. Python started with `-c` or `-m` imports from the current
directory first, and from wherever `PYTHONPATH` says, so such a file would run. Every child process of ours is therefore
started here: in Python's isolated mode (`-I`), in a directory of its own that is empty, without any of Python's environment
variables. It imports from its own installation, and, behind that, from the folders that this process imported the packages
from which the child was said to need.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from types import TracebackType
from typing import Any
from weakref import WeakSet

from .files import current_directory
from .scratch import ScratchFolder

__all__ = ["PythonChild", "environment", "kill_all", "python_command"]

_BOOT = "import sys; n = int(sys.argv[1]); sys.path.extend(sys.argv[2:n + 2]); del sys.argv[1:n + 2]; "


def python_command(code: str, *arguments: str, needs: Iterable[str] = ()) -> list[str]:
    """The command of an isolated Python that runs `code`, with `arguments` in `sys.argv[1:]`.

    `needs` names the top-level packages that the code imports; where this process found one of them in a folder that an
    isolated Python does not look into (an uninstalled checkout, say), that folder comes last on the child's path.
    """
    folders = list(dict.fromkeys(folder for package in needs if (folder := _folder_of(package)) is not None))
    no_bytecode = ["-B"] if sys.dont_write_bytecode else []  # -I leaves out the variable that says so
    return [sys.executable, "-I", *no_bytecode, "-c", _BOOT + code, str(len(folders)), *folders, *arguments]


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without Python's own variables, and with `more`."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return kept | dict(more or {})


def _folder_of(package: str) -> str | None:
    """The folder that this process imports a package from; None where it has none but in the current directory."""
    module = sys.modules.get(package)
    if module is None:
        here = current_directory()
        spec = PathFinder.find_spec(package, [folder for folder in sys.path if folder and Path(folder).resolve() != here])
        file = spec.origin if spec is not None else None
    else:
        file = getattr(module, "__file__", None)
    return str(Path(file).resolve().parents[1]) if file and Path(file).name == "__init__.py" else None


class PythonChild:
    """A running isolated Python; `process` is its `Popen`. As a context manager it ends the process and removes its folder.

    It has a session of its own: Ctrl-C is for the process that started it, which ends it.

    `variables` are those of its environment that are other than here; `more` goes to `subprocess.Popen`.
    """

    def __init__(
        self, code: str, *arguments: str, needs: Iterable[str] = (), variables: Mapping[str, str] | None = None, **more: Any,
    ) -> None:
        self._folder = ScratchFolder()
        try:
            self.process: subprocess.Popen[bytes] = subprocess.Popen(
                python_command(code, *arguments, needs=needs), cwd=self._folder.path,
                env=environment(variables), start_new_session=True, **more)
        except BaseException:
            self._folder.remove()
            raise
        _running.add(self)

    def stop(self, patience: float = 0.0) -> None:
        """End the process, where it still runs after `patience` seconds, and remove its folder."""
        _running.discard(self)
        if patience:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(patience)
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what it was still to be told
                    pipe.close()
        self._folder.remove()

    def __enter__(self) -> PythonChild:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


_running: WeakSet[PythonChild] = WeakSet()


def kill_all() -> None:
    """Kill the processes that still run, for this one ends."""
    for child in list(_running):
        child.process.kill()
