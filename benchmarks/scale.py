"""Work on many models: one by one in one process, and side by side.

    python benchmarks/scale.py [FOLDER...] [--target tosa] [--workers 1,2] [--rounds 3] [--json results.json]

Converts the models of the folders (by default the TFLite and ONNX models of `TRANSLOAD_MODELS`), verified, three ways in turn,
a process each: `transload.convert` in a loop, and one `transload.convert_all` of all folders with so many workers. Artifacts are
compared byte for byte over all rounds and ways; seconds are medians, and the ratio is that to the loop of the same round. `CPU`
are the seconds of all processes that took part, half of which two cores need at least; MiB is the greatest memory of one. What
else ran meanwhile is told by the load, and what the machine can give by a plain loop of Python's, measured in the same rounds:
cores that share a clock, a cache or a host are slower when all of them work, and no program can be faster than that.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

MODELS = Path(os.environ.get("TRANSLOAD_MODELS") or Path(__file__).resolve().parents[2] / "shared" / "models")
LOOP = "one by one"
PLAIN = "import time; start = time.perf_counter(); sum(n % 7 for n in range(20_000_000)); print(time.perf_counter() - start)"
"""Work of two or three seconds that needs a core and nothing else."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", default=[MODELS / "tflite", MODELS / "onnx"], type=Path)
    parser.add_argument("--target", default="tosa")
    parser.add_argument("--workers", default="1,2", help="numbers of workers, separated by commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step:
        way, out = asked.step
        print(json.dumps(step(asked.folders, asked.target, way, Path(out))))
        return
    _take_over_orphans()
    ways = [LOOP, *asked.workers.split(",")]
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
    plain: dict[str, list[float]] = {way: [] for way in ways[1:]}
    for _ in range(asked.rounds):
        for way in ways[1:]:
            plain[way].append(machine(int(way)))
        for way in ways:
            with tempfile.TemporaryDirectory() as out:
                command = [sys.executable, __file__, *map(str, asked.folders), "--target", asked.target, "--step", way, out]
                before, load = _cpu_of_children(), os.getloadavg()[0]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                cpu = _cpu_of_children() - before
                found[way].append(json.loads(done.stdout.splitlines()[-1]) | {"cpu": cpu, "load": load})
    show(found)
    for way, ratios in plain.items():
        print(f"a plain loop in {way} process(es) at once: {statistics.median(ratios):.2f} times the work of one"
              f" ({min(ratios):.2f} to {max(ratios):.2f})")
    if asked.json is not None:
        asked.json.write_text(json.dumps({**found, "machine": plain}, indent=2))
    digests = {each["digest"] for rounds in found.values() for each in rounds}
    if len(digests) != 1:
        sys.exit("the artifacts differ")


def _take_over_orphans() -> None:
    """Become the parent of processes whose own ended before them: judges of workers, whose time counts, too (Linux only)."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def _cpu_of_children() -> float:
    """Seconds of CPU that all processes took that ran under this one; waits until they have ended."""
    with suppress(ChildProcessError):
        while True:
            os.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def machine(count: int) -> float:
    """How many times the work of one process so many do at once."""

    def slowest(processes: int) -> float:
        begun = [subprocess.Popen([sys.executable, "-c", PLAIN], stdout=subprocess.PIPE, text=True) for _ in range(processes)]
        return max(float(each.communicate()[0]) for each in begun)

    return count * slowest(1) / slowest(count)


def show(found: dict[str, list[dict[str, Any]]]) -> None:
    table = Table(title=f"{found[LOOP][0]['models']} models, {found[LOOP][0]['refused']} of them refused")
    for heading in ("", "seconds", "times faster", "CPU", "MiB", "load"):
        table.add_column(heading, justify="left" if not heading else "right")
    for way, rounds in found.items():
        ratio = statistics.median(one["seconds"] / each["seconds"] for one, each in zip(found[LOOP], rounds, strict=True))
        name = way if way == LOOP else f"{way} worker{'s' * (way != '1')}"
        table.add_row(name, f"{statistics.median(each['seconds'] for each in rounds):.1f}", f"{ratio:.2f}",
                      f"{statistics.median(each['cpu'] for each in rounds):.1f}",
                      f"{max(each['peak'] for each in rounds) / 1024:.0f}", f"{max(each['load'] for each in rounds):.1f}")
    Console().print(table)


def step(folders: list[Path], target: str, way: str, out: Path) -> dict[str, Any]:
    """Convert all, in one of the ways; what it took, and a digest of what was written."""
    import transload
    from transload.scale import models_in

    named = list(models_in(folders))
    start = time.perf_counter()
    if way == LOOP:
        refused = 0
        for name, path in named:
            try:
                transload.convert(path, target, out / name)
            except transload.TransloadError:
                refused += 1
    else:
        made = transload.convert_all(folders, target, out, workers=int(way))
        refused = sum(each.exit_code == 3 for each in made)
    seconds = time.perf_counter() - start
    digest = hashlib.sha256()
    for file in sorted(out.rglob("*")):
        if file.is_file() and file.suffix != ".json":
            digest.update(str(file.relative_to(out)).encode())
            digest.update(file.read_bytes())
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {"seconds": seconds, "models": len(named), "refused": refused, "digest": digest.hexdigest(), "peak": peak}


if __name__ == "__main__":
    main()
