"""What is cut into groups: the ops of a function in their order, as tensors of four dimensions and what is known of each op."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..regions import Box, Need, Shape

if TYPE_CHECKING:
    from .lanes import LaneCopies

__all__ = ["Network", "Node", "Tensor"]


@dataclass(frozen=True)
class Tensor:
    """A tensor as the chip sees it: (n, c, h, w), an element type by name, and how it lies in local memory.

    Filters are (out channels, in channels of a group, kernel h, kernel w), constants a channel (1, c, 1, 1).
    """

    name: str
    shape: Shape
    bits: int = 8
    layout: str = "aligned"
    constant: bool = False
    source: Any = None
    """Where it comes from: what codegen makes of it is of no matter to groups."""
    carry: Callable[[Box], float] | None = None
    """The cycles of copying a part in the lanes while nothing else is computed; None where the chip cannot."""


@dataclass(frozen=True)
class Node:
    """An op that the chip computes: tensors by their number in the network, None for an operand that is left out.

    `region` says what a part of the result needs, `cycles` what computing a part takes (of the boxes of result and operands), and
    `scratch` the bytes of each lane that it needs besides.
    """

    name: str
    operation: str
    operands: tuple[int | None, ...]
    result: int
    operand_shapes: tuple[Shape | None, ...]
    result_shape: Shape
    region: Callable[[Node, Box], Need | None]
    cycles: Callable[[Node, Box, Need], float]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    scratch: Callable[[Node, Box, Need], int] | None = None
    alone: bool = False
    """Whether it is a group of its own: it moves in global memory, or reads there what cannot stay in the lanes as it is."""
    moved: int | None = None
    """Of a node that only moves elements: how many bytes in global memory, where it is a group of its own. It needs nothing of
    local memory then.
    """
    filled: int = 0
    """How many bytes of global memory it fills with one number before."""
    also: tuple[int, ...] = ()
    """Tensors that it reads in global memory, besides its operands."""
    source: Any = None
    """What codegen makes instructions of."""
    in_place: bool = False
    """Whether it reads an element of an operand before it writes that of its result at the same place."""
    lanes: LaneCopies | None = None
    """What a node that only moves does where it is in a group: it moves in the lanes."""

    @property
    def moves_nothing(self) -> bool:
        """Whether its result has the same bytes in global memory as its operands."""
        return self.moved == 0 and not self.filled


@dataclass(frozen=True)
class Network:
    """Nodes in an order in which each comes after those that it reads of."""

    tensors: tuple[Tensor, ...]
    nodes: tuple[Node, ...]
    outputs: frozenset[int]
    """Tensors that are given out."""

    @cached_property
    def last_use(self) -> dict[int, int]:
        """The number of the last node that reads a tensor; that of the end for what is given out."""
        last: dict[int, int] = {}
        for number, node in enumerate(self.nodes):
            for operand in (*node.operands, *node.also):
                if operand is not None:
                    last[operand] = number
        for tensor in self.outputs:
            last[tensor] = len(self.nodes)
        return last

    @cached_property
    def producer(self) -> dict[int, int]:
        """The number of the node that computes a tensor."""
        return {node.result: number for number, node in enumerate(self.nodes)}
