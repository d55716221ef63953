"""TensorFlow Lite: the reader and writer of `.tflite` files, the dialect `tfl`, its legalization to `top`, and LiteRT."""

from __future__ import annotations

from typing import Any

from transload.facts import Facts
from transload.hookspecs import hookimpl
from transload.plugin import Conversion, DialectSpec, Pass, Reader, Runtime, Writer

from .choices import OPTIONS

_HERE = "transload_converters.tflite"


@hookimpl
def register_dialects(register: Any) -> None:
    register(DialectSpec("tfl", f"{_HERE}.dialect:TFL", doc="The builtin operators of TensorFlow Lite."))
    register(DialectSpec(
        "tflite", f"{_HERE}.postprocess:TFLITE", f"{_HERE}.postprocess:KERNELS", "What TFLite's custom operations compute."))


@hookimpl
def register_facts(register: Any) -> None:
    register(Facts("steps", "tfl", f"{_HERE}.steps:STEPS"))
    register(Facts("products", "tfl", f"{_HERE}.steps:PRODUCTS"))


@hookimpl
def register_readers(register: Any) -> None:
    register(Reader(
        "tflite", "tfl", (".tflite",), f"{_HERE}.reader:read", f"{_HERE}.reader:detect", "TensorFlow Lite models.",
        "where it is made, with TensorFlow: converter.optimizations = [tf.lite.Optimize.DEFAULT], "
        "converter.representative_dataset = SAMPLES, converter.inference_input_type = converter.inference_output_type = tf.int8"))


@hookimpl
def register_writers(register: Any) -> None:
    register(Writer("tflite", "tfl", (".tflite",), f"{_HERE}.writer_module:write", "TensorFlow Lite models."))


@hookimpl
def register_conversions(register: Any) -> None:
    register(Conversion(
        "tfl-to-top", "tfl", "top", f"{_HERE}.legalize:TABLE",
        before="tfl-check-operators,tfl-plain-integers,tfl-variables{state=$state},tfl-states{state=$state},tfl-check-subgraphs",
        entries=f"{_HERE}.legalize.control:entries",
        joins=("stablehlo-to-top",),  # for operators that are StableHLO's
        doc="The operators of TensorFlow Lite as hub operations.", options=OPTIONS,
        before_quantizing={"hybrid": "float"}, evidence=f"{_HERE}:coverage.json"))


@hookimpl
def register_passes(register: Any) -> None:
    register(Pass("tfl-sizes", f"{_HERE}.legalize.sizes:find_sizes",
                  "Give tensors the sizes that follow from those of the inputs, where they are others than the file's."))
    register(Pass("tfl-check-operators", f"{_HERE}.legalize.checks:check_operators",
                  "Refuse results and states of types or scales that no kernel of LiteRT gives them."))
    register(Pass("tfl-plain-integers", f"{_HERE}.legalize.plain:make_plain",
                  "Read integers of 32 and 64 bits as they are stored, where no operator looks at a scale that the file notes."))
    register(Pass("tfl-variables", f"{_HERE}.legalize.variables:resolve_variables",
                  "Replace reads of resource variables by what they hold there."))
    register(Pass("tfl-states", f"{_HERE}.legalize.state:expose_states",
                  "Make the states of recurrent operators inputs and outputs, where that is asked for."))
    register(Pass("tfl-check-subgraphs", f"{_HERE}.legalize.control:check_subgraphs",
                  "Refuse subgraphs that run each other in a circle, or would be too many operators."))


@hookimpl
def register_runtimes(register: Any) -> None:
    register(Runtime(
        "litert", "tflite", f"{_HERE}.runtime:open_model", f"{_HERE}.runtime:available", "LiteRT's reference kernels.",
        warm=f"{_HERE}.runtime:warm", undefined=f"{_HERE}.undefined:undefined", functions=True,
        rounds_alone=f"{_HERE}.runtime:uses_other_kernels"))
