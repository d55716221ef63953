"""What the benchmark of quantizers is measured on: a float model, samples that calibrate, and other samples that judge.

A `Case` gives the same network as the files that the tools can read, since a peer takes only ONNX or only TFLite. `CASES` has
them by name; a case more is a function that makes one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["BUILT", "CASES", "Case", "Sample"]

ROOT = Path(__file__).resolve().parents[1]
BUILT = ROOT / "build" / "quantizer"
"""Where files that cases make are kept."""
Sample = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """A network with its samples, by the ending of the file that they are for."""

    files: Mapping[str, Path]
    """The float network's files by their ending, `.onnx` or `.tflite`, its authors' own before what was made of it."""
    calibration: Mapping[str, Sequence[Sample]]
    evaluation: Mapping[str, Sequence[Sample]]
    """None of these calibrates. The same samples in the same order for every ending."""
    labels: np.ndarray | None = None
    """The right class of each sample of `evaluation` [N], where the first output scores classes and they are known."""
    classes: bool = True
    """Whether the last dimension of the first output scores classes, so that agreement means something."""
    peak: float | None = None
    """The greatest number of outputs that are pictures, which have a peak signal-to-noise ratio."""


def digits() -> Case:
    """The example network of this repository, on held-out handwritten digits; every fifth image calibrates.

    Source: examples/digits/README.md.
    """
    folder = ROOT / "examples" / "digits"
    with np.load(folder / "test_images.npz") as arrays:
        images, labels = arrays["images"].astype(np.float32) / 16, arrays["labels"]
    shapes = {".onnx": (1, 1, 8, 8), ".tflite": (1, 8, 8, 1)}
    chosen = np.arange(len(images)) % 5 == 0

    def samples(which: np.ndarray) -> dict[str, list[Sample]]:
        return {ending: [{"image": image.reshape(shape)} for image in images[which]] for ending, shape in shapes.items()}

    files = {ending: folder / f"digits_float{ending}" for ending in shapes}
    return Case(files, samples(chosen), samples(~chosen), labels[~chosen])


CASES: dict[str, Callable[[], Case]] = {"digits": digits}
