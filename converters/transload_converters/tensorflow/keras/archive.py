"""Keras files: `.keras` (a zip archive of a config in JSON and weights in HDF5), `.h5` and `.hdf5` (both in HDF5).

Nothing here runs code of a file: the config is text, weights are numbers. They stay in the file where it is not compressed.
"""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from transload.errors import ForeignContent, MissingPackage, ReadError, TransloadError
from transload.files import archive_names, open_member
from transload.ir import ArrayData, Dense
from transload.json_text import room_for_json, values_of_json
from transload.limits import MAX_ELEMENTS
from transload.plugin import Source
from transload.worker import ChildEnded, unread

from .isolated import HDF5, most_unpacked

__all__ = ["DAMAGED", "KerasFile", "Weights", "detect", "read_file"]

DAMAGED = "the file is damaged or was cut short: write it again, or get it anew"
_RATIO = 1100
"""What a compressed byte may become."""
_HDF5 = "transload_converters.tensorflow.keras.hdf5"
_MAGIC = b"\x89HDF\r\n\x1a\n"
_WHOLE = "load them into the network, where that is defined, and save it as a whole: model.save('model.keras')"
READING_SECONDS, READING_SPEED = 20.0, 1e7
"""What reading may take: these seconds, and one more for so many bytes."""


def detect(head: bytes, path: Path) -> bool:
    """A `.keras` archive, or an HDF5 file, which models of Keras are, and others."""
    return head.startswith(_MAGIC) or (head.startswith(b"PK") and {"config.json", "metadata.json"} <= set(archive_names(path)))


class Weights:
    """The arrays of an HDF5 file, which is `data` from `start` on, for `size` bytes."""

    def __init__(self, source: Source, start: int = 0, data: bytes | None = None, size: int = 0) -> None:
        self.name = source.name
        self._data = memoryview(data) if data is not None else source.data[start : start + size] if size else source.data
        self._asked: tuple[Any, int, int]
        if data is None and source.path is not None:
            self._asked = str(source.path.resolve()), start, size
        else:
            self._asked = bytes(self._data) if data is None else data, 0, 0
        found = self._ask("outline")
        self.groups: Mapping[str, Mapping[str, Any]] = found["groups"]
        self._datasets: Mapping[str, Any] = found["datasets"]
        self._others: Mapping[str, str] = found["others"]

    def _ask(self, function: str, *more: Any) -> Any:
        within = READING_SECONDS + len(self._data) / READING_SPEED
        try:
            return HDF5.call(f"{_HDF5}:{function}", *self._asked, *more, within=within, about=len(self._data))
        except ChildEnded as error:
            limit = f"{READING_SECONDS:g} s, and one more for each {READING_SPEED / 1e6:g} MB"
            raise unread(error, f"{self.name}: the file", DAMAGED, limit) from None
        except TransloadError as error:
            raise ReadError(f"{self.name}: {error.message}", hint=DAMAGED) from None

    def __contains__(self, path: str) -> bool:
        return path in self._datasets

    def why_not(self, path: str) -> str | None:
        """What is there in place of an array of numbers; None where nothing is."""
        if path in self.groups:
            return "a group of others"
        return self._others.get(path)

    def beginning(self, prefix: str) -> list[str]:
        """The paths of arrays that begin so."""
        return [path for path in self._datasets if path.startswith(prefix)]

    def has_group(self, path: str) -> bool:
        return path in self.groups

    def texts(self, group: str, name: str) -> list[str]:
        """An attribute that is a list of texts, which Keras writes in pieces where it is long."""
        held = self.groups.get(group, {})
        if name in held:
            return [held[name]] if isinstance(held[name], str) else list(held[name])
        found: list[str] = []
        for number in range(len(held)):
            piece = held.get(f"{name}{number}")
            if not isinstance(piece, list):
                break
            found += piece
        return found

    def shape(self, path: str) -> tuple[int, ...]:
        return tuple(self._datasets[path][0])

    def read(self, paths: Iterable[str]) -> dict[str, Dense]:
        """Arrays by path: those that lie in the file as they are look into it, the others are copied."""
        found: dict[str, Dense] = {}
        others: list[str] = []
        for path in dict.fromkeys(paths):
            shape, name, offset = self._datasets[path]
            if math.prod(shape) > MAX_ELEMENTS:
                raise ReadError(f"{self.name}: array {path!r} claims the shape {shape}")
            if offset < 0:
                others.append(path)
                continue
            dtype = np.dtype(getattr(ml_dtypes, name)) if name == "bfloat16" else np.dtype(name)
            count = math.prod(shape)
            if offset + count * dtype.itemsize > len(self._data):
                raise ReadError(f"{self.name}: array {path!r} ends behind the end of the file", hint=DAMAGED)
            found[path] = Dense(ArrayData(np.frombuffer(self._data, dtype, count, offset).reshape(shape)))
        if others:
            for path, array in zip(others, self._ask("arrays", others), strict=True):
                found[path] = Dense(ArrayData(array))
        return found


