"""TFLite and ONNX models exported to StableHLO, run by XLA (and by IREE), against the frameworks' own runtimes.

    python benchmarks/stablehlo_export.py [../shared/models] [--iree] [--json results.json] [--only NAME] [--seed N]

For every `.tflite` and `.onnx` file below a folder: the model becomes StableHLO, and is run by the engine `xla` on random
inputs; with `--iree`, its portable artifact is compiled by IREE for this CPU and run, too. Both are compared with LiteRT's
reference kernels or onnxruntime in the same run: integers and booleans bit for bit, floats by their cosine and greatest
difference. A model is right where integers are the same and the cosine of floats is at least 0.99999. Where LiteRT refuses a
model, TensorFlow Lite Micro judges (package tflite-micro, where it is installed), else the model's TOSA in our reference engine;
the row says which.

The exit code is 0 where at least 30 of the TFLite models and 10 of the ONNX models are right in XLA; with `--only`, where all of
those are. Each model runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from onnx_vs_runtime import SHAPES, VALUES
from peer import load, run_step
from rich.console import Console
from rich.table import Table

COSINE = 0.99999
FLOOR = {".tflite": 30, ".onnx": 10}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("../shared/models"))
    parser.add_argument("--iree", action="store_true", help="compile and run the portable artifacts by IREE, too")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--only", default="", help="only models whose path has this in it")
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs")
    parser.add_argument("--step", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        name, *paths = arguments.step
        warnings.simplefilter("ignore")
        print(json.dumps(STEPS[name](*map(Path, paths), seed=arguments.seed)))
        return
    paths = [
        path for suffix in FLOOR for path in sorted(arguments.folder.rglob(f"*{suffix}")) if arguments.only in str(path)]
    rows = []
    for path in paths:
        rows.append(measure(path, arguments.iree, arguments.seed))
        said = "; ".join(f"{who} {verdict(rows[-1][who])}" for who in ("xla", "iree") if who in rows[-1])
        print(f"{len(rows)}/{len(paths)} {rows[-1]['model']}: {said}", file=sys.stderr)
    show(rows, arguments.iree)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))
    counts = {suffix: sum(row["format"] == suffix and is_right(row.get("xla")) for row in rows) for suffix in FLOOR}
    enough = sum(counts.values()) == len(rows) if arguments.only else all(counts[key] >= least for key, least in FLOOR.items())
    sys.exit(0 if enough else 1)


def measure(path: Path, iree: bool, seed: int) -> dict[str, Any]:
    """One row: what the framework's runtime says, and what becomes of the export in XLA and IREE."""
    row: dict[str, Any] = {"model": model_name(path), "format": path.suffix}
    with TemporaryDirectory() as folder:
        work = Path(folder)
        options = ["--seed", str(seed)]
        row["reference"] = run_step(__file__, "reference", path, work, options=options)
        if not (work / "inputs.npz").exists():
            return row | {"xla": {"error": row["reference"].get("error", "no inputs")}}
        row["export"] = run_step(__file__, "export", path, work)
        if "error" in row["export"]:
            return row | {"xla": {"error": row["export"]["error"]}}
        for who in ["xla", *(["iree"] if iree else [])]:
            outputs = work / f"{who}.npz"
            row[who] = run_step(__file__, who, work)
            if outputs.exists():
                row[who] |= compare(load(work / "reference.npz"), load(outputs))
    return row


def model_name(path: Path) -> str:
    """The folder of a model, and its file where there are several in it."""
    alone = len(list(path.parent.glob(f"*{path.suffix}"))) == 1
    return path.parent.name if alone else f"{path.parent.name}/{path.stem}"


def keep(path: Path, arrays: Sequence[np.ndarray]) -> None:
    np.savez(path, **{f"{index:04}": array for index, array in enumerate(arrays)})


