"""cse, dce, constant folding and shape inference."""

from __future__ import annotations

import numpy as np
import pytest

from transload.errors import ShapeError
from transload.ir import F32, I8, I32, FusedLocation, Op, QuantType, TensorType, verify
from transload.passes.cse import eliminate_common_subexpressions
from transload.passes.dce import eliminate_dead_code
from transload.passes.fold import fold_constants
from transload.passes.shapes import infer_shapes
from transload.text import parse_module, print_module

# --- common subexpressions
from tests.support.graphs import Graph, check_pass


def test_equal_ops_become_one():
    g = Graph((2, 3))
    a = g.MulConst(g.inputs[0], const_val=2.0, location=FusedLocation(("x",), "part"))
    b = g.MulConst(g.inputs[0], const_val=2.0, location="twice")
    c = g.Add(a, b)
    d = g.Add(b, a)
    module = check_pass(eliminate_common_subexpressions, g.done(c, d), ["MulConst", "Add"])
    assert module.body_of_main.first.location == "twice"  # the tensor's name is kept


def test_ops_of_the_same_operands_are_told_apart_by_their_attributes():
    """However many there are, and whichever of them comes again."""
    g = Graph((2, 3))
    values = [g.MulConst(g.inputs[0], const_val=float(number)) for number in (1, 2, 3, 2, 3, 1)]
    module = g.done(*values)
    assert eliminate_common_subexpressions(module)
    assert [op.attributes["const_val"] for op in module.ops() if op.name == "top.MulConst"] == [1.0, 2.0, 3.0]
    returned = module.body_of_main.terminator.operands
    assert [value.owner.attributes["const_val"] for value in returned] == [1.0, 2.0, 3.0, 2.0, 3.0, 1.0]


def test_constants_are_joined_by_their_data():
    g = Graph((3,))
    same = [g.constant(np.arange(3, dtype=np.float32)) for _ in range(3)]
    other = g.constant(np.arange(3, dtype=np.float32) + 1)
    integers = g.constant(np.arange(3, dtype=np.int32))
    g.done(g.Add(g.Add(*same), other), g.Cast(integers, element=F32))
    assert eliminate_common_subexpressions(g.module)
    assert sum(op.name == "top.Weight" for op in g.module.ops()) == 3


def test_what_differs_stays_apart():
    g = Graph((2, 3))
    x = g.inputs[0]
    values = [g.MulConst(x, const_val=value) for value in (0.0, -0.0, 1.0)]
    values += [
        g.Sub(x, values[0]),
        g.Sub(values[0], x),
        g.Cast(x, element=I32),
        g.Cast(x, element=I8),
    ]
    g.done(*values)
    assert not eliminate_common_subexpressions(g.module)


