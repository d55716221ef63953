"""The target `onnx`: a module of the `onnx` dialect as a file."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from transload.contents import constant_bytes, op_counts
from transload.interface import in_utf8, interface, named
from transload.ir import DialectType, Module
from transload.plugin import Emitted, Target, resolve, unavailable
from transload.plugin_host import host

if TYPE_CHECKING:
    import numpy as np

__all__ = ["OnnxTarget"]


class OnnxTarget(Target):
    """`STEM.onnx`, of opset 21 or the one that is chosen; of more than 2 GB with its weights in `STEM.onnx.data` beside it."""

    name = "onnx"
    doc = "ONNX: opset 21, of 8 bits 20, or with `--option opset=17` from 13 on; quantized in QDQ or QOperator form."
    accepts = ("onnx",)
    pipeline = "inline,keep-main"
    quantizing = MappingProxyType({"rounds": "once", "islands": "float"})  # it computes 16 bits in floats, and rounds
    rounds_alone = True  # onnxruntime computes QDQ models in floats, or in integers of its own, by its level of optimization

    def available(self) -> str | None:
        if importlib.util.find_spec("onnx") is not None:
            return None
        return "onnx, which writes the files, is not installed: pip install 'transload[onnx]'"

    def by_hub(self, module: Module) -> bool:
        """Results of types that ONNX's inference does not know (operators of other domains), sequences and optionals, which the
        hub spells out as tensors, and operators of another opset than the model's."""
        return any("onnx.opset" in op.attributes or any(isinstance(value.type, DialectType) for value in op.results)
                   for op in module.walk() if op.dialect == "onnx")

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        resolve(host().get("writers", "onnx").write)(module, directory / f"{stem}.onnx")
        files = sorted(directory.iterdir())
        return Emitted(files, {
            **interface(module),
            "opset": dict(module.attributes.get("onnx.opset") or {}),
            "operators": op_counts(module),
            "constant_bytes": constant_bytes(module),
            "file_bytes": {file.name: file.stat().st_size for file in files},
        })

    @property
    def run(self) -> Callable[[Emitted, Mapping[str, np.ndarray]], dict[str, np.ndarray]] | None:  # type: ignore[override]
        """Runs the file in onnxruntime, where that is installed."""
        runtime = host().runtimes.get("onnxruntime")
        if runtime is None or unavailable(runtime.available) is not None:
            return None
        # In a graph of ONNX no two values have one name, as an input has that is an output, too.
        return lambda emitted, inputs: named(emitted.report, resolve(runtime.open)(emitted.file(".onnx"))(in_utf8(inputs)))
