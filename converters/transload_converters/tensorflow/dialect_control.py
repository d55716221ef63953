"""Control flow of dialect `tf` as regions, which see the values around them, as TensorFlow's own MLIR has it."""

from __future__ import annotations

from transload.ir.declare import ANY, BOOLEAN, INT, Dialect, attribute, operand, region, variadic, variadic_result

__all__ = ["CONTROL"]

CONTROL = Dialect("tf")
"""Declarations that are part of dialect `tf`."""


@CONTROL.op("Yield")
class Yield:
    """Ends a region; its operands are what the region gives."""

    values = variadic("what the region gives", ANY)
    traits = ("terminator", "open")


@CONTROL.op("IfRegion")
class IfRegion:
    """One of two regions, by a condition: true, a number other than zero, or a tensor of another rank with elements."""

    condition = operand("the condition", ANY)
    output = variadic_result("what the chosen region yields", ANY)
    then_branch = region("one block without arguments, for true")
    else_branch = region("one block without arguments, for false")
    is_stateless = attribute(BOOLEAN, "whether it has no effects", default=False)
    traits = ("open",)


@CONTROL.op("CaseRegion")
class CaseRegion:
    """The region of a number, the last for a number that there is none of."""

    branch_index = operand("which region", ANY)
    output = variadic_result("what the chosen region yields", ANY)
    branches = region("one block each, without arguments", variadic=True)
    is_stateless = attribute(BOOLEAN, "whether it has no effects", default=False)
    traits = ("open",)


@CONTROL.op("WhileRegion")
class WhileRegion:
    """`while cond(state): state = body(state)`: each region has one block, whose arguments are the state."""

    input = variadic("the first state", ANY)
    output = variadic_result("the last state", ANY)
    cond = region("yields whether there is another step")
    body = region("yields the next state")
    is_stateless = attribute(BOOLEAN, "whether it has no effects", default=False)
    parallel_iterations = attribute(INT, "how many steps may run at once", default=10)
    traits = ("open",)