def compare(reference: Sequence[np.ndarray], actual: Sequence[np.ndarray]) -> dict[str, Any]:
    """How many integers differ and by how much; the least cosine and the greatest difference of floats."""
    if len(reference) != len(actual):
        return {"error": f"{len(actual)} outputs for {len(reference)}"}
    result: dict[str, Any] = {"differ": 0, "steps": 0}
    for a, b in zip(reference, actual, strict=True):
        if a.size != b.size:
            return {"error": f"an output of shape {list(b.shape)} for {list(a.shape)}"}
        b = b.reshape(a.shape)
        if a.dtype.kind in "iub":
            if b.dtype != a.dtype and b.dtype.itemsize == a.dtype.itemsize:
                b = b.view(a.dtype)
            steps = np.abs(a.astype(np.int64) - b.astype(np.int64))
            result["differ"] += int((steps > 0).sum())
            result["steps"] = max(result["steps"], int(steps.max(initial=0)))
        else:
            x, y = a.ravel().astype(np.float64), b.ravel().astype(np.float64)
            length = float(np.linalg.norm(x) * np.linalg.norm(y))
            cosine = float(x @ y) / length if length else float(np.array_equal(x, y))
            result["cos"] = min(result.get("cos", 1.0), cosine)
            result["max"] = max(result.get("max", 0.0), float(np.abs(x - y).max(initial=0.0)))
    return result


# --- the steps, each in a process of its own


def source_of(path: Path) -> Any:
    import transload

    return transload.load(path, inputs=SHAPES.get(path.parent.name) if path.suffix == ".onnx" else None)


def step_reference(path: Path, work: Path, seed: int) -> dict[str, Any]:
    """Random inputs, and what the framework's runtime makes of them."""
    import transload
    from transload.errors import TransloadError
    from transload.plugin import resolve
    from transload.plugin_host import host
    from transload.verification.inputs import random_inputs

    source = source_of(path)
    hub = transload.legalize(source)
    inputs = random_inputs(source, hub, seed)
    if path.suffix == ".onnx":
        inputs.update({key: np.array(value) for key, value in VALUES.get(path.parent.name, {}).items()})
    keep(work / "inputs.npz", list(inputs.values()))
    judge = "onnxruntime" if path.suffix == ".onnx" else "litert"
    try:
        outputs = resolve(host().get("runtimes", judge).open)(path)(inputs)
        arrays = list(outputs.values())
    except TransloadError:
        judge, arrays = other_judge(path, source, list(inputs.values()))
    keep(work / "reference.npz", arrays)
    return {"judge": judge}


def other_judge(path: Path, source: Any, inputs: list[np.ndarray]) -> tuple[str, list[np.ndarray]]:
    """Who judges a model that its framework's runtime refuses, and the outputs."""
    import transload

    try:
        from tflite_micro.python.tflite_micro import runtime
    except ImportError:
        module = transload.lower(source, "tosa")
        return "TOSA, our kernels", list(transload.run(module, dict(zip(names_of(module), inputs, strict=True))).values())
    interpreter = runtime.Interpreter.from_file(str(path))
    for index, array in enumerate(inputs):
        interpreter.set_input(array, index)
    interpreter.invoke()
    count = len(source.main.regions[0].block.terminator.operands)
    return "tflite-micro", [interpreter.get_output(index) for index in range(count)]


def names_of(module: Any) -> list[str]:
    from transload.ir import input_names

    return input_names(module.main)


def step_export(path: Path, work: Path, seed: int) -> dict[str, Any]:
    """The model as a portable artifact of StableHLO."""
    import transload
    from transload.contents import op_counts

    source = source_of(path)
    start = time.perf_counter()
    module = transload.lower(source, "stablehlo")
    seconds = time.perf_counter() - start
    transload.save(module, work / "model.mlirbc")
    return {"ops": sum(op_counts(module).values()), "ms": 1e3 * seconds, "bytes": (work / "model.mlirbc").stat().st_size}


