"""The target `tflm`: a model as an array of C, with the operators and the memory that it needs, and a project to start from."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transload.contents import constant_bytes, op_counts
from transload.errors import Finding, RunError, TargetError
from transload.interface import arguments, interface, results
from transload.ir import Module, TensorType, dtype_of
from transload.plugin import Emitted, Target

from .check import findings_of, written
from .interpreter import arena_of, open_model, operators_of
from .project import Project, identifier

if TYPE_CHECKING:
    import numpy as np

__all__ = ["TflmTarget"]


class TflmTarget(Target):
    """`STEM.tflite`; `STEM_model.c` and `.h`, the same as an array; `STEM_ops.h`, `main.cc` and `CMakeLists.txt` around it."""

    name = "tflm"
    doc = "TensorFlow Lite for Microcontrollers: the model as an array of C, its operators, its arena, a project."
    accepts = ("tfl",)
    rounds_alone = True  # its kernels are not LiteRT's: FULLY_CONNECTED of 8 bits rounds twice there, and once here

    def available(self) -> str | None:
        if importlib.util.find_spec("tflite_micro") is not None:
            return None
        return "tflite-micro, which says what fits and how much memory it takes, is not installed: pip install 'transload[tflm]'"

    def check(self, module: Module, options: Mapping[str, Any]) -> Sequence[Finding]:
        return findings_of(module)

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        data = written(module)
        taken = [type_ for type_ in module.inputs.values() if isinstance(type_, TensorType)]
        try:
            arena = arena_of(data, [type_.static_shape for type_ in taken], [dtype_of(type_.element).name for type_ in taken])
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
        model = next(file for file in emitted.files if file.suffix == ".tflite")
        session = open_model(model.read_bytes(), report["arena_bytes"], len(report["outputs"]))
        return results(report, session(given))
