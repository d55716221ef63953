"""Operators that run subgraphs, and variables."""

from __future__ import annotations

import numpy as np

from transload_converters.tflite.writer import SubgraphWriter

from .build import Assembly
from .spec import Case, Tensor, bools, cases, each, f32, i32, x


def binary(graph: SubgraphWriter, operator: str, shape: tuple[int, ...] = (3,), dtype: str = "float32") -> None:
    """A subgraph of one operator of two operands."""
    left, right, result = (graph.add_tensor(name, shape, dtype) for name in ("l", "r", "out"))
    graph.add_operator(operator, [left, right], [result])
    graph.inputs, graph.outputs = [left, right], [result]


def if_model(model: Assembly, condition: Tensor, left: Tensor, right: Tensor) -> None:
    """`condition ? left + right : left * right`."""
    main = model.writer
    operands = [model.add(name, tensor) for name, tensor in (("c", condition), ("l", left), ("r", right))]
    for operator in ("ADD", "MUL"):
        binary(main.add_subgraph(operator), operator)
    out = main.add_tensor("out", (3,), "float32")
    main.add_operator("IF", operands, [out], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    main.outputs = [out]


def while_model(model: Assembly, start: Tensor, value: Tensor) -> None:
    """`while start < 5: start, value = start + 1, value * 2`."""
    main = model.writer
    operands = [model.add("i", start), model.add("v", value)]
    cond, body = main.add_subgraph("cond"), main.add_subgraph("body")
    for graph in (cond, body):
        graph.inputs = [graph.add_tensor("i", (), "int32"), graph.add_tensor("v", (2,), "float32")]
    limit, flag = cond.add_tensor("limit", (), "int32", 5), cond.add_tensor("flag", (), "bool")
    cond.add_operator("LESS", [cond.inputs[0], limit], [flag])
    cond.outputs = [flag]
    one, two = body.add_tensor("one", (), "int32", 1), body.add_tensor("two", (), "float32", 2.0)
    body.outputs = [body.add_tensor("next", (), "int32"), body.add_tensor("twice", (2,), "float32")]
    body.add_operator("ADD", [body.inputs[0], one], body.outputs[:1])
    body.add_operator("MUL", [body.inputs[1], two], body.outputs[1:])
    main.outputs = [main.add_tensor("i_out", (), "int32"), main.add_tensor("v_out", (2,), "float32")]
    main.add_operator("WHILE", operands, main.outputs, {"cond_subgraph_index": 1, "body_subgraph_index": 2})


def call_model(model: Assembly, left: Tensor, right: Tensor) -> None:
    """A subgraph in an operator's place."""
    main = model.writer
    operands = [model.add("l", left), model.add("r", right)]
    binary(main.add_subgraph("callee"), "SUB")
    main.outputs = [main.add_tensor("out", (3,), "float32")]
    main.add_operator("CALL", operands, main.outputs, {"subgraph": 1})


def no_attributes() -> bytes:
    """An empty FlexBuffers map."""
    from flatbuffers import flexbuffers

    return bytes(flexbuffers.Dumps({}))


def composite_model(model: Assembly, left: Tensor, right: Tensor) -> None:
    """An operation made of others, in a subgraph."""
    main = model.writer
    operands = [model.add("l", left), model.add("r", right)]
    binary(main.add_subgraph("decomposition"), "SUB")
    main.outputs = [main.add_tensor("out", (3,), "float32")]
    options = {"name": "odd.subtract", "decomposition_subgraph_index": 1, "composite_attributes": no_attributes()}
    main.add_operator("STABLEHLO_COMPOSITE", operands, main.outputs, options)


def variable_model(model: Assembly, value: Tensor) -> None:
    """A variable that CALL_ONCE sets, that is read, assigned, and read again."""
    main = model.writer
    given = model.add("x", value)
    start = main.add_subgraph("start")
    own, tens = start.add_tensor("own", (), "resource"), start.add_tensor("tens", (2,), "float32", [10.0, 20.0])
    start.add_operator("VAR_HANDLE", [], [own], {"shared_name": "v"})
    start.add_operator("ASSIGN_VARIABLE", [own, tens], [])
    handle = main.add_tensor("handle", (), "resource")
    first, total, second = (main.add_tensor(name, (2,), "float32") for name in ("first", "total", "second"))
    main.outputs = [main.add_tensor("out", (2,), "float32")]
    main.add_operator("CALL_ONCE", [], [], {"init_subgraph_index": 1})
    main.add_operator("VAR_HANDLE", [], [handle], {"shared_name": "v"})
    main.add_operator("READ_VARIABLE", [handle], [first])
    main.add_operator("ADD", [given, first], [total])
    main.add_operator("ASSIGN_VARIABLE", [handle, total], [])
    main.add_operator("READ_VARIABLE", [handle], [second])
    main.add_operator("MUL", [second, second], main.outputs)


CASES: list[Case] = [
    *cases("IF", each(bools(data=True), bools(data=False), bools()), x(3), x(3), model=if_model),
    *cases("WHILE", each(i32(low=0, high=0), i32(low=3, high=3), i32(low=9, high=9), i32(data=2)), f32(2), model=while_model),
    *cases("CALL", x(3), x(3), model=call_model, expect=np.subtract),
    *cases("STABLEHLO_COMPOSITE", x(3), x(3), model=composite_model),
    *cases("CALL_ONCE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE", x(2), model=variable_model),
]
