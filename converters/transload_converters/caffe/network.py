"""A Caffe network as its files say it, whatever the age of their format: layers with parameters, in order.

Three kinds of layers are read (`layer`, `layers`, and `layers` around a `layer`, which Caffe calls V0), and three ways to say the
inputs (`input_dim`, `input_shape`, a layer Input). What training alone needs is left out, by the rules that layers have and by
type. Sources: https://caffe.berkeleyvision.org/tutorial/net_layer_blob.html, and the upgrades that Caffe makes of older files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from transload import files
from transload.errors import Finding, ForeignContent, MissingPackage, ReadError, merge_findings

from .dialect import signature_of
from .signatures import ALIASES
from .text import Entry, Filler, Place, parse, plain
from .unnamed import unnamed_fields, unnamed_messages

__all__ = ["DATA", "TRAINING", "Layer", "Network", "is_binary", "network_of", "parse_binary", "parse_text", "schema"]

TRAINING = frozenset((
    "Accuracy", "ContrastiveLoss", "EuclideanLoss", "HDF5Output", "HingeLoss", "InfogainLoss", "MultiBoxLoss",
    "MultinomialLogisticLoss", "Silence", "SigmoidCrossEntropyLoss", "SmoothL1Loss", "SoftmaxWithLoss", "DetectionEvaluate"))
"""Types of layers that compare results with labels, write them, or do nothing: inference has no use for them."""

DATA = frozenset((
    "AnnotatedData", "Data", "DummyData", "HDF5Data", "ImageData", "Input", "MemoryData", "VideoData", "WindowData"))
"""Types of layers that give the network its data: their tops are the model's inputs."""

_V1_TYPES = {
    "ABSVAL": "AbsVal", "ARGMAX": "ArgMax", "BNLL": "BNLL", "CONTRASTIVE_LOSS": "ContrastiveLoss", "DUMMY_DATA": "DummyData",
    "EUCLIDEAN_LOSS": "EuclideanLoss", "HDF5_DATA": "HDF5Data", "HDF5_OUTPUT": "HDF5Output", "HINGE_LOSS": "HingeLoss",
    "IMAGE_DATA": "ImageData", "INFOGAIN_LOSS": "InfogainLoss", "INNER_PRODUCT": "InnerProduct", "LRN": "LRN",
    "MEMORY_DATA": "MemoryData", "MULTINOMIAL_LOGISTIC_LOSS": "MultinomialLogisticLoss", "MVN": "MVN", "RELU": "ReLU",
    "SIGMOID_CROSS_ENTROPY_LOSS": "SigmoidCrossEntropyLoss", "SOFTMAX_LOSS": "SoftmaxWithLoss", "TANH": "TanH",
    "WINDOW_DATA": "WindowData", "NONE": "",
}
"""Where the type of a layer of `layers` is not its name in other letters: CONVOLUTION is Convolution."""

_V0_TYPES = {
    "accuracy": "Accuracy", "bnll": "BNLL", "concat": "Concat", "conv": "Convolution", "data": "Data", "dropout": "Dropout",
    "euclidean_loss": "EuclideanLoss", "flatten": "Flatten", "hdf5_data": "HDF5Data", "hdf5_output": "HDF5Output",
    "im2col": "Im2col", "images": "ImageData", "infogain_loss": "InfogainLoss", "innerproduct": "InnerProduct", "lrn": "LRN",
    "multinomial_logistic_loss": "MultinomialLogisticLoss", "pool": "Pooling", "relu": "ReLU", "sigmoid": "Sigmoid",
    "softmax": "Softmax", "softmax_loss": "SoftmaxWithLoss", "split": "Split", "tanh": "TanH", "window_data": "WindowData",
    "padding": "Padding",
}
_V0_FIELDS: dict[str, dict[str, str]] = {
    "conv": {"num_output": "num_output", "biasterm": "bias_term", "pad": "pad", "kernelsize": "kernel_size", "group": "group",
             "stride": "stride"},
    "innerproduct": {"num_output": "num_output", "biasterm": "bias_term"},
    "pool": {"pad": "pad", "kernelsize": "kernel_size", "stride": "stride", "pool": "pool"},
    "lrn": {"local_size": "local_size", "alpha": "alpha", "beta": "beta", "k": "k"},
    "concat": {"concat_dim": "concat_dim"},
    "data": {"batchsize": "batch_size", "cropsize": "crop_size"},
    "images": {"batchsize": "batch_size", "cropsize": "crop_size", "new_height": "new_height", "new_width": "new_width"},
    "hdf5_data": {"batchsize": "batch_size"},
    "window_data": {"batchsize": "batch_size", "cropsize": "crop_size"},
}
"""By type, the fields of a V0 layer and what they are called in the parameters of today's."""

