"""Sizes of which a model makes something: what is shown as an example was tried, where a file is for fixed sizes.

Exporters write sizes of the example that they were given into reshapes, and say all the same that a size is open. No reader sees
that: what refuses other sizes is what a conversion does next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product
from time import monotonic

from .input_shapes import Size, SizesMissing, example_of
from .ir import Module
from .ir.build import constant_of

__all__ = ["say_what_fits"]

_TRIALS, _SECONDS = 12, 10.0
"""How many sizes are tried, and the time after which no other is."""
_NUMBERS = 8
"""The elements of a constant that may be a shape."""
_SIZES = range(2, 1 << 16)
"""What is tried as a size."""


def say_what_fits(error: SizesMissing, attempt: Callable[[Mapping[str, tuple[int, ...]]], tuple[Module | None, str]]) -> None:
    """Put into the hint of an error an example that fits, where the one that it has does not, because of the sizes in it.

    `attempt` gives of the shapes of inputs what is read with them, and why it cannot be converted, empty where it can be. Where
    that is the same whatever the sizes are, it is not because of them, and the hint stays.
    """
    if error.example is None or not any(_names(error.inputs)):
        return
    until = monotonic() + _SECONDS
    module, first = attempt(error.example)
    if not first or module is None:
        return
    tried = [_said(error.example, error.inputs)]
    depends = False
    for shapes in islice(_candidates(error.inputs, _numbers(module)), _TRIALS):
        if monotonic() > until:
            break
        _, why = attempt(shapes)
        if not why:
            error.hint = example_of(shapes, error.inputs)
            return
        depends = depends or why != first
        tried.append(_said(shapes, error.inputs))
    if depends:
        error.hint = (f"say the sizes that the file was exported with: it seems to be for fixed sizes, and takes none of these: "
                      f"{'; '.join(dict.fromkeys(tried))}")


def _names(inputs: Mapping[str, Sequence[Size] | None]) -> list[str]:
    """The names of sizes that are open; none where one is open that has no name, or a rank is."""
    shapes = list(inputs.values())
    if any(shape is None or None in shape for shape in shapes):
        return []
    return list(dict.fromkeys(size for shape in shapes for size in shape or () if isinstance(size, str)))


def _numbers(module: Module) -> list[int]:
    """The numbers that constants hold which may be shapes, the most frequent first."""
    counts: dict[int, int] = {}
    for op in module.walk():
        held = constant_of(op.results[0]) if len(op.results) == 1 else None
        if held is None:
            continue
        array = held.numpy()
        if array.dtype.kind == "i" and array.size <= _NUMBERS:
            for number in array.ravel().tolist():
                if number in _SIZES:
                    counts[number] = counts.get(number, 0) + 1
    return sorted(counts, key=lambda number: -counts[number])


def _candidates(inputs: Mapping[str, Sequence[Size] | None], numbers: Sequence[int]) -> Iterator[dict[str, tuple[int, ...]]]:
    """Shapes of all inputs with numbers that the model itself holds, or 1, in the place of sizes that are open."""
    names = _names(inputs)
    for chosen in product([*numbers, 1], repeat=len(names)):
        sizes = dict(zip(names, chosen, strict=True))
        yield {name: tuple(size if isinstance(size, int) else sizes[str(size)] for size in shape or ())
               for name, shape in inputs.items()}


def _said(shapes: Mapping[str, Sequence[int]], inputs: Mapping[str, Sequence[Size] | None]) -> str:
    """Which sizes were tried, by their names."""
    sizes = {open_: size for name, shape in inputs.items() for open_, size in zip(shape or (), shapes[name], strict=True)
             if isinstance(open_, str)}
    return ", ".join(f"{name}={size}" for name, size in sizes.items())
