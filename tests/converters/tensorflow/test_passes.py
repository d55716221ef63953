"""Passes before the conversion: inlining, variables, what only training needs."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.errors import PassError, PluginFailure
from transload.ir import Module
from transload.passes.manager import Pipeline

from tests.support.tensorflow_text import generic


def run(text: str, passes: str) -> Module:
    module = transload.load(text=generic(text), format="mlir")
    Pipeline.parse(passes).run(module)
    return module


def names(module: Module) -> list[str]:
    return [op.name for op in module.main.walk()][1:]


CALLS = """
func.func @main(%x: tensor<2xf32>, %c: tensor<i1>) -> tensor<*xf32> {
  %v = "tf.VarHandleOp"() {shared_name = "v", value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<!tf_type.resource>
  %a = "tf.StatefulPartitionedCall"(%x, %v) {f = @outer} : (tensor<2xf32>, tensor<!tf_type.resource>) -> tensor<*xf32>
  %b = "tf.If"(%c, %a) {then_branch = @neg, else_branch = @same, is_stateless = true}
      : (tensor<i1>, tensor<*xf32>) -> tensor<*xf32>
  %d:2 = "tf.While"(%b, %v) {cond = @less, body = @step, is_stateless = false}
      : (tensor<*xf32>, tensor<!tf_type.resource>) -> (tensor<*xf32>, tensor<!tf_type.resource>)
  return %d#0 : tensor<*xf32>
}
func.func private @outer(%x: tensor<*xf32>, %v: tensor<*x!tf_type.resource>) -> tensor<*xf32> {
  %r = "tf.ReadVariableOp"(%v) : (tensor<*x!tf_type.resource>) -> tensor<*xf32>
  %y = "tf.AddV2"(%x, %r) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  %z = "tf.PartitionedCall"(%y) {f = @neg} : (tensor<*xf32>) -> tensor<*xf32>
  return %z : tensor<*xf32>
}
func.func private @neg(%x: tensor<*xf32>) -> tensor<*xf32> {
  %y = "tf.Neg"(%x) : (tensor<*xf32>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}
func.func private @same(%x: tensor<*xf32>) -> tensor<*xf32> {
  return %x : tensor<*xf32>
}
func.func private @less(%x: tensor<*xf32>, %v: tensor<*x!tf_type.resource>) -> tensor<*xi1> {
  %r = "tf.ReadVariableOp"(%v) : (tensor<*x!tf_type.resource>) -> tensor<*xf32>
  %y = "tf.Less"(%x, %r) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xi1>
  return %y : tensor<*xi1>
}
func.func private @step(%x: tensor<*xf32>, %v: tensor<*x!tf_type.resource>) -> (tensor<*xf32>, tensor<*x!tf_type.resource>) {
  %r = "tf.ReadVariableOp"(%v) : (tensor<*x!tf_type.resource>) -> tensor<*xf32>
  %y = "tf.AddV2"(%x, %r) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  return %y, %v : tensor<*xf32>, tensor<*x!tf_type.resource>
}
"""


def test_functions_stand_where_they_are_called_and_variables_are_constants() -> None:
    module = run(CALLS, "tf-inline,tf-freeze-variables")
    assert list(module.functions) == ["main"]
    assert names(module) == [
        "tf.Const", "tf.AddV2", "tf.Neg", "tf.IfRegion", "tf.Neg", "tf.Yield", "tf.Yield", "tf.WhileRegion", "tf.Less",
        "tf.Yield", "tf.AddV2", "tf.Yield", "func.return"]
    loop = next(op for op in module.ops() if op.name == "tf.WhileRegion")
    assert len(loop.operands) == len(loop.results) == len(loop.regions[0].block.arguments) == 1  # the variable is no state of it


def test_functions_that_call_themselves_are_refused() -> None:
    with pytest.raises(PassError, match="calls itself"):
        run(CALLS.replace("{f = @neg}", "{f = @outer}").replace("(%y) {f = @outer}", "(%y, %v) {f = @outer}").replace(
            "= @outer} : (tensor<*xf32>)", "= @outer} : (tensor<*xf32>, tensor<*x!tf_type.resource>)"), "tf-inline")


def test_calls_that_do_not_fit_their_functions_are_refused() -> None:
    with pytest.raises(PassError, match="calls a function of 2 arguments and 1 results with 1 values"):
        run(CALLS.replace("then_branch = @neg", "then_branch = @outer"), "tf-inline")


STATE = """
func.func @main(%x: tensor<2xf32>) -> tensor<*xf32> {
  %v = "tf.VarHandleOp"() {shared_name = "count", value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<!tf_type.resource>
  %before = "tf.ReadVariableOp"(%v) : (tensor<!tf_type.resource>) -> tensor<*xf32>
  "tf.AssignAddVariableOp"(%v, %x) : (tensor<!tf_type.resource>, tensor<2xf32>) -> ()
  %after = "tf.ReadVariableOp"(%v) : (tensor<!tf_type.resource>) -> tensor<*xf32>
  %y = "tf.Mul"(%before, %after) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}
"""


def test_a_variable_that_the_model_changes_is_an_input_and_an_output() -> None:
    module = run(STATE, "tf-freeze-variables")
    assert names(module) == ["tf.AddV2", "tf.Mul", "func.return"]
    assert [(state.input, state.output) for state in module.states] == [("count", "count_next")]
    np.testing.assert_array_equal(module.states[0].initial.numpy(), [1, 2])
    add, product, end = module.body_of_main
    assert add.operands[0] is module.body_of_main.arguments[1] and end.operands == (product.result, add.result)
    assert product.operands == (add.operands[0], add.result)


@pytest.mark.parametrize(("word", "x", "wanted"), [
    ("Update", 7, 7), ("Add", 7, 10), ("Sub", 7, -4), ("Max", 7, 7), ("Min", -7, -7)])
def test_what_is_written_at_places_of_a_variable_is_its_state(word: str, x: float, wanted: float) -> None:
    module = run(f"""
func.func @main(%x: tensor<1xf32>) -> tensor<4xf32> {{
  %v = "tf.VarHandleOp"() {{shared_name = "v", value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>}}
    : () -> tensor<!tf_type.resource>
  %i = "tf.Const"() {{value = dense<[[2]]> : tensor<1x1xi32>}} : () -> tensor<1x1xi32>
  "tf.ResourceScatterNd{word}"(%v, %i, %x) : (tensor<!tf_type.resource>, tensor<1x1xi32>, tensor<1xf32>) -> ()
  %y = "tf.ReadVariableOp"(%v) : (tensor<!tf_type.resource>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}}
""", "tf-freeze-variables")
    assert names(module) == ["tf.Const", f"tf.TensorScatter{word}", "func.return"]
    assert [(state.input, state.output) for state in module.states] == [("v", "v_next")]
    given = {"arg0": np.array([x], np.float32), "v": np.arange(1, 5, dtype=np.float32)}
    results = transload.run(transload.legalize(module), given)
    for result in results.values():
        np.testing.assert_array_equal(result, [1, 2, wanted, 4])


def test_variables_of_tensorflow_1() -> None:
    module = run("""
func.func @main(%x: tensor<2xf32>) -> tensor<*xf32> {
  %v = "tf.VariableV2"() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<*x!tf_type.f32ref>
  %r = "tf.Identity"(%v) : (tensor<*x!tf_type.f32ref>) -> tensor<*xf32>
  %y = "tf.Mul"(%r, %v) : (tensor<*xf32>, tensor<*x!tf_type.f32ref>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}
""", "tf-freeze-variables")
    assert names(module) == ["tf.Const", "tf.Identity", "tf.Mul", "func.return"]


@pytest.mark.parametrize(("changed", "why"), [
    (", value = dense<[1.0, 2.0]> : tensor<2xf32>", "has no value"), ("AssignAddVariableOp", "is not followed")])
def test_variables_that_cannot_be_followed(changed: str, why: str) -> None:
    with pytest.raises((PassError, PluginFailure), match=why):
        run(STATE.replace(changed, "Strange" if changed[0] == "A" else ""), "tf-freeze-variables")


def test_what_only_training_needs_is_left_out_and_named() -> None:
    module = run("""
func.func @main(%x: tensor<2xf32>) -> tensor<*xf32> {
  %tag = "tf.Const"() {value_strings = ["loss"]} : () -> tensor<!tf_type.string>
  %s = "tf.ScalarSummary"(%tag, %x) : (tensor<!tf_type.string>, tensor<2xf32>) -> tensor<*x!tf_type.string> loc("loss")
  %p = "tf.Print"(%x, %s) {message = ""} : (tensor<2xf32>, tensor<*x!tf_type.string>) -> tensor<*xf32> loc("print")
  "tf.NoOp"() : () -> ()
  %y = "tf.Neg"(%p) : (tensor<*xf32>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}
""", "tf-drop-training")
    assert names(module) == ["tf.Const", "tf.Neg", "func.return"]
    assert module.notes == ("left out, as only training needs it: Print print; ScalarSummary loss",)
