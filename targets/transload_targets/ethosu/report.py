"""Vela's tables as one report: cycles, memory, and what runs where."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transload.ir import Module
from transload.partitioning import HOST, TARGET, Partition, work_of
from transload.plugin import EmittedPart

from .accelerators import Accelerator
from .compiler import Compiled, Settings, vela_version
from .host_parts import affine

__all__ = ["make_report", "report_of_parts"]

CYCLES = ("npu", "sram_access", "dram_access", "on_chip_flash_access", "off_chip_flash_access", "total")
MEMORIES = ("sram", "dram", "on_chip_flash", "off_chip_flash")
UNLIMITED_KIB = 1 << 22  # 4 GiB, all that an Ethos-U55 addresses
CYCLES_ARE = "Vela's estimates; measure on a model of the chip or on the chip itself"
MACS_ARE = "Vela's count of what its operations multiply, which is not always the network's own"


def make_report(compiled: Compiled, accelerator: Accelerator, settings: Settings, module: Module) -> dict[str, Any]:
    """What Vela says about the compiled model, or the part of one that the NPU has.

    Times are of one inference on the NPU, at the clock of the system configuration.
    """
    summary = _rows(compiled.summary)[0]
    ops = [_op(row) for row in _rows(compiled.layers)] if compiled.layers is not None else []
    arena = _number(summary["arena_cache_size"])
    memory = {name: _number(summary[f"{name}_memory_used"]) for name in MEMORIES}
    return {
        "accelerator": accelerator.name,
        "family": accelerator.title,
        "macs_per_cycle": accelerator.macs,
        "vela": vela_version(),
        "system_config": summary["system_config"],
        "memory_mode": summary["memory_mode"],
        "optimise": settings.optimise,
        "clock_mhz": _number(summary["core_clock"]) / 1e6,
        "total_cycles": _whole(summary["cycles_total"]),
        "cycles": {name: _whole(summary[f"cycles_{name}"]) for name in CYCLES},
        "cycles_are": CYCLES_ARE,
        "inference_ms": _number(summary["inference_time"]) * 1e3,
        "inferences_per_second": _number(summary["inferences_per_second"]),
        "macs": _whole(summary["nn_macs"]),
        "macs_are": MACS_ARE,
        "sram_kib": memory["sram"],
        "flash_kib": memory["on_chip_flash"] + memory["off_chip_flash"],
        "dram_kib": memory["dram"],
        "memory_kib": memory,
        "arena_cache_kib": arena if arena < UNLIMITED_KIB else None,
        **_beyond(arena, memory["sram"], summary["weights_storage_area"]),
        "weights_in": summary["weights_storage_area"],
        "feature_maps_in": summary["feature_map_storage_area"],
        "weight_bytes": {
            "original": _whole(summary["total_original_weights"]), "encoded": _whole(summary["total_npu_encoded_weights"])},
        **_placed(ops),
        "inputs": [{"name": name, "type": str(type_)} for name, type_ in module.inputs.items()],
        "outputs": [{"name": name, "type": str(type_)} for name, type_ in module.outputs.items()],
        "ops": ops,
    }


def _beyond(arena: float, used: float, weights_in: str) -> dict[str, str]:
    """What to say where more SRAM is used than the arena was to have: Vela aims at its size, and keeps to a cache's."""
    if used <= arena or weights_in == "SRAM":
        return {}
    return {"arena_cache_is": f"a size that Vela aims at: the model needs {used:g} KiB"}


def report_of_parts(cut: Partition, parts: Sequence[EmittedPart]) -> dict[str, Any]:
    """What a report says of a model in parts: cycles and times are the NPU's, of all its parts together.

    Memory is that of the part which needs the most; the borders are those of all parts on the NPU, with the quantization that
    the host does or undoes there.
    """
    reports = [part.report for part in parts if part.place == TARGET]
    host_modules = [part.module for part in cut.parts if part.place == HOST]
    ops = [op for part, written in zip(cut.parts, parts, strict=True) for op in (
        written.report["ops"] if part.place == TARGET else
        [{"tensor": op.origin, "op": op.name, "on": "host"} for op in work_of(part.module)])]
    made = dict(reports[0])
    for key in ("total_cycles", "inference_ms", "macs"):
        made[key] = sum(report[key] for report in reports)
    most = max(reports, key=lambda report: report["sram_kib"])
    if "arena_cache_is" in most:
        made["arena_cache_is"] = most["arena_cache_is"]
    for key in ("sram_kib", "flash_kib", "dram_kib", "arena_cache_kib"):
        made[key] = max((report[key] for report in reports if report[key] is not None), default=None)
    for key, joined in (("cycles", sum), ("weight_bytes", sum), ("memory_kib", max)):
        made[key] = {name: joined([report[key][name] for report in reports]) for name in made[key]}
    made["inferences_per_second"] = 1e3 / made["inference_ms"] if made["inference_ms"] else 0.0
    borders = {
        side: [{**tensor, **_quantization_of(tensor["name"], host_modules)} for report in reports for tensor in report[side]]
        for side in ("inputs", "outputs")}
    return {**made, **_placed(ops), **borders, "ops": ops}


def _placed(ops: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How many ops run where."""
    on_npu = sum(op["on"] == "NPU" for op in ops)
    return {"npu_ops": on_npu, "cpu_ops": len(ops) - on_npu, "npu_percent": 100.0 * on_npu / len(ops) if ops else 0.0}


def _quantization_of(name: str, host_modules: Sequence[Module]) -> dict[str, Any]:
    """Scale and zero point of a tensor between NPU and host, where the host's ops tell them."""
    return next((found for module in host_modules if (found := affine(module, name)) is not None), {})


def _op(row: dict[str, str]) -> dict[str, Any]:
    """One op of Vela's list. Ops with no cycles of their own are fused into the one before them."""
    return {
        "tensor": row["Name"],
        "op": row["Original Operator"],
        "as": row["NNG Operator"],
        "on": row["Target"],
        "cycles": _whole(row["Op Cycles"]),
        "npu_cycles": _whole(row["NPU"]),
        "macs": _whole(row["MAC Count"]),
        "mac_percent": round(_number(row["Util% (MAC)"]), 2) if _whole(row["MAC Count"]) else 0.0,
    }


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        return list(csv.DictReader(file))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _whole(text: str) -> int:
    return round(_number(text))
