"""The ops and types of `tf_executor`, and what the verifier asks of them.

Every op but the ends of regions and `NextIteration.Sink` gives a control token last, and takes any number of them behind data.
TensorFlow's tools add attributes of their own to any of them.
Source: TensorFlow's page on its MLIR dialects, and "Implementation of Control Flow in TensorFlow" (Yu et al., 2017).
"""

from __future__ import annotations

from typing import Any

from transload.ir import BOOL, DialectType, Op, TensorType, Type, Value
from transload.ir.declare import ANY, BOOLEAN, INT, STRING, Dialect, attribute, constraint, region, variadic, variadic_result

from ..types import RESOURCE, VARIANT, referred

__all__ = ["CONTROL", "EXECUTOR", "TOKEN", "data_of", "is_truth", "tokens_of"]

CONTROL, TOKEN = DialectType("tf_executor.control"), DialectType("tf_executor.token")
"""The types of control edges, and of what joins the two halves of a NextIteration."""

EXECUTOR = Dialect("tf_executor", __doc__, custom=True)

_ALLOWED = frozenset(f"tf_executor.{name}" for name in (
    "island", "fetch", "Switch", "SwitchN", "_SwitchN", "Merge", "Enter", "Exit", "NextIteration.Source", "NextIteration.Sink",
    "LoopCond", "ControlTrigger", "Send", "Recv"))


def data_of(op: Op) -> tuple[Value, ...]:
    """The operands of an op that are no control tokens."""
    return tuple(value for value in op.operands if value.type != CONTROL)


def tokens_of(op: Op) -> tuple[Value, ...]:
    """The control tokens that an op takes."""
    return tuple(value for value in op.operands if value.type == CONTROL)


def _kinds(op: Op) -> list[Type]:
    return [value.type for value in op.results if value.type != CONTROL]


def is_truth(type_: Type) -> bool:
    """Whether it is the type of truth values: a tensor of them, or one."""
    return type_ == BOOL or (isinstance(type_, TensorType) and type_.element == BOOL)


def _same(*types: Type) -> bool:
    """Whether tensors can be one value: of one element type, shapes apart, which need not be known."""
    elements = {referred(type_.element) if isinstance(type_, TensorType) else type_ for type_ in types}
    return len(elements) < 2 or bool(elements & {RESOURCE, VARIANT})


def _shaped(op: Op, data: int | None, results: int | None) -> bool | str:
    """Tokens stand behind data, and one token behind the results; there are as many of either as said."""
    kinds = [value.type == CONTROL for value in op.operands]
    if kinds != sorted(kinds):
        return "a control token stands before data"
    if data is not None and kinds.count(False) != data:
        return f"it takes {kinds.count(False)} values besides control tokens, not {data}"
    if not op.results or op.results[-1].type != CONTROL:
        return "its last result is no control token"
    if results is not None and len(op.results) != results + 1:
        return f"it gives {len(op.results) - 1} values besides the control token, not {results}"
    return True


class _Flow:
    """What most ops have: data and tokens in, data and a token out."""

    inputs = variadic("data, then control tokens", ANY)
    outputs = variadic_result("data, then a control token", ANY)
    traits = ("open",)


@EXECUTOR.op("graph")
class Graph:
    """A graph; its results are what the fetch at its end is given. Values of outside are its feeds."""

    fetches = variadic_result("what is fetched", ANY)
    body = region("one block, in topological order")
    traits = ("open",)

    @constraint
    def holds_a_graph(op: Any) -> bool | str:
        """its region is a block of tf_executor ops that ends in a fetch of its results"""
        blocks = op.regions[0].blocks
        if len(blocks) != 1 or blocks[0].arguments or blocks[0].last is None or blocks[0].last.name != "tf_executor.fetch":
            return "it is not one block without arguments that ends in a fetch"
        strange = next((each for each in blocks[0] if each.name not in _ALLOWED), None)
        if strange is not None:
            return f"{strange.name} stands in it, which must be in an island"
        if not _fits(op.results, data_of(blocks[0].last)):
            return "the fetch gives other values than its results"
        return True


def _fits(results: Any, values: tuple[Value, ...]) -> bool:
    return len(results) == len(values) and all(_same(a.type, b.type) for a, b in zip(results, values, strict=True))


@EXECUTOR.op("fetch")
class Fetch:
    """Ends a graph. Tokens say what must have run, too."""

    fetches = variadic("what the graph gives, then control tokens", ANY)
    traits = ("terminator", "open")

    @constraint
    def stands_in_a_graph(op: Any) -> bool:
        """it stands in a tf_executor.graph"""
        return op.parent_op is None or op.parent_op.name == "tf_executor.graph"


@EXECUTOR.op("island")
class Island:
    """Ops that run in their order where all that they use is live; else everything that it gives is dead."""

    control = variadic("control tokens", ANY)
    outputs = variadic_result("what is yielded, then a control token", ANY)
    body = region("one block that ends in a yield")
    traits = ("open",)

    @constraint
    def holds_ops(op: Any) -> bool | str:
        """it takes control tokens alone, and its region is one block that ends in a yield of its results"""
        if (shaped := _shaped(op, 0, None)) is not True:
            return shaped
        blocks = op.regions[0].blocks
        if len(blocks) != 1 or blocks[0].arguments or blocks[0].last is None or blocks[0].last.name != "tf_executor.yield":
            return "its region is not one block without arguments that ends in a yield"
        return _fits(op.results[:-1], blocks[0].last.operands) or "the yield gives other values than its results"


