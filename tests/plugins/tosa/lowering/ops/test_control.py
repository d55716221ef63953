"""Branches and loops: what regions use from around them is given to TOSA's graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.errors import ConversionError
from transload.ir import F32, Block, Region, TensorType
from transload.ir.build import Builder

Same = Callable[..., Any]


def _branches(builder: Any, x: Any, condition: Any) -> Any:
    around, number = builder.emit("top.Exp", x), builder.constant(np.array([[2.0]], np.float32))
    regions = []
    for name in ("top.Mul", "top.Add"):
        region = Region([Block()])
        inside = Builder(region.block, location="inside")
        made = inside.emit("top.Relu", inside.emit("top.Sub", inside.emit(name, around, number), x))
        inside.create("top.Yield", (made,))
        regions.append(region)
    return builder.create("top.If", (condition,), (x.type,), {}, regions).results[0]


@pytest.mark.parametrize("condition", [True, False])
def test_a_branch(same: Same, normal: Any, condition: bool) -> None:
    module = same(_branches, normal(3, 4), np.array([condition]))
    (branch,) = (op for op in module.ops() if op.name == "tosa.cond_if")
    assert len(branch.operands) == 3  # the condition and the two values from around; the constant is copied


@pytest.mark.parametrize("condition", [True, False])
def test_a_constant_condition_leaves_the_branch_taken(same: Same, normal: Any, condition: bool) -> None:
    module = same(lambda b, x: _branches(b, x, b.constant(np.array([condition]))), normal(3, 4))
    names = {op.name for op in module.ops()}
    assert "tosa.cond_if" not in names and ("tosa.mul" in names) == condition


def test_a_loop(same: Same, normal: Any) -> None:
    def loop(builder: Any, x: Any, count: Any) -> Any:
        one, half = builder.constant(np.array([1], np.int32)), builder.constant(np.array([[0.5]], np.float32))
        around = builder.emit("top.Exp", x)
        types = [count.type, x.type]
        cond, body = Region([Block(types)]), Region([Block(types)])
        inside = Builder(cond.block)
        more = inside.emit("top.Compare", cond.block.arguments[0], builder.constant(np.array([5], np.int32)), mode="Less")
        inside.create("top.Yield", (more,))
        inside = Builder(body.block)
        number, state = body.block.arguments
        following = inside.emit("top.Add", inside.emit("top.Mul", state, half), around)
        inside.create("top.Yield", (inside.emit("top.Add", number, one), following))
        return builder.create("top.While", (count, x), types, {}, [cond, body]).results

    same(loop, normal(3, 4), np.array([1], np.int32))


def test_a_branch_within_a_branch(same: Same, normal: Any) -> None:
    def nested(builder: Any, x: Any, condition: Any) -> Any:
        regions = []
        for inner in (True, False):
            region = Region([Block()])
            inside = Builder(region.block)
            made = _branches(inside, x, condition) if inner else inside.emit("top.Neg", x)
            inside.create("top.Yield", (made,))
            regions.append(region)
        return builder.create("top.If", (condition,), (x.type,), {}, regions).results[0]

    same(nested, normal(3, 4), np.array([True]))


def test_branches_of_different_shapes_are_refused(same: Same, normal: Any) -> None:
    def uneven(builder: Any, x: Any, condition: Any) -> Any:
        regions = []
        for shape in ((12,), (3, 4)):
            region = Region([Block()])
            inside = Builder(region.block)
            inside.create("top.Yield", (inside.emit("top.Reshape", x, shape=shape),))
            regions.append(region)
        return builder.create("top.If", (condition,), (TensorType(None, F32),), {}, regions).results[0]

    with pytest.raises(ConversionError, match="one static shape"):
        same(uneven, normal(3, 4), np.array([True]))
