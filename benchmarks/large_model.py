"""Memory and time to convert a model of a gigabyte of weights, from `.tflite` to `.tosa`.

    python benchmarks/large_model.py [--megabytes 1000] [--layers 16] [--formats float32 int8]

A model of fully connected layers is written to a temporary folder, then converted (load, legalize, lower, save) in a
process of its own. `peak` is the most resident memory that process had above what it had with everything imported,
mapped pages of the model's file included, in multiples of the file's size.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from peer import run_step
from rich.console import Console
from rich.table import Table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--formats", nargs="+", default=["float32", "int8"], choices=["float32", "int8"])
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--step", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        name, *paths = arguments.step
        if name == "write":  # in a process of its own: the most memory of a process counts that of its parent
            write_model(Path(paths[0]), arguments.formats[0], arguments.megabytes, arguments.layers)
            print("{}")
        else:
            print(json.dumps(convert(*map(Path, paths))))
        return
    rows = []
    for format_ in arguments.formats:
        with TemporaryDirectory() as folder:
            path, out = Path(folder) / "large.tflite", Path(folder) / "large.tosa"
            sizes = ["--formats", format_, "--megabytes", str(arguments.megabytes), "--layers", str(arguments.layers)]
            run_step(__file__, "write", path, options=sizes)
            row = {"format": format_, "bytes": path.stat().st_size, **run_step(__file__, "convert", path, out)}
        rows.append(row)
    table = Table("weights", "file MB", "seconds", "peak MB", "peak / file")
    for row in rows:
        if "peak" not in row:
            table.add_row(row["format"], f"{row['bytes'] / 1e6:.0f}", row.get("error", "?"))
            continue
        table.add_row(
            row["format"], f"{row['bytes'] / 1e6:.0f}", f"{row['seconds']:.2f}", f"{row['peak'] / 1e6:.0f}",
            f"{row['peak'] / row['bytes']:.2f}")
    Console(width=100).print(table)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(rows, indent=1))


def write_model(path: Path, format_: str, megabytes: int, layers: int) -> None:
    """A chain of fully connected layers of equal width."""
    from transload_converters.tflite.writer import ModelWriter, Quantization

    item = np.dtype(format_).itemsize
    width = int((megabytes * 1e6 / layers / item) ** 0.5) // 8 * 8
    rng = np.random.default_rng(0)
    model = ModelWriter(description="large")
    around = Quantization((0.05,), (0,)) if format_ == "int8" else None
    value = model.add_tensor("x", (1, width), format_, quantization=around)
    model.inputs = [value]
    for layer in range(layers):
        if format_ == "int8":
            weights = rng.integers(-127, 128, (width, width), np.int8)
            bias = model.add_tensor(f"b{layer}", (width,), "int32", data=np.arange(width, dtype=np.int32),
                                    quantization=Quantization((0.05 * 0.001,), (0,)))
        else:
            weights = rng.standard_normal((width, width), np.float32)
            bias = model.add_tensor(f"b{layer}", (width,), "float32", data=np.arange(width, dtype=np.float32))
        filter_ = model.add_tensor(
            f"w{layer}", (width, width), format_, data=weights,
            quantization=Quantization((0.001,), (0,)) if format_ == "int8" else None)
        result = model.add_tensor(f"y{layer}", (1, width), format_, quantization=around)
        model.add_operator("FULLY_CONNECTED", [value, filter_, bias], [result], {"fused_activation_function": "NONE"})
        value = result
    model.outputs = [value]
    path.write_bytes(model.finish())


def convert(path: Path, out: Path) -> dict[str, Any]:
    """Convert a small model first, so that everything is imported; then this one, watching memory."""
    import transload

    small = path.with_name("small.tflite")
    write_model(small, "float32", 1, 2)
    transload.save(transload.lower(transload.load(small), "tosa"), out)
    before = _peak()
    start = time.perf_counter()
    transload.save(transload.lower(transload.load(path), "tosa"), out)
    return {"seconds": time.perf_counter() - start, "peak": _peak() - before}


def _peak() -> int:
    """The most bytes this process has had resident so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main()
