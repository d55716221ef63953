"""The targets `iree-llvm-cpu`, `iree-cuda`, `iree-rocm` and `iree-vulkan`: a compiled program, and what it was compiled from."""

from __future__ import annotations

import importlib.util
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transload.contents import constant_bytes, op_counts
from transload.errors import Finding, TargetError, UsageError
from transload.interface import arguments, interface, results
from transload.ir import Module
from transload.plugin import Emitted, Target, resolve
from transload.plugin_host import host
from transload_hub.library_calls import known_calls

from .backends import Backend
from .check import findings_of, findings_said
from .compiling import compiled, open_program, why_nothing

if TYPE_CHECKING:
    import numpy as np

__all__ = ["IreeTarget"]


class IreeTarget(Target):
    """`STEM.vmfb`, the program compiled for a device; `STEM.mlirbc`, the portable artifact of StableHLO that it was made from."""

    accepts = ("stablehlo",)
    pipeline = "iree-order-equal-elements,iree-special-numbers,iree-cut-leftovers"

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.name = f"iree-{backend.name}"
        self.doc = f"IREE on {backend.title}: a program for its runtime, compiled."

    def options(self) -> dict[str, tuple[type | tuple[str, ...], Any, str]]:
        made: dict[str, tuple[type | tuple[str, ...], Any, str]] = {
            "device": (str, self.backend.device, f"what it is compiled for: {self.backend.devices}")}
        if self.backend.name == "llvm-cpu":
            made["triple"] = (str, "", "another machine, as LLVM names it: aarch64-linux-android29, ...; empty: this one")
        return made

    def available(self) -> str | None:
        if _find("iree.compiler") is None:
            return "IREE's compiler is not installed: pip install 'transload[iree]'"
        if _find("jaxlib") is None:
            return "jaxlib, which writes StableHLO for IREE, is not installed: pip install 'transload[iree]'"
        return None

    def runs_here(self) -> str | None:
        return None if _find("iree.runtime") is not None else "IREE's runtime is not installed: pip install iree-base-runtime"

    def by_hub(self, module: Module) -> bool:
        """Calls that IREE does not have are written out, where the hub knows what they mean."""
        return any(known_calls(module))

    def check(self, module: Module, options: Mapping[str, Any]) -> Sequence[Finding]:
        return findings_of(module, self._flags(options))

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        portable, program = directory / f"{stem}.mlirbc", directory / f"{stem}.vmfb"
        _write_portable(module, portable)
        start = time.perf_counter()
        program.write_bytes(self._compiled(portable.read_bytes(), options))
        seconds = time.perf_counter() - start
        return Emitted([program, portable], {
            "backend": self.backend.name,
            "device": options["device"],
            "triple": options.get("triple", ""),
            "driver": self.backend.driver,
            "compile_seconds": round(seconds, 3),
            **interface(module),
            "operators": op_counts(module),
            "constant_bytes": constant_bytes(module),
            "file_bytes": {file.name: file.stat().st_size for file in (program, portable)},
        })

    def _compiled(self, program: bytes, options: Mapping[str, Any]) -> bytes:
        """The program for the device; `UsageError` where there is no such device, `TargetError` where it is the model's fault."""
        try:
            code, said = compiled(program, self._flags(options))
        except TargetError:
            self._need_device(options)
            raise
        if code is None:
            self._need_device(options)
            device = f"name another one with --option device=...: {self.backend.devices}"
            raise TargetError(f"target {self.name!r}: IREE cannot compile this model", findings_said(said, device))
        return code

    def _need_device(self, options: Mapping[str, Any]) -> None:
        """Raise `UsageError` where IREE compiles nothing for what the user named. Only its compiler knows what there is."""
        named = {name: options[name] for name, (_, default, _) in self.options().items() if options[name] != default}
        why = why_nothing(self._flags(options)) if named else ""
        if why:
            given = " and ".join(f"{name}={value}" for name, value in named.items())
            raise UsageError(f"target {self.name!r}: IREE compiles not even a sum with {given}: {why}",
                             hint="; ".join(f"{name} is {self.options()[name][2]}" for name in named))

    def run(self, emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run the compiled program on arrays by input name, where IREE's runtime and such a device are here."""
        from transload.errors import RunError

        if (missing := self.runs_here()) is not None:
            raise RunError(missing)
        if emitted.report.get("triple"):
            raise RunError(f"the program is for {emitted.report['triple']}, not for this machine")
        given = arguments(emitted.report, inputs)
        program = emitted.file(".vmfb")
        return results(emitted.report, open_program(program, self.backend.driver)(given))

    def _flags(self, options: Mapping[str, Any]) -> list[str]:
        """IREE's flags; `UsageError` where an option is no name at all, and would be another flag."""
        for name in ("device", "triple"):
            text = str(options.get(name, ""))
            if text and not _is_name(text):
                raise UsageError(f"option {name} is a name, such as {self.backend.devices.partition(': ')[2]}, not {text!r}")
        triple = str(options.get("triple", ""))
        flags = self.backend.flags_for(str(options["device"]) if not triple or options["device"] != "host" else "generic")
        return [*flags, f"--iree-llvmcpu-target-triple={triple}"] if triple else flags


_is_name = re.compile(r"\w[\w.+-]*").fullmatch


def _find(package: str) -> Any:
    try:
        return importlib.util.find_spec(package)
    except ModuleNotFoundError:
        return None


def _write_portable(module: Module, path: Path) -> None:
    """The module as a portable artifact of StableHLO 1.0.0, or where that has not all of its ops, of the newest."""
    write = resolve(host().get("writers", "stablehlo").write)
    try:
        write(module, path, version="1.0.0")
    except UsageError:
        write(module, path)
