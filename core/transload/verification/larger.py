"""Inputs that are larger than the usual ones, for what does not show in small numbers.

Of noise around 0 with deviation 1 little reaches an upper bound of 6, and no time step shows in zeros and ones. So what passed on
the usual inputs is run on larger ones, too: floats ten times as large, and wide integers up to 1000 of either sign, where nothing
but numbers is computed of them. Pictures of 0 to 255 are larger yet, and none of their numbers is below zero: of a model that
takes such, a weight or a bias that is wrong may not show in noise around zero, which is nearly black.

All these may lie outside of what a model is for: what is no number there says nothing, nor do floats that become integers that do
not hold them, which each runtime makes otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..analysis.movement import any_rounds, index_operands, is_float_of_integers
from ..engine.choice import work_of
from ..ir import BOOL, FloatType, IntegerType, Module, Op, TensorType, Value, input_types
from ..ir.borders import RANGE
from ..ir.build import constant_of
from .further import takes_little
from .inputs import random_inputs
from .offsets import has_short_floats

__all__ = ["LARGER", "MANY_ELEMENTS", "MANY_PRODUCTS", "MASKS", "computed_integers", "larger_inputs"]

LARGER = 10.0
"""The deviation of larger floats."""
_OF_PICTURES = (100.0, 30.0, 100.0)
"""The deviations of floats that are as those of pictures: none is below zero, and of 100 one in ninety is above 255. Where wide
ones saturate all outputs, narrower ones may not."""
_APART = 5000
"""Their seeds are as far from those of other inputs, and from each other."""
MANY_PRODUCTS, MANY_ELEMENTS = 1 << 34, 1 << 28
"""The work of a run that is worth another one: some seconds."""
MASKS = 1000.0
"""A factor or a limit as large as this makes a number out of a 0 or a 1 beside which all others vanish: it is of a mask."""


def larger_inputs(
    source: Module, hub: Module | None, result: Module, seed: int, pictures: bool = True,
) -> Iterator[dict[str, np.ndarray]]:
    """Larger inputs, each of them to be judged, those as `pictures` last. None where floats of 16 bits are computed with,
    whose roundings grow with them to any size, and none where running costs much."""
    if hub is None or has_short_floats(source, hub, result):
        return
    if any_rounds(hub.ops()):  # of one too large some runtimes make the greatest integer, others what bits are left
        return
    work = work_of(result)
    if work.products > MANY_PRODUCTS or work.elements > MANY_ELEMENTS:
        return
    integers, any_float = computed_integers(hub), _any_float(source)
    above = dict.fromkeys(integers, 1)
    if integers or any_float:
        yield random_inputs(source, hub, seed, spread=LARGER, far=above)
    if integers:  # in one of few large numbers a small one of the other sign does not show
        yield random_inputs(source, hub, seed, far=dict.fromkeys(integers, -1))
    if integers:  # of a single number, one of all sizes is a small one more often than not
        yield random_inputs(source, hub, seed, far=above, evenly=True)
    if not any_float or not pictures:
        return
    for number, spread in enumerate(_OF_PICTURES if takes_little(work) else _OF_PICTURES[:1], 1):
        yield random_inputs(source, hub, seed + _APART * number, spread=spread, far=above, side=1)


def _any_float(source: Module) -> bool:
    """Whether there are inputs of floats of which the file does not say in which range they lie."""
    types = input_types(source.main)
    attributes = source.main.attributes.get("arg_attrs") or [{}] * len(types)
    return any(isinstance(type_, TensorType) and isinstance(type_.element, FloatType) and RANGE not in said
               for type_, said in zip(types, attributes, strict=True))


def computed_integers(hub: Module) -> frozenset[int]:
    """The arguments, by number, of wide integers that become floats and are computed with as these.

    What may be a place, a size, a condition or a mask is none of them.
    """
    return frozenset(index for index, argument in enumerate(hub.body_of_main.arguments) if _is_computed(argument))


def _is_computed(argument: Value) -> bool:
    element = argument.element_or_none
    if not isinstance(element, IntegerType) or element.width <= 16:
        return False
    pending, seen, becomes_float = [argument], {argument}, False
    while pending:
        value = pending.pop()
        for user in value.uses:
            if not _computes(user, value, seen):
                return False
            becomes_float = becomes_float or is_float_of_integers(user)
            pending += [result for result in user.results if result not in seen]
            seen.update(user.results)
    return becomes_float


def _computes(user: Op, value: Value, seen: set[Value]) -> bool:
    """Whether an op takes a value, one of those `seen`, as a number, and gives numbers."""
    if user.regions or any(place < len(user.operands) and user.operands[place] in seen for place in index_operands(user)):
        return False
    if any(result.element_or_none == BOOL for result in user.results):
        return False
    if isinstance(value.element_or_none, IntegerType) and not is_float_of_integers(user):
        return all(isinstance(result.element_or_none, IntegerType) for result in user.results)
    return not any(map(_is_of_masks, user.operands))


def _is_of_masks(value: Value) -> bool:
    dense = constant_of(value)
    return dense is not None and dense.type.num_elements == 1 and bool(np.abs(dense.numpy().astype(np.float64)).max() >= MASKS)
