"""ONNX: the `onnx` dialect, reader and writer of `.onnx` files, conversions to and from `top`, and onnxruntime as the judge."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.facts import Facts
from transload.plugin import Conversion, DialectSpec, Engine, Pass, Reader, Runtime, Writer

from .choices import OPTIONS, WRITTEN

_HERE = "transload_converters.onnx"


@hookimpl
def register_dialects(register: Any) -> None:
    register(DialectSpec("onnx", f"{_HERE}.dialect:ONNX", doc="Operators of ONNX, opset 7 and later, one op each."))


@hookimpl
def register_facts(register: Any) -> None:
    register(Facts("indices", "onnx", f"{_HERE}.places:INDICES"))
    register(Facts("steps", "onnx", f"{_HERE}.steps:STEPS"))
    register(Facts("products", "onnx", f"{_HERE}.steps:PRODUCTS"))


@hookimpl
def register_readers(register: Any) -> None:
    register(Reader(
        "onnx", "onnx", (".onnx",), f"{_HERE}.reader:read", f"{_HERE}.wire:detect",
        "ONNX models, weights inside or in external files beside them.",
        "with onnxruntime: onnxruntime.quantization.quantize_static('model.onnx', 'model_int8.onnx', SAMPLES), SAMPLES a "
        "CalibrationDataReader", warm=f"{_HERE}.isolated:warm_shapes"))


@hookimpl
def register_writers(register: Any) -> None:
    register(Writer(
        "onnx", "onnx", (".onnx",), f"{_HERE}.writer:write", "ONNX models; of more than 2 GB, with a file of weights."))


@hookimpl
def register_formats(register: Any) -> None:
    from .foreign import FORMATS

    for format in FORMATS:
        register(format)


@hookimpl
def register_conversions(register: Any) -> None:
    register(Conversion(
        "onnx-to-top", "onnx", "top", f"{_HERE}.legalize:TABLE",
        before="onnx-drop-unneeded,onnx-quantized-arguments",
        after="onnx-drop-opset,fold-qdq,round-once,dce,onnx-sequence-results,dce,recognize",
        doc="ONNX operators to the hub; shape arithmetic is computed, QDQ patterns become quantized ops.", options=OPTIONS,
        evidence=f"{_HERE}:coverage.json"))
    register(Conversion(
        "top-to-onnx", "top", "onnx", f"{_HERE}.lowering:TABLE",
        before="plain-biases,onnx-state-integers{form=$form,bits=$bits},layout{to=NCHW},spell-out-quantized,dce",
        after="dce,cse,dce,onnx-storage-types,onnx-qoperator{form=$form,weights=$weights},dce,onnx-set-opset{opset=$opset},dce,cse",
        doc="The hub to operators of ONNX, opset 13 to 21; quantized models in integers, in QDQ or QOperator form.",
        options=WRITTEN))
    register(Conversion(
        "tosa-to-onnx", "tosa", "onnx", f"{_HERE}.from_tosa:TABLE", before="tosa-strip-quantized",
        after="dce,onnx-restore-borders,dce,cse,dce,onnx-set-opset{opset=$opset},dce,cse",
        doc="TOSA to operators of ONNX: integers to the same bits.", options={name: WRITTEN[name] for name in ("opset", "bits")}))


@hookimpl
def register_passes(register: Any) -> None:
    register(Pass("onnx-quantized-arguments", f"{_HERE}.legalize.quantize:adopt_quantized_arguments",
                  "Give integer inputs that are only used as quantized numbers, always of one kind, that type."))
    register(Pass("onnx-drop-unneeded", f"{_HERE}.legalize.unneeded:drop_unneeded",
                  "Erase ops, and results of branches and loops, that no output needs."))
    register(Pass("onnx-drop-opset", f"{_HERE}.legalize.quantize:drop_opset",
                  "Forget the opset, which only ONNX's operators need."))
    register(Pass("onnx-storage-types", "transload.passes.storage:strip_quantized_types",
                  "Leave the storage type where a value has a quantized type, as ONNX's operators see it.", ("onnx",), ("onnx",)))
    register(Pass("onnx-qoperator", f"{_HERE}.lowering.qoperator:write_on_integers",
                  "Write operators on integers for those between DequantizeLinear and QuantizeLinear, with form=qoperator, "
                  "and with form=auto where the module's are such."))
    register(Pass("onnx-state-integers", f"{_HERE}.from_tosa.borders:state_integers",
                  "Write quantized ops in the integers that they stand for, with form=integers."))
    register(Pass("onnx-restore-borders", f"{_HERE}.from_tosa.borders:restore_borders",
                  "Let functions take and give again what they did before the lowering to TOSA."))
    register(Pass("onnx-set-opset", f"{_HERE}.lowering.opset:set_opset", "Say of a module in which opset its operators are."))
    register(Pass("onnx-sequence-results", f"{_HERE}.legalize.sequences:spell_out_results",
                  "Give the tensors in a sequence where a model gives that."))


@hookimpl
def register_runtimes(register: Any) -> None:
    register(Runtime(
        "onnxruntime", "onnx", f"{_HERE}.runtime:open_model", f"{_HERE}.runtime:available",
        "onnxruntime on the CPU, graph optimizations off.",
        f"{_HERE}.runtime:alternatives", f"{_HERE}.isolated:warm", undefined=f"{_HERE}.undefined:undefined",
        padded=f"{_HERE}.found:padded"))


@hookimpl
def register_engines(register: Any) -> None:
    register(Engine(
        "onnxruntime", f"{_HERE}.engine:prepare", "onnxruntime on the CPU: of floats, for measuring; compiles nothing.",
        available=f"{_HERE}.runtime:available", measures=True))
