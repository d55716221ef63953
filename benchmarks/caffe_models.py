"""Caffe models against OpenCV: how near TOSA is, and what the networks whose samples are at hand get right.

    python benchmarks/caffe_models.py ../shared/models [--json results.json] [--no-accuracy]

For every `.prototxt` of a folder: the worst output (cosine and greatest difference against OpenCV) of TOSA in our engine, and
in Arm's `tosa_reference_model` where it is installed. Images stand for inputs where they can: of noise, detectors find nothing.
Accuracies: LeNet on 2,000 digits of MNIST (pixels by 256), cifar10_quick on 1,000 images (pixels less the mean of these images).
`--large` measures how long a file of weights of 100 MB takes to load, in processor seconds.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from onnx_vs_runtime import count, distance, reference_model, timed
from rich.console import Console
from rich.table import Table

import transload
from transload.errors import TransloadError
from transload.ir import Module
from transload.plugin_host import host
from transload.protobuf import varint

__all__ = ["accuracies", "inputs_for", "load_seconds", "measure"]

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("../shared/models"))
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--no-accuracy", action="store_true", help="leave the accuracies out")
    parser.add_argument("--large", action="store_true", help="measure how long 100 MB of weights take to load, and no more")
    arguments = parser.parse_args()
    result: dict[str, Any] = {}
    if arguments.large:
        result["load_seconds"] = load_seconds(100)
        print(f"100 MB of weights load in {result['load_seconds']:.3f} s of processor time")
    else:
        result["models"] = [measure(path, arguments.folder) for path in sorted(arguments.folder.glob("caffe/*/*.prototxt"))]
        _show(result["models"])
        if not arguments.no_accuracy:
            result["accuracy"] = accuracies(arguments.folder)
            for name, (right, total) in result["accuracy"].items():
                print(f"{name}: {right} of {total}")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1))


def _show(rows: list[dict[str, Any]]) -> None:
    table = Table(title="Caffe models against OpenCV")
    columns = ("model", "ops", "load_ms", "tosa_ops", "tosa_ms", "tosa_cos", "tosa_max", "model_cos", "model_max")
    for column in columns:
        table.add_column(column.replace("_", " ").replace("model cos", "reference model cos"), justify="right")
    for row in rows:
        values = (row.get(column, "-") for column in columns)
        table.add_row(*(f"{value:.7g}" if isinstance(value, float) else str(value) for value in values))
    Console(width=160).print(table)
    for row in rows:
        if "why" in row:
            print(f"{row['model']}: {row['why']}")


def measure(path: Path, folder: Path) -> dict[str, Any]:
    """Load, convert and run one model; where a step fails, `why` says so and the later ones are missing."""
    row: dict[str, Any] = {"model": path.parent.name}
    try:
        source, row["load_ms"] = timed(lambda: transload.load(path))
        row["ops"] = count(source)
        tosa, row["tosa_ms"] = timed(lambda: transload.lower(source, "tosa"))
        row["tosa_ops"] = count(tosa)
        inputs = inputs_for(path, source, folder)
        wanted = host().get("runtimes", "opencv").opened(path, source.beside)(inputs)
        row["tosa_cos"], row["tosa_max"] = distance(wanted, transload.run(tosa, inputs))
        judged = reference_model(tosa, inputs)
        if judged is not None:
            row["model_cos"], row["model_max"] = distance(wanted, judged)
    except TransloadError as error:
        row["why"] = " ".join(str(error).split())
    return row


def inputs_for(path: Path, module: Module, folder: Path) -> dict[str, np.ndarray]:
    """What a model is made for: digits, small pictures, photographs, a code of black and white squares; else noise."""
    (name, type_), = module.inputs.items()
    shape = type_.static_shape
    if path.parent.name == "lenet_mnist":
        return {name: _digits(folder)[0][: shape[0]]}
    if path.parent.name == "cifar10_quick":
        return {name: _pictures(folder)[0][: shape[0]]}
    if shape[1] == 1:
        return {name: _code(shape)}
    photograph = sorted((folder / "data" / "coral_images").glob("grace_hopper.bmp"))
    if photograph:
        from PIL import Image

        pixels = np.asarray(Image.open(photograph[0]).convert("RGB").resize((shape[3], shape[2])), np.float32)
        return {name: ((pixels - 127.5) / 128).transpose(2, 0, 1)[None].copy()}
    return {name: np.random.default_rng(0).normal(size=shape).astype(np.float32)}


def _code(shape: tuple[int, ...]) -> np.ndarray:
    """A QR code as a detector sees it: three squares in corners, and squares by chance between them, from 0 to 1."""
    modules = np.random.default_rng(0).integers(0, 2, (29, 29)).astype(np.float32)
    for row, column in ((0, 0), (0, 22), (22, 0)):
        modules[row : row + 7, column : column + 7] = 0
        modules[row + 1 : row + 6, column + 1 : column + 6] = 1
        modules[row + 2 : row + 5, column + 2 : column + 5] = 0
    image = np.ones(shape, np.float32)
    size = shape[2] // 48
    start = (shape[2] - 29 * size) // 2
    image[0, 0, start : start + 29 * size, start : start + 29 * size] = np.kron(modules, np.ones((size, size), np.float32))
    return image


# --- accuracies


def _digits(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    place = folder / "data" / "mnist_t10k"
    images = np.frombuffer(gzip.decompress((place / "images-idx3-ubyte.gz").read_bytes()), np.uint8)[16:]
    labels = np.frombuffer(gzip.decompress((place / "labels-idx1-ubyte.gz").read_bytes()), np.uint8)[8:]
    return images.reshape(-1, 1, 28, 28).astype(np.float32) / 256, labels


def _pictures(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    from PIL import Image

    files = sorted((folder / "data" / "cifar10_test_jpg").glob("*.jpg"))
    pixels = np.stack([np.asarray(Image.open(file).convert("RGB"), np.float32).transpose(2, 0, 1) for file in files])
    return pixels - pixels.mean(axis=0), np.array([CLASSES.index(file.name.split("_")[0]) for file in files])


def accuracies(folder: Path) -> dict[str, tuple[int, int]]:
    """How many of how many samples the TOSA of each network gets right."""
    found = {}
    for name, (samples, labels) in {"lenet_mnist": _digits(folder), "cifar10_quick": _pictures(folder)}.items():
        path = next((folder / "caffe" / name).glob("*.prototxt"))
        source = transload.load(path, inputs={"data": (50, *samples.shape[1:])})
        tosa = transload.lower(source, "tosa")
        right = 0
        for start in range(0, len(samples), 50):
            (scores,) = transload.run(tosa, {"data": samples[start : start + 50]}).values()
            right += int((scores.argmax(axis=1) == labels[start : start + 50]).sum())
        found[name] = right, len(samples)
    return found


# --- large files


def load_seconds(megabytes: int) -> float:
    """The processor seconds that a network of one product takes to load, its weights in a file of this size; the first time."""
    rows = megabytes * 250_000 // 5000
    layer = 'layer {{ name: "p" type: "InnerProduct" bottom: "x" top: "y" inner_product_param {{ num_output: {} {} }} }}'
    with TemporaryDirectory() as place:
        network = Path(place) / "net.prototxt"
        network.write_text('input: "x" input_shape { dim: 1 dim: 5000 }\n' + layer.format(rows, "bias_term: false"))
        (Path(place) / "net.caffemodel").write_bytes(_weights({"p": np.ones((rows, 5000), np.float32)}))
        start = time.process_time()
        transload.load(network)
        return time.process_time() - start


def _weights(blobs: Mapping[str, np.ndarray]) -> bytes:
    """A serialized network of layers with one blob each; written here, as the parser's package would copy all of them."""
    parts = []
    for name, array in blobs.items():
        sizes = b"".join(varint(size) for size in array.shape)
        shape = _sized(7, _sized(1, sizes))
        layer = _sized(1, name.encode()) + _sized(7, shape + _sized(5, array.tobytes()))
        parts.append(_sized(100, layer))
    return b"".join(parts)


def _sized(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


if __name__ == "__main__":
    sys.exit(main())
