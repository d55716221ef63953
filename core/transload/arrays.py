"""Arrays by name in `.npz` files: what is in one is known from its headers, before any of the data is read.

A file of 4 MB may expand to 4 GB. So arrays are given out unread (`TensorData`: shape, dtype, and `numpy()` when it comes to
that); who wants one of a certain shape asks for the shape first. Nothing is ever unpickled.
"""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any

import ml_dtypes
import numpy as np

from .budget import VARIABLE, allowance
from .errors import ReadError, TransloadError, UsageError
from .escapes import spelt
from .files import atomic_path, need_file, open_member
from .ir.constants import LazyData, MmapData, TensorData
from .shortage import shortage

__all__ = [
    "as_array", "described", "in_type", "is_numpys", "lost_numbers", "need_room", "number_kind", "open_array", "open_arrays",
    "read_arrays", "write_arrays"]

_HEADER = 10_000
"""Bytes that the text may have which says shape and dtype of an array."""
_TOO_LONG = f"its header is longer than {_HEADER:,} characters"
_NO_BYTES = "it has elements of no bytes, of which as many as one likes lie in none"
_NAME = 65_531
"""Bytes that an array's name may have in an archive, `.npy` behind it."""
_MOST_PACKED = 100
"""Bytes that one of an archive may become, where together they are more than may be computed of constants (`Allowance.grown`)."""
_BEGINS = b"\x93NUMPY"
"""The first bytes of an `.npy` file."""
_DAMAGED = (
    OSError, zipfile.BadZipFile, zlib.error, ValueError, TypeError, OverflowError, EOFError, NotImplementedError, RuntimeError,
    SyntaxError, TokenError)
"""What zipfile, zlib and numpy raise for what is no archive, or damaged, or encrypted; of headers numpy reads Python's tokens."""


def read_arrays(path: Path) -> dict[str, TensorData]:
    """The arrays of an `.npz` file by name, none of them read yet. Raises `ReadError`, then and where one is damaged."""
    try:
        return open_arrays(path)
    except ReadError as error:
        if error.hint:
            raise
        raise ReadError(error.message, error.findings, hint="numpy.savez(path, name=array, ..) writes one") from None


def open_arrays(path: Path) -> dict[str, TensorData]:
    """The arrays of an `.npz` file by name, none of them read yet: mapped where they are not compressed."""
    need_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            found: dict[str, TensorData] = {}
            grown: dict[str, int] = {}
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                if name in found:
                    raise ReadError(f"{path}: has two members {name!r}")
                if not info.is_dir():
                    found[name] = _member(path, archive, info, grown)
            return found
    except PermissionError as error:  # of which nothing is known; other errors of the system may come of what an archive says
        raise ReadError(f"{path}: cannot be read: {error.strerror or error}") from None
    except _DAMAGED as error:
        if shortage(error) is not None:  # the file may be sound
            raise
        raise ReadError(f"{path}: is not an .npz of plain arrays: {_why(error)}") from None


def open_array(path: Path) -> np.ndarray:
    """The array of an `.npy` file, mapped and not read. Raises `ReadError`."""
    need_file(path)
    try:
        with path.open("rb") as file:
            if file.read(len(_BEGINS)) != _BEGINS:
                raise ValueError("it does not begin as one")  # of such files numpy tells how to unpickle them
            file.seek(0)
            _begin(file)
        with np.errstate(over="ignore"):  # of a shape whose elements nobody can count, which is an error below
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        if not array.itemsize:
            raise ValueError(_NO_BYTES)
        return array
    except PermissionError as error:
        raise ReadError(f"{path}: cannot be read: {error.strerror or error}") from None
    except _DAMAGED as error:
        if shortage(error) is not None:
            raise
        raise ReadError(
            f"{path}: is not an .npy of a plain array: {_why(error)}", hint="numpy.save(path, array) writes one") from None


def as_array(given: Any) -> np.ndarray:
    """The array that is given, as numpy has it; read from its file, where it is still there."""
    return given.numpy() if isinstance(given, TensorData) and not isinstance(given, np.ndarray) else np.asarray(given)


def lost_numbers(array: np.ndarray, cast: np.ndarray) -> np.ndarray:
    """Where numbers are others in `cast`, which is `array` in a type of integers or truths; of the arrays' shape.

    Back again they may be the same all the same: 200 is -56 in 8 bits with a sign, and -56 is 200 without one.
    """
    lost: np.ndarray = (cast.astype(array.dtype) != array) | ((cast < 0) != (array < 0))
    return lost


