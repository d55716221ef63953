"""The target `tflite`: a module of the `tfl` dialect as a `.tflite` file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transload.contents import STRUCTURE, constant_bytes, op_counts
from transload.errors import Finding, RunError
from transload.ir import Module
from transload.plugin import Emitted, Target, resolve
from transload.plugin_host import host

if TYPE_CHECKING:
    import numpy as np

__all__ = ["TfliteTarget"]


class TfliteTarget(Target):
    """`STEM.tflite`, with the names of inputs and outputs in a signature, and the release of the runtime that it needs."""

    name = "tflite"
    doc = "TensorFlow Lite: a .tflite file, for LiteRT and the tools of many chips."
    accepts = ("tfl",)

    def check(self, module: Module, options: Mapping[str, Any]) -> Sequence[Finding]:
        return [
            Finding(op.name, "is no operator of TFLite", (op.origin,) if op.origin else (),
                    "`transload coverage` says which conversions are there")
            for op in module.ops() if op.dialect not in ("tfl", *STRUCTURE)]

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        path = directory / f"{stem}.tflite"
        resolve(host().get("writers", "tflite").write)(module, path)
        return Emitted([path], {
            "operators": op_counts(module),
            "constant_bytes": constant_bytes(module),
            "file_bytes": {path.name: path.stat().st_size},
        })

    def run(self, emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The file, run by its format's own runtime (LiteRT), or else by another that takes it; without one, by our engine."""
        import transload
        from transload.verification.compare import other_runtimes, runtime_for

        path, refused = emitted.file(".tflite"), None
        own, _ = runtime_for(self.name)
        for runtime in (*((own,) if own is not None else ()), *other_runtimes(self.name, "tflm")):
            try:
                outputs: dict[str, np.ndarray] = resolve(runtime.open)(path)(inputs)
                return outputs
            except RunError as error:
                refused = refused or error
        if refused is not None:
            raise refused
        return transload.run(path, inputs)
