"""PyTorch: programs of `torch.export` (`.pt2`), the dialect `aten`, its conversion to the hub, and torch as the judge."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.plugin import Conversion, DialectSpec, Pass, Reader, Runtime

_HERE = "transload_converters.pytorch"


@hookimpl
def register_dialects(register: Any) -> None:
    register(DialectSpec("aten", f"{_HERE}.dialect:ATEN", doc="The operators of PyTorch, as torch.export leaves them."))


@hookimpl
def register_readers(register: Any) -> None:
    register(Reader(
        "pytorch", "aten", (".pt2",), f"{_HERE}.reader:read", f"{_HERE}.reader:detect",
        "Programs of torch.export, weights inside.",
        "with torchao: prepare_pt2e(torch.export.export(model, example).module(), QUANTIZER), run samples, convert_pt2e, export "
        "and save again"))


@hookimpl
def register_formats(register: Any) -> None:
    from .foreign import FORMATS

    for format in FORMATS:
        register(format)


@hookimpl
def register_conversions(register: Any) -> None:
    register(Conversion(
        "aten-to-top", "aten", "top", f"{_HERE}.legalize:TABLE", before="aten-functionalize{state=$state}",
        after="fold-qdq,round-once,dce,recognize",
        doc="PyTorch's operators to the hub; sizes are computed, what is written in place becomes a value.",
        way_out="export the network with `.run_decompositions()`, which makes most operators of others that are known",
        evidence=f"{_HERE}:coverage.json",
        options={"state": (("zero", "explicit"), "zero",
                           "What becomes of buffers that a program writes: forgotten after each run, or inputs and outputs.")}))


@hookimpl
def register_passes(register: Any) -> None:
    register(Pass("aten-functionalize", f"{_HERE}.functionalize:functionalize",
                  "Replace operators that overwrite tensors by those that make new ones."))


@hookimpl
def register_runtimes(register: Any) -> None:
    register(Runtime(
        "torch", "pytorch", f"{_HERE}.runtime:open_model", f"{_HERE}.runtime:available",
        "PyTorch's own kernels on the CPU, one call after the other.", warm=f"{_HERE}.runtime:warm"))
