"""What the benchmarks against Arm's tosa-converter-for-tflite share: using it, and steps in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 600
"""After which a tool is stopped."""
HELP = "--tosa-convert-integer-type-to-signless"
"""The pass of tosa-opt that the peer's unsigned integers need."""


def without_dynamic_sizes(content: bytes) -> bytes:
    """The model with every `shape_signature` overwritten by the shape that goes with it."""
    from ai_edge_litert import schema_py_generated as schema

    data = bytearray(content)
    model = schema.Model.GetRootAs(data, 0)
    for graph in map(model.Subgraphs, range(model.SubgraphsLength())):
        for tensor in map(graph.Tensors, range(graph.TensorsLength())):
            if not tensor.ShapeSignatureIsNone() and tensor.ShapeSignatureLength() == tensor.ShapeLength():
                tensor.ShapeSignatureAsNumpy()[:] = tensor.ShapeAsNumpy()
    return bytes(data)


def run_step(
    program: str, name: str, *paths: Path, options: Sequence[str] = (), python: Path | None = None, seconds: float = SECONDS,
) -> dict[str, Any]:
    """Run one step of a program in a process of its own, by this Python or another; what it printed last, or how it ended, at
    the latest after so many seconds."""
    command = [str(python or sys.executable), program, *options, "--step", name, *map(str, paths)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"stopped after {seconds:g} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        return json.loads(lines[-1])
    said = [line for line in done.stderr.strip().splitlines() if line.strip()]
    return {"error": said[-1][:300] if said else f"ended with {done.returncode}"}


def convert_by_peer(path: Path, out: Path, *passes: str) -> dict[str, Any]:
    """The peer: `.tflite` to MLIR, timed; then `tosa-opt` to `.tosa`, not timed. Returns times, counts and errors."""
    from tosa_converter_for_tflite import TosaConverterOutputFormat, tflite_flatbuffer_to_tosa_mlir

    code, text = out.with_suffix(".mlirbc"), out.with_suffix(".mlir")
    _, seconds = best(lambda: tflite_flatbuffer_to_tosa_mlir(str(path), str(code)))
    tflite_flatbuffer_to_tosa_mlir(str(path), str(text), output_format=TosaConverterOutputFormat.Text)
    counts = mlir_ops(text.read_text(errors="replace"))
    result = {
        "ms": seconds * 1e3,
        "ops": sum(n for name, n in counts.items() if name.startswith("tosa.") and "const" not in name),
        "left": {
            name: n for name, n in counts.items() if name == "tosa.custom" or (name.startswith("tfl.") and "const" not in name)
        },
    }
    tool = Path(sys.executable).with_name("tosa-opt")
    command = [str(tool), str(code), *passes, f"--tosa-serialize=tosa-flatbuffer-filename={out}", "-o", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()] or [f"tosa-opt ended with {done.returncode}"]
        result["error"] = next((line.partition("error: ")[2] for line in said if "error: " in line), said[0])[:200]
        out.unlink(missing_ok=True)
    return result


def mlir_ops(text: str) -> Counter[str]:
    """How often each op occurs in MLIR text: the word behind `=` or at the start of a line."""
    counts: Counter[str] = Counter()
    for line in text.splitlines():
        words = line.partition(" = ")[2] if line.lstrip().startswith("%") else line
        word = words.lstrip().partition(" ")[0].partition("(")[0].strip('"')
        if word.startswith(("tosa.", "tfl.")):
            counts[word] += 1
    return counts


def best(work: Callable[[], Any], times: int = 3) -> tuple[Any, float]:
    """What `work` gives, and the least time that it took."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        result = work()
        taken.append(time.perf_counter() - start)
    return result, min(taken)


def load(path: Path) -> list[np.ndarray]:
    """The arrays of an `.npz` file, in order."""
    with np.load(path) as arrays:
        return [arrays[name] for name in arrays.files]


def model_name(path: Path) -> str:
    """What a model is called: by the folder it has for itself, else by its file."""
    return path.parent.name if path.parent.name != "tflite" else path.stem
