"""Models that are trained quantized: tables as MQBench exports them, a simulator of its formula, and whether integers are so.

    python benchmarks/mqbench.py model.onnx [--samples N] [--symmetric] [--table FILE]

No training is done: scales are those of the samples and the weights, moved by some per cent as training moves them, which also
makes some weights saturate. `table_of` writes the table (TPU-MLIR manual, 15.5): a line for each tensor with a threshold, a least
and a greatest number, the name as the model has it and the kind of the operator behind that; a line for the weights of each
Conv and Gemm, with a scale for each output channel. `simulated` reads that table by itself and makes of the model one in which
these tensors and weights are rounded as MQBench's `LearnableFakeQuantize` does,

    (clip(round(x / scale) + zero_point, -128, 127) - zero_point) * scale

in float64, by the numpy kernels of `onnx.reference`; inputs are float32, and so are their quotients, as in training. Biases stay
what they are. Printed is the share of the numbers of all those tensors that are the same integers in Transload's module, and how
many steps the farthest is off. A number that is another one moves others behind it: so it is told, too, how many differ in
the first tensor, in the order of the model, of which any does.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import transload
from transload.api import at_hub
from transload.ir import Module

LEFT_OUT = ("Softmax", "Reshape", "Flatten", "Constant", "Squeeze", "Identity")
"""Operators behind which training rounds nothing: they move numbers, or end a model."""
Sample = Mapping[str, np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--symmetric", action="store_true", help="zero points that are zero")
    parser.add_argument("--table", type=Path, help="keep the table here")
    arguments = parser.parse_args()
    model = onnx.load(arguments.model)
    samples = random_samples(model, arguments.samples)
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(model, samples, arguments.table or Path(folder) / "table", symmetric=arguments.symmetric)
        scheme = "int8-sym" if arguments.symmetric else "int8"
        module = transload.quantize(at_hub(transload.load(arguments.model)), scheme, calibration=table)
        found = compared(module, simulated(model, table, arguments.symmetric), samples)
    print(f"{100 * found.same:.4f} % of {found.count:,} numbers are the same; the farthest is {found.farthest} steps off; "
          f"{found.at_first} differ by themselves")


def random_samples(model: Any, count: int) -> list[Sample]:
    random = np.random.default_rng(3)
    given = {value.name for value in model.graph.initializer}
    shapes = {each.name: [dim.dim_value or 1 for dim in each.type.tensor_type.shape.dim]
              for each in model.graph.input if each.name not in given}
    return [{name: random.uniform(0, 1, shape).astype(np.float32) for name, shape in shapes.items()} for _ in range(count)]


# --- a table


def table_of(model: Any, samples: Sequence[Sample], path: Path, *, symmetric: bool = False, seed: int = 0) -> Path:
    """Write what training on these samples might have exported."""
    random = np.random.default_rng(seed)
    held = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    lines = ["# work_mode:QAT_all_int8 //Automatically generated, do not modify, work_mode choices:[QAT_all_int8, QAT_mix_prec]",
             "# op_name threshold min max"]
    names = rounded_tensors(model)
    ranges = _ranges(model, samples, names)
    for tensor, line in names.items():
        low, high = (end * random.uniform(0.9, 1.05) for end in ranges[tensor])
        if symmetric:
            scale, point = max(-low, high) / 127.5, 0
        else:
            scale = (high - low) / 255
            point = round(-128 - low / scale)
        ends = scale * (-128 - point), scale * (127 - point)
        lines.append(f"{line} {scale * 128 if symmetric else scale * 255:.7f} {ends[0]:.7f} {ends[1]:.7f}")
    for node in model.graph.node:
        if node.op_type in ("Conv", "Gemm") and node.input[1] in held:
            channels = _by_channel(node, held[node.input[1]])
            moved = np.abs(channels).max(axis=1) / 127.5 * random.uniform(0.9, 1.05, len(channels))
            scales = np.maximum(moved, np.finfo(np.float32).eps)
            name = f"{names[_activated(model, node.output[0])]}_weight"
            told = " ".join(str(float(np.float32(each))) for each in scales)
            lines.append(f"{name} {len(scales)} {told} {len(scales)} {' '.join('0' * len(scales))}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def rounded_tensors(model: Any) -> dict[str, str]:
    """Tensors behind which training rounds, as the table calls them: no sums that an activation cuts."""
    held = {each.name for each in model.graph.initializer}
    found = {each.name: each.name for each in model.graph.input if each.name not in held}
    for node in model.graph.node:
        if node.op_type not in LEFT_OUT and _activated(model, node.output[0]) == node.output[0]:
            found[node.output[0]] = f"{node.output[0]}_{node.op_type}"
    return found


def _activated(model: Any, tensor: str) -> str:
    """The result of the activation that alone takes a tensor, or the tensor."""
    users = [node for node in model.graph.node if tensor in node.input]
    return users[0].output[0] if len(users) == 1 and users[0].op_type in ("Relu", "Clip") else tensor


def _ranges(model: Any, samples: Sequence[Sample], tensors: Mapping[str, str]) -> dict[str, tuple[float, float]]:
    computed = [name for name in tensors if name not in {each.name for each in model.graph.input}]
    run = ReferenceEvaluator(_with_outputs(model, computed))
    found = dict.fromkeys(tensors, (0.0, 0.0))
    for sample in samples:
        arrays = {**sample, **dict(zip(computed, run.run(computed, dict(sample)), strict=True))}
        found = {name: (min(low, float(arrays[name].min())), max(high, float(arrays[name].max())))
                 for name, (low, high) in found.items()}
    return found


def _by_channel(node: Any, weights: np.ndarray) -> np.ndarray:
    """Weights [output channels, the others]."""
    turned = weights if _is_by_rows(node) else weights.T
    return turned.reshape(len(turned), -1)


def _is_by_rows(node: Any) -> bool:
    """Whether output channels are the first dimension of an operator's weights."""
    return node.op_type == "Conv" or any(each.name == "transB" and each.i for each in node.attribute)


