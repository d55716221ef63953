"""If and While, run by the engine on whole modules."""

from __future__ import annotations

import numpy as np
import pytest

from transload.engine import run_function
from transload.errors import ShapeError
from transload.ir import BOOL, F32, I32, Block, Op, Region, TensorType, new_module, set_results, verify
from transload.ir.build import Builder


def region(types, make):
    """A region of one block that yields what `make(builder, *arguments)` gives."""
    block = Block(types)
    builder = Builder(block)
    builder.emit("top.Yield", *make(builder, *block.arguments))
    return Region([block])


def control(builder, name, operands, regions):
    """Create a control-flow op with inferred types."""
    op = Op(name, operands, (), {}, regions)
    types = op.declaration.infer(op)
    op.drop_references()
    for part in regions:
        part.parent = None
    return builder.create(name, operands, types, regions=[Region(part.blocks) for part in regions])


def test_if_sees_the_values_around_it():
    module = new_module()
    function = module.add_function("main", [TensorType((), BOOL), TensorType((3,), F32)], ["c", "x"])
    builder = Builder(function.regions[0].block)
    condition, x = builder.block.arguments
    double = region([], lambda b: [b.emit("top.MulConst", x, const_val=2.0)])
    negative = region([], lambda b: [b.emit("top.Neg", x)])
    op = builder.create("top.If", [condition], [x.type], regions=[double, negative])
    set_results(function, op.results, ["y"])
    verify(module)
    value = np.array([1, 2, 3], np.float32)
    np.testing.assert_array_equal(run_function(module, {"c": np.array(True), "x": value})["y"], 2 * value)
    np.testing.assert_array_equal(run_function(module, {"c": np.array(False), "x": value})["y"], -value)


def test_while_counts():
    scalar, vector = TensorType((), I32), TensorType((2,), F32)
    module = new_module()
    function = module.add_function("main", [scalar, vector], ["n", "x"])
    builder = Builder(function.regions[0].block)
    n, x = builder.block.arguments
    zero = builder.constant(np.array(0, np.int32))
    one = builder.constant(np.array(1, np.int32))
    cond = region([scalar, vector], lambda b, i, v: [b.emit("top.Compare", i, n, mode="Less")])
    body = region([scalar, vector], lambda b, i, v: [b.emit("top.Add", i, one), b.emit("top.Add", v, x)])
    op = builder.create("top.While", [zero, x], [scalar, vector], regions=[cond, body])
    set_results(function, op.results, ["count", "sum"])
    verify(module)
    for times in (0, 1, 5):
        result = run_function(module, {"n": np.array(times, np.int32), "x": np.array([1, -2], np.float32)})
        assert result["count"] == times
        np.testing.assert_array_equal(result["sum"], [1 + times, -2 - 2 * times])


def test_types_are_those_of_the_regions():
    block = Block([TensorType((), BOOL), TensorType((3,), F32)])
    condition, x = block.arguments
    part = region([], lambda b: [b.emit("top.Neg", x), x])
    op = Op("top.If", [condition], (), {}, [part, region([], lambda b: [x, x])])
    assert op.declaration.infer(op) == [x.type, x.type]
    loop = Op("top.While", [x, condition], (), {}, [Region(), Region()])
    assert loop.declaration.infer(loop) == [x.type, condition.type]
    with pytest.raises(ShapeError, match=r"top\.Yield"):
        Builder(block).emit("top.If", condition)


def test_what_the_verifier_says():
    from transload.ir.verify import check

    block = Block([TensorType((), BOOL), TensorType((3,), F32)])
    condition, x = block.arguments
    wrong = Op("top.If", [condition], [x.type], {}, [region([], lambda b: [x, x]), region([], lambda b: [x])])
    assert any("then region yields 2 values for 1 results" in finding.why for finding in check(wrong))
    wrong = Op("top.While", [x], [x.type], {}, [region([], lambda b: [x]), region([x.type], lambda b, v: [v])])
    assert any("region cond does not take 1 arguments" in finding.why for finding in check(wrong))
