"""The Ethos-U configurations that Vela compiles for, and the systems it knows them in.

Source: Arm's Vela 5.2.0, `--help` and its configuration file `Arm/vela.ini`.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ACCELERATORS", "FAMILIES", "MEMORY_MODES", "SYSTEM_CONFIGS", "Accelerator"]

FAMILIES = {"u55": "Ethos-U55", "u65": "Ethos-U65", "u85": "Ethos-U85"}
"""Families, by the short names used in `accepted.json`, with the names that Arm gives them."""


@dataclass(frozen=True)
class Accelerator:
    """One configuration: `family` is a key of `FAMILIES`, `macs` the 8-bit multiply-accumulates a cycle."""

    name: str
    family: str
    macs: int

    @property
    def title(self) -> str:
        """The family's name as Arm writes it."""
        return FAMILIES[self.family]


ACCELERATORS = tuple(
    Accelerator(f"ethos-{family}-{macs}", family, macs)
    for family, sizes in (("u55", (32, 64, 128, 256)), ("u65", (256, 512)), ("u85", (128, 256, 512, 1024, 2048)))
    for macs in sizes)

SYSTEM_CONFIGS = {
    "u55": ("Ethos_U55_High_End_Embedded", "Ethos_U55_Deep_Embedded"),
    "u65": ("Ethos_U65_Client_Server", "Ethos_U65_High_End", "Ethos_U65_Mid_End", "Ethos_U65_Embedded"),
    "u85": ("Ethos_U85_SYS_DRAM_Mid", "Ethos_U85_SYS_DRAM_Low", "Ethos_U85_SYS_DRAM_High", "Ethos_U85_SYS_Flash_Low",
            "Ethos_U85_SYS_Flash_High"),
}
"""Clock and memories around the NPU, by family; the first is Vela's default."""

MEMORY_MODES = {
    "u55": ("Shared_Sram", "Sram_Only"),
    "u65": ("Dedicated_Sram_384KB", "Dedicated_Sram", "Dedicated_Sram_256KB", "Dedicated_Sram_512KB", "Shared_Sram", "Sram_Only"),
    "u85": ("Dedicated_Sram_384KB", "Dedicated_Sram", "Dedicated_Sram_256KB", "Dedicated_Sram_512KB", "Shared_Sram", "Sram_Only"),
}
"""Where weights, tensors and the cache lie, by family; the first is Vela's default."""
