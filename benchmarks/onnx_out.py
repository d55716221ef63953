"""ONNX files that we write of all models of a folder, run by onnxruntime: beside the model's own runtime, and read back.

    TRANSLOAD_MODELS=FOLDER python benchmarks/onnx_out.py [PART-OF-A-NAME ...] [--opset 21] [--form qdq] [--json FILE]

Each model goes to the hub and out as an `.onnx` file, quantized ones in the form that is asked for. onnxruntime runs it with
its optimizations off and on (it computes QDQ models in floats, or in integers of its own); the table shows the cosine and the
greatest difference between its outputs and those of the model's own runtime, of both. "back": the file is read again and run in
our engine, beside onnxruntime without optimizations. What differs is judged by two things more: "levels" is how far
onnxruntime's two levels are from each other on the same file, and "steps", of a quantized model, how many of its tensors are not
what the hub makes of onnxruntime's own numbers before them, of how many; a step away at few places is roundings, which add up.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from model_samples import FOLDER, load, models, samples_for
from rich.console import Console
from rich.table import Table

import transload
from transload.engine.quantized import quantize
from transload.errors import RunError, TransloadError
from transload.ir import Module
from transload.metrics import cosine
from transload.verification.runtimes import runtime_for
from transload.verification.steps import check_steps, is_quantized

COLUMNS = (
    "model", "ops", "operators", "opset", "cos", "max", "optimized\\ncos", "max", "back\\ncos", "max", "levels\\ncos", "max",
    "steps")
Arrays = Mapping[str, np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of the names of models to take; all without")
    parser.add_argument("--opset", type=int, default=21, help="the opset to write")
    parser.add_argument("--form", default="auto", help="how quantized operators are written: auto, integers, qdq, qoperator")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [row_of(path, arguments.opset, arguments.form) for path in models(FOLDER)
            if not arguments.names or any(name in str(path) for name in arguments.names)]
    table = Table(title=f"ONNX of opset {arguments.opset} that we write, in onnxruntime")
    for column in COLUMNS:
        table.add_column(column.replace("\\n", "\n"), justify="left" if column == "model" else "right")
    for row in rows:
        table.add_row(*(_shown(value) for value in row["columns"]))
    console = Console(width=160)
    console.print(table)
    for row in rows:
        if row["why"]:
            console.print(f"{row['columns'][0]}: {row['why']}", markup=False)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


def _shown(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.6f}" if 0.9 < value <= 1 else f"{value:.3g}"


def row_of(path: Path, opset: int, form: str) -> dict[str, Any]:
    """A model's row; where a step fails, `why` says so."""
    name = f"{path.parents[1].name}/{path.parent.name}"
    try:
        source = load(path)
        hub = transload.legalize(source)
        (sample,) = samples_for(path, source, 1, 0)
        with tempfile.TemporaryDirectory() as folder:
            *columns, beyond = measured(source, hub, sample, Path(folder), opset, form)
        return {"columns": (name, *columns), "why": "; ".join(beyond[:5])}
    except TransloadError as error:
        return {"columns": (name, *[""] * (len(COLUMNS) - 1)), "why": " ".join(str(error).split())[:400]}


def measured(source: Module, hub: Module, sample: Arrays, folder: Path, opset: int, form: str) -> tuple[Any, ...]:
    """The columns of a row but the name."""
    lowered = transload.lower(hub, "onnx", opset=opset, form=form)
    file = transload.save(lowered, folder / "written.onnx")
    own = runtime_for(source.source_format)[0]
    try:
        assert own is not None and source.source is not None
        wanted: Arrays = transload.plugin.resolve(own.open)(source.source)(sample)
    except RunError:  # a model that its own runtime does not take: our engine stands for it
        wanted = transload.run(hub, sample)
    given = dict(zip(lowered.inputs, sample.values(), strict=True))
    plain = in_onnxruntime(file, given, False)
    try:
        fast = in_onnxruntime(file, given, True)
        optimized, levels = distance(wanted, fast), distance(plain, fast)
    except RunError:  # its optimizer writes what it does not take itself
        optimized = levels = ("-", "-")
    back = transload.legalize(transload.load(file))
    read = transload.run(back, dict(zip(back.inputs, sample.values(), strict=True)))
    kinds = {op.name for op in lowered.ops() if op.dialect == "onnx"}
    operators = sum(1 for op in lowered.ops() if op.dialect == "onnx" and op.operands)
    steps, beyond = steps_beyond(hub, sample, file, given)
    return (operators, len(kinds), lowered.attributes["onnx.opset"]["ai.onnx"], *distance(wanted, plain),
            *optimized, *distance(plain, read), *levels, steps, beyond)


def steps_beyond(hub: Module, sample: Arrays, file: Path, given: Arrays) -> tuple[str, tuple[str, ...]]:
    """Which quantized tensors of the hub are not within a step, from onnxruntime's own numbers, of how many."""
    if not is_quantized(hub):
        return "", ()
    kept = dict(in_onnxruntime(file, given, False, keep=True))
    own = transload.run(hub, dict(zip(hub.inputs, sample.values(), strict=True)), keep=True)
    for value in (value for op in hub.body_of_main for value in op.results
                  if value.quant is not None and value.name in kept and value.name in own):  # constants are not in `own`
        if kept[value.name].dtype.kind == "f":  # what it is before it is rounded, or as a real number
            kept[value.name] = quantize(kept[value.name], value.quant)
        elif own[value.name].dtype == np.uint8 and kept[value.name].dtype == np.int8:  # as TOSA has them
            kept[value.name] = (kept[value.name].astype(np.int16) + 128).astype(np.uint8)
        kept[value.name] = in_order_of(own[value.name], kept[value.name])
    _, steps = check_steps(hub, dict(zip(hub.inputs, sample.values(), strict=True)), kept, "reference", 1)
    return f"{len(steps.wrong)} of {steps.tensors}", steps.wrong


def in_order_of(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """A tensor with its channels last again where that makes it ours: of one as wide as it is deep, where it is nearer then."""
    if theirs.ndim < 3:
        return theirs
    forms = [form for form in (theirs, np.moveaxis(theirs, 1, -1)) if form.shape == ours.shape]
    return min(forms, key=lambda form: float(np.abs(form.astype(np.float64) - ours).mean()), default=theirs)


def in_onnxruntime(file: Path, inputs: Arrays, optimized: bool, keep: bool = False) -> Arrays:
    """The outputs of a file in onnxruntime, behind everything else with `keep`."""
    from transload_converters.onnx.runtime import open_model

    return open_model(file, optimized)(inputs, keep)


def distance(wanted: Arrays, got: Arrays) -> tuple[float, float]:
    """Cosine and greatest difference of the worst output; outputs in order."""
    cos, most = 1.0, 0.0
    for a, b in zip(wanted.values(), got.values(), strict=True):
        x, y = np.asarray(a, np.float64), np.asarray(b, np.float64).reshape(np.shape(a))
        cos, most = min(cos, float(cosine(x, y))), max(most, float(np.abs(x - y).max(initial=0.0)))
    return cos, most


if __name__ == "__main__":
    main()
