"""What judges a module of TOSA: the specification's own arithmetic, by the reference engine.

Op by op the kernels give what Arm's reference model does (tests/plugins/tosa/kernels), so nothing else has to be installed.
"""

from __future__ import annotations

from pathlib import Path

from transload.own_meaning import Run, open_by_kernels

from .flatbuffer.reader import detect

__all__ = ["open_module"]


def open_module(path: Path, function: str = "main") -> Run:
    """What runs a function of a `.tosa` file, or of MLIR text of TOSA."""
    with path.open("rb") as file:
        format = "tosa" if detect(file.read(8)) else "mlir"
    return open_by_kernels(path, function, dialect="tosa", format=format)
