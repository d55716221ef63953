"""Networks in plain JAX, one function each, with weights of fixed seeds: what users export with `jax.export`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Network = tuple[Callable[..., Any], dict[str, np.ndarray]]

NETWORKS: dict[str, Callable[[], Network]] = {}
INTEGER_NETWORKS: dict[str, Callable[[], Network]] = {}


def network(build: Callable[[], Network]) -> Callable[[], Network]:
    """A network of floats, to be converted and compared with what JAX computes."""
    NETWORKS[build.__name__] = build
    return build


class Weights:
    """Arrays of a seeded generator, scaled by how many inputs they sum over."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def __call__(self, *shape: int, fan: int | None = None) -> np.ndarray:
        fan = int(np.prod(shape[:-1])) if fan is None else fan
        return (self.random.normal(size=shape) / np.sqrt(max(fan, 1))).astype(np.float32)

    def vector(self, size: int, around: float = 0.0) -> np.ndarray:
        return (around + 0.1 * self.random.normal(size=size)).astype(np.float32)

    def statistics(self, size: int) -> tuple[np.ndarray, ...]:
        """Mean, variance, gamma and beta of a batch normalization."""
        return self.vector(size), np.abs(self.vector(size, 1.0)), self.vector(size, 1.0), self.vector(size)

    def input(self, *shape: int) -> np.ndarray:
        return self.random.normal(size=shape).astype(np.float32)


def conv(x: Any, w: Any, stride: int = 1, padding: Any = "SAME", dilation: int = 1, groups: int = 1) -> Any:
    return lax.conv_general_dilated(
        x, w, (stride, stride), padding, rhs_dilation=(dilation, dilation), feature_group_count=groups,
        dimension_numbers=("NHWC", "HWIO", "NHWC"))


def layer_norm(x: Any, weight: Any, bias: Any, eps: float = 1e-5) -> Any:
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + eps) * weight + bias


