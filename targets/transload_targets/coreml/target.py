"""The target `coreml`: an ML Program, written by coremltools."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from transload.contents import constant_bytes, op_counts
from transload.errors import Finding, TargetError
from transload.interface import interface
from transload.ir import Module
from transload.plugin import Emitted, Target

from .check import written

__all__ = ["CoremlTarget"]


class CoremlTarget(Target):
    """`STEM.mlpackage`, a folder: the program, and its weights beside it."""

    name = "coreml"
    doc = "Core ML: an ML Program (.mlpackage) for iOS 17 and macOS 14, and later."
    accepts = ("top",)
    pipeline = (
        "inline,coreml-narrow-doubles{f64=$f64},coreml-check-rounding{rounding=$rounding},plain-biases,layout{to=NCHW},"
        "unroll-recurrent,write-out-einsums,spell-out-quantized,write-out-floor-divisions,dce")
    converting = MappingProxyType({
        "tfl-to-top.hybrid": "float",  # it has no calls that quantize while they run
        "tosa-to-onnx.bits": "32"})  # nor numbers of 64 bits
    quantizing = MappingProxyType({"rounds": "once", "islands": "float"})  # quantize and dequantize around floats

    def options(self) -> dict[str, tuple[type | tuple[str, ...], Any, str]]:
        about = "in what floats it computes; the Neural Engine has float16 alone"
        rounds = "quantized ops that round otherwise than Core ML: refused, or rounded as Core ML does"
        return {"precision": (("float32", "float16"), "float32", about), "rounding": (("kept", "coreml"), "kept", rounds),
                "f64": (("narrowed", "refused"), "narrowed", "f64 becomes f32, which is noted, or is refused")}

    def available(self) -> str | None:
        if importlib.util.find_spec("coremltools") is not None:
            return None
        return "coremltools, which writes the programs, is not installed: pip install 'transload[coreml]'"

    def check(self, module: Module, options: Mapping[str, Any]) -> Sequence[Finding]:
        return written(module, str(options["precision"]), build=False).findings

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        made = written(module, str(options["precision"]))
        if made.findings:
            raise TargetError("target 'coreml' cannot take this model", made.findings)
        files = []
        for name, data in made.files.items():
            files.append(directory / f"{stem}.mlpackage" / name)
            files[-1].parent.mkdir(parents=True, exist_ok=True)
            files[-1].write_bytes(data)
        return Emitted(files, {
            **interface(module),
            "input_names": dict(made.inputs),
            "output_names": dict(made.outputs),
            "precision": options["precision"],
            "operators": op_counts(module),
            "constant_bytes": constant_bytes(module),
            "file_bytes": {str(file.relative_to(directory)): file.stat().st_size for file in files},
        })
