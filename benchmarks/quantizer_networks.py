"""Cases of the benchmark of quantizers on trained networks that Python packages carry (`package_models`), which anyone can run.

Photographs that calibrate and photographs that judge are others, and so are the faces; crops are taken at random with fixed
seeds. Lines of text are drawn in Pillow's font over crops. How pixels become numbers is said by each network's own package:
MediaPipe's graphs (`*_cpu.pbtxt`, `output_tensor_float_range`), RapidOCR's `config.yaml` and `resize_norm_img`.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import onnx.version_converter
from package_models import fetch
from PIL import Image, ImageDraw, ImageFont
from quantizer_cases import BUILT, Case

__all__ = ["NETWORKS", "Network"]

CALIBRATION, EVALUATION = 32, 48
"""Samples of a network."""
PHOTOGRAPHS = {
    "calibration": ("chelsea.png", "coffee.png", "flower.jpg", "rocket.jpg"),
    "evaluation": ("astronaut.png", "china.jpg", "motorcycle_left.png"),
}
FACES = {"calibration": slice(0, 40), "evaluation": slice(50, 100)}
"""Of Labeled Faces in the Wild, 25 x 25 gray pixels, in scikit-image."""
WORDS = (
    "Transload", "quantization", "Invoice No.", "TOTAL", "Exit", "Platform 9", "hello world", "www.example.org", "open 24 hours",
    "NO PARKING", "fresh coffee", "Room", "Tel.", "Price:", "Made in", "Best before", "Hauptstrasse", "avenue de la gare")
OPSET = 13
"""The first version of ONNX with scales by channel."""
SEEDS = {"calibration": 1, "evaluation": 2}


@dataclass(frozen=True)
class Network:
    """A network of images: its file, the pixels it takes, and the numbers that black and white become."""

    file: str
    rows: int
    columns: int
    low: float = 0.0
    high: float = 1.0
    pictures: str = "photographs"
    """`photographs`, `faces` (every second picture a face) or `text` (lines of it)."""
    classes: bool = False

    def case(self) -> Case:
        path = fetch() / self.file
        parts = {
            part: [self.sample(pixels) for pixels in self.crops(part, count)]
            for part, count in (("calibration", CALIBRATION), ("evaluation", EVALUATION))}
        if path.suffix == ".onnx":
            path = with_shape(path, (1, 3, self.rows, self.columns))
        files = {path.suffix: path} | ({".onnx": as_onnx(path)} if path.suffix == ".tflite" else {})
        names = {ending: input_name(file) for ending, file in files.items()}
        samples = ({ending: [{name: array} for array in arrays] for ending, name in names.items()} for arrays in parts.values())
        return Case(files, *samples, classes=self.classes)

    def sample(self, pixels: Image.Image) -> np.ndarray:
        """[1, H, W, 3] in red, green, blue for TFLite; [1, 3, H, W] in blue, green, red for ONNX (RapidOCR reads by OpenCV)."""
        numbers = np.asarray(pixels, np.float32) / 255 * (self.high - self.low) + self.low
        return numbers[None] if self.file.endswith(".tflite") else numbers[None, :, :, ::-1].transpose(0, 3, 1, 2).copy()

    def crops(self, part: str, count: int) -> Iterator[Image.Image]:
        random = np.random.default_rng(SEEDS[part])
        images = [Image.open(fetch() / name).convert("RGB") for name in PHOTOGRAPHS[part]]
        faces = np.load(fetch() / "lfw_subset.npy")[FACES[part]]
        for number in range(count):
            if self.pictures == "faces" and number % 2:
                face = Image.fromarray((faces[number // 2] * 255).astype(np.uint8)).convert("RGB")
                yield face.resize((self.columns, self.rows), Image.Resampling.BICUBIC)
                continue
            crop = cut(images[number % len(images)], self.columns, self.rows, random)
            yield with_text(crop, random) if self.pictures == "text" else crop


def cut(image: Image.Image, width: int, height: int, random: np.random.Generator, least: float = 0.33) -> Image.Image:
    """A part of a picture in the shape wanted, that share of the most that fits or more, mirrored or not."""
    most = min(image.width / width, image.height / height)
    scale = most * random.uniform(least, 1.0)
    left, top = random.uniform(0, image.width - width * scale), random.uniform(0, image.height - height * scale)
    box = (left, top, left + width * scale, top + height * scale)
    part = image.resize((width, height), Image.Resampling.BILINEAR, box=box)
    return part.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if random.random() < 0.5 else part


def with_text(image: Image.Image, random: np.random.Generator) -> Image.Image:
    """Lines of words and numbers over a faded picture: one as high as the picture where that is low, some of them upside down."""
    shade = Image.new("RGB", image.size, tuple(int(each) for each in random.integers(0, 256, 3)))
    image = Image.blend(image, shade, random.uniform(0.5, 1.0))
    dark = np.asarray(image).mean() > 127
    ink = tuple(int(each) for each in (random.integers(0, 80, 3) if dark else random.integers(176, 256, 3)))
    draw = ImageDraw.Draw(image)
    top = 0.0
    while top < image.height - 24:
        size = image.height * random.uniform(0.55, 0.8) if image.height < 100 else random.uniform(20, 36)
        code = "".join(random.choice(list(string.ascii_letters + string.digits), random.integers(2, 7)))
        draw.text((random.uniform(2, 12), top + 2), f"{random.choice(WORDS)} {code}", ink, ImageFont.load_default(size))
        top += size * random.uniform(1.3, 2.5)
    return image.rotate(180) if image.height < 100 and random.random() < 0.25 else image


def with_shape(path: Path, shape: tuple[int, ...]) -> Path:
    """The ONNX file as all peers take it: its one input's sizes said, and in a version of ONNX that has scales by channel."""
    model = onnx.load(path)
    if model.opset_import[0].version < OPSET:
        model = onnx.version_converter.convert_version(model, OPSET)
    for size, dimension in zip(shape, model.graph.input[0].type.tensor_type.shape.dim, strict=True):
        dimension.dim_value = size
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    BUILT.mkdir(parents=True, exist_ok=True)
    onnx.save(onnx.shape_inference.infer_shapes(model), BUILT / path.name)
    return BUILT / path.name


