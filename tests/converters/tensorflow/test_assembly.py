"""Text of `tf` and `tf_executor` in the form that TensorFlow's tools print: read, verified, printed, run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import ReadError, TextError
from transload.ir import TensorType
from transload.ir.verify import check
from transload.text import parse_module, print_module

from tests.support.tensorflow_assembly import EXAMPLES, Example


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name.replace(" ", "-"))
def test_reads_verifies_prints_and_runs(example: Example, tmp_path: Path) -> None:
    module = parse_module(example.text)
    assert not check(module)
    printed = print_module(module)
    assert print_module(parse_module(printed)) == printed
    path = tmp_path / "model.mlir"
    path.write_text(example.text)
    loaded = transload.load(path)
    if not example.gives:
        return
    shapes = {
        name: given.shape for (name, type_), given in zip(loaded.inputs.items(), example.inputs, strict=False)
        if isinstance(type_, TensorType)}
    functional = transload.legalize(transload.load(path, inputs=shapes))
    for each in (functional,) if "tf_saved_model" in example.text else (loaded, functional):
        results = transload.run(each, dict(zip(each.inputs, example.inputs, strict=True)))
        for result, wanted in zip(results.values(), example.gives, strict=True):
            np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize(("text", "why"), [
    ("%0:2 = tf_executor.opA %a : tensor<f32>\n tf_executor.fetch %0#0 : tensor<f32>", "tf_executor.opA stands in it"),
    ("%0, %c = tf_executor.island wraps tf.Neg %a : tensor<f32>\n tf_executor.fetch %0 : tensor<i32>", "of type tensor<f32>"),
    ("%0, %c = tf_executor.Merge : tensor<f32>\n tf_executor.fetch", "nothing to join"),
    ("%0, %t = tf_executor.NextIteration.Source : tensor<f32>\n tf_executor.fetch", "0 ops take its token"),
    ("%0:2, %c = tf_executor._SwitchN %a, %a of 99999999999 : tensor<f32>\n tf_executor.fetch", "cannot have 99999999999"),
    ("tf_executor.island(%a wraps tf.Neg %a : tensor<f32>", "expected ')'"),
    ("%0, %c = tf_executor.island wraps tf.Neg %b : tensor<f32>", "'%b' is not defined"),
    ("%0, %c = tf_executor.island wraps tf.Add %a, 1 : (tensor<f32>) -> tensor<f32>", "2 operands and 1 types"),
    ("%0, %c = tf_executor.island wraps tf.Add %a, 1 : (tensor<f32>, tensor<!tf_type.string>) -> tensor<f32>",
     "cannot be of type"),
    ("%0, %c, %d = tf_executor.island wraps tf.Neg %a : tensor<f32>", "has 2 results"),
    ("%0, %c = tf_executor.island wraps acme.f %a : tensor<f32>", "no plugin says how acme.f is written"),
])
def test_what_is_wrong_is_said(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(f"func.func @main(%a: tensor<f32>) {{\n tf_executor.graph {{\n {text}\n }}\n return\n}}\n")
    with pytest.raises((TextError, ReadError)) as caught:
        transload.load(path)
    assert why in f"{caught.value} {getattr(caught.value, 'findings', '')}"


def test_assignments_keep_the_order_of_control_edges(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text("""
"tf_saved_model.global_tensor"() <{is_mutable, sym_name = "n", type = tensor<i32>, value = dense<5> : tensor<i32>}> : () -> ()
func.func @main(%handle: tensor<!tf_type.resource<tensor<i32>>> {tf_saved_model.bound_input = @n}) -> tensor<i32> {
  %0 = tf_executor.graph {
    %one, %c0 = tf_executor.island wraps "tf.Const"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
    %c1 = tf_executor.island wraps "tf.AssignAddVariableOp"(%handle, %one)
      : (tensor<!tf_type.resource<tensor<i32>>>, tensor<i32>) -> ()
    %read, %c2 = tf_executor.island(%c1) wraps "tf.ReadVariableOp"(%handle)
      : (tensor<!tf_type.resource<tensor<i32>>>) -> tensor<i32>
    tf_executor.fetch %read : tensor<i32>
  }
  return %0 : tensor<i32>
}
""")
    module = transload.legalize(transload.load(path))
    assert list(transload.run(module, {"n": np.int32(5)}).values()) == [6, 6]
