"""Models of one layer, and their numbers, made of a seed."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["archive", "filled", "inputs_of", "shown"]


def filled(path: str, shape: Sequence[int], dtype: str = "float32") -> np.ndarray:
    """The numbers of a variable, by its path: small ones of both signs for kernels, positive ones for vectors."""
    rng = np.random.default_rng(zlib.crc32(path.encode()))
    values = rng.uniform(0.2, 1.2, shape) - (0.7 if len(shape) > 1 else 0.0)
    return values.astype(dtype) if np.dtype(dtype).kind == "f" else np.ones(shape, dtype)


def inputs_of(
    name: str, shapes: Sequence[Sequence[int]], integers: int, zeros: bool = False, types: Sequence[str] = (),
) -> list[np.ndarray]:
    """What a case is given. `zeros`: some steps are all zeros, as a Masking layer takes them out, others of each input. `types`
    are those of the inputs where these differ; signed integers are of both signs."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if types:
        return [_typed(rng, shape, np.dtype(dtype), integers or 2) for shape, dtype in zip(shapes, types, strict=True)]
    if integers:
        return [rng.integers(0, integers, shape).astype(np.int32) for shape in shapes]
    given = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
    if zeros:
        given[0][0, -1] = given[0][1, :3] = 0
        for array in given[1:]:
            array[0, 0] = array[1, 2:] = 0
    return given


def _typed(rng: np.random.Generator, shape: Sequence[int], dtype: np.dtype, integers: int) -> np.ndarray:
    if dtype.kind == "f":
        return rng.uniform(-1, 1, shape).astype(dtype)
    return rng.integers(-integers if dtype.kind == "i" else 0, integers if dtype.kind != "b" else 2, shape).astype(dtype)


def shown(array: np.ndarray) -> np.ndarray:
    """What of an output is kept: all of a small one, of others about 100 numbers at equal distances."""
    return array.ravel()[:: array.size // 100 | 1]


def archive(config: Mapping[str, Any], variables: Mapping[str, Sequence[Any]]) -> bytes:
    """A `.keras` file of a config and variables (shape and dtype by path), filled from a seed."""
    import h5py

    weights = io.BytesIO()
    with h5py.File(weights, "w") as file:
        for path, (shape, dtype) in variables.items():
            file.create_dataset(path, data=filled(path, shape, dtype))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as out:
        out.writestr("metadata.json", json.dumps({"keras_version": "3.15.1"}))
        out.writestr("config.json", json.dumps(config))
        out.writestr("model.weights.h5", weights.getvalue())
    return made.getvalue()
