"""A model in Keras, as the process has it in which it runs (`runtime`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transload.errors import RunError

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # its sums are rounded in another order
os.environ["KERAS_BACKEND"] = "tensorflow"

__all__ = ["Session"]


class Session:
    """A model; `inputs` and `outputs` are the names that we have for what it is given and gives, in order."""

    def __init__(self, path: str, name: str, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        import keras

        self.name, self.inputs, self.outputs = name, list(inputs), list(outputs)
        try:
            self.model = keras.saving.load_model(path, compile=False, safe_mode=True)
        except Exception as error:  # whatever Keras raises
            raise RunError(f"Keras cannot load {name}: {_first_line(error)}") from None
        self._layers: Any = None

    def __call__(self, inputs: Mapping[str, np.ndarray], keep: bool) -> dict[str, np.ndarray]:
        """Run once."""
        import keras

        given = [np.asarray(inputs[name]) for name in self.inputs]
        try:
            made = self.model(given if len(given) > 1 else given[0], training=False)
            results = dict(zip(self.outputs, map(np.asarray, keras.tree.flatten(made)), strict=True))
            return {**(self._intermediates(given) if keep else {}), **results}
        except Exception as error:  # whatever Keras and TensorFlow raise
            raise RunError(f"Keras cannot run {self.name}: {_first_line(error)}") from None

    def _intermediates(self, given: list[np.ndarray]) -> dict[str, np.ndarray]:
        """What each layer gives that is called once, and gives one tensor."""
        import keras

        if self._layers is None:
            once = {layer.name: layer.output for layer in self.model.layers
                    if len(layer._inbound_nodes) == 1 and not isinstance(layer.output, list | tuple | dict)}
            self._layers = keras.Model(self.model.inputs, once)
        made = self._layers(given if len(given) > 1 else given[0], training=False)
        return {name: np.asarray(value) for name, value in made.items() if name not in self.inputs}


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:400]