def _with_outputs(model: Any, names: Sequence[str], element: int = TensorProto.FLOAT) -> Any:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    copy.graph.output.extend(helper.make_tensor_value_info(name, element, None) for name in names)
    del copy.graph.value_info[:]
    return copy


# --- the simulator


def simulated(model: Any, table: Path, symmetric: bool = False) -> Any:
    """`run(sample)`: each tensor that the table names, rounded as in training, by the model's name, in float64."""
    activations, weights = _read(table)
    names = rounded_tensors(model)
    copy = _with_outputs(model, [each.name for each in model.graph.output], TensorProto.DOUBLE)
    _in_double(copy)
    held = {each.name: numpy_helper.to_array(each) for each in copy.graph.initializer}
    for node in copy.graph.node:
        line = f"{names.get(_activated(model, node.output[0]) if node.output else '', '')}_weight"
        if node.op_type in ("Conv", "Gemm") and line in weights:
            channels = _by_channel(node, held[node.input[1]])
            rounded = fake_quantized(channels, weights[line][:, None], 0)
            held[node.input[1]] = (rounded if _is_by_rows(node) else rounded.T).reshape(held[node.input[1]].shape)
    del copy.graph.initializer[:]
    copy.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in held.items())
    nodes = []
    inputs = [each.name for each in copy.graph.input if each.name not in held]
    for node in (None, *copy.graph.node):
        made = inputs if node is None else list(node.output)
        if node is not None:
            nodes.append(node)
        for tensor in made:
            if tensor in names:
                nodes += _rounding(tensor, activations[names[tensor]], symmetric)
    for node in nodes:
        if not node.name.startswith("fake/"):
            node.input[:] = [f"{each}/fake" if each in names else each for each in node.input]
    del copy.graph.node[:]
    copy.graph.node.extend(nodes)
    outputs = [f"{name}/fake" for name in names]
    session = ReferenceEvaluator(_with_outputs(copy, outputs, TensorProto.DOUBLE))

    def run(sample: Sample) -> dict[str, np.ndarray]:
        given = {}
        for name, array in sample.items():
            scale, point = _grid(activations[names[name]], symmetric)
            given[name] = fake_quantized(array, np.float32(scale), point).astype(np.float64)  # rounding again changes nothing
        return dict(zip(names, session.run(outputs, given), strict=True))

    return run


