"""Cases of single layers: class, arguments, the shapes of inputs (without the batch), and what else the call is given.

An argument that is a dictionary with `layer` stands for a layer inside. Inputs are floats from -1 to 1, but where a case says of
what else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from .operations import ARRAYS, OPTIONS, TYPES

__all__ = ["BATCH", "Case", "cases"]

BATCH = 2
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A layer called with inputs of some shapes.

    `integers` is below what integer inputs are; 0: floats. `types` are the element types of the inputs of an operation, where
    these are not all float32. `way` is how it is called: `list` with all inputs as a list,
    `each` with each as an argument, `masked` with what a Masking layer gives, `masked before` with the mean of the steps that are
    left behind it as well, `masked all` so with each input behind a Masking layer, `masked states` with states beside what is
    masked, `several` an operation with a list.
    """

    layer: str
    arguments: Mapping[str, Any]
    inputs: Sequence[Shape]
    call: Mapping[str, Any] = field(default_factory=dict)
    integers: int = 0
    way: str = "list"
    types: Sequence[str] = ()


def cases() -> Iterator[Case]:
    """All cases, each option of each layer at least once."""
    for family in (_core, _activations, _convolutions, _transposed, _pooling, _normalization, _reshaping, _merging, _recurrent,
                   _wrapped, _attention, _preprocessing, _masked, _operations, _integers):
        yield from family()


def _grid(layer: str, inputs: Sequence[Shape], fixed: Mapping[str, Any], **options: Sequence[Any]) -> Iterator[Case]:
    """A case for each combination of options."""
    for values in product(*options.values()):
        yield Case(layer, {**fixed, **dict(zip(options, values, strict=True))}, inputs)


def _core() -> Iterator[Case]:
    for shape in ((5,), (3, 5), (2, 3, 5)):
        yield from _grid("Dense", [shape], {"units": 4}, use_bias=(True, False), activation=(None, "relu"))
    for equation, output, bias in (("abc,cd->abd", (None, 6), "d"), ("abc,cde->abde", (None, 2, 3), "de"),
                                   ("...x,xy->...y", 4, None), ("abc,bcd->ad", (4,), "d"), ("abc,cd->abd", (None, 6), "b")):
        yield Case("EinsumDense", {"equation": equation, "output_shape": output, "bias_axes": bias}, [(3, 5)])
    yield Case("Embedding", {"input_dim": 9, "output_dim": 4}, [(5,)], integers=9)
    yield Case("Embedding", {"input_dim": 9, "output_dim": 4, "mask_zero": True}, [(5,)], integers=9)
    for tied, cap in ((True, None), (False, 2.0)):
        table = {"input_dim": 9, "output_dim": 4, "tie_weights": tied, "logit_soft_cap": cap}
        yield Case("ReversibleEmbedding", table, [(5,)], integers=9)
        yield Case("ReversibleEmbedding", table, [(5, 4)], {"reverse": True})
    for name, more in (("Dropout", {"rate": 0.5}), ("SpatialDropout1D", {"rate": 0.5}), ("GaussianNoise", {"stddev": 1.0}),
                       ("GaussianDropout", {"rate": 0.5}), ("AlphaDropout", {"rate": 0.5}), ("Identity", {}),
                       ("ActivityRegularization", {"l2": 0.1}), ("Masking", {"mask_value": 0.0})):
        yield Case(name, more, [(4, 5)])
    for name in ("SpatialDropout2D", "SpatialDropout3D"):
        yield Case(name, {"rate": 0.5}, [(4,) * int(name[-2]) + (3,)])


ACTIVATIONS = (
    "relu", "relu6", "leaky_relu", "elu", "selu", "celu", "glu", "gelu", "sigmoid", "hard_sigmoid", "hard_silu", "silu", "swish",
    "tanh", "hard_tanh", "tanh_shrink", "softplus", "softsign", "exponential", "mish", "softmax", "log_softmax", "log_sigmoid",
    "hard_shrink", "soft_shrink", "squareplus", "sparse_plus", "sparse_sigmoid", "sparsemax", "linear")


