"""OpenCV's networks, as the process has them in which it runs (`runtime`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transload.errors import RunError

__all__ = ["Session"]


class Session:
    """A network in OpenCV.

    `layers` names each layer, `values` what the tensors that it gives are called; `outputs` are the values that are results,
    `detections` those that a layer DetectionOutput gives.
    """

    def __init__(
        self, network: str, weights: str, name: str, values: Mapping[str, list[str]], outputs: list[str], detections: list[str],
    ) -> None:
        import cv2

        self.name, self.outputs, self.detections = name, outputs, set(detections)
        try:
            self.net: Any = cv2.dnn.readNetFromCaffe(network, weights) if weights else cv2.dnn.readNetFromCaffe(network)
            self.net.setPreferableBackend(cv2.dnn.DNN_BACKEND_OPENCV)
        except cv2.error as error:
            raise RunError(f"OpenCV cannot load {name}: {_first_line(error)}") from None
        there = set(self.net.getLayerNames())
        self.values = {known: names for layer, names in values.items() if (known := _known(layer, names, there)) is not None}

    def __call__(self, inputs: Mapping[str, np.ndarray], keep: bool) -> dict[str, np.ndarray]:
        """Run once: all outputs, and with `keep` what every layer gives before them."""
        import cv2

        wanted = [layer for layer, names in self.values.items() if keep or set(names) & set(self.outputs)]
        try:
            for name, array in inputs.items():
                self.net.setInput(np.ascontiguousarray(array, np.float32), name)
            given = self.net.forwardAndRetrieve(wanted)
        except cv2.error as error:
            raise RunError(f"OpenCV cannot run {self.name}: {_first_line(error)}") from None
        found: dict[str, np.ndarray] = {}
        for layer, arrays in zip(wanted, given, strict=True):
            found.update(zip(self.values[layer], arrays, strict=False))
        for name in self.detections & found.keys():
            found[name] = _in_order(found[name])
        missing = [name for name in self.outputs if name not in found]
        if missing:
            raise RunError(f"OpenCV gives no {missing[0]!r} of {self.name}")
        before = {name: array for name, array in found.items() if name not in self.outputs}
        return {**(before if keep else {}), **{name: found[name] for name in self.outputs}}


def _in_order(rows: np.ndarray) -> np.ndarray:
    """Boxes [1, 1, N, 7] in Caffe's order, by image and label, and the best first: OpenCV gives the best of all labels first."""
    table = rows.reshape(-1, 7)
    there = table[:, 2] > 0
    order = np.lexsort((-table[:, 2], table[:, 1], table[:, 0], ~there))
    made: np.ndarray = table[order].reshape(rows.shape)
    return made


def _known(layer: str, values: list[str], there: set[str]) -> str | None:
    """What OpenCV calls a layer: by its name, or, where another works on its blob in place, by the blob's."""
    blobs = [value.rpartition("@")[0] or value for value in values]
    return next((name for name in (layer, *blobs[:1]) if name in there), None)


def _first_line(error: Exception) -> str:
    """What an error says, without the file and line of OpenCV's own source."""
    words = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return words.partition("error: ")[2][:300] or words[:300]
