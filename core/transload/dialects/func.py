"""The `func` dialect: functions, calls and returns (MLIR func dialect)."""

from __future__ import annotations

from ..ir.borders import NAME
from ..ir.declare import (
    ANY,
    FUNCTION_TYPE,
    LIST,
    STRING,
    SYMBOL,
    DeclaredOp,
    Dialect,
    attribute,
    constraint,
    region,
    variadic,
    variadic_result,
)
from ..plugin import KernelTable

FUNC = Dialect("func", "Functions, calls and returns.")
KERNELS = KernelTable()


@FUNC.op("func")
class Func(DeclaredOp):
    """A function of one block; its arguments are the block's, its results the operands of `func.return`."""

    body = region("one block, ending in func.return")
    sym_name = attribute(STRING, "the function's name")
    function_type = attribute(FUNCTION_TYPE, "types of arguments and results")
    sym_visibility = attribute(STRING, "private or public", optional=True)
    arg_attrs = attribute(
        LIST, "a dictionary per argument; `ml_program.identifier` is its name, `transload.element` its element type in the model",
        optional=True)
    res_attrs = attribute(LIST, "a dictionary per result, likewise", optional=True)
    traits = ("effects", "open")

    @constraint
    def type_says_what_the_body_does(op) -> bool | str:
        """the function's type is that of its block's arguments and of its return"""
        if op.body.is_empty:
            return True
        block = op.body.blocks[0]
        inputs = tuple(argument.type for argument in block.arguments)
        if inputs != op.function_type.inputs:
            return f"arguments are ({', '.join(map(str, inputs))}), the type says {op.function_type}"
        last = block.last
        if last is None or last.name != "func.return":
            return "the block does not end in func.return" if last is None or last.declaration is not None else True
        results = tuple(value.type for value in last.operands)
        return (
            True
            if results == op.function_type.results
            else (f"returns ({', '.join(map(str, results))}), the type says {op.function_type}")
        )


    @constraint
    def attributes_are_dictionaries(op) -> bool | str:
        """arg_attrs has a dictionary for each argument and res_attrs one for each result, and a name in one is text"""
        if op.body.is_empty:
            return True
        block = op.body.blocks[0]
        results = block.last.operands if block.last is not None else ()
        for key, values in (("arg_attrs", block.arguments), ("res_attrs", results)):
            held = op.attributes.get(key) or [{} for _ in values]
            if len(held) != len(values):
                return f"{key} has {len(held)} for {len(values)}"
            wrong = [each for each in held if not isinstance(each, dict) or not isinstance(each.get(NAME, ""), str)]
            if wrong:
                return f"{key} holds {wrong[0]!r:.80}"
        return True


@FUNC.op("return")
class Return(DeclaredOp):
    """Ends a function; its operands are the function's results."""

    values = variadic(type=ANY)
    traits = ("terminator",)


@FUNC.op("call")
class Call(DeclaredOp):
    """Calls a function of the same module."""

    arguments = variadic(type=ANY)
    outputs = variadic_result(type=ANY)
    callee = attribute(SYMBOL, "the function's name")
    traits = ("effects", "open")
