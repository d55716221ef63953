"""Record what Keras computes: `python -m tests.support.keras_layers.record [FILE]`, where keras and tensorflow are installed.

Without oneDNN: with it, TensorFlow 2.18 computes some convolutions of channels first in two ways, the one wrong (a `Conv2D` of
[2, 4, 7, 8], called and predicted, differs from itself by 0.9).
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sys
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from .cases import BATCH, Case, cases
from .models import archive, inputs_of

__all__ = ["RECORDED", "main"]

RECORDED = Path(__file__).with_name("recorded.json.gz")
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
    layer = getattr(keras.layers, case.layer)(**{key: _layer(value) for key, value in case.arguments.items()})
    given = [keras.Input(shape, dtype="int32" if case.integers else "float32") for shape in case.inputs]
    if case.way.startswith("masked"):
        masked = keras.layers.Masking()(given[0])
        result = layer(masked, masked) if case.way == "masked twice" else layer(masked)
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
        with h5py.File(io.BytesIO(file.read("model.weights.h5"))) as weights:
            variables: dict[str, Any] = {}
            weights.visititems(lambda path, found: variables.update({path: [list(found.shape), found.dtype.name]})
                               if isinstance(found, h5py.Dataset) else None)
    folder.write_bytes(archive(config, variables))
    model = keras.models.load_model(folder, compile=False)
    inputs = inputs_of(name, [(BATCH, *shape) for shape in case.inputs], case.integers, case.way.startswith("masked"))
    flat = [np.asarray(value) for value in keras.tree.flatten(_computed(model, inputs if len(inputs) > 1 else inputs[0]))]
    return {"name": name, "config": _small(config), "variables": variables, "integers": case.integers, "way": case.way,
            "inputs": [list(array.shape) for array in inputs], "shapes": [list(array.shape) for array in flat],
            "outputs": [[float(f"{x:.6g}") for x in array.astype(np.float64).ravel()] for array in flat]}


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


def main(path: Path = RECORDED) -> None:
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    counts: Counter[str] = Counter()
    found = []
    for case in cases():
        counts[case.layer] += 1
        name = f"{case.layer}-{counts[case.layer]}"
        try:
            found.append(recorded(case, name))
        except Exception as error:
            print(f"{name}: {case}: {type(error).__name__}: {str(error)[:300]}")
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        file.write(json.dumps(found, separators=(",", ":")).encode())
    print(f"{len(found)} cases of {len(counts)} layers, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