def _activations() -> Iterator[Case]:
    for name in ACTIVATIONS:
        yield Case("Activation", {"activation": name}, [(3, 6)])
    yield from _grid("ReLU", [(3, 6)], {}, negative_slope=(0.0, 0.1), max_value=(None, 0.5, 6.0), threshold=(0.0, 0.2))
    for name, more in (("LeakyReLU", {}), ("LeakyReLU", {"negative_slope": 0.05}), ("ELU", {"alpha": 0.5}), ("ELU", {}),
                       ("PReLU", {}), ("PReLU", {"shared_axes": [1]}), ("PReLU", {"shared_axes": [1, 2]})):
        yield Case(name, more, [(3, 6)])
    yield from _grid("Softmax", [(3, 4, 5)], {}, axis=(-1, 1, 2, [1, 2], [2, 3]))


def _image(rank: int, first: bool, size: int = 8, channels: int = 4) -> Shape:
    sizes = tuple(range(size, size + rank))
    return (channels, *sizes) if first else (*sizes, channels)


def _convolutions() -> Iterator[Case]:
    """No width is the number of filters: Keras 3.15 then adds the bias along the width where channels are first."""
    for rank in (1, 2, 3):
        base = {"filters": 10, "kernel_size": 3}
        for first in (False, True):
            shape, order = _image(rank, first, 7 if rank < 3 else 4), "channels_first" if first else "channels_last"
            more = {**base, "data_format": order}
            yield from _grid(f"Conv{rank}D", [shape], more, padding=("valid", "same"), strides=(1, 2))
            yield Case(f"Conv{rank}D", {**more, "dilation_rate": 2, "padding": "same"}, [shape])
            yield Case(f"Conv{rank}D", {**more, "groups": 2, "use_bias": False, "activation": "relu"}, [shape])
        if rank < 3:
            for first in (False, True):
                order, shape = "channels_first" if first else "channels_last", _image(rank, first, 7, 11)
                more = {"kernel_size": 3, "data_format": order}
                yield from _grid(f"DepthwiseConv{rank}D", [shape], more, padding=("valid", "same"), strides=(1, 2),
                                 depth_multiplier=(1, 2))
                yield Case(f"DepthwiseConv{rank}D", {**more, "dilation_rate": 2, "use_bias": False}, [shape])
                more["filters"] = 9
                yield from _grid(f"SeparableConv{rank}D", [shape], more, padding=("valid", "same"), strides=(1, 2))
                yield Case(f"SeparableConv{rank}D", {**more, "depth_multiplier": 2, "activation": "tanh"}, [shape])
    yield from _grid("Conv1D", [(9, 3)], {"filters": 4, "kernel_size": 3, "padding": "causal"}, strides=(1, 2))
    yield Case("Conv1D", {"filters": 4, "kernel_size": 2, "padding": "causal", "dilation_rate": 2}, [(9, 3)])
    yield from _grid("Conv2D", [(7, 9, 2)], {"filters": 3}, kernel_size=([1, 3], [2, 4]), strides=([1, 2], [2, 1]),
                     padding=("valid", "same"))


def _transposed() -> Iterator[Case]:
    for rank in (1, 2, 3):
        for first in (False, True):
            shape, order = _image(rank, first, 4 if rank < 3 else 2, 3), "channels_first" if first else "channels_last"
            yield from _grid(f"Conv{rank}DTranspose", [shape], {"filters": 19, "kernel_size": 3, "data_format": order},
                             padding=("valid", "same"), strides=(1, 2, 3) if rank < 3 else (1, 2))
        yield Case(f"Conv{rank}DTranspose", {
            "filters": 2, "kernel_size": 4, "strides": 2, "output_padding": 1, "padding": "same"}, [_image(rank, False, 3, 2)])
    yield Case("Conv2DTranspose", {"filters": 2, "kernel_size": 2, "strides": 3, "use_bias": False}, [(3, 4, 2)])


def _pooling() -> Iterator[Case]:
    for rank, kind in product((1, 2, 3), ("Max", "Average")):
        for first in (False, True):
            shape, order = _image(rank, first, 7 if rank < 3 else 4, 3), "channels_first" if first else "channels_last"
            yield from _grid(f"{kind}Pooling{rank}D", [shape], {"data_format": order}, pool_size=(2, 3), strides=(None, 1, 2),
                             padding=("valid", "same"))
            yield from _grid(f"Global{kind}Pooling{rank}D", [shape], {"data_format": order}, keepdims=(False, True))
            yield Case(f"Adaptive{kind}Pooling{rank}D", {"output_size": 3, "data_format": order}, [shape])


