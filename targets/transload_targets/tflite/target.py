"""The target `tflite`: a module of the `tfl` dialect as a `.tflite` file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from transload.contents import STRUCTURE, constant_bytes, op_counts
from transload.errors import Finding, RunError, merge_findings
from transload.interface import in_utf8, interface, named
from transload.ir import BOOL, F32, I16, I32, NONE, UI8, DialectType, Module, Op, QuantType, TensorType, Type, Value
from transload.ir.regions import functions_named
from transload.plugin import Emitted, Target, resolve
from transload.plugin_host import host
from transload.trials import refusal_by_runtime, refused_ops
from transload.verification.runtimes import other_runtimes, runtime_for

from .lowering.rounding import rounds_otherwise

if TYPE_CHECKING:
    import numpy as np

__all__ = ["TfliteTarget"]


class TfliteTarget(Target):
    """`STEM.tflite`, with the names of inputs and outputs in a signature, and the release of the runtime that it needs."""

    name = "tflite"
    doc = "TensorFlow Lite: a .tflite file, for LiteRT and the tools of many chips."
    accepts = ("tfl",)
    pipeline = "tfl-sizes,tfl-check-operators"
    converting = MappingProxyType({"tosa-to-onnx.bits": "32"})  # it has no floats of 64 bits, in which integers are exact

    def check(self, module: Module, options: Mapping[str, Any]) -> Sequence[Finding]:
        """What is no operator, and what LiteRT, where it is here, has no kernel of for such types: it is asked about each."""
        foreign = [
            Finding(op.name, "is no operator of TFLite", (op.origin,) if op.origin else (),
                    "`transload coverage` says which conversions are there")
            for op in module.ops() if op.dialect not in ("tfl", *STRUCTURE)]
        own, _ = runtime_for(self.name)
        if foreign or own is None:
            return foreign
        loops = any(op.name == "tfl.while" for op in module.ops())  # which are not run on numbers that nobody meant
        if any(map(_is_rare, module.ops())) and not loops and refusal_by_runtime(own, module) is None:
            return []  # an operator alone may end LiteRT where it does not in its model
        return merge_findings([
            Finding(op.name, f"LiteRT says: {why.rpartition('cannot run the model: ')[2]}", (op.origin,) if op.origin else ())
            for op, why in refused_ops(module, lambda alone: refusal_by_runtime(own, alone), _is_rare)])

    def rounds_alone(self, module: Module) -> bool:
        """Whether LiteRT's rounding was asked for, LiteRT has no reference kernels for it, or an operator on integers is in it
        that LiteRT computes in floats: linear resizing of unsigned bytes.
        """
        own, _ = runtime_for(self.name)
        if own is not None and own.rounds_alone is not None and resolve(own.rounds_alone)(module):
            return True
        return rounds_otherwise(module) or any(
            op.name == "tfl.resize_bilinear" and _holds_unsigned_bytes(op.operands[0]) for op in module.ops())

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        path = directory / f"{stem}.tflite"
        resolve(host().get("writers", "tflite").write)(module, path)
        return Emitted([path], {
            **interface(module),
            "operators": op_counts(module),
            "constant_bytes": constant_bytes(module),
            "file_bytes": {path.name: path.stat().st_size},
        })

    def run(self, emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The file, run by its format's own runtime (LiteRT), or else by another that takes it; without one, by our engine."""
        import transload

        path, given, refused = emitted.file(".tflite"), in_utf8(inputs), None
        own, _ = runtime_for(self.name)
        for runtime in (*((own,) if own is not None else ()), *other_runtimes(self.name, "tflm")):
            try:
                return named(emitted.report, resolve(runtime.open)(path)(given))
            except RunError as error:
                refused = refused or error
        if refused is not None:
            raise refused
        return named(emitted.report, transload.run(path, given))


def _is_rare(op: Op) -> bool:
    """Whether an op computes with types that LiteRT has kernels of for few operators.

    IF and WHILE move numbers of any type, and a loop that is run on zeros may never end; what they run is asked about by itself.
    What takes or gives handles of variables and text is nothing without what is beside it.
    """
    elements = [value.type.element for value in (*op.operands, *op.results) if isinstance(value.type, TensorType)]
    return not op.regions and not any(functions_named(op)) and any(map(_is_rare_type, elements)) and not any(
        isinstance(element, DialectType) for element in elements)


def _holds_unsigned_bytes(value: Value) -> bool:
    return value.quant is not None and value.quant.storage == UI8


def _is_rare_type(element: Type) -> bool:
    return element.storage in (UI8, I16) if isinstance(element, QuantType) else element not in (F32, I32, BOOL, NONE)
