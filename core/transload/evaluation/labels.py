"""What is known of samples: labels by the folders that they lie in, from a file, from masks, or as the caller has them."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import open_array
from ..errors import ReadError, UsageError
from ..files import is_folder, need_file
from ..samples.images import DAMAGED
from ..samples.samples import Samples

__all__ = ["Labels", "MovedLabel", "class_of", "labels_of"]

Labels = Callable[[str], Any]
"""The label of a sample by its name, or None."""
_MASKS = (".png", ".bmp", ".gif", ".npy")
_LINES = 10_000_000
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_DECIMAL = re.compile(r"[+-]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,3})?")
"""A number as programs write those of floats: numpy's `savetxt` makes `3.000000000000000000e+00` of a 3."""
_ROW = re.compile(r"\[\d+\]$")
"""The end of a name of what is no file, but a row of an array."""


def labels_of(samples: Samples, source: Any = None, classes: Any = None, offset: int = 0) -> Labels:
    """How labels are found.

    `source` is

    - None: samples that lie in folders have the number of theirs, in the order of the folders' names (or of `classes`); folders
      whose names are numbers have these, less 1 where they go from 1 on without a gap, unless `classes` are called so; those of
      a list need `classes`, and the last folder of a path that is one counts;
    - a text file: a line for each sample, its name and its label, or the label alone, line by line in the order of the samples;
      labels are whole numbers (3, 3.0, 3e0), or names of `classes`;
    - an `.npy` of numbers or names, in the order of the samples (of their rows, where a sample is a batch, here and in a file of
      labels alone: a list for each sample then); a `.json` of COCO's annotations, by the images' names;
    - a folder of masks: `.png` or `.npy` of the samples' names, a class for each pixel;
    - a mapping by name, or a sequence in the order of the samples: numbers, or names of `classes`, where these are said.

    `classes` are their names in order, or a file with one a line. `offset` is added to labels. One that is a number is, after
    that, of one of the `classes`, where they are said. Raises `UsageError` and `ReadError` where that does not fit.
    """
    if isinstance(source, str | Path) and (is_folder(Path(source)) or Path(source).suffix == ".json") and (
            offset or classes is not None):
        said = "classes" if classes is not None else "label_offset"
        what = "masks" if is_folder(Path(source)) else "annotations"
        raise UsageError(f"{said} is said of labels that are {what}, which have numbers of their own",
                         hint="leave it out: labels that are numbers or names, one a sample, take it")
    names = _lines(Path(classes)) if isinstance(classes, str | Path) else list(classes) if classes is not None else None
    find = _found(samples, source, names)
    if names is not None:
        for name in samples.names:
            _need_class(name, find(name), offset, names)
    return lambda name: _moved(find(name), offset)


def _need_class(name: str, label: Any, offset: int, classes: Sequence[str]) -> None:
    """`UsageError` where the label of a sample is a number that is none of a class once `offset` is added.

    The place of a class that was named is one whatever is added: models may have other classes before it.
    """
    if _is_of_rows(label):
        for row, each in enumerate(label):
            _need_class(f"{name}, row {row}", each, offset, classes)
        return
    number = None if isinstance(label, _Place) else class_of(label)
    if number is None or 0 <= number + offset < len(classes):
        return
    moved = f", which is {number + offset} with {offset} of label_offset added" if offset else ""
    count = f"{len(classes)} classes are named: 0 to {len(classes) - 1}" if len(classes) > 1 else "1 class is named: 0"
    raise UsageError(f"the label of {name} is {number}{moved}, and {count if classes else 'no class is named'}",
                     hint="--classes has the names of all classes of the model, one a line; --label-offset is added to numbers")


def _moved(label: Any, offset: int) -> Any:
    if offset and _is_of_rows(label):
        return [_moved(each, offset) for each in label]
    number = class_of(label) if offset else None
    return label if number is None else MovedLabel(number + offset, offset)


def _is_of_rows(label: Any) -> bool:
    """Whether a label is those of a batch's rows."""
    return isinstance(label, list | tuple) or (isinstance(label, np.ndarray) and label.ndim == 1)


class _Place(int):
    """The place of a class that a label named, which is one of the classes by that."""


class MovedLabel(int):
    """A label that an offset was added to; it remembers that, as who finds it wrong says what was given."""

    offset: int

    def __new__(cls, number: int, offset: int = 0) -> MovedLabel:
        moved = super().__new__(cls, number)
        moved.offset = offset
        return moved


