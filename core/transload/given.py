"""What a model is given, by the name of the input: arrays, and files that hold them.

    given = open_given({"image": "cat.jpg", "x": "x.npy", "step": np.int64(3)})
    module = load(path, inputs=shapes_of(given))     # open sizes are those of the arrays
    arrays = settled(module, given)                  # images as the inputs want them

An `.npy` or `.npz` file says its shapes before its data is read (`transload.arrays`); an image has those of the input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import ReadError, UsageError
from .files import need_file

if TYPE_CHECKING:
    import numpy as np

    from .ir import Module, TensorType

__all__ = ["ONLY", "ImageFile", "open_file", "open_given", "settled", "shapes_of"]

ONLY = ""
"""The name of an array of which nobody said for which input it is: for the only one."""
_CHANNELS = (1, 3, 4)
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_FORMATS = ("JPEG", "PNG", "BMP", "PPM", "WEBP")


@dataclass(frozen=True)
class ImageFile:
    """An image, which becomes an array when the type of its input is known."""

    path: Path


def open_given(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same, with what is a path opened: `.npy` and `.npz` as arrays that are not read yet, all else as an image."""
    return {name: open_file(Path(value), name) if isinstance(value, str | Path) else value for name, value in given.items()}


def open_file(path: Path, name: str = ONLY) -> Any:
    """What a file holds for an input: an array that is not read yet, of an archive the one called so or its only one."""
    from .arrays import open_array, read_arrays

    need_file(path)
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return open_array(path)
    if suffix != ".npz":
        return ImageFile(path)
    members = read_arrays(path)
    if name in members:
        return members[name]
    if len(members) == 1:
        return next(iter(members.values()))
    raise ReadError(f"{path}: holds no array {name!r}", hint=f"it holds {', '.join(members) or 'nothing'}")


def shapes_of(given: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shapes of what has one by itself, by name; without what has no name."""
    return {
        name: tuple(value.shape) for name, value in given.items()
        if name != ONLY and isinstance(getattr(value, "shape", None), tuple)}


def settled(module: Module, given: Mapping[str, Any]) -> dict[str, Any]:
    """What is given with the names of the module's inputs, and images as arrays of their types, which its notes say."""
    named = dict(given)
    if ONLY not in named and not any(isinstance(value, ImageFile) for value in named.values()):
        return named
    types = module.inputs
    if ONLY in named:
        if len(types) != 1:
            raise UsageError(
                f"which input is it for, of {', '.join(types) or 'none'}?", hint="say it before the file: --input NAME=FILE")
        named = {next(iter(types)): named[ONLY], **{name: value for name, value in named.items() if name != ONLY}}
    for name, value in named.items():
        if isinstance(value, ImageFile) and name in types:
            named[name], note = _pixels(value.path, types[name], name, _range_of(module, name))  # type: ignore[arg-type]
            module.notes = (*module.notes, note)
    return named


def _range_of(module: Module, name: str) -> tuple[float, float] | None:
    """The values that an input takes, where the model's file says them."""
    from .ir.borders import RANGE

    attributes = module.main.attributes.get("arg_attrs") or []
    place = list(module.inputs).index(name)
    limits = attributes[place].get(RANGE) if place < len(attributes) else None
    return (float(limits[0]), float(limits[1])) if limits is not None else None


def _pixels(path: Path, type_: TensorType, name: str, limits: tuple[float, float] | None) -> tuple[np.ndarray, str]:
    """An image in an input's size, layout and element type, and what became of its pixels, in words.

    Pixels of 0 to 255 span the stored numbers of bytes, and of floats the range that the file says, or 0 to 1.
    """
    import numpy as np

    from .ir import FloatType, IntegerType, QuantType, dtype_of

    rows, columns, channels, first = _layout(type_, name)
    image = _read_image(path, (columns, rows), channels).astype(np.float64)
    element = type_.element.storage if isinstance(type_.element, QuantType) else type_.element
    if isinstance(element, FloatType):
        low, high = limits or (0.0, 1.0)
    elif isinstance(element, IntegerType) and element.width == 8:
        low, high = element.range
    else:
        raise UsageError(f"input {name!r} takes {type_}, and no image", hint="give an .npy file")
    values = low + image * ((high - low) / 255)
    arranged = np.moveaxis(values, -1, 0) if first else values
    array = arranged.reshape(_sizes(type_)).astype(dtype_of(type_.element))
    return array, f"{path} was made {columns}x{rows} pixels for input {name!r}, 0 to 255 as {low:g} to {high:g}"


def _sizes(type_: TensorType) -> tuple[int, ...]:
    return tuple(size or 0 for size in type_.shape or ())


def _layout(type_: TensorType, name: str) -> tuple[int, int, int, bool]:
    """Rows, columns and channels of an input, and whether the channels come first."""
    shape = _sizes(type_)
    sizes = shape[1:] if len(shape) == 4 and shape[0] == 1 else shape
    if len(sizes) == 2:
        return sizes[0], sizes[1], 1, False
    if len(sizes) == 3 and sizes[2] in _CHANNELS:
        return sizes[0], sizes[1], sizes[2], False
    if len(sizes) == 3 and sizes[0] in _CHANNELS:
        return sizes[1], sizes[2], sizes[0], True
    raise UsageError(f"input {name!r} takes {type_}, and no image", hint="give an .npy file")


def _read_image(path: Path, size: tuple[int, int], channels: int) -> np.ndarray:
    import numpy as np

    try:
        from PIL import Image
    except ImportError:
        raise UsageError(
            f"{path}: reading images needs Pillow", hint="pip install 'transload[images]', or give an .npy file") from None
    try:
        with Image.open(path, formats=_FORMATS) as image:
            scaled = image.convert(_MODES[channels]).resize(size, Image.Resampling.BILINEAR)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ReadError(f"{path}: is no .npy, .npz or image: {error}") from None
    return np.asarray(scaled).reshape(size[1], size[0], channels)
