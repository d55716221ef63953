"""What becomes of an image: sizes, padding, colours, layouts and numbers, as the manual says, and the file that keeps it."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ReadError, UsageError
from transload.ir import F32, I8, I32, QuantType, TensorType
from transload.samples import images
from transload.samples.images import decode, read_pixels
from transload.samples.preprocess import Preprocess

Image = pytest.importorskip("PIL.Image")
WIDE = np.zeros((4, 8, 3), np.uint8)
"""Red on the left, blue on the right."""
WIDE[:, :4, 0] = WIDE[:, 4:, 2] = 200


@pytest.fixture
def saved(tmp_path: Path) -> Callable[..., Path]:
    def save(pixels: Any, name: str = "image.png", **how: Any) -> Path:
        image = Image.fromarray(pixels) if isinstance(pixels, np.ndarray) else pixels
        image.save(tmp_path / name, **how)
        return tmp_path / name

    return save


def made(path: Path, preprocess: Preprocess, shape: tuple[int, ...] = (1, 4, 8, 3), element: Any = F32) -> np.ndarray:
    ready = preprocess.settled("x", TensorType(shape, element))
    return ready.numbers(read_pixels(path, ready.pixels))


def test_the_manuals_arithmetic(saved: Callable[..., Path]) -> None:
    mean, scale = (100.0, 50.0, 25.0), (0.5, 0.25, 2.0)
    array = made(saved(WIDE), Preprocess(mean=mean, scale=scale))
    assert np.array_equal(array[0], ((WIDE - np.array(mean)) * np.array(scale)).astype(np.float32)) and array.dtype == np.float32


@pytest.mark.parametrize("pixel_format", ["rgb", "bgr", "gray", "rgbd"])
@pytest.mark.parametrize("layout", ["nhwc", "nchw"])
@pytest.mark.parametrize("keeps", [False, True])
def test_the_manuals_steps_in_their_order(saved: Callable[..., Path], pixel_format: str, layout: str, keeps: bool) -> None:
    """Resized (by Pillow), padded in the middle, cropped from half less half, (x - mean) * scale in the model's order of colours.

    Source: TPU-MLIR manual, tables 3.1 and 7.3, and its program for the place of the crop.
    """
    pixels = np.random.default_rng(2).integers(0, 256, (20, 31, 4)).astype(np.uint8)
    mode = {"gray": "L", "rgbd": "RGBA"}.get(pixel_format, "RGB")
    channels = len(mode)
    mean, scale = (10.0, 20.0, 30.0, 40.0)[:channels], (0.5, 0.25, 2.0, 1.0)[:channels]
    path = saved(pixels)
    image = Image.fromarray(pixels).convert(mode)
    if keeps:  # 31 columns become 17, 20 rows 10
        canvas = np.full((15, 17, channels), 7)
        small = np.asarray(image.resize((17, 17 * 20 // 31), Image.Resampling.BILINEAR)).reshape(-1, 17, channels)
        canvas[(15 - 10) // 2:(15 - 10) // 2 + 10] = small
    else:
        canvas = np.asarray(image.resize((17, 15), Image.Resampling.BILINEAR)).reshape(15, 17, channels)
    cropped = canvas[15 // 2 - 12 // 2:][:12, 17 // 2 - 11 // 2:][:, :11]
    ordered = cropped[..., ::-1] if pixel_format == "bgr" else cropped
    wanted = ((ordered - np.array(mean)) * np.array(scale)).astype(np.float32)
    preprocess = Preprocess(
        resize_dims=(15, 17), keep_aspect_ratio=keeps, pad_value=7 if keeps else 0, crop=(12, 11), mean=mean, scale=scale,
        pixel_format=pixel_format, channel_format=layout)
    found = made(path, preprocess, (1, 12, 11, channels) if layout == "nhwc" else (1, channels, 12, 11))
    assert np.array_equal(found[0], wanted if layout == "nhwc" else wanted.transpose(2, 0, 1))


def test_three_numbers_that_are_one_hold_for_gray(saved: Callable[..., Path]) -> None:
    gray = saved(np.full((4, 8), 100, np.uint8))
    found = made(gray, Preprocess(mean=(50.0,) * 3, scale=(2.0,) * 3), (1, 1, 4, 8))
    assert (found == 100).all()


def test_without_mean_and_scale_pixels_span_what_the_input_takes(saved: Callable[..., Path]) -> None:
    white = saved(np.full((4, 8, 3), 255, np.uint8))
    assert (made(white, Preprocess()) == 1).all() and (made(white, Preprocess(), element=I8) == 127).all()
    assert (made(white, Preprocess(scale=(1.0,))) == 255).all()


def test_no_number_is_said_to_be_minus_0() -> None:
    """What spans an input from 0 on has a mean of -0 by its formula."""
    ready = Preprocess().settled("x", TensorType((1, 3, 4, 4), F32), (0.0, 1.0))
    assert "-0" not in ready.arithmetic + ready.preprocess.as_toml()
    own = Preprocess(mean=(-0.0,), scale=(1.0,))
    assert "-0" not in own.as_toml() and own == Preprocess(mean=(0.0,), scale=(1.0,))
    assert "-0 " not in Preprocess().settled("x", TensorType((1, 3, 4, 4), F32), (-0.0, 1.0)).arithmetic


def test_numbers_of_a_quantized_input_are_its_stored_ones(saved: Callable[..., Path]) -> None:
    element = QuantType(I8, F32, (0.5,), (3,))
    array = made(saved(WIDE), Preprocess(mean=(100.0,), scale=(0.1,)), element=element)
    assert array.dtype == np.int8 and set(np.unique(array)) == {3 - 20, 3 + 20}


@pytest.mark.parametrize(("shape", "said", "layout"), [
    ((1, 4, 8, 3), {}, "nhwc"), ((1, 3, 4, 8), {}, "nchw"), ((4, 8, 3), {}, "nhwc"), ((3, 4, 8), {}, "nchw"),
    ((1, 3, 8, 3), {"channel_format": "nchw"}, "nchw"), ((1, 3, 8, 3), {}, "nhwc"), ((4, 8), {}, "nhwc"),
])
def test_layouts(saved: Callable[..., Path], shape: tuple[int, ...], said: dict[str, Any], layout: str) -> None:
    ready = Preprocess(**said).settled("x", TensorType(shape, F32))
    assert ready.preprocess.channel_format == layout
    assert ready.numbers(read_pixels(saved(WIDE), ready.pixels)).shape == shape


def test_colours(saved: Callable[..., Path]) -> None:
    path = saved(WIDE)
    plain = Preprocess(scale=(1.0,))
    rgb = made(path, plain)
    assert np.array_equal(made(path, Preprocess(scale=(1.0,), pixel_format="bgr")), rgb[..., ::-1])
    assert np.array_equal(made(path, plain, (1, 3, 4, 8)), np.moveaxis(rgb, -1, 1))
    grey = made(path, plain, (1, 4, 8, 1))
    assert grey.shape == (1, 4, 8, 1) and grey[0, 0, 0, 0] == pytest.approx(200 * 0.299, abs=1)
    four = made(path, plain, (1, 4, 8, 4))
    assert np.array_equal(four[..., :3], rgb) and (four[..., 3] == 255).all()


@pytest.mark.parametrize(("how", "rows"), [
    ({"pad_type": "center"}, slice(2, 6)), ({"pad_type": "normal"}, slice(0, 4)),
])
def test_an_image_keeps_its_shape_and_is_padded(saved: Callable[..., Path], how: dict[str, Any], rows: slice) -> None:
    array = made(saved(WIDE), Preprocess(keep_aspect_ratio=True, pad_value=7, scale=(1.0,), **how), (1, 8, 8, 3))[0]
    assert np.array_equal(array[rows], WIDE)
    assert (np.delete(array, range(8)[rows], axis=0) == 7).all()


def test_the_short_side_fits_and_the_rest_is_cut_off(saved: Callable[..., Path]) -> None:
    wide = Preprocess(keep_aspect_ratio=True, keep_ratio_mode="short_side_scale", scale=(1.0,))
    assert np.array_equal(made(saved(WIDE), wide, (1, 4, 4, 3))[0], WIDE[:, 2:6])
    high = saved(np.moveaxis(WIDE, 0, 1).copy(), "high.png")
    assert np.array_equal(made(high, wide, (1, 4, 4, 3))[0], np.moveaxis(WIDE, 0, 1)[2:6])


@pytest.mark.parametrize(("rows", "columns"), [(66, 90), (90, 61), (45, 45), (37, 200), (32, 33)])
def test_what_covers_all_is_resized_to_whole_sizes_and_then_cut(saved: Callable[..., Path], rows: int, columns: int) -> None:
    """As torchvision's `Resize(32)` and `CenterCrop(32)`: the longer side is `32 * longer // shorter`."""
    pixels = np.random.default_rng(0).integers(0, 256, (rows, columns, 3), np.uint8)
    shorter = min(rows, columns)
    height, width = (32 * size // shorter for size in (rows, columns))
    whole = np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.BILINEAR))
    top, left = height // 2 - 16, width // 2 - 16
    cover = Preprocess(keep_aspect_ratio=True, keep_ratio_mode="short_side_scale", scale=(1.0,))
    np.testing.assert_array_equal(made(saved(pixels), cover, (1, 32, 32, 3))[0], whole[top:top + 32, left:left + 32])