def class_of(label: Any) -> int | None:
    """A label as the number of a class, alone in an array, too, as rows of one column are; None where it is none."""
    if not isinstance(label, int | float | np.generic | np.ndarray | list | tuple):
        return None
    try:
        array = np.asarray(label)
    except (ValueError, TypeError):  # of annotations
        return None
    if array.size == 1 and array.dtype.kind in "biuf" and float(number := array.item()).is_integer():
        return int(number)
    return None


def _found(samples: Samples, source: Any, classes: list[str] | None) -> Labels:
    if source is None:
        return _by_folders(samples, classes)
    if isinstance(source, Mapping):
        if classes is None:  # then the names of samples are not needed, which are not known of a stream before
            return source.get
        said = [source.get(name) for name in samples.names]
        return dict(zip(samples.names, _named(said, "the labels", classes), strict=True)).get
    if not isinstance(source, str | Path):
        return _in_order(samples, _named(list(source), "the labels", classes), "the labels")
    path = Path(source)
    if is_folder(path):
        return _masks(path)
    need_file(path)
    if path.suffix == ".npy":
        return _in_order(samples, _of_array(np.asarray(open_array(path)).ravel(), path, classes), str(path))
    if path.suffix == ".json":
        return _annotations(path)
    return _text(samples, path, classes)


def _by_folders(samples: Samples, classes: list[str] | None) -> Labels:
    """Labels by the folders in samples' names, where all lie in folders: by the first, of a list by the last that is a class.

    Paths of a list may begin with folders that all share, and none lie in that of a class: such folders have no numbers.
    """
    names, whole = samples.names, samples.folders_are_all
    folders = [Path(name).parts[:-1] if not _ROW.search(name) else () for name in names]
    if not folders or not all(folders) or (classes is None and not whole):
        return lambda name: None
    called = sorted({each[0] for each in folders})
    if classes is None or (whole and all(map(str.isdecimal, called)) and not set(called) <= set(classes)):
        numbers = _numbered(called)
        return lambda name: numbers.get(Path(name).parts[0])
    known = set(classes)
    said = [each[0] if whole else next((part for part in reversed(each) if part in known), each[-1]) for each in folders]
    return dict(zip(names, _in_classes(said, classes, "the folder "), strict=True)).get


def _numbered(folders: Sequence[str]) -> dict[str, int]:
    """The classes of folders: their places, or the numbers that they are called by, less 1 where these are 1 to N."""
    if not all(folder.isdecimal() for folder in folders):
        return {folder: place for place, folder in enumerate(folders)}
    said = {folder: int(folder) for folder in folders}
    from_one = sorted(said.values()) == list(range(1, len(said) + 1))
    return {folder: number - from_one for folder, number in said.items()}


def _in_order(samples: Samples, labels: Sequence[Any], what: str) -> Labels:
    names, rows = samples.names, samples.rows
    if rows > 1 and len(labels) == rows * len(names):
        labels = [list(labels[at:at + rows]) for at in range(0, len(labels), rows)]
    if len(labels) != len(names):
        raise UsageError(f"{what}: {len(labels)} labels for {len(names)} samples" + (f" of {rows} rows each" if rows > 1 else ""))
    return _by_name(names, labels, what)


def _by_name(names: Sequence[str], labels: Sequence[Any], what: str) -> Labels:
    """Labels by the names of what they are of. `UsageError` where one has two that differ."""
    found: dict[str, Any] = {}
    for name, label in zip(names, labels, strict=True):
        if name in found and not np.array_equal(found[name], label):
            raise UsageError(f"{what}: {name!r} has two labels, {found[name]!r:.100} and {label!r:.100}",
                             hint="one for each sample: leave out the other line")
        found[name] = label
    return found.get


def _lines(path: Path) -> list[str]:
    need_file(path)
    try:
        with path.open(encoding="utf-8-sig") as file:
            lines = [line.strip() for _, line in zip(range(_LINES), file, strict=False)]
    except OSError as error:
        raise ReadError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ReadError(f"{path}: is no text file: {error}") from None
    return [line for line in lines if line and not line.startswith("#")]


