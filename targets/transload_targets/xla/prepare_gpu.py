"""What XLA's GPU backend lacks, said otherwise: rewrites of a program before it is compiled for a GPU.

It has no convolutions of integers but those of bytes that cuDNN has, and refuses programs with others: all quantized networks.
They become convolutions of f64, whose sums are rounded to integers (`prepare_cpu_products`), which are the same.
"""

from __future__ import annotations

from transload.analysis.intervals import Intervals
from transload.ir import Module

from .precision import at_highest_precision
from .prepare_cpu import apply_once
from .prepare_cpu_products import in_doubles

__all__ = ["prepare_gpu"]


def prepare_gpu(module: Module) -> None:
    """Rewrite a module of stablehlo in place."""
    at_highest_precision(module)
    apply_once(module, in_doubles(Intervals(largest=None)))
