"""Vela's tables as one report: cycles, memory, and what runs where."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from transload.ir import Module, Type

from .accelerators import Accelerator
from .compiler import Compiled, Settings, vela_version
from .host_parts import Parts, affine

__all__ = ["make_report"]

CYCLES = ("npu", "sram_access", "dram_access", "on_chip_flash_access", "off_chip_flash_access", "total")
MEMORIES = ("sram", "dram", "on_chip_flash", "off_chip_flash")
UNLIMITED_KIB = 1 << 22  # 4 GiB, all that an Ethos-U55 addresses
CYCLES_ARE = "Vela's estimates; measure on a model of the chip or on the chip itself"


def make_report(compiled: Compiled, accelerator: Accelerator, settings: Settings, parts: Parts) -> dict[str, Any]:
    """What Vela says about the compiled model, and what is left to the host.

    Times are of one inference on the NPU, at the clock of the system configuration.
    """
    summary = _rows(compiled.summary)[0]
    ops = [_op(row) for row in _rows(compiled.layers)] if compiled.layers is not None else []
    placed = sum(op["on"] == "NPU" for op in ops)
    left = [{"tensor": op.origin, "op": op.name, "on": "host"} for op in parts.host_ops]
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
        "sram_kib": memory["sram"],
        "flash_kib": memory["on_chip_flash"] + memory["off_chip_flash"],
        "dram_kib": memory["dram"],
        "memory_kib": memory,
        "arena_cache_kib": arena if arena < UNLIMITED_KIB else None,
        "weights_in": summary["weights_storage_area"],
        "feature_maps_in": summary["feature_map_storage_area"],
        "weight_bytes": {
            "original": _whole(summary["total_original_weights"]), "encoded": _whole(summary["total_npu_encoded_weights"])},
        "npu_ops": placed,
        "cpu_ops": len(ops) - placed + len(left),
        "npu_percent": 100.0 * placed / (len(ops) + len(left)) if ops else 0.0,
        "inputs": [_tensor(name, type_, parts.before) for name, type_ in parts.core.inputs.items()],
        "outputs": [_tensor(name, type_, parts.after) for name, type_ in parts.core.outputs.items()],
        "ops": [*ops, *left],
    }


def _tensor(name: str, type_: Type, host: Module | None) -> dict[str, Any]:
    """An input or output of the compiled model, with the quantization that the host does or undoes."""
    return {"name": name, "type": str(type_), **(affine(host, name) or {})}


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
