"""The targets: TOSA in, Ethos-U command streams out."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from transload.plugin import Emitted, Target

from .accelerators import MEMORY_MODES, SYSTEM_CONFIGS, Accelerator

if TYPE_CHECKING:
    from transload.errors import Finding
    from transload.ir import Module, Op
    from transload.partitioning import Partition
    from transload.plugin import EmittedPart

    from .compiler import VelaRefusal

__all__ = ["EthosU"]


class EthosU(Target):
    """One Ethos-U configuration.

    Artifacts: the model compiled by Vela, and the `.tosa` file it was compiled from; where something is left to the host, of each
    of its parts.
    """

    accepts = ("tosa",)
    pipeline = "inline,keep-main"
    quantizing = MappingProxyType({"islands": "int16"})
    """Of what 8 bits cannot hold: the chip computes with integers alone."""
    converting = MappingProxyType({"top-to-tosa.bias": "plain", "top-to-tosa.rounding": "integers"})
    """Its convolutions add the bias themselves, of 32 bits, in steps of the products, and there are no floats."""
    hosting = MappingProxyType({"float_ops": "host"})
    """Where a host is named, it has all that the NPU does not take."""

    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator = accelerator
        self.name = accelerator.name
        self.compiled = (f"_{self.name}.tflite",)
        if accelerator.family == "u85":
            self.pipeline = f"{self.pipeline},ethosu-keep-widening"
        self.doc = f"Arm {accelerator.title} with {accelerator.macs} MACs a cycle, through Vela: command stream, cycles, memory."

    def options(self) -> dict[str, tuple[type | tuple[str, ...], Any, str]]:
        family = self.accelerator.family
        systems, memories = SYSTEM_CONFIGS[family], MEMORY_MODES[family]
        return {
            "system_config": (str, systems[0], f"clock and memories: {', '.join(systems)}; or one of your config file"),
            "memory_mode": (str, "", f"where weights and tensors lie: {', '.join(memories)}; by default {memories[0]}, "
                                     "on systems with flash Shared_Sram"),
            "optimise": (str, "Performance", "Performance or Size (less memory)"),
            "arena_cache_size": (int, 0, "bytes of the cache, or those that the arena is to have; 0: what the memory mode says"),
            "output_format": (str, "raw", "raw: .npz of command stream, weights and addresses; tflite: a .tflite for TFLM"),
            "config": (str, "", "a Vela configuration file of your own, with the sections that the options above name"),
            "float_ops": (str, "edges", "edges: quantizing inputs and dequantizing outputs is left to the host; "
                                        "host: so is all that the NPU does not take (the default with --host); refuse: neither"),
            "timeout": (int, 600, "seconds that Vela may take"),
        }

    def available(self) -> str | None:
        from .compiler import OLDEST, vela_version

        found = vela_version()
        if found is None:
            return "Arm's Vela is not installed: pip install 'transload[ethosu]'"
        if int(found.partition(".")[0]) < OLDEST:
            return f"Vela {found} is installed, which does not read TOSA 1.0: pip install --upgrade 'transload[ethosu]'"
        return None

    def leaves(self, module: Module, options: Mapping[str, Any]) -> Collection[Op]:
        from .compiler import Settings
        from .host_parts import left_to_host

        settings = Settings.of(options, self.accelerator)  # a wrong option is said before anything runs
        return left_to_host(module, self.accelerator.family, settings.float_ops)

    def check(self, module: Module, options: Mapping[str, Any]) -> Sequence[Finding]:
        from .check import HOST, REFUSED, check_module
        from .compiler import Settings
        from .host_parts import left_to_host

        settings = Settings.of(options, self.accelerator)
        may_be_cut = settings.float_ops != "host" and bool(left_to_host(module, self.accelerator.family, "host"))
        advice = REFUSED if settings.float_ops == "refuse" else HOST
        return check_module(module, self.accelerator, advice if may_be_cut else "")

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        from transload.plugin import resolve
        from transload.plugin_host import host

        from .compiler import Settings, VelaRefusal, compile_file
        from .report import make_report

        settings = Settings.of(options, self.accelerator)
        tosa = directory / f"{stem}.tosa"
        resolve(host().get("writers", "tosa").write)(module, tosa)
        with tempfile.TemporaryDirectory(prefix=".vela-", dir=directory) as workplace:
            try:
                compiled = compile_file(tosa, self.accelerator, settings, Path(workplace))
            except VelaRefusal as refusal:
                raise _named(refusal, module, self.name) from None
            artifact = directory / f"{stem}_{self.name}{compiled.model.suffix}"
            compiled.model.replace(artifact)
            report = make_report(compiled, self.accelerator, settings, module)
        return Emitted([artifact, tosa], report)

    def summary(self, cut: Partition, parts: Sequence[EmittedPart]) -> dict[str, Any]:
        from .report import report_of_parts

        return report_of_parts(cut, parts)


def _named(refusal: VelaRefusal, module: Module, target: str) -> Exception:
    """Vela's refusal in the model's own names: all ops of the kind that Vela complains of."""
    from transload.errors import Finding, TargetError

    from .names import ops_of_kind

    findings = []
    for kind, why in refusal.complaints:
        found = ops_of_kind(module, kind)
        names = tuple(op.origin for op in found if op.origin)
        what = " or ".join(dict.fromkeys(op.name for op in found)) or kind or "Vela"
        findings.append(Finding(what, why if len(names) < 2 else f"{why} (one or more of these)", names))
    return TargetError(
        f"target {target!r}: {refusal.message}", findings, hint="convert with target 'tosa' to get the file that Vela was given")
