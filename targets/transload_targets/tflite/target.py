"""The target `tflite`: a module of the `tfl` dialect as a `.tflite` file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transload.contents import STRUCTURE, constant_bytes, op_counts
from transload.errors import Finding
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
        """The file, read back: by its format's own runtime (LiteRT) where that is installed, else by the reference engine."""
        import transload

        path = emitted.files[0]
        for runtime in host().runtimes.values():
            if runtime.format == self.name and resolve(runtime.available)() is None:
                outputs: dict[str, np.ndarray] = resolve(runtime.open)(path)(inputs)
                return outputs
        return transload.run(path, inputs)
