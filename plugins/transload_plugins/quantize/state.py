"""Histograms in a file: beside a table, and in the middle of a calibration that may be interrupted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from transload.apart import written_again
from transload.arrays import read_arrays
from transload.errors import ReadError, UsageError
from transload.files import atomic_path, exists
from transload.ir import Module
from transload.ir.constants import TensorData
from transload.text.digest import digest_of_module

from .histogram import BINS, ENDS, LEAST, Histogram

__all__ = [
    "State", "digest_of_sample", "load_histograms", "need_own_histograms", "packed", "save_histograms", "unpacked"]


_OWN = ("names", "low", "high", "exponent", "first", "length", "counts")
_REACH = ("arrays", "ends")
"""What files of before do not have."""
_PLACES = 2 * BINS - 1
_MOST = 1 << 20
"""Tensors that a file may have histograms of."""


def packed(histograms: Mapping[str, Histogram]) -> dict[str, Any]:
    """Histograms as few arrays by name, without the bins before the first and after the last that has a number."""
    each = histograms.values()
    used = [np.flatnonzero(one.counts)[[0, -1]].tolist() if one.counts.any() else (0, -1) for one in each]
    return {
        "names": np.array(list(histograms), np.str_),
        "low": np.array([one.low for one in each], np.float64), "high": np.array([one.high for one in each], np.float64),
        "exponent": np.array([one.exponent for one in each], np.int64),
        "first": np.array([first for first, _ in used], np.int64),
        "length": np.array([last + 1 - first for first, last in used], np.int64),
        "arrays": np.array([one.arrays for one in each], np.int64),
        "ends": np.array([one.ends for one in each], np.float64).reshape(-1, 2, ENDS),
        "counts": np.concatenate([np.zeros(0, np.int64), *(
            one.counts[first:last + 1] for one, (first, last) in zip(each, used, strict=True))])}


def save_histograms(path: Path, histograms: Mapping[str, Histogram], **more: Any) -> None:
    """Write histograms, and arrays of one's own by name, as an `.npz`; the file is complete or not there."""
    with atomic_path(path) as file, file.open("wb") as stream:
        np.savez_compressed(stream, **packed(histograms), **more)


def need_own_histograms(path: Path) -> None:
    """Raise `UsageError` where a file that is to be written over, or to go, is there and holds no histograms."""
    if not exists(path):
        return
    try:
        with written_again():
            load_histograms(path)
    except ReadError as error:
        raise UsageError(f"{path} is not what Transload writes there, and would be lost",
                         hint=f"choose another name for the table, or move {path.name} away") from error


def load_histograms(path: Path) -> tuple[dict[str, Histogram], dict[str, TensorData]]:
    """What `save_histograms` wrote, arrays of one's own unread. Raises `ReadError` where the file is none such, or damaged."""
    arrays = read_arrays(path)
    try:
        there = (*_OWN, *(_REACH if all(key in arrays for key in _REACH) else ()))
        return unpacked({key: arrays.pop(key) for key in there}), arrays
    except (KeyError, ValueError) as error:
        raise ReadError(f"{path}: cannot be read as histograms: {error}") from None


def unpacked(arrays: Mapping[str, Any]) -> dict[str, Histogram]:
    """What `packed` made arrays of: numpy's, or what is read of them when it is asked for. `ValueError` where it is none such."""
    sizes = {key: arrays[key].shape for key in _OWN}
    (tensors,), (counted,) = sizes["names"], sizes["counts"]
    if any(sizes[key] != (tensors,) for key in _OWN[:-1]) or tensors > _MOST or counted > tensors * _PLACES:
        raise ValueError("its arrays do not fit each other")
    names, low, high, exponents, firsts, lengths, counts = (_read(arrays[key]) for key in _OWN)
    if any(array.dtype != np.int64 for array in (exponents, firsts, lengths, counts)) or names.dtype.kind != "U":
        raise ValueError("it holds other numbers")
    if low.dtype != np.float64 or high.dtype != np.float64 or not _sound(low, high, exponents):
        raise ValueError("it has ranges that are none")
    if (min(lengths.min(initial=0), firsts.min(initial=0), counts.min(initial=0)) < 0 or lengths.max(initial=0) > _PLACES
            or firsts.max(initial=0) > _PLACES or (firsts + lengths).max(initial=0) > _PLACES or lengths.sum() != counted):
        raise ValueError("it counts what is no place")
    seen, ends = (_read(arrays[key]) if key in arrays else None for key in _REACH)
    if seen is not None and ends is not None:
        _check_reach(seen, ends, tensors)
    found: dict[str, Histogram] = {}
    end = 0
    for index, name in enumerate(names.tolist()):
        histogram = found[name] = Histogram()
        histogram.low, histogram.high, histogram.exponent = float(low[index]), float(high[index]), int(exponents[index])
        first, start, end = int(firsts[index]), end, end + int(lengths[index])
        histogram.counts[first:first + end - start] = counts[start:end]
        if seen is not None and ends is not None:
            histogram.arrays, histogram.ends = int(seen[index]), ends[index]
    return found


