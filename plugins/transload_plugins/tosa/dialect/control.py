"""Custom operators, control flow and variables (0.30 sections 2.15 and 2.16; variables since 1.0)."""

from __future__ import annotations

from typing import Any

from transload.ir import BOOL, Op, TensorType
from transload.ir.declare import (
    ANY,
    CONSTANT,
    STRING,
    TENSOR,
    TYPE,
    DeclaredOp,
    attribute,
    constraint,
    operand,
    region,
    result,
    variadic,
    variadic_result,
)

from .base import TOSA, int4_excess, storage_of


@TOSA.op("custom")
class Custom(DeclaredOp):
    """An operator that only an implementation's domain defines (2.15.1)."""

    input_list = variadic("what it takes")
    output_list = variadic_result("what it gives")
    operator_name = attribute(STRING, "its name")
    domain_name = attribute(STRING, "who defines it")
    implementation_attrs = attribute(STRING, "its parameters, in a form of their own")
    traits = ("effects",)


@TOSA.op("cond_if")
class CondIf(DeclaredOp):
    """One of two graphs, by a condition (2.16.1). Both take `input_list` as arguments and end in `tosa.yield`."""

    condition = operand("one i1")
    input_list = variadic("what the graphs take", ANY)
    output_list = variadic_result("what the graphs give", ANY)
    then_graph = region("if it is true")
    else_graph = region("if it is false")

    @constraint
    def condition_is_one_boolean(op) -> bool | str:
        """the condition is an i1 of one element"""
        type_ = op.condition.tensor_type
        fits = storage_of(op.condition) == BOOL and (type_.shape is None or all(s in (1, None) for s in type_.shape))
        return fits or f"{type_}"

    @constraint
    def graphs_agree(op) -> bool | str:
        """both graphs take the operands' types, and yield those of the results"""
        return _graph_fits(op, op.then_graph, op.input_list, op.results) and _graph_fits(
            op, op.else_graph, op.input_list, op.results)

    def infer(op) -> list[Any]:
        return [value.type for value in op.then_graph.block.terminator.operands]


def _graph_fits(op: Op, graph: Any, inputs: Any, outputs: Any) -> bool | str:
    if len(graph.blocks) != 1:
        return f"a graph has {len(graph.blocks)} blocks, not one"
    block = graph.blocks[0]
    taken = [argument.type for argument in block.arguments]
    # MLIR lets the graphs of cond_if use outer values directly, and then they have no arguments.
    if taken and taken != [value.type for value in inputs]:
        return f"a graph takes ({', '.join(map(str, taken))})"
    if block.last is None or block.last.name.rpartition(".")[2] != "yield":
        return "a graph does not end in a yield"
    given = [value.type for value in block.last.operands]
    if outputs is not None and given != [value.type for value in outputs]:
        return f"a graph yields ({', '.join(map(str, given))})"
    return True


@TOSA.op("while_loop")
class WhileLoop(DeclaredOp):
    """A graph repeated while a condition holds (2.16.2): both graphs take the loop's values."""

    input_list = variadic("first values", ANY)
    output_list = variadic_result("last values", ANY)
    cond_graph = region("yields one i1: whether to go on")
    body_graph = region("yields the next values")

    @constraint
    def graphs_agree(op) -> bool | str:
        """the graphs take the loop's values; cond yields one i1, body the next values"""
        return _graph_fits(op, op.cond_graph, op.input_list, None) and _graph_fits(op, op.body_graph, op.input_list, op.results)

    @constraint
    def condition_is_one_boolean(op) -> bool | str:
        """cond yields one i1"""
        block = op.cond_graph.blocks[0] if op.cond_graph.blocks else None
        values: tuple[Any, ...] = block.last.operands if block is not None and block.last is not None else ()
        return len(values) == 1 and isinstance(values[0].type, TensorType) and storage_of(values[0]) == BOOL

    def infer(op) -> list[Any]:
        return [value.type for value in op.input_list]


@TOSA.op("yield")
class Yield(DeclaredOp):
    """Ends a graph of cond_if or while_loop; its operands are what the graph gives."""

    inputs = variadic("the values", ANY)
    traits = ("terminator",)


@TOSA.op("variable")
class Variable(DeclaredOp):
    """A tensor that lives from one run of the graph to the next (since 1.0, EXT-VARIABLE); stands in the module itself."""

    sym_name = attribute(STRING, "its name")
    var_shape = attribute(CONSTANT, "its sizes, `dense<...> : tensor<Nxindex>`")
    type = attribute(TYPE, "the type of its elements")
    initial_value = attribute(CONSTANT, "what it holds before the first run", optional=True)
    traits = ("effects",)

    @constraint
    def int4_is_symmetric(op) -> bool | str:
        """numbers of i4 are from -7 to 7"""
        return (op.initial_value is not None and int4_excess(op.initial_value)) or True


@TOSA.op("variable_write")
class VariableWrite(DeclaredOp):
    """Puts a tensor into a variable (since 1.0)."""

    input1 = operand("the tensor", TENSOR)
    name = attribute(STRING, "the variable's name")
    traits = ("effects",)


@TOSA.op("variable_read")
class VariableRead(DeclaredOp):
    """Gives what a variable holds (since 1.0)."""

    output1 = result("the tensor", TENSOR)
    name = attribute(STRING, "the variable's name")
    traits = ("effects",)