def arguments_of(work: Path) -> tuple[Any, list[np.ndarray]]:
    """The exported module, and its inputs as it takes them: unsigned bits as signed ones, i64 as i32."""
    import transload
    from transload.ir import dtype_of

    module = transload.load(work / "model.mlirbc")
    arrays = []
    for array, argument in zip(load(work / "inputs.npz"), module.main.regions[0].block.arguments, strict=True):
        dtype = dtype_of(argument.element)
        same_bits = array.dtype.kind in "iu" and dtype.kind in "iu" and array.dtype.itemsize == dtype.itemsize
        arrays.append(array.view(dtype) if same_bits else array.astype(dtype))
    return module, arrays


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What `work` gives the second time, and the milliseconds that took."""
    work()
    start = time.perf_counter()
    return work(), 1e3 * (time.perf_counter() - start)


def step_xla(work: Path, seed: int) -> dict[str, Any]:
    """The engine `xla`."""
    from transload.plugin import resolve
    from transload.plugin_host import host

    module, arrays = arguments_of(work)
    start = time.perf_counter()
    execute = resolve(host().get("engines", "xla").prepare)(module)
    inputs = dict(zip(names_of(module), arrays, strict=True))
    outputs = execute(inputs, False)
    compiled = time.perf_counter() - start
    outputs, milliseconds = timed(lambda: execute(inputs, False))
    keep(work / "xla.npz", list(outputs.values()))
    return {"compile_s": compiled, "ms": milliseconds}


def step_iree(work: Path, seed: int) -> dict[str, Any]:
    """The portable artifact through IREE's compiler for the CPU."""
    import iree.compiler as compiler
    import iree.runtime as runtime

    _, arrays = arguments_of(work)
    start = time.perf_counter()
    code = compiler.compile_file(
        str(work / "model.mlirbc"), input_type="stablehlo",
        extra_args=["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
                    "--iree-llvmcpu-target-cpu=host"])
    compiled = time.perf_counter() - start
    configuration = runtime.Config("local-task")
    context = runtime.SystemContext(config=configuration)
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, code))
    names = [name for name in context.modules.module.vm_module.function_names if name == "main"]
    main = context.modules.module[names[0]]
    found, milliseconds = timed(lambda: main(*arrays))
    outputs = found if isinstance(found, tuple | list) else [found]
    keep(work / "iree.npz", [np.asarray(output.to_host() if hasattr(output, "to_host") else output) for output in outputs])
    return {"compile_s": compiled, "ms": milliseconds}


STEPS = {"reference": step_reference, "export": step_export, "xla": step_xla, "iree": step_iree}


# --- the table


def is_right(side: dict[str, Any] | None) -> bool:
    return side is not None and "error" not in side and side.get("differ") == 0 and side.get("cos", 1.0) >= COSINE


def verdict(side: dict[str, Any] | None) -> str:
    """What became of a model, in a few words."""
    if side is None:
        return "-"
    if "error" in side:
        return f"fails: {side['error']}"
    numbers = []
    if side.get("differ"):
        numbers.append(f"{side['differ']} integers differ, by {side['steps']} at most")
    if "cos" in side:
        numbers.append(f"cos {side['cos']:.7f} max {side['max']:.1e}")
    return ("right" if is_right(side) else "wrong") + (f": {', '.join(numbers)}" if numbers else "")


def show(rows: Sequence[dict[str, Any]], iree: bool) -> None:
    """Print the table and a summary."""
    table = Table(title="Exported to StableHLO")
    for title in ("model", "judge", "ops", "export ms", "XLA", "compile s", "ms"):
        table.add_column(title, justify="left" if title in ("model", "judge", "XLA") else "right", max_width=60)
    if iree:
        for title in ("IREE", "compile s", "ms"):
            table.add_column(title, justify="left" if title == "IREE" else "right", max_width=60)
    for row in rows:
        export = row.get("export", {})
        cells = [row["model"], row["reference"].get("judge", "-"), str(export.get("ops", "")), _number(export.get("ms"))]
        for who in ["xla", *(["iree"] if iree else [])]:
            side = row.get(who) or {}
            cells += [verdict(row.get(who)), _number(side.get("compile_s")), _number(side.get("ms"))]
        table.add_row(*cells)
    console = Console(width=230)
    console.print(table)
    for suffix, least in FLOOR.items():
        those = [row for row in rows if row["format"] == suffix]
        said = ", ".join(
            f"{sum(is_right(row.get(who)) for row in those)} right in {title}"
            for who, title in (("xla", "XLA"), ("iree", "IREE")) if who == "xla" or iree)
        console.print(f"{suffix}: of {len(those)} models {said} (at least {least} are wanted in XLA)")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}" if value < 100 else f"{value:.0f}"


if __name__ == "__main__":
    main()
