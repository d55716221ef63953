"""Sizes that a module's inputs leave open: what is done where they are not taken, and what is said of them.

What `convert` converts has none: it reads a model with 1 for a batch, and asks for other sizes. A module that is read for itself
may keep them open, where its reader leaves them so; many ops, and many conversions, take known sizes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from .errors import ConversionError
from .input_shapes import SizesMissing, static_inputs
from .ir import Module, TensorType

__all__ = ["need_of_sizes", "open_inputs", "tried"]

T = TypeVar("T")


def open_inputs(module: Module) -> dict[str, TensorType]:
    """The inputs of a model that have sizes nobody said, or not even a rank."""
    types = module.inputs if "main" in module.functions else {}
    return {name: type_ for name, type_ in types.items()
            if isinstance(type_, TensorType) and (type_.shape is None or None in type_.shape)}


def tried(read: Callable[[], Module], use: Callable[[Module], T], module: Module | None = None) -> tuple[Module, T]:
    """A model, and what `use` makes of it; where it cannot with open sizes, of the model read once more, as `convert` does.

    `module` is what `read` gave before, if it did. Raises the `ConversionError` of `use`: the first, where the sizes stay open or
    only the user knows them.
    """
    module = read() if module is None else module
    try:
        return module, use(module)
    except ConversionError:
        if not open_inputs(module):
            raise
        try:
            with static_inputs():
                again = read()
        except SizesMissing:  # `convert` asks for them
            again = module
        if open_inputs(again):
            raise
    return again, use(again)


@contextmanager
def need_of_sizes(module: Module) -> Iterator[None]:
    """Add to a `ConversionError` that the model's inputs have open sizes, where they have, and how they are given."""
    left = open_inputs(module)
    try:
        yield
    except ConversionError as error:
        if left:
            error.hint = f"{error.hint}; {_said(left)}" if error.hint else _said(left)
        raise


def _said(left: dict[str, TensorType]) -> str:
    types = ", ".join(f"{name!r} is {type_}" for name, type_ in left.items())
    known = {name: [_likely(place, size) for place, size in enumerate(type_.shape or ())] or ["SIZE"]
             for name, type_ in left.items()}
    shapes = ", ".join(f"{name!r}: ({', '.join(sizes)}{',' * (len(sizes) == 1)})" for name, sizes in known.items())
    return (f"sizes of its inputs are open ({types}), and what is not taken may be taken of known ones, which reading gives: "
            f"transload.load(..., inputs={{{shapes}}})")


def _likely(place: int, size: int | None) -> str:
    """A size as the example says it: the first, left open, is that of a batch."""
    return str(size) if size is not None else "SIZE" if place else "1"
