"""Scores of pictures: classes pixel by pixel, and how near pictures are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import UsageError
from ..samples.sources import same_but_ones
from .seen import Seen, Shown, need_alike, places_in, seen, window_of

__all__ = ["NO_CLASS", "classes_of", "mean_overlap", "overlaps", "pixels", "with_scale"]

Outputs = Mapping[str, np.ndarray]
NO_CLASS = 255
"""What masks have where no class counts (PASCAL VOC)."""
_SURE, _BEYOND = 0.5, 0.25
"""From what on a pixel is of the class that a model of one class gives a share for, and how far out of 0 to 1 enlarging a picture
with cubics, or rounding, brings a share: numbers further out are none."""


def classes_of(scores: np.ndarray, sizes: Sequence[tuple[int, ...] | None] = (), layout: str | None = None) -> np.ndarray:
    """The class of each pixel, [rows, columns]: of scores [1, C, rows, columns] or [1, rows, columns, C], or of classes.

    Where the classes lie, the first of `sizes` (rows and columns that are known) tells that fits one way alone, else the
    `layout` of what the model takes. Numbers of one class that are not whole are shares, of which 0.5 and less is class 0,
    or, where some are below 0, logits, of which 0 and less is. Raises `UsageError` where nothing tells it.
    """
    return _classes_and_count(scores, sizes, layout)[0]


def _classes_and_count(
    scores: np.ndarray, sizes: Sequence[tuple[int, ...] | None], layout: str | None,
) -> tuple[np.ndarray, int | None]:
    """`classes_of`, and of how many classes the scores are; None where they are the classes."""
    picture = np.asarray(scores)
    if picture.ndim == 4 and picture.shape[0] == 1:
        picture = picture[0]
    if picture.ndim == 3 and 1 in (picture.shape[0], picture.shape[-1]):
        picture = picture.squeeze(0 if picture.shape[0] == 1 else -1)
    if picture.ndim == 2:
        whole = picture.dtype.kind != "f" or bool((picture == np.trunc(picture)).all())
        sure = 0.0 if bool(((picture < -_BEYOND) | (picture > 1 + _BEYOND)).any()) else _SURE
        return (picture.astype(np.int64), None) if whole else ((picture > sure).astype(np.int64), 2)
    if picture.ndim != 3:
        raise UsageError(f"an output of shape {np.shape(scores)} is no picture of classes")
    ways = _sizes_by_axis(picture)
    for known in sizes:
        fitting = [axis for axis, size in ways.items() if size == known]
        if len(fitting) == 1:
            return picture.argmax(axis=fitting[0]), picture.shape[fitting[0]]
    if layout is None:
        raise UsageError(f"nothing says whether classes come first or last in an output of shape {np.shape(scores)}",
                         hint="masks, or an input or a first model's output of the same rows and columns tell it")
    axis = 0 if layout == "nchw" else -1
    return picture.argmax(axis=axis), picture.shape[axis]


def _sizes_by_axis(picture: np.ndarray) -> dict[int, tuple[int, ...]]:
    """Rows and columns, by where the classes lie."""
    return {0: picture.shape[1:], -1: picture.shape[:-1]}


def _sizes_of(scores: np.ndarray) -> list[tuple[int, ...]]:
    """The rows and columns that an output may be of."""
    shape = np.shape(scores)[1:] if np.ndim(scores) == 4 and np.shape(scores)[0] == 1 else np.shape(scores)
    return list(dict.fromkeys((shape[1:], shape[:-1]))) if len(shape) == 3 else [shape]


def _first(outputs: Outputs) -> np.ndarray:
    return np.asarray(next(iter(outputs.values())))


def pixels(outputs: Outputs, label: Any, reference: Outputs) -> float:
    """The share of pixels that have the class of the reference."""
    known, ours, theirs = seen(label), _first(outputs), _first(reference)
    common = [size for size in _sizes_of(ours) if size in _sizes_of(theirs)]
    if len(common) > 1:
        common = [size for size in common if size in (*known.shown.either, *known.reference.either)]
    both = common if len(common) == 1 else []
    found = classes_of(ours, [*both, known.shown.sizes], known.shown.layout)
    wanted = classes_of(theirs, [*both, known.reference.sizes], known.reference.layout)
    if found.shape != wanted.shape:
        raise UsageError(
            f"a picture of {found.shape[0]}x{found.shape[1]} pixels cannot be compared with one of "
            f"{wanted.shape[0]}x{wanted.shape[1]} pixel by pixel", hint="miou compares pictures of any size with masks")
    return float((found == wanted).mean())


def overlaps(outputs: Outputs, label: Any, reference: Outputs | None) -> list[list[int]]:
    """Of each class that is there: the class, in how many pixels both have it, and in how many one of them has.

    Counted are the pixels of the mask that the model sees.
    """
    known = seen(label)
    truth = np.asarray(known.label)
    if truth.ndim != 2:
        coloured = "" if truth.ndim != 3 else (
            f": {truth.shape[-1]} numbers a pixel are a colour, and a mask has the number of a class")
        raise UsageError(f"miou needs masks as labels{coloured}",
                         hint="--labels FOLDER, with a mask of the same name for each image: .png, gray or of a palette, or .npy")
    found, count = _classes_and_count(_first(outputs), [truth.shape, known.shown.sizes], known.shown.layout)
    _need_classes(truth, count)
    need_alike(known, truth.shape, "masks", [found.shape])
    upper, left, height, width = window_of(known.shown, *truth.shape)
    rows, there = places_in(truth.shape[0], (upper, height), found.shape[0])
    columns, across = places_in(truth.shape[1], (left, width), found.shape[1])
    found = found[np.ix_(rows, columns)]
    counted = (truth != NO_CLASS) & there[:, None] & across[None, :]
    kinds = np.union1d(np.unique(truth[counted]), np.unique(found[counted]))
    pairs = [(kind, (found == kind) & counted, (truth == kind) & counted) for kind in kinds]
    return [[int(kind), int((mine & true).sum()), int((mine | true).sum())] for kind, mine, true in pairs]


def _need_classes(truth: np.ndarray, count: int | None) -> None:
    """`UsageError` for a mask that holds what is no class of the model's."""
    if truth.dtype.kind not in "buif" or not (np.isfinite(truth) & (truth == np.trunc(truth))).all():
        raise UsageError("a mask holds numbers that are not whole, and has to hold the classes of its pixels")
    wrong = truth[(truth != NO_CLASS) & ((truth < 0) | (truth >= count))] if count is not None else truth[truth < 0]
    if wrong.size:
        there = f"the model has classes 0 to {count - 1}" if count is not None else "classes begin with 0"
        raise UsageError(f"a mask holds class {int(wrong[0])}, and {there}",
                         hint=f"pixels that are not to count have {NO_CLASS}; masks hold the numbers of the model's classes")