@pytest.mark.parametrize("shape", [(37, 200), (200, 37), (50, 50)], ids=str)
@pytest.mark.parametrize("how", [
    {}, {"resize_dims": (60, 44)}, {"resize_dims": (60, 44), "keep_aspect_ratio": True},
    {"resize_dims": (60, 64), "keep_aspect_ratio": True, "pad_type": "normal", "pad_value": 9},
    {"keep_aspect_ratio": True, "keep_ratio_mode": "short_side_scale"},
    {"resize_dims": (61, 40), "keep_aspect_ratio": True, "keep_ratio_mode": "short_side_scale"}], ids=str)
def test_of_what_is_resized_to_much_only_what_is_taken_is_made(
    saved: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, how: dict[str, Any], shape: tuple[int, int],
) -> None:
    settled = Preprocess(scale=(1.0,), **how).settled("x", TensorType((1, 32, 32, 3), F32))
    path = str(saved(np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)))
    whole = decode(path, path, settled.pixels)
    monkeypatch.setattr(images, "_MOST_SCALED", 1000)
    assert np.abs(decode(path, path, settled.pixels).astype(int) - whole).max() <= 1


@pytest.mark.parametrize("how", [
    {}, {"keep_aspect_ratio": True}, {"keep_aspect_ratio": True, "pad_type": "normal"},
    {"keep_aspect_ratio": True, "keep_ratio_mode": "short_side_scale"}], ids=str)
