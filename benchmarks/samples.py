"""Samples from a folder of photographs: images a second, and the memory that it takes to go through them, however many they are.

    python benchmarks/samples.py [--counts 100,1000] [--workers 1,2] [--model model.onnx --method mse] [--json results.json]

Makes a folder of JPEG files of 500 x 375 pixels (smooth noise, each of its own), and goes through it, in a process a row:
each image is resized to 224 x 224, and `(x - mean) * scale`. With `--model`, which takes one image, that is calibrated on them,
by `transload.calibrate`. MiB is the greatest memory of the process, without and with those of its decoders: 1,000 images must
take what 100 do.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

SIZE = (375, 500)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", default="100,1000", help="how many samples, separated by commas")
    parser.add_argument("--workers", default="1,2", help="processes that decode, separated by commas")
    parser.add_argument("--model", type=Path, help="a model to calibrate")
    parser.add_argument("--method", default="mse", help="how its ranges are chosen")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--step", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step:
        folder, count, workers = asked.step
        print(json.dumps(measure(Path(folder), int(count), int(workers), asked.model, asked.method)))
        return
    counts = [int(count) for count in asked.counts.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        make_images(Path(folder), max(counts))
        rest = ["--method", asked.method, *(["--model", str(asked.model)] if asked.model else [])]
        rows = [
            json.loads(subprocess.run(
                [sys.executable, __file__, "--step", folder, str(count), workers, *rest], check=True, capture_output=True,
                text=True).stdout)
            for workers in asked.workers.split(",") for count in counts]
    table = Table("samples", "workers", "seconds", "images/s", "MiB", "MiB with decoders")
    for row in rows:
        table.add_row(*(f"{value:.6g}" for value in row.values()))
    Console().print(table)
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1))


def make_images(folder: Path, count: int) -> None:
    """Files that compress as photographs do: noise of low frequencies."""
    from PIL import Image

    generator = np.random.default_rng(0)
    for number in range(count):
        coarse = generator.integers(0, 255, (SIZE[0] // 12, SIZE[1] // 12, 3), dtype=np.uint8)
        image = Image.fromarray(coarse).resize((SIZE[1], SIZE[0]), Image.Resampling.BICUBIC)
        image.save(folder / f"{number}.jpg", quality=90)


def measure(folder: Path, count: int, workers: int, model: Path | None, method: str) -> dict[str, Any]:
    import transload
    from transload.ir import F32, TensorType

    preprocess = transload.Preprocess(mean=(123.7, 116.3, 103.5), scale=(0.017,))
    module = transload.load(model) if model is not None else None
    inputs = module if module is not None else {"image": TensorType((1, 3, 224, 224), F32)}
    samples = transload.open_samples(folder, inputs, preprocess=preprocess, count=count, workers=workers)
    start = time.perf_counter()
    if module is not None:
        transload.calibrate(module, samples, method)
    else:
        assert sum(1 for _ in samples) == count
    seconds = time.perf_counter() - start
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    decoders = decoders_mib()
    return {
        "samples": count, "workers": workers, "seconds": seconds, "images_per_second": count / seconds, "mib": ours,
        "mib_with_decoders": ours + decoders}


def decoders_mib() -> float:
    """The greatest memory of the processes that this one started and that still run, together."""
    from transload.child import _running

    total = 0.0
    for child in list(_running):
        status = Path(f"/proc/{child.process.pid}/status")
        if status.exists():
            line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
            total += int(line.split()[1]) / 1024
    return total


if __name__ == "__main__":
    main()
