"""The targets: a tensor processor each, of those that come with Transload or of a plugin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from transload.contents import constant_bytes, op_counts
from transload.ir import Module, Op
from transload.plugin import Emitted, Target

from .chip import Chip, load_chip

__all__ = ["TensorProcessor"]


class TensorProcessor(Target):
    """A chip that a file describes.

        register(TensorProcessor(Path(__file__).parent / "acme.toml", "acme"))

    What it can compute becomes dialect `tpu`; the rest stays on the host.
    """

    def __init__(self, file: str | Path, name: str, doc: str = "", dialects: Sequence[str] = ()) -> None:
        """`file` is the name of a chip that comes along, or a path of a TOML file, which is read when it is needed.

        `dialects` are those of instructions of its own.
        """
        self.accepts = ("top", "tpu", *dialects)
        self.file = file
        self.name = name
        self.doc = doc or f"The tensor processor {name}."
        self.pipeline = (
            f'inline,unroll-recurrent,write-out-normalizations,layout{{to=NCHW}},lower-to-tpu{{chip="{file}"}},'
            f'narrow-floats{{to=$floats,chip="{file}"}},dce,cse')

    @cached_property
    def chip(self) -> Chip:
        """What the file says."""
        return load_chip(self.file)

    def options(self) -> dict[str, tuple[type | tuple[str, ...], Any, str]]:
        types = ("float32", "float16", "bfloat16")
        return {"floats": (types, "float32", "the type in which floats are computed where the chip has it")}

    def takes(self, op: Op, options: Mapping[str, Any]) -> bool:
        return op.dialect != "top"

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        from transload.text import write_module

        file = directory / f"{stem}.mlir"
        with file.open("w", encoding="utf-8") as out:
            write_module(module, out, constants="resource")
        return Emitted([file], {
            "chip": self.chip.name, "operators": op_counts(module), "constant_bytes": constant_bytes(module)})
