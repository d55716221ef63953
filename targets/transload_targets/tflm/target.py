"""The target `tflm`: a model as an array of C, with the operators and the memory that it needs, and a project to start from."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from transload.contents import constant_bytes, op_counts
from transload.errors import Finding, ReadError, RunError, TargetError
from transload.interface import arguments, interface, results
from transload.ir import Module
from transload.plugin import Emitted, Target

from .check import findings_of, written
from .interpreter import Given, arena_of, open_model, operators_of
from .project import Project, identifier
from .rounding import recurrent_findings

if TYPE_CHECKING:
    import numpy as np

__all__ = ["TflmTarget", "unavailable"]


def unavailable() -> str | None:
    """None where tflite-micro is installed, or what to install."""
    if importlib.util.find_spec("tflite_micro") is not None:
        return None
    return "tflite-micro, which says what fits and how much memory it takes, is not installed: pip install 'transload[tflm]'"


class TflmTarget(Target):
    """`STEM.tflite`; `STEM_model.c` and `.h`, the same as an array; `STEM_ops.h`, `main.cc` and `CMakeLists.txt` around it."""

    name = "tflm"
    doc = "TensorFlow Lite for Microcontrollers: the model as an array of C, its operators, its arena, a project."
    accepts = ("tfl",)
    pipeline = "tfl-sizes,tfl-check-operators,tflm-write-otherwise,dce"
    converting = MappingProxyType({
        "tfl-to-top.hybrid": "float",  # no kernel there quantizes while it runs
        "top-to-tfl.bytes": "signed",  # nor computes with unsigned bytes
        "tosa-to-onnx.bits": "32"})  # nor has floats of 64 bits
    rounds_alone = True  # its kernels are not LiteRT's: FULLY_CONNECTED of 8 bits rounds twice there, and once here

    def options(self) -> dict[str, tuple[type | tuple[str, ...], Any, str]]:
        about = "8-bit FULLY_CONNECTED on what came of its own weights: refused, or rounded as tflite-micro does"
        return {"recurrent": (("kept", "micro"), "kept", about)}

    def available(self) -> str | None:
        return unavailable()

    def by_hub(self, module: Module) -> bool:
        """What the interpreter does not take of a file is written by other operators, or in other types."""
        return bool(findings_of(module))

    def check(self, module: Module, options: Mapping[str, Any]) -> Sequence[Finding]:
        recurrent = recurrent_findings(module) if options["recurrent"] == "kept" else []
        return [*findings_of(module), *recurrent]

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        data = written(module)
        try:
            arena = arena_of(Given.of(data, module))
        except RunError as error:
            raise TargetError(f"target 'tflm' cannot take this model: {error.message}") from None
        project = Project(identifier(stem), data, arena, operators_of(data), **interface(module))
        model = directory / f"{stem}.tflite"
        model.write_bytes(data)
        files = [model]
        for name, text in project.files().items():
            files.append(directory / name)
            files[-1].write_text(text, encoding="utf-8")
        return Emitted(files, {
            "arena_bytes": arena,
            "model_bytes": len(data),
            "resolver": list(project.operators),
            **interface(module),
            "operators": op_counts(module),
            "constant_bytes": constant_bytes(module),
        })

    def run(self, emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run the model in tflite-micro's interpreter, in an arena as large as the report says."""
        report = emitted.report
        given = arguments(report, inputs)
        model = emitted.file(".tflite")
        arena = report.get("arena_bytes")
        if not isinstance(arena, int) or not 0 < arena < 1 << 32:
            raise ReadError("the report beside the artifact does not say how large its arena is", hint="convert the model again")
        session = open_model(model.read_bytes(), arena, len(report["outputs"]))
        return results(report, session(given))
