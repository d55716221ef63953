"""MLIR text, generic form: the exchange format with every MLIR tool.

    text = print_module(module)                         # constants in place
    text = print_module(module, constants="elided")     # structure only
    module = parse_module(text, name="model.mlir")

The generic form (`"acme.add"(%0, %1) : (...) -> ...`) is the one that all MLIR tools of all versions
read. Constants are printed in place, left out, in a resource section, or in a `.npz` beside the text.
"""

from .parser import parse_attribute, parse_file, parse_module, parse_type
from .printer import CONSTANT_MODES, print_attribute, print_module, print_op, write_module

__all__ = [
    "CONSTANT_MODES", "parse_attribute", "parse_file", "parse_module", "parse_type", "print_attribute", "print_module",
    "print_op", "write_module",
]
