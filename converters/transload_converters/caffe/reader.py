"""Reading Caffe's networks: a `.prototxt`, the text, with the weights of a `.caffemodel`, or the latter alone.

One layer becomes one op of dialect `caffe`; a convolution of several bottoms one for each. Where a `.prototxt` is given, the
weights are those of the `.caffemodel` beside it, where there is one that its name fits, or of the file that was said; as in
Caffe, the text alone says what the network is, and weights go to layers by name. Nothing is decided here but the inputs' shapes.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any

from transload.errors import ForeignContent, ReadError, UsageError
from transload.input_shapes import Size, static_shapes
from transload.ir import F32, NONE, Module, TensorType
from transload.plugin import Source
from transload.shell import quoted

from .blobs import Weights, cut_message
from .graph import build
from .network import DATA, Layer, Network, is_binary, network_of, parse_binary, parse_text, schema
from .pairs import network_beside, weights_beside

__all__ = ["FORMAT", "detect", "loaded", "read"]

FORMAT = "caffe"


def detect(head: bytes, path: Path | None = None) -> bool:
    """Text with layers, of the old kind or the new; of binary files the suffix decides."""
    return not is_binary(head) and re.search(rb"^\s*layers?\s*[:{]", head, re.MULTILINE) is not None


def read(source: Source, inputs: Mapping[str, TensorType] | None = None) -> Module:
    """Import a network. `inputs` gives shapes of inputs, which may be others than the file says: Caffe's nets take any.

    Raises `ReadError` for anything that is wrong with the files, `UsageError` where `inputs` does not fit them.
    """
    network, weights, beside = loaded(source)
    shapes, notes = _input_shapes(network, inputs or {}, source.name)
    module = build(network, weights, shapes, source.name)
    module.notes = (*network.notes, *notes, *module.notes, *_transformations(network, shapes), *_fractions(network))
    module.beside = (beside,) if beside is not None else ()
    return module


def loaded(source: Source) -> tuple[Network, Weights | None, Path | None]:
    """The network, its weights, and the file that is not `source` but was read, too."""
    schema()
    data = source.data
    if len(data) and not is_binary(bytes(data[:4096])):
        return _with_weights(source)
    network_file = source.weights or (network_beside(source.path) if source.path is not None else None)
    if network_file is None and not len(data):
        raise ReadError(f"{source.name}: is empty", hint="the file is damaged, or was cut short")
    if network_file is not None:
        text = Source(path=network_file, name=str(network_file))
        message, unknown = parse_text(text.data, text.name)
        network = network_of(message, text.name, unknown)
        network.notes.insert(0, f"the network is that of {network_file.name}")
        return network, _weights_of(data, source.name), network_file
    network = network_of(parse_binary(cut_message(data)[0], source.name), source.name)
    if not network.layers:
        raise ForeignContent(
            f"{source.name}: holds no layers", hint="the file is damaged, or holds something else than a network")
    if not any(layer.bottoms or layer.tops for layer in network.layers):
        raise ReadError(f"{source.name}: holds weights alone, and no network", hint="give the .prototxt that they are for")
    return network, _weights_of(data, source.name), None


def _with_weights(source: Source) -> tuple[Network, Weights | None, Path | None]:
    message, unknown = parse_text(source.data, source.name)
    network = network_of(message, source.name, unknown)
    if not network.layers:
        raise ForeignContent(f"{source.name}: has no layers", hint="a network in text format has `layer { ... }` for each")
    given = source.weights
    if given is None and source.path is not None:
        given = weights_beside(source.path)
        if given is not None and given.stem != source.path.stem:
            network.notes.append(f"the weights are those of {given.name}, the one file beside it whose name fits")
    held = {layer.name: layer.blobs for layer in network.layers if len(layer.blobs)}
    if given is None:
        return network, Weights(source.name, held, []) if held else None, None
    return network, _weights_of(Source(path=given, name=str(given)).data, str(given)), given


def _weights_of(data: memoryview, where: str) -> Weights:
    """The blobs of a `.caffemodel` by the layers' names: none of an empty file, or of a network's name alone."""
    if not len(data):
        return Weights(where, {}, [])
    if bytes(data[:8]) == b"\x89HDF\r\n\x1a\n":
        raise ReadError(f"{where}: has the weights in HDF5, which is not read here",
                        hint="with Caffe: snapshot_format: BINARYPROTO, or net.save('model.caffemodel')")
    rest, cuts = cut_message(data)
    message = parse_binary(rest, where, "NetWeights")
    blobs: dict[str, Any] = {}
    for layer in message.layer:
        _keep(blobs, layer)
    for layer in message.layers:
        _keep(blobs, layer.layer if layer.HasField("layer") else layer)
    if not len(message.layer) and not len(message.layers) and not message.HasField("name"):
        raise ReadError(f"{where}: holds no layers", hint="the file is damaged, or holds something else than Caffe's weights")
    return Weights(where, blobs, cuts)


def _keep(blobs: dict[str, Any], layer: Any) -> None:
    """Enter a layer's blobs behind those of others: of a name that stands there twice the last are left."""
    if len(layer.blobs):
        blobs.pop(layer.name, None)
        blobs[layer.name] = layer.blobs


