"""The float networks of MLPerf Tiny, quantized by us for an Ethos-U, beside the integer files that their authors publish.

    python benchmarks/mlperf_tiny.py [../shared/models] [--target ethos-u85-256] [--only NAME] [--json FILE]
    python benchmarks/mlperf_tiny.py --target tflm      # the arena of each, in bytes, in which tflite-micro runs it

Each network goes through one call, `transload.convert(float, target, quantize="int8", data=...)` with integers at inputs and
outputs, which calibrates, quantizes, compiles by Vela and verifies that the program gives the quantized module's bits. Shown are
what stays on the processor, Vela's cycles (and those of the authors' integers), the share of right answers of the float file
(LiteRT), of the authors' integers (LiteRT's reference kernels) and of ours, on labelled samples that calibrated nothing, and how
near both are to the float file.

Every fifth sample calibrates. Images are CIFAR-10's (labelled); words are the MFCC vectors of the benchmark (labelled), which its
authors publish as integers of their own file's scale; people are searched in crops of photographs that no label tells of; sounds
are log-mel windows of short recordings of speech and noise, as the benchmark makes them of machines (`common.py` there): louder
than the authors' integers reach. The detector of anomalies and that of people are judged by nearness alone.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from model_samples import FOLDER, crop, images, sounds
from PIL import Image
from quantizer_tools import tflite_run
from rich.console import Console
from rich.table import Table

import transload
from transload.errors import TransloadError
from transload.metrics import sqnr
from transload.plugin import resolve
from transload.plugin_host import host

CALIBRATED = 5
"""One sample of so many calibrates."""
CROPS = 100
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
KWS_SCALE, KWS_ZERO_POINT = 0.5847029089927673, 83
"""Of the input of the authors' integer file, in whose integers the words are published."""
RATE, WINDOW, HOP, BANDS, FRAMES = 16000, 1024, 512, 128, 5
"""Of log-mel windows: samples a second, of a window, and between two; bands of frequencies; frames in an input."""


