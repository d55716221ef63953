"""What a model is given, by the name of the input: arrays, and files that hold them.

    given = open_given({"image": "cat.jpg", "x": "x.npy", "step": np.int64(3)})
    module = load(path, inputs=shapes_of(given))     # open sizes are those of the arrays
    arrays = settled(module, given)                  # images as the inputs want them

An `.npy` or `.npz` file says its shapes before its data is read (`transload.arrays`); an image has those of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import ReadError, UsageError
from .escapes import spelt
from .files import is_folder, need_file
from .ir import asked_inputs

if TYPE_CHECKING:
    from .ir import Module
    from .samples.preprocess import Preprocess

__all__ = ["ONLY", "ImageFile", "by_own_names", "has_images", "images_among", "open_file", "open_given", "settled", "shapes_of"]

ONLY = ""
"""The name of an array of which nobody said for which input it is: for the only one."""


@dataclass(frozen=True)
class ImageFile:
    """An image, which becomes an array when the type of its input is known."""

    path: Path


def open_given(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same, with what is a path opened: `.npy` and `.npz` as arrays that are not read yet, all else as an image."""
    if not isinstance(given, Mapping):
        raise UsageError(f"what inputs are given must be a dictionary, and is a {type(given).__name__}", hint='{"image": array}')
    return {name: open_file(Path(value), name) if isinstance(value, str | PathLike) else value for name, value in given.items()}


def open_file(path: Path, name: str = ONLY) -> Any:
    """What a file holds for an input: an array that is not read yet, of an archive the one called so or its only one."""
    from .arrays import open_array, read_arrays

    need_file(path)
    if is_folder(path):
        raise UsageError(
            f"{path} is a directory, and no array or image",
            hint="give one image, .npy or .npz; a folder of samples is for --data of convert, calibrate, quantize and eval")
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return open_array(path)
    if suffix != ".npz":
        return ImageFile(path)
    members = by_own_names(read_arrays(path), [name])
    if name in members:
        return members[name]
    if len(members) == 1:
        return next(iter(members.values()))
    raise ReadError(f"{path}: holds no array {name!r}", hint=f"it holds {', '.join(members) or 'nothing'}")


def by_own_names(given: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """What is given by the `names` of a model's inputs, in place of what archives and messages have for those (`spelt`).

    A name that is itself one of the model's, or none of them however it is spelt, stays.
    """
    known = [*names]
    own = {**{spelt(name): name for name in known if name not in given}, **{name: name for name in known}}
    return {own.get(name, name): value for name, value in given.items()}


def shapes_of(given: Mapping[str, Any], fused: bool = False) -> dict[str, tuple[int, ...]]:
    """The shapes of what has one by itself, by name: `ONLY` has none, and `load` asks the model's input for it.

    None where images are `fused`: pixels that are given have not the shapes of the model's inputs.
    """
    return {} if fused else {
        name: tuple(value.shape) for name, value in given.items()
        if isinstance(getattr(value, "shape", None), tuple)}


def has_images(given: Mapping[str, Any] | None) -> bool:
    """Whether an input is given an image."""
    return any(isinstance(value, ImageFile) for value in (given or {}).values())


def images_among(module: Module, given: Mapping[str, Any]) -> set[str]:
    """The inputs of a module that are given images; the only one, where nobody said for which it is."""
    asked = [*asked_inputs(module)]
    names = {name for name, value in given.items() if isinstance(value, ImageFile)}
    return {asked[0] if name == ONLY and len(asked) == 1 else name for name in names}


def settled(
    module: Module, given: Mapping[str, Any], preprocess: Preprocess | None = None, tell: Callable[[str], Any] | None = None,
) -> dict[str, Any]:
    """What is given with the names of the module's inputs, and images as arrays of their types, of each of which `tell` is told.

    Images become arrays as `preprocess` says; without it, as one that leaves all open does: 0 to 255 span what the input takes.
    """
    from .ir.borders import input_limits
    from .samples.images import read_pixels
    from .samples.preprocess import Preprocess

    named = by_own_names(given, module.inputs)
    if ONLY not in named and not any(isinstance(value, ImageFile) for value in named.values()):
        return named
    types = module.inputs
    if ONLY in named:
        asked = [*asked_inputs(module)]
        if len(asked) != 1:
            raise UsageError(
                f"which input is it for, of {', '.join(asked) or 'none'}?", hint="say it before the file: --input NAME=FILE")
        named = {asked[0]: named[ONLY], **{name: value for name, value in named.items() if name != ONLY}}
    limits = input_limits(module.main)
    if preprocess is not None:
        preprocess.need_inputs(types)
    for name, value in named.items():
        if isinstance(value, ImageFile) and name in types:
            image = (preprocess or Preprocess()).settled(name, types[name], limits.get(name))  # type: ignore[arg-type]
            named[name] = image.numbers(read_pixels(value.path, image.pixels))
            if tell is not None:
                tell(f"{value.path} was made {image}")
    return named
