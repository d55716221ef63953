"""The dialect `tf_executor`: reading graphs of TensorFlow 1 into it, what its verifier refuses, and how the engine runs it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import PassError, ReadError, RunError
from transload.ir import Module
from transload.passes.manager import Pipeline

from tests.support.tensorflow_graphs import T, const, graph, main_ops, node, placeholder, read_graph

F, I, B = T("float32"), T("int32"), T("bool")


def cond(predicate: str = "p") -> Any:
    """`y = x + 1 if p else x * 2`, as tf.cond of TensorFlow 1 makes it, with a control edge into a branch."""
    return graph(
        placeholder("x", (2,)), placeholder("p", (), "bool"), node("pivot", "Identity", "p", T=B),
        node("switch", "Switch", "x", predicate, T=F),
        const("one", np.float32(1), "^dead_end"), node("dead_end", "Identity", "switch:1", T=F),
        node("true", "AddV2", "switch:1", "one", T=F),
        const("two", np.float32(2)), node("false", "Mul", "switch:0", "two", T=F),
        node("y", "Merge", "false", "true", T=F, N=2), node("z", "Identity", "y", "^pivot", T=F))


def loop(frame: str = "f") -> list[Any]:
    """`while i < n: i += 1; s *= 2`, in a frame, with the limit handed in as a constant."""
    return [
        const("zero", np.int32(0)), const("s0", np.float32(1)), placeholder("n", (), "int32"),
        node("enter_n", "Enter", "n", T=I, frame_name=frame, is_constant=True),
        node("enter_i", "Enter", "zero", T=I, frame_name=frame), node("enter_s", "Enter", "s0", T=F, frame_name=frame),
        node("merge_i", "Merge", "enter_i", "next_i", T=I, N=2), node("merge_s", "Merge", "enter_s", "next_s", T=F, N=2),
        node("less", "Less", "merge_i", "enter_n", T=I), node("cond", "LoopCond", "less"),
        node("switch_i", "Switch", "merge_i", "cond", T=I), node("switch_s", "Switch", "merge_s", "cond", T=F),
        node("body", "Identity", "switch_i:1", T=I),
        const("one", np.int32(1), "^body"), const("two", np.float32(2), "^body"),
        node("next_value", "AddV2", "body", "one", T=I), node("doubled", "Mul", "switch_s:1", "two", T=F),
        node("next_i", "NextIteration", "next_value", T=I), node("next_s", "NextIteration", "doubled", T=F),
        node("exit_i", "Exit", "switch_i:0", T=I), node("exit_s", "Exit", "switch_s:0", T=F),
        node("i", "Identity", "exit_i", T=I), node("s", "Identity", "exit_s", T=F)]


def test_a_conditional_is_read_as_switches_and_merges_around_islands() -> None:
    module = read_graph(cond())
    whole, end = main_ops(module)
    assert whole.name == "tf_executor.graph" and end.operands == tuple(whole.results)
    body = [op.name.removeprefix("tf_executor.") for op in whole.regions[0].block]
    assert body.count("island") == 7 and body.count("Switch") == body.count("Merge") == 1 and body[-1] == "fetch"
    island = next(op for op in whole.regions[0].block if op.origin == "one")
    assert [value.type.text for value in island.operands] == ["tf_executor.control"]


def test_only_the_branch_that_is_taken_runs() -> None:
    module, x = read_graph(cond()), np.array([1, 3], np.float32)
    np.testing.assert_array_equal(transload.run(module, {"x": x, "p": np.array(True)})["z"], [2, 4])
    np.testing.assert_array_equal(transload.run(module, {"x": x, "p": np.array(False)})["z"], [2, 6])


def test_what_is_fetched_must_be_live() -> None:
    nodes = [each for each in cond().node if each.name not in ("y", "z", "false")]
    module = read_graph(graph(*nodes))
    with pytest.raises(RunError, match="is dead: it lies on a way that was not taken"):
        transload.run(module, {"x": np.zeros(2, np.float32), "p": np.array(False)})


def test_ways_into_branches_are_no_outputs() -> None:
    """TensorFlow 1 names both ways of a conditional, and a branch that computes of tensors alone does not take its name."""
    module = read_graph(graph(*cond().node, node("q", "Switch", "p", "p", T=B), node("switch_t", "Identity", "q:1", T=B),
                              node("switch_f", "Identity", "q", T=B), node("same", "Identity", "switch_f", T=B)))
    assert list(module.outputs) == ["z"]
    x = np.array([1, 3], np.float32)
    np.testing.assert_array_equal(transload.run(transload.legalize(module), {"x": x, "p": np.array(False)})["z"], [2, 6])


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_loop_goes_round_in_its_frame(n: int) -> None:
    outputs = transload.run(read_graph(graph(*loop())), {"n": np.int32(n)})
    assert (int(outputs["i"]), float(outputs["s"])) == (n, 2.0 ** n)


def test_a_loop_on_a_way_that_is_not_taken_is_dead() -> None:
    nodes = [each for each in loop() if each.name not in ("zero", "i", "s", "exit_s")]
    module = read_graph(graph(
        placeholder("p", (), "bool"), const("start", np.int32(0)), node("zero", "Switch", "start", "p", T=I), *nodes,
        const("other", np.int32(7)), node("if_not", "Switch", "other", "p", T=I),
        node("y", "Merge", "exit_i", "if_not:1", T=I, N=2)))
    for taken, expected in ((False, 3), (True, 7)):
        assert int(transload.run(module, {"n": np.int32(3), "p": np.array(taken)})["y"]) == expected


def parsed(body: str, fetched: str = "%x : tensor<f32>") -> Module:
    return transload.load(format="mlir", text=f"""
