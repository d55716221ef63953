"""The target `openvino`: intermediate representation, made by OpenVINO's converter of the ONNX file that we write."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from transload.contents import constant_bytes, op_counts
from transload.errors import Finding, RunError, TargetError
from transload.interface import arguments, interface, results
from transload.ir import Module
from transload.plugin import Emitted, Target

from .check import converted, findings_of
from .session import open_model, unavailable

if TYPE_CHECKING:
    import numpy as np

__all__ = ["OpenvinoTarget"]


class OpenvinoTarget(Target):
    """`STEM.xml` and `STEM.bin`: the graph and its constants."""

    name = "openvino"
    doc = "OpenVINO: intermediate representation (.xml, .bin) for its runtime."
    accepts = ("onnx",)
    pipeline = "inline,keep-main,openvino-write-otherwise,openvino-tell-inexact"
    quantizing = MappingProxyType({"rounds": "once", "islands": "float"})
    converting = MappingProxyType({
        "tfl-to-top.hybrid": "float",  # it has no kernels that quantize while they run
        "top-to-onnx.bits": "32", "tosa-to-onnx.bits": "32"})  # it computes numbers of 64 bits in 32
    rounds_alone = True  # it computes QDQ models with kernels of its own

    def available(self) -> str | None:
        if (why := unavailable()) is not None:
            return why
        if importlib.util.find_spec("onnx") is None:
            return "onnx, which writes what OpenVINO converts, is not installed: pip install 'transload[openvino]'"
        return None

    def by_hub(self, module: Module) -> bool:
        """What its converter does not take of a file is written by other operators."""
        return bool(findings_of(module))

    def check(self, module: Module, options: Mapping[str, Any]) -> Sequence[Finding]:
        return findings_of(module)

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        try:
            made = converted(module)
        except RunError as error:
            raise TargetError(f"target 'openvino' cannot take this model: {error.message}") from None
        files = [directory / f"{stem}.{kind}" for kind in ("xml", "bin")]
        for file in files:
            file.write_bytes(made[file.suffix[1:]])
        return Emitted(files, {
            **interface(module),
            "operators": op_counts(module),
            "constant_bytes": constant_bytes(module),
            "file_bytes": {file.name: file.stat().st_size for file in files},
        })

    def run(self, emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run the files on the CPU, by OpenVINO's runtime."""
        given = arguments(emitted.report, inputs)
        return results(emitted.report, open_model(emitted.file(".xml"))(given))
