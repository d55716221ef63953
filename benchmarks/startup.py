"""How long the command line takes to start and to convert, as whole processes.

    python benchmarks/startup.py [--json FILE] [--runs N]

The machine may be busy, so each figure is the median of several runs; beside the wall time stands the processor time
that the command used, which neighbours disturb less, and its ratio to a bare `python -c pass` of the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
MODELS = Path(os.environ.get("TRANSLOAD_MODELS") or ROOT.parent / "shared" / "models")
DIGITS = ROOT / "examples" / "digits" / "digits_int8.tflite"
MOBILENET = MODELS / "tflite" / "coral_mobilenet_v2_1.0_224_quant" / "mobilenet_v2_1.0_224_quant.tflite"


def median_seconds(command: list[str], runs: int) -> tuple[float, float]:
    """Median wall and processor time of a command; the first run, which fills caches, is left out."""
    wall, cpu = [], []
    for _ in range(runs + 1):
        start, used = time.perf_counter(), children_seconds()
        subprocess.run(command, check=True, capture_output=True)
        wall.append(time.perf_counter() - start)
        cpu.append(children_seconds() - used)
    return statistics.median(wall[1:]), statistics.median(cpu[1:])


def children_seconds() -> float:
    """Processor time, user and system, of all finished child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    tool = [sys.executable, "-m", "transload"]
    with tempfile.TemporaryDirectory() as out:
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "transload --help": [*tool, "--help"],
            "transload plugins": [*tool, "plugins"],
            "transload convert digits_int8.tflite --no-verify": [*tool, "convert", str(DIGITS), "-o", out, "--no-verify", "-q"],
        }
        if MOBILENET.exists():
            commands["transload convert mobilenet_v2 (uint8) --no-verify"] = [
                *tool, "convert", str(MOBILENET), "-o", out, "--no-verify", "-q"]
        seconds = {name: median_seconds(command, arguments.runs) for name, command in commands.items()}
    bare = seconds["python -c pass"][1]
    table = Table("command", "wall", "processor", "× bare Python")
    for name, (wall, cpu) in seconds.items():
        table.add_row(name, f"{wall * 1000:.0f} ms", f"{cpu * 1000:.0f} ms", f"{cpu / bare:.1f}")
    Console().print(table)
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        measured = {name: {"wall_s": wall, "cpu_s": cpu} for name, (wall, cpu) in seconds.items()}
        arguments.json.write_text(json.dumps(measured, indent=2) + "\n")


if __name__ == "__main__":
    main()
