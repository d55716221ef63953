"""Memory and time to convert models by the size of their weights: what `docs/scale.md` says of it.

    python benchmarks/large_model.py [--megabytes 1 10 100 1000 2000] [--layers 16]
        [--sources tflite-float32 tflite-int8 onnx-float32] [--targets tosa stablehlo]

A model of fully connected layers is written to a temporary folder (ONNX with its weights in a file beside it), then converted
(load, legalize, lower, save) in a process of its own. `peak` is the most resident memory that process had above what it had with
everything imported, mapped pages of the model's file included, in multiples of the file's size.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from peer import run_step
from rich.console import Console
from rich.table import Table

SOURCES = ("tflite-float32", "tflite-int8", "onnx-float32")
TARGETS = {"tosa": ".tosa", "stablehlo": ".mlirbc"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[1000])
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--sources", nargs="+", default=list(SOURCES), choices=SOURCES)
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), choices=TARGETS)
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--step", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        name, path, *rest = arguments.step
        if name == "write":  # in a process of its own: the most memory of a process counts that of its parent
            write(Path(path), arguments.sources[0], arguments.megabytes[0], arguments.layers)
            print("{}")
        else:
            print(json.dumps(convert(Path(path), Path(rest[0]), arguments.sources[0])))
        return
    rows = [row for source in arguments.sources for megabytes in arguments.megabytes
            for row in measured(source, megabytes, arguments.layers, arguments.targets)]
    table = Table("from", "to", "weights MB", "seconds", "MB/s", "peak MB", "peak / weights")
    for row in rows:
        head = (row["source"], row["target"], f"{row['bytes'] / 1e6:,.0f}")
        if "peak" not in row:
            table.add_row(*head, row.get("error", "?"))
            continue
        table.add_row(*head, f"{row['seconds']:.2f}", f"{row['bytes'] / 1e6 / row['seconds']:,.0f}",
                      f"{row['peak'] / 1e6:,.0f}", f"{row['peak'] / row['bytes']:.2f}")
    Console(width=100).print(table)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(rows, indent=1))


def measured(source: str, megabytes: int, layers: int, targets: Sequence[str]) -> Iterator[dict[str, Any]]:
    """One model for all targets."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"large.{source.partition('-')[0]}"
        options = ["--sources", source, "--megabytes", str(megabytes), "--layers", str(layers)]
        run_step(__file__, "write", path, options=options)
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
        for target in targets:
            out = Path(folder) / f"large{TARGETS[target]}"
            yield {"source": source, "target": target, "bytes": size, **run_step(__file__, "convert", path, out, options=options)}
            out.unlink(missing_ok=True)


def write(path: Path, source: str, megabytes: int, layers: int) -> None:
    """The model, as the source says."""
    format_ = source.rpartition("-")[2]
    if path.suffix == ".onnx":
        write_onnx(path, megabytes, layers)
    else:
        write_model(path, format_, megabytes, layers)


def write_onnx(path: Path, megabytes: int, layers: int) -> None:
    """A chain of matrix products of equal width, its weights in a file beside it, written one after the other."""
    import onnx
    from onnx import helper

    width = int((megabytes * 1e6 / layers / 4) ** 0.5) // 8 * 8
    rng = np.random.default_rng(0)
    weights, nodes, beside = [], [], path.with_suffix(".data")
    with beside.open("wb") as file:
        for layer in range(layers):
            tensor = onnx.TensorProto(name=f"w{layer}", data_type=onnx.TensorProto.FLOAT, dims=[width, width])
            tensor.data_location = onnx.TensorProto.EXTERNAL
            for key, value in (("location", beside.name), ("offset", file.tell()), ("length", width * width * 4)):
                tensor.external_data.add(key=key, value=str(value))
            file.write(rng.standard_normal((width, width), np.float32))
            weights.append(tensor)
            nodes.append(helper.make_node("MatMul", [f"y{layer - 1}" if layer else "x", f"w{layer}"], [f"y{layer}"]))
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, width]) for name in ("x", f"y{layers - 1}")]
    graph = helper.make_graph(nodes, "large", ends[:1], ends[1:], weights)
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString())


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


def convert(path: Path, out: Path, source: str) -> dict[str, Any]:
    """Convert a small model first, so that everything is imported; then this one, watching memory."""
    import transload

    target = next(name for name, suffix in TARGETS.items() if suffix == out.suffix)
    small = path.with_name(f"small{path.suffix}")
    write(small, source, 1, 2)
    transload.save(transload.lower(transload.load(small), target), out)
    for file in path.parent.glob("small.*"):
        file.unlink()
    before = _peak()
    start = time.perf_counter()
    transload.save(transload.lower(transload.load(path), target), out)
    return {"seconds": time.perf_counter() - start, "peak": _peak() - before}


def _peak() -> int:
    """The most bytes this process has had resident so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main()