def mean_overlap(rows: Any) -> float:
    """The mean over classes of what both have to what one has, all samples together (PASCAL VOC); NaN where no pixel counts."""
    both: dict[int, int] = {}
    one: dict[int, int] = {}
    for sample in rows:
        for kind, common, either in sample:
            both[kind] = both.get(kind, 0) + common
            one[kind] = one.get(kind, 0) + either
    shares = [both[kind] / one[kind] for kind in both if one[kind]]
    return float(np.mean(shares)) if shares else float("nan")


def with_scale(label: Seen, made: np.ndarray) -> np.ndarray:
    """A label that is a picture, as an output has it: bytes as the numbers that the model's input has for them, channels where
    they lie there."""
    truth = np.asarray(label.label)
    if truth.dtype.kind in "bu":
        truth = _as_input(truth, label.shown).astype(made.dtype if made.dtype.kind == "f" else np.float64)
    turned = np.moveaxis(truth, -1, 0) if truth.ndim == 3 else truth
    return turned if not same_but_ones(truth.shape, made.shape) and same_but_ones(turned.shape, made.shape) else truth


def _as_input(truth: np.ndarray, shown: Shown) -> np.ndarray:
    if shown.image is None:
        return truth
    mean, scale = shown.image.real
    channels = truth.shape[-1] if truth.ndim == 3 else 1
    if len(mean) != channels and len(set(mean)) == len(set(scale)) == 1:
        mean, scale = mean[:1], scale[:1]
    if len(mean) not in (1, channels):
        raise UsageError(f"a label of {channels} number{'s' * (channels > 1)} a pixel is no picture of the kind that the input "
                         f"takes: --mean and --scale say {len(mean)} of them")
    if shown.image.preprocess.pixel_format == "bgr" and channels == 3:
        truth = truth[..., ::-1]
    return (truth - np.asarray(mean)) * np.asarray(scale)
