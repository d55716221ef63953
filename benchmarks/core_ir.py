"""Speed and memory of the core IR, against the budget of the design and against `onnx_ir` on the same graph.

    python benchmarks/core_ir.py [--json FILE] [--repeats N] [--layers N]

The graph has 10,000 ops (476 layers of 20 ops and one constant) and 500 MB of constants. Each task runs
`--repeats` times; the table shows the median of CPU seconds of this one thread, which other load on the machine
lengthens less than the clock. The garbage collector is on, as in every program that uses the library, and
is run before each measurement, so that no task pays for the waste of the one before. Memory is measured
in processes of their own.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from transload.ir import F32, Module, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.ir.verify import verify
from transload.rewrite import RewriteTable, convert_ops
from transload.text import parse_module, print_module

BUDGET_MS = {"build": 75, "walk": 7, "clone": 60, "rewrite": 120, "verify": 100, "print": 100, "parse": 400}
OPS = 10_000
LAYERS = 476
WEIGHT = (256, 256, 2, 2)
SHAPE = (1, 256, 14, 14)
FLAT = (1, 196, 256)
MOVED = (1, 14, 14, 256)
SAME = (0, 0, 1, 1)

# The 20 ops of a layer: name here, name in ONNX, operands (0 is the layer's input, n the result of the n-th op, "w" the
# weights), result shape, attributes here, attributes in ONNX.
CONV = {"kernel_shape": (2, 2), "strides": (1, 1), "pads": SAME, "dilations": (1, 1), "group": 1, "layout": "NCHW"}
CONV_ONNX = {"kernel_shape": [2, 2], "strides": [1, 1], "pads": [*SAME], "dilations": [1, 1], "group": 1, "auto_pad": "NOTSET"}
POOL = {"kernel_shape": (3, 3), "strides": (1, 1), "pads": (1, 1, 1, 1), "layout": "NCHW"}
POOL_ONNX = {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1, 1, 1, 1], "auto_pad": "NOTSET"}
LAYER: list[tuple[str, str, tuple[Any, ...], tuple[int, ...], dict[str, Any], dict[str, Any]]] = [
    ("Conv", "Conv", (0, "w"), SHAPE, CONV, CONV_ONNX),
    ("Relu", "Relu", (1,), SHAPE, {}, {}),
    ("Permute", "Transpose", (2,), MOVED, {"order": (0, 2, 3, 1)}, {"perm": [0, 2, 3, 1]}),
    ("Reshape", "Reshape", (3,), FLAT, {"shape": FLAT}, {"shape": [*FLAT]}),
    ("Softmax", "Softmax", (4,), FLAT, {"axis": 2}, {"axis": 2}),
    ("Reshape", "Reshape", (5,), MOVED, {"shape": MOVED}, {"shape": [*MOVED]}),
    ("Permute", "Transpose", (6,), SHAPE, {"order": (0, 3, 1, 2)}, {"perm": [0, 3, 1, 2]}),
    ("Sigmoid", "Sigmoid", (7,), SHAPE, {}, {}),
    ("Mul", "Mul", (2, 8), SHAPE, {}, {}),
    ("Add", "Add", (9, 0), SHAPE, {"do_relu": True}, {"do_relu": 1}),
    ("Conv", "Conv", (10, "w"), SHAPE, CONV, CONV_ONNX),
    ("LeakyRelu", "LeakyRelu", (11,), SHAPE, {"alpha": 0.125}, {"alpha": 0.125}),
    ("MaxPool", "MaxPool", (12,), SHAPE, POOL, POOL_ONNX),
    ("Add", "Add", (13, 11), SHAPE, {}, {}),
    ("Clip", "Clip", (14,), SHAPE, {"min": -1.0, "max": 6.0}, {"min": -1.0, "max": 6.0}),
    ("Mul", "Mul", (15, 10), SHAPE, {}, {}),
    ("Tanh", "Tanh", (16,), SHAPE, {}, {}),
    ("AvgPool", "AveragePool", (17,), SHAPE, POOL, POOL_ONNX),
    ("Add", "Add", (18, 10), SHAPE, {}, {}),
    ("Relu", "Relu", (19,), SHAPE, {"relu_limit": 6.0}, {"relu_limit": 6.0}),
]


def make_constants(layers: int, shape: tuple[int, ...] = WEIGHT) -> list[np.ndarray]:
    """The weights, every page of them touched."""
    return [np.full(shape, index, np.float32) for index in range(layers)]


# --- Transload


def build(constants: list[np.ndarray]) -> Module:
    """The graph, from ops whose result types are given, as a reader makes it."""
    module = new_module()
    main = module.add_function("main", [TensorType(SHAPE, F32)], ["input"])
    builder = Builder(main.regions[0].block)
    create = builder.create
    types: dict[tuple[int, ...], TensorType] = {shape: TensorType(shape, F32) for shape in (SHAPE, FLAT, MOVED)}
    x = main.regions[0].block.arguments[0]
    for layer, constant in enumerate(constants):
        weight = builder.constant(constant, location=f"layer{layer}/weights")
        values = [x]
        for place, (name, _, operands, shape, attributes, _) in enumerate(LAYER):
            op = create(
                "top." + name, [weight if operand == "w" else values[operand] for operand in operands], (types[shape],),
                dict(attributes), (), f"layer{layer}/{name}_{place}")
            values.append(op.results[0])
        x = values[-1]
    set_results(main, [x], ["output"])
    return module


def walk(module: Module) -> int:
    return sum(1 for _ in module.walk())


def _table() -> RewriteTable:
    table = RewriteTable()

    @table("top.*")
    def other(op: Any, rw: Any) -> Any:
        return rw.create("other" + op.name[3:], op.operands, [value.type for value in op.results], op.attributes.copy()).results

    return table


TABLE = _table()


def rewrite(module: Module) -> None:
    """Replace every op by one of another name."""
    convert_ops(module, TABLE, "top", fold=False)


# --- onnx_ir


def build_onnx(constants: list[np.ndarray]) -> Any:
    """The same graph in `onnx_ir`."""
    import onnx_ir as ir

    kind = ir.TensorType(ir.DataType.FLOAT)
    shapes: dict[tuple[int, ...], Any] = {shape: ir.Shape(shape) for shape in (SHAPE, FLAT, MOVED, constants[0].shape)}
    for frozen in shapes.values():
        frozen.freeze()
    graph_input = x = ir.Value(name="input", shape=shapes[SHAPE], type=kind)
    converted = [ir.convenience.convert_attributes(attributes) for *_, attributes in LAYER]  # shared by the layers, as ours are
    nodes, initializers = [], []
    for layer, constant in enumerate(constants):
        name = f"layer{layer}/weights"
        weight = ir.Value(name=name, shape=shapes[constant.shape], type=kind, const_value=ir.Tensor(constant, name=name))
        initializers.append(weight)
        values = [x]
        for place, (_, op_type, operands, shape, _, _) in enumerate(LAYER):
            output = ir.Value(name=f"layer{layer}/{op_type}_{place}", shape=shapes[shape], type=kind)
            nodes.append(ir.Node(
                "", op_type, [weight if operand == "w" else values[operand] for operand in operands],
                converted[place], outputs=[output], name=output.name))
            values.append(output)
        x = values[-1]
    graph = ir.Graph([graph_input], [x], nodes=nodes, initializers=initializers, opset_imports={"": 21}, name="main")
    return ir.Model(graph, ir_version=10)


def clone_onnx(model: Any) -> Any:
    import onnx_ir as ir

    return ir.Model(model.graph.clone(), ir_version=10)


def rewrite_onnx(model: Any) -> None:
    import onnx_ir as ir

    for node in list(model.graph):  # its iterator goes on to what was inserted
        new = ir.Node("other", node.op_type, node.inputs, node.attributes.values(), num_outputs=len(node.outputs), name=node.name)
        for old, output in zip(node.outputs, new.outputs, strict=True):
            output.shape, output.type = old.shape, old.type
        ir.convenience.replace_nodes_and_values(model.graph, node, [node], [new], node.outputs, new.outputs)


def without_data(model: Any) -> Any:
    """The model with initializers that are a number each: `onnx_ir` has no text that leaves data out."""
    import onnx_ir as ir

    for value in model.graph.initializers.values():
        value.const_value = ir.Tensor(np.zeros(1, np.float32), name=value.name)
    return model


# --- measuring


def measure(task: Callable[[Any], Any], argument: Callable[[], Any], repeats: int) -> list[float]:
    """CPU milliseconds of each run of `task`, on a fresh argument each time."""
    times = []
    for _ in range(repeats):
        given = argument()
        gc.collect()
        start = time.process_time()
        made = task(given)
        times.append((time.process_time() - start) * 1000)
        del given, made
    return times


def measure_all(layers: int, repeats: int) -> dict[str, dict[str, list[float]]]:
    """Milliseconds by library and task."""
    constants = make_constants(layers)
    module = build(constants)
    text = print_module(module, constants="elided")
    verify(parse_module(text))  # loads the dialects
    ours = measure_ours(constants, module, text, repeats)
    del module, text
    gc.collect()
    return {"transload": ours, "onnx_ir": measure_theirs(constants, max(1, repeats // 2))}


def measure_ours(constants: list[np.ndarray], module: Module, text: str, repeats: int) -> dict[str, list[float]]:
    return {
        "build": measure(build, lambda: constants, repeats),
        "walk": measure(walk, lambda: module, repeats),
        "clone": measure(Module.clone, lambda: module, repeats),
        "rewrite": measure(rewrite, module.clone, repeats),
        "verify": measure(verify, lambda: module, repeats),
        "print": measure(lambda given: print_module(given, constants="elided"), lambda: module, repeats),
        "parse": measure(parse_module, lambda: text, repeats),
    }


def measure_theirs(constants: list[np.ndarray], repeats: int) -> dict[str, list[float]]:
    import onnx_ir as ir

    model = build_onnx(constants)
    times = {
        "build": measure(build_onnx, lambda: constants, repeats),
        "walk": measure(lambda given: sum(1 for _ in given.graph.all_nodes()), lambda: model, repeats),
        "clone": measure(clone_onnx, lambda: model, repeats),
        "rewrite": measure(rewrite_onnx, lambda: build_onnx(constants), repeats),
    }
    small = without_data(model)
    proto = ir.to_proto(small)
    times["print"] = measure(ir.to_proto, lambda: small, repeats)
    times["parse"] = measure(ir.from_proto, lambda: proto, repeats)
    return times


def resident() -> int:
    """Bytes of memory that this process holds."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def memory_of_all_tasks(layers: int, shape: tuple[int, ...]) -> int:
    """Bytes by which the process grows when every task is done on a graph with constants of `shape`, which are there before."""
    constants = make_constants(layers, shape)
    gc.collect()
    before = resident()
    module = build(constants)
    copy = module.clone()
    rewrite(copy)
    text = print_module(module, constants="elided")
    again = parse_module(text)
    grown = resident() - before
    del module, copy, text, again
    return grown


