"""Makes the programs of this folder: small JAX functions, exported as StableHLO, with inputs and what JAX computes.

Needs jax, which the tests do not: `python make_programs.py` writes `programs/*.mlir` (generic form) and `programs.npz`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
RNG = np.random.default_rng(0)
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}


def add(name: str, function: Callable[..., Any], *inputs: Any) -> None:
    PROGRAMS[name] = (function, inputs)


def f(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def positive(*shape: int) -> np.ndarray:
    return (np.abs(RNG.normal(size=shape)) + 0.1).astype(np.float32)


def i(*shape: int, low: int = 0, high: int = 5, dtype: Any = np.int32) -> np.ndarray:
    return RNG.integers(low, high, shape).astype(dtype)


def elementwise(jnp: Any, lax: Any, nn: Any, jax: Any) -> None:
    for name in ("expm1", "cbrt", "round", "sinc", "arcsinh"):
        add(f"jnp_{name}", getattr(jnp, name), f(3, 5) * 0.4)
    for name in ("power", "arctan2", "remainder", "copysign"):
        add(f"jnp2_{name}", getattr(jnp, name), positive(4, 1, 3), positive(5, 3))
    for name in ("floor_divide", "right_shift", "gcd"):
        add(f"jnpi_{name}", getattr(jnp, name), i(6, low=1, high=30), i(6, low=1))
    add("bitcount", jnp.bitwise_count, i(8, high=1000))
    add("clz", lax.clz, i(8, high=100000))
    flags = i(6, high=2).astype(bool), i(6, high=2).astype(bool)
    add("logical", lambda a, b: (jnp.logical_and(a, b), jnp.logical_or(a, b), jnp.logical_xor(a, b), ~a), *flags)
    for name in ("elu", "gelu", "softplus", "log_softmax"):
        add(f"nn_{name}", getattr(nn, name), f(3, 6) * 3)
    add("gelu_exact", lambda x: nn.gelu(x, approximate=False), f(3, 6))
    add("erf_inv", lax.erf_inv, f(3, 6) * 0.2)
    add("lgamma", lax.lgamma, positive(5))
    add("cast_u8", lambda x: x.astype(jnp.uint8), positive(5) * 50)
    add("i8_q", lambda x: jnp.clip(jnp.round(x / 0.1), -128, 127).astype(jnp.int8), f(3, 4) * 20)
    add("reduce_precision", lambda x: lax.reduce_precision(x, 5, 4), f(9))
    add("complexmul", lambda a, b: jnp.real((a + 1j * b) * (b - 2j * a)), f(4), f(4))
    add("angle", lambda a, b: jnp.angle(a + 1j * b), f(4), f(4))
    add("packbits", jnp.packbits, i(16, high=2, dtype=np.uint8))
    add("unpackbits", jnp.unpackbits, i(3, high=200, dtype=np.uint8))
    add("random_const", lambda x: x + jax.random.normal(jax.random.key(0), (3, 4)), f(3, 4))
    key = np.array([0, 7], np.uint32)
    add("dropout", lambda x, k: jnp.where(jax.random.bernoulli(k, 0.5, x.shape), x * 2, 0), f(3, 4), key)


def reductions(jnp: Any, lax: Any, nn: Any, jax: Any) -> None:
    for name in ("var", "median", "nanmean"):
        add(f"red_{name}", lambda x, name=name: getattr(jnp, name)(x, axis=1), f(3, 5, 4))
    add("redall_argmax", jnp.argmax, f(3, 5))
    add("nanargmax", lambda x: jnp.nanargmax(x, axis=-1), f(4, 7))
    add("logsumexp", lambda x: jax.scipy.special.logsumexp(x, axis=-1, keepdims=True), f(3, 6))
    add("histogram", lambda x: jnp.histogram(x, bins=5, range=(-2, 2))[0], f(20))
    add("bincount", lambda x: jnp.bincount(x, length=6), i(12, high=6))
    add("lax_cumsum", lambda x: lax.cumsum(x, axis=1), f(3, 9))
    add("laxr_cummax", lambda x: lax.cummax(x, axis=0, reverse=True), f(6, 3))
    add("lax_cumlogsumexp", lambda x: lax.cumlogsumexp(x, axis=1), f(3, 9))
    add("assoc_scan", lambda x: lax.associative_scan(jnp.multiply, x), f(7, 2))
    add("ema", lambda x: lax.associative_scan(
        lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (jnp.full_like(x, 0.9), x * 0.1)), f(9, 2))


def movement(jnp: Any, lax: Any, nn: Any, jax: Any) -> None:
    add("repeatv", lambda x: jnp.repeat(x, jnp.array([1, 0, 2]), axis=1, total_repeat_length=3), f(2, 3))
    add("roll_dyn", lambda x, n: jnp.roll(x, n, 1), f(2, 5), np.int32(3))
    for mode in ("reflect", "edge"):
        add(f"pad_{mode}", lambda x, mode=mode: jnp.pad(x, ((1, 2), (0, 3)), mode=mode), f(4, 5))
    add("diag", jnp.diag, f(4, 4))
    add("kron", jnp.kron, f(2, 3), f(3, 2))
    add("pixelshuffle", lambda x: x.reshape(1, 3, 3, 2, 2, 4).transpose(0, 1, 3, 2, 4, 5).reshape(1, 6, 6, 4), f(1, 3, 3, 16))
    add("unravel", lambda k: jnp.unravel_index(k, (3, 4)), i(5, high=12))


def indexing(jnp: Any, lax: Any, nn: Any, jax: Any) -> None:
    add("idx_neg", lambda x: x[::-1, -2], f(4, 5))
    add("idx_arr2", lambda x, k: x[:, k], f(3, 7), i(2, 4, high=7))
    add("idx_mix", lambda x, k, n: x[k, :, n], f(5, 3, 6), i(4), i(4))
    add("take_fill", lambda x, k: jnp.take(x, k, axis=1, mode="fill", fill_value=0.0), f(3, 7), i(2, 2, low=-3, high=12))
    add("take_along", lambda x, k: jnp.take_along_axis(x, k, axis=1), f(3, 7), i(3, 2, high=7))
    places = np.array([1, 4, 1], np.int32)
    add("at_set", lambda x, k, v: x.at[k].set(v), f(7, 3), places[:2], f(2, 3))
    add("at_set_s", lambda x, v: x.at[1:3, 2].set(v), f(5, 3), f(2))
    add("at_max", lambda x, k, v: x.at[:, k].max(v), f(3, 7), places, f(3, 3))
    add("at_oob", lambda x, k, v: x.at[k].add(v), f(7, 3), np.array([1, 9, -1], np.int32), f(3, 3))
    add("dynslice", lambda x, k: lax.dynamic_slice(x, (k, 1), (2, 3)), f(5, 6), np.int32(4))
    add("dynupdate1", lambda x, u, k: lax.dynamic_update_slice(x, u, (0, k, 0)), f(2, 6, 4), f(2, 1, 4), np.int32(3))
    add("kvcache", lambda c, k, t: lax.dynamic_update_slice(c, k, (0, t, 0, 0)), f(1, 8, 2, 4), f(1, 1, 2, 4), np.int32(5))
    add("segment_sum", lambda x, k: jax.ops.segment_sum(x, k, 4), f(7, 3), i(7, high=4))
    add("segment_max", lambda x, k: jax.ops.segment_max(x, k, 4), f(7, 3), np.array([0, 1, 2, 3, 3, 2, 1], np.int32))
    add("vmap_dynslice", jax.vmap(lambda x, k: lax.dynamic_slice(x, (k,), (3,))), f(4, 7), i(4, high=7))
    add("vmap_dynupd", jax.vmap(lambda x, u, k: lax.dynamic_update_slice(x, u, (k,))), f(4, 7), f(4, 2), i(4))
    add("vmap_set", jax.vmap(lambda x, k, v: x.at[k].set(v)), f(4, 7), i(4, high=7), f(4))
    add("searchsorted", jnp.searchsorted, np.sort(f(9)), f(5))
    add("map_coordinates", lambda x, c: jax.scipy.ndimage.map_coordinates(x, [c[0], c[1]], order=1), f(5, 6), positive(2, 7))


def ordering(jnp: Any, lax: Any, nn: Any, jax: Any) -> None:
    add("sortd", lambda x: jnp.sort(x, axis=1, descending=True), f(3, 9))
    add("argsort", lambda x: jnp.argsort(x, axis=0), f(9, 3))
    add("lexsort", lambda a, b: jnp.lexsort((a, b)), i(12, high=3), i(12, high=3))
    add("sort2", lambda a, b: lax.sort((a, b), num_keys=2), i(12, high=3), f(12))
    add("topk", lambda x: lax.top_k(x, 3), f(3, 9))
    add("approx_topk", lambda x: lax.approx_max_k(x, 3), f(3, 9))
    add("unique", lambda x: jnp.unique(x, size=4, fill_value=0), i(9))


def products(jnp: Any, lax: Any, nn: Any, jax: Any) -> None:
    add("tensordot", lambda a, b: jnp.tensordot(a, b, ((1, 2), (0, 2))), f(2, 3, 4), f(3, 5, 4))
    add("matmul_b", jnp.matmul, f(2, 1, 3, 4), f(5, 4, 6))
    add("einsum1", lambda a, b: jnp.einsum("bthd,bshd->bhts", a, b), f(2, 3, 2, 4), f(2, 5, 2, 4))
    add("einsum6", lambda a, b, c: jnp.einsum("abc,cd,d->ab", a, b, c), f(2, 3, 4), f(4, 5), f(5))
    small = i(3, 4, low=-9, high=9, dtype=np.int8), i(4, 5, low=-9, high=9, dtype=np.int8)
    add("matmul_i8", lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32), *small)
    add("matmul_i32", jnp.matmul, i(3, 4), i(4, 5))
    add("matmul_bf16", lambda a, b: jnp.matmul(
        a.astype(jnp.bfloat16), b.astype(jnp.bfloat16), preferred_element_type=jnp.float32), f(3, 4), f(4, 5))
    well = 3 * np.eye(4, dtype=np.float32)
    add("solve", jnp.linalg.solve, f(4, 4) + well, f(4, 2))
    add("cholesky", lambda a: jnp.linalg.cholesky(a @ a.T + 4 * jnp.eye(4)), f(4, 4))
    add("trisolve", lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True), np.tril(f(4, 4)) + well, f(4, 2))
    add("nms_iou", lambda a, b: jnp.maximum(0, jnp.minimum(a[:, None, 2:], b[None, :, 2:]) - jnp.maximum(
        a[:, None, :2], b[None, :, :2])).prod(-1), f(5, 4), f(4, 4))
    add("patch_embed", lambda x, w: jnp.einsum("bhwc,cd->bhwd", x.reshape(1, 2, 4, 2, 4, 3).transpose(
        0, 1, 3, 2, 4, 5).reshape(1, 2, 2, 48), w), f(1, 8, 8, 3), f(48, 6))


def windows(jnp: Any, lax: Any, nn: Any, jax: Any) -> None:
    last = ("NHWC", "HWIO", "NHWC")

    def convolve(name: str, x: Any, w: Any, **how: Any) -> None:
        add(name, lambda x, w: lax.conv_general_dilated(x, w, **how), x, w)

    convolve("conv_nchw", f(2, 3, 8, 8), f(5, 3, 3, 2), window_strides=(1, 2), padding=((1, 0), (2, 1)))
    convolve("conv_dil", f(1, 9, 12, 3), f(3, 3, 3, 5), window_strides=(1, 1), padding="VALID", rhs_dilation=(2, 3),
             dimension_numbers=last)
    convolve("conv_dw2", f(1, 8, 8, 3), f(3, 3, 1, 6), window_strides=(2, 2), padding="SAME", feature_group_count=3,
             dimension_numbers=last)
    convolve("conv_grp", f(1, 8, 8, 6), f(3, 3, 3, 4), window_strides=(1, 1), padding="SAME", feature_group_count=2,
             dimension_numbers=last)
    convolve("conv1d", f(2, 9, 3), f(4, 3, 5), window_strides=(2,), padding="SAME", dimension_numbers=("NWC", "WIO", "NWC"))
    convolve("conv3d", f(1, 4, 5, 6, 2), f(2, 3, 3, 2, 3), window_strides=(1, 2, 1), padding="SAME",
             dimension_numbers=("NDHWC", "DHWIO", "NDHWC"))
    add("conv_t", lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), f(1, 5, 5, 3), f(3, 3, 3, 4))
    add("conv_tv", lambda x, w: lax.conv_transpose(x, w, (2, 3), "VALID"), f(1, 5, 5, 3), f(3, 4, 3, 4))
    add("conv_tk", lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME", transpose_kernel=True), f(1, 5, 5, 3), f(3, 3, 4, 3))

    def squared(x: Any, w: Any, strides: Any = (1, 1), groups: int = 1) -> Any:
        made = lax.conv_general_dilated(x, w, strides, "SAME", feature_group_count=groups, dimension_numbers=last)
        return (made * made).sum()

    add("convgrad", lambda x, w: jax.grad(squared, 1)(x, w), f(2, 6, 6, 2), f(3, 3, 2, 3))
    add("convgradx", lambda x, w: jax.grad(squared)(x, w, (2, 2)), f(2, 6, 6, 2), f(3, 3, 2, 3))
    add("dwgrad", lambda x, w: jax.grad(squared, 1)(x, w, (1, 1), 4), f(2, 6, 6, 4), f(3, 3, 1, 4))
    add("np_convolve", lambda a, b: jnp.convolve(a, b, "same"), f(12), f(5))

    def pool(op: Any, init: Any, window: Any, strides: Any, padding: str, **how: Any) -> Callable[[Any], Any]:
        return lambda x: lax.reduce_window(x, init, op, window, strides, padding, **how)

    three, two = (1, 3, 3, 1), (1, 2, 2, 1)
    summed = pool(lax.add, 0.0, three, two, "SAME")
    add("maxpool_same", pool(lax.max, -jnp.inf, three, two, "SAME"), f(1, 9, 8, 3))
    add("minpool", pool(lax.min, jnp.inf, three, two, "SAME"), f(1, 9, 8, 3))
    add("avgpool_cnt", lambda x: summed(x) / summed(jnp.ones_like(x)), f(2, 9, 8, 3))
    add("avgpool_nchw", lambda x: pool(lax.add, 0.0, (1, 1, 3, 3), (1, 1, 2, 2), "SAME")(x) / 9, f(1, 3, 9, 8))
    add("maxpool_dil", pool(lax.max, -jnp.inf, three, (1, 1, 1, 1), "SAME", window_dilation=two), f(1, 9, 8, 3))
    add("pool2d_odd", pool(lax.add, 0.0, (2, 3), (1, 1), "VALID"), f(5, 6))
    add("prodpool", pool(lax.mul, 1.0, (2, 3), (1, 1), "VALID"), f(5, 6))
    add("maxpoolgrad", jax.grad(lambda x: (pool(lax.max, -jnp.inf, two, two, "VALID")(x) ** 2).sum()), f(1, 8, 8, 3))
    add("avgpoolgrad", jax.grad(lambda x: (summed(x) ** 2).sum()), f(1, 8, 8, 3))
    add("maxpool_i32", pool(lax.max, np.int32(-(2**31)), two, two, "VALID"), i(1, 4, 4, 2, low=-100, high=100))
    add("resize_bicubic", lambda x: jax.image.resize(x, (1, 10, 14, 2), "bicubic"), f(1, 5, 7, 2))
    add("resized_bilinear", lambda x: jax.image.resize(x, (1, 3, 4, 2), "bilinear"), f(1, 6, 8, 2))
    add("fft_roundtrip", lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * 2.0), f(3, 16))
    add("fft2", lambda x: jnp.abs(jnp.fft.fft2(x)), f(6, 8))
    add("stft", lambda x: jnp.abs(jax.scipy.signal.stft(x, nperseg=16)[2]), f(64))


def networks(jnp: Any, lax: Any, nn: Any, jax: Any) -> None:
    def layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gamma + beta

    def group_norm(x: Any) -> Any:
        grouped = x.reshape(2, 16, 2, 3).transpose(0, 2, 1, 3).reshape(2, 2, -1)
        return layer_norm(grouped, 1.0, 0.0).reshape(2, 2, 16, 3).transpose(0, 2, 1, 3).reshape(2, 4, 4, 6)

    def rotary(x: Any) -> Any:
        angle = jnp.arange(x.shape[1])[:, None] * (10000.0 ** (-jnp.arange(0, 4) / 4))
        cosine, sine, a, b = jnp.cos(angle), jnp.sin(angle), x[..., :4], x[..., 4:]
        return jnp.concatenate([a * cosine - b * sine, a * sine + b * cosine], -1)

    def lstm(x: Any, w: Any, u: Any, b: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            h, c = state
            gates = jnp.split(x @ w + h @ u + b, 4, -1)
            c = nn.sigmoid(gates[1]) * c + nn.sigmoid(gates[0]) * jnp.tanh(gates[2])
            h = nn.sigmoid(gates[3]) * jnp.tanh(c)
            return (h, c), h

        return lax.scan(step, (jnp.zeros((2, 4)), jnp.zeros((2, 4))), x)

    add("layernorm", layer_norm, f(2, 3, 8), f(8), f(8))
    add("batchnorm", lambda x, m, v, g, b: (x - m) / jnp.sqrt(v + 1e-5) * g + b, f(2, 4, 4, 3), f(3), positive(3), f(3), f(3))
    add("groupnorm", group_norm, f(2, 4, 4, 6))
    heads = f(1, 5, 2, 4), f(1, 5, 2, 4), f(1, 5, 2, 4)
    add("attention_causal", lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True), *heads)
    add("gqa", nn.dot_product_attention, f(1, 5, 4, 4), *heads[1:])
    add("rope", rotary, f(2, 5, 8))
    add("lstm", lstm, f(6, 2, 3), f(3, 16), f(4, 16), f(16))
    add("cond", lambda p, x: lax.cond(p > 0, lambda x: x * 2, lambda x: -x, x), np.float32(1), f(3))
    add("switch", lambda k, x: lax.switch(k, [lambda x: x * 2, lambda x: -x, jnp.sin], x), np.int32(1), f(3))
    add("fori_dyn", lambda n, x: lax.fori_loop(0, n, lambda k, a: a * 1.1 + 1, x), np.int32(4), f(3))
    add("fori_nested", lambda x: lax.fori_loop(
        0, 3, lambda k, a: lax.fori_loop(0, 2, lambda j, b: b + j * k, a), x), f(3))
    add("while", lambda x: lax.while_loop(lambda s: s.sum() < 100, lambda s: s * 2, x), positive(3))
    add("scan_rev", lambda x: lax.scan(lambda c, x: (c + x, c * x), jnp.zeros(3), x, reverse=True), f(6, 3))
    add("map", lambda x: lax.map(lambda row: jnp.sin(row).sum(), x), f(4, 3))
    add("sgd", lambda w, x, y: w - 0.1 * jax.grad(lambda w: -(nn.log_softmax(x @ w) * y).sum())(w), f(4, 3), f(5, 4), f(5, 3))
    add("hessian", lambda x: jax.hessian(lambda x: (jnp.sin(x) ** 2).sum())(x), f(3))


def main() -> None:
    import jax
    import jax.export
    import jax.numpy as jnp
    from jax import lax, nn

    import transload

    for family in (elementwise, reductions, movement, indexing, ordering, products, windows, networks):
        family(jnp, lax, nn, jax)
    folder = HERE / "programs"
    folder.mkdir(exist_ok=True)
    data: dict[str, np.ndarray] = {}
    for name, (function, inputs) in PROGRAMS.items():
        text = jax.export.export(jax.jit(function))(*inputs).mlir_module()
        text = re.sub(r", sdy\.sharding_rule = #sdy\.op_sharding_rule<.*?custom>", "", text)
        module = transload.load(text=text, format="stablehlo")
        module.attributes.clear()
        for op in module.walk():
            for key in [key for key in op.attributes if key.startswith(("arg_attrs", "res_attrs", "mhlo.frontend"))]:
                del op.attributes[key]
        (folder / f"{name}.mlir").write_text(transload.text.print_module(module, locations=False))
        for index, array in enumerate(inputs):
            data[f"{name}/in{index}"] = np.asarray(array)
        for index, array in enumerate(jax.tree.leaves(jax.jit(function)(*inputs))):
            data[f"{name}/out{index}"] = np.asarray(array)
    np.savez_compressed(HERE / "programs.npz", **data)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