def is_numpys(dtype: np.dtype) -> bool:
    """Whether numpy itself knows a type, and none of those that ml_dtypes adds."""
    return dtype.type.__module__ == "numpy"


def number_kind(dtype: np.dtype) -> str:
    """What numbers of a type are, whoever defines it: `b`, `i`, `u`, `f` or `c`, as numpy calls them; nothing of other types."""
    if is_numpys(dtype):
        return dtype.kind if dtype.kind in "biufc" else ""
    return next((kind for name, kind in (("uint", "u"), ("int", "i"), ("float", "f"), ("bfloat", "f"))
                 if dtype.name.startswith(name)), "")


def in_type(array: np.ndarray, wanted: np.dtype) -> np.ndarray | None:
    """Numbers in another type that may have them, of floats the nearest; None where it has not all.

    It has not what leaves its range, where some types have no infinity to say so, and integers beyond a float's last bit.
    """
    kind = number_kind(array.dtype)
    if not is_numpys(array.dtype):  # of which numpy knows no way to some others, by one that has all of their numbers
        array = array.astype({"i": np.int8, "u": np.uint8}.get(kind, np.float32))
    with np.errstate(all="ignore"):
        cast = array.astype(wanted)
        if number_kind(wanted) in "iu":
            return None if lost_numbers(array, cast).any() else cast
        wide = np.complex128 if number_kind(wanted) == "c" else np.longdouble
        if kind in "biu":  # a longdouble has all of their bits, where numpy has one of its own
            return None if (cast.astype(wide).real.astype(np.longdouble) != array.astype(np.longdouble)).any() else cast
        most = np.longdouble(ml_dtypes.finfo(wanted).max)
        parts = [(array.real, cast.real), (array.imag, cast.imag)] if number_kind(wanted) == "c" else [(array, cast)]
        return None if any(_is_lost(before, after.astype(np.longdouble), most).any() for before, after in parts) else cast


def _is_lost(before: np.ndarray, after: np.ndarray, most: np.longdouble) -> np.ndarray:
    """Where a float is beyond the greatest of its new type, or was not finite and is else now, or the other way round."""
    is_beyond = np.isfinite(before) & (np.abs(before) > most)
    return np.asarray(is_beyond | (np.isnan(before) != np.isnan(after)) | (np.isinf(before) != np.isinf(after)))


def _member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, grown: dict[str, int]) -> TensorData:
    """One of the arrays; `grown` is that of `_unpacked`, the same for all of an archive."""
    name = info.filename.removesuffix(".npy")
    with open_member(archive, info) as member:
        shape, fortran, dtype = _header(member, path, name)
        header_size = member.tell()
    if dtype.hasobject:
        raise ReadError(f"{path}: member {name!r} holds Python objects, which are never read")
    if dtype.subdtype is not None:  # which numpy writes in no file, and reads of one element alone
        raise ReadError(
            f"{path}: member {name!r} has elements that are arrays of their own", hint="give one array of all dimensions")
    if not dtype.itemsize:
        raise ReadError(f"{path}: member {name!r} cannot be read: {_NO_BYTES}")
    n_bytes = math.prod(shape) * dtype.itemsize
    if header_size + n_bytes > info.file_size:
        raise ReadError(f"{path}: member {name!r} is cut short")
    if info.compress_type != zipfile.ZIP_STORED or fortran or not n_bytes:
        return LazyData(lambda: _unpacked(path, info, n_bytes, grown), shape, dtype)
    offset = _data_offset(path, info) + header_size
    if offset + n_bytes > path.stat().st_size:
        raise ReadError(f"{path}: member {name!r} is cut short")
    return MmapData(path, offset, shape, dtype)


