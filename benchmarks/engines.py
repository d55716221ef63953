"""Engines side by side on the same models in the same run: ours, Arm's reference model, IREE, and the model's own runtime.

    python benchmarks/engines.py [../shared/models] [--json results.json] [--only NAME] [--repeat 15] [--threads 2] [--fit]

Every TFLite and ONNX model of a folder is measured in a process of its own. Each engine is prepared (planned, compiled) and
run once, timed; then all run in turn, again and again, on the same random inputs, and the medians are compared: what
disturbs one round disturbs all engines in it ("of best" is the ratio of the least times, which other work on the machine
disturbs least). `reference` and `xla` are ours, both on the model lowered to TOSA;
`xla-top` is xla on the hub form. `tosa_reference_model` runs the same TOSA, `iree` our StableHLO of it, `own` is
onnxruntime or LiteRT (its optimised kernels) on the model itself, with `--threads` threads. An engine that takes more than
a second a run is run three times.

`difference` is the greatest one between the results of `xla` and `xla-top`, and those of `reference`: in steps for
integers, relative to the greatest value for floats. `MiB` is by how much preparing and the first run raised the greatest
memory of the process; an engine that needs no more than those before it shows 0. `--fit` prints what the choice of engine
`auto` would be, and how good its estimates are.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from onnx_vs_runtime import SHAPES, VALUES
from peer import model_name, run_step
from rich.console import Console
from rich.table import Table

from transload_converters.onnx import imported

SUFFIXES = ("*.tflite", "*.onnx")
ENGINES = ("reference", "xla", "xla-top", "tosa_reference_model", "iree", "own")
SLOW = 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("../shared/models"))
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--only", default="", help="only models whose path has one of these in it, separated by commas")
    parser.add_argument("--engines", default=",".join(ENGINES), help="which, separated by commas")
    parser.add_argument("--repeat", type=int, default=15, help="how many rounds are run")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="threads of the model's own runtime")
    parser.add_argument("--fit", action="store_true", help="how good the estimates of engine auto are")
    parser.add_argument("--step", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    wanted = arguments.engines.split(",")
    if arguments.step:
        print(json.dumps(measure(Path(arguments.step[1]), wanted, arguments.repeat, arguments.threads)))
        return
    folder = arguments.folder
    found = [folder] if folder.is_file() else [path for suffix in SUFFIXES for path in sorted(folder.rglob(suffix))]
    paths = [path for path in found if any(part in str(path) for part in arguments.only.split(","))]
    options = ["--repeat", str(arguments.repeat), "--threads", str(arguments.threads), "--engines", arguments.engines]
    rows = []
    for path in paths:
        rows.append({"model": model_name(path), **run_step(__file__, "model", path, options=options)})
        print(f"{len(rows)}/{len(paths)} {rows[-1]}", file=sys.stderr)
    show(rows)
    if arguments.fit:
        show_fit(rows)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(rows, indent=1))


Run = Callable[[], list[np.ndarray]]


def measure(path: Path, wanted: list[str], repeat: int, threads: int) -> dict[str, Any]:
    """One model: for each engine seconds to prepare it, seconds of a run, MiB; how the results differ; the work it is."""
    import transload
    from transload.engine.choice import work_of
    from transload.ir import input_names
    from transload.verification.inputs import random_inputs

    source = transload.load(path, inputs=SHAPES.get(path.parent.name))
    hub = transload.legalize(source)
    inputs = random_inputs(source, hub, 0)
    inputs.update({key: np.array(value) for key, value in VALUES.get(path.parent.name, {}).items()})
    tosa = transload.lower(hub, "tosa")
    given = dict(zip(input_names(tosa.main), inputs.values(), strict=False))
    given |= transload.ir.initial_states(tosa) if hasattr(transload.ir, "initial_states") else {}
    makers: dict[str, Callable[[], Run]] = {
        "reference": lambda: by_engine("reference", tosa, given),
        "xla": lambda: by_engine("xla", tosa, given),
        "xla-top": lambda: by_engine("xla", hub, dict(zip(input_names(hub.main), given.values(), strict=True))),
        "tosa_reference_model": lambda: by_reference_model(tosa, given),
        "iree": lambda: by_iree(tosa, given),
        "own": lambda: by_own_runtime(path, inputs, threads),
    }
    row: dict[str, Any] = {"work": vars(work_of(tosa)), "engines": {}}
    runs: dict[str, Run] = {}
    results: dict[str, list[np.ndarray]] = {}
    for name in wanted:
        peak, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
        try:
            run = makers[name]()
            results[name] = run()
        except Exception as error:  # whatever an engine has to say about a model it does not take
            row["engines"][name] = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}
            continue
        runs[name] = run
        row["engines"][name] = {
            "prepare": time.perf_counter() - start,
            "mib": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) / 1024}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeat):
        for name, run in runs.items():
            if len(seconds[name]) < 3 or seconds[name][0] < SLOW:
                start = time.perf_counter()
                run()
                seconds[name].append(time.perf_counter() - start)
    for name, taken in seconds.items():
        row["engines"][name] |= {"run": statistics.median(taken), "best": min(taken)}
    for name in ("xla", "xla-top"):
        if name in results and "reference" in results:
            worst = max(map(difference, results[name], results["reference"]), default=0.0)
            row["difference"] = max(row.get("difference", 0.0), worst)
    return row


def by_engine(name: str, module: Any, given: dict[str, np.ndarray]) -> Run:
    from transload.plugin import resolve
    from transload.plugin_host import host

    execute = resolve(host().get("engines", name).prepare)(module)
    return lambda: list(execute(given).values())


def by_reference_model(tosa: Any, given: dict[str, np.ndarray]) -> Run:
    from tempfile import TemporaryDirectory

    import tosa_reference_model

    import transload
    from transload.engine.run import check_inputs

    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.tosa"
        transload.save(tosa, file)
        content = file.read_bytes()
        read = transload.load(file)
    arrays = [np.ascontiguousarray(array) for array in check_inputs(
        read.main, dict(zip(transload.ir.input_names(read.main), given.values(), strict=True)))]

    def run() -> list[np.ndarray]:
        outputs, status = tosa_reference_model.run(content, arrays)
        if status != tosa_reference_model.GraphStatus.TOSA_VALID:
            raise RuntimeError(str(status))
        return list(outputs)

    return run


def by_iree(tosa: Any, given: dict[str, np.ndarray]) -> Run:
    from iree import runtime
    from iree.compiler import compile_str

    import transload
    from transload.engine.run import check_inputs

    program = transload.lower(tosa, "stablehlo")
    arrays = check_inputs(program.main, given)
    name = program.main.attributes["sym_name"]
    binary = compile_str(
        transload.text.print_module(program, locations=False), input_type="stablehlo", target_backends=["llvm-cpu"],
        extra_args=["--iree-llvmcpu-target-cpu=host"])
    config = runtime.Config("local-task")
    context = runtime.SystemContext(config=config)
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, binary))
    function = context.modules.module[name]

    def run() -> list[np.ndarray]:
        results = function(*arrays)
        return [np.asarray(one) for one in (results if isinstance(results, tuple | list) else [results])]

    return run


def by_own_runtime(path: Path, inputs: dict[str, np.ndarray], threads: int) -> Run:
    if path.suffix == ".onnx":
        onnxruntime = imported.onnxruntime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        # Its threads would go on looking for work while the next engine is measured.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        names = {value.name for value in session.get_inputs()}
        return lambda: list(session.run(None, {name: array for name, array in inputs.items() if name in names}))
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(path), num_threads=threads)
    details = interpreter.get_input_details()
    for detail, array in zip(details, inputs.values(), strict=True):
        interpreter.resize_tensor_input(detail["index"], array.shape)
    interpreter.allocate_tensors()

    def run() -> list[np.ndarray]:
        for detail, array in zip(details, inputs.values(), strict=True):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]

    return run


def difference(mine: np.ndarray, theirs: np.ndarray) -> float:
    """Greatest difference: in steps for integers, relative to the greatest value for floats."""
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    if mine.dtype.kind in "iu" and theirs.dtype.kind in "iu" and mine.dtype.itemsize == theirs.dtype.itemsize:
        mine = mine.view(theirs.dtype)  # TOSA knows no sign: the same bits
    a, b = mine.astype(np.float64), theirs.astype(np.float64)
    if not a.size:
        return 0.0
    worst = float(np.nanmax(np.abs(np.where(a == b, 0.0, a - b))))
    return worst if theirs.dtype.kind in "iub" else worst / max(float(np.nanmax(np.abs(b))), 1e-30)


def show(rows: list[dict[str, Any]]) -> None:
    names = [name for name in ENGINES if any(name in row.get("engines", {}) for row in rows)]
    table = Table("model", *(f"{name} ms" for name in names), "xla compile s", "xla MiB", "xla/own", "of best", "difference")
    for row in rows:
        engines = row.get("engines")
        if engines is None:
            table.add_row(row["model"], row.get("error", "?")[:60])
            continue
        times = [f"{engines[name]['run'] * 1e3:.2f}" if "run" in engines.get(name, {}) else "-" for name in names]
        xla, own = engines.get("xla", {}), engines.get("own", {})
        ratios = [f"{xla[key] / own[key]:.2f}" if key in xla and key in own else "-" for key in ("run", "best")]
        table.add_row(
            row["model"], *times, f"{xla.get('prepare', 0):.2f}", f"{xla.get('mib', 0):.0f}", *ratios,
            f"{row['difference']:.2g}" if "difference" in row else "-")
    Console(width=170).print(table)
    for other in ("reference", "tosa_reference_model", "iree", "own"):
        both = [row["engines"] for row in rows if all("run" in row.get("engines", {}).get(n, {}) for n in ("xla", other))]
        if both:
            mean = statistics.geometric_mean(one[other]["run"] / one["xla"]["run"] for one in both)
            print(f"{other} takes {mean:.2f} times the time of xla (geometric mean of {len(both)} models)")


def show_fit(rows: list[dict[str, Any]]) -> None:
    from transload.engine.choice import Work

    table = Table(
        "model", "products M", "elements M", "ops", "reference ms", "estimate", "compile s", "estimate", "pays from runs")
    for row in rows:
        engines = row.get("engines", {})
        if not all("run" in engines.get(name, {}) for name in ("reference", "xla")):
            continue
        work, reference, xla = Work(**row["work"]), engines["reference"], engines["xla"]
        gain = reference["run"] - xla["run"]
        table.add_row(
            row["model"], f"{work.products / 1e6:.1f}", f"{work.elements / 1e6:.2f}", str(work.ops),
            f"{reference['run'] * 1e3:.1f}", f"{work.reference_seconds * 1e3:.1f}", f"{xla['prepare']:.2f}",
            f"{work.compile_seconds:.2f}", f"{xla['prepare'] / gain:.0f}" if gain > 0 else "never")
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
