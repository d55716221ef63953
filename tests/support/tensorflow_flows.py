"""Random control flow of TensorFlow 1: conditionals and loops in each other, dead branches, control edges; and its results.

    python -m tests.support.tensorflow_flows --count 500 --tensorflow build/tensorflow/bin/python

makes graphs, has tensorflow run them, and compares with the engine before and after functionalization; `--record FILE` writes
seeds and results of the first ones for tests that have no tensorflow.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import transload
from transload.passes.manager import Pipeline

from tests.support.tensorflow_graphs import T, const, graph, node, placeholder, read_graph

F, I, B = T("float32"), T("int32"), T("bool")
INPUTS = {"x": np.float32(0.75), "y": np.float32(-1.25)}
Env = dict[str, str]


class _Maker:
    """Nodes of one random graph. A context is the node that an op without operands runs after, so that it is in its branch."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.left = 40
        """Statements that there may be, so that graphs stay small."""

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(node(name, op, *inputs, **attributes))
        return name

    def constant(self, value: Any, pivot: str) -> str:
        name = f"const_{len(self.nodes)}"
        self.nodes.append(const(name, value, *([f"^{pivot}"] if pivot else [])))
        return name

    def pick(self, env: Env) -> str:
        return env[str(self.random.choice(sorted(env)))]

    def expression(self, env: Env, pivot: str) -> str:
        kind = str(self.random.choice(["AddV2", "Sub", "Maximum", "Minimum", "Tanh", "Neg", "Mul", "const"]))
        control = [f"^{pivot}"] if pivot and self.random.random() < 0.3 else []
        if kind == "const":
            return self.constant(np.float32(np.round(self.random.normal(), 2)), pivot)
        if kind in ("Tanh", "Neg"):
            return self.add(kind, self.pick(env), *control, T=F)
        if kind == "Mul":
            return self.add(kind, self.pick(env), self.constant(np.float32(0.5), pivot), *control, T=F)
        return self.add(kind, self.pick(env), self.pick(env), *control, T=F)

    def block(self, env: Env, pivot: str, depth: int) -> None:
        for _ in range(int(self.random.integers(1, 4))):
            self.left -= 1
            draw = self.random.random() if depth < 4 and self.left > 0 else 1.0
            if draw < 0.3:
                self.conditional(env, pivot, depth)
            elif draw < 0.55:
                self.loop(env, pivot, depth)
            else:
                env[str(self.random.choice(sorted(env)))] = self.expression(env, pivot)

    def conditional(self, env: Env, pivot: str, depth: int) -> None:
        predicate = self.add("Less", self.expression(env, pivot), self.pick(env), T=F)
        if self.random.random() < 0.15:  # known before: one branch is dead always
            predicate = self.constant(np.array(bool(self.random.random() < 0.5)), pivot)
        asked = self.add("Identity", predicate, T=B)
        sides = self.add("Switch", predicate, predicate, T=B)
        found = []
        for side in (0, 1):
            inner = {name: f"{self.add('Switch', value, asked, T=F)}:{side}" for name, value in env.items()}
            before = dict(inner)
            self.block(inner, self.add("Identity", f"{sides}:{side}", T=B), depth + 1)
            found.append((before, inner))
        for name in env:
            if any(before[name] != after[name] for before, after in found) or self.random.random() < 0.2:
                env[name] = self.add("Merge", found[0][1][name], found[1][1][name], T=F, N=2)

    def loop(self, env: Env, pivot: str, depth: int) -> None:
        frame = f"frame_{len(self.nodes)}"
        names = sorted(env)
        values = [self.constant(np.int32(0), pivot), *(env[name] for name in names)]
        kinds = [I, *[F] * len(names)]
        count = self.constant(np.int32(self.random.integers(0, 4)), pivot)
        limit = self.add("Enter", count, T=I, frame_name=frame, is_constant=True)
        merges = []
        for value, kind in zip(values, kinds, strict=True):
            entered = self.add("Enter", value, T=kind, frame_name=frame)
            merges.append(self.add("Merge", entered, f"{entered}_next", T=kind, N=2))
        test = self.add("Less", merges[0], limit, T=I)
        if self.random.random() < 0.4:
            small = self.constant(np.float32(np.round(self.random.normal(2), 2)), merges[0])
            test = self.add("LogicalAnd", test, self.add("Less", merges[1], small, T=F))
        test = self.add("LoopCond", test)
        switches = [self.add("Switch", merge, test, T=kind) for merge, kind in zip(merges, kinds, strict=True)]
        inside = self.add("Identity", f"{switches[0]}:1", T=I)
        inner = {name: f"{switch}:1" for name, switch in zip(names, switches[1:], strict=True)}
        self.block(inner, inside, depth + 1)
        after = [self.add("AddV2", inside, self.constant(np.int32(1), inside), T=I), *(inner[name] for name in names)]
        for merge, value, kind in zip(merges, after, kinds, strict=True):
            back = next(each for each in self.nodes if each.name == merge).input[1]
            self.nodes.append(node(back, "NextIteration", value, T=kind))
        for name, switch in zip(names, switches[1:], strict=True):
            if self.random.random() < 0.8:
                env[name] = self.add("Exit", f"{switch}:0", T=F)


