"""The targets `xla-cpu`, `xla-gpu` and `xla-tpu`: a program compiled for a device, and what it was compiled from."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from transload.arrays import read_arrays
from transload.contents import constant_bytes, op_counts
from transload.errors import Finding, ReadError, RunError, TargetError
from transload.interface import arguments, described, results
from transload.ir import Module, input_names, output_names
from transload.plugin import Emitted, Target, resolve
from transload.plugin_host import host

from .platforms import why_not

__all__ = ["XlaTarget"]


class XlaTarget(Target):
    """`STEM.mlirbc`, the program as a portable artifact; `STEM.xla`, compiled for the device; `STEM.npz`, its constants.

    The compiled program takes the model's inputs and then the constants, in order. It runs on devices of the kind it
    was compiled on, with the version of XLA that compiled it; the portable artifact is for all others.
    """

    accepts = ("stablehlo",)
    converting = MappingProxyType({"top-to-tosa.int4": True})
    """StableHLO has i4, whatever it is computed in."""

    def __init__(self, platform: str) -> None:
        self.platform = platform
        self.name = f"xla-{platform}"
        self.doc = f"XLA on a {platform.upper()}: a portable artifact, and the program compiled."
        self.run = self._run

    def available(self) -> str | None:
        return why_not(self.platform)

    def options(self) -> dict[str, tuple[type | tuple[str, ...], Any, str]]:
        return {"stablehlo_version": (str, "", "oldest version of StableHLO that is to read the .mlirbc; empty: the newest")}

    def by_hub(self, module: Module) -> bool:
        """Calls that XLA is not given are written out, where the hub knows what they mean."""
        from .allowed import has_known_calls

        return has_known_calls(module)

    def check(self, module: Module, options: Mapping[str, Any]) -> Sequence[Finding]:
        from .allowed import findings_of
        from .program import cannot_cross

        block = module.body_of_main
        return [*cannot_cross([value.type for value in (*block.arguments, *block.terminator.operands)]), *findings_of(module)]

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        from .client import Program
        from .program import written

        main = module.main
        portable, compiled, constants = (directory / f"{stem}.{suffix}" for suffix in ("mlirbc", "xla", "npz"))
        version = {"version": options["stablehlo_version"]} if options["stablehlo_version"] else {}
        resolve(host().get("writers", "stablehlo").write)(module, portable, **version)
        made = written(module, str(main.attributes["sym_name"]), self.platform)
        start = time.perf_counter()
        try:
            program = Program(made.text, f"function {main.attributes['sym_name']!r}", self.platform, made.options)
        except RunError as error:
            raise TargetError(error.message, error.findings, error.hint) from None
        seconds = time.perf_counter() - start
        files = [portable]
        binary = program.serialized()
        if binary is not None:
            compiled.write_bytes(binary)
            with constants.open("wb") as file:
                np.savez(file, *map(_bytes, made.constants))
            files += [compiled, constants]
        return Emitted(files, {
            "platform": self.platform,
            "device": str(program.on.device),
            "compile_seconds": round(seconds, 3),
            **program.facts(),
            "serialized": binary is not None,
            "inputs": described(input_names(main), made.inputs),
            "outputs": described(output_names(main), made.results),
            "constants": [{"shape": list(array.shape), "dtype": str(array.dtype)} for array in made.constants],
            "constant_bytes": constant_bytes(module),
            "operators": op_counts(module),
        })

    def _run(self, emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run the compiled program on arrays by input name."""
        from .client import Program

        report = emitted.report
        by_suffix = {file.suffix: file for file in emitted.files}
        if ".xla" not in by_suffix:
            raise RunError(f"target {self.name!r} wrote no compiled program: this device does not serialize them")
        if ".npz" not in by_suffix:
            raise ReadError(f"{by_suffix['.xla']}: has no .npz with its constants beside it")
        given = arguments(report, inputs)
        program = Program.load(by_suffix[".xla"].read_bytes(), str(by_suffix[".xla"]), self.platform)
        try:
            stored = read_arrays(emitted.file(".npz"))
            constants = [
                stored[f"arr_{index}"].numpy().view(np.dtype(one["dtype"])).reshape(one["shape"])
                for index, one in enumerate(report["constants"])]
        except (ReadError, ValueError, KeyError, TypeError) as error:
            raise ReadError(f"{emitted.file('.npz')}: does not hold the constants of the program: {error}") from None
        return results(report, program([*given, *constants]))


def _bytes(array: np.ndarray) -> np.ndarray:
    """The bytes of an array: `.npz` files know no bf16."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
