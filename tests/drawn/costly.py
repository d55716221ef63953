"""A file of some hundred bytes asks for work without end: commands do what the budget allows, or say what it would cost.

A case is an op, or a chain of such, whose work grows faster than its file and its results (a kernel of a million weights that are
one number, boxes that are all compared, a transform, a sequence), of a size that is drawn from little to far too much. A command
of the user's is run on it with a small budget. Judge: the exit code is none of a defect, and the process takes no more than 60 s
and 2 GB.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.drawn import Outcome
from tests.drawn._limited import limited

__all__ = ["SAMPLE", "draw"]

SAMPLE = 3
_BUDGET = "elements=4194304,products=268435456,seconds=4,rounds=4"
"""A thousandth of what is allowed: what is not counted takes as long as it would otherwise."""
_TARGETS = ("tosa", "stablehlo", "tflite", "onnx", "ethos-u85-256", "tp-small", "iree-llvm-cpu")
_INT64 = TensorProto.INT64


class Graph:
    """Nodes of a model that grow, with constants that take no room in the file."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []

    def node(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """The first result of a new node."""
        made = [f"v{len(self.nodes)}_{place}" for place in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), made, **attributes))
        return made[0]

    def numbers(self, values: Any, dtype: Any = np.int64) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def input(self, *shape: int, element: int = TensorProto.FLOAT) -> str:
        name = f"i{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, element, shape))
        return name

    def all_same(self, *shape: int, number: float = 1.0, dtype: Any = np.float32) -> str:
        return self.node("ConstantOfShape", self.numbers(shape), value=numpy_helper.from_array(np.array([number], dtype)))

    def model(self, result: str) -> Any:
        graph = helper.make_graph(self.nodes, "g", self.inputs, [onnx.ValueInfoProto(name=result)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


Costly = Callable[[Graph, int], str]
"""Adds nodes whose work grows with a size of 2 to 2,000,000, and gives the result."""
_KINDS: list[Costly] = []


def _kind(make: Costly) -> Costly:
    _KINDS.append(make)
    return make


@_kind
def long_kernel(g: Graph, n: int) -> str:
    return g.node("Conv", g.input(1, 1, 100, 1), g.all_same(1, 1, n, 1), pads=[n, 0, n, 0])


@_kind
def deep_kernel(g: Graph, n: int) -> str:
    side = int(n**0.5) | 1
    return g.node("Conv", g.input(1, 16, 64, 64), g.all_same(16, 1, side, side), pads=[side // 2] * 4, group=16)


@_kind
def spread_kernel(g: Graph, n: int) -> str:
    side = int(n**0.5) + 1
    return g.node("ConvTranspose", g.input(1, 4, 32, 32), g.all_same(4, 2, side, side))


@_kind
def kernel_of_constants(g: Graph, n: int) -> str:
    side = int(n**0.5) + 1
    return g.node("Conv", g.all_same(1, 1, 2 * side, 2 * side), g.all_same(1, 1, side, side))


@_kind
def product_of_constants(g: Graph, n: int) -> str:
    side = min(int(n**0.5) + 1, 1000)
    made = g.all_same(side, side)
    for _ in range(400):
        made = g.node("MatMul", made, made)
    return g.node("Add", made, g.input(1, 1))


@_kind
def sorted_constants(g: Graph, n: int) -> str:
    made = g.node("Range", g.numbers(0.0, np.float32), g.numbers(float(n), np.float32), g.numbers(1.0, np.float32))
    for _ in range(200):
        made = g.node("TopK", made, g.numbers([n]), outputs=2)
    return g.node("Add", made, g.input(1))


@_kind
def boxes(g: Graph, n: int) -> str:
    count = min(n, 200_000)
    return g.node("NonMaxSuppression", g.input(1, count, 4), g.input(1, 2, count), g.numbers(count), g.numbers(0.5, np.float32))


@_kind
def few_boxes(g: Graph, n: int) -> str:
    count = min(n, 200_000)
    return g.node("NonMaxSuppression", g.input(1, count, 4), g.input(1, 2, count), g.numbers(200), g.numbers(0.5, np.float32))


@_kind
def determinants(g: Graph, n: int) -> str:
    return g.node("Det", g.input(n // 100 + 1, 12, 12))


@_kind
def determinant_of_constants(g: Graph, n: int) -> str:
    side = 2 * int(n**0.5) + 1
    return g.node("Add", g.node("Det", g.all_same(side, side)), g.input(1))


@_kind
def areas(g: Graph, n: int) -> str:
    side = min(n, 3000) + 1
    return g.node("MaxRoiPool", g.input(1, 1, side, side), g.input(100, 5), pooled_shape=[7, 7])


@_kind
def windows(g: Graph, n: int) -> str:
    side = int(n**0.5) + 2
    return g.node("LpPool", g.input(1, 1, 2 * side, 2 * side), kernel_shape=[side, side])


@_kind
def sequence(g: Graph, n: int) -> str:
    return g.node("LSTM", g.input(n, 1, 4), g.all_same(1, 256, 4), g.all_same(1, 256, 64), hidden_size=64)


@_kind
def transform(g: Graph, n: int) -> str:
    return g.node("DFT", g.input(1, n + 1, 1))


@_kind
def filters(g: Graph, n: int) -> str:
    made = g.node("MelWeightMatrix", g.numbers(1000), g.numbers(n), g.numbers(16000), g.numbers(0.0, np.float32),
                  g.numbers(8000.0, np.float32))
    return g.node("ReduceSum", g.node("Mul", made, g.input(1)))


@_kind
def letters(g: Graph, n: int) -> str:
    side = int(n**0.5) + 1
    return g.node("Einsum", *(g.input(side, side) for _ in range(4)), equation="ab,bc,cd,da->ac")


@_kind
def scattered(g: Graph, n: int) -> str:
    places = g.all_same(n, 1, number=0, dtype=np.int64)
    return g.node("ScatterND", g.input(100), places, g.all_same(n), reduction="max")


@_kind
def sampled(g: Graph, n: int) -> str:
    side = int(n**0.5) + 1
    return g.node("GridSample", g.input(1, 4, 64, 64), g.input(1, side, side, 2), mode="cubic")


@_kind
def deformed(g: Graph, n: int) -> str:
    side = min(int(n**0.5), 30) | 1
    offsets = g.input(1, 2 * side * side, 33 - side, 33 - side)
    return g.node("DeformConv", g.input(1, 4, 32, 32), g.all_same(8, 4, side, side), offsets)


@_kind
def enlarged(g: Graph, n: int) -> str:
    scale = n**0.5
    return g.node("Resize", g.input(1, 1, 64, 64), "", g.numbers([1, 1, scale, scale], np.float32), mode="cubic")


@_kind
def folded_columns(g: Graph, n: int) -> str:
    side = min(int(n**0.5), 60) + 1
    return g.node("Col2Im", g.input(1, side * side, 2500), g.numbers([49 + side] * 2), g.numbers([side, side]))


@_kind
def many_operands(g: Graph, n: int) -> str:
    return g.node(("Sum", "Max", "Mean")[n % 3], *[g.input(10)] * min(n, 100_000))


@_kind
def many_parts(g: Graph, n: int) -> str:
    return g.node("Concat", *[g.input(10)] * min(n, 100_000), axis=0)


@_kind
def doubled(g: Graph, n: int) -> str:
    made = g.input(2)
    for place in range(n.bit_length() * 2):
        made = g.node("Concat", made, made, axis=0) if place % 3 else g.node("Tile", made, g.numbers([2]))
    return made


@_kind
def gathered(g: Graph, n: int) -> str:
    made = g.input(10)
    for _ in range(20):
        rows = g.node("Gather", made, g.all_same(10, n, number=0, dtype=np.int64))
        made = g.node("ReduceSum", rows, g.numbers([1]), keepdims=0)
    return made


@_kind
def padded(g: Graph, n: int) -> str:
    made = g.input(1, 1)
    for _ in range(20):
        made = g.node("ReduceSum", g.node("Pad", made, g.numbers([0, 0, 1, n]), mode="edge"), g.numbers([0, 1]))
    return made


@_kind
def rounds(g: Graph, n: int) -> str:
    bool_, float_ = TensorProto.BOOL, TensorProto.FLOAT
    body = helper.make_graph(
        [helper.make_node(kind, [given], [made])
         for kind, given, made in (("Identity", "c", "d"), ("Tanh", "x", "y"), ("Exp", "y", "z"))],
        "body",
        [helper.make_tensor_value_info("n", _INT64, []), helper.make_tensor_value_info("c", bool_, []),
         helper.make_tensor_value_info("x", float_, [10])],
        [helper.make_tensor_value_info("d", bool_, []), helper.make_tensor_value_info("y", float_, [10]),
         helper.make_tensor_value_info("z", float_, [10])])
    return g.node("Loop", g.numbers(n**3), "", g.input(10), body=body, outputs=2)


def draw(number: int, folder: Path) -> Outcome:
    """Case `number`: one kind after the other, of a drawn size, by a drawn command."""
    dice = random.Random(f"costly {number}")
    kind, size = _KINDS[number % len(_KINDS)], int(2 ** dice.uniform(1, 21))
    graph = Graph()
    file = folder / "model.onnx"
    onnx.save(graph.model(kind(graph, size)), file)
    command = dice.choice((
        ["inspect", str(file)], ["run", str(file), "-o", str(folder / "out.npz")],
        *(["convert", str(file), "--target", target, "-o", str(folder / "out")] for target in _TARGETS)))
    done, why = limited(_ended, command, seconds=60.0)
    shown = " ".join([kind.__name__, *command[:1], *command[2:4], f"of {size}"])
    if done is None:
        first, _, detail = why.partition("\n")
        return Outcome("failed", f"{kind.__name__} {command[0]}: {first}\n{shown}\n{detail}")
    code, said = done
    wrong = f"{kind.__name__} {command[0]}: exit code {code}\n{shown}\n{said}" if code in (1, 4) or "defect" in said else None
    return Outcome({0: "done", 3: "refused"}.get(code, f"code {code}"), wrong)


def _ended(command: list[str]) -> tuple[Any, str]:
    """The exit code of a command of the tool, and the end of what it said."""
    from transload.cli import main

    os.environ["TRANSLOAD_BUDGET"] = _BUDGET
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        try:
            main(command)
        except SystemExit as end:
            return end.code or 0, said.getvalue()[-1500:]
    return 0, said.getvalue()[-1500:]
