"""Networks as one writes them: a MobileNet and a transformer, small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transload_hub.network import Network, network, ops, scope

__all__ = ["mobilenet", "transformer"]


class Weights:
    """Random weights of a fixed seed, of the scale that keeps numbers as large as they are."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, *shape: int) -> np.ndarray:
        return (self.rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)).astype(np.float32)


def mobilenet(size: int = 32, classes: int = 5) -> Network:
    """Inverted residuals: wide, depthwise, narrow, and added to what came in where the shapes allow."""
    weights = Weights()

    def conv(x: Any, channels: int, kernel: int = 1, stride: int = 1, group: int = 1, relu: bool = True) -> Any:
        pad = kernel // 2
        filters = weights(channels, x.shape[1] // group, kernel, kernel)
        return ops.Conv(x, filters, weights(channels), kernel_shape=(kernel, kernel), strides=(stride, stride), pads=(pad,) * 4,
                        group=group, do_relu=relu, relu_limit=6.0 if relu else -1.0)

    def block(x: Any, channels: int, stride: int) -> Any:
        wide = conv(x, 4 * x.shape[1])
        deep = conv(wide, wide.shape[1], 3, stride, group=wide.shape[1])
        narrow = conv(deep, channels, relu=False)
        return x + narrow if narrow.shape == x.shape else narrow

    @network(image=(1, 3, size, size))
    def net(image: Any) -> dict[str, Any]:
        x = conv(image, 8, 3, 2)
        for number, (channels, stride) in enumerate(((8, 1), (12, 2), (12, 1))):
            with scope(f"block{number}"):
                x = block(x, channels, stride)
        pooled = ops.AvgPool(x, kernel_shape=x.shape[2:])
        logits = pooled.reshape(1, -1) @ weights(x.shape[1], classes) + weights(classes)
        return {"probabilities": ops.Softmax(logits, axis=-1)}

    return net  # type: ignore[no-any-return]


def transformer(length: int = 6, width: int = 16, heads: int = 2, layers: int = 2) -> Network:
    """An encoder: attention and a feed-forward layer, each behind a normalization and added to what came in."""
    weights = Weights(1)
    dense: Callable[[Any, int], Any] = lambda x, outputs: x @ weights(x.shape[-1], outputs) + weights(outputs)  # noqa: E731

    def attention(x: Any) -> Any:
        size = width // heads
        q, k, v = (dense(x, width).reshape(1, length, heads, size).transpose(0, 2, 1, 3) for _ in range(3))
        scores = ops.MatMul(q, k, right_transpose=True) / np.sqrt(size)
        mixed = ops.Softmax(scores, axis=-1) @ v
        return dense(mixed.transpose(0, 2, 1, 3).reshape(1, length, width), width)

    @network(tokens=(1, length, width))
    def net(tokens: Any) -> Any:
        x = tokens
        for number in range(layers):
            with scope(f"layer{number}"):
                x = x + attention(ops.LayerNorm(x, np.ones(width), np.zeros(width), name="norm"))
                x = x + dense(ops.GELU(dense(ops.LayerNorm(x), 2 * width)), width)
        return x

    return net  # type: ignore[no-any-return]
