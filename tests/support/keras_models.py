"""Small Keras files, made without Keras: configs as it writes them, weights by h5py."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["dense_layer", "entry", "functional", "h5_file", "hdf5", "input_entry", "keras_file", "sequential"]


def entry(class_name: str, name: str, *used: Any, module: str = "keras.layers", named: Mapping[str, Any] | None = None,
          **config: Any) -> dict[str, Any]:
    """A layer of a functional model of Keras 3, called once; of `used`, texts are the layers whose results it is given."""
    def argument(item: Any) -> Any:
        if isinstance(item, list):
            return [argument(each) for each in item]
        if isinstance(item, str):
            return {"class_name": "__keras_tensor__", "config": {"shape": [], "dtype": "float32", "keras_history": [item, 0, 0]}}
        return item

    nodes = [{"args": [argument(item) for item in used], "kwargs": dict(named or {})}]
    of_layers = {} if module.startswith("keras.src.ops") else {"trainable": True, "dtype": "float32"}
    return {"module": module, "class_name": class_name, "name": name, "inbound_nodes": nodes if used else [],
            "config": {"name": name, **of_layers, **config}}


def input_entry(name: str, shape: Sequence[int | None], dtype: str = "float32") -> dict[str, Any]:
    return {"class_name": "InputLayer", "name": name, "inbound_nodes": [], "module": "keras.layers",
            "config": {"name": name, "batch_shape": list(shape), "dtype": dtype}}


def dense_layer(name: str, used: str, units: int, **more: Any) -> dict[str, Any]:
    return entry("Dense", name, used, units=units, **more)


def functional(
    layers: Sequence[Mapping[str, Any]], inputs: Sequence[str], outputs: Sequence[str], name: str = "model",
) -> dict[str, Any]:
    """The config of a functional model."""
    return {"module": "keras.src.models.functional", "class_name": "Functional", "config": {
        "name": name, "trainable": True, "layers": list(layers), "input_layers": [[each, 0, 0] for each in inputs],
        "output_layers": [[each, 0, 0] for each in outputs]}}


def sequential(*layers: Mapping[str, Any], name: str = "model") -> dict[str, Any]:
    return {"module": "keras", "class_name": "Sequential", "config": {"name": name, "trainable": True, "layers": list(layers)}}


def hdf5(weights: Mapping[str, np.ndarray], attributes: Mapping[str, Mapping[str, Any]] | None = None, **options: Any) -> bytes:
    """An HDF5 file of arrays by path, and attributes by group."""
    import h5py

    made = io.BytesIO()
    with h5py.File(made, "w") as file:
        for path, array in weights.items():
            file.create_dataset(path, data=array, **options)
        for group, values in (attributes or {}).items():
            for name, value in values.items():
                file.require_group(group or "/").attrs[name] = value
    return made.getvalue()


def keras_file(path: Path, config: Mapping[str, Any], weights: Mapping[str, np.ndarray], packed: int = zipfile.ZIP_STORED,
               version: str = "3.5.0", **options: Any) -> Path:
    """A `.keras` file of a version; `options` are h5py's for every array."""
    with zipfile.ZipFile(path, "w", packed) as file:
        file.writestr("metadata.json", json.dumps({"keras_version": version}))
        file.writestr("config.json", json.dumps(config))
        file.writestr("model.weights.h5", hdf5(weights, **options))
    return path


def h5_file(
    path: Path, config: Mapping[str, Any], weights: Mapping[str, Mapping[str, np.ndarray]], version: str = "2.4.0",
) -> Path:
    """An `.h5` file of Keras 2: the arrays of each layer by their names, in order."""
    arrays = {f"model_weights/{layer}/{name}": array for layer, held in weights.items() for name, array in held.items()}
    names = {f"model_weights/{layer}": {"weight_names": [name.encode() for name in held]} for layer, held in weights.items()}
    path.write_bytes(hdf5(arrays, {
        "": {"model_config": json.dumps(config), "keras_version": version, "backend": "tensorflow"},
        "model_weights": {"layer_names": [layer.encode() for layer in weights]}, **names}))
    return path
