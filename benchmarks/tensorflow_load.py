"""How long a large SavedModel takes to load, and what stays resident, beside TensorFlow; how long converting a small graph takes.

    python benchmarks/tensorflow_load.py [--megabytes 100] [--rounds 5] [--tensorflow PYTHON] [--json results.json]

The SavedModel has products of 1000 x 1000 weights in its checkpoint. Seconds are of the call that loads, in a process that has
loaded a small model before, as TensorFlow's are; MiB is by how much the process grew. Converting is a process from its start
to its end, by the clock and by the processor. Medians of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
SIDE = 1000
LOAD = """
import json, sys, time
{imports}
def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024
load(sys.argv[1])
before, start, used = resident(), time.perf_counter(), time.process_time()
kept = load(sys.argv[2])
found = {{"seconds": time.perf_counter() - start, "processor": time.process_time() - used}}
print(json.dumps({{**found, "MiB": resident() - before}}))
"""
OURS = "from transload import load"
TENSORFLOW = "import tensorflow as tf\nload = tf.saved_model.load"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=100, help="size of the weights")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured")
    parser.add_argument("--tensorflow", metavar="PYTHON", help="the Python of an environment with tensorflow, to measure it, too")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        small, large = make(Path(place) / "small", 1), make(Path(place) / "large", asked.megabytes // 4)
        graph = Path(place) / "small.pb"
        graph.write_bytes(_graph_def(1, variables=False).SerializeToString())
        result = {f"load {asked.megabytes} MB": _loaded(sys.executable, OURS, small, large, asked.rounds)}
        if asked.tensorflow:
            result["load, tensorflow"] = _loaded(asked.tensorflow, TENSORFLOW, small, large, asked.rounds)
        result["convert a small graph"] = _converted(graph, Path(place) / "out", asked.rounds)
    for name, row in result.items():
        print(f"{name:24} " + ", ".join(f"{key} {value:.3f}" for key, value in row.items()))
    if asked.json:
        asked.json.write_text(json.dumps(result, indent=1))


def make(folder: Path, count: int) -> Path:
    """A SavedModel of as many products of matrices, its weights in a checkpoint."""
    sys.path.insert(0, str(HERE.parent))
    import numpy as np

    from transload_converters.tensorflow import messages_pb2 as messages

    from tests.support.checkpoints import write_checkpoint

    numbers = np.random.default_rng(0).normal(size=(SIDE, SIDE)).astype(np.float32)
    write_checkpoint(folder / "variables" / "variables", {f"tensor/{number}": numbers for number in range(count)})
    meta = messages.MetaGraphDef(graph_def=_graph_def(count, variables=True))
    meta.meta_info_def.tags.append("serve")
    info = meta.signature_def["serving_default"]
    for side, name in ((info.inputs["x"], "x:0"), (info.outputs["y"], "y:0")):
        side.name, side.dtype = name, 1
        for size in (1, SIDE):
            side.tensor_shape.dim.add(size=size)
    meta.saver_def.filename_tensor_name, meta.saver_def.restore_op_name = "file:0", "restored"
    meta.saver_def.MergeFromString(b"\x12\x06file:0")  # save_tensor_name, which TensorFlow wants to see and we have no field for
    saved = messages.SavedModel(saved_model_schema_version=1, meta_graphs=[meta])
    (folder / "saved_model.pb").write_bytes(saved.SerializeToString())
    return folder


def _graph_def(count: int, variables: bool) -> Any:
    """`x` through products and Relus; the weights are variables of a checkpoint, or a constant."""
    import numpy as np

    from tests.support.tensorflow_graphs import T, const, graph, node, placeholder

    real = T("float32")
    nodes, value = [placeholder("x", (1, SIDE))], "x"
    for number in range(count):
        weights = f"w{number}" if not variables else f"read{number}"
        nodes += [
            node(f"w{number}", "VarHandleOp", dtype=real, shape=(SIDE, SIDE), shared_name=f"w{number}"),
            node(weights, "ReadVariableOp", f"w{number}", dtype=real)] if variables else [
            const(weights, np.ones((SIDE, 10), np.float32))]
        nodes += [node(f"p{number}", "MatMul", value, weights, T=real), node(f"r{number}", "Relu", f"p{number}", T=real)]
        value = f"r{number}"
    nodes.append(node("y", "Identity", value, T=real))
    if variables:
        names = [f"tensor/{number}" for number in range(count)]
        nodes += [
            placeholder("file", (), "str"), const("names", np.array(names)), const("slices", np.array([""] * count)),
            node("restore", "RestoreV2", "file", "names", "slices", dtypes=[real] * count),
            *(node(f"a{number}", "AssignVariableOp", f"w{number}", f"restore:{number}", dtype=real) for number in range(count)),
            node("restored", "NoOp", *(f"^a{number}" for number in range(count)))]
    return graph(*nodes)


def _loaded(python: str, imports: str, small: Path, large: Path, rounds: int) -> dict[str, float]:
    found = []
    for _ in range(rounds):
        done = subprocess.run(
            [python, "-c", LOAD.format(imports=imports), str(small), str(large)], check=True, capture_output=True, text=True,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"})
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return {key: median(row[key] for row in found) for key in found[0]}


def _converted(graph: Path, out: Path, rounds: int) -> dict[str, float]:
    found = []
    for _ in range(rounds):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "transload", "convert", str(graph), "--target", "tosa", "-o", str(out)], check=True,
            capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append({
            "seconds": time.perf_counter() - start,
            "processor": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime})
    return {key: median(row[key] for row in found) for key in found[0]}


if __name__ == "__main__":
    main()
