"""The digits network in plain NumPy: its layers, forward pass and hand-written backward pass.

All images and feature maps are in the order NHWC (batch, height, width, channels). The network is small, but
has one of each thing that makes a converter work: a strided depthwise convolution with a depth multiplier and
uneven padding, a branch that is added back, a pooling and a matrix product after a flattening::

    image          [N, 8, 8, 1]    pixels, 0 to 1
    conv1          [N, 8, 8, 16]   3x3 convolution, "same" padding, ReLU
    depthwise      [N, 4, 4, 32]   3x3 depthwise convolution, stride 2, 2 outputs per channel, "same" padding
    pointwise      [N, 4, 4, 32]   1x1 convolution, ReLU
    residual       [N, 4, 4, 32]   depthwise + pointwise
    pooled         [N, 2, 2, 32]   2x2 average pooling
    flattened      [N, 128]
    logits         [N, 10]         fully connected
    probabilities  [N, 10]         softmax
"""

from __future__ import annotations

import numpy as np

Arrays = dict[str, np.ndarray]

IMAGE_SIZE = 8
CHANNELS = 16
DEPTH_MULTIPLIER = 2
WIDE_CHANNELS = CHANNELS * DEPTH_MULTIPLIER
POOL = 2
CLASSES = 10
#: Elements of one image after pooling: height x width x channels.
FLATTENED = 2 * 2 * WIDE_CHANNELS

#: Shapes of the weights, in the layouts that TFLite uses: output channels first for convolutions and the
#: matrix product; for the depthwise convolution a leading 1 and the output channels last, where the outputs
#: that belong to one input channel are neighbours.
WEIGHT_SHAPES = {
    "conv1": (CHANNELS, 3, 3, 1),
    "depthwise": (1, 3, 3, WIDE_CHANNELS),
    "pointwise": (WIDE_CHANNELS, 1, 1, WIDE_CHANNELS),
    "logits": (CLASSES, FLATTENED),
}


def initial_parameters(random: np.random.Generator) -> Arrays:
    """Return random weights (``"conv1_weights"``, ...) and zero biases (``"conv1_bias"``, ...), float64.

    The weights are normal with the variance ``2 / inputs`` that keeps the size of activations through ReLU
    layers (He et al., "Delving Deep into Rectifiers", 2015).
    """
    parameters: Arrays = {}
    for layer, shape in WEIGHT_SHAPES.items():
        is_depthwise = layer == "depthwise"
        outputs = shape[-1] if is_depthwise else shape[0]
        inputs = 9 if is_depthwise else int(np.prod(shape[1:]))
        parameters[f"{layer}_weights"] = random.normal(0.0, np.sqrt(2.0 / inputs), shape)
        parameters[f"{layer}_bias"] = np.zeros(outputs)
    return parameters


def forward(parameters: Arrays, images: np.ndarray) -> Arrays:
    """Run the network.

    Args:
        parameters: weights and biases as :func:`initial_parameters` makes them.
        images: pixels 0 to 1, [N, 8, 8, 1].

    Returns:
        Every feature map by the names in this module's description.
    """
    maps = {"image": images}
    weights = parameters["conv1_weights"]
    windows = _windows(images, stride=1)
    conv1 = np.tensordot(windows, weights, axes=((3, 4, 5), (1, 2, 3))) + parameters["conv1_bias"]
    maps["conv1"] = np.maximum(conv1, 0.0)

    windows = _windows(maps["conv1"], stride=2)
    products = np.einsum("nyxijc,ijcm->nyxcm", windows, _by_input_channel(parameters["depthwise_weights"]))
    maps["depthwise"] = products.reshape(*products.shape[:3], WIDE_CHANNELS) + parameters["depthwise_bias"]

    weights = parameters["pointwise_weights"][:, 0, 0, :]
    maps["pointwise"] = np.maximum(maps["depthwise"] @ weights.T + parameters["pointwise_bias"], 0.0)
    maps["residual"] = maps["depthwise"] + maps["pointwise"]

    maps["pooled"] = _pool_blocks(maps["residual"]).mean(axis=(2, 4))
    maps["flattened"] = maps["pooled"].reshape(len(images), FLATTENED)
    maps["logits"] = maps["flattened"] @ parameters["logits_weights"].T + parameters["logits_bias"]

    # Taking the largest logit away changes no probability and keeps exp() from overflowing.
    exponentials = np.exp(maps["logits"] - maps["logits"].max(axis=1, keepdims=True))
    maps["probabilities"] = exponentials / exponentials.sum(axis=1, keepdims=True)
    return maps


