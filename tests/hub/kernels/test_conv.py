"""Conv and Deconv against onnxruntime, in every rank, layout and geometry."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

# sizes, kernel, strides, pads (begins, ends), dilations
GEOMETRIES = [
    ((9,), (3,), (1,), (0, 0), (1,)),
    ((10,), (4,), (3,), (2, 1), (2,)),
    ((8, 9), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
    ((8, 9), (1, 1), (1, 1), (0, 0, 0, 0), (1, 1)),
    ((8, 9), (1, 1), (2, 3), (0, 0, 0, 0), (1, 1)),
    ((11, 7), (3, 2), (2, 1), (0, 2, 1, 0), (2, 3)),
    ((5, 6, 4), (2, 3, 1), (1, 2, 1), (1, 0, 0, 1, 1, 0), (1, 2, 1)),
]
# input channels, output channels, groups
CHANNELS = [(3, 4, 1), (4, 6, 2), (4, 4, 4), (3, 6, 3), (1, 5, 1)]


def to_last(x):
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


def to_second(x):
    return np.moveaxis(x, -1, 1)


@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_conv(run_op, onnx_op, near, rng, geometry, channels):
    sizes, kernel, strides, pads, dilations = geometry
    inputs, outputs, group = channels
    x = rng.standard_normal((2, inputs, *sizes)).astype(np.float32)
    w = rng.standard_normal((outputs, inputs // group, *kernel)).astype(np.float32)
    b = rng.standard_normal(outputs).astype(np.float32)
    expected = onnx_op(
        "Conv", x, w, b, kernel_shape=kernel, strides=strides, pads=pads, dilations=dilations, group=group)
    attributes = {"kernel_shape": kernel, "strides": strides, "pads": pads, "dilations": dilations, "group": group}
    near(run_op("Conv", x, w, b, **attributes), expected)
    near(to_second(run_op("Conv", to_last(x), to_last(w), b, layout="NHWC", **attributes)), expected)
    relu = run_op("Conv", x, w, None, do_relu=True, relu_limit=1.5, **attributes)
    near(relu, np.clip(expected - b.reshape(1, -1, *(1,) * len(sizes)), 0, 1.5))


@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize(("sizes", "kernel", "strides", "pads", "dilations", "extra"), [
    ((6,), (3,), (2,), (1, 0), (1,), (1,)),
    ((5, 4), (3, 3), (1, 1), (0, 0, 0, 0), (1, 1), (0, 0)),
    ((5, 4), (3, 2), (2, 3), (1, 0, 1, 1), (2, 1), (1, 0)),
    ((2, 3, 2), (2, 2, 3), (2, 1, 2), (0, 1, 0, 1, 0, 1), (1, 1, 1), (0, 0, 1)),
])
def test_deconv(run_op, onnx_op, near, rng, sizes, kernel, strides, pads, dilations, extra, channels):
    inputs, outputs, group = channels
    x = rng.standard_normal((2, inputs, *sizes)).astype(np.float32)
    w = rng.standard_normal((inputs, outputs // group, *kernel)).astype(np.float32)
    b = rng.standard_normal(outputs).astype(np.float32)
    expected = onnx_op(
        "ConvTranspose", x, w, b, kernel_shape=kernel, strides=strides, pads=pads, dilations=dilations, group=group,
        output_padding=extra)
    attributes = {
        "kernel_shape": kernel, "strides": strides, "pads": pads, "dilations": dilations, "group": group, "output_padding": extra}
    near(run_op("Deconv", x, w, b, **attributes), expected)
    last = run_op("Deconv", to_last(x), np.ascontiguousarray(np.moveaxis(w, 0, -1)), b, layout="NHWC", **attributes)
    near(to_second(last), expected)


def test_blocks_of_windows_give_the_same(run_op, rng, monkeypatch):
    """The matrix of windows is made in parts where it is large."""
    from transload_hub.kernels import conv

    x = rng.standard_normal((3, 4, 12, 10)).astype(np.float32)
    w = rng.standard_normal((5, 4, 3, 3)).astype(np.float32)
    whole = run_op("Conv", x, w, kernel_shape=(3, 3))
    last = run_op("Conv", to_last(x), to_last(w), kernel_shape=(3, 3), layout="NHWC")
    for limit in (1, 4 * 36 * 8 * 3, 4 * 36 * 8 * 25):
        monkeypatch.setattr(conv, "BLOCK_BYTES", limit)
        np.testing.assert_allclose(run_op("Conv", x, w, kernel_shape=(3, 3)), whole, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(
            run_op("Conv", to_last(x), to_last(w), kernel_shape=(3, 3), layout="NHWC"), last, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_other_floats(run_op, rng, dtype):
    x = rng.standard_normal((1, 2, 5, 5)).astype(dtype)
    w = rng.standard_normal((3, 2, 3, 3)).astype(dtype)
    exact = run_op("Conv", x.astype(np.float64), w.astype(np.float64), kernel_shape=(3, 3))
    result = run_op("Conv", x, w, kernel_shape=(3, 3))
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, exact.astype(np.float32).astype(dtype) if dtype != np.float64 else exact)


def test_integers_are_exact(run_op, rng):
    x = rng.integers(-128, 128, (1, 16, 6, 6)).astype(np.int32)
    w = rng.integers(-128, 128, (4, 16, 3, 3)).astype(np.int32)
    expected = np.zeros((1, 4, 4, 4), np.int64)
    for i in range(3):
        for j in range(3):
            expected += np.einsum("nchw,oc->nohw", x[:, :, i : i + 4, j : j + 4].astype(np.int64), w[:, :, i, j])
    np.testing.assert_array_equal(run_op("Conv", x, w, kernel_shape=(3, 3)), expected)


def test_negative_pads_cut_off(run_op, near, rng):
    x = rng.standard_normal((1, 2, 8, 8)).astype(np.float32)
    w = rng.standard_normal((3, 2, 3, 3)).astype(np.float32)
    near(run_op("Conv", x, w, kernel_shape=(3, 3), pads=(-1, 0, -2, 1)),
         run_op("Conv", np.pad(x[:, :, 1:-2], ((0, 0), (0, 0), (0, 0), (0, 1))), w, kernel_shape=(3, 3)))


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize(("batch", "inputs", "outputs"), [(0, 2, 3), (2, 0, 3), (2, 2, 0), (0, 0, 0)])
def test_what_is_empty_gives_biases(run_op, batch, inputs, outputs, size):
    """A sum of nothing is zero, in each layout; and nothing of anything is nothing."""
    x = np.ones((batch, inputs, 5, 5), np.float32)
    b = np.arange(outputs, dtype=np.float32)
    w = np.ones((outputs, size, size, inputs), np.float32)
    for name, second, places in (("Conv", (0, 3, 1, 2), 6 - size), ("Deconv", (3, 0, 1, 2), 4 + size)):
        made = run_op(name, x, w.transpose(second), b, kernel_shape=(size, size))
        last = run_op(name, to_last(x), w, b, kernel_shape=(size, size), layout="NHWC")
        assert made.shape == (batch, outputs, places, places) and np.array_equal(made, to_second(last))
        if not inputs:
            np.testing.assert_array_equal(made, np.broadcast_to(b.reshape(1, -1, 1, 1), made.shape))


def test_deconv_of_nothing(run_op):
    result = np.asarray(run_op(
        "Deconv", np.ones((1, 2, 0, 3), np.float32), np.ones((2, 4, 3, 3), np.float32), np.full(4, 7, np.float32),
        kernel_shape=(3, 3), strides=(1, 1)))
    assert result.shape == (1, 4, 2, 5) and (result == 7).all()
