"""Cases of the benchmark of quantizers on real models of a folder that is not in the repository: the rows to be compared.

The folder is `TRANSLOAD_MODELS`, by default `../shared/models`; where a model or its data is not there, its case raises
`Missing`.
CIFAR-10 and the keywords have labels, and their calibration samples lie evenly among all. Networks of pictures take crops of
photographs with fixed seeds, others to calibrate than to judge; ImageNet's own pictures are not there, so that a classifier has
no labels. The transformer takes the two spoken words that there are, changed in time, speed and loudness over noise, with one
seed to calibrate and another to judge: less unlike than other speakers would be. How inputs are made is what the models' authors
do.

Classifiers are measured before their softmax, which is cut off the files for all tools alike: of probabilities near 0 and 1 the
signal-to-noise ratio says more about how certain a network is than about its quantizer.
"""

from __future__ import annotations

import csv
import json
import os
import wave
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from package_models import fetch
from PIL import Image
from quantizer_cases import BUILT, ROOT, Case, Sample
from quantizer_networks import SEEDS, as_onnx, cut, input_name, with_shape
from rich.console import Console

__all__ = ["MODELS", "PHOTOGRAPHS", "Missing", "Pictures"]

FOLDER = Path(os.environ.get("TRANSLOAD_MODELS") or ROOT.parent / "shared" / "models")
KEYWORDS_CALIBRATE = 200
KEYWORD_SCALE, KEYWORD_ZERO = 0.5847029089927673, 83
"""Of the features' bytes: what the int8 network of the same authors takes."""
PHOTOGRAPHS: Mapping[str, tuple[str, ...]] = {
    "calibration": (
        "chelsea.png", "coffee.png", "flower.jpg", "rocket.jpg", "mobilenet_ssd_images/000001.jpg",
        "mobilenet_ssd_images/000456.jpg", "mobilenet_ssd_images/001150.jpg", "coral_images/bird.bmp"),
    "evaluation": (
        "astronaut.png", "china.jpg", "motorcycle_left.png", "coral_images/cat.bmp", "coral_images/grace_hopper.bmp",
        "coral_images/squat.bmp", "mobilenet_caffe/cat.jpg", "mobilenet_ssd_images/000067.jpg", "mobilenet_ssd_images/000542.jpg",
        "mobilenet_ssd_images/001763.jpg", "mobilenet_ssd_images/004545.jpg"),
}
"""With a folder those of the models, without those of packages."""
SPOKEN = {"yes_1000ms.wav": 2, "no_1000ms.wav": 3, "silence_1000ms.wav": 0}
"""Recordings, with their place in `kwt1_labels.txt`."""
RATE = 16000
"""Samples of sound in a second, which is what the transformer takes."""


class Missing(Exception):
    """A model or its data is not there: the path that was looked for."""


def there(name: str) -> Path:
    """A file or folder of the models. Raises `Missing`."""
    path = FOLDER / name
    if not path.exists():
        raise Missing(f"{path} is not there; TRANSLOAD_MODELS names the folder of models")
    return path


def floats(name: str) -> dict[str, Path]:
    """A TFLite network as both kinds of file, with weights in floats whatever the file holds them in."""
    import transload

    path = there(name)
    BUILT.mkdir(parents=True, exist_ok=True)
    made = BUILT / f"{path.stem}.tflite"
    if not made.exists():
        hub = transload.lower(transload.load(path), "top", hybrid="float")
        transload.save(transload.lower(hub, "tfl"), made)
    return {".tflite": made, ".onnx": as_onnx(made)}


def without_softmax(path: Path) -> Path:
    """The network without the softmax that its one output comes from; the file itself where there is none."""
    content = (_onnx_without if path.suffix == ".onnx" else _tflite_without)(path)
    if content is None:
        return path
    BUILT.mkdir(parents=True, exist_ok=True)
    made = BUILT / f"{path.parent.name}_{path.stem}_logits{path.suffix}"
    made.write_bytes(content)
    return made


def _onnx_without(path: Path) -> bytes | None:
    model = onnx.load(path)
    graph = model.graph
    (last,) = (node for node in graph.node if graph.output[0].name in node.output)
    if last.op_type != "Softmax":
        return None
    graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info(last.input[0], onnx.TensorProto.FLOAT, None))
    graph.node.remove(last)
    return onnx.shape_inference.infer_shapes(model).SerializeToString()


