"""Where the data of `dense_resource<key>` lies: in the text's resource section, or in a `.npz` beside it."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401 - registers bf16 and its like with numpy
import numpy as np

from ..arrays import open_arrays
from ..errors import UsageError
from ..files import atomic_path, open_member
from ..ir.constants import Dense, LazyData, TensorData, dtype_of
from ..ir.core import Op
from ..ir.types import IntegerType, TensorType
from .dense_text import from_bytes, to_bytes

__all__ = ["ELIDED", "SHARED", "Blob", "Constants", "ResourceKeys", "save_constants"]

ELIDED = "__elided__"
"""The key that MLIR tools print in place of data that they leave out."""
SHARED = "dense_resource<data_"
"""What a text has where it names data by a digest, `ResourceKeys(digests=True)`."""


class Blob:
    """Bytes that are written in hexadecimal somewhere in a text; decoded once, when first asked for."""

    __slots__ = ("_bytes", "end", "key", "start", "text", "wanted")

    def __init__(self, key: str) -> None:
        self.key = key
        self.text: str | None = None
        self.start = self.end = 0
        self._bytes: np.ndarray[Any, np.dtype[np.uint8]] | None = None
        self.wanted: list[tuple[Dense, int]] = []
        """Constants that wait for this data, and where they stand in the text."""

    def set_text(self, text: str, start: int, end: int) -> None:
        """Say where the digits are."""
        self.text, self.start, self.end = text, start, end

    @property
    def is_set(self) -> bool:
        return self.text is not None or self._bytes is not None

    @property
    def n_bytes(self) -> int:
        return (self.end - self.start) // 2

    def bytes(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The bytes, read-only; the text is let go."""
        if self._bytes is None:
            text: str = self.text  # type: ignore[assignment]
            self._bytes = np.frombuffer(bytes.fromhex(text[self.start : self.end]), np.uint8)
            self.text = None
        return self._bytes


# --- reading


class Constants:
    """Data by key that is given beside a text: a mapping of arrays, or the path of a `.npz` file.

    Members of a `.npz` that are not compressed are mapped, not read.
    """

    def __init__(self, source: Mapping[str, Any] | str | Path | None) -> None:
        self._data: dict[str, Any] = {}
        if source is None:
            return
        if isinstance(source, Mapping):
            self._data = dict(source)
        else:
            self._data = dict(open_arrays(Path(source)))

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def dense(self, key: str, type_: TensorType) -> Dense:
        """The constant called `key`; `ValueError` where its shape or dtype is not that of the type."""
        data = self._data[key]
        if isinstance(data, Dense):
            data = data.data
        if isinstance(data, (np.ndarray, np.generic)) or not isinstance(data, TensorData):
            data = Dense(data).data
        dtype = dtype_of(type_.element)
        if tuple(data.shape) != type_.shape:
            raise ValueError(f"constant {key!r} is of shape {tuple(data.shape)}, the type is {type_}")
        if data.dtype == dtype:
            return Dense(data, type_)
        sub_byte = isinstance(type_.element, IntegerType) and type_.element.width < 8
        if data.dtype.itemsize != dtype.itemsize or data.dtype.kind not in "iuV" or (data.dtype.kind == "V" and data.dtype.names):
            raise ValueError(f"constant {key!r} holds {data.dtype}, the type is {type_}")

        def view() -> np.ndarray[Any, Any]:  # dtypes that .npz does not know are saved as integers of their size
            array = np.ascontiguousarray(data.numpy())
            if sub_byte:
                return from_bytes(array.reshape(-1).view(np.uint8), type_)  # type: ignore[return-value]
            return array.reshape(-1).view(dtype).reshape(type_.shape)

        return Dense(LazyData(view, type_.static_shape, dtype, of=data), type_)


# --- writing


_NOT_IN_KEYS = re.compile(r"[^A-Za-z0-9_$.]")


class ResourceKeys:
    """Gives every constant a key: made of the name of the first op that holds it, once for shared data.

    With `digests`, the key is made of a digest of the data instead: what is equal has the same key in any number of texts.
    """

    def __init__(self, digests: bool = False) -> None:
        self.constants: dict[str, Dense] = {}
        self._keys: dict[tuple[int, str], str] = {}
        self._digests = digests

    def key(self, dense: Dense, op: Op | None) -> str:
        same = (id(dense.data), str(dense.type.element))
        key = self._keys.get(same)
        if key is None:
            if self._digests:
                key = self._keys[same] = f"data_{dense.digest().hex()}"
                self.constants.setdefault(key, dense)
                return key
            name = (op.origin or op.name.partition(".")[2]) if op is not None else "constant"
            base = _NOT_IN_KEYS.sub("_", name[:120]).strip(".") or "constant"
            if not (base[0].isalpha() or base[0] == "_"):
                base = "_" + base
            key, number = base, 0
            while key in self.constants or key == ELIDED:
                number += 1
                key = f"{base}_{number}"
            self._keys[same] = key
            self.constants[key] = dense
        return key


def save_constants(path: str | Path, constants: Mapping[str, Dense], add: bool = False) -> None:
    """Write constants to a `.npz`, not compressed so that it can be mapped; the file appears when it is whole.

    With `add`, what else is in the file stays.
    """
    try:
        with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
            if add and Path(path).exists():
                _copy_members(Path(path), archive, {f"{key}.npy" for key in constants})
            for key, dense in constants.items():
                with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                    _write_npy(member, dense)
    except (OSError, zipfile.BadZipFile, NotImplementedError) as error:
        raise UsageError(f"cannot write {path}: {error}") from None


def _copy_members(path: Path, archive: zipfile.ZipFile, but: set[str]) -> None:
    with zipfile.ZipFile(path) as old:
        for info in old.infolist():
            if info.filename not in but:
                with open_member(old, info) as source, archive.open(info.filename, "w", force_zip64=True) as copy:
                    shutil.copyfileobj(source, copy)


def _write_npy(member: Any, dense: Dense) -> None:
    array = dense.numpy()
    if array.dtype.kind not in "biufc" or array.dtype.isbuiltin != 1:  # bf16, f8, i4: as integers of their size
        width = array.dtype.itemsize
        array = to_bytes(dense).view(f"u{width}").reshape(array.shape)
    np.lib.format.write_array(member, array, allow_pickle=False)