def _text(samples: Samples, path: Path, classes: list[str] | None) -> Labels:
    """Lines of a name and a label, with a comma, a tab or blanks between; or of a label alone.

    Of a table with more columns the first two count; what is said of other samples (a heading) does not.
    """
    lines = _lines(path)
    if not lines:
        raise ReadError(f"{path}: holds no labels")
    known = set(samples.names)
    named = [row for row in map(_cells, lines) if len(row) == 2 and row[0] in known]
    if named:
        return _by_name([row[0] for row in named], _numbers([row[1] for row in named], path, classes), str(path))
    if _are_named(lines, known, classes or ()):
        raise UsageError(
            f"{path}: names no sample: {_cells(lines[-1])[0]!r} is none", hint=f"samples are called {min(known)!r} and such")
    return _in_order(samples, _numbers(lines, path, classes), str(path))


def _are_named(lines: Sequence[str], samples: Collection[str], classes: Collection[str]) -> bool:
    """Whether lines are a name and a label each, of other samples than there are, and not labels alone.

    Names of classes may have blanks, too: a label is a number or a class behind the last one, or what stands before it is a file.
    """
    cells = [_cells(line) for line in lines]
    if not all(len(row) == 2 for row in cells) or any(line in classes for line in lines):
        return False
    suffixes = {Path(name).suffix.lower() for name in samples} - {""}
    return (
        len(lines) != len(samples) or all(_DECIMAL.fullmatch(label) or label in classes for _, label in cells)
        or all(Path(name).suffix.lower() in suffixes for name, _ in cells))


def _cells(line: str) -> list[str]:
    """The name and the label of a line: of columns the first two, else what stands before the last blank, which may be a path."""
    columns = [cell.strip() for cell in line.replace("\t", ",").split(",")]
    return columns[:2] if len(columns) > 1 else line.rsplit(None, 1)


def _named(labels: Sequence[Any], where: str, classes: list[str] | None) -> list[Any]:
    """Labels as a caller has them, of which texts are the numbers that they say or name, in those of rows, too.

    Where there are no `classes`, texts stay: a metric of the user's own may take them.
    """
    texts = [str(each) for label in labels for each in (label if _is_of_rows(label) else [label]) if isinstance(each, str)]
    if classes is None or not texts:
        return list(labels)
    numbers = dict(zip(texts, _numbers(texts, where, classes), strict=True))

    def number(label: Any) -> Any:
        return numbers[label] if isinstance(label, str) else label

    return [[number(each) for each in label] if _is_of_rows(label) else number(label) for label in labels]


def _numbers(labels: Sequence[str], path: Path | str, classes: list[str] | None) -> list[int]:
    """Labels as numbers, whole ones of floats, too; names of classes by their places, which may look like the latter."""
    if all(_NUMBER.fullmatch(label) for label in labels):
        return [int(label) for label in labels]
    if (classes is None or not set(labels) <= set(classes)) and all(_DECIMAL.fullmatch(label) for label in labels):
        return [_whole_number(label, path) for label in labels]
    if classes is None:
        name = next(label for label in labels if not _DECIMAL.fullmatch(label))
        raise UsageError(f"{path}: says {name!r}, the name of a class, and nothing says which number that is",
                         hint="--classes FILE has the names in the model's order, one a line")
    return _in_classes(labels, classes, f"{path}: ")


def _whole_number(text: str, path: Path | str) -> int:
    """The whole number that a text stands for."""
    if _NUMBER.fullmatch(text):
        return int(text)
    number = float(text)
    if not number.is_integer() or abs(number) >= 1 << 53:  # infinity is none, either
        raise ReadError(f"{path}: says {text!r}, which is no whole number",
                        hint="a label is the number of a class: 3, 3.0, or its name with --classes FILE")
    return int(number)


def _in_classes(names: Sequence[str], classes: Sequence[str], where: str) -> list[int]:
    """The places of names among those of the classes. `UsageError` for one that is none of them, or several."""
    places = {name: place for place, name in enumerate(classes)}
    unknown = next((name for name in names if name not in places), None)
    if unknown is not None:
        raise UsageError(f"{where}{unknown!r} is no class", hint=f"classes: {', '.join(classes[:8])}")
    several = {name for name, count in Counter(classes).items() if count > 1}.intersection(names)
    if several:
        raise UsageError(f"{where}{min(several)!r} is {classes.count(min(several))} classes, and which is not known",
                         hint="labels that are numbers say it, or --classes whose names differ")
    return [_Place(places[name]) for name in names]


