"""Static shapes for a model's inputs: what the file says, what the user gives, and 1 for a batch.

A file may leave sizes of inputs unknown. One with a name ("height") is the same wherever the name occurs; one without is known
by nobody but the user, and has nothing to do with any other. Only the leading size of an input, where nothing says that it is
no batch, becomes 1 by itself, and that is noted; all other sizes are asked for, of all inputs at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

from .errors import Finding, ReadError, UsageError
from .limits import MAX_ELEMENTS
from .shell import quoted
from .sizes_text import sizes_text
from .suggest import nearest

__all__ = [
    "NoInput", "Size", "SizesMissing", "StaticShapes", "anonymous", "example_of", "may_stay_open", "nearest_of", "no_input",
    "shape_said", "shapes_asked", "sizes_given", "sizes_of_another", "sizes_said", "static_inputs", "static_shapes",
]

Size = int | str | None
"""A size in a file: a number, the name of an unknown one, or None for an unknown one without a name."""

_NO_BATCH = re.compile(r"seq|len|time|step|frame|height|width|token", re.IGNORECASE)
_BATCH = re.compile(r"batch|^(n|b|bs)$", re.IGNORECASE)
_TRIED = 4
"""Inputs of which examples are tried that no batch leads."""
_PIXELS, _LENGTH = 224, 128
"""Sizes in the example that a user is shown: of an image, of any other dimension."""


@dataclass(frozen=True)
class StaticShapes:
    """The shape of each input, and what was chosen that nobody said, in words."""

    shapes: dict[str, tuple[int, ...]]
    notes: tuple[str, ...]


class SizesMissing(ReadError):
    """Inputs have sizes that only the user knows; `inputs` are all that the model has, and what is known of their shapes."""

    def __init__(
        self, message: str, findings: Sequence[Finding] = (), hint: str = "",
        inputs: Mapping[str, Sequence[Size] | None] | None = None, example: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        super().__init__(message, findings, hint)
        self.inputs = dict(inputs or {})
        self.example = example
        """The shapes of all inputs in the example that the hint names, if it names one."""


@dataclass(frozen=True)
class _Sizes:
    """Sizes by the names that files give them, and that of the batch."""

    named: Mapping[str, int] = field(default_factory=dict)
    batch: int | None = None
    """None where nobody said it: it is 1 then."""
    needed: bool = False
    """Whether the inputs of what is read must be static."""
    of_another: bool = False
    """Whether they were given for another model: those that this one has not are passed over."""


_NONE = _Sizes()
_ASKED: ContextVar[list[str] | None] = ContextVar("for what static shapes were asked", default=None)
_GIVEN: ContextVar[_Sizes] = ContextVar("sizes that the user gives by name")


@contextmanager
def sizes_given(named: Mapping[str, int] | None = None, batch: int | None = None) -> Iterator[None]:
    """While it is open, models are read with these sizes of dimensions that files only name, and with this size of the batch.

    Raises `UsageError` for sizes that there cannot be.
    """
    for name, size in (*(named or {}).items(), *([("the batch", batch)] if batch is not None else [])):
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise UsageError(f"the size of {name} must be a whole number from 1 on, and is {size!r}")
        if size > MAX_ELEMENTS:
            raise UsageError(f"the size of {name} is {size}; {MAX_ELEMENTS:,} elements are the limit")
    before = _GIVEN.get(_NONE)
    with _said(named={**before.named, **(named or {})}, batch=before.batch if batch is None else batch):
        yield


@contextmanager
def _said(**changes: Any) -> Iterator[None]:
    """While it is open, what is said of sizes is this, too."""
    token = _GIVEN.set(replace(_GIVEN.get(_NONE), **changes))
    try:
        yield
    finally:
        _GIVEN.reset(token)


def sizes_said() -> tuple[dict[str, int], int | None]:
    """What `sizes_given` said: sizes by name, and that of the batch, for who reads models elsewhere."""
    given = _GIVEN.get(_NONE)
    return dict(given.named), given.batch


@contextmanager
def static_inputs() -> Iterator[None]:
    """While it is open, models are read with inputs of static shapes alone, by readers that can leave sizes open, too."""
    with _said(needed=True):
        yield


@contextmanager
def sizes_of_another() -> Iterator[None]:
    """While it is open, what is read was made of the model that sizes were given for: it may have them, and need not."""
    with _said(of_another=True):
        yield


@contextmanager
def shapes_asked() -> Iterator[list[str]]:
    """While it is open, the list gets what `static_shapes` is asked for: a reader that asks settles sizes itself."""
    asked: list[str] = []
    token = _ASKED.set(asked)
    try:
        yield asked
    finally:
        _ASKED.reset(token)


def may_stay_open() -> bool:
    """Whether a reader whose programs run with any sizes may leave those open that nobody gives."""
    given = _GIVEN.get(_NONE)
    return not given.named and given.batch is None and not given.needed


def anonymous(name: str) -> bool:
    """Whether what a file gives as the name of a size is none: exporters write `?`, `None` or `-1` where they know nothing."""
    return name.strip() in ("", "?", "None", "-1")


def static_shapes(
    declared: Mapping[str, Sequence[Size] | None], given: Mapping[str, Sequence[int | None]], where: str,
    likely: Callable[[str], Sequence[int]] | None = None, allowed: Mapping[str, range] | None = None,
    fits: Callable[[Mapping[str, tuple[int, ...]]], bool] | None = None, shows_numbers: bool = True,
) -> StaticShapes:
    """The static shape of every input in `declared` (None: not even the rank is known), with the shapes that the user gives.

    `allowed` are the numbers that sizes may be, by their names, where a file says them: what is chosen or shown is one of them.

    Raises `UsageError` where `given` names no input or does not fit one, and `ReadError` that lists every input with sizes
    that must be given, with an example of the flags that give them all: `likely` says of an input of which not even the rank is
    known what it may be, and `fits` whether the model takes the shapes of an example. Without `shows_numbers`, of models for
    which no example can be tried, `SIZE` stands for each that is missing.
    """
    if (asked := _ASKED.get()) is not None:
        asked.append(where)
    unknown = [name for name in given if name not in declared]
    if unknown:
        raise no_input(unknown[0], declared, where)
    sizes = _named_sizes(declared, where)
    shapes: dict[str, list[Size] | None] = {}
    for name, shape in declared.items():
        shapes[name] = _fit(name, shape, given.get(name), sizes, where)
    notes = _choose_batches(shapes, sizes, where, allowed or {})
    resolved = {name: None if shape is None else [_known(size, sizes) for size in shape] for name, shape in shapes.items()}
    missing = [
        Finding(f"input {name!r}", "has no shape, not even a rank" if shape is None
                else f"has sizes that only the user knows: {_text(_open(declared[name], shape), sizes)}")
        for name, shape in shapes.items() if shape is None or any(not isinstance(size, int) for size in resolved[name] or ())]
    if missing:
        example, made = _example(declared, resolved, likely, allowed or {}, fits) if shows_numbers else (
            f"say them as {_form(resolved)}, each SIZE being a number that the model takes", None)
        raise SizesMissing(f"{where}: the model's inputs have no static shape", missing, example, resolved, made)
    return StaticShapes({name: tuple(shape) for name, shape in resolved.items()}, notes)  # type: ignore[arg-type]


class NoInput(UsageError):
    """Something is said of an input that a model does not have; `known` are those that it has."""

    def __init__(self, message: str, findings: Sequence[Finding] = (), hint: str = "", known: Sequence[str] = ()) -> None:
        super().__init__(message, findings, hint)
        self.known = known


def no_input(name: str, known: Iterable[str], where: str) -> NoInput:
    """The error for an input that there is not among those that are known."""
    names = list(known)
    guess = nearest(name, names)
    return NoInput(f"{where} has no input {name!r}",
                   hint=(f"did you mean {guess!r}? " if guess else "") + f"inputs: {', '.join(names) or 'none'}", known=names)


def _named_sizes(declared: Mapping[str, Sequence[Size] | None], where: str) -> dict[str, int]:
    """The sizes that the user gives by name, all of which the inputs must have."""
    given = _GIVEN.get(_NONE).named
    names = dict.fromkeys(size for shape in declared.values() for size in shape or () if isinstance(size, str))
    unknown = [name for name in given if name not in names]
    if unknown and not _GIVEN.get(_NONE).of_another:
        guess = nearest(unknown[0], list(names))
        raise UsageError(
            f"{where}: no input has a dimension called {unknown[0]!r}",
            hint=(f"did you mean {guess!r}? " if guess else "") + (f"they are called {', '.join(names)}"
                  if names else "no size of it has a name"))
    return {name: size for name, size in given.items() if name in names}


def _fit(
    name: str, shape: Sequence[Size] | None, given: Sequence[int | None] | None, sizes: dict[str, int], where: str,
) -> list[Size] | None:
    """The sizes of one input with those that the user gives for it; named ones are entered into `sizes`."""
    if given is None:
        return None if shape is None else list(shape)
    if shape is None:
        return list(given)
    if len(shape) != len(given):
        raise UsageError(f"{where}: input {name!r} has {len(shape)} dimensions, and {len(given)} sizes were given for it")
    fitted: list[Size] = []
    for place, (size, wanted) in enumerate(zip(shape, given, strict=True)):
        known = _known(size, sizes)
        if isinstance(known, int) and wanted is not None and known != wanted:
            reason = f"size {size!r}, given before, is" if isinstance(size, str) else "the model fixes it to"
            raise UsageError(f"{where}: dimension {place} of input {name!r} cannot be {wanted}: {reason} {known}")
        if isinstance(size, str) and wanted is not None:
            sizes[size] = wanted
        fitted.append(size if wanted is None else wanted)
    return fitted


def _known(size: Size, sizes: Mapping[str, int]) -> Size:
    return sizes.get(size, size) if isinstance(size, str) else size


def _repeated(shapes: Mapping[str, Sequence[Size] | None]) -> set[Size]:
    """The names of sizes that one of the shapes has twice, as a square has, whose second size no batch is."""
    held = [list(shape) for shape in shapes.values() if shape is not None]
    return {size for shape in held for size in shape if isinstance(size, str) and shape.count(size) > 1}


def _batch_place(shape: Sequence[Size], repeated: Collection[Size]) -> int | None:
    """Where a shape whose leading size is open has its batch: there, but for a name that another size has.

    A size that is `repeated` in any shape is none.
    """
    first = shape[0]
    if isinstance(first, str) and _BATCH.search(first) is None:
        for place, size in enumerate(shape):
            if isinstance(size, str) and _BATCH.search(size) is not None and size not in repeated:
                return place  # the file itself says which it is, as of steps x batch x features
    if first in repeated:
        return None
    if isinstance(first, str) and _BATCH.search(first) is not None:
        return 0
    return 0 if len(shape) > 1 and not (isinstance(first, str) and _NO_BATCH.search(first)) else None


def _choose_batches(
    shapes: Mapping[str, list[Size] | None], sizes: dict[str, int], where: str, allowed: Mapping[str, range],
) -> tuple[str, ...]:
    """Make the leading sizes that are batches 1, or what the user says, in place; what was chosen, in words.

    Raises `UsageError` where the user says a size, and it is of no use.
    """
    chosen: dict[tuple[str, int], list[str]] = {}
    asked = _GIVEN.get(_NONE).batch
    batch = 1 if asked is None else asked
    repeated = _repeated(shapes)
    for name, shape in shapes.items():
        if not shape or isinstance(shape[0], int):
            continue
        place = _batch_place(shape, repeated)
        if place is not None and not isinstance(_known(shape[place], sizes), int):
            first = shape[place]
            shape[place] = made = batch if asked is not None else nearest_of(batch, allowed.get(str(first)))
            if isinstance(first, str):
                sizes[first] = made
            chosen.setdefault((f"size {first!r}" if isinstance(first, str) else "first size", made), []).append(name)
    has_none = not chosen and all(not shape or _known(shape[0], sizes) != asked for shape in shapes.values())
    if asked is not None and has_none and not _GIVEN.get(_NONE).of_another:
        raise UsageError(
            f"{where}: no input leaves the size of its batch open, so it cannot be {asked}",
            hint="; ".join(f"{name!r} is {_text(shape, sizes)}" for name, shape in list(shapes.items())[:8] if shape))
    other = "; --batch SIZE makes it another" if asked is None else ""
    return tuple(
        f"the {what} of {', '.join(map(repr, names))}, unknown in the file, was taken for the batch and made {made}{other}"
        for (what, made), names in chosen.items())


def nearest_of(size: int, allowed: range | None) -> int:
    """The size, or that of those which are allowed that is nearest to it."""
    if not allowed or size in allowed:
        return size
    place = (size - allowed.start) // allowed.step
    return allowed[min(max(place, 0), len(allowed) - 1)]


def _text(shape: Sequence[Size], sizes: Mapping[str, int]) -> str:
    return sizes_text(None if size is None else _known(size, sizes) for size in shape)


def _example(
    declared: Mapping[str, Sequence[Size] | None], shapes: Mapping[str, Sequence[Size] | None],
    likely: Callable[[str], Sequence[int]] | None, allowed: Mapping[str, range],
    fits: Callable[[Mapping[str, tuple[int, ...]]], bool] | None,
) -> tuple[str, Mapping[str, tuple[int, ...]] | None]:
    """Flags that give a shape to every input that lacks one: such as the model takes, where it is tried; these shapes."""
    for made in _examples(declared, shapes, likely, allowed):
        if fits is None or fits(made):
            return example_of(made, shapes), made
    return f"say them as {_form(shapes)}: the model takes none of those that were tried", None


def example_of(made: Mapping[str, Sequence[int]], shapes: Mapping[str, Sequence[Size] | None]) -> str:
    """What to say of inputs of which `shapes` are known, to give all of them those that are `made`."""
    lacking = _lacking(shapes)
    given = [name for name in made if name in lacking or list(made[name]) != list(shapes[name] or ())]
    return f"say them, for example: {' '.join(_flag(name, made[name]) for name in given)}"


def _lacking(shapes: Mapping[str, Sequence[Size] | None]) -> list[str]:
    return [name for name, shape in shapes.items() if shape is None or not all(isinstance(size, int) for size in shape)]


def _form(shapes: Mapping[str, Sequence[Size] | None]) -> str:
    """Flags as in an example, with a word in the place of each size that is missing."""
    return " ".join(_flag(name, ["SIZE", "..."] if (sizes := shapes[name]) is None else
                          [size if isinstance(size, int) else "SIZE" for size in sizes]) for name in _lacking(shapes))


def _examples(
    declared: Mapping[str, Sequence[Size] | None], shapes: Mapping[str, Sequence[Size] | None],
    likely: Callable[[str], Sequence[int]] | None, allowed: Mapping[str, range],
) -> Iterator[dict[str, tuple[int, ...]]]:
    """Shapes of all inputs that may fit one another: that of one which is given for those declared as that is, what is likely of
    each, then with leading sizes that are no batch.

    A matrix that another is multiplied by has as many rows as that has columns; both begin as what may be a batch.
    """
    repeated = _repeated(shapes)

    def made(open_: Collection[str], whole: int | None = None) -> dict[str, tuple[int, ...]]:
        named: dict[str, int] = {}
        found: dict[str, tuple[int, ...]] = {}
        for name, shape in shapes.items():
            if shape is None:
                found[name] = tuple(likely(name) if likely is not None else (1, 3, _PIXELS, _PIXELS))
            elif _is_image(declared[name]) and shape[1] is None:
                found[name] = (_PIXELS, _PIXELS, *shape[2:])  # type: ignore[arg-type]
            elif name in open_:
                found[name] = tuple(
                    size if isinstance(size, int) else _same(size, whole or _LENGTH, named, allowed)
                    for size in _without_batch(declared[name], shape))
            else:
                found[name] = tuple(_likely(shape, place, named, allowed, repeated) for place in range(len(shape)))
        return found

    whole = {tuple(declared[name] or ()): tuple(shape) for name, shape in shapes.items() if shape is not None and _is_told(shape)}
    alike = {name: whole[key] for name, shape in shapes.items()
             if shape is not None and not _is_told(shape) and (key := tuple(declared[name] or ())) in whole}
    if alike:
        yield made(()) | alike
    yield made(())
    several = [name for name, shape in shapes.items() if shape is not None and declared[name] != list(shape)]
    for name in reversed(several[:_TRIED]):
        yield made((name,))
    yield made(several)
    yield made(several, 1)


def _is_told(shape: Sequence[Size]) -> TypeGuard[Sequence[int]]:
    """Whether all sizes of a shape are known."""
    return all(isinstance(size, int) for size in shape)


def _without_batch(declared: Sequence[Size] | None, shape: Sequence[Size]) -> Sequence[Size]:
    """A shape whose leading size, which has no name and was taken for a batch where nobody said one, is open again."""
    if declared is None or _GIVEN.get(_NONE).batch is not None:
        return shape
    return [None, *shape[1:]] if shape and declared[0] is None else shape


def _is_image(shape: Sequence[Size] | None) -> bool:
    """Whether a shape is that of one image, of open height and width, whose first size is no batch.

    One or four channels are rather those of a batch of sequences: samples of sound, letters of a genome.
    """
    return shape is not None and len(shape) == 3 and list(shape) == [None, None, 3]


def _open(declared: Sequence[Size] | None, shape: Sequence[Size]) -> Sequence[Size]:
    """A shape as the example takes it: an image has no batch."""
    return declared if declared is not None and _is_image(declared) else shape


def _flag(name: str, sizes: Sequence[int | str]) -> str:
    """As it can be typed: quoted where a shell would read more into the name."""
    return f"--shape {quoted(shape_said(name, sizes))}"


def shape_said(name: str, sizes: Sequence[int | str]) -> str:
    """What `--shape` says of an input."""
    return f"{name}:{sizes_text(sizes)}"


def _likely(
    shape: Sequence[Size], place: int, named: dict[str, int], allowed: Mapping[str, range], repeated: Collection[Size],
) -> int:
    """A size for the example: pixels in images, 1 for what lies between the first and the last of three, else a length."""
    size = shape[place]
    if isinstance(size, int):
        return size
    likely = _PIXELS if len(shape) >= 4 else _LENGTH
    if (place == 0 and len(shape) > 1 and size not in repeated) or (place == 1 and len(shape) == 3):
        likely = 1
    return _same(size, likely, named, allowed)


def _same(size: str | None, likely: int, named: dict[str, int], allowed: Mapping[str, range]) -> int:
    """A size for the example, which is the same wherever its name occurs."""
    return likely if size is None else named.setdefault(size, nearest_of(likely, allowed.get(size)))
