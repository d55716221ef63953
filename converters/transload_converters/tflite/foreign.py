"""Formats of Keras, which come here by way of TFLite, whose converter is a part of TensorFlow."""

from __future__ import annotations

from pathlib import Path

from transload.files import archive_names
from transload.plugin import ForeignFormat

__all__ = ["FORMATS", "is_keras"]

_HERE = "transload_converters.tflite.foreign"
_MAKE = (
    "with TensorFlow installed, make a .tflite file of it: python -c \"import sys, tensorflow as tf; {how}; "
    "open('model.tflite', 'wb').write(converter.convert())\" {{path}}")

FORMATS = (
    ForeignFormat(
        "keras", "a Keras model",
        _MAKE.format(how="converter = tf.lite.TFLiteConverter.from_keras_model(tf.keras.models.load_model(sys.argv[1]))"),
        (".keras", ".h5", ".hdf5"), f"{_HERE}:is_keras"),
)


def is_keras(head: bytes, path: Path) -> bool:
    """HDF5, or the archive of Keras 3."""
    return head.startswith(b"\x89HDF\r\n\x1a\n") or (
        head.startswith(b"PK") and {"config.json", "model.weights.h5"} <= set(archive_names(path)))