@dataclass(frozen=True)
class Network:
    """A float file, the integer file of its authors, and what they are asked."""

    float_file: Path
    integer_file: Path
    samples: np.ndarray
    """[N, 1, ...], in float32, as the float file takes them."""
    labels: np.ndarray | None = None
    """[N], where they are known."""
    classes: bool = True
    """Whether outputs score classes."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, help="models in `tflite/`, data in `data/`")
    parser.add_argument("--target", action="append", help="repeatable; ethos-u85-256")
    parser.add_argument("--scheme", default="int8")
    parser.add_argument("--only", choices=NETWORKS, action="append", help="this network; repeatable")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    rows = []
    for name in arguments.only or NETWORKS:
        network = NETWORKS[name](arguments.folder)
        for target in arguments.target or ["ethos-u85-256"]:
            rows.append({"network": name, "target": target} | on_chip(network, target, arguments.scheme)
                        | scores(network, target, arguments.scheme))
    show(rows)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


def calibrating(network: Network) -> tuple[list[dict[str, np.ndarray]], np.ndarray]:
    """The samples that calibrate, and which of all these are [N]."""
    chosen = np.arange(len(network.samples)) % CALIBRATED == 0
    (name,) = transload.load(network.float_file).inputs
    return [{name: sample} for sample in network.samples[chosen]], chosen


def on_chip(network: Network, target: str, scheme: str) -> dict[str, Any]:
    """What one call makes of a network for one target, or why nothing."""
    with TemporaryDirectory() as folder:
        try:
            transload.convert(
                network.float_file, target, out=folder, quantize=scheme, data=calibrating(network)[0],
                quantizer_options={"quant_input": "all", "quant_output": "all"})
        except TransloadError as error:
            return {"error": str(error)}
        report = json.loads((Path(folder) / "report.json").read_text())
    chip = report["target_report"]
    if "arena_bytes" in chip:  # a microcontroller
        theirs = report_of(network.integer_file, target)
        return {
            "host": [], "floats": report["quantization"]["floats"], "verified": report["verification"]["status"] == "passed",
            "arena": chip["arena_bytes"], "their arena": theirs and theirs["arena_bytes"],
            "bytes": chip["model_bytes"], "their bytes": theirs and theirs["model_bytes"]}
    theirs = report_of(network.integer_file, target)
    return {
        "host": sorted({op["op"] for op in chip["ops"] if op["on"] == "host"}), "npu": chip["npu_percent"],
        "cycles": chip["total_cycles"], "their cycles": theirs and theirs["total_cycles"],
        "floats": report["quantization"]["floats"], "verified": report["verification"]["status"] == "passed"}


def report_of(path: Path, target: str) -> dict[str, Any] | None:
    """What a target tells of an integer file as it is; None where it does not go there."""
    try:
        with TemporaryDirectory() as folder:
            transload.convert(path, target, out=folder, verify="no")
            told: dict[str, Any] = json.loads((Path(folder) / "report.json").read_text())["target_report"]
            return told
    except TransloadError:
        return None


def scores(network: Network, target: str, scheme: str) -> dict[str, Any]:
    """Accuracy and nearness of the float file, of its authors' integers and of ours, on the samples that did not calibrate.

    Ours are quantized as for the target, but for floats at inputs and outputs, in which all three are compared.
    """
    samples, chosen = calibrating(network)
    as_for_target = dict(host().get("targets", target).quantizing)
    quantized = transload.quantize(transload.load(network.float_file), scheme, samples, **as_for_target)
    (name,) = quantized.inputs
    execute = resolve(host().get("engines", "reference").prepare)(quantized, "main")
    runs: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "float": _first(tflite_run(network.float_file.read_bytes()), name),
        "theirs": _first(tflite_run(network.integer_file.read_bytes()), None),
        "ours": lambda sample: next(iter(execute({name: sample}, False).values()))}
    outputs = {who: np.concatenate([run(sample) for sample in network.samples]) for who, run in runs.items()}
    judged = {who: found[~chosen] for who, found in outputs.items()}
    row: dict[str, Any] = {"samples": len(judged["float"])}
    for who, found in judged.items():
        if network.labels is not None:
            row[f"{who} %"] = 100 * float(np.mean(found.argmax(-1) == network.labels[~chosen]))
            row[f"{who} % of all"] = 100 * float(np.mean(outputs[who].argmax(-1) == network.labels))
        if who != "float":
            row[f"{who} dB"] = sqnr(judged["float"], found)
            if network.classes:
                row[f"{who} agrees"] = 100 * float(np.mean(found.argmax(-1) == judged["float"].argmax(-1)))
    return row


def _first(run: Callable[..., Any], name: str | None) -> Callable[[np.ndarray], np.ndarray]:
    """The first output of a model of one input, whose name it is or, without one, whatever it is called."""
    def first(sample: np.ndarray) -> np.ndarray:
        return next(iter(run({name: sample} if name else _AnyName(sample)).values()))

    return first


class _AnyName(dict[str, np.ndarray]):
    """A sample of one array, whatever an input is called."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __missing__(self, name: str) -> np.ndarray:
        return self.array


# --- networks


def resnet8(folder: Path) -> Network:
    """CIFAR-10: pixels from 0 to 255 as they are."""
    files = sorted((folder / "data" / "cifar10_test_jpg").glob("*.jpg"))
    images = np.stack([np.asarray(Image.open(file).convert("RGB"), np.float32) for file in files])
    labels = np.array([CLASSES.index(file.name.split("_")[0]) for file in files])
    return _network(folder, "resnet8", images[:, None], labels)


def kws(folder: Path) -> Network:
    """Words: 49 x 10 MFCC."""
    files = sorted((folder / "data" / "kws01_mfcc_int8").glob("*.bin"))
    stored = np.stack([np.fromfile(file, np.int8) for file in files]).astype(np.float32)
    numbers = (stored - KWS_ZERO_POINT) * np.float32(KWS_SCALE)
    labels = np.array([int(file.stem.split("_")[-1]) for file in files])
    return _network(folder, "kws", numbers.reshape(-1, 1, 49, 10, 1), labels)


