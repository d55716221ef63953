"""What an ONNX file of DequantizeLinear, operators and QuantizeLinear means: computed in float64, by ONNX's reference evaluator.

    python benchmarks/qdq_in_float64.py [MODEL ...] [--samples 2]

Each float model is quantized as `convert --target onnx` does it, and each tensor of integers judged: ours, and onnxruntime's with
its optimizations off.

onnxruntime computes such a file in float32, whose sums are off by some 1e-7 of what is summed. Where the real number lies so
near the middle between two integers, onnxruntime gives the one or the other, by the order in which it sums. In float64 nearly no
number lies so near, so that there is one result: `opened(path)` gives it, and `against(path, samples, theirs)` says of somebody's
integers, each tensor's computed in float64 from their own numbers before it, how many are another one, and how many of these are
no middles. No code of ours computes that but for the rounding itself, in numpy.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

__all__ = ["Judged", "against", "opened", "quantized_tensors"]

Outputs = dict[str, np.ndarray]
MIDDLE = 1e-7
"""How near the middle of two integers a real number is one, in steps: float64 and 31 bits of a factor do not tell the sides."""


class QuantizeLinear(OpRun):  # type: ignore[misc]
    """The one of the standard, of floats of 64 bits."""

    op_domain = ""

    def _run(self, x: Any, scale: Any, zero: Any = None, axis: int = 1, **_: Any) -> tuple[np.ndarray]:
        dtype = zero.dtype if zero is not None else np.dtype(np.uint8)
        steps = np.rint(_steps(x, scale, zero, axis))
        return (np.clip(steps, np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype),)


class DequantizeLinear(OpRun):  # type: ignore[misc]
    """The one of the standard, to floats of 64 bits."""

    op_domain = ""

    def _run(self, x: Any, scale: Any, zero: Any = None, axis: int = 1, **_: Any) -> tuple[np.ndarray]:
        centered = x.astype(np.float64) - (0.0 if zero is None else _along(zero, x, axis))
        return (centered * _along(scale, x, axis),)


def _steps(x: np.ndarray, scale: Any, zero: Any, axis: int) -> np.ndarray:
    return x / _along(scale, x, axis) + (0.0 if zero is None else _along(zero, x, axis))


def _along(part: Any, x: np.ndarray, axis: int) -> np.ndarray:
    """Scales or zero points in a shape that broadcasts to `x`."""
    part = np.asarray(part).astype(np.float64)
    return part.reshape(()) if part.size == 1 else part.reshape([-1 if d == axis % x.ndim else 1 for d in range(x.ndim)])


def opened(path: Path) -> Callable[[Mapping[str, np.ndarray]], Outputs]:
    """Runs the file in float64, of inputs as the file has them."""
    evaluator = _evaluator(path)

    def run(sample: Mapping[str, np.ndarray]) -> Outputs:
        return dict(zip(evaluator.output_names, evaluator.run(None, _widened(sample)), strict=True))

    return run


def quantized_tensors(path: Path) -> list[str]:
    """What the file's QuantizeLinear give."""
    return [node.output[0] for node in onnx.load(path).graph.node if node.op_type == "QuantizeLinear"]


@dataclass
class Judged:
    """Integers of somebody's beside those that float64 makes of the same numbers before them."""

    numbers: int = 0
    other: int = 0
    """Those that are another integer."""
    wrong: int = 0
    """Those of them whose real number is no middle."""


def against(
    path: Path, samples: Sequence[Mapping[str, np.ndarray]], theirs: Callable[[Mapping[str, np.ndarray]], Outputs],
) -> Judged:
    """Judge what `theirs` gives for `quantized_tensors` on samples; tensors that it lacks are taken as float64 has them."""
    evaluator = _evaluator(path)
    judged = Judged()
    for sample in samples:
        given = theirs(sample)
        values: dict[str, Any] = {"": None, **_widened(sample), **evaluator.rt_inits_}
        for node in evaluator.rt_nodes_:
            operands = [values[name] for name in node.input]
            values |= zip(node.output, node.run(*operands), strict=False)
            name = node.output[0]
            if node.op_type == "QuantizeLinear" and name in given:
                _count(judged, values[name], given[name], operands, int(getattr(node, "axis", 1) or 0))
                values[name] = given[name]
    return judged


