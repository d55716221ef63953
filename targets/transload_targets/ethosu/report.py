"""Vela's tables as one report: cycles, memory, and what runs where."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from .accelerators import Accelerator
from .compiler import Compiled, Settings, vela_version

__all__ = ["make_report"]

CYCLES = ("npu", "sram_access", "dram_access", "on_chip_flash_access", "off_chip_flash_access", "total")
MEMORIES = ("sram", "dram", "on_chip_flash", "off_chip_flash")
CYCLES_ARE = "Vela's estimates; measure on a model of the chip or on the chip itself"


def make_report(compiled: Compiled, accelerator: Accelerator, settings: Settings) -> dict[str, Any]:
    """What Vela says about the compiled model. Times are of one inference at the clock of the system configuration."""
    summary = _rows(compiled.summary)[0]
    ops = [_op(row) for row in _rows(compiled.layers)] if compiled.layers is not None else []
    placed = [op for op in ops if op["on"] == "NPU"]
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
        "arena_cache_kib": _number(summary["arena_cache_size"]),
        "weights_in": summary["weights_storage_area"],
        "feature_maps_in": summary["feature_map_storage_area"],
        "weight_bytes": {
            "original": _whole(summary["total_original_weights"]), "encoded": _whole(summary["total_npu_encoded_weights"])},
        "npu_ops": len(placed),
        "cpu_ops": len(ops) - len(placed),
        "npu_percent": 100.0 * len(placed) / len(ops) if ops else 100.0,
        "ops": ops,
    }


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