def _tflite_without(path: Path) -> bytes | None:
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf(path.read_bytes(), 0)
    (graph,) = model.subgraphs
    (last,) = (op for op in graph.operators if graph.outputs[0] in op.outputs)
    code = model.operatorCodes[last.opcodeIndex]
    if max(code.builtinCode, code.deprecatedBuiltinCode) != schema.BuiltinOperator.SOFTMAX:
        return None
    graph.operators.remove(last)
    (gone,) = last.outputs  # ai-edge-quantizer's calibrator reads every tensor of a file, and there is none that nothing computes
    del graph.tensors[gone]
    graph.outputs = [last.inputs[0]]
    for holder in (graph, *graph.operators):
        for name in ("inputs", "outputs", "intermediates"):
            held = getattr(holder, name, None)
            if held is not None:
                setattr(holder, name, [int(index) - (index > gone) for index in held])
    model.signatureDefs = []
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def case_of(
    files: Mapping[str, Path], calibration: list[np.ndarray], evaluation: list[np.ndarray], *, labels: np.ndarray | None = None,
    classes: bool = True, peak: float | None = None,
) -> Case:
    """A case of networks with one input, which takes the same numbers whatever the file; classifiers without their softmax."""
    files = {ending: without_softmax(path) if classes else path for ending, path in files.items()}
    names = {ending: input_name(path) for ending, path in files.items()}

    def named(arrays: list[np.ndarray]) -> dict[str, list[Sample]]:
        return {ending: [{name: array} for array in arrays] for ending, name in names.items()}

    return Case(files, named(calibration), named(evaluation), labels, classes, peak)


def cifar(file: str) -> Case:
    """CIFAR-10: pixels of 0 to 255; of the pictures in order of their names every fifth calibrates."""
    folder = there("data/cifar10_test_jpg")
    with (folder / "labels.csv").open() as lines:
        classes = {row["file"]: int(row["label"]) for row in csv.DictReader(lines)}
    names = sorted(classes)
    images = [np.asarray(Image.open(folder / name).convert("RGB"), np.float32)[None] for name in names]
    labels = np.array([classes[name] for name in names])
    return split({".tflite": there(file), ".onnx": as_onnx(there(file))}, images, labels, np.arange(len(images)) % 5 == 0)