def fake_quantized(x: np.ndarray, scale: Any, point: int) -> np.ndarray:
    return (np.clip(np.round(x / scale) + point, -128, 127) - point) * scale


def _read(table: Path) -> tuple[dict[str, tuple[float, float, float]], dict[str, np.ndarray]]:
    """Thresholds, least and greatest numbers, and scales of weights, by the names in a table."""
    activations, weights = {}, {}
    for line in table.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, *numbers = line.split()
            if len(numbers) == 3:
                activations[name] = tuple(map(float, numbers))
            else:
                weights[name] = np.array(numbers[1:int(numbers[0]) + 1], np.float32).astype(np.float64)
    return activations, weights  # type: ignore[return-value]


def _grid(told: tuple[float, float, float], symmetric: bool) -> tuple[float, int]:
    """The scale, which is a float32, and the zero point of a tensor."""
    threshold, low, high = told
    scale = float(np.float32(threshold / 128 if symmetric else (high - low) / 255))
    return scale, 0 if symmetric else round(-128 - low / scale)


def _rounding(tensor: str, told: tuple[float, float, float], symmetric: bool) -> list[Any]:
    """The nodes that round a tensor."""
    scale, point = _grid(told, symmetric)
    numbers = {"scale": scale, "low": -128.0 - point, "high": 127.0 - point}
    constants = [
        helper.make_node("Constant", [], [f"{tensor}/{name}"], name=f"fake/{tensor}/{name}",
                         value=numpy_helper.from_array(np.array(number, np.float64))) for name, number in numbers.items()]
    steps = [("Div", "", "scale"), ("Round", "/0",), ("Max", "/1", "low"), ("Min", "/2", "high"), ("Mul", "/3", "scale")]
    return constants + [
        helper.make_node(kind, [f"{tensor}{source}", *(f"{tensor}/{each}" for each in others)],
                         [f"{tensor}/{place}" if place < 4 else f"{tensor}/fake"], name=f"fake/{tensor}/{kind}")
        for place, (kind, source, *others) in enumerate(steps)]


def _in_double(model: Any) -> None:
    """Make all floats of a model those of 64 bits, in place."""
    for each in model.graph.initializer:
        if each.data_type == TensorProto.FLOAT:
            each.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(each).astype(np.float64), each.name))
    for each in model.graph.input:
        if each.type.tensor_type.elem_type == TensorProto.FLOAT:
            each.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "value" and attribute.t.data_type == TensorProto.FLOAT:
                attribute.t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(attribute.t).astype(np.float64)))


class Compared(NamedTuple):
    """How near integers are to a simulator's."""

    same: float
    """The share of all numbers of all tensors of the table that are the same."""
    farthest: int
    """By how many steps the farthest is off."""
    count: int
    at_first: int
    """How many differ in the first tensor of a sample in which any does: numbers behind these are computed of them."""


def compared(module: Module, simulator: Any, samples: Sequence[Sample]) -> Compared:
    """A module beside a simulator on samples. A tensor that the module does not hold as integers is left out."""
    off, at_first = [], 0
    for sample in samples:
        held: dict[str, tuple[Any, np.ndarray]] = {}

        def watch(value: Any, array: np.ndarray, held: dict[str, tuple[Any, np.ndarray]] = held) -> None:
            if value.quant is not None and value.quant.per_tensor and value.name is not None:
                held[value.name] = value.quant, array

        transload.run(module, sample, engine="reference", watch=watch)
        mine = []
        for name, array in simulator(sample).items():
            if name in held:
                kind, integers = held[name]
                mine.append(np.abs(np.round(array / kind.scale) + kind.zero_point - integers.astype(np.int64)).ravel())
        at_first += next((int(np.count_nonzero(each)) for each in mine if each.any()), 0)
        off += mine
    every = np.concatenate(off)
    return Compared(float(np.mean(every == 0)), int(every.max()), every.size, at_first)


if __name__ == "__main__":
    main()