def _of_array(labels: np.ndarray, path: Path, classes: list[str] | None) -> list[int]:
    """Labels of an array, which holds whole numbers, or texts as a file of lines does."""
    if labels.dtype.kind == "U":
        return _numbers(labels.tolist(), path, classes)
    if labels.dtype.kind not in "biuf" or not np.all(np.isfinite(labels) & (labels == np.trunc(labels))):
        raise ReadError(f"{path}: holds labels that are no whole numbers")
    return [int(label) for label in labels]


def _masks(folder: Path) -> Labels:
    """A picture of classes for each sample, of the sample's name or its stem; images of a palette hold its numbers.

    Images are upright, as those that models are given: each as its own EXIF data says.
    """
    def find(name: str) -> Any:
        stem = Path(name).with_suffix("")
        path = next((file for suffix in _MASKS if (file := folder / f"{stem}{suffix}").is_file()), None)
        if path is None:
            raise ReadError(f"{folder}: has no mask for {name!r}", hint=f"{stem}.png, or .npy")
        if path.suffix == ".npy":
            return np.asarray(open_array(path))
        from PIL import Image, ImageOps

        try:
            with warnings.catch_warnings(), Image.open(path) as image:
                warnings.simplefilter("ignore")  # on damage that Pillow reads all the same; whoever decodes inputs says none
                return _numbers_of(ImageOps.exif_transpose(image))
        except (*DAMAGED, Image.DecompressionBombError) as error:
            raise ReadError(f"{path}: cannot be read: {error}") from None

    return find


def _numbers_of(image: Any) -> np.ndarray:
    """Classes or grays as they are, of one bit 0 and 1; colours as [rows, columns, 3], which are no classes."""
    if image.mode == "1":
        return np.asarray(image).astype(np.uint8)
    if image.mode in ("P", "L", "I", "I;16"):
        return np.asarray(image)
    return np.asarray(image.convert("L" if image.mode == "LA" else "RGB"))


def _annotations(path: Path) -> Labels:
    """COCO's objects of each image: `{"image_id", "width", "height", "objects": [{"bbox", "category_id"}]}`."""
    try:
        held = json.loads(path.read_text(encoding="utf-8-sig"))
        images = {str(image["file_name"]): image for image in held["images"]}
        if len(images) < len(held["images"]):
            raise ValueError(f"{_repeated(held['images'])!r:.100} is the file_name of several images")
        objects: dict[Any, list[dict[str, Any]]] = {}
        for each in held["annotations"]:
            objects.setdefault(_integer(each["image_id"]), []).append(_object(each))
        named = {
            name: {"image_id": _integer(image["id"]), "width": _real(image["width"]), "height": _real(image["height"]),
                   "objects": objects.get(image["id"], [])}
            for name, image in images.items()}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ReadError(
            f"{path}: is no file of COCO's annotations: {_why(error)}",
            hint="it is an object with the lists 'images' (file_name, id, width, height) and 'annotations' (image_id, "
                 "category_id, bbox)") from None
    return lambda name: named.get(name, named.get(Path(name).name))


def _repeated(images: Sequence[Mapping[str, Any]]) -> str:
    """The first name that several images have."""
    return Counter(str(image["file_name"]) for image in images).most_common(1)[0][0]


def _why(error: Exception) -> str:
    """What is wrong with such a file, in words."""
    if isinstance(error, KeyError):
        return f"there is no {error.args[0]!r} where one is needed"
    if isinstance(error, TypeError):
        return "an object or a list is missing where one is needed"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _object(given: Mapping[str, Any]) -> dict[str, Any]:
    """What is used of an object; `KeyError`, `TypeError` or `ValueError` where it is none of COCO's."""
    if len(given["bbox"]) != 4:
        raise ValueError(f"a bbox has 4 numbers, and not {len(given['bbox'])}")
    left, upper, width, height = (_real(number) for number in given["bbox"])
    return {
        "category_id": _integer(given["category_id"]), "bbox": [left, upper, width, height], "area": _real(given.get("area", 0)),
        "iscrowd": _integer(given.get("iscrowd", 0))}


def _integer(given: Any) -> int:
    if not isinstance(given, int) or abs(given) >= 1 << 53:  # what evaluators count with
        raise ValueError(f"{str(given)[:40]} is no whole number")
    return given


def _real(given: Any) -> float:
    if not isinstance(given, int | float) or not abs(given) < 1 << 53:
        raise ValueError(f"{str(given)[:40]} is no number of pixels")
    return float(given)
