"""The real models of a folder, and what to run them on: photographs, sound and words where inputs look like them.

The folder is the one that `TRANSLOAD_MODELS` names: a folder a model below `tflite/`, `onnx/` and `stablehlo/`, and `data/`.
"""

from __future__ import annotations

import gzip
import math
import os
import wave
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

import transload
from transload.errors import TransloadError
from transload.ir import FloatType, Module, QuantType, TensorType, dtype_of

__all__ = ["FOLDER", "Sample", "crop", "images", "load", "models", "samples_for", "sounds"]

FOLDER = Path(os.environ.get("TRANSLOAD_MODELS", "../shared/models"))
Sample = Mapping[str, np.ndarray]
SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "silero_vad": {"input": (1, 512), "state": (2, 1, 128), "sr": ()}, "ppocr_cls_v2": {"x": (1, 3, 48, 192)},
    "derived_ppocr_cls_qoperator": {"x": (1, 3, 48, 192)}, "tract_byte_sb_bidi_lstm": {"input": (1, 16)}}
"""Of inputs that no file says the shape of."""
PIXELS = {
    "mlperf_resnet8": (0, 255), "derived_resnet8": (0, 255), "yunet": (0, 255), "vww": (0, 1), "super_resolution": (0, 1),
    "mnist_8": (0, 255), "cifar10_quick": (-120, 135),
    "selfie": (0, 1), "knift": (0, 1), "fastestdet": (0, 1), "mini_xception": (-1, 1), "mnist": (0, 1)}
"""What black and white are, by a part of a model's name; -1 and 1 where nothing is said."""
RATES = {16000: "sr"}


def models(folder: Path) -> Iterator[Path]:
    """The model files of a folder that a reader of ours takes, a structure without weights excepted."""
    for path in sorted((*folder.glob("tflite/*/*.tflite"), *folder.glob("onnx/*/*.onnx"), *folder.glob("stablehlo/*/*.mlir*"))):
        twin = path.suffix == ".mlir" and path.with_suffix(".mlirbc").exists()
        if not path.parent.name.startswith("structure") and not twin:
            yield path


def load(path: Path) -> Module:
    """A model; inputs without shapes get those of `SHAPES`, or sizes of 1."""
    return transload.load(path, inputs=SHAPES.get(path.parent.name) or None)


GIVEN = {("iree_unidirectional_lstm", "arg0"): (0, 1, 0, 3, 4)}
"""What the author of a model runs it on, in whose file that is, where random numbers give zeros alone: a 0 marks a step."""


def samples_for(path: Path, module: Module, count: int, seed: int, folder: Path = FOLDER) -> list[Sample]:
    """Arrays for each input, float32 or whatever it holds; other seeds give other samples."""
    random = np.random.default_rng(seed)
    return [{name: _array(path.parent.name, name, type_, random, folder) for name, type_ in module.inputs.items()}
            for _ in range(count)]


