"""A look at what the IR is given, where that is to be something else than code of ours gives, and how it is told.

Nothing here is called for what fits, but for types of which few are made.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterable
from numbers import Real
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..errors import BuildError, class_name, written
from ..kinds import is_iterable

if TYPE_CHECKING:
    from .core import Block, Op, Region

__all__ = [
    "calling_line", "items_of", "leave_regions", "misfit_part", "misused", "need_free", "need_part", "numbers_of",
    "reals_of", "shown", "sizes_of", "take_regions", "values_of", "whole_of", "wholes_of",
]

V = TypeVar("V")
_PACKAGE = __name__.rpartition(".")[0] + "."


def values_of(where: str, given: Iterable[V], kind: type[V]) -> tuple[V, ...]:
    """What is given, as a tuple; `BuildError` where it is no list of objects of the class `kind`, as `where` begins to say."""
    kind_given = type(given).__name__
    if not is_iterable(given) or isinstance(given, str | bytes | dict):
        raise BuildError(f"{where} {kind_given}, where a list of values is wanted")
    values = tuple(given)
    for index, value in enumerate(values):
        if value.__class__ is not kind:
            raise BuildError(
                f"{where} a {kind_given} with {type(value).__name__} in place {index}, where a value is wanted",
                hint="`constant(...)` of a Builder makes one of numbers, and `op.result` is that of an op")
    return values


def misfit_part(whole: str, part: str, given: object, wanted: str, hint: str = "") -> BuildError:
    """The error for a part that is none: what takes it (`TensorType`), as what (`shape`), what it was given, what is wanted."""
    return BuildError(f"{whole} takes {wanted} as {part}, and was given {shown(given)}", hint, calling_line())


def misused(what: str, hint: str = "") -> BuildError:
    """The error for what the IR does not do, with the line that asks for it."""
    return BuildError(what, hint, calling_line())


def need_part(given: object, kind: type | UnionType, whole: str, part: str, wanted: str, hint: str = "") -> None:
    """`BuildError` where a part is no object of the class `kind`; true and false are no numbers."""
    if not isinstance(given, kind) or (isinstance(given, bool) and kind is int):
        raise misfit_part(whole, part, given, wanted, hint)


def need_free(op: Op, block: Block) -> None:
    """`BuildError` where an op is to be put into a block, and is in one already, or that one is in its own regions."""
    if op.parent is not None:
        raise misused(f"{op.name} is already in a block", "its block's remove() takes it out")
    around = block.parent_op
    while around is not None:
        if around is op:
            raise misused(f"{op.name} is to be in its own region",
                "the region is another op's: regions that are empty are `Region()`")
        around = around.parent_op


def take_regions(op: Op, regions: Iterable[Region]) -> None:
    """Make regions an op's own; `BuildError`, and none is, where one is another's: no two ops share a region."""
    taken: list[Region] = []
    for region in regions:
        owner = region.parent
        if region in taken or (owner is not None and any(each is region for each in owner.regions)):
            raise misused(f"{op.name} is to have a region that is another's, or its own twice",
                          "`release_regions(op)` of `transload.ir.regions` takes an op's from it")
        taken.append(region)
    for region in taken:
        region.parent = op
    op.regions += taken


def leave_regions(op: Op) -> None:
    """Give up the regions of an op that does not come to be."""
    for region in op.regions:
        region.parent = None
    op.regions = []


def items_of(given: Any, kind: type | UnionType, whole: str, part: str, wanted: str) -> tuple[Any, ...]:
    """A list of parts as a tuple; `BuildError` where it is none, or one of them is no object of the class `kind`."""
    if isinstance(given, str | bytes | dict | np.ndarray) or not is_iterable(given):
        raise misfit_part(whole, part, given, f"a tuple of {wanted}")
    items = tuple(given)
    for item in items:
        if not isinstance(item, kind):
            raise misfit_part(whole, part, item, f"{wanted} in the tuple that it takes")
    return items


def sizes_of(given: Any, whole: str, unknown: bool = False) -> tuple[Any, ...]:
    """Sizes of a shape as a tuple of `int`, and of None where they may be `unknown`; `BuildError` where they are none."""
    hint = "a size is a whole number, or None where it is not known before the model runs" if unknown else ""
    if not isinstance(given, tuple | list):
        raise misfit_part(whole, "shape", given, "a tuple of sizes", hint)
    sizes: list[int | None] = []
    for size in given:
        sizes.append(size if size.__class__ is int else _whole(size))
        if sizes[-1] is None and (size is not None or not unknown):
            raise misfit_part(whole, "shape", given, "a tuple of sizes", hint)
    return tuple(sizes)


def whole_of(given: Any, whole: str, part: str) -> int:
    """A whole number as `int`; `BuildError` where it is none."""
    number = given if given.__class__ is int else _whole(given)
    if number is None:
        raise misfit_part(whole, part, given, "a whole number")
    return number


def wholes_of(given: Any, whole: str, part: str) -> tuple[int, ...]:
    """Whole numbers as a tuple of `int`; `BuildError` where they are none."""
    if not isinstance(given, tuple | list | np.ndarray) or any(_whole(each) is None for each in given):
        raise misfit_part(whole, part, given, "a tuple of whole numbers")
    return tuple(map(operator.index, given))


def reals_of(given: Any, whole: str, part: str) -> tuple[float, ...]:
    """Numbers as a tuple of `float`; `BuildError` where they are none."""
    if not isinstance(given, tuple | list) or not all(isinstance(each, Real) and not isinstance(each, bool) for each in given):
        raise misfit_part(whole, part, given, "a tuple of numbers")
    return tuple(map(float, given))


def _whole(given: Any) -> int | None:
    """A number as `int`; None where it is no whole one."""
    if isinstance(given, bool | np.bool_):
        return None
    try:
        return operator.index(given)
    except TypeError:
        return None


def numbers_of(given: Any, whole: str) -> np.ndarray:
    """Numbers as an array; `BuildError` where they are none: objects, text, lists of unlike lengths."""
    try:
        array = np.asarray(given)
    except (TypeError, ValueError):
        array = np.array(None)
    if array.dtype.kind in "OSUMm":
        raise misfit_part(whole, "its data", given, "numbers", "an array, a number, or lists of numbers")
    return array


def shown(given: object) -> str:
    """What was given, in a few words."""
    if isinstance(given, np.ndarray):
        return f"an array of {given.dtype} {given.shape}"
    if isinstance(given, type):
        return f"the class {given.__name__}"
    return f"{written(given):.60} ({class_name(given)})" if given is not None else "None"


def calling_line() -> str:
    """The line that asked the IR for something: the last one outside of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        frame = frame.f_back
    file = frame.f_code.co_filename.replace("\\", "/").split("/")
    return f"{'/'.join(file[-2:])}:{frame.f_lineno}"