def _header(member: Any, path: Path, name: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    version, header = _begin(member)
    if version not in ((1, 0), (2, 0)):
        raise ReadError(f"{path}: member {name!r} is of .npy version {version}, which is not known")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(header, _HEADER)
    if any(type(size) is not int or size < 0 for size in shape):  # numpy takes truth values, which are numbers to Python
        raise ReadError(f"{path}: member {name!r} is damaged: its sizes are no counts, {str(shape)[:80]}")
    return shape, fortran, dtype


def _begin(file: Any) -> tuple[tuple[int, int], io.BytesIO]:
    """The version of an array's file, and its header from its length on, of which numpy reads as much as that says."""
    version = np.lib.format.read_magic(file)
    size = file.read(2 if version == (1, 0) else 4)
    length = int.from_bytes(size, "little")
    if length > _HEADER:
        raise ValueError(_TOO_LONG)
    return version, io.BytesIO(size + file.read(length))


def _data_offset(path: Path, info: zipfile.ZipInfo) -> int:
    """Where a member's bytes begin: behind its local header, whose name and extra field may differ from the directory's."""
    with path.open("rb") as file:
        file.seek(info.header_offset)
        header = file.read(30)
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise ReadError(f"{path}: the archive is damaged at member {info.filename!r}")
    return info.header_offset + 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")


def _unpacked(path: Path, info: zipfile.ZipInfo, size: int, grown: dict[str, int]) -> np.ndarray[Any, Any]:
    """The array of a packed member, of `size` bytes; `ReadError` where that is damaged, or seems a bomb: many of next to none.

    `grown` are the bytes of those members which were unpacked, of next to none, together.
    """
    member = info.filename
    try:
        packed = min(info.compress_size, path.stat().st_size)  # it may say of itself that it is packed in more than there is
        if size > _MOST_PACKED * packed:
            together = sum({**grown, member: size}.values())
            if together > allowance().grown:
                others = f" ({together:,} with others of its kind)" * (together > size)
                raise ReadError(
                    f"{path}: member {member!r} says that its {packed:,} bytes become {size:,}{others}; only zeros and the like "
                    "pack so", hint=f"{VARIABLE}=grown={together} unpacks it")
            grown[member] = size
        with zipfile.ZipFile(path) as archive, open_member(archive, info) as file:
            return np.lib.format.read_array(file, allow_pickle=False, max_header_size=_HEADER)
    except MemoryError:
        raise ReadError(f"{path}: member {member!r} claims more data than memory can hold") from None
    except _DAMAGED as error:
        raise ReadError(f"{path}: member {member!r} cannot be read: {_why(error)}") from None


def _why(error: Exception) -> str:
    """What is wrong with an array's file: numpy advises to trust such files, and to have them unpickled."""
    said = str(error)
    if isinstance(error, OSError):
        return error.strerror or said
    if isinstance(error, EOFError):
        return said or "it ends in the middle"
    if "Header info length" in said:
        return _TOO_LONG
    if "allow_pickle" in said or "Python objects" in said:
        return "it holds Python objects, which are never read"
    if "malformed node" in said:  # with the address of what it is
        return "its header is not the values of a dictionary"
    return said


def need_room(path: Path | None, names: Collection[str]) -> None:
    """Raise `UsageError` where a file that is to be written is called as one of one array (`.npy`), and there are others."""
    if path is not None and _holds_one(path) and len(names) != 1:
        what = f"{len(names)} ({', '.join(list(names)[:4])}{', ..' * (len(names) > 4)})" if names else "none"
        raise UsageError(
            f"{path} would hold one array, as an .npy does, and there are {what}", hint=f"{path.stem}.npz holds any number")


def _holds_one(path: Path) -> bool:
    return path.suffix.lower() == ".npy"


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write an `.npz`, or the one array as an `.npy` where the file is called so, complete or not at all.

    Names may be any: what is no UTF-8 is spelt out (`spelt`). Raises `TransloadError`, and `UsageError` of more arrays than fit.
    """
    need_room(path, arrays)
    with atomic_path(path) as temporary:
        if _holds_one(path):
            (array,) = arrays.values()
            with temporary.open("wb") as file:
                np.lib.format.write_array(file, _nameable(np.asanyarray(array)), allow_pickle=False)
            return
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
            for name, array in zip(map(spelt, arrays), arrays.values(), strict=True):
                _add(archive, name, array, path)


def _add(archive: zipfile.ZipFile, name: str, array: np.ndarray, path: Path) -> None:
    """Add an array to the archive that becomes the file at `path`."""
    try:
        if "\0" in name or len(name.encode()) > _NAME:
            raise ValueError(f"a name in an archive has no zero byte, and at most {_NAME:,} bytes")
        with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array(member, _nameable(np.asanyarray(array)), allow_pickle=False)
    except ValueError as error:
        raise TransloadError(f"cannot write array {name[:80]!r} to {path}: {error}") from None


def _nameable(array: np.ndarray) -> np.ndarray:
    """An array whose type numpy reads by the name that it writes; numbers of float8_e5m2 as bytes, as those of other such types.

    It says `<f1` of these, and of no other type that ml_dtypes adds what it does not know again.
    """
    return array.view("V1") if array.dtype.str[1:] == "f1" else array


def described(computed: Any) -> str:
    """What a kernel gave in the place of an array of the right type."""
    if not hasattr(computed, "shape"):
        return f"a {type(computed).__name__}" if computed is not None else "None"
    return f"an array of {'x'.join(map(str, computed.shape)) or 'no dimension'} {computed.dtype}"
