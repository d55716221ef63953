"""A program of the machine: instructions of two queues a core, what global memory holds, inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .operands import Operand

__all__ = ["QUEUES", "Attribute", "Instruction", "Machine", "Port", "Program", "Tensor", "Weights"]

QUEUES = ("tiu", "dma")
"""Names of the queues, by number: the computing one, and the moving one."""

Attribute = bool | int | float | str | tuple[int, ...] | tuple[float, ...]
"""What an attribute of an instruction can be; a tuple has numbers of one type."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What a program has to know of the chip it is for; `name` is the chip's.

    Each core has `lanes` lanes with `local_bytes` bytes of memory each, which lie in `banks` equal banks. Rows of the aligned
    layout begin at multiples of `eu_bytes`.
    """

    name: str
    lanes: int
    local_bytes: int
    banks: int
    eu_bytes: int
    cores: int = 1


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    It starts when instruction `id` - 1 of its queue and core has ended and, where `wait` is not 0, instruction `wait` of the
    *other* queue of the core. Ids count from 1 in each queue of each core. Nothing else orders the two queues, and nothing
    but barriers the cores.

    `operation` is the name of a move (`transload_targets.tensor_processor.simulator.moves`) or of what arithmetic computes
    (`arithmetic.OPERATIONS`), called with the inputs as arrays and the attributes. Operands of the `tiu` lie in local memory.
    An input that the operation may do without is None. `name` is the tensor that it works for, in the words of the user's model.
    """

    queue: str
    id: int
    wait: int
    operation: str
    inputs: tuple[Operand | None, ...] = ()
    outputs: tuple[Operand, ...] = ()
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    core: int = 0
    name: str = ""

    @property
    def label(self) -> str:
        """Which it is: `tiu.4`, and of another core than the first `1:tiu.4`."""
        return f"{self.core}:{self.queue}.{self.id}" if self.core else f"{self.queue}.{self.id}"


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor that operands are parts of: its name in the model, and the shape in which their offsets count.

    `alias` is the number of a tensor before it that it is a view of: the same elements in row-major order, in another shape.
    """

    name: str
    shape: tuple[int, ...]
    alias: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Weights:
    """Bytes that lie in global memory at `address` before the program starts."""

    address: int
    data: Any
    """Bytes, or a view of them."""
    name: str = ""
    tensor: int | None = None
    """Which tensor it is; its elements are of `dtype`, row-major."""
    dtype: str = "uint8"

    def _key(self) -> tuple[Any, ...]:
        return self.address, bytes(self.data), self.name, self.tensor, self.dtype

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Weights) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.address, self.name))


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of the program: a tensor in global memory, row-major, of the model's own name, shape and type.

    `scale` and `zero_point` tell what its integers stand for (scale 0: they stand for themselves).
    """

    name: str
    address: int
    shape: tuple[int, ...]
    dtype: str
    tensor: int | None = None
    scale: float = 0.0
    zero_point: int = 0


@dataclass(frozen=True)
class Program:
    """What a binary holds.

    `instructions` stand in an order in which they can be executed; those of one queue in the order of their ids. Global memory
    has `global_bytes` bytes. What neither `weights` nor an input puts there, nobody may read before it is written.
    """

    machine: Machine
    instructions: tuple[Instruction, ...]
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    weights: tuple[Weights, ...] = ()
    tensors: tuple[Tensor, ...] = ()
    global_bytes: int = 0
    name: str = "main"

    def queue(self, queue: str, core: int = 0) -> list[Instruction]:
        """The instructions of one queue of a core, in order."""
        return [instruction for instruction in self.instructions if instruction.queue == queue and instruction.core == core]