def gradients(parameters: Arrays, maps: Arrays, labels: np.ndarray) -> Arrays:
    """Return the gradient of the mean cross-entropy loss with respect to every parameter.

    Args:
        parameters: weights and biases.
        maps: what :func:`forward` returned for a batch of N images.
        labels: the true classes, integers [N].

    Returns:
        Arrays with the names and shapes of the parameters.
    """
    count = len(labels)
    gradient: Arrays = {}

    # Softmax and cross-entropy together have the derivative (probabilities - one-hot labels) / N.
    d_logits = maps["probabilities"].copy()
    d_logits[np.arange(count), labels] -= 1.0
    d_logits /= count
    gradient["logits_weights"] = d_logits.T @ maps["flattened"]
    gradient["logits_bias"] = d_logits.sum(axis=0)

    # Each element of a pooling block gets an equal share of the pooled element's derivative.
    d_pooled = (d_logits @ parameters["logits_weights"]).reshape(maps["pooled"].shape)
    d_residual = d_pooled.repeat(POOL, axis=1).repeat(POOL, axis=2) / POOL**2

    d_pointwise = d_residual * (maps["pointwise"] > 0.0)
    weights = parameters["pointwise_weights"][:, 0, 0, :]
    d_weights = np.tensordot(d_pointwise, maps["depthwise"], axes=((0, 1, 2), (0, 1, 2)))
    gradient["pointwise_weights"] = d_weights[:, None, None, :]
    gradient["pointwise_bias"] = d_pointwise.sum(axis=(0, 1, 2))

    # The depthwise output goes two ways: straight into the sum, and through the pointwise convolution.
    d_depthwise = d_residual + d_pointwise @ weights
    gradient["depthwise_bias"] = d_depthwise.sum(axis=(0, 1, 2))
    d_products = d_depthwise.reshape(*d_depthwise.shape[:3], CHANNELS, DEPTH_MULTIPLIER)
    windows = _windows(maps["conv1"], stride=2)
    d_weights = np.einsum("nyxijc,nyxcm->ijcm", windows, d_products, optimize=True)
    gradient["depthwise_weights"] = d_weights.reshape(WEIGHT_SHAPES["depthwise"])

    weights = _by_input_channel(parameters["depthwise_weights"])
    d_windows = np.einsum("nyxcm,ijcm->nyxijc", d_products, weights)
    d_conv1 = _sum_windows(d_windows, stride=2) * (maps["conv1"] > 0.0)
    windows = _windows(maps["image"], stride=1)
    gradient["conv1_weights"] = np.tensordot(d_conv1, windows, axes=((0, 1, 2), (0, 1, 2)))
    gradient["conv1_bias"] = d_conv1.sum(axis=(0, 1, 2))
    return gradient


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Return the padding before and after a dimension that TensorFlow's "SAME" stands for.

    The output has ``ceil(size / stride)`` elements; what the last window needs beyond the input is split in
    halves, the larger one after. For size 8, kernel 3 and stride 2 that is 0 before and 1 after.
    """
    output = -(-size // stride)
    total = max((output - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def _by_input_channel(weights: np.ndarray) -> np.ndarray:
    """Split the output channels of depthwise weights [1, 3, 3, C * M] into [3, 3, C, M]."""
    return weights.reshape(3, 3, CHANNELS, DEPTH_MULTIPLIER)


def _windows(maps: np.ndarray, stride: int) -> np.ndarray:
    """Return the 3x3 windows of feature maps under "same" padding, [N, OH, OW, 3, 3, C]."""
    before, after = same_padding(maps.shape[1], 3, stride)
    padded = np.pad(maps, ((0, 0), (before, after), (before, after), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    return windows[:, ::stride, ::stride].transpose(0, 1, 2, 4, 5, 3)


def _sum_windows(windows: np.ndarray, stride: int) -> np.ndarray:
    """Add 3x3 windows back to where :func:`_windows` took them from; the reverse pass of that function."""
    count, height, width = windows.shape[:3]
    size = height * stride
    before, after = same_padding(size, 3, stride)
    padded = np.zeros((count, size + before + after, width * stride + before + after, windows.shape[-1]))
    for row in range(3):
        for column in range(3):
            rows = slice(row, row + height * stride, stride)
            columns = slice(column, column + width * stride, stride)
            padded[:, rows, columns] += windows[:, :, :, row, column]
    return padded[:, before : before + size, before : before + width * stride]


def _pool_blocks(maps: np.ndarray) -> np.ndarray:
    """View feature maps [N, H, W, C] as pooling blocks [N, H / 2, 2, W / 2, 2, C]."""
    count, height, width, channels = maps.shape
    return maps.reshape(count, height // POOL, POOL, width // POOL, POOL, channels)
