"""Control flow, tokens and tuples, calls to what lies outside, and where a program runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from transload.errors import TransloadError
from transload.ir import Op
from transload.ir.core import Value
from transload.ir.declare import (
    BOOLEAN,
    DICT,
    INT,
    INT32,
    LIST,
    STRING,
    SYMBOL,
    DeclaredOp,
    attribute,
    constraint,
    operand,
    region,
    result,
    variadic,
    variadic_result,
)
from transload.ir.types import BOOL, I32, UI32, FunctionType, TensorType, TupleType, Type
from transload.text import parse_type

from ..attributes import CHANNEL, NUMBERS
from ..types import ANY_VALUE, FUTURE, TENSOR_OR_TOKEN, TOKEN, TOKEN_TYPE, TUPLE, function_types, result_types, same_type, tensor
from .base import STABLEHLO

_operand, _result = operand, result  # the names are also those of operands


def _is_future_of(future: Type, values: Sequence[Value]) -> bool:
    """Whether a future is one of values of these types; its text has them as they were written, with any spaces."""
    text = str(future)
    if text == f"!stablehlo.future<{', '.join(str(value.type) for value in values)}>":
        return True
    try:
        held = parse_type(f"({text.removeprefix('!stablehlo.future<').removesuffix('>')}) -> ()")
    except TransloadError:
        return False
    return isinstance(held, FunctionType) and same_types(held.inputs, values)


def same_types(a: Any, b: Any) -> bool:
    """Whether two lists of values or types have the same types, in order."""
    return len(a) == len(b) and all(same_type(x, y) is True for x, y in zip(a, b, strict=True))


# --- control flow


@STABLEHLO.op("return")
class Return(DeclaredOp):
    """Ends a region; its operands are the region's results."""

    values = variadic("the results", ANY_VALUE)
    traits = ("terminator",)


@STABLEHLO.op("if")
class If(DeclaredOp):
    """The results of one of two functions."""

    pred = _operand("which one", tensor(rank=0, element=BOOL))
    outputs = variadic_result("the function's results", TENSOR_OR_TOKEN)
    true_branch = region("where it holds")
    false_branch = region("where it does not")

    @constraint
    def c1(op) -> bool:
        """(C1) neither branch takes arguments"""
        return not op.true_branch.block.arguments and not op.false_branch.block.arguments

    @constraint
    def c2(op) -> bool:
        """(C2) both branches give the same types"""
        return same_types(result_types(op.true_branch), result_types(op.false_branch))

    @constraint
    def c3(op) -> bool:
        """(C3) the results have the types that true_branch gives"""
        return same_types(op.results, result_types(op.true_branch))

    def infer(op) -> list[Type]:
        return result_types(op.regions[0])


@STABLEHLO.op("case")
class Case(DeclaredOp):
    """The results of one of several functions; of the last for an index that is none of them."""

    index = _operand("which one", tensor(rank=0, element=I32))
    outputs = variadic_result("the function's results", TENSOR_OR_TOKEN)
    branches = region("the functions", variadic=True)

    @constraint
    def c1(op) -> bool:
        """(C1) there is a branch"""
        return len(op.branches) > 0

    @constraint
    def c2(op) -> bool:
        """(C2) no branch takes arguments"""
        return not any(branch.block.arguments for branch in op.branches)

    @constraint
    def c3(op) -> bool:
        """(C3) all branches give the same types"""
        return all(same_types(result_types(op.branches[0]), result_types(branch)) for branch in op.branches)

    @constraint
    def c4(op) -> bool:
        """(C4) the results have the types that the branches give"""
        return not op.branches or same_types(op.results, result_types(op.branches[0]))

    def infer(op) -> list[Type]:
        return result_types(op.regions[0])


@STABLEHLO.op("while")
class While(DeclaredOp):
    """A function repeated on its results while another one holds for them."""

    inputs = variadic("the first arguments", ANY_VALUE)
    outputs = variadic_result("the last results", ANY_VALUE)
    cond = region("whether to go on")
    body = region("the next arguments")

    @constraint
    def c1(op) -> bool:
        """(C1) cond takes the operands' types and gives an i1"""
        inputs, outputs = function_types(op.cond)
        return same_types(inputs, op.operands) and outputs == [TensorType((), BOOL)]

    @constraint
    def c2(op) -> bool:
        """(C2) body takes the operands' types and gives the same"""
        inputs, outputs = function_types(op.body)
        return same_types(inputs, op.operands) and same_types(outputs, op.operands)

    @constraint
    def c3(op) -> bool:
        """(C3) the results have the operands' types"""
        return same_types(op.results, op.operands)

    def infer(op) -> list[Type]:
        return [value.type for value in op.operands]


# --- tokens and tuples


@STABLEHLO.op("after_all")
class AfterAll(DeclaredOp):
    """A token that comes after others."""

    inputs = variadic("the tokens", TOKEN)
    result = _result("a token", TOKEN)

    def infer(op) -> Type:
        return TOKEN_TYPE


