"""Files of fixed names, as `report.json`: what another program wrote under such a name is not written over."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from .errors import UsageError
from .files import is_file, own_text
from .json_text import of_json_text

__all__ = ["need_own"]

_READ = 1 << 24
"""Bytes of a file that is read; of a longer one the beginning tells."""


def need_own(file: Path, first: str, keys: Collection[str]) -> None:
    """Raise `UsageError` where a file that is to be written over is another program's.

    Ours is a JSON object with these `keys`, of which `first` stands first, and what may be left of one: nothing, or its
    beginning.
    """
    if is_file(file) and not _is_own(file, f'{{\n  "{first}": '.encode(), keys):
        raise UsageError(f"{file} is not what Transload writes there, and would be lost",
                         hint=f"choose another folder, or move {file.name} away")


def _is_own(file: Path, begin: bytes, keys: Collection[str]) -> bool:
    head = b""
    try:
        with file.open("rb") as stream:
            head = stream.read(len(begin))
        if not head.strip(b"\0 \t\r\n"):  # a file whose content a crash took is long, and full of zeros
            return True
        if file.stat().st_size > _READ:
            return begin.startswith(head)
        found = of_json_text(own_text(file))
    except FileNotFoundError:  # it went meanwhile
        return True
    except OSError:
        return False
    except (ValueError, RecursionError):
        return begin.startswith(head)
    return not found or (isinstance(found, dict) and found.keys() >= {*keys})
