"""One quantizer at work in a process of its own, ours or a peer's: its time, its memory, and what its result computes.

    python benchmarks/quantizer_tools.py --setting SETTING --step TOOL MODEL SAMPLES OUTPUTS

`SAMPLES` has folders `calibration` and `evaluation` with an `.npz` file a sample, inputs by name, read one at a time. The outputs
on the evaluation samples go to `OUTPUTS`, an `.npz` of arrays [N, ...] by the tensors' names. The last line printed is JSON:
`seconds` from the model's file to the quantized model, imports left out, `cpu_seconds`, what all cores spent on that, and
`peak_mb`, the most memory that the process had resident until then. Peers have a virtual environment of their own, so that
nothing here imports what only another tool needs.

onnxruntime runs models in QDQ form with its optimizations off: joined into integer kernels, 8-bit products of a CPU without VNNI
saturate at 16 bits, which would be held against the quantizer.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

__all__ = ["TOOLS", "Samples", "Tool"]

Outputs = dict[str, np.ndarray]
Run = Callable[[Outputs], Outputs]


class Samples:
    """The samples of a folder, in order, as often as they are asked for; one is in memory at a time."""

    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.glob("*.npz"))

    def __len__(self) -> int:
        return len(self.files)

    def __iter__(self) -> Iterator[Outputs]:
        for file in self.files:
            with np.load(file) as arrays:
                yield dict(arrays)


@dataclass(frozen=True)
class Tool:
    """A quantizer: which files it takes, the settings to try, and `quantize(model, samples, setting)`, which gives a `Run`."""

    endings: tuple[str, ...]
    """Endings of the files that it takes; of a case's files it gets the first of those."""
    settings: tuple[str, ...]
    quantize: Callable[[Path, Samples, str], Run]
    needs: tuple[str, ...]
    """Modules to import before time is taken; of ours, which are imported when they are needed, those that come first."""


def transload_quantizer(model: Path, samples: Samples, setting: str) -> Run:
    """Ours; a setting is SCHEME, SCHEME/METHOD or SCHEME//EFFORT, where these are not the default."""
    import transload

    scheme, method, effort, *_ = [*setting.split("/"), "", ""]
    options = {name: word for name, word in (("method", method), ("effort", effort)) if word}
    quantized = transload.quantize(transload.load(model), scheme, samples, **options)
    return lambda sample: transload.run(quantized, sample)


# --- peers


def onnxruntime_quantizer(model: Path, samples: Samples, setting: str) -> Run:
    """`quantize_static` in QDQ form with weights by channel, after its own preparation; a setting is METHOD/ACTIVATIONS."""
    from onnxruntime.quantization import CalibrationMethod, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    method, activations = setting.split("/")
    types = {"asymmetric": QuantType.QUInt8, "symmetric": QuantType.QInt8}
    extra = {"ActivationSymmetric": activations == "symmetric", "CalibPercentile": 99.99}
    with TemporaryDirectory() as folder:
        prepared, quantized = Path(folder) / "prepared.onnx", Path(folder) / "quantized.onnx"
        quant_pre_process(str(model), str(prepared), skip_symbolic_shape=True)
        quantize_static(
            str(prepared), str(quantized), _Reader(samples), per_channel=True, activation_type=types[activations],
            weight_type=QuantType.QInt8, calibrate_method=CalibrationMethod[method], extra_options=extra)
        return onnx_run(quantized.read_bytes())


class _Reader:
    """Samples as onnxruntime asks for them."""

    def __init__(self, samples: Samples) -> None:
        self.samples = iter(samples)

    def get_next(self) -> Outputs | None:
        return next(self.samples, None)


def nncf_quantizer(model: Path, samples: Samples, setting: str) -> Run:
    """NNCF on ONNX; a setting is PRESET/BIAS, where BIAS is `fast` or `accurate` bias correction."""
    import nncf
    import onnx

    preset, bias = setting.split("/")
    quantized = nncf.quantize(
        onnx.load(model), nncf.Dataset(samples), preset=nncf.QuantizationPreset(preset), subset_size=len(samples),
        fast_bias_correction=bias == "fast")
    return onnx_run(quantized.SerializeToString())


def ai_edge_quantizer(model: Path, samples: Samples, setting: str) -> Run:
    """ai-edge-quantizer on TFLite; a setting is the name of one of its recipes."""
    from ai_edge_litert.interpreter import Interpreter
    from ai_edge_quantizer import quantizer, recipe

    content = prepared_tflite(model.read_bytes())
    (signature,) = Interpreter(model_content=content).get_signature_list()
    tool = quantizer.Quantizer(bytearray(content), getattr(recipe, setting)())
    quantized = tool.quantize(tool.calibrate({signature: samples}))
    return tflite_run(bytes(quantized.quantized_model))


