"""OpenCV as the judge of Caffe's networks: Caffe itself is on no package index.

OpenCV reads Caffe's files by a schema of its own and runs most layers of BVLC and SSD; a network with others it refuses, and
then a conversion is not verified by it. It slips where Caffe's arithmetic is particular: an average at the border is divided by
the pixels of the image alone, where Caffe counts those of the padding, too; boxes of several labels come in another order, which
is made Caffe's here. What our own tests judge by is therefore the definition of each layer (`tests.support.caffe_layers`), and
OpenCV is the judge of whole networks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from transload.errors import RunError
from transload.ir import NONE, TensorType
from transload.plugin import Source
from transload.worker import Remote

from .blobs import Weights
from .graph import output_names, value_names
from .isolated import OPENCV
from .network import DATA, Network
from .reader import loaded, read

__all__ = ["available", "open_model"]


def available() -> str | None:
    """None, or what to install."""
    return None if find_spec("cv2") is not None else "the package 'opencv-python-headless' is not installed: " \
        "pip install 'transload[opencv]'"


def open_model(path: str | Path, beside: tuple[Path, ...] = ()) -> Callable[..., dict[str, np.ndarray]]:
    """`run(inputs, keep=False)` for a network: outputs by name, in order; with `keep`, every value before them.

    `beside` are the files that were read with `path`. Raises `RunError` where OpenCV refuses the network or the inputs.
    """
    file = Path(path)
    network, held, other = loaded(Source(path=file, name=str(file), weights=next(iter(beside), None)))
    pair = [file, *([other] if other is not None else [])]
    text = next((each for each in pair if held is None or str(each) != held.where), None)
    blobs = next((each for each in pair if each is not text), None)
    if text is None:
        raise RunError(f"{file}: OpenCV needs the network as text, and it is in the file of weights")
    computing = Counter(layer.name for layer in network.layers if layer.type not in DATA)
    if twice := [name for name, count in computing.items() if count > 1]:
        raise RunError(f"{file}: OpenCV finds tensors by the names of layers, and several are called {twice[0]!r}")
    if held is not None and (name := _told_otherwise(network, held)) is not None:
        raise RunError(f"{file}: layers share the weights {name!r}, which OpenCV does not know, and the file has others for each")
    values = {
        layer.name: names for layer, names in zip(network.layers, value_names(network), strict=True) if layer.type not in DATA}
    there: list[Remote] = []

    def run(inputs: Mapping[str, np.ndarray], keep: bool = False) -> dict[str, np.ndarray]:
        if not there:
            there.append(OPENCV.open(
                "transload_converters.caffe.session:Session", str(text.resolve()), str(blobs.resolve()) if blobs else "",
                str(file), values, output_names(network),
                [top for layer in network.layers if layer.type == "DetectionOutput" for top in layer.tops]))
        found: dict[str, np.ndarray] = there[0](dict(inputs), keep)
        if any(array.ndim == 2 and array.shape[1] == 1 for array in found.values()):
            vectors = _vectors(file, beside, inputs)
            found = {name: array[:, 0] if name in vectors and array.shape[1:] == (1,) else array for name, array in found.items()}
        return found

    return run


def _told_otherwise(network: Network, held: Weights) -> str | None:
    """A name by which layers share weights of which the file has different ones for these."""
    first: dict[str, Any] = {}
    for layer in network.layers:
        for name, blob in zip(layer.shared, held.blobs.get(layer.name, ()), strict=False):
            if name and not held.alike(first.setdefault(name, blob), blob):
                return name
    return None


def _vectors(file: Path, beside: tuple[Path, ...], inputs: Mapping[str, np.ndarray]) -> set[str]:
    """The values of one dimension, which OpenCV's Python gives as columns."""
    module = read(Source(path=file, name=str(file), weights=next(iter(beside), None)),
                  {name: TensorType(array.shape, NONE) for name, array in inputs.items()})
    ranks = [(value.name, value.type) for op in module.ops() for value in op.results]
    return {str(name) for name, type_ in [*ranks, *module.outputs.items()] if isinstance(type_, TensorType) and type_.rank == 1}
