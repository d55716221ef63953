"""TPU-MLIR in an environment of its own, which the user names: its compiler and its simulator, as programs that are run.

Its wheel is for Python 3.10 alone (`pip install tpu_mlir`, package `tpu_mlir` 1.30); Transload never imports it. Files go in and
out through a scratch folder, in which its programs leave what they leave.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from transload.arrays import read_arrays
from transload.errors import RunError, TargetError
from transload.files import is_file
from transload.scratch import ScratchFolder

__all__ = ["absent", "deployed", "simulated"]

SECONDS = 1800
"""After which a program is stopped."""
TELLING = ("error", "fail", "not support", "assert", "unsupport", "unreachable", "can't", "cannot")
"""Words of lines that say what is wrong."""
_OUTER = ("raise RuntimeError", "RuntimeError: [!Error]")
"""Beginnings of lines that only say which of its programs it was."""
DEPLOY, RUNNER = "model_deploy", "model_runner"
INSTALL = "a virtual environment of Python 3.10 with: pip install tpu_mlir psutil flatbuffers"


def absent(environment: str) -> str:
    """Why TPU-MLIR cannot be used; nothing where it can."""
    if not environment:
        return f"no environment with TPU-MLIR is named: --option environment=PATH, {INSTALL}"
    missing = [name for name in (DEPLOY, RUNNER) if not is_file(_program(environment, name))]
    return f"{environment} has no {', '.join(missing)}: {INSTALL}" if missing else ""


def _program(environment: str, name: str) -> Path:
    return Path(environment).expanduser().absolute() / "bin" / name


def deployed(environment: str, files: Mapping[str, bytes], name: str, chip: str, quantize: str, tables: Sequence[str]) -> bytes:
    """The bmodel of `NAME.mlir` among `files`. Raises `TargetError` with the words of TPU-MLIR."""
    why = absent(environment)
    if why:
        raise TargetError(f"target 'sophgo' cannot compile: {why}")
    with ScratchFolder() as folder:
        for file, content in files.items():
            (folder / file).write_bytes(content)
        made = folder / f"{name}.bmodel"
        said = _ran(environment, [
            DEPLOY, "--mlir", f"{name}.mlir", "--quantize", quantize, "--processor", chip, "--model", made.name,
            "--skip_validation", *tables], folder)
        if not made.is_file():
            raise TargetError(f"TPU-MLIR's {DEPLOY} refuses the model: {said}")
        return made.read_bytes()


def simulated(environment: str, bmodel: Path, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """What the bmodel gives in TPU-MLIR's simulator of the chip, in order. Raises `RunError` with its words."""
    why = absent(environment)
    if why:
        raise RunError(why)
    with ScratchFolder() as folder:
        np.savez(folder / "inputs.npz", **inputs)  # type: ignore[arg-type]
        said = _ran(environment, [
            RUNNER, "--input", "inputs.npz", "--model", str(bmodel.absolute()), "--output", "outputs.npz"], folder)
        if not (folder / "outputs.npz").is_file():
            raise RunError(f"TPU-MLIR's {RUNNER} gives nothing: {said}")
        return [held.numpy().copy() for held in read_arrays(folder / "outputs.npz").values()]


def _ran(environment: str, command: Sequence[str], folder: Path) -> str:
    """Run a program in a folder; what it said last, on one line."""
    program = _program(environment, command[0])
    try:
        done = subprocess.run(
            [str(program), *command[1:]], cwd=folder, capture_output=True, text=True, errors="replace", timeout=SECONDS,
            check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return f"it takes longer than {SECONDS} s"
    except OSError as error:
        return f"{program} cannot be started: {error.strerror or error}"
    return _words(done.stdout, done.stderr) or f"it ended with {done.returncode}"


def _words(*texts: str) -> str:
    """What programs say of an error, without the lines that say where in their sources."""
    lines = [line.strip() for text in texts for line in text.splitlines()]
    telling = [line for line in lines if any(word in line.lower() for word in TELLING)]
    telling = [line for line in telling if not line.startswith(_OUTER)] or telling
    return " ".join(" ".join(telling[:3] or lines[-2:]).split())[:400]
