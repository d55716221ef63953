"""Instructions of the machine: what a program is made of, and its forms as text and as a binary."""

from .elements import ELEMENTS, Element
from .operands import LAYOUTS, Global, Local, Operand, Part
from .program import QUEUES, Attribute, Instruction, Machine, Port, Program, Tensor, Weights
from .text import assemble, disassemble

__all__ = [
    "ELEMENTS", "LAYOUTS", "QUEUES", "Attribute", "Element", "Global", "Instruction", "Local", "Machine", "Operand", "Part",
    "Port", "Program", "Tensor", "Weights", "assemble", "disassemble",
]
