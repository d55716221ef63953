"""The `builtin` dialect: modules."""

from __future__ import annotations

from ..ir.declare import ANY, STRING, DeclaredOp, Dialect, attribute, region, variadic, variadic_result

BUILTIN = Dialect("builtin", "The module that holds functions (MLIR builtin dialect).")


@BUILTIN.op("module")
class Module(DeclaredOp):
    """A container of functions."""

    body = region("one block with the functions")
    sym_name = attribute(STRING, "the module's name", optional=True)
    traits = ("effects", "open")


@BUILTIN.op("unrealized_conversion_cast")
class UnrealizedConversionCast(DeclaredOp):
    """A value of one type seen as another, between two conversions."""

    inputs = variadic(type=ANY)
    outputs = variadic_result(type=ANY)