def test_sizes_far_beyond_what_is_taken_take_no_memory(
    saved: Callable[..., Path], how: dict[str, Any], monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file of 27 bytes, `resize_dims=[32768,32768]`, had a picture of 400 take four gigabytes."""
    settled = Preprocess((1 << 15, 1 << 15), scale=(1.0,), **how).settled("x", TensorType((1, 8, 8, 3), F32))
    path = str(saved(np.full((20, 20, 3), 64, np.uint8)))
    made, wide = [], []
    resize, new = Image.Image.resize, Image.new
    monkeypatch.setattr(Image.Image, "resize", lambda image, size, *more, **how: made.append(size) or resize(
        image, size, *more, **how))
    monkeypatch.setattr(Image, "new", lambda mode, size, *more: wide.append(size) or new(mode, size, *more))
    assert (decode(path, path, settled.pixels) == 64).all()
    assert all(columns * rows <= 64 for columns, rows in (*made, *wide))


def test_the_middle_is_cropped(saved: Callable[..., Path]) -> None:
    pixels = np.arange(64, dtype=np.uint8).reshape(8, 8)
    array = made(saved(pixels), Preprocess(resize_dims=(8, 8), scale=(1.0,)), (1, 1, 4, 6))
    assert np.array_equal(array[0, 0], pixels[2:6, 1:7])


@pytest.mark.parametrize(("mode", "size"), [("L", 1), ("P", 1), ("1", 1), ("LA", 1), ("RGBA", 3), ("CMYK", 3)])
def test_images_of_all_modes_become_colours(saved: Callable[..., Path], mode: str, size: int) -> None:
    image = Image.fromarray(np.full((4, 8, 3), 255, np.uint8)).convert(mode)
    path = saved(image, "image.jpg" if mode == "CMYK" else "image.png")
    assert (made(path, Preprocess(scale=(1.0,))) >= 250).all()


def test_sixteen_bits_are_read_by_their_upper_bytes(saved: Callable[..., Path]) -> None:
    """Pillow makes 255 of all that is greater, which would be almost everything."""
    grays = (np.arange(32, dtype=np.uint16) * 2048).reshape(4, 8)
    array = made(saved(grays), Preprocess(scale=(1.0,)), (1, 4, 8, 1))
    assert np.array_equal(array.reshape(4, 8), grays >> 8)


@pytest.mark.parametrize("preprocess", [
    Preprocess(scale=(1e39,)), Preprocess(mean=(1e39,)), Preprocess(mean=(1e300,), scale=(1e300,)),
], ids=["scale", "mean", "both"])
def test_numbers_that_the_input_does_not_hold(
    saved: Callable[..., Path], preprocess: Preprocess, recwarn: pytest.WarningsRecorder,
) -> None:
    """They are refused in our words alone: numpy's warning of an overflow went out beside them."""
    with pytest.raises(UsageError, match=r"holds infinity") as caught:
        next(iter(transload.open_samples(saved(WIDE), {"x": TensorType((1, 4, 8, 3), F32)}, preprocess=preprocess)))
    assert caught.value.hint == "pixels become that by (x - mean) * scale" and not recwarn.list


def test_an_image_is_turned_as_its_camera_was(saved: Callable[..., Path]) -> None:
    turned = Image.fromarray(WIDE)
    exif = turned.getexif()
    exif[0x0112] = 6
    array = made(saved(turned, "turned.png", exif=exif), Preprocess(scale=(1.0,)), (1, 8, 4, 3))
    assert np.array_equal(array[0], np.rot90(WIDE, -1))


def test_the_decoder_says_what_is_damaged(saved: Callable[..., Path], tmp_path: Path) -> None:
    how = Preprocess().settled("x", TensorType((1, 4, 4, 3), F32)).pixels
    whole = saved(np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8), "whole.jpg").read_bytes()
    (tmp_path / "short.jpg").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.png").write_text("no image")
    (tmp_path / "empty.png").write_bytes(b"")
    header = bytearray(saved(WIDE).read_bytes())
    header[16:24] = (30000).to_bytes(4, "big") * 2
    import zlib
    header[29:33] = zlib.crc32(header[12:29]).to_bytes(4, "big")
    (tmp_path / "bomb.png").write_bytes(header)
    turned = Image.Exif()
    turned[0x0112], turned[0x011A] = 6, 72.0
    saved(WIDE, "number.png", exif=turned.tobytes()[:29] + b"\1" + turned.tobytes()[30:])  # a width that is a fraction
    for name, why in (
        ("short.jpg", "damaged image"), ("text.png", "no .npy, .npz or image"), ("empty.png", "no .npy, .npz or image"),
        ("bomb.png", "more than 134,217,728 pixels"), ("absent.png", "damaged image"),
        ("number.png", "damaged image"),
    ):
        with pytest.raises(ReadError, match=why) as caught:
            read_pixels(tmp_path / name, how)
        assert name in str(caught.value)
    assert decode(str(tmp_path / "whole.jpg"), "whole.jpg", how).shape == (4, 4, 3)