def _normalization() -> Iterator[Case]:
    for shape in ((5,), (4, 5), (3, 4, 5)):
        yield from _grid("BatchNormalization", [shape], {}, center=(True, False), scale=(True, False), epsilon=(1e-3, 0.1))
        yield from _grid("LayerNormalization", [shape], {}, center=(True, False), scale=(True, False))
        yield Case("UnitNormalization", {}, [shape])
        yield Case("RMSNormalization", {}, [shape])
    yield from _grid("BatchNormalization", [(3, 4, 5)], {}, axis=(1, 2, 3))
    yield from _grid("LayerNormalization", [(3, 4, 5)], {}, axis=(1, [1, 2], [2, 3], [1, 2, 3]))
    yield from _grid("GroupNormalization", [(3, 4, 6)], {}, groups=(1, 2, 3, 6, -1), center=(True, False), scale=(True, False))
    yield Case("GroupNormalization", {"groups": 3, "axis": 1}, [(6, 4, 5)])
    yield from _grid("UnitNormalization", [(3, 4)], {}, axis=(1, -1, [1, 2]))
    yield Case("RMSNormalization", {"axis": 1}, [(3, 4)])


def _reshaping() -> Iterator[Case]:
    for order in ("channels_last", "channels_first"):
        yield Case("Flatten", {"data_format": order}, [(3, 4, 5)])
        yield from _grid("UpSampling2D", [(3, 4, 2)], {"data_format": order}, size=(2, [3, 2]),
                         interpolation=("nearest", "bilinear", "bicubic"))
        yield from _grid("UpSampling3D", [(2, 3, 2, 2)], {"data_format": order}, size=(2, [1, 3, 2]))
        yield from _grid("ZeroPadding2D", [(3, 4, 2)], {"data_format": order}, padding=(1, [2, 1], [[1, 2], [0, 3]]))
        yield from _grid("ZeroPadding3D", [(2, 3, 4, 2)], {"data_format": order}, padding=(1, [2, 1, 0]))
        yield from _grid("Cropping2D", [(5, 6, 5)], {"data_format": order}, cropping=(1, [2, 1], [[1, 2], [0, 3]]))
        yield from _grid("Cropping3D", [(4, 5, 4, 5)], {"data_format": order}, cropping=(1, [[1, 1], [0, 2], [1, 0]]))
    yield from _grid("Cropping1D", [(6, 3)], {}, cropping=(1, [2, 1]))
    yield from _grid("ZeroPadding1D", [(6, 3)], {}, padding=(1, [2, 1]))
    yield Case("UpSampling1D", {"size": 3}, [(4, 2)])
    yield from _grid("Reshape", [(3, 4)], {}, target_shape=([12], [2, 6], [-1, 2], [2, -1, 3]))
    yield from _grid("Permute", [(3, 4, 5)], {}, dims=([2, 1, 3], [3, 1, 2], [1, 2, 3]))
    yield Case("RepeatVector", {"n": 3}, [(4,)])
    yield Case("Flatten", {}, [()])


def _merging() -> Iterator[Case]:
    for name in ("Add", "Multiply", "Average", "Maximum", "Minimum"):
        for shapes in ([(3, 4)] * 2, [(3, 4)] * 3, [(3, 4), (1, 4)], [(3, 4), (4,)]):
            yield Case(name, {}, shapes)
    yield Case("Subtract", {}, [(3, 4)] * 2)
    yield from _grid("Concatenate", [(3, 4)] * 3, {}, axis=(-1, 1))
    yield from _grid("Dot", [(3, 4), (3, 4)], {}, axes=(1, 2, [2, 2], -1), normalize=(False, True))
    yield Case("Dot", {"axes": 1}, [(4,), (4,)])
    yield Case("Dot", {"axes": [2, 1]}, [(3, 4), (4, 5)])
    yield Case("Dot", {"axes": 1}, [(4, 3), (4,)])


