"""The target `stablehlo`: a module of the `stablehlo` dialect as a portable artifact and as text."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from transload.contents import constant_bytes, op_counts
from transload.errors import Finding, UsageError
from transload.ir import Module
from transload.plugin import Emitted, Target

from .check import findings_of
from .versions import NEWEST, is_version, write_artifact

if TYPE_CHECKING:
    import numpy as np

__all__ = ["StablehloTarget"]


class StablehloTarget(Target):
    """`STEM.mlirbc`, the portable artifact that the chosen version of StableHLO and all later ones read, and `STEM.mlir`.

    The text is MLIR's generic form, which all versions of MLIR read.
    """

    name = "stablehlo"
    doc = "StableHLO: a portable artifact (.mlirbc) and MLIR text."
    accepts = ("stablehlo",)
    converting = MappingProxyType({"top-to-tosa.int4": True})
    """StableHLO has i4, whatever it is computed in."""

    def options(self) -> dict[str, tuple[type | tuple[str, ...], Any, str]]:
        return {
            "minimum_version": (
                str, "1.0.0", f"oldest version of StableHLO that is to read the artifact (0.9.0 or later, or {NEWEST!r})"),
            "constants": (
                ("inline", "resource", "elided"), "inline", "constants in the .mlir: in the op, in a section, or left out"),
        }

    def available(self) -> str | None:
        if importlib.util.find_spec("jaxlib") is not None:
            return None
        return "jaxlib, which writes portable artifacts, is not installed: pip install 'transload[stablehlo]'"

    def check(self, module: Module, options: Mapping[str, Any]) -> Sequence[Finding]:
        version = options["minimum_version"]
        if not is_version(version):
            raise UsageError(f"option minimum_version must be three numbers, such as 1.0.0, or {NEWEST!r}, not {version!r}")
        missing = self.available()
        if missing is not None:
            raise UsageError(f"what StableHLO {version} cannot say is not known here: {missing}")
        return findings_of(module, version)

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        from transload.text import write_module

        artifact, text = directory / f"{stem}.mlirbc", directory / f"{stem}.mlir"
        write_artifact(module, artifact, options["minimum_version"])
        with text.open("w", encoding="utf-8") as file:
            write_module(module, file, constants=options["constants"])
        return Emitted([artifact, text], {
            "minimum_version": options["minimum_version"],
            "operators": op_counts(module),
            "constant_bytes": constant_bytes(module),
            "file_bytes": {file.name: file.stat().st_size for file in (artifact, text)},
        })

    def run(self, emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The artifact, read back, by the engine that suits it: XLA, or the reference engine."""
        import transload

        return transload.run(emitted.file(".mlirbc"), inputs)