def _array(model: str, name: str, type_: TensorType, random: np.random.Generator, folder: Path) -> np.ndarray:
    shape, dtype = type_.static_shape, dtype_of(type_.element)
    if (model, name) in GIVEN:
        return np.array(GIVEN[model, name], dtype).reshape(shape)
    channels = next((axis for axis in (-1, 1) if len(shape) == 4 and shape[axis] in (1, 3)), None)
    is_picture = channels is not None and min(np.delete(shape, (0, channels % 4))) > 11 and bool(images(folder))
    if is_picture and isinstance(type_.element, QuantType) and dtype.itemsize == 1:  # pixels, as they are stored
        return (_picture(shape, channels, (0, 255), random, folder) + np.iinfo(dtype).min).round().astype(dtype)
    if not isinstance(type_.element, FloatType):
        limits = np.iinfo(dtype) if dtype.kind in "iu" else None
        if name == "sr":
            return np.array(next(iter(RATES)), dtype)
        narrow = limits is None or limits.bits > 16
        return random.integers(0, 2 if narrow else limits.max, shape).astype(dtype)
    if shape == (1, 49, 10, 1) and (files := sorted((folder / "data" / "kws01_mfcc_int8").glob("*.bin"))):
        return ((np.fromfile(files[random.integers(len(files))], np.int8).astype(np.float32) - 83) * 0.5847029).reshape(shape)
    if shape == (1, 16000) and sounds(folder):
        found = sounds(folder)
        return np.roll(found[random.integers(len(found))], random.integers(16000)).reshape(shape) * random.uniform(0.3, 1)
    if 28 * 28 in (math.prod(shape), math.prod(shape[1:])) and len(handwritten(folder)):
        low, high = _ends(model)
        digits = handwritten(folder)
        chosen = digits[random.integers(len(digits), size=math.prod(shape) // (28 * 28))]
        return (chosen.reshape(shape) / np.float32(255) * (high - low) + low).astype(dtype)
    if is_picture:
        return _picture(shape, channels, _ends(model), random, folder).astype(dtype)
    return random.normal(0, 1, shape).astype(dtype)


def _picture(
    shape: tuple[int, ...], channels: int, ends: tuple[float, float], random: np.random.Generator, folder: Path,
) -> np.ndarray:
    """Parts of photographs, black and white as `ends` say."""
    rows, columns = np.delete(shape, (0, channels % 4))
    low, high = ends
    there = pictures(folder) if rows == columns == 32 and pictures(folder) else images(folder)
    made = []
    for _ in range(shape[0]):
        pixels = crop(there[random.integers(len(there))], columns, rows, random) / 255 * (high - low) + low
        pixels = pixels if shape[channels] == 3 else pixels.mean(axis=-1, keepdims=True)
        made.append(pixels if channels == -1 else pixels.transpose(2, 0, 1))
    return np.stack(made).astype(np.float32)


def _ends(model: str) -> tuple[float, float]:
    """What black and white are to a model."""
    return next((ends for part, ends in PIXELS.items() if part in model), (-1, 1))


def crop(image: Image.Image, columns: int, rows: int, random: np.random.Generator) -> np.ndarray:
    """A random part of at least half an image's height or width, in [rows, columns, 3] pixels from 0 to 255."""
    factor = random.uniform(0.5, 1) * min(image.width / columns, image.height / rows)
    width, height = columns * factor, rows * factor
    left, top = random.uniform(0, image.width - width), random.uniform(0, image.height - height)
    box = (left, top, left + width, top + height)
    return np.asarray(image.resize((columns, rows), Image.Resampling.BILINEAR, box), np.float32)


@cache
def images(folder: Path) -> list[Image.Image]:
    """The photographs in `data/`; none where there are none."""
    data = folder / "data"
    files = [*sorted((data / "coral_images").glob("*.bmp")), *sorted((data / "mobilenet_ssd_images").glob("*.jpg")),
             *sorted((data / "mobilenet_caffe").glob("*.jpg")), *sorted((data / "tflm_person").glob("*.bmp"))]
    return [Image.open(file).convert("RGB") for file in files]


@cache
def pictures(folder: Path) -> list[Image.Image]:
    """The pictures of 32 x 32 pixels in `data/`; none where there are none."""
    return [Image.open(file).convert("RGB") for file in sorted((folder / "data" / "cifar10_test_jpg").glob("*.jpg"))]


@cache
def handwritten(folder: Path) -> np.ndarray:
    """The handwritten digits in `data/` [N, 28, 28], from 0 to 255; none where there are none."""
    file = folder / "data" / "mnist_t10k" / "images-idx3-ubyte.gz"
    content = gzip.decompress(file.read_bytes())[16:] if file.exists() else b""
    return np.frombuffer(content, np.uint8).reshape(-1, 28, 28)


@cache
def sounds(folder: Path) -> list[np.ndarray]:
    """The recordings of a second in `data/`, from -1 to 1."""
    found = []
    for file in sorted((folder / "data" / "tflm_wav").glob("*_1000ms.wav")):
        with wave.open(str(file)) as opened:
            found.append(np.frombuffer(opened.readframes(opened.getnframes()), np.int16)[:16000].astype(np.float32) / 32768)
    return [sound for sound in found if len(sound) == 16000]


def is_float(module: Module) -> bool:
    """Whether no tensor of a model is quantized."""
    try:
        hub = transload.legalize(module, hybrid="float") if module.source_format == "tflite" else transload.legalize(module)
    except TransloadError:
        return True
    return not any(value.quant is not None for op in hub.ops() for value in op.results)
