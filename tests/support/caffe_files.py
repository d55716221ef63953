"""Caffe's files, made for tests: text of layers, and weights as a serialized network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

__all__ = ["net_text", "weights_bytes", "write_net"]


def net_text(layers: str, **inputs: Sequence[int]) -> str:
    """A network in text format: inputs by name with their shapes, and layers."""
    said = "".join(
        f'layer {{ name: "{name}" type: "Input" top: "{name}" input_param {{ shape {{ '
        f'{" ".join(f"dim: {size}" for size in shape)} }} }} }}\n' for name, shape in inputs.items())
    return said + layers


def weights_bytes(blobs: Mapping[str, Sequence[np.ndarray]], form: str = "layer") -> bytes:
    """A `.caffemodel` of these blobs by layer: of today's form (`layer`), of `layers`, or of V0's."""
    from transload_converters.caffe import caffe_pb2

    net = caffe_pb2.NetWeights()
    for name, arrays in blobs.items():
        if form == "layer":
            holder = net.layer.add(name=name)
        elif form == "layers":
            holder = net.layers.add(name=name)
        else:
            holder = net.layers.add().layer
            holder.name = name
        for array in arrays:
            blob = holder.blobs.add()
            if form == "layer":
                blob.shape.dim.extend(array.shape)
            else:
                four = (1,) * (4 - array.ndim) + array.shape
                blob.num, blob.channels, blob.height, blob.width = four
            (blob.double_data if array.dtype == np.float64 else blob.data).extend(array.reshape(-1).tolist())
    content: bytes = net.SerializeToString()
    return content


def write_net(folder: Path, text: str, blobs: Mapping[str, Sequence[np.ndarray]], name: str = "net") -> Path:
    """`name.prototxt` and, where there are blobs, `name.caffemodel` in a folder; the path of the former."""
    path = folder / f"{name}.prototxt"
    path.write_text(text)
    if blobs:
        (folder / f"{name}.caffemodel").write_bytes(weights_bytes(blobs))
    return path
