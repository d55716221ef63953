"""ONNX models against onnxruntime: what loads, what converts, and how near the results are.

    python benchmarks/onnx_vs_runtime.py ../shared/models/onnx [--json results.json] [--only NAME] [--nodes]

For every `.onnx` file in a folder: the time to load it and to convert it to `top` and to TOSA, and the worst output (cosine
and greatest difference against onnxruntime) of `top` in our engine, of TOSA in our engine, and of TOSA in Arm's
`tosa_reference_model` where it is installed. `--nodes` runs ONNX's own single-operator tests instead and counts them by operator.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import transload
from transload.errors import TransloadError
from transload.ir import Module, Value, dtype_of, input_names
from transload.metrics import cosine
from transload.plugin import resolve
from transload.plugin_host import host
from transload.verification.inputs import random_inputs

SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "silero_vad": {"input": (1, 576), "state": (2, 1, 128)},
    "ppocr_cls_v2": {"x": (1, 3, 48, 192)},
    "derived_ppocr_cls_qoperator": {"x": (1, 3, 48, 192)},
    "tract_byte_sb_bidi_lstm": {"input": (1, 16)},
}
"""Shapes of inputs that a model leaves open, by the name of its folder."""

VALUES = {"silero_vad": {"sr": 16000}}
"""Inputs that are settings, not data."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("../shared/models/onnx"))
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--only", default="", help="only models whose folder or file has this in its name")
    parser.add_argument("--nodes", action="store_true", help="run ONNX's single-operator tests")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    result = node_tests() if arguments.nodes else models(arguments.folder, arguments.only)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1))


# --- models


def models(folder: Path, only: str) -> list[dict[str, Any]]:
    """A row for every model in a folder, printed as a table."""
    rows = [measure(path) for path in sorted(folder.rglob("*.onnx")) if only in str(path)]
    table = Table(title=f"ONNX models against onnxruntime ({folder})")
    for column in ("model", "ops", "load\nms", "top\nops", "to top\nms", "top\ncos", "\nmax", "tosa\nops", "to tosa\nms",
                   "tosa\ncos", "\nmax", "reference\nmodel cos", "\nmax", "onnxruntime\nms"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for row in rows:
        table.add_row(row["model"], *(_show(row.get(key)) for key in (
            "ops", "load_ms", "top_ops", "top_ms", "top_cos", "top_max", "tosa_ops", "tosa_ms", "tosa_cos", "tosa_max",
            "model_cos", "model_max", "runtime_ms")))
    console = Console(width=200)
    console.print(table)
    for row in rows:
        if "why" in row:
            console.print(f"{row['model']}: {row['why']}", markup=False)
    return rows


def _show(value: Any) -> str:
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3g}" if abs(value) < 0.9 else f"{value:.6g}"