@STABLEHLO.op("create_token")
class CreateToken(DeclaredOp):
    """A token (deprecated: after_all of nothing)."""

    output = _result("a token", TOKEN)

    def infer(op) -> Type:
        return TOKEN_TYPE


@STABLEHLO.op("optimization_barrier")
class OptimizationBarrier(DeclaredOp):
    """The operands, not to be moved across by a compiler."""

    inputs = variadic("the values", ANY_VALUE)
    outputs = variadic_result("the same", ANY_VALUE)

    @constraint
    def c1(op) -> bool:
        """(C1) operands and results have the same types"""
        return same_types(op.operands, op.results)

    def infer(op) -> list[Type]:
        return [value.type for value in op.operands]


def _members(value: Value) -> tuple[Type, ...]:
    """The types in a tuple."""
    type_ = value.type
    return type_.types if isinstance(type_, TupleType) else ()


@STABLEHLO.op("tuple")
class Tuple(DeclaredOp):
    """Values as one."""

    val = variadic("the values", ANY_VALUE)
    result = _result("the tuple", TUPLE)

    @constraint
    def c1(op) -> bool:
        """(C1) the result is a tuple of the operands' types"""
        return same_types(op.operands, _members(op.result))

    def infer(op) -> Type:
        return TupleType(tuple(value.type for value in op.operands))


@STABLEHLO.op("get_tuple_element")
class GetTupleElement(DeclaredOp):
    """One value of a tuple."""

    operand_ = _operand("the tuple", TUPLE)
    result = _result("the value", ANY_VALUE)
    index = attribute(INT32, "which one")

    @constraint
    def c1(op) -> bool:
        """(C1) index is below the tuple's size"""
        return 0 <= op.attributes["index"] < len(_members(op.operands[0]))

    @constraint
    def c2(op) -> bool:
        """(C2) the result has the type of that element"""
        index, types = op.attributes["index"], _members(op.operands[0])
        return not 0 <= index < len(types) or same_type(types[index], op.result.type) is True

    def infer(op) -> Type:
        return _members(op.operands[0])[op.attributes["index"]]


# --- calls


_NAMESPACED = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*([.][a-zA-Z0-9_$]+)+").fullmatch


def function_called(op: Op, name: str) -> Any:
    """The function of that name beside the one that `op` is in, or None."""
    outer = op.parent_op
    while outer is not None:
        beside = outer.parent if outer.name == "func.func" else None  # and not the ops within, which grow as calls are replaced
        for other in beside or ():
            if other.name == "func.func" and other.attributes.get("sym_name") == name:
                return other
        outer = outer.parent_op
    return None


@STABLEHLO.op("composite")
class Composite(DeclaredOp):
    """An operation made of others: what it computes is a function of the module, its decomposition."""

    inputs = variadic("the operands", ANY_VALUE)
    outputs = variadic_result("the results", ANY_VALUE)
    name = attribute(STRING, "its name, with a namespace")
    composite_attributes = attribute(DICT, "its attributes", default=lambda op: {})
    decomposition = attribute(SYMBOL, "the function that it means")
    version = attribute(INT32, "which version of its meaning", default=0)
    bodies = region("what it is made of, where that is said in place, too", variadic=True)

    @constraint
    def c1(op) -> bool:
        """(C1) name is one with a namespace, `space.name`"""
        return _NAMESPACED(op.attributes["name"]) is not None

    @constraint
    def c2(op) -> bool | str:
        """(C2) decomposition is a function of the module"""
        return op.parent is None or function_called(op, op.decomposition) is not None or f"there is no @{op.decomposition}"

    @constraint
    def c3(op) -> bool:
        """(C3) the operands have the types that decomposition takes"""
        callee = function_called(op, op.decomposition)
        type_ = callee.attributes.get("function_type") if callee is not None else None
        return not isinstance(type_, FunctionType) or same_types(op.operands, type_.inputs)

    @constraint
    def c4(op) -> bool:
        """(C4) the results have the types that decomposition gives"""
        callee = function_called(op, op.decomposition)
        type_ = callee.attributes.get("function_type") if callee is not None else None
        return not isinstance(type_, FunctionType) or same_types(op.results, type_.results)


# --- asynchronous operations


@STABLEHLO.op("async_start")
class AsyncStart(DeclaredOp):
    """Starts what its region computes; its result is what will come of it."""

    inputs = variadic("the operands", ANY_VALUE)
    future = _result("what will come of it", FUTURE)
    body = region("what is computed")
    traits = ("effects",)

    @constraint
    def body_takes_the_operands(op) -> bool:
        """the region takes the operands"""
        return same_types(op.operands, op.body.block.arguments)

    @constraint
    def future_is_of_what_it_gives(op) -> bool | str:
        """the result is a future of the types that the region gives"""
        given = op.body.block.terminator.operands
        return _is_future_of(op.future.type, given) or f"it gives {', '.join(str(value.type) for value in given)}"


