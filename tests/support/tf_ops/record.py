"""Runs every case in tensorflow and writes what it computes (`make test-tf`).

    python -m tests.support.tf_ops.record [--check]

With --check, what is recorded is compared with what tensorflow computes now, and nothing is written.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from .all_cases import all_cases
from .recorded import EXPECTED, fingerprint, read_expected, write_expected
from .spec import Case

__all__ = ["compute", "main"]


def compute(case: Case) -> list[np.ndarray]:
    """What tensorflow computes for a case's graph; raises what tensorflow raises."""
    import tensorflow as tf

    graph_def = tf.compat.v1.GraphDef()
    graph_def.ParseFromString(case.graph)
    names = [node.name for node in graph_def.node if node.name.startswith("y")]
    if case.xla:
        found = _compiled(tf, graph_def, case, names)
    else:
        config = tf.compat.v1.ConfigProto()
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph, config=config) as session:
            tf.import_graph_def(graph_def, name="")
            found = session.run([f"{name}:0" for name in names], {f"{key}:0": array for key, array in case.feeds.items()})
    return [_plain(array) for array in found]


def _compiled(tf: Any, graph_def: Any, case: Case, names: list[str]) -> list[np.ndarray]:
    """By tensorflow's compiler, which has layouts on CPUs that its kernels have not."""
    whole = tf.compat.v1.wrap_function(lambda: tf.import_graph_def(graph_def, name=""), [])
    pruned = whole.prune([f"{name}:0" for name in case.feeds], [f"{name}:0" for name in names])
    compiled = tf.function(lambda *inputs: pruned(*inputs), jit_compile=True)
    return [array.numpy() for array in compiled(*(tf.constant(array) for array in case.feeds.values()))]


def _plain(array: Any) -> np.ndarray:
    """As an array of numbers: quantized types come as structures of one field."""
    array = np.asarray(array)
    return array[array.dtype.names[0]] if array.dtype.names else array


def main(arguments: list[str]) -> int:
    """Record all cases, or check them; 1 where tensorflow refuses one, or computes something else."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    cases = all_cases()
    names = [str(case) for case in cases]
    double = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    found, refused = {}, []
    for case in cases:
        try:
            found[str(case)] = (fingerprint(case), compute(case))
        except Exception as error:
            refused.append(f"{case}: {type(error).__name__}: {str(error).splitlines()[0][:300]}")
    for line in (*refused, *(f"twice: {name}" for name in double)):
        print(line)
    print(f"{len(found)} cases of {len({case.op for case in cases})} ops; tensorflow refuses {len(refused)}")
    if "--check" in arguments:
        differ = [name for name, (mark, arrays) in read_expected(EXPECTED).items() if name not in found or mark != found[name][0]
                  or any(not np.allclose(a.astype(float), b.astype(float), 1e-4, 1e-5, equal_nan=True)
                         for a, b in zip(arrays, found[name][1], strict=True))]
        print(f"differ from what is recorded: {', '.join(differ) or 'none'}")
        return bool(differ or refused or double)
    write_expected(EXPECTED, found)
    print(f"{EXPECTED}: {EXPECTED.stat().st_size:,} bytes")
    return bool(refused or double)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
