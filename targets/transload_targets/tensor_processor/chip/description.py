"""What can be said of a tensor processor, each field with its unit. A file's keys are their names, in the tables named here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["DTYPES", "ROUNDINGS", "WIDEST", "Chip"]

DTYPES = ("int4", "int8", "uint8", "int16", "uint16", "int32", "int64", "float16", "bfloat16", "float32", "bool")
"""Names of element types in chip files: numpy's, with those of `ml_dtypes`."""

WIDEST = 8
"""Bytes of an element of the widest type."""

ROUNDINGS = ("double", "half-up", "half-away")
"""How a rescale may round, see `arithmetic.scaling`."""


def _key(table: str, doc: str, default: Any = None) -> Any:
    """A field: the table of the file in which it stands, and what it says; without a default the file has to say it."""
    metadata = {"table": table, "doc": doc}
    return field(metadata=metadata) if default is None else field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Chip:
    """A tensor processor: lanes with local memory of their own, a unit that computes in them (TIU), one that moves data (DMA).

    `field(...).metadata["doc"]` is what the reference page says of a key.
    """

    name: str = _key("", "the chip's name, by which `--chip` asks for it")
    lanes: int = _key("compute", "processing lanes; element (n, c, h, w) lies in lane c mod lanes")
    vector_bytes: int = _key("compute", "bytes a lane computes in a cycle in elementwise operations; rows of channels in local "
                             "memory begin at multiples of it, and of 8")
    macs: Mapping[str, int] = _key("compute.macs", "products that a lane sums in a cycle in convolutions and matrix products, by "
                                   "the type of the input; a type that is not there has none")
    local_bytes: int = _key("local", "bytes of local memory of a lane")
    banks: int = _key("local", "banks of equal size that local memory is made of; two units at one bank in one time step wait "
                      "for each other")
    global_bytes: int = _key("global", "bytes of global memory")
    dma_bytes: int = _key("dma", "bytes that the DMA moves in a cycle, all lanes together; cores that move at the same time "
                          "share them")
    dma_latency: int = _key("dma", "cycles from the start of a DMA command to its first byte")
    operations: Mapping[str, tuple[str, ...]] = _key(
        "operations", "operations that the chip has, each with the element types that it takes")
    doc: str = _key("", "one line about the chip", "")
    cores: int = _key("compute", "cores, each with lanes, local memory and queues of its own; they share global memory", 1)
    frequency_mhz: int = _key("compute", "millions of cycles a second", 1000)
    start_cycles: int = _key("compute", "cycles that an instruction of the TIU takes beside its elements", 16)
    narrow_weights: bool = _key("compute", "whether floats can be multiplied by weights that are integers of 8 bits", False)
    alignment: int = _key("global", "bytes: tensors in global memory begin at multiples of it, and of 8", 64)
    weight_alignment: int = _key("global", "bytes: weights in global memory begin at multiples of it, and of 8", 4096)
    multiplier_bits: int = _key("rescale", "bits of the multiplier by which sums are scaled: 32 (31 and a sign) or 8", 32)
    shift_bits: int = _key("rescale", "bits of the shift to the right after it: a shift is at most 2 to this power, less 1", 6)
    per_channel: bool = _key("rescale", "whether each output channel has a multiplier and a shift of its own", True)
    roundings: tuple[str, ...] = _key("rescale", "how a rescale can round: " + ", ".join(ROUNDINGS), ROUNDINGS)

    @property
    def bank_bytes(self) -> int:
        """Bytes of a bank of one lane."""
        return self.local_bytes // self.banks

    @property
    def eu_bytes(self) -> int:
        """Bytes to which channels of local tensors are aligned: those of a lane's vector, or of the widest element."""
        return max(self.vector_bytes, WIDEST)

    @property
    def has_floats(self) -> bool:
        """Whether any operation takes floats."""
        return any("float" in each for types in self.operations.values() for each in types)

    def supports(self, operation: str, dtype: str) -> bool:
        """Whether the chip has an operation on elements of this type."""
        return dtype in self.operations.get(operation, ())