def measure(path: Path) -> dict[str, Any]:
    """Load, convert and run one model; where a step fails, `why` says so and the later ones are missing."""
    row: dict[str, Any] = {"model": path.parent.name if len(list(path.parent.glob("*.onnx"))) == 1 else path.stem}
    try:
        source, row["load_ms"] = timed(lambda: transload.load(path, inputs=SHAPES.get(path.parent.name)))
        row["ops"] = count(source)
        hub, row["top_ms"] = timed(lambda: transload.legalize(source))
        row["top_ops"] = count(hub)
        inputs = random_inputs(source, hub)
        inputs.update({key: np.array(value) for key, value in VALUES.get(path.parent.name, {}).items()})
        run = resolve(host().get("runtimes", "onnxruntime").open)(path)
        run(inputs)
        wanted, row["runtime_ms"] = timed(lambda: run(inputs))
        row["top_cos"], row["top_max"] = distance(wanted, transload.run(hub, inputs))
        tosa, row["tosa_ms"] = timed(lambda: transload.lower(hub, "tosa"))
        row["tosa_ops"] = count(tosa)
        given = dict(zip(input_names(tosa.main), inputs.values(), strict=True))
        row["tosa_cos"], row["tosa_max"] = distance(wanted, transload.run(tosa, given))
        judged = reference_model(tosa, given)
        if judged is not None:
            row["model_cos"], row["model_max"] = distance(wanted, judged)
    except TransloadError as error:
        said = " ".join(str(error).split("→")[0].split())
        row["why"] = f"{type(error).__name__}: {said}"
    return row


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What `work` gives, and how many milliseconds it took."""
    start = time.perf_counter()
    result = work()
    return result, round(1000 * (time.perf_counter() - start), 2)


def count(module: Module) -> int:
    """Ops of a module, constants left out."""
    return sum(1 for op in module.ops() if op.operands)


def distance(wanted: Mapping[str, np.ndarray], got: Mapping[str, np.ndarray]) -> tuple[float, float]:
    """Cosine and greatest difference of the worst output; outputs in order."""
    cos, most = 1.0, 0.0
    for a, b in zip(wanted.values(), got.values(), strict=True):
        x, y = np.asarray(a, np.float64), np.asarray(b, np.float64).reshape(np.shape(a))
        cos = min(cos, float(cosine(x, y)))
        most = max(most, float(np.abs(x - y).max(initial=0.0)))
    return cos, most


def reference_model(tosa: Module, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray] | None:
    """What Arm's reference model computes of the TOSA file; None where it is not installed or refuses."""
    try:
        import tosa_reference_model
    except ImportError:
        return None
    with TemporaryDirectory() as folder:
        file = transload.save(tosa, Path(folder) / "model.tosa")
        arguments = tosa.main.regions[0].block.arguments
        arrays = [_as_argument(array, argument) for array, argument in zip(inputs.values(), arguments, strict=True)]
        outputs, status = tosa_reference_model.run(file.read_bytes(), arrays)
    if "VALID" not in str(status).upper() or not outputs:
        return None
    return {str(i): np.asarray(array) for i, array in enumerate(outputs)}


def _as_argument(array: np.ndarray, argument: Value) -> np.ndarray:
    """An input as a TOSA file has it: unsigned bits as signed ones, i64 as i32."""
    dtype = dtype_of(argument.element)
    same_bits = array.dtype.kind in "iu" and dtype.kind in "iu" and array.dtype.itemsize == dtype.itemsize
    return np.ascontiguousarray(array.view(dtype) if same_bits else array.astype(dtype))


# --- ONNX's own tests of single operators


def node_tests() -> dict[str, Any]:
    """How many of ONNX's node tests pass, by operator."""
    from onnx.backend.test.case.node import collect_testcases

    from transload_converters.onnx.backend import difference, prepare

    outcomes: dict[str, Counter[str]] = {}
    made_constant = 0
    for case in collect_testcases(None):
        backend = prepare(case.model)
        try:
            differences = [difference(wanted, backend.run(given), case.rtol, case.atol) for given, wanted in case.data_sets]
            outcome = "failed" if any(differences) else "passed"
            made_constant += bool(outcome == "passed" and backend.made_constant)
        except TransloadError:
            outcome = "refused"
        outcomes.setdefault(case.model.graph.node[0].op_type, Counter())[outcome] += 1
    total: Counter[str] = sum(outcomes.values(), Counter())
    table = Table(title=f"ONNX node tests: {dict(total)}, {made_constant} of them with some inputs made constant")
    for column in ("operator", "passed", "failed", "refused"):
        table.add_column(column, justify="left" if column == "operator" else "right")
    for name, counts in sorted(outcomes.items()):
        if counts["failed"] or counts["refused"]:
            table.add_row(name, *(str(counts[key]) for key in ("passed", "failed", "refused")))
    Console().print(table)
    return {"total": dict(total), "made_constant": made_constant, "operators": {k: dict(v) for k, v in outcomes.items()}}


if __name__ == "__main__":
    main()
