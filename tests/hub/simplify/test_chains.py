"""Simplifications keep what is computed, and leave alone what only looks as if it did nothing."""

from __future__ import annotations

import numpy as np
import pytest

from transload.engine import run_function
from transload.ir import F32, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.rewrite import apply_greedily
from transload_hub.simplify.table import TABLE

CHAINS = [
    # what is emitted one after the other on a [1, 4, 3] tensor, and what is left
    ([("Pad", {"paddings": (0,) * 6})], []),
    ([("Pad", {"paddings": (0, 1, 0, 0, -1, 0)})], ["top.Pad"]),
    ([("Permute", {"order": (0, 2, 1)}), ("Permute", {"order": (0, 2, 1)})], []),
    ([("Permute", {"order": (1, 0, 2)})], ["top.Reshape"]),
    ([("Permute", {"order": (0, 2, 1)})], ["top.Permute"]),
    ([("Reverse", {"axes": (0,)})], []),
    ([("Reverse", {"axes": (1,)})], ["top.Reverse"]),
    ([("Slice", {"offset": (0, 0, 0), "ends": (1, 9, 3), "steps": (1, 1, 1)})], []),
    ([("Slice", {"offset": (0, 3, 0), "ends": (1, -1, 3), "steps": (1, -1, 1)})], ["top.Slice"]),
    ([("Reshape", {"shape": (12,)}), ("Unsqueeze", {"axes": (0,)})], ["top.Reshape"]),
    ([("Slice", {"offset": (0, 1, 0), "ends": (1, 4, 3), "steps": (1, 1, 1)}),
      ("Slice", {"offset": (0, 1, 0), "ends": (1, 3, 3), "steps": (1, 1, 1)})], ["top.Slice"]),
    ([("Slice", {"offset": (0, 1, 0), "ends": (1, 4, 3), "steps": (1, 1, 1)}),
      ("Slice", {"offset": (0, 0, 1), "ends": (1, 3, 3), "steps": (1, 1, 1)})], ["top.Slice", "top.Slice"]),
    ([("Concat", {"axis": 0})], []),
    ([("Concat", {"axis": 0, "do_relu": True})], ["top.Concat"]),
]


@pytest.mark.parametrize(("chain", "left"), CHAINS)
def test_chain(chain, left):
    module = new_module()
    function = module.add_function("main", [TensorType((1, 4, 3), F32)], ["x"])
    builder = Builder(function.regions[0].block)
    value = builder.block.arguments[0]
    for name, attributes in chain:
        value = builder.emit(f"top.{name}", value, **attributes)
    set_results(function, [value], ["y"])
    x = np.arange(-6, 6, dtype=np.float32).reshape(1, 4, 3)
    before = run_function(module, {"x": x})["y"]
    apply_greedily(module, TABLE)
    for op in reversed(list(module.ops())):
        if op.results and not any(result.uses for result in op.results):
            op.erase()
    assert [op.name for op in module.ops() if op.name.startswith("top.")] == left
    np.testing.assert_array_equal(run_function(module, {"x": x})["y"], before)


JOINED = [
    # begin and end of a slice of the concatenation of [2, 3], [1, 3] and [2, 3], and what is left
    ((0, 2), []),
    ((2, 3), []),
    ((0, 1), ["top.Slice"]),
    ((4, 5), ["top.Slice"]),
    ((0, 3), ["top.Concat"]),
    ((2, 5), ["top.Concat"]),
    ((1, 3), ["top.Concat", "top.Slice"]),
]


@pytest.mark.parametrize(("span", "left"), JOINED)
@pytest.mark.parametrize("nested", [False, True])
def test_slice_of_concat(span, left, nested):
    module = new_module()
    function = module.add_function("main", [TensorType((size, 3), F32) for size in (2, 1, 2)], ["a", "b", "c"])
    builder = Builder(function.regions[0].block)
    a, b, c = builder.block.arguments
    parts = (builder.emit("top.Concat", a, b, axis=0), c) if nested else (a, b, c)
    joined = builder.emit("top.Concat", *parts, axis=-2)
    set_results(function, [builder.emit("top.Slice", joined, offset=(span[0], 0), ends=(span[1], 3), steps=(1, 1))], ["y"])
    feeds = {name: np.random.default_rng(i).normal(size=(size, 3)).astype(np.float32) for i, (name, size) in
             enumerate((("a", 2), ("b", 1), ("c", 2)))}
    before = run_function(module, feeds)["y"]
    apply_greedily(module, TABLE)
    for op in reversed(list(module.ops())):
        if op.results and not any(result.uses for result in op.results):
            op.erase()
    assert [op.name for op in module.ops() if op.name.startswith("top.")] == left
    np.testing.assert_array_equal(run_function(module, feeds)["y"], before)
