"""Which file of weights belongs to which network: by their names, as Caffe's own examples have them.

`deploy.prototxt` and `deploy.caffemodel`; `lenet.prototxt` and `lenet_iter_10000.caffemodel`, which a solver wrote.
"""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["network_beside", "weights_beside"]

_ROLE = re.compile(r"([_.-]?(deploy|test|train|train_test|train_val|inference|network|net|model))+$", re.IGNORECASE)
_SNAPSHOT = re.compile(r"[_.-]iter_\d+$")


def weights_beside(network: Path) -> Path | None:
    """The one `.caffemodel` beside a network that its name fits, or that it must be for, or None."""
    return _fitting(network, ".caffemodel")


def network_beside(weights: Path) -> Path | None:
    """The one `.prototxt` beside a file of weights that its name fits, or that it must be for, or None."""
    return _fitting(weights, ".prototxt")


def _fitting(file: Path, suffix: str) -> Path | None:
    """The other file of the same name; else the only one of the same name but for what says its part or its age.

    Else the only one there is, where this one is the only one of its kind, or its name says nothing but its part.
    """
    others = _files(file.parent, suffix)
    same = [other for other in others if other.stem == file.stem]
    if same:
        return same[0]
    fitting = [other for other in others if _subject(other) == _subject(file)]
    if not fitting and (not _subject(file) or len(_files(file.parent, file.suffix.lower())) == 1):
        fitting = [other for other in others if other.stem.lower() != "solver"]
    deployed = [other for other in fitting if "deploy" in other.stem.lower()]
    fitting = deployed if len(fitting) > 1 else fitting  # beside those for training and testing
    return fitting[0] if len(fitting) == 1 else None


def _files(folder: Path, suffix: str) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix.lower() == suffix and path.is_file())
    except OSError:
        return []


def _subject(path: Path) -> str:
    """What a name is about: without `_deploy`, `_iter_10000`."""
    stem = _SNAPSHOT.sub("", path.stem)
    return _ROLE.sub("", stem).lower()