def _recurrent() -> Iterator[Case]:
    for name, more in (("LSTM", {}), ("GRU", {}), ("SimpleRNN", {})):
        yield from _grid(name, [(4, 3)], {"units": 5, **more}, return_sequences=(False, True), return_state=(False, True),
                         go_backwards=(False, True))
        yield Case(name, {"units": 4, "use_bias": False}, [(4, 3)])
        yield Case(name, {"units": 4, "activation": "relu"}, [(4, 3)])
        yield Case(name, {"units": 3, "return_sequences": True}, [(4, 5)], way="masked")
        yield Case(name, {"units": 3}, [(4, 5)], way="masked")
        yield Case(name, {"units": 3, "unroll": True, "go_backwards": True, "return_sequences": True}, [(4, 5)], way="masked")
        yield Case(name, {"units": 3}, [(4, 5), *[(3,)] * (2 if name == "LSTM" else 1)], way="states")
    yield Case("LSTM", {"units": 4, "recurrent_activation": "hard_sigmoid"}, [(4, 3)])
    yield from _grid("GRU", [(4, 3)], {"units": 4}, reset_after=(True, False), use_bias=(True, False), return_sequences=(True,))
    for rank in (1, 2, 3):
        yield from _grid(f"ConvLSTM{rank}D", [(3, *(4,) * rank, 2)], {"filters": 3, "kernel_size": 2},
                         padding=("same", "valid"), return_sequences=(False, True))
    yield Case("ConvLSTM2D", {"filters": 2, "kernel_size": 3, "strides": 2, "data_format": "channels_first"}, [(3, 2, 5, 6)])
    for cell in ("LSTMCell", "GRUCell", "SimpleRNNCell"):
        yield Case("RNN", {"cell": {"layer": cell, "units": 4}, "return_sequences": True}, [(4, 3)])
    yield Case("RNN", {"cell": {"layer": "StackedRNNCells", "cells": [
        {"layer": "LSTMCell", "units": 4}, {"layer": "GRUCell", "units": 5}, {"layer": "SimpleRNNCell", "units": 3}]},
        "return_state": True}, [(4, 3)])


def _wrapped() -> Iterator[Case]:
    for inner in ({"layer": "LSTM", "units": 3}, {"layer": "GRU", "units": 3}):
        for mode in ("concat", "sum", "mul", "ave", None):
            yield Case("Bidirectional", {"layer": {**inner, "return_sequences": True}, "merge_mode": mode}, [(4, 5)])
        yield Case("Bidirectional", {"layer": inner}, [(4, 5)])
        yield Case("Bidirectional", {"layer": {**inner, "return_state": True}}, [(4, 5)])
        yield Case("Bidirectional", {"layer": {**inner, "return_sequences": True}}, [(4, 5)], way="masked")
    yield Case("Bidirectional", {"layer": {"layer": "LSTM", "units": 3}, "backward_layer": {
        "layer": "LSTM", "units": 4, "go_backwards": True}}, [(4, 5)])
    for inner in ({"layer": "Dense", "units": 3}, {"layer": "Conv2D", "filters": 3, "kernel_size": 2}, {"layer": "Flatten"}):
        yield Case("TimeDistributed", {"layer": inner}, [(3, 4, 5, 2)])
    yield Case("SpectralNormalization", {"layer": {"layer": "Dense", "units": 3}}, [(5,)])


def _attention() -> Iterator[Case]:
    for use_scale, mode in product((False, True), ("dot", "concat")):
        yield Case("Attention", {"use_scale": use_scale, "score_mode": mode}, [(3, 4), (5, 4)])
    yield Case("Attention", {}, [(3, 4), (5, 6), (5, 4)])
    yield Case("Attention", {}, [(3, 4), (3, 4)], {"use_causal_mask": True})
    yield Case("Attention", {}, [(3, 4), (5, 4)], {"return_attention_scores": True})
    yield from _grid("AdditiveAttention", [(3, 4), (5, 4)], {}, use_scale=(True, False))
    heads = {"num_heads": 2, "key_dim": 3}
    yield Case("MultiHeadAttention", heads, [(3, 4), (5, 4)], way="each")
    for more in ({"value_dim": 4}, {"use_bias": False}, {"output_shape": 7}, {"num_heads": 1}):
        yield Case("MultiHeadAttention", {**heads, **more}, [(3, 4), (5, 4), (5, 6)], way="each")
    yield Case("MultiHeadAttention", heads, [(3, 4), (3, 4)], {"use_causal_mask": True}, way="each")
    yield Case("MultiHeadAttention", heads, [(3, 4), (5, 4)], {"return_attention_scores": True}, way="each")
    yield Case("MultiHeadAttention", heads, [(5, 6)], way="masked twice")
    yield Case("MultiHeadAttention", {**heads, "attention_axes": [2]}, [(2, 3, 4), (2, 3, 4)], way="each")
    yield Case("MultiHeadAttention", {**heads, "attention_axes": [1, 2]}, [(2, 3, 4), (3, 2, 4)], way="each")
    yield Case("MultiHeadAttention", {**heads, "use_gate": True}, [(3, 4), (5, 4)], way="each")
    groups = {"head_dim": 3, "num_query_heads": 4, "num_key_value_heads": 2}
    yield Case("GroupQueryAttention", groups, [(3, 4), (5, 4)], way="each")
    yield Case("GroupQueryAttention", {**groups, "use_bias": False}, [(3, 4), (3, 4)], {"use_causal_mask": True}, way="each")
    yield Case("GroupQueryAttention", {**groups, "use_gate": True}, [(3, 4), (5, 4)], way="each")


