"""What an evaluation was of, as text that says when it is another one: files by what they hold, not by their paths alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..digests import Digest
from ..files import is_file, is_folder
from ..samples.images import OTHERS, SUFFIXES
from ..samples.samples import Data
from ..samples.sources import ARRAYS, PYTHON

__all__ = ["told"]

_LONGEST = 1 << 26
"""Bytes of a list whose files are looked at."""
_COMMENT, _MARKS = re.compile(r"\s#"), 8
"""Where a comment may begin, and how often in a line that is looked at."""


def told(source: Any) -> str:
    """Samples, labels, classes or weights as text. Of a folder, and of what a list names, it is files' sizes and times."""
    if isinstance(source, Data):
        return f"{told(source.source)} {source.count} {source.skip_damaged}"
    if isinstance(source, np.ndarray):
        return f"{source.dtype} {source.shape} {sha256(np.ascontiguousarray(source).tobytes()).hexdigest()}"
    if isinstance(source, Mapping):
        return str({str(key): told(each) for key, each in source.items()})
    if isinstance(source, list | tuple):
        return str([told(each) for each in source])
    if not isinstance(source, str | Path):
        return str(source)
    path = _module_of(source) if str(source).startswith(PYTHON) else Path(source)
    if path is None:
        return str(source)
    if is_folder(path):
        return f"{source} {_states(each for each in path.rglob('*') if each.is_file())}"
    listed = is_file(path) and path.suffix.lower() not in (*ARRAYS, *SUFFIXES, *OTHERS)
    return f"{source} {Digest(path).text()} {_states(_named_in(path)) if listed else ''}" if is_file(path) else str(source)


def _module_of(source: str | Path) -> Path | None:
    """The file of a function of the user's; None where it is not found."""
    where = str(source).removeprefix(PYTHON).rpartition(":")[0]
    if where.endswith(".py"):
        return Path(where)
    try:
        spec = find_spec(where)
    except (ImportError, ValueError, AttributeError):
        return None
    return Path(spec.origin) if spec is not None and spec.origin is not None else None


def _named_in(path: Path) -> list[Path]:
    """The files that a list of samples may name, relative to it: lines, or parts of these, before a comment; none of what is no
    text, as weights are."""
    content = path.read_bytes() if path.stat().st_size <= _LONGEST else b"\0"
    if b"\0" in content:
        return []
    lines = content.decode("utf-8-sig", "replace").splitlines()
    whole = [line[:end] for line in lines for end in (None, *(mark.start() for mark in islice(_COMMENT.finditer(line), _MARKS)))]
    cells = dict.fromkeys(cell.strip() for said in whole for cell in (said, *said.split(",")))
    return [path.parent / cell for cell in cells if cell]


def _states(files: Iterable[Path]) -> str:
    """What tells the files from what they were, of those that are there: a digest of their paths, sizes and times."""
    found = []
    for file in files:
        try:
            state = file.stat()
        except (OSError, ValueError):
            continue
        found.append(f"{file} {state.st_size} {state.st_mtime_ns}")
    return sha256("\n".join(sorted(found)).encode("utf-8", "surrogateescape")).hexdigest() if found else ""
