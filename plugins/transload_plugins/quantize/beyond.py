"""What a float of 16 bits does not hold, and computing with it would lose: numbers too far from 0, and too near to it.

f16 has as many bits as a number has exponents left: 11 of what is 2^-14 or more, 8 of 2^-17, as bf16 has, and none below 2^-25,
which becomes 0. What is added to a norm so that nothing is divided by 0, 1e-8 or 1e-12, is 0 itself then. Constants say that
without a sample; samples say it of what is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from transload.analysis.movement import moves_of
from transload.ir import BF16, F16, F32, FloatType, Module, Op, Value
from transload.ir.build import constant_of

from .divisors import least_of, lost_divisors
from .groups import rule_of
from .guards import lost_guards, sizes_of
from .observe import observed
from .thresholds import Range

__all__ = ["FLOAT_SCHEMES", "FloatScheme", "not_held"]


@dataclass(frozen=True)
class FloatScheme:
    """Which floats a model computes with."""

    name: str
    element: FloatType
    greatest: float
    """The greatest number that the type holds."""
    normal: float = 0.0
    """The least number of as many bits as the type has; 0 where it reaches as near to 0 as f32 does."""
    least: float = 0.0
    """The least number that has 8 bits."""


FLOAT_SCHEMES = {scheme.name: scheme for scheme in (
    FloatScheme("f16", F16, 65504.0, 2.0**-14, 2.0**-17), FloatScheme("bf16", BF16, 3.3895314e38))}

Why = dict[Value, str]
"""Tensors, each with the reason that it stays f32."""
_SIGNS = ("top.Abs", "top.Neg")
"""Ops that give numbers of the same magnitude."""
_ADDED: Mapping[str, str] = {
    "top.BatchNorm": "epsilon", "top.LayerNorm": "eps", "top.RMSNorm": "eps", "top.InstanceNorm": "eps", "top.GroupNorm": "eps",
    "top.Normalize": "eps"}
"""Ops that divide by what a number of their own was added to, and what that is called."""


def not_held(module: Module, scheme: FloatScheme, seen: Mapping[str, Range] | None) -> tuple[Why, dict[Op, str]]:
    """The tensors of f32 that should stay so, and the ops that should compute with f32, each with the reason.

    `seen` are the ranges of a module's tensors on samples, by name; None where there are none.
    """
    if not scheme.normal:  # as far, and as near to 0, as f32
        return {}, {}
    found = _by_samples(module, scheme, seen) if seen is not None else {}
    found = {**_by_factors(module, scheme, seen is not None), **found}
    found = {**lost_guards(module, scheme), **found}
    return {value: why for value, why in found.items() if value.element_or_none == F32}, _with_guards(module, scheme)


def _by_samples(module: Module, scheme: FloatScheme, seen: Mapping[str, Range]) -> Why:
    """The tensors whose numbers on samples are too far from 0, or all too near, or are divided by and too near."""
    named, found = observed(module), dict[str, str]()
    for name, (low, high) in seen.items():
        far = max(-low, high)
        if far > scheme.greatest:
            found[name] = f"reaches to {far:.3g}, beyond {scheme.name}"
        elif 0.0 < far < scheme.normal:
            found[name] = f"reaches no farther than {far:.3g}, and {scheme.name} has few bits below {scheme.normal:.3g}"
    lost = lost_divisors(named, seen, lambda value: 2.0 * scheme.least, lambda op: True, lambda op: True)
    for name, user in lost.items():
        found.setdefault(name, (
            f"it is never 0 on the samples, but may be {least_of(seen[name]):.3g}, of which {scheme.name} has few bits, "
            f"and {user!r} takes no 0"))
    return {named[name]: why for name, why in found.items()}


def _by_factors(module: Module, scheme: FloatScheme, is_seen: bool) -> Why:
    """The products and quotients that stay f32 for the constants in them, and what of their numbers is only moved from there."""
    found: Why = {}
    for op in module.body_of_main:
        if op.name in _SIGNS or moves_of(op) is not None:
            why = next((found[value] for value in op.operands if value in found), None)
        else:
            why = _of_factors(op, scheme, is_seen)
        if why is not None:
            found |= dict.fromkeys(op.results, why)
    return found


def _of_factors(op: Op, scheme: FloatScheme, is_seen: bool) -> str | None:
    """Why a product or quotient stays f32 for the constants in it; None where it does not.

    A factor that is too great says so by what it makes of samples, where these are `is_seen`. Without, it is taken for the
    depth of a mask, for which any will do.
    """
    if not op.results:
        return None
    rule = rule_of(op)
    indices = (0, 1) if op.name == "top.Div" else range(len(op.operands)) if op.name == "top.Mul" else (
        () if rule is None or rule.weights is None or rule.weights >= len(op.operands) else (rule.weights,))
    factors = {index: dense.numpy() for index in indices if (dense := constant_of(op.operands[index])) is not None}
    if op.name == "top.MulConst":
        factors[0] = np.array(op.attribute("const_val"))
    for index, numbers in factors.items():
        divides = op.name == "top.Div" and index == 1
        sizes = sizes_of(numbers)
        if not sizes.size:
            continue
        if (small := float(sizes.min() if divides else sizes.max())) < scheme.least:
            return f"{'divides' if divides else 'multiplies'} by {small:.3g}, of which {scheme.name} has few bits"
        if (divides or is_seen) and (far := float(sizes.max())) > scheme.greatest:
            return f"{'divides' if divides else 'multiplies'} by {far:.3g}, beyond {scheme.name}"
    return None


def _with_guards(module: Module, scheme: FloatScheme) -> dict[Op, str]:
    """The ops that add a number to what they divide by of which the type has few bits."""
    added = {op: float(op.attribute(_ADDED[op.name])) for op in module.body_of_main
             if op.name in _ADDED and op.results[0].element_or_none == F32}
    return {op: f"adds {number:.3g} to what it divides by, of which {scheme.name} has few bits"
            for op, number in added.items() if 0.0 < number < scheme.least}
