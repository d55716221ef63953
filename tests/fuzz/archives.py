"""Archives taken apart and put together again, the same bytes for the same files at any time."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

__all__ = ["packed", "unpacked"]


def unpacked(content: bytes) -> dict[str, bytes]:
    """The files of an archive by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(files: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """Files as an archive, with no time of today's in it."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return made.getvalue()