@STABLEHLO.op("async_done")
class AsyncDone(DeclaredOp):
    """Waits for what was started; its results are what came of it."""

    future = _operand("what was started", FUTURE)
    outputs = variadic_result("what came of it", ANY_VALUE)
    traits = ("effects",)

    @constraint
    def results_are_those_of_the_future(op) -> bool | str:
        """the results are of the future's types"""
        return _is_future_of(op.future.type, op.results) or f"it is {op.future.type}"


# --- what comes from outside and goes there


class _Incoming(DeclaredOp):
    """Results that come from outside: tensors, then a token."""

    @constraint
    def there_are_results(op) -> bool:
        """(C1 of infeed, C2 of recv) there is a result"""
        return len(op.results) > 0

    @constraint
    def payload(op) -> bool:
        """(C2 of infeed, C3 of recv) all results but the last are tensors, of known sizes"""
        return all(isinstance(value.type, TensorType) and value.type.is_static for value in op.results[:-1])

    @constraint
    def token_is_last(op) -> bool:
        """(C3 of infeed, C4 of recv) the last result is a token"""
        return not op.results or op.results[-1].type == TOKEN_TYPE


@STABLEHLO.op("infeed")
class Infeed(_Incoming):
    """Tensors read from the infeed of the process."""

    token = _operand("what comes before", TOKEN)
    outputs = variadic_result("the tensors, and a token", TENSOR_OR_TOKEN)
    infeed_config = attribute(STRING, "what the implementation is told", default="")
    layout = attribute(LIST, "in what order dimensions lie in memory, a list for each tensor", optional=True)
    traits = ("effects",)

    @constraint
    def layouts_are_numbers(op) -> bool | str:
        """layout has a list of integers for each result but the token"""
        if op.layout is None:
            return True
        if len(op.layout) != len(op.results) - 1:
            return f"it has {len(op.layout)}"
        wrong = [each for each in op.layout if not isinstance(each, list) or not all(map(INT.accepts, each))]
        return not wrong or f"it holds {wrong[0]!r:.80}"


@STABLEHLO.op("outfeed")
class Outfeed(DeclaredOp):
    """Tensors written to the outfeed of the process."""

    inputs = variadic("the tensors", TENSOR_OR_TOKEN)
    token = _operand("what comes before", TOKEN)
    result = _result("a token", TOKEN)
    outfeed_config = attribute(STRING, "what the implementation is told", default="")
    traits = ("effects",)

    def infer(op) -> Type:
        return TOKEN_TYPE


def _channel_type(op: Recv | Send, host: int) -> bool | str:
    wanted = host if op.is_host_transfer else 1
    return op.channel_handle.type == wanted or f"channel type {op.channel_handle.type}, not {wanted}"


@STABLEHLO.op("send")
class Send(DeclaredOp):
    """Tensors sent through a channel."""

    inputs = variadic("the tensors", TENSOR_OR_TOKEN)
    token = _operand("what comes before", TOKEN)
    result = _result("a token", TOKEN)
    channel_handle = attribute(CHANNEL, "the channel, and where it leads")
    is_host_transfer = attribute(BOOLEAN, "whether it leads to the host", default=False)
    source_target_pairs = attribute(NUMBERS, "between which processes", optional=True)
    traits = ("effects",)

    @constraint
    def c1(op) -> bool | str:
        """(C1) the channel leads to the host (type 2) if is_host_transfer, and between devices (type 1) otherwise"""
        return _channel_type(op, 2)

    def infer(op) -> Type:
        return TOKEN_TYPE


@STABLEHLO.op("recv")
class Recv(_Incoming):
    """Tensors received from a channel."""

    token = _operand("what comes before", TOKEN)
    outputs = variadic_result("the tensors, and a token", TENSOR_OR_TOKEN)
    channel_handle = attribute(CHANNEL, "the channel, and where it comes from")
    is_host_transfer = attribute(BOOLEAN, "whether it comes from the host", default=False)
    source_target_pairs = attribute(NUMBERS, "between which processes", optional=True)
    traits = ("effects",)

    @constraint
    def c1(op) -> bool | str:
        """(C1) the channel comes from the host (type 3) if is_host_transfer, and from a device (type 1) otherwise"""
        return _channel_type(op, 3)


# --- where the program runs


class _ProcessId(DeclaredOp):
    result = _result("the number", tensor(rank=0, element=UI32))
    traits = ("random",)

    def infer(op) -> Type:
        return TensorType((), UI32)


@STABLEHLO.op("replica_id")
class ReplicaId(_ProcessId):
    """The replica that this process is."""


@STABLEHLO.op("partition_id")
class PartitionId(_ProcessId):
    """The partition that this process is."""
