"""The exact meaning of quantized ops: which integers they give, where somebody says that.

An op on quantized tensors stands for an op on real numbers, and its kernel computes that: dequantize, compute, quantize
(`quantized`). The framework that a model comes from computes with integers, and rounds on the way; whoever turns the op into
integer arithmetic knows how. A plugin says it by a fact of kind "integers", about an op or about all of a dialect
(`"acme.*"`): a function of the op that gives a kernel on stored numbers, or None where it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..context import current
from ..ir import Op
from .absent import given_absent
from .quantized import is_quantized, keeps_stored, quantized_kernel

__all__ = ["exact_kernel", "kernel_on_reals", "note_of"]


def exact_kernel(op: Op, kernel: Callable[..., Any], mode: str) -> tuple[Callable[..., Any], bool]:
    """The kernel that computes `op` on stored numbers, and whether it gives the integers that the op stands for.

    It does not where an op computes through real numbers, and nobody says which integers it gives.
    """
    kernel = given_absent(op, kernel)
    if not is_quantized(op) or keeps_stored(op, mode):
        return kernel, True
    if op.regions:
        return quantized_kernel(op, kernel, mode), True
    facts = current().host.facts("integers")
    says = facts[op.name] or facts[f"{op.dialect}.*"]
    made = says(op) if says is not None else None
    if made is not None:
        return made, True
    return quantized_kernel(op, kernel, mode), mode == "native"


def kernel_on_reals(op: Op) -> Callable[..., Any] | None:
    """The op's kernel between dequantization and quantization: the fact "integers" of ops whose meaning is just that."""
    found = current().host.kernel(op.name)
    return None if found is None else quantized_kernel(op, given_absent(op, found[0]), found[1])


def note_of(inexact: Iterable[Op]) -> tuple[str, ...]:
    """What a user should know where ops were computed through real numbers: one note, or none."""
    names = [op.name for op in inexact]
    if not names:
        return ()
    kinds = ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))
    return (f"computed by dequantizing and quantizing, as no plugin here says which integers they give: {kinds}",)
