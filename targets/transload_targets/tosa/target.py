"""The target `tosa`: a module of the `tosa` dialect as a flatbuffer and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from transload.contents import constant_bytes, op_counts
from transload.conversion import apply_conversion
from transload.errors import ConversionError, Finding, UsageError
from transload.ir import Module
from transload.plugin import Emitted, Target, resolve
from transload.plugin_host import host

from .check import findings_of
from .command import LEVELS
from .requirements import profile_030, requirements_of

__all__ = ["TosaTarget"]

VERSIONS = ("0.30", "1.0", "1.1")
CONSTANTS = "resource"
"""How MLIR text has constants, where nobody says it."""


class TosaTarget(Target):
    """`STEM.tosa`, the flatbuffer that compilers and the reference model read; with `mlir=true`, `STEM.mlir`, for `tosa-opt`.

    Of version 0.30, for tools of 2022, there is text only.
    """

    name = "tosa"
    doc = "TOSA: a .tosa flatbuffer, and MLIR text on request."
    accepts = ("tosa",)
    default = True
    pipeline = "inline,keep-main"  # a file holds one graph
    converting = MappingProxyType({"top-to-tosa.int4": True})
    """A consumer says by its extensions what it takes, and so does the file."""

    def options(self) -> dict[str, tuple[type | tuple[str, ...], Any, str]]:
        return {
            "tosa_version": (VERSIONS, "1.0", "specification version of the files"),
            "mlir": (bool, False, "write MLIR text, too, twice as large or more; of version 0.30, there is text alone"),
            "constants": (
                ("inline", "resource", "elided"), CONSTANTS,
                "constants in the .mlir, where one is written: in the op, in a section, or left out"),
            "level": (LEVELS, LEVELS[0], "limits that the model must keep: 8k (ranks up to 6) or none"),
        }

    def check(self, module: Module, options: Mapping[str, Any]) -> Sequence[Finding]:
        if options["constants"] != CONSTANTS and not options["mlir"] and options["tosa_version"] != "0.30":
            raise UsageError(
                f"constants={options['constants']} is about MLIR text, and none is written", hint="with mlir=true it is")
        findings = findings_of(module, options["tosa_version"], options["level"])
        if options["tosa_version"] == "0.30" and not findings:
            try:
                _older(module)
            except ConversionError as error:
                findings = list(error.findings)
        return findings

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        from transload.text import write_module

        if options["tosa_version"] == "0.30":
            return self._emit_older(module, directory, stem, options["constants"])
        files = [directory / f"{stem}.tosa"]
        resolve(host().get("writers", "tosa").write)(module, files[0], tosa_version=options["tosa_version"])
        if options["mlir"]:
            files.append(directory / f"{stem}.mlir")
            with files[1].open("w", encoding="utf-8") as file:
                write_module(module, file, constants=options["constants"])
        return Emitted(files, {
            "tosa_version": options["tosa_version"],
            **requirements_of(module),
            "operators": op_counts(module),
            "custom_operators": _custom_operators(module),
            "constant_bytes": constant_bytes(module),
            "file_bytes": {file.name: file.stat().st_size for file in files},
        })


    def _emit_older(self, module: Module, directory: Path, stem: str, constants: str) -> Emitted:
        text = directory / f"{stem}.mlir"
        older = _older(module)
        resolve(host().get("writers", "tosa-0.30").write)(older, text, constants=constants)
        return Emitted([text], {
            "tosa_version": "0.30",
            "profiles": [profile_030(older)],
            "operators": op_counts(older),
            "constant_bytes": constant_bytes(older),
            "file_bytes": {text.name: text.stat().st_size},
        })


def _custom_operators(module: Module) -> list[str]:
    """The operators, as `<domain>.<name>`, that TOSA does not define: an implementation has to have them of its own."""
    return sorted({f"{op.domain_name}.{op.operator_name}" for op in module.ops() if op.name == "tosa.custom"})


def _older(module: Module) -> Module:
    """The module in TOSA 0.30; `ConversionError` names what that version cannot say."""
    older = module.clone()
    apply_conversion(host().get("conversions", "tosa-to-tosa030"), older)
    return older
