"""What a model sees of a picture, so that what it says of places in it is put back into the picture, and told apart by sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import UsageError
from ..ir import TensorType
from ..samples.images import scaled_sizes
from ..samples.preprocess import CHANNELS, Settled

__all__ = ["Seen", "Shown", "Window", "need_alike", "places_in", "seen", "shown_of", "window_of"]

Window = tuple[float, float, float, float]
"""Upper edge, left edge, height and width, in pixels of a picture."""


@dataclass(frozen=True)
class Shown:
    """The picture that a model is given: its rows and columns, where channels lie, and how it was made of an image's file."""

    sizes: tuple[int, int] | None = None
    layout: str | None = None
    """`nchw` or `nhwc`."""
    image: Settled | None = None
    """None where arrays are given."""
    either: tuple[tuple[int, ...], ...] = ()
    """The rows and columns that it may have, where its channels do not tell which."""

    @property
    def is_whole(self) -> bool:
        """Whether all of the picture is shown, and nothing beside it, stretched to whatever shape."""
        how = self.image.pixels if self.image is not None else {}
        return not how or (how["mode"] == "stretch" and tuple(how["resize"]) == tuple(how["crop"]))


@dataclass(frozen=True)
class Seen:
    """A label, with what the model, and the first one, see of the sample: what scores are given that are `pictured`."""

    label: Any
    shown: Shown = field(default_factory=Shown)
    reference: Shown = field(default_factory=Shown)
    picture: tuple[int, int] | None = None
    """The rows and columns of the image that the sample is made of, as it is upright; None where nobody says it."""


def seen(label: Any) -> Seen:
    """A label that nothing more is known of as one with what a model sees."""
    return label if isinstance(label, Seen) else Seen(label)


def shown_of(types: Mapping[str, Any], images: Mapping[str, Settled]) -> Shown:
    """Of the first input that takes a picture: as the samples have settled it, else by its shape, as far as that tells."""
    for name, image in images.items():
        if name in types:
            return Shown(image.preprocess.crop, image.preprocess.channel_format, image)
    either: tuple[tuple[int, ...], ...] = ()
    for type_ in types.values():
        shape = type_.static_shape if isinstance(type_, TensorType) and type_.is_static else None
        if shape is None or len(shape) != 4:
            continue
        first, last = shape[1] in CHANNELS.values(), shape[-1] in CHANNELS.values()
        if first != last:
            return Shown(shape[2:], "nchw") if first else Shown(shape[1:3], "nhwc")
        either = either or (shape[2:], shape[1:3])
    return Shown(either=either)


def need_alike(known: Seen, sizes: tuple[float, float], what: str, made: Sequence[tuple[int, ...]] = ()) -> None:
    """`UsageError` where a label is of so many rows and columns, and its picture is of another shape.

    The label may have more pixels than the picture, or fewer, in the same proportion but for what rounding takes. Where a model
    is shown the whole picture, the label may also have the sizes of that, or those that the model gives (`made`).
    """
    shown = known.shown
    arrays = [size for size in (shown.sizes, *shown.either) if size is not None] if shown.image is None else []
    pictures = [known.picture] if known.picture is not None else arrays
    stretched = (shown.sizes, *made) if shown.is_whole else ()
    if not pictures or sizes in stretched or any(_are_alike(sizes, each) for each in pictures):
        return
    (rows, columns), (of_rows, of_columns) = sizes, pictures[0]
    turned = " (as if turned)" if _are_alike((columns, rows), pictures[0]) else ""
    raise UsageError(
        f"{what} of {rows:g}x{columns:g} pixels are for a picture of {of_rows}x{of_columns}, which has another shape{turned}",
        hint="rows x columns as the picture has them, or all as many times more or fewer; a picture lies as its EXIF turns it")


def _are_alike(sizes: Sequence[float], others: Sequence[float]) -> bool:
    """Whether rows and columns are as one to the other, but for a pixel of whichever has fewer."""
    return abs(sizes[0] * others[1] - sizes[1] * others[0]) <= max(*sizes, *others)


def window_of(shown: Shown, rows: int, columns: int) -> Window:
    """Which part of a picture of so many pixels a model sees: beyond its edges, where it is padded (`images.decode`)."""
    if shown.image is None:
        return 0.0, 0.0, float(rows), float(columns)
    how = shown.image.pixels
    (height, width), (kept_rows, kept_columns) = how["resize"], how["crop"]
    upper, left, down, across = 0.0, 0.0, rows / height, columns / width  # where it begins, and a pixel of what it was resized to
    if how["mode"] != "stretch":
        inner = scaled_sizes(how, rows, columns)
        down, across = rows / inner[0], columns / inner[1]
        if how["mode"] == "short_side_scale":
            upper, left = (inner[0] // 2 - height // 2) * down, (inner[1] // 2 - width // 2) * across
        elif how["pad_type"] == "center":
            upper, left = -((height - inner[0]) // 2) * down, -((width - inner[1]) // 2) * across
    upper += (height // 2 - kept_rows // 2) * down
    left += (width // 2 - kept_columns // 2) * across
    return upper, left, kept_rows * down, kept_columns * across


def places_in(size: int, window: tuple[float, float], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Of each pixel along one side of a picture, which of `count` numbers along a window (its begin and length) stands for it.

    And which pixels lie in the window.
    """
    found = np.floor((np.arange(size) + 0.5 - window[0]) / window[1] * count).astype(np.int64)
    return np.clip(found, 0, count - 1), (found >= 0) & (found < count)