def vww(folder: Path) -> Network:
    """People: pixels from 0 to 1."""
    there, random = images(folder), np.random.default_rng(0)
    crops = [crop(there[number % len(there)], 96, 96, random) / 255 for number in range(CROPS)]
    return _network(folder, "vww", np.stack(crops)[:, None])


def ad(folder: Path) -> Network:
    """Sounds: five frames of 128 log-mel bands."""
    windows = [window for sound in sounds(folder) for window in log_mel(sound)]
    return _network(folder, "ad", np.stack(windows)[:, None], classes=False)


def log_mel(sound: np.ndarray) -> Iterator[np.ndarray]:
    """The inputs [640] that a recording makes, in decibels, as the benchmark's `common.py` computes them."""
    sound = np.pad(sound, WINDOW // 2, mode="reflect")
    count = 1 + (len(sound) - WINDOW) // HOP
    cut = np.stack([sound[n * HOP : n * HOP + WINDOW] for n in range(count)])
    power = np.abs(np.fft.rfft(cut * np.hanning(WINDOW + 1)[:-1])) ** 2
    decibels = 10 * np.log10(power @ mel_bands().T + np.finfo(np.float64).eps)
    for first in range(count - FRAMES + 1):
        yield decibels[first : first + FRAMES].ravel().astype(np.float32)


def mel_bands() -> np.ndarray:
    """Triangles over frequencies [128, 513], evenly spaced in mel (Slaney's, as librosa has them), each of unit area."""
    edges = _hertz(np.linspace(0.0, _mel(RATE / 2), BANDS + 2))
    at = np.linspace(0, RATE / 2, WINDOW // 2 + 1)
    rising = (at - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - at) / np.diff(edges)[1:, None]
    return np.maximum(0, np.minimum(rising, falling)) * (2 / (edges[2:] - edges[:-2]))[:, None]


def _mel(hertz: float) -> float:
    return 15 + np.log(hertz / 1000) * 27 / np.log(6.4)


def _hertz(mel: np.ndarray) -> np.ndarray:
    return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))


def _network(folder: Path, name: str, samples: np.ndarray, labels: np.ndarray | None = None, classes: bool = True) -> Network:
    files = (next((folder / "tflite" / f"mlperf_{name}_{form}").glob("*.tflite")) for form in ("float", "int8"))
    return Network(*files, samples.astype(np.float32), labels, classes)


NETWORKS: dict[str, Callable[[Path], Network]] = {"resnet8": resnet8, "kws": kws, "vww": vww, "ad": ad}


# --- the table

COLUMNS = (
    "cycles", "their cycles", "arena", "their arena", "bytes", "their bytes",
    "samples", "float %", "theirs %", "ours %", "float % of all", "theirs % of all", "ours % of all",
    "theirs dB", "ours dB", "theirs agrees", "ours agrees")


def show(rows: Sequence[dict[str, Any]]) -> None:
    """A row for each network and target; below, what failed, or stays float or on the processor. No figure is cut off."""
    found = [row for row in rows if "error" not in row]
    columns = [key for key in COLUMNS if any(row.get(key) is not None for row in found)]
    table = Table("network", "target", "on the NPU", *columns)
    for row in found:
        table.add_row(row["network"], row["target"], "all" if not row["host"] else f"{row['npu']} %", *(
            _text(row.get(key)) for key in columns))
    console = Console(width=220)
    console.print(table)
    for row in rows:
        if "error" in row or row["host"] or row["floats"] or not row["verified"]:
            console.print(f"{row['network']}, {row['target']}: " + (row.get("error") or (
                f"on the processor: {row['host']}; float: {row['floats']}; verified: {row['verified']}")), markup=False)


def _text(number: Any) -> str:
    return "-" if number is None else f"{number:,}" if isinstance(number, int) else f"{number:.2f}"


if __name__ == "__main__":
    main()
