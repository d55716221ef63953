"""The targets: TOSA in, Ethos-U command streams out."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from transload.partitioning import HOST, TARGET
from transload.plugin import Emitted, EmittedPart, Target

from .accelerators import MEMORY_MODES, SYSTEM_CONFIGS, Accelerator

if TYPE_CHECKING:
    from transload.errors import Finding
    from transload.ir import Module

    from .compiler import Settings, VelaRefusal
    from .host_parts import Parts

__all__ = ["EthosU"]


class EthosU(Target):
    """One Ethos-U configuration.

    Artifacts: the model compiled by Vela, the `.tosa` file it was compiled from, and `.tosa` files of what is
    left to the host, where anything is.
    """

    accepts = ("tosa",)
    pipeline = "inline"
    quantizing = MappingProxyType({"islands": "int16"})
    """Of what 8 bits cannot hold: the chip computes with integers alone."""
    converting = MappingProxyType({"top-to-tosa.bias": "plain"})
    """Its convolutions add the bias themselves, of 32 bits, in steps of the products."""

    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator = accelerator
        self.name = accelerator.name
        self.doc = f"Arm {accelerator.title} with {accelerator.macs} MACs a cycle, through Vela: command stream, cycles, memory."

    def options(self) -> dict[str, tuple[type | tuple[str, ...], Any, str]]:
        family = self.accelerator.family
        systems, memories = SYSTEM_CONFIGS[family], MEMORY_MODES[family]
        return {
            "system_config": (str, systems[0], f"clock and memories: {', '.join(systems)}; or one of your config file"),
            "memory_mode": (str, "", f"where weights and tensors lie: {', '.join(memories)}; by default {memories[0]}, "
                                     "on systems with flash Shared_Sram"),
            "optimise": (str, "Performance", "Performance or Size (less memory)"),
            "arena_cache_size": (int, 0, "bytes of the arena or cache; 0: what the memory mode says"),
            "output_format": (str, "raw", "raw: .npz of command stream, weights and addresses; tflite: a .tflite for TFLM"),
            "config": (str, "", "a Vela configuration file of your own, with the sections that the options above name"),
            "float_ops": (str, "edges", "edges: quantizing inputs and dequantizing outputs is left to the host; "
                                        "host: so is the first float op inside with all that follows; refuse: neither"),
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

    def check(self, module: Module, options: Mapping[str, Any]) -> Sequence[Finding]:
        from .check import check_module
        from .compiler import Settings

        settings = Settings.of(options, self.accelerator)  # a wrong option is said before anything runs
        return check_module(_parts(module, settings).core, self.accelerator, _may_be_cut(module, settings))

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        from transload.plugin import resolve
        from transload.plugin_host import host

        from .compiler import Settings, VelaRefusal, compile_file
        from .report import make_report

        settings = Settings.of(options, self.accelerator)
        parts = _parts(module, settings)
        write = resolve(host().get("writers", "tosa").write)
        tosa = directory / f"{stem}.tosa"
        write(parts.core, tosa)
        with tempfile.TemporaryDirectory(prefix=".vela-", dir=directory) as workplace:
            try:
                compiled = compile_file(tosa, self.accelerator, settings, Path(workplace))
            except VelaRefusal as refusal:
                raise _named(refusal, parts.core, self.name) from None
            artifact = directory / f"{stem}_{self.name}{compiled.model.suffix}"
            compiled.model.replace(artifact)
            report = make_report(compiled, self.accelerator, settings, parts)
        files = {"core": [artifact, tosa]}
        for name, part in (("before", parts.before), ("after", parts.after)):
            if part is not None:
                files[name] = [directory / f"{stem}_host_{name}.tosa"]
                write(part, files[name][0])
        emitted = Emitted([file for each in files.values() for file in each], report)
        if len(files) > 1:
            places = (("before", HOST, parts.before), ("core", TARGET, parts.core), ("after", HOST, parts.after))
            emitted.outputs = parts.outputs
            emitted.parts = [
                EmittedPart(place, files[name], list(part.inputs), list(part.outputs))
                for name, place, part in places if part is not None]
        return emitted


def _parts(module: Module, settings: Settings) -> Parts:
    """What goes to the NPU, and what the options leave to the host."""
    from .host_parts import Parts, cut

    if settings.float_ops == "refuse":
        return Parts(module)
    parts = cut(module)
    return parts if settings.float_ops == "host" or parts.only_conversions else Parts(module)


def _may_be_cut(module: Module, settings: Settings) -> bool:
    """Whether leaving more to the host would help."""
    from .host_parts import cut

    return settings.float_ops != "host" and bool(cut(module).host_ops)


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
