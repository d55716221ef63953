"""The `builtin` dialect: modules."""

from __future__ import annotations

from collections import Counter

from ..ir.declare import ANY, STRING, DeclaredOp, Dialect, attribute, constraint, enum, region, variadic, variadic_result

BUILTIN = Dialect("builtin", "The module that holds functions (MLIR builtin dialect).")
VISIBILITY = enum("public", "private", "nested")
"""Who may refer to a symbol."""


@BUILTIN.op("module")
class Module(DeclaredOp):
    """A container of functions."""

    body = region("one block with the functions")
    sym_name = attribute(STRING, "the module's name", optional=True)
    sym_visibility = attribute(VISIBILITY, "who may refer to it", optional=True)
    traits = ("effects",)

    @constraint
    def body_is_one_block(op) -> bool:
        """a module's body is one block without arguments"""
        blocks = op.regions[0].blocks  # `body` of a `Module` is the block
        return len(blocks) == 1 and not blocks[0].arguments

    @constraint
    def symbols_have_their_own_names(op) -> bool | str:
        """no two functions, or other symbols, of a module have the same name"""
        symbols = (each for block in op.regions[0].blocks for each in block)
        names = Counter(name for each in symbols if isinstance(name := each.attributes.get("sym_name"), str))
        return ", ".join(f"@{name:.80} is defined {times} times" for name, times in names.items() if times > 1)[:300] or True


@BUILTIN.op("unrealized_conversion_cast")
class UnrealizedConversionCast(DeclaredOp):
    """A value of one type seen as another, between two conversions."""

    inputs = variadic(type=ANY)
    outputs = variadic_result(type=ANY)