def measure_memory(layers: int) -> dict[str, int]:
    """Memory that the tasks take with large and with small constants, each in a process of its own."""
    grown = {}
    for label, shape in (("large", WEIGHT), ("small", (1, 1, 2, 2))):
        command = [sys.executable, __file__, "--layers", str(layers), "--memory", *map(str, shape)]
        grown[label] = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return grown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the measurements here")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--layers", type=int, default=LAYERS)
    parser.add_argument("--memory", type=int, nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory:
        print(memory_of_all_tasks(arguments.layers, tuple(arguments.memory)))
        return 0
    runs = measure_all(arguments.layers, arguments.repeats)
    ours = {task: statistics.median(times) for task, times in runs["transload"].items()}
    theirs = {task: statistics.median(times) for task, times in runs["onnx_ir"].items()}
    memory = measure_memory(arguments.layers)
    n_ops = arguments.layers * (len(LAYER) + 1)
    megabytes = arguments.layers * int(np.prod(WEIGHT)) * 4 / 1e6
    scale = n_ops / OPS
    print(f"{n_ops} ops, {megabytes:.0f} MB of constants; median of {arguments.repeats} runs, CPU milliseconds")
    print(f"{'task':<10}{'budget':>8}{'transload':>11}{'best':>8}{'onnx_ir':>9}{'ratio':>7}")
    late = []
    for task, median in ours.items():
        peer = theirs.get(task)
        best = min(runs["transload"][task])
        compared = f"{peer:>9.0f}{peer / median:>6.1f}x" if peer else f"{'-':>9}{'-':>7}"
        print(f"{task:<10}{BUDGET_MS[task]:>8}{median:>11.1f}{best:>8.1f}{compared}")
        if median > BUDGET_MS[task] * scale:
            late.append(task)
    added = memory["large"] - memory["small"]
    print(f"memory that {megabytes:.0f} MB of constants add to all tasks: {added / 1e6:+.1f} MB "
          f"(structure: {memory['small'] / 1e6:.0f} MB for four copies)")
    print("onnx_ir's print and parse are to and from protobuf, with a number for each constant; it has no verifier")
    print("over budget: " + (", ".join(late) or "nothing"))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps({
            "ops": n_ops, "constant_mb": megabytes, "budget_ms": BUDGET_MS, "median_ms": {"transload": ours, "onnx_ir": theirs},
            "runs_ms": runs, "memory_added_by_constants_bytes": added, "python": platform.python_version(),
            "machine": platform.processor() or platform.machine()}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
