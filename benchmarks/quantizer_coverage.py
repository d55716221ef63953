"""Our quantizer on every float model of a folder: what it costs, and how much becomes integers.

    python benchmarks/quantizer_coverage.py [../shared/models] [--scheme int8] [--only NAME] [--json FILE]

Each model is quantized by the default settings on 16 samples and judged by 8 others (`model_samples`): photographs, sound and
words where inputs look like them, else random numbers, which no model is made for: decibels there say only that nothing is
broken. Shown are the least SQNR of an output over all samples, the share of computing ops whose results are integers, processor
seconds of quantizing, and why the rest stays float. Models that hold integers already are left out. Each is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from model_samples import FOLDER, load, models, samples_for
from peer import run_step
from rich.console import Console
from rich.table import Table

import transload
from transload.analysis.movement import is_cast, moves_of
from transload.api import at_hub
from transload.ir import FloatType, Module
from transload.ir.build import constant_of
from transload.metrics import sqnr
from transload.quantization import quantize_at_hub

CALIBRATED, JUDGED = 16, 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, help="models in `tflite/`, `onnx/`, `stablehlo/`")
    parser.add_argument("--scheme", default="int8")
    parser.add_argument("--only", default="", help="only models whose path has this in it")
    parser.add_argument("--json", type=Path, help="write the figures to this file, model after model")
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        print(json.dumps(measured(Path(arguments.step[1]), arguments.scheme)))
        return
    rows = []
    for path in models(arguments.folder):
        if arguments.only in str(path):
            row = run_step(__file__, "measured", path, options=["--scheme", arguments.scheme])
            if "integers already" not in row:
                rows.append({"model": f"{path.parent.parent.name}/{path.parent.name}"} | row)
            if arguments.json:  # after each model: all of them take an hour
                arguments.json.write_text(json.dumps(rows, indent=1))
    show(rows)


def measured(path: Path, scheme: str) -> dict[str, Any]:
    """The figures of one model."""
    hub = at_hub(load(path), quantizing=True)
    if any(value.quant is not None for op in hub.ops() for value in op.results):
        return {"integers already": True}
    calibration, judging = (samples_for(path, hub, count, seed) for count, seed in ((CALIBRATED, 1), (JUDGED, 2)))
    begun = time.process_time()
    made = quantize_at_hub(hub, scheme, calibration, {})
    seconds = time.process_time() - begun
    wanted, given = ([transload.run(module, sample) for sample in judging] for module in (hub, made.module))
    found = {name: sqnr(np.stack([run[name] for run in wanted]), np.stack([run[name] for run in given]))
             for name in hub.outputs if wanted[0][name].dtype.kind == "f"}
    reasons = Counter(why for why in (made.floats or {}).values())
    return {"sqnr": min(found.values(), default=float("inf")), "integers": share(made.module), "seconds": seconds,
            "wide": len(made.report.get("islands of 16 bits", ())), "floats": dict(reasons.most_common(4))}


def share(module: Module) -> float:
    """Of the ops that compute real numbers, the share whose results are integers."""
    computing = [
        op for op in module.body_of_main
        if op.results and constant_of(op.results[0]) is None and not is_cast(op) and moves_of(op) is None
        and (op.results[0].quant is not None or isinstance(op.results[0].element_or_none, FloatType))]
    return sum(op.results[0].quant is not None for op in computing) / max(len(computing), 1)


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    table = Table("model", "SQNR dB", "in integers", "16 bits", "seconds", "what stays float")
    for row in rows:
        if "error" in row:
            table.add_row(row["model"], "fails", "", "", "", row["error"])
            continue
        why = "; ".join(f"{reason[:70]} x{count}" for reason, count in row["floats"].items())
        wide, seconds = str(row["wide"] or ""), f"{row['seconds']:.1f}"
        table.add_row(row["model"], f"{row['sqnr']:.1f}", f"{row['integers']:.0%}", wide, seconds, why)
    Console(width=190).print(table)


if __name__ == "__main__":
    main()
