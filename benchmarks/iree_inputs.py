"""What IREE is given: the same networks as StableHLO and as TOSA, compiled for this CPU and run beside their own runtimes.

    TRANSLOAD_MODELS=FOLDER python benchmarks/iree_inputs.py [PART-OF-A-NAME ...]

Each form of a model is a process of its own, of ten minutes at most. Told are the seconds that compiling takes, the milliseconds
of the fastest of ten runs, the size of the program, and the greatest difference from what the model's own runtime gives.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from model_samples import FOLDER, load, models, samples_for
from peer import run_step
from rich.console import Console
from rich.table import Table

import transload
from transload.verification.runtimes import runtime_for

FORMS = {"stablehlo": ".mlirbc", "tosa": ".mlir"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of the names of models to take; all without")
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        form, path = arguments.step
        print(json.dumps(measured(Path(path), form)))
        return
    table = Table("model", "form", "compiled in s", "run in ms", "KiB", "difference")
    for path in models(FOLDER):
        if not arguments.names or any(name in str(path) for name in arguments.names):
            for form in FORMS:
                row = run_step(__file__, form, path)
                table.add_row(path.parent.name, form, *row.get("columns", ("", "", "", row.get("error", ""))))
    Console(width=130).print(table)


def measured(path: Path, form: str) -> dict[str, Any]:
    """The columns of a model in a form."""
    from iree import compiler, runtime

    source = load(path)
    (sample,) = samples_for(path, source, 1, 0)
    own = runtime_for(source.source_format)[0]
    assert own is not None and source.source is not None
    wanted = list(transload.plugin.resolve(own.open)(source.source)(sample).values())
    lowered = transload.lower(transload.legalize(source), form)
    with tempfile.TemporaryDirectory() as folder:
        file = transload.save(lowered, Path(folder) / f"model{FORMS[form]}")
        start = time.perf_counter()
        code = compiler.compile_file(
            str(file), input_type=form, target_backends=["llvm-cpu"], extra_args=["--iree-llvmcpu-target-cpu=host"])
        seconds = time.perf_counter() - start
    context = runtime.SystemContext(config=runtime.Config("local-task"))
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, code))
    given = [array.view(np.int8) if form == "tosa" and array.dtype == np.uint8 else array for array in sample.values()]
    took = []
    for _ in range(10):
        start = time.perf_counter()
        found = context.modules.module["main"](*given)
        arrays = [np.asarray(one.to_host()) for one in (found if isinstance(found, list | tuple) else [found])]
        took.append(time.perf_counter() - start)
    far = max(difference(*pair) for pair in zip(wanted, arrays, strict=False))
    return {"columns": (f"{seconds:.1f}", f"{min(took) * 1e3:.2f}", f"{len(code) / 1024:.0f}", f"{far:.2g}")}


def difference(wanted: np.ndarray, given: np.ndarray) -> float:
    same = given.view(wanted.dtype) if given.dtype.itemsize == wanted.dtype.itemsize else given
    return float(np.abs(wanted.astype(np.float64) - same.astype(np.float64).reshape(wanted.shape)).max(initial=0.0))


if __name__ == "__main__":
    main()