def _preprocessing() -> Iterator[Case]:
    yield Case("Rescaling", {"scale": 1 / 127.5, "offset": -1.0}, [(3, 4, 3)])
    yield Case("Rescaling", {"scale": [0.1, 0.2, 0.3], "offset": [1.0, 2.0, 3.0]}, [(3, 4, 3)])
    yield Case("Normalization", {}, [(3, 5)])
    yield Case("Normalization", {"axis": None}, [(3, 5)])
    yield Case("Normalization", {"mean": 3.0, "variance": 2.0}, [(5,)])
    yield Case("Normalization", {"mean": [1.0, 2.0, 3.0], "variance": [2.0, 1.0, 0.5], "invert": True}, [(4, 3)])
    for how in ("bilinear", "nearest", "bicubic"):
        yield Case("Resizing", {"height": 5, "width": 7, "interpolation": how}, [(4, 9, 3)])
    yield Case("Resizing", {"height": 5, "width": 7, "crop_to_aspect_ratio": True}, [(8, 6, 3)])
    yield Case("Resizing", {"height": 5, "width": 7, "pad_to_aspect_ratio": True}, [(8, 6, 3)])
    yield Case("CenterCrop", {"height": 3, "width": 4}, [(6, 7, 2)])
    yield Case("CenterCrop", {"height": 6, "width": 6}, [(4, 9, 2)])
    for mode in ("int", "one_hot", "multi_hot", "count"):
        yield Case("Discretization", {"bin_boundaries": [-0.5, 0.0, 0.5], "output_mode": mode}, [(4,)])
    for mode in ("multi_hot", "count"):
        yield Case("Discretization", {"bin_boundaries": [-0.5, 0.0, 0.5], "output_mode": mode}, [(4, 3)])
        yield Case("CategoryEncoding", {"num_tokens": 6, "output_mode": mode}, [(4, 3)], integers=6)
        yield Case("CategoryEncoding", {"num_tokens": 6, "output_mode": mode}, [(4,)], integers=6)
    yield Case("CategoryEncoding", {"num_tokens": 6, "output_mode": "one_hot"}, [(1,)], integers=6)
    for name, more in (("RandomFlip", {}), ("RandomRotation", {"factor": 0.2}), ("RandomZoom", {"height_factor": 0.2}),
                       ("RandomContrast", {"factor": 0.2}), ("RandomTranslation", {"height_factor": 0.1, "width_factor": 0.1}),
                       ("RandomBrightness", {"factor": 0.2})):
        yield Case(name, more, [(4, 5, 3)])