@dataclass
class KerasFile:
    """A model as a file has it: the config of its outermost layer, the weights, and how they are kept."""

    config: Mapping[str, Any]
    weights: Weights
    named: bool
    """Weights are listed by the name of their layer (`.h5`), not laid out by path (`.keras`)."""
    version: str = ""


def read_file(source: Source) -> KerasFile:
    """Take a file apart; raises `ReadError` for anything that is wrong with it."""
    if find_spec("h5py") is None:
        raise MissingPackage(
            f"{source.name}: reading Keras models needs the package 'h5py'", hint="pip install 'transload[keras]'")
    if bytes(source.data[:2]) == b"PK":
        return _read_archive(source)
    if bytes(source.data[:8]) == _MAGIC:
        return _read_hdf5(source)
    raise ForeignContent(f"{source.name}: is no Keras model: neither a zip archive nor HDF5", hint=DAMAGED)


def _read_archive(source: Source) -> KerasFile:
    try:
        with zipfile.ZipFile(_stream(source)) as archive:
            room = room_for_json(source.size)
            config = _json(_member(archive, "config.json", source, room), source)
            version = ""
            if "metadata.json" in archive.namelist():
                version = str(_json(_member(archive, "metadata.json", source, room), source).get("keras_version", ""))
            weights = _archived_weights(archive, source)
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError, ValueError, OverflowError,
            zlib.error) as error:
        raise ReadError(f"{source.name}: is a damaged zip archive: {str(error)[:200]}", hint=DAMAGED) from None
    return KerasFile(config, weights, False, version)


def _stream(source: Source) -> Any:
    return str(source.path) if source.path is not None else io.BytesIO(source.data)


def _archived_weights(archive: zipfile.ZipFile, source: Source) -> Weights:
    """The weights inside, where they lie if they are not compressed."""
    names = archive.namelist()
    if "model.weights.h5" not in names:
        other = next((name for name in names if name.startswith("model.weights")), None)
        raise ReadError(f"{source.name}: has no model.weights.h5" + (f", but {other!r}" if other else ""),
                        hint="save the model again: model.save('model.keras')")
    info = archive.getinfo("model.weights.h5")
    if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
        data = _member(archive, "model.weights.h5", source, most_unpacked(info.compress_size), _MAGIC)
        return Weights(source, data=data)
    header = bytes(source.data[info.header_offset : info.header_offset + 30])
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise ReadError(f"{source.name}: is a damaged zip archive: no file where its directory says", hint=DAMAGED)
    start = info.header_offset + 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    if not 0 < info.file_size <= len(source.data) - start:
        raise ReadError(f"{source.name}: its weights end behind the end of the file", hint=DAMAGED)
    return Weights(source, start, size=info.file_size)


def _member(archive: zipfile.ZipFile, name: str, source: Source, most: int, magic: bytes = b"") -> bytes:
    """The bytes of a file in the archive, which begin with `magic` and are no more than `most`, whatever it says."""
    if name not in archive.namelist():
        raise ForeignContent(f"{source.name}: is no Keras model: the archive holds no {name}")
    info = archive.getinfo(name)
    if info.file_size > min(most, _RATIO * max(info.compress_size, 64)):
        raise ReadError(f"{source.name}: {name} claims {info.file_size:,} bytes, more than it can hold", hint=DAMAGED)
    with open_member(archive, info) as file:
        head = file.read(len(magic))
        if head != magic:
            raise ReadError(f"{source.name}: {name} is no HDF5 file", hint=DAMAGED)
        return head + file.read(info.file_size + 1)


def _json(text: bytes | str, source: Source) -> dict[str, Any]:
    try:
        found = values_of_json(text, source.size)
    except ValueError as error:
        raise ReadError(f"{source.name}: its config cannot be read as JSON: {str(error)[:200]}", hint=DAMAGED) from None
    if not isinstance(found, dict):
        raise ReadError(f"{source.name}: its config is a {type(found).__name__}, not the description of a model")
    return found


def _read_hdf5(source: Source) -> KerasFile:
    weights = Weights(source)
    held = weights.groups.get("", {})
    text = held.get("model_config")
    if not isinstance(text, str):
        bare = "layer_names" in held or {"vars", "layers"} & set(weights.groups)
        why = "holds weights without a network" if bare else "is an HDF5 file, but no Keras model: it has no model_config"
        raise ReadError(f"{source.name}: {why}", hint=_WHOLE)
    return KerasFile(_json(text, source), weights, True, str(held.get("keras_version", "")))