def as_onnx(path: Path) -> Path:
    """A TFLite file as ONNX, by our own target: the same floats for the peers that take nothing else."""
    import transload

    BUILT.mkdir(parents=True, exist_ok=True)
    made = BUILT / f"{path.stem}.onnx"
    if not made.exists():
        transload.save(transload.lower(transload.load(path), "onnx"), made)
    return made


def input_name(path: Path) -> str:
    """The name of a file's one input, as its own runtime has it."""
    if path.suffix == ".onnx":
        return onnx.load(path).graph.input[0].name
    from ai_edge_litert.interpreter import Interpreter

    return Interpreter(str(path)).get_input_details()[0]["name"]


NETWORKS: dict[str, Callable[[], Case]] = {
    name: partial(Network.case, network) for name, network in {
        "ocr_cls": Network("ch_ppocr_mobile_v2.0_cls_infer.onnx", 48, 192, -1.0, 1.0, "text", classes=True),
        "ocr_rec": Network("ch_PP-OCRv4_rec_infer.onnx", 48, 320, -1.0, 1.0, "text", classes=True),
        "ocr_det": Network("ch_PP-OCRv4_det_infer.onnx", 320, 320, -1.0, 1.0, "text"),
        "face_detection": Network("face_detection_short_range.tflite", 128, 128, -1.0, 1.0, "faces"),
        "face_landmark": Network("face_landmark.tflite", 192, 192, pictures="faces"),
        "iris_landmark": Network("iris_landmark.tflite", 64, 64, pictures="faces"),
        "palm_detection": Network("palm_detection_full.tflite", 192, 192),
        "hand_landmark": Network("hand_landmark_full.tflite", 224, 224),
        "hand_recrop": Network("hand_recrop.tflite", 256, 256),
        "pose_detection": Network("pose_detection.tflite", 224, 224, -1.0, 1.0),
    }.items()}
"""By name; each makes its case anew, and fetches the packages where they are not there yet."""
