"""Instructions of the machine: what a program is made of, and its forms as text and as a binary."""

from .elements import ELEMENTS, Element
from .operands import LAYOUTS, Global, Local, Operand, Part
from .program import QUEUES, Attribute, Instruction, Machine, Port, Program, Tensor, Weights
from .reader import deserialize, read
from .text import assemble, disassemble, is_text
from .validity import invalidity, need_valid
from .writer import serialize, write

__all__ = [
    "ELEMENTS", "LAYOUTS", "QUEUES", "Attribute", "Element", "Global", "Instruction", "Local", "Machine", "Operand", "Part",
    "Port", "Program", "Tensor", "Weights", "assemble", "deserialize", "disassemble", "invalidity",
    "is_text", "need_valid", "read", "serialize", "write",
]
