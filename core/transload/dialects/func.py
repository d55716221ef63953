"""The `func` dialect: functions, calls and returns (MLIR func dialect)."""

from __future__ import annotations

from ..ir.borders import NAME
from ..ir.core import Op, is_absent
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
from ..ir.types import FunctionType, TensorType, Type
from ..ir.verify import same_shape
from ..plugin import KernelTable
from .builtin import VISIBILITY

FUNC = Dialect("func", "Functions, calls and returns.")
KERNELS = KernelTable()


@FUNC.op("func")
class Func(DeclaredOp):
    """A function of one block; its arguments are the block's, its results the operands of `func.return`."""

    body = region("one block, ending in func.return")
    sym_name = attribute(STRING, "the function's name")
    function_type = attribute(FUNCTION_TYPE, "types of arguments and results")
    sym_visibility = attribute(VISIBILITY, "who may refer to it", optional=True)
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
        for block in op.body.blocks:  # those behind the first are never reached, and return what all do
            last = block.last
            if last is not None and last.name == "func.return":
                results = tuple(value.type for value in last.operands)
                if results != op.function_type.results:
                    return f"returns ({', '.join(map(str, results))}), the type says {op.function_type}"
        return True

    @constraint
    def stands_in_a_module(op) -> bool:
        """a function is no part of another one, or of an op in it"""
        around = op.parent_op
        return around is None or around.name == "builtin.module" or around.declaration is None

    @constraint
    def declaration_is_private(op) -> bool:
        """a function that is only declared, without a body, is private"""
        return not op.body.is_empty or op.sym_visibility in ("private", "nested")

    @constraint
    def attributes_are_dictionaries(op) -> bool | str:
        """arg_attrs has a dictionary for each argument and res_attrs one for each result, of notes of dialects; a name is text"""
        if op.body.is_empty:
            return True
        block = op.body.blocks[0]
        results = block.last.operands if block.last is not None else ()
        for key, values in (("arg_attrs", block.arguments), ("res_attrs", results)):
            held = op.attributes.get(key, [{} for _ in values])
            if len(held) != len(values):
                return f"{key} has {len(held)} for {len(values)}"
            wrong = [each for each in held if not isinstance(each, dict) or not isinstance(each.get(NAME, ""), str)]
            if wrong:
                return f"{key} holds {wrong[0]!r:.80}"
            plain = next((name for each in held for name in each if "." not in name), None)
            if plain is not None:  # MLIR has notes of dialects there alone
                return f"{key} holds {plain!r:.80}, which no dialect's name stands before: 'tool.{plain:.70}'"
        return True


@FUNC.op("return")
class Return(DeclaredOp):
    """Ends a function; its operands are the function's results."""

    values = variadic(type=ANY)
    traits = ("terminator",)

    @constraint
    def ends_a_function(op) -> bool:
        """what it stands in is a function"""
        around = op.parent_op
        return around is None or around.name == "func.func" or around.declaration is None

    @constraint
    def outputs_are_there(op) -> bool:
        """what the model gives, as the results of @main, are values, and none is the one that stands for an absent operand"""
        around = op.parent_op
        return around is None or around.attributes.get("sym_name") != "main" or not any(map(is_absent, op.operands))


@FUNC.op("call")
class Call(DeclaredOp):
    """Calls a function of the same module."""

    arguments = variadic(type=ANY)
    outputs = variadic_result(type=ANY)
    callee = attribute(SYMBOL, "the function's name")
    traits = ("effects", "open")

    @constraint
    def fits_its_function(op) -> bool | str:
        """a call is of a function of its module, gives it what that takes, and takes what it returns"""
        module = _module_around(op)
        if module is None:
            return True
        callee = _called_by(op, module)
        return f"there is no @{op.callee:.80}" if callee is None else misfit(op, callee) or True


def misfit(call: Op, callee: Op) -> str:
    """What a call gives and takes that is not what the function takes and returns; empty where it is. Sizes may be open."""
    taken: FunctionType = callee.attribute("function_type")
    given, got = [value.type for value in call.operands], [value.type for value in call.results]
    if (len(given), len(got)) != (len(taken.inputs), len(taken.results)):
        return (f"calls a function of {len(taken.inputs)} arguments and {len(taken.results)} results with {len(given)} values, "
                f"for {len(got)} results")
    for what, ours, theirs in (("argument", given, taken.inputs), ("result", got, taken.results)):
        for index, (mine, wanted) in enumerate(zip(ours, theirs, strict=True)):
            if not _is_like(mine, wanted):
                return f"{what} {index} of @{call.attribute('callee')} is {wanted!s:.200}, and in the call {mine!s:.200}"
    return ""


def _module_around(call: Op) -> Op | None:
    """The module whose functions a call may be of."""
    module = call.parent_op
    while module is not None and module.name != "builtin.module":
        module = module.parent_op
    return module


def _called_by(call: Op, module: Op) -> Op | None:
    """The function of a module that a call is of."""
    name = call.attribute("callee")
    functions = (op for op in module.regions[0].block if op.name == "func.func" and op.attributes.get("sym_name") == name)
    found = next(functions, None)
    return found if found is not None and isinstance(found.attributes.get("function_type"), FunctionType) else None


def _is_like(one: Type, other: Type) -> bool:
    if isinstance(one, TensorType) and isinstance(other, TensorType):
        return one.element == other.element and same_shape(one, other)
    return one == other
