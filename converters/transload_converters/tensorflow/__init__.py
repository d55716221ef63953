"""TensorFlow: the dialect `tf`, readers of its files, and the conversion of its ops to the hub."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.facts import Facts
from transload.plugin import Conversion, DialectSpec, Pass, Reader, Runtime

from .choices import OPTIONS

_HERE = "transload_converters.tensorflow"


@hookimpl
def register_dialects(register: Any) -> None:
    register(DialectSpec("tf", f"{_HERE}.dialect:TF", f"{_HERE}.kernels:KERNELS", doc="TensorFlow's ops, one op each."))
    register(DialectSpec(
        "tf_executor", f"{_HERE}.executor.dialect:EXECUTOR", f"{_HERE}.kernels:EXECUTOR_KERNELS",
        doc="Graphs as TensorFlow's executor runs them."))
    register(DialectSpec("tf_saved_model", f"{_HERE}.dialect_tools:SAVED_MODEL", doc="SavedModels, as tools have them."))
    register(DialectSpec("tf_device", f"{_HERE}.dialect_tools:DEVICE", doc="Parts of a program that are for a device."))


@hookimpl
def register_facts(register: Any) -> None:
    register(Facts("assembly", "tf_executor", f"{_HERE}.executor.assembly:FORMS"))
    register(Facts("assembly", "tf", f"{_HERE}.assembly:FORMS"))
    register(Facts("assembly", "arith", f"{_HERE}.assembly:ARITH_FORMS"))
    register(Facts("assembly", "tf_device", f"{_HERE}.assembly:DEVICE_FORMS"))

    register(Facts("steps", "tf", f"{_HERE}.steps:STEPS"))
    register(Facts("nested", "tf_executor", f"{_HERE}.executor.parts:NESTED"))


@hookimpl
def register_readers(register: Any) -> None:
    register(Reader(
        "tensorflow", "tf", (".pb", ".pbtxt", ".meta"), f"{_HERE}.reader:read", f"{_HERE}.reader:detect",
        "Graphs of TensorFlow, SavedModels, and meta graphs beside checkpoints.",
        folder=("saved_model.pb", "saved_model.pbtxt")))


@hookimpl
def register_runtimes(register: Any) -> None:
    register(Runtime(
        "tensorflow", "tensorflow", f"{_HERE}.runtime:open_model", f"{_HERE}.runtime:available",
        "TensorFlow on the CPU, the graph run by a session.", fetches=True, warm=f"{_HERE}.runtime:warm", functions=True,
        undefined=f"{_HERE}.undefined:undefined"))


@hookimpl
def register_passes(register: Any) -> None:
    register(Pass("tf-as-imported", f"{_HERE}.passes.imported:as_imported",
                  "Put modules of TensorFlow's own tools as files are read: bound variables, numbers that are no tensors.",
                  requires=("tf",)))
    register(Pass("tf-functionalize", f"{_HERE}.passes.functionalize:functionalize",
                  "Make ops in program order of graphs of the executor: conditionals and loops as regions.",
                  requires=("tf_executor",), produces=("tf",)))
    register(Pass("tf-inline", f"{_HERE}.passes.inline:inline",
                  "Put functions where they are called, and where If, While and Case run them.", requires=("tf",)))
    register(Pass("tf-drop-training", f"{_HERE}.passes.training:drop_training",
                  "Leave out what only training needs: checks, printing, summaries, savers.", requires=("tf",)))
    register(Pass("tf-freeze-variables", f"{_HERE}.passes.freeze:freeze",
                  "Make variables constants, or inputs and outputs where the model changes them.", requires=("tf",)))


@hookimpl
def register_conversions(register: Any) -> None:
    register(Conversion(
        "tf-executor-to-tf", "tf_executor", "tf", f"{_HERE}.legalize.executor:TABLE", before="tf-as-imported,tf-functionalize",
        doc="Graphs of TensorFlow's executor as ops in program order."))
    for dialect in ("tf_saved_model", "tf_device"):
        register(Conversion(
            f"{dialect.replace('_', '-')}-to-tf", dialect, "tf", f"{_HERE}.legalize.executor:TABLE", before="tf-as-imported",
            doc="What TensorFlow's own tools have around ops of the dialect tf."))
    register(Conversion(
        "tf-to-top", "tf", "top", f"{_HERE}.legalize:TABLE",
        before="tf-as-imported,tf-inline,tf-drop-training,tf-freeze-variables,dce",
        after="fold-fake-quant{rounding=$fake_quant},dce", doc="TensorFlow's ops as hub operations.", options=OPTIONS,
        evidence=f"{_HERE}:coverage.json"))