def _masked() -> Iterator[Case]:
    """Layers through which a mask goes, and those behind which there is none."""
    for name, more in (
            ("Activation", {"activation": "tanh"}), ("ActivityRegularization", {}), ("AlphaDropout", {"rate": 0.1}),
            ("BatchNormalization", {}), ("Conv1D", {"filters": 3, "kernel_size": 1}), ("Cropping1D", {"cropping": 0}),
            ("Dense", {"units": 3}), ("Dropout", {"rate": 0.1}),
            ("EinsumDense", {"equation": "abc,cd->abd", "output_shape": (None, 3)}), ("ELU", {}),
            ("GaussianDropout", {"rate": 0.1}), ("GaussianNoise", {"stddev": 0.1}),
            ("GroupNormalization", {"groups": 2}),
            ("Identity", {}), ("LayerNormalization", {}), ("LeakyReLU", {}), ("MaxPooling1D", {"pool_size": 1}),
            ("Normalization", {"mean": 0.1, "variance": 2.0}), ("Permute", {"dims": [1, 2]}), ("PReLU", {}), ("ReLU", {}),
            ("Rescaling", {"scale": 2.0}), ("Reshape", {"target_shape": [5, 4]}), ("RMSNormalization", {}),
            ("SpatialDropout1D", {"rate": 0.1}), ("SpectralNormalization", {"layer": {"layer": "Dense", "units": 3}}),
            ("TimeDistributed", {"layer": {"layer": "Dense", "units": 3}}), ("UnitNormalization", {}),
            ("UpSampling1D", {"size": 1}),
            ("ZeroPadding1D", {"padding": 0}), ("LSTM", {"units": 3, "return_sequences": True}),
            ("Bidirectional", {"layer": {"layer": "GRU", "units": 3, "return_sequences": True}})):
        yield Case(name, more, [(5, 4)], way="masked before")
    yield Case("Softmax", {}, [(2, 2)], way="masked")
    for name in ("Add", "Subtract", "Average", "Multiply", "Maximum", "Minimum", "Concatenate"):
        for way in ("masked before", "masked all"):
            yield Case(name, {}, [(5, 4)] * (2 if name == "Subtract" else 3), way=way)
    for inner in ({"layer": "LSTM", "units": 3}, {"layer": "GlobalAveragePooling1D"}):
        yield Case("TimeDistributed", {"layer": inner}, [(4, 3, 5)], way="masked")
    for name in ("Attention", "AdditiveAttention"):
        yield Case(name, {}, [(5, 4)] * 2, {"use_causal_mask": True, "return_attention_scores": True}, way="masked all")
    for name, states in (("LSTM", 2), ("GRU", 1), ("SimpleRNN", 1)):
        yield Case(name, {"units": 3, "return_sequences": True}, [(5, 4), *[(3,)] * states], way="masked states")
        yield Case("Bidirectional", {"layer": {"layer": name, "units": 3, "return_sequences": True}},
                   [(5, 4), *[(3,)] * (2 * states)], way="masked states")