"builtin.module"() ({{
  "func.func"() <{{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "main"}}> ({{
  ^bb0(%x: tensor<f32>):
    %g = "tf_executor.graph"() ({{
      {body}
      "tf_executor.fetch"({fetched.split(" : ")[0]}) : ({fetched.split(" : ")[1]}) -> ()
    }}) : () -> tensor<f32>
    "func.return"(%g) : (tensor<f32>) -> ()
  }}) : () -> ()
}}) : () -> ()""")


CONTROL = "!tf_executor.control"


@pytest.mark.parametrize(("body", "why"), [
    ('%y = "tf.Neg"(%x) : (tensor<f32>) -> tensor<f32>', "tf.Neg stands in it, which must be in an island"),
    (f'%a, %b, %c = "tf_executor.Switch"(%x, %x) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, {CONTROL})',
     "its predicate is no truth value"),
    (f'%a, %c = "tf_executor.Merge"(%x) : (tensor<f32>) -> (tensor<f32>, {CONTROL})', "gives 1 values besides the control token"),
    ('%a = "tf_executor.Exit"(%x) : (tensor<f32>) -> tensor<f32>', "its last result is no control token"),
    (f'%a, %t, %c = "tf_executor.NextIteration.Source"() : () -> (tensor<f32>, !tf_executor.token, {CONTROL})',
     "0 ops take its token"),
    (f'%a, %c = "tf_executor.Enter"(%x) {{frame_name = "f"}} : (tensor<f32>) -> (tensor<i32>, {CONTROL})',
     "of another type than it takes"),
    (f'%a, %c = "tf_executor.Enter"(%x) : (tensor<f32>) -> (tensor<f32>, {CONTROL})', "frame_name"),
    (f'%a, %c = "tf_executor.LoopCond"(%x) : (tensor<f32>) -> (tensor<f32>, {CONTROL})', "takes a truth value"),
    (f'%c = "tf_executor.ControlTrigger"(%x) : (tensor<f32>) -> {CONTROL}', "takes 1 values besides control tokens"),
    (f'%c = "tf_executor.island"(%x) ({{ "tf_executor.yield"() : () -> () }}) : (tensor<f32>) -> {CONTROL}',
     "takes 1 values besides control tokens"),
    (f'%c = "tf_executor.island"() ({{ "tf_executor.yield"(%x) : (tensor<f32>) -> () }}) : () -> {CONTROL}',
     "the yield gives other values"),
])
def test_what_the_verifier_refuses(body: str, why: str) -> None:
    with pytest.raises(ReadError) as caught:
        parsed(body)
    assert why in str(caught.value)


def test_a_graph_gives_what_it_fetches() -> None:
    assert parsed("").functions
    wrong = f'%c = "tf_executor.ControlTrigger"() : () -> {CONTROL}'
    with pytest.raises(ReadError, match="the fetch gives other values"):
        parsed(wrong, f"%c : {CONTROL}")


# --- the functional form


def functional(module: Module) -> Module:
    copy = module.clone()
    Pipeline.parse("tf-functionalize").run(copy)
    return copy


def ops_of(module: Module) -> list[str]:
    return [op.name for op in module.walk()]


def test_a_conditional_becomes_regions() -> None:
    module = functional(read_graph(cond()))
    assert ops_of(module).count("tf.IfRegion") == 1 and not any(name.startswith("tf_executor.") for name in ops_of(module))
    choice = next(op for op in module.walk() if op.name == "tf.IfRegion")
    assert [[op.origin for op in region.block][:-1] for region in choice.regions] == [["one", "true"], ["false"]]
    top = transload.legalize(read_graph(cond()))
    for p in (True, False):
        x = np.array([1, 3], np.float32)
        np.testing.assert_array_equal(transload.run(top, {"x": x, "p": np.array(p)})["z"], x + 1 if p else x * 2)


def test_a_loop_becomes_regions() -> None:
    module = functional(read_graph(graph(*loop())))
    found = next(op for op in module.walk() if op.name == "tf.WhileRegion")
    assert len(found.operands) == len(found.results) == 2
    top = transload.legalize(read_graph(graph(*loop())))
    for n in (0, 4):
        outputs = transload.run(top, {"n": np.int32(n)})
        assert (int(outputs["i"]), float(outputs["s"])) == (n, 2.0 ** n)


def nested_loops() -> Any:
    """`for i < n: for j < n: s = s * 2 if s < 100 else s + 1`: a conditional in a loop in a loop."""
    return graph(
        const("zero", np.int32(0)), const("s0", np.float32(1)), placeholder("n", (), "int32"),
        node("n1", "Enter", "n", T=I, frame_name="a", is_constant=True), node("i1", "Enter", "zero", T=I, frame_name="a"),
        node("s1", "Enter", "s0", T=F, frame_name="a"),
        node("mi", "Merge", "i1", "ni", T=I, N=2), node("ms", "Merge", "s1", "ns", T=F, N=2),
        node("li", "Less", "mi", "n1", T=I), node("ci", "LoopCond", "li"),
        node("si", "Switch", "mi", "ci", T=I), node("ss", "Switch", "ms", "ci", T=F),
        const("one", np.int32(1), "^si_id"), node("si_id", "Identity", "si:1", T=I), node("i_next", "AddV2", "si_id", "one", T=I),
        const("zero_j", np.int32(0), "^si_id"),
        node("n2", "Enter", "n1", T=I, frame_name="b", is_constant=True), node("j2", "Enter", "zero_j", T=I, frame_name="b"),
        node("s2", "Enter", "ss:1", T=F, frame_name="b"),
        node("mj", "Merge", "j2", "nj", T=I, N=2), node("mt", "Merge", "s2", "nt", T=F, N=2),
        node("lj", "Less", "mj", "n2", T=I), node("cj", "LoopCond", "lj"),
        node("sj", "Switch", "mj", "cj", T=I), node("st", "Switch", "mt", "cj", T=F),
        node("sj_id", "Identity", "sj:1", T=I), const("one_j", np.int32(1), "^sj_id"),
        node("j_next", "AddV2", "sj_id", "one_j", T=I), const("hundred", np.float32(100), "^sj_id"),
        node("small", "Less", "st:1", "hundred", T=F), node("by", "Switch", "st:1", "small", T=F),
        const("two", np.float32(2), "^by_true"), node("by_true", "Identity", "by:1", T=F),
        node("twice", "Mul", "by_true", "two", T=F),
        const("more", np.float32(1), "^by_false"), node("by_false", "Identity", "by:0", T=F),
        node("plus", "AddV2", "by_false", "more", T=F), node("t_next", "Merge", "plus", "twice", T=F, N=2),
        node("nj", "NextIteration", "j_next", T=I), node("nt", "NextIteration", "t_next", T=F),
        node("et", "Exit", "st:0", T=F),
        node("ni", "NextIteration", "i_next", T=I), node("ns", "NextIteration", "et", T=F),
        node("es", "Exit", "ss:0", T=F), node("y", "Identity", "es", T=F))


@pytest.mark.parametrize("n", [0, 1, 2, 4])
def test_nested_loops_are_the_same_in_both_forms(n: int) -> None:
    expected = np.float32(1)
    for _ in range(n * n):
        expected = expected * 2 if expected < 100 else expected + 1
    module = read_graph(nested_loops())
    assert float(transload.run(module, {"n": np.int32(n)})["y"]) == expected
    assert float(transload.run(transload.legalize(module), {"n": np.int32(n)})["y"]) == expected


def test_what_is_no_conditional_has_no_functional_form() -> None:
    nodes = [*cond().node, node("both", "AddV2", "true", "false", T=F)]
    with pytest.raises(PassError, match="uses values of several branches"):
        functional(read_graph(graph(*nodes)))


@pytest.mark.parametrize(("node_", "place", "value", "why"), [
    ("doubled", 1, "exit_s", "is computed from itself"), ("next_s", 0, "exit_s", "is used where it may be dead")])
def test_a_loop_that_hands_on_what_it_ends_with_has_no_functional_form(node_: str, place: int, value: str, why: str) -> None:
    nodes = loop()
    next(each for each in nodes if each.name == node_).input[place] = value
    with pytest.raises(PassError, match=why):
        functional(read_graph(graph(*nodes)))


def test_a_frame_that_is_entered_from_within_itself_has_no_functional_form() -> None:
    nodes = [*loop(), node("again", "Enter", "switch_s:1", T=F, frame_name="f"), node("out", "Identity", "again", T=F)]
    with pytest.raises(PassError, match="entered from within themselves"):
        functional(read_graph(graph(*nodes)))


def test_loops_that_lie_too_deep_in_each_other_have_no_functional_form() -> None:
    nodes = [placeholder("x", ()), placeholder("n", ())]
    for depth in range(150):
        before = f"y{depth - 1}" if depth else "x"
        nodes += [node(f"s{depth}", "Switch", before, f"p{depth}", T=F), node(f"p{depth}", "Less", before, "n", T=F)]
        nodes += [node(f"y{depth}", "Neg", f"s{depth}:1", T=F)]
    joined = "y149"
    for depth in reversed(range(150)):
        nodes.append(node(f"m{depth}", "Merge", f"s{depth}:0", joined, T=F, N=2))
        joined = f"m{depth}"
    with pytest.raises(PassError, match="nested more than 100 deep"):
        functional(read_graph(graph(*nodes, node("z", "Identity", joined, T=F))))