_V0_PARAMETERS = {
    "conv": "convolution_param", "innerproduct": "inner_product_param", "pool": "pooling_param", "lrn": "lrn_param",
    "concat": "concat_param", "data": "data_param", "images": "image_data_param", "hdf5_data": "hdf5_data_param",
    "window_data": "window_data_param"}


@dataclass
class Layer:
    """A layer: its parameters as messages by the field that holds them, its blobs as messages, and where it stands.

    `unknown` is what the schema has no field for: text alone has names for it.
    """

    name: str
    type: str
    bottoms: list[str]
    tops: list[str]
    parameters: dict[str, Any] = field(default_factory=dict)
    blobs: Sequence[Any] = ()
    shared: list[str] = field(default_factory=list)
    """The names by which layers share weights, "" for one that is not shared."""
    unknown: dict[str, Any] = field(default_factory=dict)


@dataclass
class Network:
    """The layers that inference runs, the inputs that are said beside them, and notes on what was left out."""

    name: str
    inputs: dict[str, tuple[int, ...] | None]
    layers: list[Layer]
    notes: list[str] = field(default_factory=list)
    silenced: dict[str, int] = field(default_factory=dict)
    """The blobs that a layer Silence takes, so that they are no outputs, and how many layers stand before it."""


def schema() -> Any:
    """The module of generated messages; `ReadError` where the package protobuf is missing or too old for it."""
    try:
        from . import caffe_pb2
    except ImportError as error:
        raise MissingPackage(
            f"reading Caffe's files needs the package 'protobuf', 4.25 or later: {error}", hint="pip install 'transload[caffe]'",
        ) from None
    return caffe_pb2


def parse_text(data: memoryview, where: str) -> tuple[Any, dict[Place, list[Entry]]]:
    """The NetParameter of a file in text format, and fields that the schema does not have, by the place of their message."""
    filler = Filler(where)
    message = schema().NetParameter()
    filler.fill(message, parse(data, where))
    if filler.findings:
        raise ReadError(f"{where}: the network's fields are not as Caffe defines them", merge_findings(filler.findings))
    return message, filler.unknown


def parse_binary(data: bytes | memoryview, where: str, kind: str = "NetParameter") -> Any:
    """A serialized message of the schema."""
    from google.protobuf.message import DecodeError

    message = getattr(schema(), kind)()
    try:
        message.ParseFromString(bytes(data))
    except (DecodeError, RuntimeError, ValueError) as error:
        raise ForeignContent(
            f"{where}: is not a protobuf message of a Caffe network: {error}",
            hint="the file is damaged, was cut short, or holds something else") from None
    return message


def is_binary(head: bytes) -> bool:
    """Whether a file's first bytes are a serialized network, and not text."""
    return files.is_binary(head) or head[:2] == b"\xa2\x06"


def network_of(message: Any, where: str, unknown: dict[Place, list[Entry]] | None = None) -> Network:
    """The network that a NetParameter means for inference. Raises `ReadError` with everything that is wrong with it."""
    extra = unknown or {}
    findings: list[Finding] = []
    network = Network(message.name, {}, [])
    if len(message.layer) and len(message.layers):
        raise ReadError(f"{where}: has both `layer` and `layers`, the new form and the old",
                        hint="rename the fields of one form; their parameters are not the same")
    _note_unknown(network, extra.get((), []), where, "the network")
    layers: list[Layer | None] = []
    layers += [_new(each, extra.get(("layer", place), [])) for place, each in enumerate(message.layer)]
    layers = layers or _old_layers(message.layers, extra, findings)
    holder = "layer" if len(message.layer) else "layers"
    raws = getattr(message, holder)
    present = [layer is not None and _in_state(raw, message.state) for raw, layer in zip(raws, layers, strict=True)]
    lent = _lent_data(layers, present, message.input)
    for place, (raw, layer) in enumerate(zip(raws, layers, strict=True)):
        if layer is None or not (present[place] or place in lent):
            continue
        if place in lent:
            network.notes.append(
                f"layer {layer.name!r} ({layer.type}) is of another phase or stage, and what it gives was taken as input")
        if layer.type not in DATA | TRAINING:  # where images come from is nobody's business here
            findings += [
                _stray(entry, where, layer) for key, entries in extra.items() for entry in entries
                if len(key) > 2 and key[:2] == (holder, place) and key[2] != "transform_param"]
            findings += _unnamed(raw, layer, where)
        if _wanted(layer, network):
            network.layers.append(layer)
    _say_inputs(message, network, where)
    if findings:
        raise ReadError(f"{where}: the network is not valid", merge_findings(findings))
    return network


