"""What calibration costs: seconds and peak memory of a process, by the number of samples, of threads, and by the method.

    python benchmarks/calibration.py [MODEL] [--samples 32,256] [--methods minmax,mse,auto] [--workers 1,2] [--quantize]

MODEL is any float model that `transload.load` reads; without it, a detector of faces about as large as UltraFace RFB 320 is made,
with random weights. Samples are random numbers, made as they are asked for. Each row is a process of its own: `cpu` is its
processor time in all, starting included, `whole` the time by the clock, whatever else the machine does. With `--quantize` the
model is quantized to `int8` by the ranges, biases corrected.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from calibration_network import write_detector
from peer import run_step
from rich.console import Console
from rich.table import Table

START = time.perf_counter()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--samples", default="32,256", help="how many, separated by commas")
    parser.add_argument("--methods", default="minmax,mse,auto")
    parser.add_argument("--workers", default="2")
    parser.add_argument("--quantize", action="store_true")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        print(json.dumps(measure(arguments.model, *arguments.step.split("/"))))
        return
    table = Table("samples", "method", "threads", "whole s", "cpu s", "peak MB")
    with TemporaryDirectory() as folder:
        model = arguments.model or write_detector(Path(folder) / "detector.onnx")
        what = "quantize" if arguments.quantize else "calibrate"
        for row in itertools.product(*(text.split(",") for text in (arguments.samples, arguments.methods, arguments.workers))):
            found = run_step(__file__, "/".join((what, *row)), model)
            figures = (f"{found[key]:.{places}f}" for key, places in (("whole", 2), ("cpu", 2), ("peak_mb", 0))) \
                if "error" not in found else (found["error"],)
            table.add_row(*row, *figures)
    Console(width=110).print(table)


class Random:
    """Random samples for a model, made as they are asked for."""

    def __init__(self, inputs: dict[str, Any], count: int) -> None:
        self.inputs = inputs
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        for seed in range(self.count):
            rng = np.random.default_rng(seed)
            yield {name: rng.standard_normal(type_.shape).astype(np.float32) for name, type_ in self.inputs.items()}


def measure(model: Path, what: str, count: str, method: str, workers: str) -> dict[str, float]:
    """Calibrate in this process, and quantize where that is asked for."""
    import transload

    module = transload.load(model)
    samples = Random(module.inputs, int(count))
    table = transload.calibrate(module, samples, method, symmetric=True, workers=int(workers))
    if what == "quantize":
        transload.quantize(module, "int8", samples, calibration=table)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024 ** 2)
    return {"whole": time.perf_counter() - START, "cpu": time.process_time(), "peak_mb": peak}


if __name__ == "__main__":
    main()
