"""The pass `spell-out-quantized`: quantized ops as ops on real numbers between casts."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.ir.verify import verify
from transload.passes.manager import Pipeline
from transload.text import parse_module
from transload_hub.simplify.spell_out import rounds_otherwise

TEXT = """
    "func.func"() ({
        ^bb0(%a: tensor<1x4x!quant.uniform<i8:f32, 0.5:3>> loc("a")):
      %w = "top.Weight"() {value = dense<2> : tensor<4x4xi8>} : () -> tensor<4x4x!quant.uniform<i8:f32, 0.125>>
      %0 = "top.MatMul"(%a, %w) : (tensor<1x4x!quant.uniform<i8:f32, 0.5:3>>, tensor<4x4x!quant.uniform<i8:f32, 0.125>>)
        -> tensor<1x4x!quant.uniform<i8:f32, 0.25:-1>> loc("product")
      %1 = "top.Relu"(%0) : (tensor<1x4x!quant.uniform<i8:f32, 0.25:-1>>) -> tensor<1x4x!quant.uniform<i8:f32, 0.25:-1>> loc("y")
      "func.return"(%1) : (tensor<1x4x!quant.uniform<i8:f32, 0.25:-1>>) -> ()
        }) {function_type = (tensor<1x4x!quant.uniform<i8:f32, 0.5:3>>) -> (tensor<1x4x!quant.uniform<i8:f32, 0.25:-1>>),
          sym_name = "main"} : () -> ()"""


def test_ops_compute_real_numbers_and_only_casts_are_quantized() -> None:
    module = parse_module(TEXT)
    spelled = module.clone()
    assert Pipeline.parse("spell-out-quantized").run(spelled)[0].modified
    verify(spelled)
    for op in spelled.ops():
        if op.name not in ("top.Cast", "top.Weight", "func.return"):
            assert not any(value.is_quantized for value in (*op.operands, *op.results)), op.name
    # The quantized tensors are those that they were, and have their names.
    assert {op.origin for op in spelled.ops() if op.results and op.result.is_quantized} >= {"product", "y"}
    x = np.arange(-8, 8, dtype=np.int8).reshape(4, 1, 4)
    for each in x:
        (ours,), (theirs,) = (transload.run(m, {"a": each}).values() for m in (module, spelled))
        assert np.abs(ours.astype(int) - theirs.astype(int)).max() <= 1


def test_a_module_of_floats_stays_as_it_is() -> None:
    module = parse_module("""
        "func.func"() ({
        ^bb0(%a: tensor<2xf32>):
          %0 = "top.Relu"(%a) : (tensor<2xf32>) -> tensor<2xf32>
          "func.return"(%0) : (tensor<2xf32>) -> ()
        }) {function_type = (tensor<2xf32>) -> (tensor<2xf32>),
          sym_name = "main"} : () -> ()""")
    assert not Pipeline.parse("spell-out-quantized").run(module)[0].modified


@pytest.mark.parametrize(("a", "b", "otherwise"), [
    ("!quant.uniform<i8:f32, 0.047:3>", "!quant.uniform<i8:f32, 0.031:-9>", True),
    ("!quant.uniform<i8:f32, 0.047:3>", "!quant.uniform<i8:f32, 0.047:4>", True),
    ("!quant.uniform<i8:f32, 0.003:3>", "!quant.uniform<i8:f32, 0.003:3>", True),
    ("!quant.uniform<i8:f32, 0.047:3>", "!quant.uniform<i8:f32, 0.047:3>", False),
    ("!quant.uniform<i8:f32, 1.5:3>", "!quant.uniform<i8:f32, 0.047:3>", False),
    ("f32", "f32", False)])
def test_comparisons_that_round_what_they_compare_are_no_comparisons_of_real_numbers(a: str, b: str, otherwise: bool) -> None:
    module = parse_module(f"""
        "func.func"() ({{
        ^bb0(%a: tensor<4x{a}>, %b: tensor<4x{b}>):
          %0 = "top.Compare"(%a, %b) {{mode = "Less"}} : (tensor<4x{a}>, tensor<4x{b}>) -> tensor<4xi1>
          "func.return"(%0) : (tensor<4xi1>) -> ()
        }}) {{function_type = (tensor<4x{a}>, tensor<4x{b}>) -> (tensor<4xi1>),
          sym_name = "main"}} : () -> ()""")
    (compared,) = (op for op in module.ops() if op.name == "top.Compare")
    assert rounds_otherwise(compared) == otherwise