NESTED = """"builtin.module"() ({
  "func.func"() <{sym_name = "main", function_type = (tensor<i1>, tensor<2xf32>) -> tensor<2xf32>}> ({
  ^bb0(%c: tensor<i1>, %x: tensor<2xf32>):
    %a = "top.Neg"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    %r = "top.If"(%c) ({
      %b = "top.Neg"(%x) : (tensor<2xf32>) -> tensor<2xf32>
      %d = "top.Abs"(%b) : (tensor<2xf32>) -> tensor<2xf32>
      "top.Yield"(%d) : (tensor<2xf32>) -> ()
    }, {
      %d = "top.Abs"(%a) : (tensor<2xf32>) -> tensor<2xf32>
      %unused = "top.Exp"(%d) : (tensor<2xf32>) -> tensor<2xf32>
      "top.Yield"(%d) : (tensor<2xf32>) -> ()
    }) : (tensor<i1>) -> tensor<2xf32>
    %s = "top.Abs"(%a) : (tensor<2xf32>) -> tensor<2xf32>
    %t = "top.Add"(%r, %s) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "func.return"(%t) : (tensor<2xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""


def test_regions_share_with_what_is_around_them_and_not_with_each_other():
    module = parse_module(NESTED)
    assert eliminate_common_subexpressions(module)
    verify(module)
    names = [op.name for op in module.ops()]
    assert names.count("top.Neg") == 1 and names.count("top.Abs") == 3


# --- dead code


def test_unused_ops_go_and_effects_stay():
    module = parse_module(NESTED)
    assert eliminate_dead_code(module)
    assert "top.Exp" not in print_module(module)
    assert not eliminate_dead_code(module)
    module = parse_module(
        '"a.unknown"() : () -> ()\n"top.If"(%c) ({"a.unknown"() : () -> ()}, {}) : (tensor<i1>) -> ()\n'
        '%c = "top.Weight"() : () -> tensor<i1>\n%d = "top.Neg"(%e) : (tensor<f32>) -> tensor<f32>\n'
        '%e = "top.Neg"(%f) : (tensor<f32>) -> tensor<f32>\n%f = "a.unknown"() : () -> tensor<f32>'
    )
    eliminate_dead_code(module)
    assert [op.name for op in module.body] == [
        "a.unknown",
        "top.If",
        "top.Weight",
        "top.Neg",
        "a.unknown",
    ]  # one needs its user gone first


# --- constant folding


def test_constants_are_computed_with_their_names():
    g = Graph((2, 3))
    a = g.Add(g.random(3), g.random(2, 3), location="sum")
    parts = g.Split(a, axis=0, split_size=(1, 1), location=FusedLocation(("first", "second")))
    module = check_pass(fold_constants, g.done(g.Mul(g.inputs[0], parts[1])), ["Mul"])
    assert module.body_of_main.first.location == "second"


def test_shape_arithmetic_folds():
    g = Graph((2, 3))
    shape = g.Shape(g.inputs[0])
    module = check_pass(fold_constants, g.done(g.Neg(g.inputs[0]), g.Mul(shape, shape)), ["Neg"])
    assert [str(v.type) for v in module.body_of_main.terminator.operands] == ["tensor<2x3xf32>", "tensor<2xi64>"]


def test_what_would_take_much_more_room_stays():
    g = Graph((2,))
    x = g.Expand(np.ones((1, 1), np.float32), shape=(1000, 1000))
    g.done(g.Neg(g.inputs[0]), x)
    assert not fold_constants(g.module)


# --- shapes


def test_a_new_batch_size_goes_through_the_graph():
    g = Graph((1, 4, 8, 8))
    x = g.Conv(g.inputs[0], g.random(6, 4, 3, 3), None, kernel_shape=(3, 3), strides=(2, 2))
    x = g.Reshape(g.Relu(x), shape=(-1, 6))
    module = g.done(x)
    assert not infer_shapes(module)
    module.body_of_main.arguments[0].type = TensorType((5, 4, 8, 8), F32)
    assert infer_shapes(module)
    verify(module)
    assert str(module.main.attributes["function_type"]) == "(tensor<5x4x8x8xf32>) -> tensor<45x6xf32>"


def test_element_types_and_unknown_sizes():
    quantized = QuantType(I8, F32, (0.5,), (1,))
    g = Graph((None, 3))
    x = g.Cast(g.inputs[0], element=quantized)
    y = g.Cast(g.Reshape(x, shape=(-1,)), element=F32)
    module = g.done(y)
    y.type = TensorType((12,), F32)  # somebody knows better
    module.main.attributes["function_type"] = type(module.main.attributes["function_type"])((g.inputs[0].type,), (y.type,))
    assert not infer_shapes(module)
    module.body_of_main.arguments[0].type = TensorType((4, 3), F32)
    assert infer_shapes(module)
    assert [str(op.result.type) for op in module.ops() if op.results] == [
        "tensor<4x3x!quant.uniform<i8:f32, 0.5:1>>",
        "tensor<12x!quant.uniform<i8:f32, 0.5:1>>",
        "tensor<12xf32>",
    ]


def test_shapes_inside_regions():
    module = parse_module(NESTED)
    module.body_of_main.arguments[1].type = TensorType((7,), F32)
    assert infer_shapes(module)
    verify(module)
    assert "2xf32" not in print_module(module)


def test_every_misfit_is_reported():
    g = Graph((2, 3), (2, 3))
    a, b = g.Add(*g.inputs), g.Mul(*g.inputs)
    module = g.done(b, g.Add(g.Neg(a), g.inputs[0]))  # the last comes after the first, of which nothing is known
    module.body_of_main.arguments[0].type = TensorType((5, 7), F32)
    with pytest.raises(ShapeError) as caught:
        infer_shapes(module)
    assert {finding.what for finding in caught.value.findings} == {"top.Add", "top.Mul"}


def test_ops_without_inference_keep_their_types():
    module = parse_module(
        '"func.func"() <{sym_name = "main", function_type = () -> ()}> ({%0 = "a.b"() : () -> tensor<2xf32>\n'
        '"func.return"() : () -> ()}) : () -> ()'
    )
    assert not infer_shapes(module)
    assert isinstance(module.body_of_main.first, Op)