def _check_reach(arrays: np.ndarray, ends: np.ndarray, tensors: int) -> None:
    """`ValueError` where these are not how many arrays each of so many histograms has, and how far some of them reach."""
    sound = arrays.shape == (tensors,) and ends.shape == (tensors, 2, ENDS) and arrays.dtype == np.int64 and \
        ends.dtype == np.float64 and arrays.min(initial=0) >= 0 and not np.isnan(ends).any() and not (ends == np.inf).any() and \
        bool(np.all(ends[..., :-1] >= ends[..., 1:]))
    if not sound:
        raise ValueError("it has ends that are none")


def _read(data: Any) -> np.ndarray:
    array: np.ndarray = data if isinstance(data, np.ndarray) else data.numpy()
    return array


def _sound(low: np.ndarray, high: np.ndarray, exponents: np.ndarray) -> bool:
    """Whether these are ranges, finite or of nothing, and exponents that histograms have."""
    empty = (low == np.inf) & (high == -np.inf)
    ranges = empty | (np.isfinite(low) & np.isfinite(high) & (low <= high))
    return bool(np.all(ranges & (exponents >= LEAST) & (exponents <= 1024)))


class State:
    """How far a calibration came: what was counted, of which module, and of which samples."""

    def __init__(self, path: Path, module: str) -> None:
        self.path = path
        self.module = module
        self.count = 0
        self.last = ""
        """The digest of the last sample that was counted."""
        self.histograms: dict[str, Histogram] = {}

    @classmethod
    def open(cls, path: Path, module: Module) -> State:
        """The state in a file, or a new one where there is none. Raises `UsageError` where it is of another module."""
        state = cls(path, digest_of_module(module))
        if not exists(path):
            return state
        with written_again():
            state.histograms, more = load_histograms(path)
        told = {key: more[key].numpy() for key in ("module", "count", "last") if key in more and more[key].shape == ()}
        if len(told) < 3 or told["count"].dtype.kind not in "iu":
            raise ReadError(f"{path}: is not the state of a calibration", hint="remove the file to calibrate from the beginning")
        if str(told["module"]) != state.module:
            raise UsageError(
                f"{path}: is the state of a calibration of another model", hint="remove the file to calibrate from the beginning")
        state.count, state.last = int(told["count"]), str(told["last"])
        return state

    def has(self, number: int, sample: Mapping[str, Any]) -> bool:
        """Whether a sample was counted before the interruption. Raises `UsageError` where it was another one."""
        if number == self.count and digest_of_sample(sample) != self.last:
            raise UsageError(
                f"{self.path}: is the state of a calibration on other samples: sample {number} was another one",
                hint="remove the file to calibrate from the beginning")
        return number <= self.count

    def save(self, histograms: Mapping[str, Histogram], count: int, last: Mapping[str, Any]) -> None:
        """Write what was counted on so many samples, the last of which was this one."""
        save_histograms(self.path, histograms, module=self.module, count=count, last=digest_of_sample(last))

    def finish(self, count: int) -> None:
        """Remove the file. Raises `UsageError` where there were fewer samples than it counted."""
        if count < self.count:
            raise UsageError(
                f"{self.path}: is the state of a calibration on other samples: it counted {self.count}, and there are {count}",
                hint="remove the file to calibrate from the beginning")
        self.path.unlink(missing_ok=True)


def digest_of_sample(sample: Mapping[str, Any]) -> str:
    """The same for the same arrays of the same names."""
    state = hashlib.blake2b(digest_size=16)
    for name in sorted(sample):
        array = np.ascontiguousarray(sample[name])
        state.update(f"{name} {array.shape} {array.dtype}".encode())
        state.update(array.reshape(-1).view(np.uint8).data)
    return state.hexdigest()
