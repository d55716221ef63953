"""What planning needs to know of a chip, and what a part of a tensor takes of it."""

from __future__ import annotations

from dataclasses import dataclass

from ..regions import Box, volume
from .network import Tensor

__all__ = ["Machine"]


@dataclass(frozen=True)
class Machine:
    """The figures of a chip that groups are planned by.

    Local memory: `lanes` of `local_bytes` each in `banks`; rows of channels begin at multiples of `eu_bytes`. Global memory is
    read and written at `bandwidth` bytes a cycle after `latency` cycles for each command.
    """

    lanes: int
    local_bytes: int
    banks: int
    eu_bytes: int
    bandwidth: float
    latency: float

    def lane_bytes(self, tensor: Tensor, box: Box) -> int:
        """The bytes of each lane that a part of a tensor takes: a multiple of `eu_bytes`."""
        (n0, n1), (c0, c1), (h0, h1), (w0, w1) = box
        rows = -(-(c1 - c0) // self.lanes)
        if tensor.layout == "weights":
            return -(-(n1 - n0) // self.lanes) * self._aligned((c1 - c0) * (h1 - h0) * (w1 - w0) * tensor.bits)
        if tensor.layout == "channels":
            return self._aligned((n1 - n0) * rows * tensor.bits)
        if tensor.layout == "copies":
            return self._aligned(volume(box) * tensor.bits)
        row = (h1 - h0) * (w1 - w0) * tensor.bits
        if self.compact(tensor, box):
            return self._aligned((n1 - n0) * rows * -(-row // 8) * 8)
        return (n1 - n0) * rows * self._aligned(row)

    def compact(self, tensor: Tensor, box: Box) -> bool:
        """Whether a part's channels lie one after the other without a gap: where most of each vector would be gaps."""
        (_, _, (h0, h1), (w0, w1)) = box
        return tensor.layout == "aligned" and 2 * (h1 - h0) * (w1 - w0) * tensor.bits <= 8 * self.eu_bytes

    def bytes(self, tensor: Tensor, box: Box) -> int:
        """The bytes of global memory that a part of a tensor takes."""
        return -(-volume(box) * tensor.bits // 8)

    def transfer(self, size: int) -> float:
        """The cycles of a command that moves so many bytes."""
        return self.latency + size / self.bandwidth

    def _aligned(self, bits: int) -> int:
        return -(-bits // (8 * self.eu_bytes)) * self.eu_bytes
