"""The pass `fuse-preprocess`, judged by the manual's arithmetic in numpy before the network as it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from transload.engine.reference import prepare
from transload.errors import UsageError
from transload.ir import F32, I8, UI8, Module, QuantType, TensorType, verify
from transload.passes.manager import Pipeline

from tests.support.graphs import Graph, op_names

PIXELS = np.random.default_rng(3).integers(0, 256, (1, 6, 5, 3)).astype(np.uint8)
PIXELS[0, 0, 0] = 0, 255, 0


def fused(module: Module, **options: Any) -> Module:
    """A copy with the pass run on it."""
    copy = module.clone()
    said = " ".join(f'{key}="{value}"' for key, value in options.items())
    Pipeline.parse(f"fuse-preprocess{{{said}}}").run(copy)
    verify(copy)
    return copy


def execute(module: Module, array: np.ndarray) -> list[np.ndarray]:
    return list(prepare(module)({"x0": array}).values())


def numbers(pixels: np.ndarray, mean: Sequence[float], scale: Sequence[float], bgr: bool, nchw: bool) -> np.ndarray:
    """(x - mean) * scale of each channel, in the model's order."""
    ordered = pixels[..., ::-1] if bgr else pixels
    made = ((ordered.astype(np.float64) - mean) * scale).astype(np.float32)
    return np.moveaxis(made, -1, 1) if nchw else made


def network(layout: str, pads: int, group: int = 1) -> Module:
    g = Graph((1, 3, 6, 5) if layout == "NCHW" else (1, 6, 5, 3))
    filter = (6, 3 // group, 3, 3) if layout == "NCHW" else (6, 3, 3, 3 // group)
    made = g.Conv(
        g.inputs[0], g.random(*filter), g.random(6), kernel_shape=(3, 3), pads=(pads,) * 4, layout=layout, group=group)
    return g.done(made)


IMAGENET = (123.675, 116.28, 103.53), (0.0171, 0.0175, 0.0174)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("bgr", [False, True])
@pytest.mark.parametrize("pads", [0, 1])
@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize(("mean", "scale"), [
    ((0.0,) * 3, (1.0,) * 3), ((128.0,) * 3, (0.0078125,) * 3), ((127.5,) * 3, (0.0078125,) * 3), IMAGENET,
    ((10.0, 20.0, 30.0), (0.5, -0.25, 0.0))])
def test_the_numbers_are_those_of_the_manual(
    layout: str, bgr: bool, pads: int, group: int, mean: tuple[float, ...], scale: tuple[float, ...],
) -> None:
    module = network(layout, pads, group)
    made = fused(
        module, mean=",".join(map(str, mean)), scale=",".join(map(str, scale)), pixel_format="bgr" if bgr else "rgb",
        channel_format=layout.lower())
    assert made.inputs["x0"].shape == PIXELS.shape and made.inputs["x0"].element.storage == UI8  # type: ignore[union-attr]
    [wanted] = execute(module, numbers(PIXELS, mean, scale, bgr, layout == "NCHW"))
    [given] = execute(made, PIXELS)
    np.testing.assert_allclose(given, wanted, rtol=2e-5, atol=2e-5 * max(1.0, float(np.abs(wanted).max())))


@pytest.mark.parametrize(("pads", "mean", "left"), [
    (0, "123.675,116.28,103.53", ["Cast", "Conv"]),  # nothing is padded: shifts fold, too
    (1, "123.675,116.28,103.53", ["Cast", "Add", "Conv"]),  # the padded zero is the mean's colour
    (1, "127.5", ["Cast", "AddConst", "Conv"]),
    (1, "128", ["Cast", "Conv"]),  # the zero point says it
])
def test_what_folds_is_no_op(pads: int, mean: str, left: list[str]) -> None:
    made = fused(network("NHWC", pads), mean=mean, scale="0.0171,0.0175,0.0174", pixel_format="bgr", channel_format="nhwc")
    assert op_names(made) == left


def test_what_no_convolution_takes_stays_in_the_graph() -> None:
    g = Graph((1, 3, 6, 5))
    module = g.done(g.Relu(g.inputs[0]))
    made = fused(module, mean="100,110,120", scale="1,2,3", pixel_format="bgr")
    assert op_names(made) == ["Cast", "Reverse", "Mul", "Add", "Permute", "Relu"]
    assert np.allclose(
        execute(made, PIXELS)[0], execute(module, numbers(PIXELS, (100, 110, 120), (1, 2, 3), True, True))[0], atol=1e-3)


def test_gray_images_and_inputs_of_few_dimensions() -> None:
    for shape in ((6, 5), (1, 6, 5), (6, 5, 1), (1, 1, 6, 5), (1, 6, 5, 1)):
        g = Graph(shape)
        module = g.done(g.Relu(g.inputs[0]))
        layout = "nhwc" if shape[-1] == 1 else "nchw"
        [given] = execute(fused(module, mean="3", scale="0.5", channel_format=layout), PIXELS[..., :1])
        assert given.shape == shape and np.array_equal(given.ravel(), np.maximum((PIXELS[..., 0].ravel() - 3.0) * 0.5, 0))


def test_a_quantized_input_gets_its_integers_by_a_cast() -> None:
    element = QuantType(I8, F32, (0.5,), (3,))
    g = Graph(TensorType((1, 6, 5, 3), element))
    module = g.done(g.Cast(g.inputs[0], element=F32))
    made = fused(module, mean="125", scale="0.5", channel_format="nhwc")
    assert op_names(made) == ["Cast", "Cast"]
    stored = np.clip(PIXELS.astype(int) - 125 + 3, -128, 127)
    assert np.array_equal(execute(made, PIXELS)[0], (stored - 3) * np.float32(0.5))
    uneven = fused(module, mean="125,0,0", scale="0.5", channel_format="nhwc")
    stored = np.clip(np.rint(PIXELS - np.array([125.0, 0, 0])) + 3, -128, 127)
    assert np.array_equal(execute(uneven, PIXELS)[0], (stored - 3) * np.float32(0.5))


@pytest.mark.parametrize(("options", "says"), [
    ({"input": "y"}, "no input 'y'"), ({"mean": "1,2"}, "2 numbers"), ({"mean": "a"}, "no number")])
def test_what_cannot_be(options: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        fused(network("NHWC", 0), channel_format="nhwc", **options)
    with pytest.raises(UsageError, match="no image"):
        g = Graph((7,))
        fused(g.done(g.Relu(g.inputs[0])))


@pytest.mark.parametrize(("options", "said"), [
    ({"mean": "nan"}, "no number"), ({"mean": "inf"}, "no number"), ({"scale": "nan"}, "no number"),
    ({"scale": "inf"}, "no number"), ({"scale": "0"}, "leaves nothing")])
def test_numbers_that_are_none_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        fused(network("NHWC", 0), **options)
