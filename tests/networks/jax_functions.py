"""Functions that networks are made of, in JAX: name -> (function, arguments). Each is exported and converted by itself."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.networks.jax_networks import Weights, attention, batch_norm, conv, layer_norm

_w = Weights(100)
_dense, _bias, _out = _w(12, 24), _w.vector(24), _w(24, 6)
_kernel, _depth, _square, _line = _w(3, 3, 4, 8), _w(3, 3, 1, 8, fan=9), _w(8, 8), _w(3, 4, 5)
_batch, _oihw = _w(3, 3, 3, 4), _w(3, 3, 2, 6).transpose(3, 2, 0, 1)
_NHWC, _NCHW = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")


def _half(x: Any) -> Any:
    return jnp.asarray(x, jnp.bfloat16)


FUNCTIONS: dict[str, tuple[Any, ...]] = {
    # weights as arguments, not constants
    "mlp_of_arguments": (lambda w1, b1, w2, x: jax.nn.softmax(jax.nn.gelu(x @ w1 + b1) @ w2), _dense, _bias, _out,
                         _w.input(3, 12)),
    "conv_of_arguments": (lambda k, m, v, g, b, x: jax.nn.relu(batch_norm(conv(x, k), (m, v, g, b))), _kernel, *_w.statistics(8),
                          _w.input(1, 8, 8, 4)),
    "attention_of_arguments": (lambda a, b, w, x: attention(layer_norm(x, a, b), 2, w, w, w, w), _w.vector(8, 1.0), _w.vector(8),
                               _square, _w.input(2, 5, 8)),
    # narrow floats
    "bf16_mlp": (lambda x: jax.nn.softmax(jax.nn.gelu(_half(x) @ _half(_dense)) @ _half(_out)).astype(jnp.float32),
                 _w.input(3, 12)),
    "f16_layer_norm": (lambda x: layer_norm(x.astype(jnp.float16), 1, 0).astype(jnp.float32), _w.input(4, 8)),
    # resizing
    "resize_cubic": (lambda x: jax.image.resize(x, (1, 9, 7, 3), "cubic"), _w.input(1, 5, 6, 3)),
    "resize_linear": (lambda x: jax.image.resize(x, (1, 4, 4, 3), "bilinear"), _w.input(1, 8, 8, 3)),
    "resize_nearest": (lambda x: jax.image.resize(x, (1, 7, 5, 3), "nearest"), _w.input(1, 4, 3, 3)),
    # control flow
    "while_on_data": (lambda x: lax.while_loop(lambda s: jnp.sum(s * s) < 100.0, lambda s: s * 1.5, x), _w.input(4)),
    "switch": (lambda i, x: lax.switch(i, [lambda x: x, lambda x: x * 2, lambda x: -x], x), np.int32(2), _w.input(4)),
    "scan_with_counter": (lambda x: lax.scan(lambda c, v: (c + 1, v * c), 0, x)[1], _w.input(5, 3)),
    "map": (lambda x: lax.map(lambda v: jnp.tanh(v @ _square), x), _w.input(3, 8)),
    # convolutions and windows
    "vmapped_conv": (jax.vmap(lambda v: conv(v, _kernel)), _w.input(2, 1, 6, 6, 4)),
    "grouped_conv_nchw": (lambda x: lax.conv_general_dilated(x, _oihw, (1, 1), "SAME", feature_group_count=2,
                                                             dimension_numbers=_NCHW), _w.input(1, 4, 6, 6)),
    "conv_of_dilated_input": (lambda x: lax.conv_general_dilated(x, _kernel, (1, 1), ((1, 2), (2, 1)), lhs_dilation=(2, 3),
                                                                 dimension_numbers=_NHWC), _w.input(1, 4, 4, 4)),
    "depth_multiplier": (lambda x: conv(x, _depth, 2, groups=4), _w.input(1, 7, 7, 4)),
    "batch_group_conv": (lambda x: lax.conv_general_dilated(x, _batch, (1, 1), "VALID", batch_group_count=2,
                                                            dimension_numbers=_NHWC), _w.input(4, 6, 6, 3)),
    "conv_1d": (lambda x: lax.conv_general_dilated(x, _line, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")),
                _w.input(1, 9, 4)),
    "max_pool_nchw": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2),
                                                  ((0, 0), (0, 0), (1, 1), (1, 1))), _w.input(1, 2, 9, 9)),
    "sum_pool": (lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 1, 1, 1), "VALID"), _w.input(1, 5, 5, 2)),
    "min_pool_dilated": (lambda x: lax.reduce_window(x, jnp.inf, lax.min, (1, 2, 2, 1), (1, 1, 1, 1), "VALID",
                                                     window_dilation=(1, 2, 2, 1)), _w.input(1, 6, 6, 2)),
    # indexing
    "gather_of_lists": (lambda x: x[jnp.array([0, 2]), :, jnp.array([1, 0])], _w.input(3, 4, 2)),
    "scatter": (lambda x: x.at[jnp.array([0, 2])].set(1.0).at[jnp.array([0, 2, 0]), 1].add(2.0), _w.input(4, 3)),
    "dynamic_slice": (lambda i, x: lax.dynamic_slice(x, (i, 0), (2, 3)), np.int32(1), _w.input(5, 3)),
    "take_along_axis": (lambda x: jnp.take_along_axis(x, jnp.argsort(x, axis=-1), axis=-1), _w.input(3, 5)),
    "roll_flip_pad": (lambda x: jnp.pad(jnp.roll(jnp.flip(x, 0), 2, axis=1), ((1, 2), (0, 1)), mode="edge"), _w.input(3, 5)),
    "pad_reflect": (lambda x: jnp.pad(x, ((1, 2), (1, 1)), mode="reflect"), _w.input(4, 5)),
    "tile_and_repeat": (lambda x: jnp.repeat(jnp.tile(x, (2, 1)), 3, axis=1), _w.input(3, 5)),
    "triangles": (lambda x: jnp.tril(x, -1) + jnp.triu(x, 1), _w.input(5, 5)),
    # sums, order, products
    "cumulative": (lambda x: (lax.cumsum(x, axis=1, reverse=True), lax.cummax(x, axis=0), lax.cumprod(x, axis=1)),
                   _w.input(3, 5)),
    "extremes": (lambda x: (jnp.argmax(x, axis=1), x.max(0), jnp.argmin(x)), _w.input(4, 5)),
    "moments": (lambda x: (x.var(0), x.std(1), jnp.median(x, axis=1), jnp.linalg.norm(x, axis=1)), _w.input(4, 5)),
    "sorted": (lambda x: jnp.sort(x, axis=0)[::-1], _w.input(4, 5)),
    "einsum": (lambda x, y: jnp.einsum("abc,dcb->ad", x, y), _w.input(2, 3, 4), _w.input(5, 4, 3)),
    "rank_6": (lambda x: jax.nn.softmax(x.transpose(5, 0, 4, 1, 3, 2), axis=2), _w.input(2, 1, 3, 2, 2, 2)),
    "scalar": (lambda x: jnp.tanh(x) * 2 + 1, np.float32(0.3)),
    "fourier": (lambda x: jnp.abs(jnp.fft.rfft(x)), _w.input(4, 8)),
    # integers and booleans
    "integers": (lambda a, b: (a // b, a % b, jnp.bitwise_xor(a, b), a << 1, a >> 1), np.array([7, -7, 5], np.int32),
                 np.array([2, 2, -3], np.int32)),
    "bytes_of_an_image": (lambda x: (x.astype(jnp.float32) / 255.0 - 0.5) @ _dense,
                          _w.random.integers(0, 256, (3, 12)).astype(np.uint8)),
    "logic": (lambda x: jnp.where((x > 0) & (x < 1) | (x < -1), x, 0.0), _w.input(4, 5)),
    "mathematics": (lambda x: (jnp.sinh(x), jnp.arctan2(x, 2.0), jnp.log2(jnp.abs(x)), jnp.cbrt(x), x**3, jnp.abs(x) ** 2.5),
                    _w.input(7)),
}

SYMBOLIC: dict[str, tuple[Any, ...]] = {
    # shapes of letters, given when the program is read
    "mlp": (lambda x: jax.nn.relu(x @ _dense + _bias) @ _out, "b, 12", _w.input(5, 12)),
    "cnn": (lambda x: conv(x, _kernel).mean(axis=(1, 2)), "b, 8, 8, 4", _w.input(2, 8, 8, 4)),
    "attention": (lambda x: attention(x, 2, _square, _square, _square, _square), "b, t, 8", _w.input(2, 5, 8)),
}