def _lent_data(layers: Sequence[Layer | None], present: Sequence[bool], inputs: Iterable[str]) -> set[int]:
    """Where layers of data stand that rules leave out, and that alone give what others take.

    A file of weights holds the network that was trained, whose data often are of the phase TRAIN alone.
    """
    here = [layer for layer, kept in zip(layers, present, strict=True) if layer is not None and kept]
    given = {*inputs, *(top for layer in here if layer.type in DATA for top in layer.tops)}
    needed: set[str] = set()
    for layer in here:
        if layer.type not in TRAINING:
            needed.update(bottom for bottom in layer.bottoms if bottom not in given)
            given.update(layer.tops)
    found = set()
    for place, (other, kept) in enumerate(zip(layers, present, strict=True)):
        if other is not None and not kept and other.type in DATA and not needed.isdisjoint(other.tops):
            found.add(place)
            needed.difference_update(other.tops)
    return found


def _wanted(layer: Layer, network: Network) -> bool:
    """Whether inference needs a layer; where not, what it gave is gone, and that is noted."""
    if layer.type not in TRAINING:
        return True
    if layer.type == "Silence":
        network.silenced |= dict.fromkeys(layer.bottoms, len(network.layers))
    else:
        network.notes.append(f"layer {layer.name!r} ({layer.type}) is for training or testing, and was left out")
    return False


def _in_state(raw: Any, state: Any) -> bool:
    """Whether a layer is in the network in phase TEST: by its rules, of which including ones or excluding ones count."""
    if len(raw.include):
        return any(_met(rule, state) for rule in raw.include)
    return not any(_met(rule, state) for rule in raw.exclude)


def _met(rule: Any, state: Any) -> bool:
    test = 1
    if rule.HasField("phase") and rule.phase != test:
        return False
    if rule.HasField("min_level") and state.level < rule.min_level:
        return False
    if rule.HasField("max_level") and state.level > rule.max_level:
        return False
    stages = set(state.stage)
    return stages >= set(rule.stage) and not stages & set(rule.not_stage)


def _parameters(raw: Any) -> dict[str, Any]:
    return {
        descriptor.name: value for descriptor, value in raw.ListFields()
        if descriptor.message_type is not None and descriptor.name.endswith("_param")}


def _new(raw: Any, unknown: list[Entry]) -> Layer:
    return Layer(
        raw.name, raw.type, list(raw.bottom), list(raw.top), _parameters(raw), raw.blobs, [spec.name for spec in raw.param],
        plain(unknown))


def _old_layers(raws: Iterable[Any], extra: dict[Place, list[Entry]], findings: list[Finding]) -> list[Layer | None]:
    """Layers of `layers`; None for a layer Padding, which becomes a parameter of the one behind it."""
    pads: dict[str, tuple[str, int]] = {}
    made: list[Layer | None] = []
    for number, raw in enumerate(raws):
        if not raw.HasField("layer"):
            word = type(raw).LayerType.Name(raw.type)
            type_ = _V1_TYPES.get(word, "".join(part.capitalize() for part in word.split("_")))
            made.append(Layer(
                raw.name, type_, list(raw.bottom), list(raw.top), _parameters(raw), raw.blobs, list(raw.param),
                plain(extra.get(("layers", number), []))))
            continue
        layer = _oldest(raw, findings)
        if layer.type == "Padding":
            if layer.bottoms and layer.tops:
                pads[layer.tops[0]] = (layer.bottoms[0], raw.layer.pad)
            made.append(None)
            continue
        for place, bottom in enumerate(layer.bottoms):
            if bottom in pads:
                layer.bottoms[place], pad = pads[bottom]
                _pad(layer, pad, findings)
        made.append(layer)
    return made


