"""GridSample, DeformConv, RoiAlign and MaxRoiPool of what is computed at run time in the hub and in TOSA, against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import input_names

from tests.support.judge_versions import newer_onnxruntime
from tests.support.onnx_models import make_model, node, read_model

G = np.random.default_rng(5)
REGIONS = np.array([[0.3, 0.2, 6.1, 5.4], [2.0, 1.0, 2.5, 1.5], [4.0, 3.0, 9.5, 7.9]], np.float32)
BATCHES = np.array([1, 0, 1], np.int64)


def _in_tosa(hub: Any, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    tosa = transload.lower(hub, "tosa", int64="assumed")
    given = dict(zip(input_names(tosa.main), inputs.values(), strict=True))
    return list(transload.run(tosa, given).values())


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [0, 1])
def test_grid_sample(compare: Callable[..., Any], mode: str, padding: str, align: int) -> None:
    inputs = {"x": G.standard_normal((2, 3, 5, 4)).astype(np.float32), "g": G.uniform(-1.4, 1.4, (2, 3, 6, 2)).astype(np.float32)}
    hub = compare(node("GridSample", ["x", "g"], ["y"], mode=mode, padding_mode=padding, align_corners=align), inputs, opset=20)
    (made,) = _in_tosa(hub, inputs)
    np.testing.assert_allclose(made, transload.run(hub, inputs)["y"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_places_farther_away_than_numbers_go(compare: Callable[..., Any], mode: str, padding: str) -> None:
    """In elements they are infinite, and their weights were no numbers. What is far away reads what lies a little beyond."""
    x = G.standard_normal((1, 2, 5, 4)).astype(np.float32)
    lines = np.array([-3e38, 1e38, 0.3, -1e20, 1e9, 0.9], np.float32)
    far = np.stack(np.meshgrid(lines, lines), -1)[None]
    beyond = {"x": x, "g": np.clip(far, -4, 4)}
    hub = compare(node("GridSample", ["x", "g"], ["y"], mode=mode, padding_mode=padding), beyond, opset=20)
    near = transload.run(hub, beyond)["y"]
    for made in (transload.run(hub, {"x": x, "g": far})["y"], _in_tosa(hub, {"x": x, "g": far})[0]):
        if padding == "reflection":  # where exactly one turns up is below what floats tell apart
            assert np.isfinite(made).all() and (np.abs(made) <= np.abs(x).max() * (2 if mode == "cubic" else 1)).all()
        else:
            np.testing.assert_allclose(made, near, rtol=1e-4, atol=1e-5)


def test_grid_sample_of_volumes_reads_between_eight(compare: Callable[..., Any]) -> None:
    inputs = {"x": G.standard_normal((1, 2, 3, 4, 5)).astype(np.float32),
              "g": G.uniform(-1.2, 1.2, (1, 2, 2, 3, 3)).astype(np.float32)}
    compare(node("GridSample", ["x", "g"], ["y"], mode="linear", padding_mode="border"), inputs, opset=20)


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("size", [(1, 3, 10, 12), (3, 2, 5, 4), (1, 1, 3, 4, 5), (2, 1, 4, 5, 6)])
def test_affine_grid(compare: Callable[..., Any], size: tuple[int, ...], align: int) -> None:
    """Of images and volumes, one or several: ONNX's own definition takes one matrix of images apart wrongly."""
    n = len(size) - 2
    inputs = {"theta": G.standard_normal((size[0], n, n + 1)).astype(np.float32)}
    grid = node("AffineGrid", ["theta", "size"], ["y"], align_corners=align)
    hub = compare(grid, inputs, constants={"size": np.array(size)}, opset=20)
    (made,) = _in_tosa(hub, inputs)
    np.testing.assert_allclose(made, transload.run(hub, inputs)["y"], rtol=1e-4, atol=1e-5)


def test_one_pixel_lies_where_the_definition_of_an_affine_grid_has_it() -> None:
    """At -1, where corners are aligned, as `onnx.reference` computes; onnxruntime has it at 1."""
    from onnx.reference import ReferenceEvaluator

    inputs = {"theta": np.eye(3, 4, dtype=np.float32)[None]}
    model = make_model([node("AffineGrid", ["theta", "size"], ["y"], align_corners=1)], inputs, ["y"],
                       {"size": np.array([1, 1, 1, 3, 2])}, opset=20)
    with np.errstate(divide="ignore"):
        (wanted,) = ReferenceEvaluator(model).run(None, inputs)
    np.testing.assert_allclose(transload.run(transload.legalize(read_model(model)), inputs)["y"], wanted, atol=1e-6)


def test_an_affine_grid_of_another_size_is_refused() -> None:
    inputs = {"theta": np.zeros((1, 2, 3), np.float32)}
    constants = {"size": np.array([1, 1, 2, 3, 4])}
    model = make_model([node("AffineGrid", ["theta", "size"], ["y"])], inputs, ["y"], constants, opset=20)
    with pytest.raises(ConversionError, match=r"size \[1, 1, 2, 3, 4\] by matrices of shape \[1, 2, 3\]"):
        transload.legalize(read_model(model))


def test_a_cubic_grid_of_volumes_is_refused() -> None:
    inputs = {"x": np.zeros((1, 1, 2, 2, 2), np.float32), "g": np.zeros((1, 1, 1, 1, 3), np.float32)}
    model = make_model([node("GridSample", ["x", "g"], ["y"], mode="cubic")], inputs, ["y"], opset=20)
    with pytest.raises(ConversionError, match="for images alone"):
        transload.legalize(read_model(model))


