"""Record what Keras computes, where it is installed, and tensorflow: `python -m tests.support.keras_layers.record [CLASS ...]`.

All layers, or those of some classes (`masked`: all with masks), whose cases take the place of those recorded before.
"""

from __future__ import annotations

import gzip
import io
import json
import operator
import os
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .cases import BATCH, Case, cases
from .models import archive, inputs_of, shown
from .recorded import RECORDED

__all__ = ["main"]


_DROPPED = re.compile(r".*_(initializer|regularizer|constraint)|registered_name|(build|compile)_config|shared_object_id|seed")
"""Of a config, what says how a layer is trained or was made."""


def _layer(value: Any) -> Any:
    """Arguments with the layers that dictionaries stand for."""
    import keras

    if isinstance(value, dict) and "layer" in value:
        inner = {key: _layer(item) for key, item in value.items() if key != "layer"}
        return getattr(keras.layers, value["layer"])(**inner)
    return [_layer(item) for item in value] if isinstance(value, list) and value and isinstance(value[0], dict) else value


def model_of(case: Case) -> Any:
    """A functional model of a case."""
    import keras

    keras.utils.clear_session()
    if case.layer.startswith("ops."):
        types = case.types or ["int32" if case.integers else "float32"] * len(case.inputs)
        given = [keras.Input(shape, dtype=dtype) for shape, dtype in zip(case.inputs, types, strict=True)]
        operation = operator.attrgetter(case.layer.removeprefix("ops."))(keras.ops)
        first = [case.way] if case.layer == "ops.einsum" else []
        return keras.Model(given, operation(*first, *([given] if case.way == "several" else given), **case.arguments))
    layer = getattr(keras.layers, case.layer)(**{key: _layer(value) for key, value in case.arguments.items()})
    given = [keras.Input(shape, dtype="int32" if case.integers else "float32") for shape in case.inputs]
    if case.way.startswith("masked"):
        masked = keras.layers.Masking()(given[0])
        both = [masked, *([keras.layers.Masking()(each) for each in given[1:]] if case.way == "masked all" else given[1:])]
        if case.way == "masked twice":
            result = layer(masked, masked)
        elif case.way == "masked states":
            result = layer(masked, initial_state=given[1:])
        else:
            result = layer(both if len(both) > 1 else masked, **case.call)
        if case.way != "masked":
            result = [*keras.tree.flatten(result), keras.layers.GlobalAveragePooling1D()(keras.tree.flatten(result)[0])]
    elif case.way == "states":
        result = layer(given[0], initial_state=given[1:])
    elif case.way == "each":
        result = layer(*given, **case.call)
    else:
        result = layer(given if len(given) > 1 else given[0], **case.call)
    return keras.Model(given, result)


def recorded(case: Case, name: str) -> dict[str, Any]:
    """The config of a case's model, the shapes of its variables, and what Keras computes."""
    import h5py
    import keras

    folder = Path("/tmp/keras-record.keras")
    model_of(case).save(folder)
    with zipfile.ZipFile(folder) as file:
        config = json.loads(file.read("config.json"))
        config = _without_masks(config) if case.way.startswith("masked") else config
        with h5py.File(io.BytesIO(file.read("model.weights.h5"))) as weights:
            variables: dict[str, Any] = {}
            weights.visititems(lambda path, found: variables.update({path: [list(found.shape), found.dtype.name]})
                               if isinstance(found, h5py.Dataset) else None)
    folder.write_bytes(archive(config, variables))
    model = keras.models.load_model(folder, compile=False)
    inputs = inputs_of(name, [(BATCH, *shape) for shape in case.inputs], case.integers, case.way.startswith("masked"), case.types)
    flat = [np.asarray(value) for value in keras.tree.flatten(_computed(model, inputs if len(inputs) > 1 else inputs[0]))]
    typed = case.layer.startswith("ops.") or case.integers
    return {"name": name, "config": _small(config), "variables": variables, "integers": case.integers, "way": case.way,
            "types": list(case.types), "made": [str(array.dtype) for array in flat] if typed else [],
            "inputs": [list(array.shape) for array in inputs], "shapes": [list(array.shape) for array in flat],
            "outputs": [[float(f"{x:.6g}") for x in shown(array.astype(np.float64))] for array in flat]}


def _without_masks(config: Any) -> Any:
    """A config as Keras wrote it that did not say which masks calls are given: tensors bring them along."""
    if isinstance(config, dict):
        return {key: _without_masks(value) for key, value in config.items()
                if not (key in ("mask", "query_mask", "value_mask", "key_mask") and "__keras_tensor__" in json.dumps(value))}
    return [_without_masks(item) for item in config] if isinstance(config, list) else config


def _computed(model: Any, inputs: Any) -> Any:
    """What a model gives: op by op, or compiled by XLA, where TensorFlow's own ops do not know channels first on a CPU."""
    import tensorflow as tf

    try:
        return model(inputs, training=False)
    except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError):
        return tf.function(lambda given: model(given, training=False), jit_compile=True)(inputs)


def _small(config: Any) -> Any:
    """A config without what says how a layer is trained."""
    if isinstance(config, dict):
        return {key: _small(value) for key, value in config.items() if not _DROPPED.fullmatch(key)}
    return [_small(item) for item in config] if isinstance(config, list) else config


def main(classes: Sequence[str]) -> None:
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    old = json.loads(gzip.decompress(RECORDED.read_bytes())) if classes else []

    def chosen(layer: str, way: str) -> bool:
        """Whether a class is among those asked for; `ops.` are all operations."""
        return not classes or layer in classes or layer.partition(".")[0] + "." in classes or way.partition(" ")[0] in classes

    kept = [case for case in old if not chosen(case["name"].rpartition("-")[0], case["way"])]
    counts: Counter[str] = Counter()
    found, failed = [], []
    for case in cases():
        counts[case.layer] += 1
        name = f"{case.layer}-{counts[case.layer]}"
        if not chosen(case.layer, case.way):
            continue
        try:
            found.append(recorded(case, name))
        except Exception as error:  # whatever Keras raises: all that fail are told at once
            failed.append(f"{name}: {case}: {type(error).__name__}: {str(error)[:300]}")
    if failed:  # a case that is left out would be one that nobody misses
        raise SystemExit("\n".join([*failed, "nothing was recorded"]))
    found = sorted(kept + found, key=lambda case: case["name"])
    RECORDED.write_bytes(gzip.compress(json.dumps(found, separators=(",", ":")).encode(), 9, mtime=0))
    print(f"{len(found)} cases of {len(counts)} layers, {RECORDED.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
