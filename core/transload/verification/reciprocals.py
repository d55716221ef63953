"""Inputs of a quantized model as they are quantized by what multiplies by the reciprocal of a scale, and does not divide by it.

Chips multiply: TOSA has no division of floats. `x / s` and `x * (1 / s)` differ by last bits of a float of 32 bits, and where
these decide to which integer a number is rounded, by a step: of 16 bits one number in thousands, of 8 bits one in a million.
Both are right. So a module of integers may be judged on inputs, too, of which dividing makes what multiplying does of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..analysis.movement import is_cast, moved
from ..ir import BF16, F16, F32, Module, Op, TensorType, Value, update_function_type

__all__ = ["HALVES", "by_reciprocals"]

_NEAR = 8
"""How many floats a number is moved by at most: two roundings of the product and one of the quotient are a few units."""


def _away(numbers: np.ndarray) -> np.ndarray:
    return np.copysign(np.floor(np.abs(numbers.astype(np.float64)) + 0.5), numbers)


HALVES: tuple[Callable[[np.ndarray], np.ndarray], ...] = (_away, np.rint)
"""How halves are rounded to integers: away from zero, or to the even one."""


def by_reciprocals(
    module: Module, given: Mapping[str, np.ndarray], rounded: Callable[[np.ndarray], np.ndarray] = _away,
) -> tuple[Module, dict[str, np.ndarray]] | None:
    """The inputs of a module, given by name in its order, moved so; None where each is quantized to the same by both ways.

    `rounded` is how the module's casts round halves, one of `HALVES`: a product may be one where no quotient is.

    The module that takes them is a new one where inputs are floats of 16 bits, which cannot be moved by so little: there they are
    of 32 bits.
    """
    found, made = dict(given), module
    for index, (name, array) in enumerate(given.items()):
        argument = module.body_of_main.arguments[index]
        numbers = np.asarray(array)
        is_narrow = argument.element_or_none in (F16, BF16) and all(map(_is_quantizing, argument.uses))
        if numbers.dtype != np.float32 and not is_narrow:
            continue
        moved_numbers = start = numbers.astype(np.float32, copy=False)
        for scale in _scales(argument):
            moved_numbers = _moved(moved_numbers, scale, rounded)
        if moved_numbers is start:
            continue
        found[name] = moved_numbers
        if is_narrow:
            made = made.clone() if made is module else made
            wide = made.body_of_main.arguments[index]
            wide.type = TensorType(wide.tensor_type.shape, F32)
            update_function_type(made.main)
    return (made, found) if any(found[name] is not given[name] for name in given) else None


def _is_quantizing(op: Op) -> bool:
    return is_cast(op) and op.results[0].quant is not None


def _scales(argument: Value) -> list[float]:
    """The scales by which an argument is quantized, whether or not it is moved before."""
    scales: dict[float, None] = {}
    pending, seen = [argument], {argument}
    while pending:
        value = pending.pop()
        for user in value.uses:
            made = user.results[0] if user.results else None
            if made is not None and _is_quantizing(user):
                if made.quant is not None and made.quant.per_tensor:
                    scales[made.quant.scale] = None
            elif value in moved(user):
                fresh = [result for result in user.results if result not in seen and isinstance(result.type, TensorType)]
                pending += fresh
                seen.update(fresh)
    return list(scales)


def _moved(array: np.ndarray, scale: float, rounded: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Those numbers moved whose quotient is rounded to another integer than their product is."""
    with np.errstate(all="ignore"):
        product = array * np.float32(1.0 / scale)
        wanted, moved = rounded(product), array
        for _ in range(_NEAR):
            quotient = moved / np.float32(scale)
            apart = rounded(quotient) != wanted
            if not apart.any():
                break
            toward = np.where(quotient < product, np.inf, -np.inf).astype(np.float32)
            moved = np.where(apart, np.nextafter(moved, toward), moved)
    return moved