@newer_onnxruntime("has no kernel of it in groups")
def test_deform_conv_in_groups(compare: Callable[..., Any]) -> None:
    inputs = {"x": G.standard_normal((2, 4, 6, 7)).astype(np.float32),
              "o": G.normal(0, 1.5, (2, 2 * 2 * 6, 3, 6)).astype(np.float32),
              "m": G.uniform(0, 1, (2, 2 * 6, 3, 6)).astype(np.float32)}
    constants = {"w": G.standard_normal((6, 2, 2, 3)).astype(np.float32), "b": np.arange(6, dtype=np.float32)}
    deform = node("DeformConv", ["x", "w", "o", "b", "m"], ["y"], group=2, offset_group=2, strides=[2, 1], pads=[1, 0, 0, 1])
    hub = compare(deform, inputs, ("y",), constants, opset=19)
    (made,) = _in_tosa(hub, inputs)
    np.testing.assert_allclose(made, transload.run(hub, inputs)["y"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize(("coordinates", "opset"), [("half_pixel", 16), ("output_half_pixel", 16), (None, 10)])
def test_roi_align(compare: Callable[..., Any], mode: str, coordinates: str | None, opset: int) -> None:
    inputs = {"x": G.standard_normal((2, 3, 7, 8)).astype(np.float32), "r": REGIONS, "b": BATCHES}
    more = {"coordinate_transformation_mode": coordinates} if coordinates else {}
    align = node("RoiAlign", ["x", "r", "b"], ["y"], mode=mode, output_height=3, output_width=2, sampling_ratio=2,
                 spatial_scale=0.8, **more)
    hub = compare(align, inputs, opset=opset)
    (made,) = _in_tosa(hub, inputs)
    np.testing.assert_allclose(made, transload.run(hub, inputs)["y"], rtol=1e-4, atol=1e-5)


def test_roi_align_by_the_size_of_regions_needs_to_know_them(compare: Callable[..., Any]) -> None:
    x = {"x": G.standard_normal((2, 3, 7, 8)).astype(np.float32)}
    align = node("RoiAlign", ["x", "r", "b"], ["y"], output_height=2, output_width=2)
    compare(align, x, ("y",), {"r": REGIONS, "b": BATCHES}, opset=16)
    model = make_model([align], {**x, "r": REGIONS, "b": BATCHES}, ["y"], opset=16)
    with pytest.raises(ConversionError, match="regions are computed at run time"):
        transload.legalize(read_model(model))


@pytest.mark.parametrize(("sizes", "bins", "scale", "reach"), [
    ((19, 25), (7, 7), 1 / 16, (-40, 500)), ((9, 1), (4, 2), 0.5, (-9, 18)), ((1, 6), (3, 4), 1.0, (-3, 9)),
    ((5, 6), (3, 2), 1.0, (-3000, 3000))])
@pytest.mark.parametrize("halves", [False, True])
def test_max_roi_pool(
    compare: Callable[..., Any], sizes: Any, bins: Any, scale: float, reach: Any, halves: bool,
) -> None:
    """Regions within the image, across its borders, outside, and turned round; corners that lie between pixels, too."""
    corners = G.uniform(reach[0], reach[1], (40, 4)) * scale
    corners = (np.round(corners * 2) / 2 if halves else corners) / scale
    regions = np.concatenate([G.integers(0, 2, (40, 1)), corners], axis=1).astype(np.float32)
    first, second = regions[:30, 1:3].copy(), regions[:30, 3:].copy()
    regions[:30, 1:3], regions[:30, 3:] = np.minimum(first, second), np.maximum(first, second)
    inputs = {"x": G.standard_normal((2, 3, *sizes)).astype(np.float32), "r": regions}
    hub = compare(node("MaxRoiPool", ["x", "r"], ["y"], pooled_shape=list(bins), spatial_scale=scale), inputs, rtol=0, atol=0)
    (made,) = _in_tosa(hub, inputs)
    np.testing.assert_array_equal(made, transload.run(hub, inputs)["y"])


@pytest.mark.parametrize("bins", [7, 11, 13])
def test_bins_of_regions_far_larger_than_the_image(compare: Callable[..., Any], bins: int) -> None:
    begins = [(3 - edge * size, size) for size in range(4, 40) for edge in range(1, bins)]  # an edge of bins lies at 3
    ends = [(begin, begin + bins * size - 1) for begin, size in begins]
    regions = np.array([[0, begin, begin, end, end] for begin, end in ends], np.float32)
    inputs = {"x": G.standard_normal((1, 1, 6, 6)).astype(np.float32), "r": regions}
    hub = compare(node("MaxRoiPool", ["x", "r"], ["y"], pooled_shape=[bins, bins]), inputs, rtol=0, atol=0)
    (made,) = _in_tosa(hub, inputs)
    np.testing.assert_array_equal(made, transload.run(hub, inputs)["y"])


@pytest.mark.parametrize(("x", "regions", "bins"), [((1, 2, 0, 4), (3, 5), [2, 2]), ((1, 2, 4, 4), (3, 4), [2, 2]),
                                                    ((1, 2, 4, 4), (3, 5), [2]), ((1, 2, 4, 4), (3, 5), [0, 2])])
def test_regions_that_cannot_be_pooled(x: tuple[int, ...], regions: tuple[int, ...], bins: list[int]) -> None:
    inputs = {"x": np.zeros(x, np.float32), "r": np.zeros(regions, np.float32)}
    model = make_model([node("MaxRoiPool", ["x", "r"], ["y"], pooled_shape=bins)], inputs, ["y"], opset=16)
    with pytest.raises(ConversionError, match=r"pools (regions|images) of the shape"):
        transload.legalize(read_model(model))
