"""Arrays in the forms that files have them in, right and wrong: other types and orders, headers that lie, all archives."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable

import numpy as np

__all__ = ["ARRAYS", "npy_of", "npz_of"]


def npz_of(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def npy_of(array: np.ndarray, **more: bool) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **more)
    return file.getvalue()


def _zipped(dice: int, names: dict[str, bytes], **more: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", dice) as archive:
        for name, content in names.items():
            archive.writestr(name, content, **more)
    return file.getvalue()


def _held(content: Callable[[np.ndarray], bytes]) -> Callable[[np.ndarray, bool], bytes]:
    """An array as a file of its own, or as the one of an archive."""
    return lambda array, packed: _zipped(0, {"arg0.npy": content(array)}) if packed else content(array)


def _header(says: str, version: int = 1) -> bytes:
    """An array that has only what its header says."""
    text = says.encode("latin-1", "replace").ljust(117) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text


def _says(says: str, version: int = 1) -> Callable[[np.ndarray, bool], tuple[bytes, bool]]:
    return lambda array, packed: (_held(lambda _: _header(says, version) + bytes(64))(array, packed), False)


def _as(form: Callable[[np.ndarray], np.ndarray], is_same: bool = True) -> Callable[[np.ndarray, bool], tuple[bytes, bool]]:
    return lambda array, packed: (_held(lambda one: npy_of(form(one), allow_pickle=True))(array, packed), is_same)


def _archive(
    names: Callable[[bytes], dict[str, bytes]], how: int = 0, is_same: bool = False
) -> Callable[[np.ndarray, bool], tuple[bytes, bool]]:
    return lambda array, packed: (_zipped(how, names(npy_of(array))), is_same and packed)


def _twice(array: np.ndarray, packed: bool) -> tuple[bytes, bool]:
    import warnings

    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore")
        for one in (array, array + 1):
            archive.writestr("arg0.npy", npy_of(one))
    return file.getvalue(), False


def _with_flags(array: np.ndarray, packed: bool) -> tuple[bytes, bool]:
    """An archive that says to be encrypted."""
    made = bytearray(_zipped(0, {"arg0.npy": npy_of(array)}))
    made[6] |= 1
    made[made.rindex(b"PK\x01\x02") + 8] |= 1
    return bytes(made), False


ARRAYS: dict[str, Callable[[np.ndarray, bool], tuple[bytes, bool]]] = {
    "big endian": _as(lambda one: one.astype(one.dtype.newbyteorder(">"))),
    "Fortran order": _as(np.asfortranarray),
    "double": _as(lambda one: one.astype(np.float64) if one.dtype.kind == "f" else one.astype(np.int32), False),
    "objects": _as(lambda one: one.astype(object), False),
    "texts": _as(lambda one: one.astype(str), False),
    "records": _as(lambda one: one.view([("a", one.dtype)]), False),
    "complex": _as(lambda one: one.astype(np.complex64), False),
    "times": _as(lambda one: one.astype(np.int64).view("M8[s]"), False),
    "half": _as(lambda one: one.astype(np.float16), False),
    "long double": _as(lambda one: one.astype(np.longdouble), False),
    "nothing in it": _as(lambda one: one[:0], False),
    "a number": _as(lambda one: one.reshape(-1)[0], False),
    "many dimensions": _as(lambda one: one.reshape(*one.shape, *[1] * 40), False),
    "NaN": _as(lambda one: one * np.nan, False),
    "long by its header": _says("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}"),
    "more than 64 bits": _says(f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({1 << 70},)}}"),
    "negative": _says("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 8)}"),
    "nothing, and long": _says("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 99999999999999999999)}"),
    "true sizes": _says("{'descr': '<f4', 'fortran_order': False, 'shape': (True, 8)}"),
    "no header": _says("nonsense"),
    "a header that is deep": _says("(" * 3000),
    "a header that computes": _says("{'descr': '<f4', 'fortran_order': False, 'shape': (9**9**9,)}"),
    "a header of another version": _says("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 9),
    "void": _says("{'descr': '|V0', 'fortran_order': False, 'shape': (4,)}"),
    "long texts": _says("{'descr': '<U99999999', 'fortran_order': False, 'shape': (99,)}"),
    "a type of parts": _says("{'descr': [('a', '<f4', (99999999, 99))], 'fortran_order': False, 'shape': (1,)}"),
    "deflated": _archive(lambda one: {"arg0.npy": one}, zipfile.ZIP_DEFLATED, True),
    "bzip2": _archive(lambda one: {"arg0.npy": one}, zipfile.ZIP_BZIP2),
    "LZMA": _archive(lambda one: {"arg0.npy": one}, zipfile.ZIP_LZMA),
    "zeros, packed": _archive(
        lambda one: {
            "arg0.npy": _header("{'descr': '<f4', 'fortran_order': False, 'shape': (100000000,)}") + bytes(400_000_000)
        },
        zipfile.ZIP_DEFLATED,
    ),
    "names that lead out": _archive(lambda one: {"../../arg0.npy": one, "/arg0.npy": one}),
    "no suffix": _archive(lambda one: {"arg0": one}),
    "a folder": _archive(lambda one: {"arg0/": b"", "arg0.npy": one}),
    "an odd name": _archive(
        lambda one: {
            "a\x1b[31m\nb\udc80.npy".encode("utf-8", "replace").decode(): one,
            "": one,
            ".npy": one,
            "x" * 5000 + ".npy": one,
        }
    ),
    "no array": _archive(lambda one: {"arg0.npy": b"text", "other.txt": b"text"}),
    "no files": _archive(lambda one: {}),
    "many": _archive(lambda one: {f"{number}.npy": one for number in range(3000)}),
    "twice the same name": _twice,
    "encrypted": _with_flags,
}
"""Arrays in files that numpy writes, might read, or refuses; with whether they are the same numbers in another form."""
