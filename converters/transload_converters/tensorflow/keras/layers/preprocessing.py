"""Preprocessing that is part of a network: scaling, sizes, classes. Augmentation does nothing at inference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, I32, I64, FloatType, IntegerType, Value

from ..graph import Graph, shape_of
from ..layer import LAYERS, Call
from .pooling import channels_last
from .reshaping import resized

_OF_FLOATS = ("RandomErasing", "RandomElasticTransform", "RandomFlip", "RandomGaussianBlur", "RandomPerspective",
              "RandomRotation", "RandomSharpness", "RandomTranslation", "RandomZoom", "RandAugment", "AugMix", "CutMix")
"""What makes floats of integers; others do not since Keras 3.6."""


@LAYERS.layer(
    *_OF_FLOATS, "RandomBrightness", "RandomContrast", "RandomColorDegeneration", "RandomColorJitter", "RandomGrayscale",
    "RandomHue", "RandomInvert", "RandomPosterization", "RandomSaturation", "RandomShear", "MixUp", trained_by=("name",))
def augmented(call: Call, x: Any) -> Any:
    """Images as they are, as floats from Keras 2.8 on: augmentation is for training."""
    if not call.g.since(2, 8) or (call.g.since(3, 6) and call.layer.class_name not in _OF_FLOATS):
        return x
    if isinstance(x, Mapping):  # with what is said of them
        return {key: call.floats(value) if key == "images" else value for key, value in x.items()}
    return call.floats(x)


@LAYERS.layer("Rescaling", passes_mask=3)
def rescaling(call: Call, x: Value) -> Value:
    g = call.g
    scale = np.asarray(_plain(call.option("scale", 1.0)), np.float64)
    offset = np.asarray(_plain(call.option("offset", 0.0)), np.float64)
    y = call.floats(x)
    if np.any(scale != 1):
        y = g.Mul(y, g.constant(scale, call.element))
    return g.AddV2(y, g.constant(offset, call.element)) if np.any(offset != 0) else y


def _plain(value: Any) -> Any:
    """Numbers that may be serialized arrays."""
    if isinstance(value, Mapping):
        config = value.get("config")
        return config.get("value") if isinstance(config, Mapping) else config
    return value


def _normalization_variables(config: Mapping[str, Any]) -> Sequence[str]:
    return () if config.get("mean") is not None else ("~mean", "~variance", "~count")


@LAYERS.layer("Normalization", variables=_normalization_variables, passes_mask=3)
def normalization(call: Call, x: Value) -> Value:
    """By a mean and a variance that were given, or seen before training."""
    g, rank = call.g, x.rank
    given = call.config.get("axis", -1)
    axes = [] if given is None else g.axes(given, rank)
    shape = [size if place in axes else 1 for place, size in enumerate(shape_of(x))]

    def statistic(name: str) -> np.ndarray:
        fixed = _plain(call.config.get(name))
        array = np.asarray(fixed if fixed is not None else call.array(name), np.float32)
        return array.reshape(shape) if array.size == math.prod(shape) else np.broadcast_to(array, shape)

    deviation = g.constant(np.maximum(np.sqrt(statistic("variance")), 1e-7), call.element)
    mean, y = g.constant(statistic("mean"), call.element), call.floats(x)
    if call.option("invert", False):
        return g.AddV2(mean, g.Mul(y, deviation))
    return g.RealDiv(g.Sub(y, mean), deviation)


def _batched(g: Graph, x: Value, function: Any) -> Value:
    """A function of a batch of images, of one image as well."""
    if x.rank == 4:
        made: Value = function(x)
        return made
    return g.squeeze(function(g.expand(x, 0)), 0)


@LAYERS.layer("Resizing", casts=True)
def resizing(call: Call, x: Value) -> Value:
    """Images of another size: as they are, or cut or padded to the aspect; of integers integers, since Keras 3."""
    g, size = call.g, [int(call.config["height"]), int(call.config["width"])]
    if min(size) < 1:
        raise Unsupported(f"a size of {size} is none")
    how, element = str(call.option("interpolation", "bilinear")), x.element

    def image(y: Value) -> Value:
        crop, pad = (bool(call.option(f"{how}_to_aspect_ratio", False)) for how in ("crop", "pad"))
        y = fitted(g, y, size, crop, pad, float(call.option("fill_value", 0.0)))
        made = resized(g, y, size, how, bool(call.option("antialias", False)))
        if g.keras < 3:
            return g.cast(made, call.element)
        return g.cast(g.Round(made), element) if isinstance(element, IntegerType) and made.element != element else made

    return _batched(g, x, lambda y: channels_last(g, y, call.channels_first, image))


def fitted(g: Graph, x: Value, size: Sequence[int], crop: bool, pad: bool, fill: float = 0.0) -> Value:
    """The part of images (`crop`), or images in a border (`pad`), whose aspect is that of a size."""
    _, height, width, _ = shape_of(x)
    if crop:
        wanted = [max(min(height, int(float(width * size[0]) / size[1])), 1),
                  max(min(width, int(float(height * size[1]) / size[0])), 1)]
        at = [int(float(height - wanted[0]) / 2), int(float(width - wanted[1]) / 2)]
        return g.narrow(g.narrow(x, 1, at[0], at[0] + wanted[0]), 2, at[1], at[1] + wanted[1])
    if pad:
        wanted = [max(height, int(float(width * size[0]) / size[1])), max(width, int(float(height * size[1]) / size[0]))]
        at = [int(float(wanted[0] - height) / 2), int(float(wanted[1] - width) / 2)]
        return g.pad(x, [(0, 0), (at[0], at[0]), (at[1], at[1]), (0, 0)], fill or None)
    return x


@LAYERS.layer("CenterCrop")
def center_crop(call: Call, x: Value) -> Value:
    """The middle of images; of those that are smaller, what has the aspect, resized."""
    g, size = call.g, [int(call.config["height"]), int(call.config["width"])]

    def image(y: Value) -> Value:
        _, height, width, _ = shape_of(y)
        if height >= size[0] and width >= size[1]:
            top, left = (height - size[0]) // 2, (width - size[1]) // 2
            return g.narrow(g.narrow(y, 1, top, top + size[0]), 2, left, left + size[1])
        wanted = [min(height, int(float(width * size[0]) / size[1])), min(width, int(float(height * size[1]) / size[0]))]
        at = [int(float(height - wanted[0]) / 2), int(float(width - wanted[1]) / 2)]
        return resized(g, g.narrow(g.narrow(y, 1, at[0], at[0] + wanted[0]), 2, at[1], at[1] + wanted[1]), size, "bilinear")

    return _batched(g, call.floats(x), lambda y: channels_last(g, y, call.channels_first, image))


def _encoded(call: Call, x: Value, depth: int, weights: Value | None = None) -> Value:
    """Classes as numbers of their own, as one place among `depth` each, or as the places that occur."""
    g, mode = call.g, str(call.option("output_mode", "multi_hot"))
    if mode == "int":
        return x
    element = call.element
    if mode == "one_hot":
        if x.rank and shape_of(x)[-1] == 1 and x.rank > 1:
            x = g.squeeze(x, -1)
        return g.one_hot(x, depth, element)
    places = g.one_hot(x, depth, element)
    if x.rank == 1 and mode in ("multi_hot", "count"):
        return places if mode == "multi_hot" or weights is None else g.Mul(places, g.expand(weights, -1))
    if mode == "multi_hot":
        return g.reduce("Max", places, 1)  # of all that belongs to one of the batch, the first dimension alone
    if mode == "count":
        return g.reduce("Sum", places if weights is None else g.Mul(places, g.expand(g.cast(weights, element), -1)), 1)
    raise Unsupported(f"its output_mode {mode!r} is none that can be computed here")


@LAYERS.layer("CategoryEncoding", casts=False)
def category_encoding(call: Call, x: Value, weights: Value | None = None) -> Value:
    indices = call.g.cast(x, I32) if isinstance(x.element, FloatType) else x
    return _encoded(call, indices, int(call.config["num_tokens"]), call.arguments.get("count_weights", weights))


@LAYERS.layer("Discretization", casts=False)
def discretization(call: Call, x: Value) -> Value:
    """Into which of the bins a number falls: how many boundaries are not above it; NaN into the last."""
    g = call.g
    bounds = call.option("bin_boundaries")
    if not bounds:
        raise Unsupported("it has no boundaries")
    x = g.cast(x, F32)
    mode = call.option("output_mode", "int")
    indices = g.emit("Bucketize", (x,), shape_of(x), I32, boundaries=[float(bound) for bound in bounds])
    return (indices if g.keras >= 3 else g.cast(indices, I64)) if mode == "int" else _encoded(call, indices, len(bounds) + 1)


def _lookup(call: Call, *_: Any) -> Any:
    raise Unsupported("it works on texts or tables of words, which no network of numbers holds",
                      "do it before the network, and save the part behind it")


LAYERS.layer("StringLookup", "IntegerLookup", "TextVectorization", "Hashing", "HashedCrossing", "FeatureSpace",
             casts=False)(_lookup)