def _pad(layer: Layer, pad: int, findings: list[Finding]) -> None:
    name = {"Convolution": "convolution_param", "Pooling": "pooling_param"}.get(layer.type)
    if name is None or name not in layer.parameters:
        findings.append(Finding(f"layer {layer.name!r}", f"a padding layer stands before {layer.type}, which has no padding"))
        return
    message = layer.parameters[name]
    if layer.type == "Convolution":
        del message.pad[:]
        message.pad.append(pad)
    else:
        message.pad = pad


def _oldest(raw: Any, findings: list[Finding]) -> Layer:
    """A V0 layer, whose parameters stand in it without order, as one of today."""
    inner = raw.layer
    type_ = _V0_TYPES.get(inner.type)
    if type_ is None:
        findings.append(Finding(f"layer {inner.name!r}", f"has type {inner.type!r}, which Caffe's first format does not have"))
    layer = Layer(inner.name, type_ or inner.type, list(raw.bottom), list(raw.top), blobs=inner.blobs)
    holder = _V0_PARAMETERS.get(inner.type)
    if holder is None:
        return layer
    parameters = getattr(schema().LayerParameter(), holder)
    for old, new in _V0_FIELDS[inner.type].items():
        if not inner.HasField(old):
            continue
        value = getattr(inner, old)
        descriptor = parameters.DESCRIPTOR.fields_by_name[new]
        if isinstance(getattr(parameters, new), int | float | bool | str) or descriptor.enum_type is not None:
            setattr(parameters, new, value)
        else:
            getattr(parameters, new).append(value)
    layer.parameters[holder] = parameters
    return layer


def _say_inputs(message: Any, network: Network, where: str) -> None:
    """The inputs that stand beside the layers, with their shapes, where these are said."""
    names = list(message.input)
    if len(message.input_shape):
        shapes: list[tuple[int, ...] | None] = [tuple(shape.dim) for shape in message.input_shape]
    elif len(message.input_dim) == 4 * len(names):
        shapes = [tuple(message.input_dim[4 * place : 4 * place + 4]) for place in range(len(names))]
    elif len(message.input_dim):
        raise ReadError(
            f"{where}: has {len(message.input_dim)} numbers in input_dim for {len(names)} inputs, and needs four each")
    else:
        shapes = [None] * len(names)
    if len(shapes) == 1 and len(names) > 1:
        shapes *= len(names)
    if len(shapes) != len(names):
        raise ReadError(f"{where}: has {len(shapes)} shapes for {len(names)} inputs")
    for name, shape in zip(names, shapes, strict=True):
        if name in network.inputs:
            raise ReadError(f"{where}: has two inputs of the name {name!r}")
        network.inputs[name] = shape


def _note_unknown(network: Network, entries: list[Entry], where: str, what: str) -> None:
    for entry in entries:
        network.notes.append(f"{where}:{entry.line}: {entry.name} of {what} is not known here, and was left out")


_WITHOUT_NUMBER = 30000
"""From this number on, the schema's fields are those on whose numbers forks did not agree."""


def _unnamed(raw: Any, layer: Layer, where: str) -> list[Finding]:
    """What a serialized layer says and nobody knows, in its parameters or as parameters that only text has a name for."""
    found = [
        f"field {number} of {place}" for name, message in layer.parameters.items() if name != "transform_param"
        for number, place in unnamed_fields(message, name)]
    declared = signature_of(ALIASES.get(layer.type, layer.type))
    if declared is not None and any(_number(name) >= _WITHOUT_NUMBER for name in declared.parameters):
        found += [f"field {number}" for number in unnamed_messages(raw)]
    return [
        Finding(f"{where}: layer {layer.name!r}: {each}", f"is no field of {layer.type} that is known here", (layer.name,),
                "give the .prototxt, which has names for fields, beside it or as the model")
        for each in found]


def _number(holder: str) -> int:
    number: int = schema().LayerParameter.DESCRIPTOR.fields_by_name[holder].number
    return number


def _stray(entry: Entry, where: str, layer: Layer) -> Finding:
    return Finding(
        f"{where}:{entry.line}: {entry.name}", f"is no field of the parameters of {layer.type} that is known here", (layer.name,),
        "where it does not change what the layer computes, delete it; else a plugin has to say what it means")