def _operations() -> Iterator[Case]:
    """`keras.ops` between layers; the batch is a dimension as others are."""
    for name in ("absolute", "arctan", "ceil", "cos", "erf", "exp", "expm1", "floor", "negative", "reciprocal", "round",
                 "sigmoid", "sign", "silu", "sin", "sinh", "softplus", "square", "tan", "tanh", "relu", "relu6", "leaky_relu",
                 "elu", "selu", "gelu", "hard_sigmoid", "hard_silu", "log_sigmoid", "logical_not", "isfinite", "zeros_like",
                 "ones_like", "ravel", "stop_gradient", "flip", "softmax", "log_softmax", "squeeze", "normalize"):
        yield Case(f"ops.{name}", {}, [(3, 4)])
    for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "floor_divide", "mod", "greater", "less_equal",
                 "equal", "not_equal", "arctan2", "logical_and", "logical_or", "logical_xor", "divide_no_nan"):
        yield Case(f"ops.{name}", {}, [(3, 4), (1, 4)])
    for name in ("mean", "sum", "max", "min", "prod", "var", "std", "logsumexp"):
        yield from _grid(f"ops.{name}", [(3, 4)], {}, axis=(1, -1, [1, 2]), keepdims=(False, True))
    for name in ("any", "all", "argmax", "argmin", "cumsum", "cumprod"):
        yield Case(f"ops.{name}", {"axis": 1}, [(3, 4)])
    yield Case("ops.norm", {"axis": -1}, [(3, 4)])
    yield Case("ops.clip", {"x_min": -0.5, "x_max": 0.2}, [(3, 4)])
    yield Case("ops.power", {"x2": 2.0}, [(3, 4)])
    yield Case("ops.cast", {"dtype": "int32"}, [(3, 4)])
    yield from _grid("ops.reshape", [(3, 4)], {}, newshape=([-1, 12], [2, 6, 2]))
    yield from _grid("ops.transpose", [(3, 4)], {}, axes=([0, 2, 1], [1, 2, 0], None))
    yield Case("ops.swapaxes", {"axis1": 1, "axis2": 2}, [(3, 4)])
    yield Case("ops.moveaxis", {"source": 1, "destination": -1}, [(3, 4, 5)])
    yield from _grid("ops.expand_dims", [(3, 4)], {}, axis=(1, -1))
    yield from _grid("ops.repeat", [(3, 4)], {}, repeats=(2,), axis=(1, 2))
    yield Case("ops.tile", {"repeats": [1, 2, 3]}, [(3, 4)])
    yield from _grid("ops.roll", [(3, 4)], {}, shift=(1, -2), axis=(1, 2))
    yield from _grid("ops.pad", [(3, 4)], {"pad_width": [[0, 0], [1, 2], [0, 1]]}, mode=("constant", "reflect", "symmetric"))
    yield from (Case(f"ops.{name}", {"axis": axis}, [(3, 4), (3, 4)], way="several")
                for name in ("concatenate", "stack") for axis in (1, -1))
    yield from _grid("ops.split", [(4, 6)], {}, indices_or_sections=(2, [1, 3]), axis=(1,))
    yield Case("ops.matmul", {}, [(3, 4), (4, 5)])
    yield Case("ops.matmul", {}, [(2, 3, 4), (2, 4, 5)])
    yield Case("ops.top_k", {"k": 2}, [(3, 4)])
    yield Case("ops.max_pool", {"pool_size": 2, "strides": 2}, [(6, 8, 3)])
    yield Case("ops.average_pool", {"pool_size": 3, "strides": 1, "padding": "same"}, [(6, 8, 3)])
    yield Case("ops.image.resize", {"size": [5, 7]}, [(3, 4, 2)])
    for name, arguments, inputs, more in (*OPTIONS, *TYPES, *ARRAYS):
        yield Case(name if name == "Activation" else f"ops.{name}", arguments, inputs, **more)


def _integers() -> Iterator[Case]:
    """Layers that are given integers, and mostly give floats: all that TensorFlow lets Keras compute of them."""
    for name, more, shape in (
            ("EinsumDense", {"equation": "ab,bc->ac", "output_shape": 3}, (4,)),
            ("LSTM", {"units": 3}, (4, 3)), ("GRU", {"units": 3, "return_sequences": True}, (4, 3)),
            ("SimpleRNN", {"units": 3}, (4, 3)), ("Bidirectional", {"layer": {"layer": "LSTM", "units": 3}}, (4, 3)),
            ("BatchNormalization", {}, (4, 3)), ("BatchNormalization", {}, (4, 5, 3)), ("LayerNormalization", {}, (4, 3)),
            ("LayerNormalization", {"rms_scaling": True}, (4, 3)), ("GroupNormalization", {"groups": 2}, (4, 6)),
            ("RMSNormalization", {}, (4, 3)),
            ("GlobalAveragePooling1D", {}, (5, 3)), ("GlobalAveragePooling2D", {}, (4, 5, 3)),
            ("ReLU", {"max_value": 3.0}, (4, 3)), ("LeakyReLU", {}, (4, 3)), ("Activation", {"activation": "tanh"}, (4, 3)),
            ("Activation", {"activation": "exponential"}, (4, 3)), ("Activation", {"activation": "leaky_relu"}, (4, 3)),
            ("RandomFlip", {}, (4, 5, 3)), ("RandomRotation", {"factor": 0.2}, (4, 5, 3)),
            ("RandomZoom", {"height_factor": 0.2}, (4, 5, 3)),
            ("RandomTranslation", {"height_factor": 0.1, "width_factor": 0.1}, (4, 5, 3)),
            ("RandomContrast", {"factor": 0.2}, (4, 5, 3)), ("RandomBrightness", {"factor": 0.2}, (4, 5, 3))):
        yield Case(name, more, [shape], integers=6)
    yield Case("MultiHeadAttention", {"num_heads": 2, "key_dim": 3}, [(3, 4), (5, 4)], way="each", integers=6)
    yield Case("GroupQueryAttention", {"head_dim": 3, "num_query_heads": 4, "num_key_value_heads": 2}, [(3, 4), (5, 4)],
               way="each", integers=6)
