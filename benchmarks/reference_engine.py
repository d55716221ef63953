"""The reference engine beside Arm's `tosa_reference_model` (C++), on the same `.tosa` files in the same run.

    python benchmarks/reference_engine.py [../shared/models] [--json results.json] [--only NAME] [--repeat 5]

Every TFLite and ONNX model of a folder is converted to TOSA; then both run the same file on the same random inputs, in
turn, in a process of the model's own. Both times are of the whole: reading the file, planning, running. `run` is what
a further run of the plan takes. Times are medians; the last line compares the sums over all models. Integer results are
compared bit for bit, floats by their greatest relative difference.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from onnx_vs_runtime import SHAPES
from peer import model_name, run_step
from rich.console import Console
from rich.table import Table

SUFFIXES = ("*.tflite", "*.onnx")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("../shared/models"))
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--only", default="", help="only models whose path has this in it")
    parser.add_argument("--repeat", type=int, default=5, help="how often each is run")
    parser.add_argument("--step", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        print(json.dumps(measure(Path(arguments.step[1]), arguments.repeat)))
        return
    paths = [path for suffix in SUFFIXES for path in sorted(arguments.folder.rglob(suffix)) if arguments.only in str(path)]
    rows = []
    for path in paths:
        row = run_step(__file__, "model", path, options=["--repeat", str(arguments.repeat)])
        rows.append({"model": model_name(path), **row})
        print(f"{len(rows)}/{len(paths)} {rows[-1]}", file=sys.stderr)
    show(rows)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(rows, indent=1))


def measure(path: Path, repeat: int) -> dict[str, Any]:
    """One model: seconds of ours, of a further run of ours, and of the peer; and how the results differ."""
    from tempfile import TemporaryDirectory

    import tosa_reference_model

    import transload
    from transload.engine.reference import prepare
    from transload.verification.inputs import random_inputs

    source = transload.load(path, inputs=SHAPES.get(path.parent.name))
    hub = transload.legalize(source)
    inputs = random_inputs(source, hub, 0)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.tosa"
        transload.save(transload.lower(hub, "tosa"), file)
        del source, hub
        content = file.read_bytes()
        ours, again, theirs = [], [], []
        for _ in range(repeat):
            start = time.perf_counter()
            module = transload.load(file)
            execute = prepare(module)
            given = dict(zip(transload.ir.input_names(module.main), inputs.values(), strict=True))
            mine = execute(given)
            middle = time.perf_counter()
            execute(given)
            end = time.perf_counter()
            ours.append(middle - start)
            again.append(end - middle)
            arguments = _as_arguments(module, given)
            start = time.perf_counter()
            outputs, status = tosa_reference_model.run(content, arguments)
            theirs.append(time.perf_counter() - start)
            if status != tosa_reference_model.GraphStatus.TOSA_VALID:
                return {"error": f"the reference model says {status}", "ours": statistics.median(ours)}
    return {
        "ours": statistics.median(ours), "run": statistics.median(again), "peer": statistics.median(theirs),
        "difference": max((_difference(a, b) for a, b in zip(mine.values(), outputs, strict=True)), default=0.0),
    }


def _as_arguments(module: Any, given: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The inputs with the dtypes of the file's own types (which know no sign, and no 64 bits)."""
    from transload.engine.run import check_inputs

    return [np.ascontiguousarray(array) for array in check_inputs(module.main, given)]


def _difference(mine: np.ndarray, theirs: np.ndarray) -> float:
    """Greatest difference: in steps for integers, relative to the greatest value for floats."""
    a, b = mine.astype(np.float64), theirs.reshape(mine.shape).astype(np.float64)
    if not a.size:
        return 0.0
    worst = float(np.nanmax(np.abs(np.where(a == b, 0.0, a - b))))
    return worst if mine.dtype.kind in "iub" else worst / max(float(np.nanmax(np.abs(b))), 1e-30)


def show(rows: list[dict[str, Any]]) -> None:
    table = Table("model", "ours s", "run s", "reference model s", "ratio", "difference")
    for row in rows:
        if "peer" not in row:
            table.add_row(row["model"], row.get("error", "?")[:80])
            continue
        table.add_row(
            row["model"], f"{row['ours']:.4f}", f"{row['run']:.4f}", f"{row['peer']:.4f}", f"{row['ours'] / row['peer']:.2f}",
            f"{row['difference']:.2g}")
    Console(width=140).print(table)
    both = [row for row in rows if "peer" in row]
    if both:
        ours, peer = sum(row["ours"] for row in both), sum(row["peer"] for row in both)
        print(f"{len(both)} models together: ours {ours:.3f} s, tosa_reference_model {peer:.3f} s, ratio {ours / peer:.3f}; "
              f"slower on {sum(row['ours'] > row['peer'] for row in both)}")


if __name__ == "__main__":
    main()