def random_graph(seed: int) -> Any:
    """A graph with inputs x and y and results `out_0`, ..."""
    maker = _Maker(seed)
    env = {"a": "x", "b": "y", "c": maker.constant(np.float32(1.5), "")}
    for _ in range(3):
        maker.block(env, "", 0)
    outputs = [node(f"out_{place}", "Identity", env[name], T=F) for place, name in enumerate(sorted(env))]
    inputs = [placeholder(name, ()) for name in INPUTS]
    by_name = {each.name: each for each in (*inputs, *maker.nodes, *outputs)}
    needed: set[str] = set()
    pending = [each.name for each in (*inputs, *outputs)]
    while pending:  # what no result needs would be one
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            pending += [text.removeprefix("^").partition(":")[0] for text in by_name[name].input]
    return graph(*(each for name, each in by_name.items() if name in needed))


def results(graph_def: Any) -> tuple[dict[str, float], dict[str, float]]:
    """What the engine gives of a graph: as the executor runs it, and in functional form."""
    module = read_graph(graph_def)
    functional = module.clone()
    Pipeline.parse("tf-functionalize").run(functional)
    assert not any(op.dialect == "tf_executor" for op in functional.walk())
    inputs = {name: value for name, value in INPUTS.items() if name in module.inputs}
    first, second = (
        {name: float(value) for name, value in transload.run(form, inputs).items() if name.startswith("out_")}
        for form in (module, functional))
    return first, second


_SCRIPT = '''
import os, sys, json, pickle
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import tensorflow as tf
found = []
config = tf.compat.v1.ConfigProto()  # as the graph says: its optimizers make some of dead branches that nothing comes out of
config.graph_options.rewrite_options.disable_meta_optimizer = True
config.graph_options.optimizer_options.opt_level = -1
for data in pickle.load(open(sys.argv[1], "rb")):
    graph_def = tf.compat.v1.GraphDef.FromString(data)
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")
        with tf.compat.v1.Session(config=config) as session:
            names = ["out_0", "out_1", "out_2"]
            try:
                values = session.run([name + ":0" for name in names], {"x:0": 0.75, "y:0": -1.25})
                found.append({name: float(value) for name, value in zip(names, values)})
            except tf.errors.InvalidArgumentError as error:
                found.append({"error": str(error)[:200]})
json.dump(found, open(sys.argv[2], "w"))
'''


def by_tensorflow(python: str, graphs: list[Any]) -> list[dict[str, float]]:
    """What tensorflow gives of graphs, in the Python that has it."""
    import pickle

    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "graphs"), Path(folder, "results")
        given.write_bytes(pickle.dumps([each.SerializeToString() for each in graphs]))
        subprocess.run([python, "-c", _SCRIPT, str(given), str(made)], check=True)
        found: list[dict[str, float]] = json.loads(made.read_text())
        return found


def agree(one: dict[str, float], other: dict[str, float]) -> bool:
    """Whether results are the same; a tanh may be rounded otherwise."""
    return set(one) == set(other) and all(
        np.isclose(one[name], other[name], rtol=1e-5, atol=1e-6, equal_nan=True) for name in one)


def main() -> int:
    """Compare; says which seeds differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--tensorflow", default="build/tensorflow/bin/python")
    parser.add_argument("--record", type=Path)
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.count)
    graphs = [random_graph(seed) for seed in seeds]
    expected = by_tensorflow(asked.tensorflow, graphs)
    wrong = []
    for seed, graph_def, wanted in zip(seeds, graphs, expected, strict=True):
        try:
            before, after = results(graph_def)
            if not agree(before, wanted) or not agree(after, wanted):
                wrong.append((seed, wanted, before, after))
        except transload.TransloadError as error:
            wrong.append((seed, wanted, str(error)[:300], ""))
    for each in wrong:
        print(*each)
    right = asked.count - len(wrong)
    print(f"{right} of {asked.count} graphs agree with tensorflow, as the executor runs them and in functional form")
    if asked.record is not None:
        asked.record.write_text(json.dumps(expected[:40], indent=0) + "\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
