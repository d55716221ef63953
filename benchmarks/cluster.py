"""Calibration by the workers of a Dask cluster on this machine: seconds and table by samples and workers.

    python benchmarks/cluster.py [MODEL] [--samples 64,256] [--workers 1,2,4] [--rounds 3] [--json results.json]

MODEL is any float model that `transload.load` reads; without it, a detector of faces about as large as UltraFace RFB 320 is made,
with random weights. Samples are random numbers, made as they are asked for. Each round calibrates in one process (`alone`), with
so many workers of one thread each, and with the last number of them again, one of which is killed when half of the samples are
asked for. Seconds are medians, without the cluster's start, and with what sends the model to each worker; `times` is against
`alone` of the same round. `CPU` are the seconds of processors that this process and the workers took, whatever else ran (not told
where a worker was killed, which takes its count along). All tables of so many samples have to be the same, bit for bit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from calibration import Random
from calibration_network import write_detector
from distributed import Client, LocalCluster
from rich.console import Console
from rich.table import Table

import transload

ALONE = "alone"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--samples", default="64,256", help="how many, separated by commas")
    parser.add_argument("--workers", default="1,2,4", help="numbers of workers, separated by commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the results to this file")
    asked = parser.parse_args()
    numbers = [int(each) for each in asked.workers.split(",")]
    found: list[dict[str, Any]] = []
    with TemporaryDirectory() as folder:
        model = transload.load(asked.model or write_detector(Path(folder) / "detector.onnx"))
        for count in map(int, asked.samples.split(",")):
            for _ in range(asked.rounds):
                found += one_round(model, count, numbers, Path(folder))
    show(found)
    if asked.json is not None:
        asked.json.write_text(json.dumps(found, indent=2))
    for count in {each["samples"] for each in found}:
        if len({each["table"] for each in found if each["samples"] == count}) != 1:
            sys.exit(f"the tables of {count} samples differ")


def one_round(model: transload.Module, count: int, numbers: list[int], folder: Path) -> Iterator[dict[str, Any]]:
    """Each way once, in turn."""
    yield measured(ALONE, model, count, folder, workers=1)
    for number in numbers:
        yield by_cluster(model, count, number, folder)
    yield by_cluster(model, count, numbers[-1], folder, kill=True)


def by_cluster(model: transload.Module, count: int, number: int, folder: Path, kill: bool = False) -> dict[str, Any]:
    """With the workers of a cluster, which starts before and is ready."""
    with ExitStack() as opened:
        cluster = opened.enter_context(LocalCluster(
            n_workers=number, threads_per_worker=1, processes=True, dashboard_address=":0", host="127.0.0.1"))
        client = opened.enter_context(Client(cluster.scheduler_address, set_as_default=False))
        client.wait_for_workers(number)
        client.run(_imported)
        victim = next(iter(client.run(os.getpid).values())) if kill else None
        name = f"{number} worker{'s' * (number > 1)}{', one killed' * kill}"
        return measured(name, model, count, folder, victim, scheduler=client)


def measured(
    way: str, model: transload.Module, count: int, folder: Path, victim: int | None = None, **how: Any,
) -> dict[str, Any]:
    """Calibrate by ranges with histograms: the seconds that it took, and a digest of the table."""
    client = how.get("scheduler")
    load, before, start = os.getloadavg()[0], _cpu(client), time.perf_counter()
    table = transload.calibrate(model, _killing(Random(model.inputs, count), victim), "mse", symmetric=True, **how)
    seconds = time.perf_counter() - start
    cpu = _cpu(client) - before if victim is None else None
    file = table.save(folder / "model.table")
    digest = hashlib.sha256(file.read_bytes() + file.with_name("model.table.npz").read_bytes()).hexdigest()
    return {"way": way, "samples": count, "seconds": seconds, "cpu": cpu, "table": digest, "load": load}


def _killing(samples: Random, victim: int | None) -> Iterator[dict[str, np.ndarray]]:
    for number, sample in enumerate(samples):
        if victim is not None and number == len(samples) // 2:
            os.kill(victim, signal.SIGKILL)
        yield sample


def _cpu(client: Client | None) -> float:
    """Seconds of processors that this process has taken, and the workers."""
    return time.process_time() + (sum(client.run(time.process_time).values()) if client is not None else 0.0)


def _imported() -> None:
    """What a worker that has been there for a while has imported."""
    import transload_hub  # noqa: F401


def show(found: list[dict[str, Any]]) -> None:
    """A row for each number of samples and way."""
    table = Table("samples", "way", "seconds", "times", "CPU", "load")
    for count, way in dict.fromkeys((each["samples"], each["way"]) for each in found):
        rounds, alone = ([each for each in found if each["samples"] == count and each["way"] == name] for name in (way, ALONE))
        ratio = statistics.median(one["seconds"] / each["seconds"] for one, each in zip(alone, rounds, strict=True))
        cpu = [each["cpu"] for each in rounds if each["cpu"] is not None]
        table.add_row(str(count), way, f"{statistics.median(each['seconds'] for each in rounds):.1f}", f"{ratio:.2f}",
                      f"{statistics.median(cpu):.1f}" if cpu else "", f"{max(each['load'] for each in rounds):.1f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
