"""What no output needs is no reason to refuse a model: ops, results of branches and loops, and what is made for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import transload

from tests.support.graphs import op_names
from tests.support.onnx_models import make_model, node, read_model

X = np.random.default_rng(3).standard_normal((2, 3)).astype(np.float32)
N = np.array(4, np.int64)
B = np.array(True)
TEXT = TensorProto(name="s", data_type=TensorProto.STRING, dims=[1], string_data=[b"text"])


def info(name: str, element: int = TensorProto.FLOAT, shape: Any = ()) -> Any:
    return helper.make_tensor_value_info(name, element, shape)


def graph(nodes: list[Any], inputs: list[Any], outputs: list[Any], constants: dict[str, Any] | None = None) -> Any:
    held = [numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()]
    return helper.make_graph(nodes, "sub", inputs, [
        info(output, shape=None) if isinstance(output, str) else output for output in outputs], held)


def loop(outputs: list[str], more: list[Any], *, states: Sequence[str] = (), ends: Sequence[Any] = ()) -> Any:
    """A loop that doubles x, with more values it carries and ends with."""
    body = graph(
        [node("Add", ["v", "v"], ["w"]), node("Identity", ["c"], ["d"]), *more],
        [info("i", TensorProto.INT64), info("c", TensorProto.BOOL), info("v", shape=None),
         *(info(f"{name}_in", shape=None) for name in states)],
        [info("d", TensorProto.BOOL), "w", *(f"{name}_out" for name in states), *ends])
    return node("Loop", ["n", "", "x", *states], outputs, body=body)


def test_texts_that_nobody_reads(compare: Callable[..., Any]) -> None:
    compare([node("Identity", ["s"], ["u"]), node("Relu", ["x"], ["y"])], {"x": X}, ("y",), {"s": TEXT})


def test_operators_that_nobody_needs(compare: Callable[..., Any]) -> None:
    hub = compare([node("StringNormalizer", ["s"], ["u"]), node("NonZero", ["x"], ["z"]), node("Relu", ["x"], ["y"])],
                  {"x": X}, ("y",), {"s": TEXT})
    assert op_names(hub) == ["Relu"]


@pytest.mark.parametrize("outputs", [["y", "all"], ["y"]])
def test_values_that_a_loop_collects_for_nobody(compare: Callable[..., Any], outputs: list[str]) -> None:
    """A number of rounds that is not known collects nothing of a size that is."""
    operator = loop(outputs, [node("Exp", ["v"], ["e"])], ends=["e"])
    model = make_model([operator], {"x": X, "n": N}, ["y"])
    hub = transload.legalize(read_model(model))
    np.testing.assert_array_equal(transload.run(hub, {"x": X, "n": N})["y"], 16 * X)
    assert not any(op.name == "top.Exp" for op in hub.ops())
    if len(outputs) == 2:  # onnxruntime fails at a result that is left out
        compare(operator, {"x": X, "n": N})


def test_values_that_a_loop_carries_for_nobody(compare: Callable[..., Any]) -> None:
    """`a` is made of itself and `b`, and nothing else; `f` changes its shape from round to round, which no loop of ours may."""
    more = [node("Add", ["a_in", "b_in"], ["a_out"]), node("Identity", ["b_in"], ["b_out"]),
            node("Concat", ["f_in", "f_in"], ["f_out"], axis=0)]
    first = [node("Identity", ["x"], [name]) for name in "abf"]
    hub = compare([*first, loop(["y", "last", "same", "grown"], more, states="abf")], {"x": X, "n": N})
    [kept] = [op for op in hub.ops() if op.name == "top.While"]
    assert len(kept.results) == 3  # round, condition, x


def test_a_state_that_another_needs_is_carried(compare: Callable[..., Any]) -> None:
    more = [node("Add", ["a_in", "b_in"], ["a_out"]), node("Mul", ["b_in", "b_in"], ["b_out"])]
    compare([node("Identity", ["x"], ["a"]), node("Abs", ["x"], ["b"]), loop(["y", "z", "u"], more, states="ab")],
            {"x": X, "n": N}, ("y", "z"))


def test_the_condition_needs_a_state_that_no_output_does(compare: Callable[..., Any]) -> None:
    """A number that is halved until it is small, while another is doubled."""
    body = graph(
        [node("Add", ["v", "v"], ["w"]), node("Mul", ["a", "half"], ["b"]), node("Greater", ["b", "one"], ["d"])],
        [info("i", TensorProto.INT64), info("c", TensorProto.BOOL), info("v", shape=None), info("a")],
        [info("d", TensorProto.BOOL), "w", "b"], {"half": np.float32(0.5), "one": np.float32(1)})
    compare(node("Loop", ["", "c", "x", "a"], ["y", "z"], body=body), {"x": X, "a": np.array(10, np.float32), "c": B})


def test_values_that_branches_give_nobody(compare: Callable[..., Any]) -> None:
    """They have other shapes in each branch."""
    then = graph([node("Exp", ["x"], ["t"]), node("Concat", ["x", "x"], ["u"], axis=0)], [], ["u", "t"])
    otherwise = graph([node("Neg", ["x"], ["e"]), node("Abs", ["x"], ["f"])], [], ["f", "e"])
    hub = compare(node("If", ["c"], ["z", "y"], then_branch=then, else_branch=otherwise), {"x": X, "c": B})
    assert "If" in op_names(hub)


@pytest.mark.parametrize("used", [("y", "last"), ("y",), ("all",), ("last", "back")])
def test_results_of_a_scan(compare: Callable[..., Any], used: tuple[str, ...]) -> None:
    """Each keeps its direction and dimension, whichever others go."""
    body = graph(
        [node("Add", ["s", "v"], ["s2"]), node("Mul", ["r", "v"], ["r2"]), node("Exp", ["v"], ["e"]), node("Neg", ["s2"], ["f"])],
        [info("s", shape=[3]), info("r", shape=[3]), info("v", shape=[3])], ["s2", "r2", "e", "f"])
    nodes = [node("Scan", ["s0", "r0", "x"], ["last", "gone", "all", "back"], body=body, num_scan_inputs=1,
                  scan_output_axes=[1, 0], scan_output_directions=[0, 1]),
             node("Relu", ["back"], ["y"])]
    compare(nodes, {"x": X}, used, {"s0": np.zeros(3, np.float32), "r0": np.ones(3, np.float32)})


def test_a_loop_in_a_branch(compare: Callable[..., Any]) -> None:
    inner = loop(["t", "all"], [node("Exp", ["v"], ["e"])], ends=["e"])
    then, otherwise = graph([inner], [], ["t"]), graph([node("Neg", ["x"], ["e2"])], [], ["e2"])
    compare(node("If", ["c"], ["y"], then_branch=then, else_branch=otherwise), {"x": X, "c": B, "n": N})
