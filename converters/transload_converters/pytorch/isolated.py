"""The process in which torch runs: its kernels are C++ that a program can bring down."""

from __future__ import annotations

from importlib.util import find_spec

from transload.worker import Worker

__all__ = ["TORCH", "warm"]

TORCH = Worker(
    "the process of torch", needs=("transload_converters", "numpy", "ml_dtypes", "torch", "typing_extensions", "sympy"),
    first=("transload_converters.pytorch.session",))


def warm() -> None:
    """Start the process, where there is something for it to import."""
    if find_spec("torch") is not None:
        TORCH.start()