def _input_shapes(
    network: Network, wanted: Mapping[str, TensorType], where: str,
) -> tuple[dict[str, tuple[int, ...]], tuple[str, ...]]:
    """The shape of every input: what the user gives, else what the file says."""
    declared: dict[str, list[Size] | None] = {
        name: None if shape is None else list(shape) for name, shape in network.inputs.items()}
    needed = {bottom for layer in network.layers for bottom in layer.bottoms}
    for layer in network.layers:
        if layer.type in DATA:  # labels, which only training needs, are no inputs
            tops = _declared(layer, where)
            declared.update({top: shape for top, shape in tops.items() if top in needed or layer.type == "Input"})
    for name, type_ in wanted.items():
        if type_.element not in (NONE, F32):
            raise UsageError(f"{where}: input {name!r} has elements f32, not {type_.element}")
        shape = declared.get(name)
        if type_.shape is None or name not in declared:
            continue
        if shape is not None and len(shape) != len(type_.shape):
            raise UsageError(
                f"{where}: input {name!r} has {len(shape)} dimensions, and {len(type_.shape)} sizes were given for it")
        declared[name] = list(type_.shape)
    for name, shape in declared.items():
        if shape is not None and any(isinstance(size, int) and not 0 < size <= 1 << 30 for size in shape):
            raise ReadError(
                f"{where}: input {name!r} has the shape {shape}", hint=f"say another: --shape {quoted(name + ':1x3x224x224')}")
    given = {name: type_.shape for name, type_ in wanted.items() if type_.shape is not None}
    found = static_shapes(declared, given, where)
    return found.shapes, found.notes


def _declared(layer: Layer, where: str) -> dict[str, list[Size] | None]:
    """The tops of a layer of data, and their sizes as far as it says them."""
    parameters = layer.parameters
    shapes: list[list[Size] | None] = []
    if layer.type == "Input" and "input_param" in parameters:
        shapes = [list(shape.dim) for shape in parameters["input_param"].shape]
        shapes = shapes * len(layer.tops) if len(shapes) == 1 else shapes
        if len(shapes) not in (0, len(layer.tops)):
            raise ReadError(f"{where}: layer {layer.name!r} has {len(shapes)} shapes for {len(layer.tops)} tops")
    elif layer.type == "DummyData" and "dummy_data_param" in parameters:
        shapes = _dummy_shapes(parameters["dummy_data_param"], len(layer.tops))
    elif layer.type == "MemoryData" and "memory_data_param" in parameters:
        held = parameters["memory_data_param"]
        shapes = [[held.batch_size, held.channels, held.height, held.width], [held.batch_size]]
    else:
        shapes = [_image_shape(parameters), None]
    shapes += [None] * len(layer.tops)
    return dict(zip(layer.tops, shapes, strict=False))


def _transformations(network: Network, inputs: Container[str]) -> Iterator[str]:
    """What becomes of images before they are inputs, as layers of data say it: of whoever gives inputs, and not of the model."""
    for layer in network.layers:
        held = layer.parameters.get("transform_param")
        if layer.type not in DATA or held is None or not any(top in inputs for top in layer.tops):
            continue
        options = []
        if len(held.mean_value):
            options.append(f"--mean {','.join(f'{number:g}' for number in held.mean_value)}")
        if held.scale != 1:
            options.append(f"--scale {held.scale:g}")
        if len(held.mean_value) == 3:
            options.append("--pixel-format bgr")  # as OpenCV reads them for Caffe
        said = [f"of images {' '.join(options)} does it"] if options else []
        if held.mean_file:
            said.append(f"the mean image {held.mean_file!r} is to be subtracted")
        if held.crop_size:
            said.append(f"{held.crop_size} rows and columns from the middle are taken")
        if said:
            yield f"what layer {layer.name!r} does to images (transform_param) is no part of the model: {'; '.join(said)}"


def _fractions(network: Network) -> Iterator[str]:
    """Sizes of boxes with fractions, which SSD's own Caffe cuts off: it holds them as whole numbers while it makes boxes."""
    for layer in network.layers:
        held = layer.parameters.get("prior_box_param")
        if held is not None and any(not float(size).is_integer() for size in (*held.min_size, *held.max_size)):
            yield (f"layer {layer.name!r} ({layer.type}) has sizes of boxes with fractions, which are taken as they are, as "
                   "OpenCV does; SSD's own Caffe cuts the fractions off")


def _dummy_shapes(held: Any, count: int) -> list[list[Size] | None]:
    found: list[list[Size] | None] = [list(shape.dim) for shape in held.shape] or [
        list(sizes) for sizes in zip(held.num, held.channels, held.height, held.width, strict=False)]
    return found * count if len(found) == 1 else found


def _image_shape(parameters: Mapping[str, Any]) -> list[Size] | None:
    """Of images from a database: the batch and, where they are cropped, their sizes; channels where each has a mean."""
    batch, channels, height, width = 0, 0, 0, 0
    for name in ("data_param", "image_data_param", "window_data_param", "hdf5_data_param"):
        held = parameters.get(name)
        if held is not None:
            batch = held.batch_size
            crop = getattr(held, "crop_size", 0)
            height, width = crop or getattr(held, "new_height", 0), crop or getattr(held, "new_width", 0)
    if "transform_param" in parameters:
        held = parameters["transform_param"]
        height, width = held.crop_size or height, held.crop_size or width
        channels = len(held.mean_value) if len(held.mean_value) > 1 else 0
    return [batch or None, channels or None, height or None, width or None] if height or batch or channels else None
