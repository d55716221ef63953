"""The process in which HDF5's C library reads files: it trusts them more than one should."""

from __future__ import annotations

from importlib.util import find_spec

from transload.worker import Limits, Worker

__all__ = ["HDF5", "most_unpacked", "warm"]

HDF5 = Worker(
    "the process of h5py", needs=("transload_converters", "numpy", "ml_dtypes", "pluggy", "h5py"),
    first=("transload_converters.tensorflow.keras.hdf5",), limits=Limits(seconds=120.0, memory=0.5, values=2.0))


def most_unpacked(packed: int) -> int:
    """To how many bytes compressed weights may grow: numbers hardly shrink; those of small models may all be zeros."""
    return max(1 << 28, 20 * packed)


def warm() -> None:
    """Start the process, where there is something for it to import."""
    if find_spec("h5py") is not None:
        HDF5.start()