@EXECUTOR.op("yield")
class Yield:
    """Ends an island."""

    fetches = variadic("what the island gives", ANY)
    traits = ("terminator", "open")

    @constraint
    def stands_in_an_island(op: Any) -> bool | str:
        """it stands in a tf_executor.island and yields no control tokens"""
        inside = op.parent_op is None or op.parent_op.name == "tf_executor.island"
        return inside and all(value.type != CONTROL for value in op.operands)


@EXECUTOR.op("Switch")
class Switch(_Flow):
    """Data and a predicate: the first result is the data where the predicate is false, the second where it is true.

    The other one is dead. TensorFlow's op has its results in this order.
    """

    @constraint
    def chooses(op: Any) -> bool | str:
        """it takes data and a predicate, and gives two values of the data's type"""
        if (shaped := _shaped(op, 2, 2)) is not True:
            return shaped
        data, predicate = data_of(op)
        if not is_truth(predicate.type):
            return "its predicate is no truth value"
        return _same(data.type, *_kinds(op)) or "its results are of another type than its data"


class _SwitchN(_Flow):
    """Data and a number: the result of that number is the data, the last one for any other; the others are dead."""

    num_outs = attribute(INT, "how many results there are")

    @constraint
    def chooses(op: Any) -> bool | str:
        """it takes data and a number, and gives num_outs values of the data's type"""
        if (shaped := _shaped(op, 2, op.num_outs)) is not True:
            return shaped
        return _same(data_of(op)[0].type, *_kinds(op)) or "its results are of another type than its data"


EXECUTOR.op("SwitchN")(_SwitchN)
EXECUTOR.op("_SwitchN")(_SwitchN)


@EXECUTOR.op("Merge")
class Merge(_Flow):
    """The one of its values that is live, and its number; dead where all are, or a control token is."""

    @constraint
    def joins(op: Any) -> bool | str:
        """it takes values of one type, and gives one of it and its number"""
        if (shaped := _shaped(op, None, 2)) is not True:
            return shaped
        data = data_of(op)
        if not data:
            return "it has nothing to join"
        return _same(op.results[0].type, *(value.type for value in data)) or "its values are of several types"


class _Through(_Flow):
    @constraint
    def hands_on(op: Any) -> bool | str:
        """it takes one value and gives one of its type"""
        if (shaped := _shaped(op, 1, 1)) is not True:
            return shaped
        return _same(data_of(op)[0].type, *_kinds(op)) or "it gives a value of another type than it takes"


@EXECUTOR.op("Enter")
class Enter(_Through):
    """Hands a value into a frame; a constant one is there in every iteration."""

    frame_name = attribute(STRING, "which frame")
    is_constant = attribute(BOOLEAN, "whether every iteration has it", default=False)
    parallel_iterations = attribute(INT, "how many iterations may run at once", default=10)


@EXECUTOR.op("Exit")
class Exit(_Through):
    """Hands a value out of the frame, once it is live."""


@EXECUTOR.op("LoopCond")
class LoopCond(_Through):
    """Hands on the truth value by which a loop goes on."""

    @constraint
    def is_a_condition(op: Any) -> bool:
        """it takes a truth value"""
        data = data_of(op)
        return not data or is_truth(data[0].type)


@EXECUTOR.op("NextIteration.Source")
class NextIterationSource:
    """What a loop's body hands to the next iteration, where that begins; a sink takes its token."""

    outputs = variadic_result("the value, the token, a control token", ANY)
    traits = ("open",)

    @constraint
    def has_one_sink(op: Any) -> bool | str:
        """it gives a value, a tf_executor.token and a control token, and one sink takes the token"""
        if len(op.results) != 3 or op.results[1].type != TOKEN or op.results[2].type != CONTROL:
            return "its results are not a value, a token and a control token"
        users = list(op.results[1].uses)
        has_sink = len(users) == 1 and users[0].name == "tf_executor.NextIteration.Sink"
        return has_sink or f"{len(users)} ops take its token, not one"


@EXECUTOR.op("NextIteration.Sink")
class NextIterationSink:
    """What a loop's body hands to the next iteration, where it is computed."""

    inputs = variadic("the token of its source, the value, control tokens", ANY)
    traits = ("effects", "open")

    @constraint
    def has_a_source(op: Any) -> bool | str:
        """it takes the token of a source, and a value of the source's type"""
        if len(op.operands) < 2 or op.operands[0].type != TOKEN:
            return "it does not take a token and a value"
        source = op.operands[0].op
        if source is None or source.name != "tf_executor.NextIteration.Source" or source.parent is not op.parent:
            return "its token is of no source in the same graph"
        if any(value.type != CONTROL for value in op.operands[2:]):
            return "it takes more than one value"
        return _same(source.results[0].type, op.operands[1].type) or "its source gives a value of another type"


@EXECUTOR.op("ControlTrigger")
class ControlTrigger(_Flow):
    """A place for control edges; its token is live even where some that it takes are dead."""

    @constraint
    def takes_tokens(op: Any) -> bool | str:
        """it takes and gives control tokens alone"""
        return _shaped(op, 0, 0)


@EXECUTOR.op("Send")
class Send(_Flow):
    """Sends a value to another device."""


@EXECUTOR.op("Recv")
class Recv(_Flow):
    """Receives a value from another device."""
