"""Turning the trained network into 8-bit integers, by the rules of TensorFlow Lite.

Source: "TensorFlow Lite 8-bit quantization specification",
https://ai.google.dev/edge/litert/models/quantization_spec.
"""

from __future__ import annotations

import numpy as np

from network import WEIGHT_SHAPES, Arrays, forward
from transload_converters.tflite.writer import Quantization

#: The feature map that each layer with weights reads.
_LAYER_INPUTS = {
    "conv1": "image",
    "depthwise": "conv1",
    "pointwise": "depthwise",
    "logits": "flattened",
}
#: The dimension of each layer's weights that has a scale for each output channel. The specification gives
#: the matrix product one scale for all its weights, so that layer is missing here.
_CHANNEL_AXES = {"conv1": 0, "depthwise": 3, "pointwise": 0}
#: Pooling and reshaping keep the scale of what they read: the integers are averaged or moved, not rescaled.
_SAME_SCALE = {"pooled": "residual", "flattened": "residual"}


def quantize_network(parameters: Arrays, images: np.ndarray) -> tuple[Arrays, dict[str, Quantization]]:
    """Quantize the network after training.

    Args:
        parameters: the trained weights and biases.
        images: images [N, 8, 8, 1] on which the ranges of the feature maps are measured ("calibration").

    Returns:
        The weights as int8 and the biases as int32 arrays, and the quantization of these and of all feature
        maps, by name.
    """
    maps = forward(parameters, images)
    quantizations = {name: _activation(values) for name, values in maps.items() if name not in _SAME_SCALE}
    for name, source in _SAME_SCALE.items():
        quantizations[name] = quantizations[source]
    # The specification fixes the output of softmax, whose range is known beforehand.
    quantizations["probabilities"] = Quantization([1.0 / 256.0], [-128])

    constants: Arrays = {}
    for layer in WEIGHT_SHAPES:
        weights = parameters[f"{layer}_weights"]
        quantized, quantization = _weights(weights, _CHANNEL_AXES.get(layer))
        constants[f"{layer}_weights"] = quantized
        quantizations[f"{layer}_weights"] = quantization

        # The sums of products have the scale (input scale) * (weight scale); the bias is added to them as is.
        input_scale = quantizations[_LAYER_INPUTS[layer]].scales[0]
        scales = np.float32(input_scale) * np.asarray(quantization.scales, np.float32)
        bias = np.round(parameters[f"{layer}_bias"] / scales.astype(np.float64))
        constants[f"{layer}_bias"] = bias.astype(np.int32)
        quantizations[f"{layer}_bias"] = Quantization(scales.tolist(), [0] * len(scales))
    return constants, quantizations


def _activation(values: np.ndarray) -> Quantization:
    """Spread the 256 values of int8 over the range of a feature map; the real 0 must be one of them."""
    smallest = min(float(values.min()), 0.0)
    largest = max(float(values.max()), 0.0)
    scale = float(np.float32((largest - smallest) / 255.0))
    zero_point = int(np.clip(round(-128 - smallest / scale), -128, 127))
    return Quantization([scale], [zero_point])


def _weights(weights: np.ndarray, channel_axis: int | None) -> tuple[np.ndarray, Quantization]:
    """Quantize weights symmetrically to -127..127, with a scale per channel or one scale for all.

    -128 stays unused: so the negative of a weight can always be stored, and the products of two weights and
    two inputs fit into 16 bits, which some kernels count on.
    """
    other_axes = tuple(axis for axis in range(weights.ndim) if axis != channel_axis)
    largest = np.abs(weights).max(axis=other_axes if channel_axis is not None else None, keepdims=True)
    scales = (largest / 127.0).astype(np.float32)
    quantized = np.clip(np.round(weights / scales.astype(np.float64)), -127, 127).astype(np.int8)
    flat_scales = scales.reshape(-1).tolist()
    return quantized, Quantization(flat_scales, [0] * len(flat_scales), channel_axis or 0)
