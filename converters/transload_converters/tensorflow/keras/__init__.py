"""Keras: the reader of its files, whose layers become ops of dialect `tf`, and Keras itself as the judge.

The rules of layers are facts of kind `keras-layer`: a plugin adds to them by `Facts("keras-layer", "keras", TABLE)`, TABLE a
`layer.LayerTable`.
"""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.facts import FactKind, Facts
from transload.plugin import Reader, Runtime

_HERE = "transload_converters.tensorflow.keras"


@hookimpl
def register_readers(register: Any) -> None:
    register(Reader(
        "keras", "tf", (".keras", ".h5", ".hdf5"), f"{_HERE}.reader:read", f"{_HERE}.archive:detect",
        "Models of Keras 1, 2 and 3: functional and sequential ones; their layers become ops of TensorFlow.",
        warm=f"{_HERE}.isolated:warm"))


@hookimpl
def register_runtimes(register: Any) -> None:
    register(Runtime(
        "keras", "keras", f"{_HERE}.runtime:open_model", f"{_HERE}.runtime:available", "Keras 3 on TensorFlow's CPU kernels.",
        warm=f"{_HERE}.runtime:warm"))


@hookimpl
def register_facts(register: Any) -> None:
    register(FactKind(
        "keras-layer", "how layers of a class of Keras become ops: a `LayerRule`", "the reader of Keras models",
        f"{_HERE}.layer:LayerRule", declared=False, refuses=True))
    register(Facts("keras-layer", "keras", f"{_HERE}.layers:LAYERS"))