def prepared_tflite(content: bytes) -> bytes:
    """A model as ai-edge-quantizer takes it: of today's schema, weights in 32 bits that were in 16, and with a signature."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf(content, 0)
    (graph,) = model.subgraphs
    for code in model.operatorCodes:  # older files say in the narrow field alone what an operator is
        code.builtinCode = max(code.builtinCode, code.deprecatedBuiltinCode)
    for op in list(graph.operators):
        half = graph.tensors[op.inputs[0]]
        kind = model.operatorCodes[op.opcodeIndex].builtinCode
        if kind == schema.BuiltinOperator.DEQUANTIZE and half.type == schema.TensorType.FLOAT16:
            wide = np.frombuffer(bytes(model.buffers[half.buffer].data), np.float16).astype(np.float32)
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(wide.tobytes(), np.uint8)
            graph.tensors[op.outputs[0]].buffer = len(model.buffers)
            model.buffers.append(buffer)
            graph.operators.remove(op)
    if not model.signatureDefs:
        signature = schema.SignatureDefT()
        signature.signatureKey, signature.subgraphIndex = "serving_default", 0
        signature.inputs, signature.outputs = ([_named(graph, index) for index in way] for way in (graph.inputs, graph.outputs))
        model.signatureDefs = [signature]
    builder = flatbuffers.Builder(len(content))
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def _named(graph: Any, index: int) -> Any:
    from ai_edge_litert import schema_py_generated as schema

    named = schema.TensorMapT()
    named.name, named.tensorIndex = graph.tensors[index].name, index
    return named


def onnx_run(content: bytes) -> Run:
    """An ONNX model in onnxruntime, without optimizations."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda sample: dict(zip(names, session.run(names, sample), strict=True))


def tflite_run(content: bytes) -> Run:
    """A TFLite model in LiteRT's reference kernels; integers at its inputs and outputs are made of floats and made floats."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()

    def run(sample: Outputs) -> Outputs:
        for detail in interpreter.get_input_details():
            interpreter.set_tensor(detail["index"], as_integers(sample[detail["name"]], detail["dtype"], *detail["quantization"]))
        interpreter.invoke()
        return {
            detail["name"]: as_reals(interpreter.get_tensor(detail["index"]), *detail["quantization"])
            for detail in interpreter.get_output_details()}

    return run


def as_integers(array: np.ndarray, dtype: type[np.integer], scale: float, zero_point: int) -> np.ndarray:
    """Real numbers as a tensor of LiteRT's holds them; as they are where it has no scale."""
    if not scale:
        return array
    limits = np.iinfo(dtype)
    return np.clip(np.round(array / scale) + zero_point, limits.min, limits.max).astype(dtype)


def as_reals(array: np.ndarray, scale: float, zero_point: int) -> np.ndarray:
    """What the numbers of a tensor of LiteRT's stand for."""
    return (array.astype(np.float32) - zero_point) * np.float32(scale) if scale else array


def float_model(model: Path, samples: Samples, setting: str) -> Run:
    """The model as it is, in its own runtime: what all are measured against."""
    return onnx_run(model.read_bytes()) if model.suffix == ".onnx" else tflite_run(model.read_bytes())


TOOLS = {
    "float": Tool((".onnx", ".tflite"), ("",), float_model, ()),
    "transload": Tool((".onnx", ".tflite"), ("int8",), transload_quantizer, (
        "transload", "transload.quantization", "transload_plugins.quantize.run", "transload_converters.onnx.engine",
        "transload_converters.onnx.reader", "transload_converters.onnx.legalize", "transload_converters.onnx.lowering",
        "onnx", "onnxruntime")),
    "onnxruntime": Tool(
        (".onnx",), tuple(map("/".join, product(("MinMax", "Entropy", "Percentile"), ("asymmetric", "symmetric")))),
        onnxruntime_quantizer, ("onnxruntime.quantization",)),
    "nncf": Tool(
        (".onnx",), tuple(map("/".join, product(("performance", "mixed"), ("fast", "accurate")))), nncf_quantizer,
        ("nncf", "onnx", "onnxruntime")),
    "ai-edge-quantizer": Tool(
        (".tflite",), ("static_wi8_ai8",), ai_edge_quantizer, ("ai_edge_quantizer", "ai_edge_litert.interpreter")),
}
"""The tools by name. `transload` has only its default here: users do not choose by the evaluation samples."""


def measure(tool: Tool, setting: str, model: Path, samples: Path, outputs: Path) -> dict[str, float]:
    """Quantize, then run the result on the evaluation samples and write what it gives."""
    for name in tool.needs:
        __import__(name)
    start, spent = time.perf_counter(), time.process_time()
    run = tool.quantize(model, Samples(samples / "calibration"), setting)
    result = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - spent, "peak_mb": _peak_mb()}
    found: dict[str, list[np.ndarray]] = {}
    for sample in Samples(samples / "evaluation"):
        for name, array in run(sample).items():
            found.setdefault(name, []).append(np.asarray(array, np.float32))
    np.savez(outputs, **{name: np.stack(arrays) for name, arrays in found.items()})
    return result


def _peak_mb() -> float:
    """The most memory that this process had resident, in units of 10^6 bytes; that of its parent is not in it (Linux)."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--setting", default="")
    parser.add_argument("--step", nargs=4, required=True, metavar=("TOOL", "MODEL", "SAMPLES", "OUTPUTS"))
    arguments = parser.parse_args()
    name, *paths = arguments.step
    print(json.dumps(measure(TOOLS[name], arguments.setting, *map(Path, paths))))


if __name__ == "__main__":
    main()