def rms_norm(x: Any, weight: Any, eps: float = 1e-6) -> Any:
    return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def group_norm(x: Any, groups: int, weight: Any, bias: Any, eps: float = 1e-5) -> Any:
    n, h, w, c = x.shape
    y = x.reshape(n, h, w, groups, c // groups)
    mean = y.mean(axis=(1, 2, 4), keepdims=True)
    variance = y.var(axis=(1, 2, 4), keepdims=True)
    y = (y - mean) * lax.rsqrt(variance + eps)
    return y.reshape(n, h, w, c) * weight + bias


def batch_norm(x: Any, parameters: Any) -> Any:
    mean, variance, gamma, beta = parameters
    return (x - mean) * lax.rsqrt(variance + 1e-3) * gamma + beta


def attention(x: Any, heads: int, wq: Any, wk: Any, wv: Any, wo: Any, mask: Any = None, turn: Any = None) -> Any:
    b, t, d = x.shape
    q, k, v = (jnp.reshape(x @ w, (b, t, heads, d // heads)) for w in (wq, wk, wv))
    if turn is not None:
        q, k = turn(q), turn(k)
    scores = jnp.einsum("bthd,bshd->bhts", q, k) / np.sqrt(d // heads).astype(np.float32)
    if mask is not None:
        scores = jnp.where(mask, scores, jnp.finfo(scores.dtype).min)
    return jnp.reshape(jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores, axis=-1), v), (b, t, d)) @ wo


@network
def mlp() -> Network:
    w = Weights(0)
    w1, b1, w2, b2, w3, b3 = w(20, 32), w.vector(32), w(32, 24), w.vector(24), w(24, 10), w.vector(10)

    def forward(x: Any) -> Any:
        x = jax.nn.relu(x @ w1 + b1)
        x = jax.nn.gelu(x @ w2 + b2)
        return jax.nn.softmax(x @ w3 + b3)

    return forward, {"x": w.input(4, 20)}


@network
def cnn() -> Network:
    """Ordinary, depthwise, grouped and dilated convolutions, batch normalization, both poolings."""
    w = Weights(1)
    stem, depth, point, wide, grouped, head = (
        w(3, 3, 3, 16), w(3, 3, 1, 16, fan=9), w(1, 1, 16, 24), w(3, 3, 24, 24), w(3, 3, 12, 24), w(24, 10))
    bias, after_stem, after_depth = w.vector(10), w.statistics(16), w.statistics(16)

    def forward(x: Any) -> Any:
        x = jax.nn.relu6(batch_norm(conv(x, stem, stride=2), after_stem))
        x = jax.nn.relu(batch_norm(conv(x, depth, groups=16), after_depth))
        x = conv(x, point)
        x = jax.nn.leaky_relu(conv(x, wide, dilation=2), 0.1)
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
        x = jax.nn.relu(conv(x, grouped, groups=2, padding=((1, 0), (0, 1))))
        total = lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        count = lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        return jax.nn.log_softmax((total / count).mean(axis=(1, 2)) @ head + bias)

    return forward, {"image": w.input(2, 32, 24, 3)}


@network
def cnn_channels_first() -> Network:
    """NCHW with OIHW filters, as code that came from PyTorch has it; unequal strides and paddings, average pooling."""
    w = Weights(2)
    first, second = w(3, 5, 3, 12, fan=45).transpose(3, 2, 0, 1), w(2, 2, 12, 8).transpose(3, 2, 0, 1)
    bias = w.vector(12)

    def forward(x: Any) -> Any:
        numbers = ("NCHW", "OIHW", "NCHW")
        x = lax.conv_general_dilated(x, first, (2, 1), ((0, 2), (1, 3)), dimension_numbers=numbers) + bias[:, None, None]
        x = jax.nn.elu(x)
        x = lax.reduce_window(x, 0.0, lax.add, (1, 1, 2, 3), (1, 1, 2, 2), "VALID") / 6
        return jnp.tanh(lax.conv_general_dilated(x, second, (1, 1), "VALID", rhs_dilation=(2, 1), dimension_numbers=numbers))

    return forward, {"image": w.input(1, 3, 20, 18)}


@network
def transformer_encoder() -> Network:
    """Token and position embeddings, two pre-norm layers with attention and the exact GELU."""
    w = Weights(3)
    d, tokens = 32, 12
    table, positions = w.input(50, d), w.input(tokens, d)
    layers = [
        {"n1": (w.vector(d, 1.0), w.vector(d)), "n2": (w.vector(d, 1.0), w.vector(d)), "a": [w(d, d) for _ in range(4)],
         "w1": w(d, 64), "b1": w.vector(64), "w2": w(64, d), "b2": w.vector(d)} for _ in range(2)]

    def forward(ids: Any) -> Any:
        x = jnp.asarray(table)[ids] + positions
        for p in layers:
            x = x + attention(layer_norm(x, *p["n1"]), 4, *p["a"])
            x = x + jax.nn.gelu(layer_norm(x, *p["n2"]) @ p["w1"] + p["b1"], approximate=False) @ p["w2"] + p["b2"]
        return x

    return forward, {"ids": w.random.integers(0, 50, (2, tokens)).astype(np.int32)}


@network
def decoder_block() -> Network:
    """Causal attention with a mask from iota, rotary positions, RMSNorm, SwiGLU: a language model's layer and its logits."""
    w = Weights(4)
    d, t, heads = 32, 10, 4
    table, norm1, norm2, norm3 = w.input(40, d), w.vector(d, 1.0), w.vector(d, 1.0), w.vector(d, 1.0)
    projections = [w(d, d) for _ in range(4)]
    gate, up, down = w(d, 48), w(d, 48), w(48, d)

    def turn(x: Any) -> Any:
        half = x.shape[-1] // 2
        frequency = 1.0 / (10000.0 ** (jnp.arange(half, dtype=jnp.float32) / half))
        angle = jnp.arange(t, dtype=jnp.float32)[:, None] * frequency
        cos, sin = jnp.cos(angle)[None, :, None, :], jnp.sin(angle)[None, :, None, :]
        a, b = x[..., :half], x[..., half:]
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)

    def forward(ids: Any) -> Any:
        x = jnp.take(table, ids, axis=0)
        rows, columns = (lax.broadcasted_iota(jnp.int32, (t, t), axis) for axis in (0, 1))
        x = x + attention(rms_norm(x, norm1), heads, *projections, mask=rows >= columns, turn=turn)
        y = rms_norm(x, norm2)
        x = x + (jax.nn.silu(y @ gate) * (y @ up)) @ down
        return rms_norm(x, norm3) @ table.T

    return forward, {"ids": w.random.integers(0, 40, (2, t)).astype(np.int32)}


@network
def lstm() -> Network:
    w = Weights(5)
    n, size, steps = 3, 16, 7
    wx, wh, b, head = w(8, 4 * size), w(size, 4 * size), w.vector(4 * size), w(size, 5)

    def forward(x: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(x @ wx + h @ wh + b, 4, axis=-1)
            c = jax.nn.sigmoid(f + 1.0) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((n, size))
        (h, _), all_h = lax.scan(step, (zero, zero), jnp.swapaxes(x, 0, 1))
        return h @ head, jnp.swapaxes(all_h, 0, 1)

    return forward, {"x": w.input(n, steps, 8)}


@network
def gru() -> Network:
    """Both directions, one by a scan in reverse."""
    w = Weights(6)
    size, steps = 12, 6
    forth, back = ([w(6, 3 * size), w(size, 3 * size), w.vector(3 * size), w.vector(3 * size)] for _ in range(2))

    def run(x: Any, p: Any, reverse: bool) -> Any:
        wx, wh, bx, bh = p

        def step(h: Any, x: Any) -> Any:
            xr, xz, xn = jnp.split(x @ wx + bx, 3, axis=-1)
            hr, hz, hn = jnp.split(h @ wh + bh, 3, axis=-1)
            r, z = jax.nn.sigmoid(xr + hr), jax.nn.sigmoid(xz + hz)
            h = (1 - z) * jnp.tanh(xn + r * hn) + z * h
            return h, h

        return lax.scan(step, jnp.zeros((x.shape[1], size)), x, reverse=reverse)[1]

    def forward(x: Any) -> Any:
        x = jnp.swapaxes(x, 0, 1)
        return jnp.swapaxes(jnp.concatenate([run(x, forth, False), run(x, back, True)], axis=-1), 0, 1)

    return forward, {"x": w.input(2, steps, 6)}


@network
def unet_block() -> Network:
    """A diffusion U-Net in small: timestep embedding, group norm, down, middle attention, up by resizing, skip connection."""
    w = Weights(7)
    c = 16
    stem, down, up, out = w(3, 3, 3, c), w(3, 3, c, 2 * c), w(3, 3, 2 * c, c), w(3, 3, c, 3)
    time1, time2 = w(16, 32), w(32, c)
    block = {name: (w.vector(size, 1.0), w.vector(size)) for name, size in (("a", c), ("b", c), ("mid", 2 * c), ("last", c))}
    first, second, joined = w(3, 3, c, c), w(3, 3, c, c), w(1, 1, 2 * c, c)
    projections = [w(2 * c, 2 * c) for _ in range(4)]

    def embedding(t: Any) -> Any:
        frequency = jnp.exp(-np.log(10000.0) * jnp.arange(8, dtype=jnp.float32) / 8)
        angle = t[:, None] * frequency
        return jax.nn.silu(jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], axis=-1) @ time1) @ time2

    def forward(image: Any, timestep: Any) -> Any:
        n = image.shape[0]
        x = conv(image, stem)
        h = conv(jax.nn.silu(group_norm(x, 4, *block["a"])), first) + embedding(timestep)[:, None, None, :]
        skip = x + conv(jax.nn.silu(group_norm(h, 4, *block["b"])), second)
        x = conv(skip, down, stride=2, padding=((1, 1), (1, 1)))
        y = group_norm(x, 8, *block["mid"]).reshape(n, -1, 2 * c)
        x = x + attention(y, 2, *projections).reshape(x.shape)
        x = conv(jax.image.resize(x, (n, 16, 16, 2 * c), "nearest"), up)
        x = conv(jnp.concatenate([x, skip], axis=-1), joined)
        x = jax.nn.silu(group_norm(x, 4, *block["last"]))
        return jax.image.resize(conv(x, out), (n, 24, 24, 3), "bilinear")

    return forward, {"image": w.input(2, 16, 16, 3), "timestep": np.array([3.0, 700.0], np.float32)}


@network
def vision_transformer() -> Network:
    """Patches by reshapes and transposes, a class token, one layer with the GELU by tanh."""
    w = Weights(8)
    d, patch = 24, 4
    project, token, positions = w(patch * patch * 3, d), w.input(1, 1, d), w.input(1, 17, d)
    norms = [(w.vector(d, 1.0), w.vector(d)) for _ in range(3)]
    projections, w1, w2, head = [w(d, d) for _ in range(4)], w(d, 48), w(48, d), w(d, 10)

    def forward(image: Any) -> Any:
        n = image.shape[0]
        x = image.reshape(n, 4, patch, 4, patch, 3).transpose(0, 1, 3, 2, 4, 5).reshape(n, 16, -1) @ project
        x = jnp.concatenate([jnp.broadcast_to(token, (n, 1, d)), x], axis=1) + positions
        x = x + attention(layer_norm(x, *norms[0], 1e-6), 3, *projections)
        x = x + jax.nn.gelu(layer_norm(x, *norms[1], 1e-6) @ w1, approximate=True) @ w2
        return layer_norm(x, *norms[2], 1e-6)[:, 0] @ head

    return forward, {"image": w.input(2, 16, 16, 3)}


@network
def mobilenet_block() -> Network:
    """Inverted residuals with hard swish, squeeze and excite with hard sigmoid."""
    w = Weights(9)
    expand, depth, project = w(1, 1, 8, 32), w(5, 5, 1, 32, fan=25), w(1, 1, 32, 8)
    squeeze, excite, bs, be = w(32, 8), w(8, 32), w.vector(8), w.vector(32)
    first, second, third = w.statistics(32), w.statistics(32), w.statistics(8)

    def forward(x: Any) -> Any:
        y = jax.nn.hard_swish(batch_norm(conv(x, expand), first))
        y = jax.nn.hard_swish(batch_norm(conv(y, depth, groups=32), second))
        s = y.mean(axis=(1, 2), keepdims=True)
        s = jax.nn.hard_sigmoid(jax.nn.relu(s @ squeeze + bs) @ excite + be)
        return x + batch_norm(conv(y * s, project), third)

    return forward, {"x": w.input(1, 14, 14, 8)}


@network
def convnext_block() -> Network:
    w = Weights(10)
    c = 16
    depth, w1, b1, w2, b2 = w(7, 7, 1, c, fan=49), w(c, 4 * c), w.vector(4 * c), w(4 * c, c), w.vector(c)
    weight, bias, scale = w.vector(c, 1.0), w.vector(c), w.vector(c)

    def forward(x: Any) -> Any:
        y = layer_norm(conv(x, depth, groups=c), weight, bias, 1e-6)
        return x + scale * (jax.nn.gelu(y @ w1 + b1, approximate=False) @ w2 + b2)

    return forward, {"x": w.input(1, 14, 12, c)}


@network
def mixture_of_experts() -> Network:
    """Each token goes to its two best experts; their results are weighed by a softmax of the two scores."""
    w = Weights(11)
    d, experts = 12, 4
    router, w1, w2 = w(d, experts), w(experts, d, 20, fan=d), w(experts, 20, d, fan=20)

    def forward(x: Any) -> Any:
        best, chosen = lax.top_k(x @ router, 2)
        gates = jnp.einsum("tk,tke->te", jax.nn.softmax(best), jax.nn.one_hot(chosen, experts))
        y = jnp.einsum("etf,efd->etd", jax.nn.relu(jnp.einsum("td,edf->etf", x, w1)), w2)
        return jnp.einsum("te,etd->td", gates, y)

    return forward, {"x": w.input(9, d)}


@network
def transposed_decoder() -> Network:
    """Transposed convolutions with stride 2, as generators and segmentation decoders have them."""
    w = Weights(12)
    dense, first, second, third = w(10, 4 * 4 * 16), w(4, 4, 16, 12), w(3, 3, 12, 8), w(5, 5, 8, 3)

    def up(x: Any, f: Any, padding: Any) -> Any:
        return lax.conv_transpose(x, f, (2, 2), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def forward(z: Any) -> Any:
        x = jax.nn.elu(z @ dense).reshape(-1, 4, 4, 16)
        x = jax.nn.selu(up(x, first, "SAME"))
        x = jax.nn.leaky_relu(up(x, second, "VALID"))
        return jnp.tanh(up(x, third, "SAME"))

    return forward, {"z": w.input(2, 10)}


@network
def greedy_decoder() -> Network:
    """Six steps of a recurrent decoder, each fed with the token of greatest logit, written into a buffer."""
    w = Weights(13)
    words, d = 11, 16
    table, wh, out = w.input(words, d), w(2 * d, d), w(d, words)

    def forward(start: Any) -> Any:
        def step(i: Any, state: Any) -> Any:
            h, token, tokens = state
            h = jnp.tanh(jnp.concatenate([h, jnp.asarray(table)[token]], axis=-1) @ wh)
            token = jnp.argmax(h @ out, axis=-1).astype(jnp.int32)
            return h, token, lax.dynamic_update_slice(tokens, token[:, None], (0, i))

        n = start.shape[0]
        first = jnp.zeros((n,), jnp.int32)
        h, _, tokens = lax.fori_loop(0, 6, step, (start, first, jnp.zeros((n, 6), jnp.int32)))
        return h, tokens

    return forward, {"start": w.input(3, d)}


@network
def activations() -> Network:
    """Every activation of `jax.nn`, side by side."""
    functions = [
        jax.nn.relu, jax.nn.relu6, jax.nn.sigmoid, jax.nn.softplus, jax.nn.soft_sign, jax.nn.silu, jax.nn.log_sigmoid,
        jax.nn.leaky_relu, jax.nn.hard_sigmoid, jax.nn.hard_swish, jax.nn.hard_tanh, jax.nn.elu, jax.nn.celu, jax.nn.selu,
        jax.nn.gelu, lambda x: jax.nn.gelu(x, approximate=False), jax.nn.mish, jax.nn.squareplus, jax.nn.swish, jnp.tanh,
        jax.nn.softmax, jax.nn.log_softmax, jax.nn.standardize, jax.nn.glu, lax.erf, jnp.expm1, jnp.log1p,
        lambda x: jax.nn.softmax(x, axis=0), lambda x: jax.nn.logsumexp(x, axis=1, keepdims=True)]

    def forward(x: Any) -> Any:
        return tuple(f(jnp.abs(x) if f is jnp.log1p else x) for f in functions)

    return forward, {"x": 3 * Weights(14).input(4, 10)}


@network
def flax_block() -> Network:
    """Normalizations as flax writes them: fast variance, group statistics repeated for each channel, weight before x."""
    w = Weights(19)
    c, groups = 12, 3
    weight, bias, filters, scale = w.vector(c, 1.0), w.vector(c), w(3, 3, c, c), w.vector(c, 1.0)

    def statistics(x: Any, axes: tuple[int, ...]) -> Any:
        mean, squares = x.mean(axes), (x * x).mean(axes)
        return mean, jnp.maximum(0.0, squares - mean * mean)

    def normalize(x: Any, mean: Any, variance: Any) -> Any:
        return (x - mean) * (lax.rsqrt(variance + 1e-6) * weight) + bias

    def forward(x: Any) -> Any:
        n, h, width, _ = x.shape
        of_groups = statistics(x.reshape(n, h, width, groups, c // groups), (1, 2, 4))
        y = normalize(x, *(jnp.repeat(s, c // groups, axis=-1).reshape(n, 1, 1, c) for s in of_groups))
        y = conv(jax.nn.swish(y), filters)
        y = normalize(y, *(jnp.expand_dims(s, -1) for s in statistics(y, (-1,))))
        mean_square = jnp.mean(lax.square(y), axis=-1, keepdims=True)
        y = y * lax.rsqrt(mean_square + 1e-6) * scale
        tokens = y.reshape(n, h * width, 2, c // 2)
        return jax.nn.dot_product_attention(tokens, tokens, tokens, is_causal=True), jax.nn.logsumexp(y, axis=-1)

    return forward, {"x": w.input(2, 4, 5, c)}


@network
def embeddings() -> Network:
    """Two towers, L2-normalized, and the logarithm of the softmax of their similarities."""
    w = Weights(15)
    left, right = w(12, 16), w(20, 16)

    def forward(a: Any, b: Any) -> Any:
        a, b = a @ left, b @ right
        a = a / jnp.linalg.norm(a, axis=-1, keepdims=True)
        b = b * lax.rsqrt(jnp.maximum(jnp.sum(b * b, axis=-1, keepdims=True), 1e-12))
        scores = a @ b.T / 0.07
        return scores - jax.nn.logsumexp(scores, axis=-1, keepdims=True)

    return forward, {"a": w.input(5, 12), "b": w.input(6, 20)}


@network
def conditional() -> Network:
    """Control flow: a `cond` on the input, a `while_loop` with a bound, sorting and cumulative sums."""
    w = Weights(16)
    m = w(8, 8)

    def forward(x: Any) -> Any:
        y = lax.cond(x.sum() > 0, lambda x: x @ m, lambda x: x - 1.0, x)
        z = lax.fori_loop(0, 3, lambda i, v: jnp.tanh(v @ m) + v, y)
        return jnp.sort(z, axis=-1), jnp.cumsum(z, axis=0), jnp.argsort(z, axis=-1)[:, :2]

    return forward, {"x": w.input(4, 8)}


@network
def volumes() -> Network:
    """Convolutions and pooling in one and in three dimensions."""
    w = Weights(17)
    line, cube, mix = w(5, 4, 6), w(3, 3, 3, 2, 4), w(6, 4)

    def forward(signal: Any, volume: Any) -> Any:
        s = lax.conv_general_dilated(signal, line, (2,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))
        v = lax.conv_general_dilated(volume, cube, (1, 2, 1), "VALID", dimension_numbers=("NDHWC", "DHWIO", "NDHWC"))
        v = lax.reduce_window(jax.nn.relu(v), -jnp.inf, lax.max, (1, 2, 2, 2, 1), (1, 2, 2, 2, 1), "VALID")
        return jax.nn.sigmoid(s @ mix).sum(axis=1) + v.mean(axis=(1, 2, 3))

    return forward, {"signal": w.input(2, 17, 4), "volume": w.input(2, 8, 9, 6, 2)}


def quantized_convolution() -> Network:
    """An int8 convolution with its requantization in integers, as deployed arithmetic is written by hand."""
    w = Weights(18)
    filters = w.random.integers(-127, 128, (3, 3, 4, 8)).astype(np.int8)
    bias = w.random.integers(-500, 500, 8).astype(np.int32)

    def forward(x: Any) -> Any:
        total = lax.conv_general_dilated(
            x, filters, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), preferred_element_type=jnp.int32)
        scaled = jnp.right_shift(jnp.clip(total + bias, -(1 << 18), 1 << 18) * 77 + (1 << 15), 16)
        return jnp.clip(scaled, 0, 127).astype(jnp.int8)

    return forward, {"x": w.random.integers(-128, 128, (1, 8, 8, 4)).astype(np.int8)}


INTEGER_NETWORKS["quantized_convolution"] = quantized_convolution