def main() -> None:
    from model_samples import FOLDER
    from quantized_out import GOALS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="float models, .onnx or .tflite; without, those of the goals")
    parser.add_argument("--samples", type=int, default=2)
    arguments = parser.parse_args()
    for path in arguments.models or [next((FOLDER / name).glob("*.*")) for name in GOALS]:
        for whose, judged in judged_of(path, arguments.samples).items():
            print(f"{path.parent.name}, {whose}: of {judged.numbers} numbers {judged.other} are another, "
                  f"{judged.wrong} of them no middles", flush=True)


def judged_of(path: Path, count: int) -> dict[str, Judged]:
    """Our integers and onnxruntime's for a float model."""
    from model_samples import load, samples_for
    from quantized_out import CALIBRATED, ONNX

    import transload
    from transload.api import at_hub

    hub = at_hub(load(path), quantizing=True)
    module = transload.quantize(hub, "int8", samples_for(path, hub, CALIBRATED, 1), **ONNX)
    samples = samples_for(path, hub, count, 2)
    with TemporaryDirectory() as folder:
        file = transload.save(transload.lower(module, "onnx"), Path(folder) / "model.onnx")
        theirs = _in_onnxruntime(file)
        shapes = {name: array.shape for name, array in theirs(samples[0]).items()}

        def ours(sample: Mapping[str, np.ndarray]) -> Outputs:
            return _by_name(transload.run(module, sample, engine="reference", keep=True), shapes)

        return {"ours": against(file, samples, ours), "onnxruntime's": against(file, samples, theirs)}


def _in_onnxruntime(path: Path) -> Callable[[Mapping[str, np.ndarray]], Outputs]:
    """What onnxruntime gives for each tensor of integers."""
    import onnxruntime

    model, wanted = onnx.load(path), quantized_tensors(path)
    del model.graph.output[:]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in wanted)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda sample: dict(zip(wanted, session.run(wanted, dict(sample)), strict=True))


def _by_name(found: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> Outputs:
    """Our integers by the file's names and in its shapes: channels second, a number behind a name that floats had before."""
    given = {}
    for name, shape in shapes.items():
        base, _, number = name.rpartition("_")
        candidates = (found.get(each) for each in ((name, base) if number.isdigit() else (name,)))
        array = next((each for each in candidates if each is not None and each.dtype.kind == "i"), None)
        if array is not None and array.shape != shape and array.ndim == 4:
            array = array.transpose(0, 3, 1, 2)
        if array is not None and array.shape == shape:
            given[name] = array
    return given


def _count(judged: Judged, wanted: np.ndarray, given: np.ndarray, operands: Sequence[Any], axis: int) -> None:
    places = np.nonzero(wanted != given)
    judged.numbers += wanted.size
    judged.other += len(places[0])
    if len(places[0]):
        steps = _steps(operands[0], operands[1], operands[2] if len(operands) > 2 else None, axis)[places]
        judged.wrong += int(np.sum(np.abs(np.abs(steps - np.floor(steps)) - 0.5) > MIDDLE))


def _evaluator(path: Path) -> Any:
    """ONNX's evaluator of the file, all of whose floats have 64 bits."""
    model = onnx.load(path)
    for tensor in _constants(model.graph):
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))
    for node in model.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    for value in (*model.graph.input, *model.graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    del model.graph.value_info[:]
    return ReferenceEvaluator(model, new_ops=[QuantizeLinear, DequantizeLinear])


def _constants(graph: onnx.GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        yield from (attribute.t for attribute in node.attribute if attribute.HasField("t"))


def _widened(sample: Mapping[str, np.ndarray]) -> Outputs:
    return {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in sample.items()}


if __name__ == "__main__":
    main()
