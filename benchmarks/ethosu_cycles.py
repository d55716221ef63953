"""Cycles on an Ethos-U of integer TFLite models: Vela's own TFLite path, Arm's TOSA, and Transload's TOSA.

    python benchmarks/ethosu_cycles.py ../shared/models/tflite [--target ethos-u85-256] [--only NAME] [--json results.json]

Vela compiles each model three times with the same settings: from the `.tflite` file; from the `.tosa` that Arm's
tosa-converter-for-tflite makes of it, helped as in `tflite_vs_peer.py`; from the `.tosa` that Transload makes. Vela leaves
quantizing float inputs and dequantizing outputs to the processor in the first, which costs no cycles of the NPU; in the
others the target cuts it off (option float_ops=host). A star says that more than that is left to the processor. The table ends
with geometric means of ratios over the models that both sides compile as a whole.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from peer import HELP, convert_by_peer, model_name, run_step, without_dynamic_sizes
from rich.console import Console
from rich.table import Table

SIDES = {"vela": "Vela's TFLite", "peer": "Arm's TOSA", "ours": "ours"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    models = os.environ.get("TRANSLOAD_MODELS", "../shared/models")
    parser.add_argument("folder", type=Path, nargs="?", default=Path(models) / "tflite")
    parser.add_argument("--target", default="ethos-u85-256", help="an Ethos-U configuration")
    parser.add_argument("--only", default="", help="only models whose path has this in it")
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES), help="only these columns")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--step", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        name, *paths = arguments.step
        print(json.dumps(STEPS[name](*map(Path, paths), arguments.target)))
        return
    rows = []
    for path in sorted(arguments.folder.rglob("*.tflite")):
        if arguments.only in str(path) and is_integer_model(path):
            rows.append(measure(path, arguments.target, arguments.sides))
            print(" ".join(f"{part['cycles']:,}" if "cycles" in part else "-" if isinstance(part, dict) else part
                           for part in rows[-1].values()), file=sys.stderr)
    show(rows, arguments.target)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


def is_integer_model(path: Path) -> bool:
    """Whether ops other than conversions compute quantized tensors."""
    import transload
    from transload.ir import QuantType, TensorType

    def is_quantized(value: Any) -> bool:
        return isinstance(value.type, TensorType) and isinstance(value.type.element, QuantType)

    conversions = ("tfl.quantize", "tfl.dequantize")
    computing = [op for op in transload.load(path).ops() if op.dialect == "tfl" and op.operands and op.name not in conversions]
    return any(is_quantized(value) for op in computing for value in op.results)


def measure(path: Path, target: str, sides: list[str]) -> dict[str, Any]:
    """One row: the model, and of each side its cycles and number of ops, or why there are none."""
    row: dict[str, Any] = {"model": model_name(path)}
    with TemporaryDirectory() as folder:
        static = Path(folder) / "static.tflite"
        static.write_bytes(without_dynamic_sizes(path.read_bytes()))
        for side in sides:
            work = Path(folder) / side
            work.mkdir()
            row[side] = run_step(__file__, side, path if side == "ours" else static, work, options=["--target", target])
    return row


# --- the steps, each in a process of its own


def step_vela(path: Path, work: Path, target: str) -> dict[str, Any]:
    """Vela on the `.tflite` file; its kinds of ops that it leaves to the processor, but for conversions, in `left`."""
    import csv

    from transload.plugin_host import host
    from transload_targets.ethosu.compiler import Settings, compile_file

    accelerator = host().get("targets", target).accelerator
    compiled = compile_file(path, accelerator, Settings.of({"output_format": "tflite"}, accelerator), work)
    with compiled.summary.open(newline="") as file:
        summary = next(csv.DictReader(file))
    left: set[str] = set()
    if compiled.layers is not None:
        with compiled.layers.open(newline="") as file:
            left = {row["Original Operator"] for row in csv.DictReader(file) if row["Target"] == "CPU"}
    return {"cycles": round(float(summary["cycles_total"])), "left": sorted(left - {"Quantize", "Dequantize"})}


def step_peer(path: Path, work: Path, target: str) -> dict[str, Any]:
    """The peer's `.tosa`, without what converts floats."""
    import transload

    tosa = work / "peer.tosa"
    converted = convert_by_peer(path, tosa, HELP)
    result = {"ops": converted["ops"]}
    if converted["left"] or not tosa.exists():
        return result | {"error": converted.get("error") or f"not converted: {', '.join(converted['left'])}"}
    return result | compiled_cycles(lambda: transload.load(tosa), work, target)


