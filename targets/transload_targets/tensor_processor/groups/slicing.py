"""How the results of a group are cut: into how many parts along each dimension, and which dimension goes round slowest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from ..regions import Box, Range, Shape, cut

__all__ = ["WHOLE", "Slicing"]


@dataclass(frozen=True)
class Slicing:
    """Parts along n, c, h and w, and the dimensions from the slowest to the fastest.

    With channels slowest, the filters of some channels stay while all rows go by; with rows slowest, some rows stay while all
    filters go by. Channels are cut where a new row of lanes begins.
    """

    counts: tuple[int, int, int, int] = (1, 1, 1, 1)
    order: tuple[int, int, int, int] = (0, 1, 2, 3)
    streamed: bool = False
    """Constants are loaded again for each slice, instead of staying."""
    kept: bool = False
    """Rows that the next slice needs, too, stay in local memory, instead of being computed or loaded again (`groups.halos`)."""

    def __len__(self) -> int:
        n, c, h, w = self.counts
        return n * c * h * w

    def __str__(self) -> str:
        names = [f"{'nchw'[dim]}/{self.counts[dim]}" for dim in self.order if self.counts[dim] > 1]
        return " ".join([*(names or ["whole"]), *(["streamed"] if self.streamed else []), *(["kept"] if self.kept else [])])

    def parts(self, shape: Shape, lanes: int) -> list[Box] | None:
        """The part of a tensor that each slice gives, in the order of slices; None where a dimension has fewer elements than
        parts.
        """
        if len(self) == 1:
            n, c, h, w = shape
            return [((0, n), (0, c), (0, h), (0, w))]
        ranges: list[list[Range]] = []
        for dim, (size, count) in enumerate(zip(shape, self.counts, strict=True)):
            grain = lanes if dim == 1 else 1
            units = -(-size // grain)
            if count > units:
                return None
            ranges.append([(low * grain, min(high * grain, size)) for low, high in cut(units, count)])
        return [(ranges[0][i], ranges[1][j], ranges[2][k], ranges[3][m]) for i, j, k, m in self.indices()]

    def indices(self) -> Iterator[tuple[int, int, int, int]]:
        """The indices (n, c, h, w) of each slice, in order."""
        for index in product(*(range(self.counts[dim]) for dim in self.order)):
            place = dict(zip(self.order, index, strict=True))
            yield place[0], place[1], place[2], place[3]


WHOLE = Slicing()
"""Not cut at all."""
