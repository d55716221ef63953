"""Dense layers, embeddings, what wraps a layer, and all that does nothing at inference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from transload.errors import Unsupported
from transload.ir import I32, I64, Value

from ..graph import shape_of
from ..layer import LAYERS, Call, element_named
from .activations import activated


@LAYERS.layer("Identity", passes_mask=3)
@LAYERS.layer("ActivityRegularization", passes_mask=True)
@LAYERS.layer("Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "GaussianDropout", "GaussianNoise",
              "AlphaDropout", passes_mask=True, trained_by=("rate", "p", "stddev", "sigma"))
def identity(call: Call, x: Value) -> Value:
    """Dropout, noise and penalties are for training."""
    return x


@LAYERS.layer("Dense", variables=("kernel", "bias:use_bias"), passes_mask=True)
def dense(call: Call, x: Value) -> Value:
    """The last dimension times a matrix, plus a bias."""
    g, shape, units = call.g, shape_of(x), int(call.config["units"])
    if not shape:
        raise Unsupported("it is called with a single number")
    kernel = call.weight("kernel", (shape[-1], units))
    flat = x if len(shape) == 2 else g.reshape(x, [-1, shape[-1]] if len(shape) != 1 else [1, shape[-1]])
    y = g.matmul(flat, kernel)
    if call.has("bias"):
        y = g.emit("BiasAdd", (y, call.weight("bias", (units,))), shape_of(y), data_format="NHWC")
    return activated(call, g.reshape(y, [*shape[:-1], units]))


@LAYERS.layer("EinsumDense", variables=("kernel", "bias:bias_axes"))
def einsum_dense(call: Call, x: Value) -> Value:
    """An einsum with a kernel; a bias along the axes of the result that `bias_axes` names."""
    return activated(call, projected(call, x, str(call.config["equation"]), call.option("bias_axes")))


def projected(call: Call, x: Value, equation: str, bias_axes: str | None, kernel: str = "kernel", bias: str = "bias") -> Value:
    """`x` and a kernel by an equation, whose dots are the dimensions that it does not name; plus a bias."""
    g = call.g
    found = re.fullmatch(r"([a-zA-Z.]+),([a-zA-Z]+)->([a-zA-Z.]+)", equation.replace(" ", ""))
    if found is None:
        raise Unsupported(f"its equation {equation[:80]!r} is none of a tensor and a kernel")
    left, inner, right = found.groups()
    named = left.replace("...", "")
    free = [letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if letter not in named + inner + right]
    rest = "".join(free[: max(0, x.rank - len(named))]) if "..." in left else ""
    left, right = left.replace("...", rest), right.replace("...", rest)
    y = g.einsum(f"{left},{inner}->{right}", x, call.weight(kernel))
    if bias_axes is None or not call.has(bias):
        return y
    sizes = dict(zip(right, shape_of(y), strict=True))
    kept = [sizes[letter] if letter in bias_axes else 1 for letter in right]
    while kept and kept[0] == 1 and right[len(right) - len(kept)] not in bias_axes:
        kept.pop(0)
    return g.AddV2(y, g.reshape(call.weight(bias), kept))


@LAYERS.layer("Embedding", variables=("embeddings",), casts=False)
def embedding(call: Call, x: Value) -> Value:
    """Rows of a table."""
    g, table = call.g, call.weight("embeddings", (int(call.config["input_dim"]), int(call.config["output_dim"])))
    indices = x if x.element in (I32, I64) else g.cast(x, I32)
    y = g.gather(table, indices)
    if call.option("mask_zero", False):
        call.set_mask(y, g.NotEqual(x, 0))  # of the numbers as they are given, before they lose their fractions
    return y


def _reversible_variables(config: Mapping[str, Any]) -> Sequence[str]:
    return ("embeddings",) if config.get("tie_weights", True) else ("embeddings", "reverse_embeddings")


@LAYERS.layer("ReversibleEmbedding", variables=_reversible_variables, casts=False)
def reversible_embedding(call: Call, x: Value, reverse: bool = False) -> Value:
    """Rows of a table, or with `reverse` the last dimension times the table turned, or times a matrix of its own."""
    if not reverse:
        return embedding(call, x)
    g, shape, count = call.g, shape_of(x), int(call.config["input_dim"])
    size, tied = int(call.config["output_dim"]), bool(call.option("tie_weights", True))
    name = "embeddings" if tied else "reverse_embeddings"
    kernel = call.weight(name, (count, size) if tied else (size, count))
    wanted = call.option("reverse_dtype")
    if wanted is not None:
        element = element_named(wanted)
        if element is None:
            raise Unsupported(f"its reverse_dtype {str(wanted)[:80]!r} is no float of 16, 32 or 64 bits")
        x, kernel = g.cast(x, element), g.cast(kernel, element)
    x, kernel = g.pair(x, kernel)
    y = g.reshape(g.matmul(g.reshape(x, [-1, shape[-1]]), kernel, transpose_y=tied), [*shape[:-1], count])
    cap = call.option("logit_soft_cap")
    return y if cap is None else g.Mul(g.Tanh(g.RealDiv(y, float(cap))), float(cap))


@LAYERS.layer("Masking")
def masking(call: Call, x: Value) -> Value:
    """Steps in which all is `mask_value` are masked, and become zeros."""
    g = call.g
    there = g.reduce("Any", g.NotEqual(x, g.like(call.option("mask_value", 0.0), x)), -1, keep=True)
    y = g.Mul(x, g.cast(there, x.element))
    call.set_mask(y, g.squeeze(there, -1))
    return y


@LAYERS.layer("LayerScale", variables=("gamma",))
def layer_scale(call: Call, x: Value) -> Value:
    """A factor for each channel: a layer that `keras.applications` has for ConvNeXt."""
    return call.g.Mul(x, call.weight("gamma", (shape_of(x)[-1],)))


def _wrapped(config: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    return [("layer", config["layer"])]


@LAYERS.layer("TimeDistributed", parts=_wrapped, passes_mask=3)
def time_distributed(call: Call, x: Value, mask: Value | None = None) -> Value:
    """The layer of each step: steps, and their masks, become part of the batch."""
    g, shape = call.g, shape_of(x)
    if len(shape) < 2:
        raise Unsupported(f"it is called with a tensor of shape {list(shape)}, which has no steps")
    steps = g.reshape(x, [shape[0] * shape[1], *shape[2:]])
    mask = mask if mask is not None else call.mask(x)
    if mask is not None:
        inner = shape_of(mask)[2:] or ((1,) * (steps.rank - 1) if g.keras >= 3 else ())
        call.set_mask(steps, g.reshape(mask, [shape[0] * shape[1], *inner]))
    y = (call.apply_within if g.keras >= 3 else call.apply)(call.part("layer"), steps)
    if not isinstance(y, Value):
        raise Unsupported("the layer of its steps gives several tensors")
    made = g.reshape(y, [*shape[:2], *shape_of(y)[1:]])
    if g.keras < 3:
        _older_mask(call, mask, y, made)
    return made


def _older_mask(call: Call, mask: Value | None, y: Value, made: Value) -> None:
    """Before Keras 3 a result has the mask that its layer gave it, or else for each step whether its mask leaves anything."""
    given = call.mask(y)
    if given is not None:
        call.set_mask(made, call.g.reshape(given, [*shape_of(made)[:2], *shape_of(given)[1:]]))
    elif mask is not None:
        axes = list(range(2, mask.rank))
        call.set_mask(made, call.g.reduce("Any", mask, axes) if axes else mask)


@LAYERS.layer("SpectralNormalization", parts=_wrapped, variables=("~vector_u",), trained_by=("power_iterations",))
def spectral_normalization(call: Call, x: Value) -> Value:
    """The layer: its kernel was divided by its norm while it was trained."""
    y: Value = call.apply(call.part("layer"), x)
    return call.g.cast(y, x.element) if call.g.keras >= 3 else y


@LAYERS.layer("Wrapper", parts=_wrapped)
def wrapper(call: Call, *inputs: Any) -> Any:
    return call.apply(call.part("layer"), *inputs)


@LAYERS.layer("Lambda", "TensorFlowOpLayer", "TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer")
def code(call: Call, *_: Any) -> Any:
    """Layers that hold code."""
    raise Unsupported("it holds code, which is not run",
                      "export the model as a SavedModel (model.export) or to ONNX (tf2onnx), where it is defined")