def step_ours(path: Path, work: Path, target: str) -> dict[str, Any]:
    """Transload's TOSA."""
    import transload
    from transload.contents import op_counts

    module = transload.lower(transload.load(path), "tosa")
    return {"ops": sum(op_counts(module).values())} | compiled_cycles(lambda: module, work, target)


def compiled_cycles(module: Callable[[], Any], work: Path, target: str) -> dict[str, Any]:
    """What Vela's report says of a module, cut at its float edges."""
    from transload.chosen_target import target_options
    from transload.emission import emit_for
    from transload.errors import TransloadError
    from transload.hosting import cut_for
    from transload.plugin_host import host
    from transload_targets.ethosu.host_parts import CONVERSIONS

    chip = host().get("targets", target)
    settings = target_options(chip, {"float_ops": "host"})
    try:
        given = module()
        report = emit_for(chip, given, cut_for(chip, given, settings), work, "model", settings).report
    except TransloadError as error:
        return {"error": " ".join(str(error).split())[:300]}
    left = {op["op"] for op in report["ops"] if op["on"] == "host"} - CONVERSIONS
    return {"cycles": report["total_cycles"], "left": sorted(left)}


STEPS = {"vela": step_vela, "peer": step_peer, "ours": step_ours}


# --- the table


def ratio(row: dict[str, Any], side: str, key: str = "cycles") -> float | None:
    """Ours by another side's number, None where one is missing or leaves work to the processor."""
    ours, other = row.get("ours", {}), row.get(side, {})
    whole = not ours.get("left") and not other.get("left")
    return ours[key] / other[key] if whole and ours.get(key) and other.get(key) else None


def show(rows: list[dict[str, Any]], target: str) -> None:
    """Print the table and the means."""
    table = Table(title=f"Vela's cycles on {target}, by what it compiles")
    table.add_column("model", no_wrap=True)
    for title in (*SIDES.values(), "ours / Vela's", "ours / Arm's", "ops: ours", "Arm's"):
        table.add_column(title, justify="right")
    for row in rows:
        cells = [_cycles(row.get(side, {})) for side in SIDES]
        ratios = [ratio(row, side) for side in ("vela", "peer")]
        counts = [str(row.get(side, {}).get("ops", "")) for side in ("ours", "peer")]
        table.add_row(row["model"], *cells, *("" if r is None else f"{r:.3f}" for r in ratios), *counts)
    console = Console(width=160)
    console.print(table)
    for side in ("vela", "peer"):
        found = [r for row in rows if (r := ratio(row, side)) is not None]
        if found:
            mean = float(np.exp(np.mean(np.log(found))))
            console.print(f"ours / {SIDES[side]}: {mean:.3f} (geometric mean of {len(found)}), worst {max(found):.3f}")
    for row in rows:
        for side, title in SIDES.items():
            part = row.get(side, {})
            if "error" in part or part.get("left"):
                why = part.get("error") or "leaves to the processor: " + ", ".join(part["left"])
                console.print(f"{row['model']}, {title}: {why}")


def _cycles(side: dict[str, Any]) -> str:
    if "cycles" not in side:
        return "fails" if "error" in side else ""
    return f"{side['cycles']:,}" + ("*" if side.get("left") else "")


if __name__ == "__main__":
    main()
