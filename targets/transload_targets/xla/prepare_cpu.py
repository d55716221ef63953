"""What XLA's CPU backend is good at, said so that it does it: rewrites of a program before it is compiled for the CPU.

The backend has fast products of floats (Eigen's), and fuses elementwise ops well. Convolutions and products of integers
run in plain loops, so do depthwise and grouped convolutions. So integer products become products of floats where these
are exact (`prepare_cpu_products`), and depthwise convolutions sums of shifted products (`prepare_cpu_convolutions`).
Every rewrite gives the same bits for integers; a sum of floats may be formed in another order, as in any convolution.
"""

from __future__ import annotations

from transload.analysis.intervals import Intervals
from transload.ir import Module
from transload.passes.cse import eliminate_common_subexpressions
from transload.passes.dce import eliminate_dead_code
from transload.rewrite import CHANGED, Rewriter, RewriteTable

from . import prepare_cpu_convolutions, prepare_cpu_products
from .prepare_cpu_constants import LAYOUT, fold_weights, gather_up

__all__ = ["apply_once", "prepare_cpu"]


def prepare_cpu(module: Module) -> None:
    """Rewrite a module of stablehlo in place."""
    fold_weights(module)
    gather_up(module)
    apply_once(module, prepare_cpu_convolutions.FORWARD)
    apply_once(module, prepare_cpu_products.table(Intervals(largest=None)))
    apply_once(module, prepare_cpu_convolutions.TABLE)
    apply_once(module, LAYOUT)
    eliminate_common_subexpressions(module)
    eliminate_dead_code(module)


def apply_once(module: Module, table: RewriteTable) -> None:
    """Try every op once, those that rewrites make among them not."""
    for op in [op for op in module.walk() if op.name in table]:
        for function in table.get(op.name):
            rewriter = Rewriter(op, fold=True)
            made = function(op, rewriter)
            if made is not None:
                if made is not CHANGED:
                    rewriter.replace(made)
                break