def keywords(file: str) -> Case:
    """Spoken keywords as MFCC features; 200 that lie evenly among all calibrate."""
    folder = there("data/kws01_mfcc_int8")
    with (folder / "y_labels.csv").open() as lines:
        rows = [(name, int(label)) for name, _, label in csv.reader(lines)]
    bytes_ = [np.fromfile(folder / name, np.int8).reshape(1, 49, 10, 1) for name, _ in rows]
    features = [((each - np.float32(KEYWORD_ZERO)) * np.float32(KEYWORD_SCALE)).astype(np.float32) for each in bytes_]
    chosen = np.zeros(len(rows), bool)
    chosen[np.arange(KEYWORDS_CALIBRATE) * len(rows) // KEYWORDS_CALIBRATE] = True
    return split(floats(file), features, np.array([label for _, label in rows]), chosen)


def split(files: Mapping[str, Path], arrays: list[np.ndarray], labels: np.ndarray, chosen: np.ndarray) -> Case:
    """A case whose chosen samples calibrate, and the others judge."""
    parts = ([array for array, calibrates in zip(arrays, chosen, strict=True) if calibrates == part] for part in (True, False))
    return case_of(files, *parts, labels=labels[~chosen])


@dataclass(frozen=True)
class Pictures:
    """A network of pictures: its files, the pixels it takes, and the numbers that they become."""

    files: tuple[str, ...]
    rows: int
    columns: int
    mean: float
    divisor: float
    mode: str = "RGB"
    """`RGB`, `BGR`, or `Y`: the brightness alone."""
    calibration: int = 32
    evaluation: int = 48
    classes: bool = False
    peak: float | None = None

    def case(self) -> Case:
        paths = [there(name) for name in self.files]
        files = {path.suffix: path for path in paths}
        if ".tflite" not in files:
            files[".onnx"] = with_shape(paths[0], (1, 1 if self.mode == "Y" else 3, self.rows, self.columns))
        elif ".onnx" not in files:
            files[".onnx"] = as_onnx(paths[0])
        parts = [list(self.arrays(part, count)) for part, count in (
            ("calibration", self.calibration), ("evaluation", self.evaluation))]
        return case_of(files, *parts, classes=self.classes, peak=self.peak)

    def arrays(self, part: str, count: int) -> Iterator[np.ndarray]:
        """Crops of the photographs in turn as the network takes them, channels last for TFLite, first for ONNX."""
        random = np.random.default_rng(SEEDS[part])
        names = PHOTOGRAPHS[part]
        images = [Image.open(there(f"data/{name}") if "/" in name else fetch() / name).convert("RGB") for name in names]
        for number in range(count):
            pixels = np.asarray(cut(images[number % len(images)], self.columns, self.rows, random, least=0.5))
            if self.mode == "Y":
                pixels = np.asarray(Image.fromarray(pixels).convert("YCbCr"))[..., :1]
            numbers = (pixels.astype(np.float32)[..., :: -1 if self.mode == "BGR" else 1] - self.mean) / self.divisor
            last = self.files[0].endswith(".tflite")
            yield np.ascontiguousarray((numbers if last else numbers.transpose(2, 0, 1))[None], np.float32)


def transformer(*files: str, count: int = 200) -> Case:
    """The keyword transformer: spoken words, and silence, over noise."""
    folder = there("data/tflm_wav")
    parts = {part: [] for part in SEEDS}  # type: dict[str, list[np.ndarray]]
    recordings = {name: sound(folder / name) for name in (*SPOKEN, "noise_1000ms.wav")}
    labels = [list(SPOKEN.values())[number % len(SPOKEN)] for number in range(count)]
    for part, arrays in parts.items():
        random = np.random.default_rng(SEEDS[part])
        for number in range(count):
            spoken = recordings[list(SPOKEN)[number % len(SPOKEN)]]
            arrays.append(over_noise(spoken, recordings["noise_1000ms.wav"], random)[None])
    return case_of({Path(name).suffix: there(name) for name in files}, *parts.values(), labels=np.array(labels))


def sound(path: Path) -> np.ndarray:
    """A recording of one channel in 16 bits, as floats between -1 and 1."""
    with wave.open(str(path)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 2**15


def over_noise(spoken: np.ndarray, noise: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A second of a recording at another speed, place and loudness, over noise of some loudness."""
    speed = random.uniform(0.9, 1.1)
    places = np.arange(int(len(spoken) / speed)) * speed
    word = np.interp(places, np.arange(len(spoken)), spoken)
    heard = np.zeros(RATE)
    shift = int(random.integers(-RATE // 12, RATE // 12 + 1))
    from_, to = max(shift, 0), min(RATE, shift + len(word))
    heard[from_:to] = word[from_ - shift:to - shift]
    behind = np.roll(noise, int(random.integers(RATE)))
    mixed = heard * 10 ** random.uniform(-0.5, 0.2) + behind * 10 ** random.uniform(-2.5, -1.0)
    return np.clip(mixed, -1.0, 1.0).astype(np.float32)


MOBILENET = ("tflite/support_mobilenet_v1_0.25_224_float/mobilenet_v1_0.25_224_1_default_1.tflite",
             "onnx/derived_mobilenet_v1_0.25_224_f32/model.onnx")
MODELS: dict[str, Callable[[], Case]] = {
    "mobilenet_v1": partial(Pictures.case, Pictures(
        MOBILENET, 224, 224, 127.5, 127.5, calibration=64, evaluation=220, classes=True)),
    "resnet8": partial(cifar, "tflite/mlperf_resnet8_float/pretrainedResnet.tflite"),
    "kws": partial(keywords, "tflite/mlperf_kws_float/kws_ref_model_float32.tflite"),
    "ultraface": partial(Pictures.case, Pictures(
        ("onnx/ultraface_rfb_320/version-RFB-320.onnx",), 240, 320, 127.0, 128.0)),
    "yunet": partial(Pictures.case, Pictures(("onnx/yunet_n_320/yunet_n_320_320.onnx",), 320, 320, 0.0, 1.0, "BGR")),
    "super_resolution": partial(Pictures.case, Pictures(
        ("onnx/super_resolution/pytorch_super_resolution.onnx",), 224, 224, 0.0, 255.0, "Y", evaluation=33, peak=1.0)),
    "kwt1": partial(
        transformer, "onnx/derived_kwt1_transformer_f32/model.onnx", "tflite/kwt1_keyword_transformer/non_stream.tflite"),
    "deeplab": partial(Pictures.case, Pictures(
        ("tflite/support_deeplabv3_float/deeplabv3.tflite",), 257, 257, 127.5, 127.5, evaluation=22, classes=True)),
}
"""By name, in the order of the rows."""


def rows_of_cases(
    names: Iterable[str], measure: Callable[[Case], Iterable[Mapping[str, Any]]], file: Path | None,
) -> list[dict[str, Any]]:
    """The rows that `measure` gives of each model, printed and written to a JSON file as they come; of one not there, why."""
    rows: list[dict[str, Any]] = []
    for name in names:
        try:
            case = MODELS[name]()
        except Missing as why:
            rows.append({"case": name, "error": str(why)})
            continue
        for row in measure(case):
            rows.append({"case": name, **row})
            Console(stderr=True).print(rows[-1])
            if file is not None:
                file.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return rows
