"""Sequences whose content is known, signals and sampled images, against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError

from tests.support.onnx_models import make_model, node, op_names, read_model

G = np.random.default_rng(5)
X = G.standard_normal((4, 6)).astype(np.float32)


def test_pieces_of_a_tensor_by_number(compare: Callable[..., Any]) -> None:
    nodes = [node("SplitToSequence", ["x", "two"], ["s"], axis=1), node("SequenceAt", ["s", "last"], ["a"]),
             node("SequenceLength", ["s"], ["n"]), node("Gather", ["x", "n"], ["b"]), node("Relu", ["a"], ["y"])]
    hub = compare(nodes, {"x": X}, ("y", "b"), {"two": np.array(2), "last": np.array(-1)})
    assert sorted(op_names(hub)) == ["Gather", "Relu", "Slice"]


@pytest.mark.parametrize("new_axis", [0, 1])
def test_a_sequence_that_is_built_and_joined(compare: Callable[..., Any], new_axis: int) -> None:
    nodes = [node("SequenceConstruct", ["x", "x"], ["s"]), node("Neg", ["x"], ["n"]),
             node("SequenceInsert", ["s", "n", "one"], ["t"]), node("SequenceErase", ["t"], ["u"]),
             node("ConcatFromSequence", ["u"], ["y"], axis=1, new_axis=new_axis)]
    compare(nodes, {"x": X}, ("y",), {"one": np.array(-1)})


def test_a_sequence_as_a_result_is_refused() -> None:
    with pytest.raises(ConversionError, match="only tensors can be results"):
        transload.legalize(read_model(make_model([node("SequenceConstruct", ["x"], ["y"])], {"x": X}, ["y"])))


@pytest.mark.parametrize(("onesided", "inverse", "length"), [(0, 0, None), (1, 0, None), (0, 1, None), (0, 0, 8), (1, 0, 4)])
def test_fourier_transform(compare: Callable[..., Any], onesided: int, inverse: int, length: int | None) -> None:
    x = G.standard_normal((2, 6, 3, 1 if onesided else 2)).astype(np.float32)
    constants = {} if length is None else {"n": np.array(length)}
    operator = node("DFT", ["x", *constants], ["y"], axis=1, onesided=onesided, inverse=inverse)
    compare(operator, {"x": x}, ("y",), constants, atol=1e-4)


def test_short_time_fourier_transform_is_a_convolution(compare: Callable[..., Any]) -> None:
    x = G.standard_normal((2, 40, 1)).astype(np.float32)
    constants = {"step": np.array(4), "window": np.hanning(16).astype(np.float32)}
    hub = compare(node("STFT", ["x", "step", "window"], ["y"]), {"x": x}, ("y",), constants, atol=1e-4)
    assert "Conv" in op_names(hub)


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_sampling_between_pixels(compare: Callable[..., Any], mode: str, padding: str, align: int) -> None:
    x = G.standard_normal((2, 3, 5, 4)).astype(np.float32)
    grid = G.uniform(-1.8, 1.8, (2, 3, 6, 2)).astype(np.float32)
    sample = node("GridSample", ["x", "grid"], ["y"], mode=mode, padding_mode=padding, align_corners=align)
    compare(sample, {"x": x, "grid": grid})


def test_patches_put_back(compare: Callable[..., Any]) -> None:
    rows, columns = (5 + 1 - 2) // 2 + 1, 7 + 1 - 3 + 1
    x = G.standard_normal((1, 2 * 6, rows * columns)).astype(np.float32)
    operator = node("Col2Im", ["x", "image", "block"], ["y"], strides=[2, 1], pads=[1, 0, 0, 1])
    compare(operator, {"x": x}, ("y",), {"image": np.array([5, 7]), "block": np.array([2, 3])}, opset=18)