@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.bmp", "a.ppm", "a.webp"])
def test_changed_files_are_read_or_refused_in_words(saved: Callable[..., Path], name: str) -> None:
    """Whatever a decoder makes of bytes that were changed, cut off or put in."""
    generator = np.random.default_rng(1)
    path = saved(generator.integers(0, 255, (40, 30, 3), dtype=np.uint8), name)
    whole = path.read_bytes()
    ready = Preprocess().settled("x", TensorType((1, 3, 16, 16), F32))
    refused = 0
    for _ in range(25):
        data = bytearray(whole)
        for place in generator.integers(0, min(len(data), 400), 4):
            data[place] = generator.integers(0, 256)
        path.write_bytes(data[: generator.integers(1, len(data) + 1)])
        try:
            assert read_pixels(path, ready.pixels).shape == (16, 16, 3)
        except ReadError as error:
            assert name in error.message
            refused += 1
    assert refused


@pytest.mark.parametrize(("preprocess", "shape", "says"), [
    (Preprocess(), (10,), "and no image"),
    (Preprocess(), (1, 3, 2, 8, 8), "and no image"),
    (Preprocess(), (1, 2, 8, 8), "3 or 4 channels"),
    (Preprocess(), (4, 3, 8, 8), "4 images at a time"),
    (Preprocess(channel_format="none"), (1, 3, 8, 8), "no image"),
    (Preprocess(pixel_format="gray"), (1, 3, 8, 8), "pixels of gray have 1"),
    (Preprocess(mean=(1.0, 2.0, 3.0)), (1, 1, 8, 8), "mean has 3 numbers"),
    (Preprocess(resize_dims=(4, 4)), (1, 3, 8, 8), "takes 8x8: more"),
    (Preprocess(crop=(4, 4)), (1, 3, 8, 8), "cropped to 4x4"),
    (Preprocess(), (1, 3, 1 << 15, 1 << 13), "takes images of 32768x8192 pixels, more than 134,217,728"),
])
def test_what_does_not_fit_the_input(preprocess: Preprocess, shape: tuple[int, ...], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        preprocess.settled("x", TensorType(shape, F32))


def test_an_input_of_wide_integers_needs_mean_and_scale() -> None:
    with pytest.raises(UsageError, match="no image"):
        Preprocess().settled("x", TensorType((1, 8, 8, 3), I32))
    assert Preprocess(scale=(1.0,)).settled("x", TensorType((1, 8, 8, 3), I32)).span is None


@pytest.mark.parametrize("given", [
    {"resize_dims": [0, 4]}, {"resize_dims": [4]}, {"resize_dims": "4,4"}, {"mean": [1.0, 2.0]}, {"mean": ["a"]},
    {"scale": [float("nan")]}, {"scale": [1.0, 0.0, 1.0]}, {"pixel_format": "yuv"}, {"channel_format": "hw"},
    {"pad_type": "left"}, {"pad_value": 256},
    {"keep_ratio_mode": "longest"}, {"keep_aspect_ratio": "yes"}, {"means": [1.0]}, {"inputs": 3}, {"inputs": {"x": 3}},
    {"inputs": {"x": {"mean": "a"}}},
    {"inputs": {"x": {"inputs": {"x": {"mean": [1.0]}}}}}, {"crop": [1 << 20, 4]},
    {"stored": "i8"}, {"stored": 3}, {"stored": "!quant.uniform<i8:f32"},
])
def test_what_cannot_be(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="preprocessing"):
        Preprocess.from_table(given)


def test_the_file(tmp_path: Path) -> None:
    preprocess = Preprocess(
        (256, 256), True, "letterbox", 114, "normal", (224, 224), (103.94, 116.78, 123.68), (0.017,), "bgr", "nchw",
        {'le"ft ü': Preprocess(scale=(2.0,))})
    path = preprocess.write(tmp_path / "preprocess.toml")
    read = Preprocess.read(path)
    assert read.of("other") == Preprocess.read(path).of("other") and read.mean == preprocess.mean and read.pad_value == 114
    assert read.of('le"ft ü').scale == (2.0,) and read.of('le"ft ü').mean == preprocess.mean
    assert Preprocess.read(read.write(tmp_path / "again.toml")) == read
    assert Preprocess.read(Preprocess().write(path)) == Preprocess()


def test_what_the_integers_stand_for_that_go_in(tmp_path: Path) -> None:
    """The file says real numbers, of which whoever takes plain integers makes those that stand for them."""
    quant = QuantType(I8, F32, (0.5,), (-100,))
    plain, real, stored = (TensorType((4, 4, 1), element) for element in (I8, F32, quant))
    image = Preprocess(mean=(20.0,), scale=(0.25,)).settled("x", real)
    file = image.held_by(stored).write(tmp_path / "preprocess.toml")
    assert "(x - 220) * 0.5" in file.read_text()
    pixels = np.arange(16, dtype=np.uint8).reshape(4, 4, 1) * 16
    wanted = np.rint((pixels - 20.0) * 0.25 / 0.5) - 100
    for type_ in (plain, stored):
        made = Preprocess.read(file).settled("x", type_).numbers(pixels)
        assert made.dtype == np.int8 and np.array_equal(made, np.clip(wanted, -128, 127))
    assert np.array_equal(Preprocess.read(file).settled("x", real).numbers(pixels), (pixels - 20.0) * 0.25)
    spanned = Preprocess().settled("x", stored)
    assert np.allclose(spanned.held_by(real).settled("x", real).numbers(pixels), (spanned.numbers(pixels) + 100.0) * 0.5)
    assert spanned.held_by(plain).mean is None


@pytest.mark.parametrize("text", ["mean = [", "means = [1.0]", "mean = [1.0, 2.0]", "\xff", "a.b = 1\n" * 3])
def test_a_file_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "preprocess.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(ReadError, match=r"preprocess\.toml"):
        Preprocess.read(tmp_path / "preprocess.toml")
    with pytest.raises(ReadError, match="no such file"):
        Preprocess.read(tmp_path / "absent.toml")


def test_what_it_says_of_itself() -> None:
    type_ = TensorType((1, 224, 224, 3), F32)
    said = str(Preprocess((256, 256), mean=(127.5,), scale=(1 / 127.5,)).settled("x", type_))
    assert said == "256x256 pixels for input 'x', of which 224x224, (x - 127.5) * 0.00784314, rgb, nhwc"
    assert io.StringIO(Preprocess().as_toml()).readline().startswith("#")


@pytest.mark.parametrize(("given", "wanted"), [
    ({"mean": np.float32(3)}, {"mean": 3.0}), ({"mean": np.array([1.0, 2.0, 3.0])}, {"mean": (1.0, 2.0, 3.0)}),
    ({"scale": np.float64(2), "mean": [np.float32(1), 2, np.int64(3)]}, {"scale": 2.0, "mean": (1.0, 2.0, 3.0)}),
    ({"resize_dims": np.array([3, 4]), "crop": (np.int64(3), 4)}, {"resize_dims": (3, 4), "crop": (3, 4)}),
    ({"pad_value": np.uint8(7), "keep_aspect_ratio": np.True_}, {"pad_value": 7, "keep_aspect_ratio": True}),
])
def test_numbers_of_numpy_are_numbers(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    """They were refused, in words that call for what they are."""
    made = Preprocess(**given)
    assert made == Preprocess(**wanted) and made.as_toml() == Preprocess(**wanted).as_toml()


@pytest.mark.parametrize("given", [
    {"mean": np.array(["a"])}, {"mean": np.array([[1.0, 2.0, 3.0]])}, {"scale": np.float32("nan")},
    {"resize_dims": np.array([3.5, 4])}, {"crop": np.int64(3)}, {"pad_value": np.float32(3)}])
def test_what_is_no_number_of_numpy_is_none(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="preprocessing: "):
        Preprocess(**given)


@pytest.mark.parametrize(("given", "why"), [
    ({"keep_ratio_mode": "short_side_scale"}, "keep_ratio_mode is for images that keep their shape"),
    ({"pad_type": "normal"}, "pad_type is for images that keep their shape"),
    ({"keep_aspect_ratio": True, "keep_ratio_mode": "short_side_scale", "pad_value": 3}, "pad_value is for images that are p"),
])
def test_what_has_no_effect_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        Preprocess(**given)
    with pytest.raises(UsageError, match=why):
        Preprocess.from_table(given)


def test_a_batch_is_refused_with_a_hint_that_can_be_followed() -> None:
    with pytest.raises(UsageError, match="4 images at a time") as caught:
        Preprocess().settled("x", TensorType((4, 8, 8, 3), F32))
    assert caught.value.hint == "--shape x:1x8x8x3, and no --batch beside it"
