"""Helpers that build TOSA ops."""

from __future__ import annotations

import numpy as np

from transload.budget import allowed
from transload.context import new_run
from transload.ir import F32, I8, Op, QuantType, SplatData, TensorType, Value, new_module, set_results
from transload.ir.build import Builder
from transload.rewrite import Rewriter, RewriteTable, convert_ops
from transload_plugins.tosa import build

PLAIN = TensorType((2, 2), I8)


def lowered(n_ops: int, table: RewriteTable) -> list[str]:
    """The names of the ops that so many `acme.op` one after the other become."""
    module = new_module()
    main = module.add_function("main", [PLAIN], ["x"])
    builder = Builder(main.regions[0].block)
    value = main.regions[0].block.arguments[0]
    for index in range(n_ops):
        value = builder.create("acme.op", (value,), (PLAIN,), location=f"op{index}").result
    set_results(main, [value], ["y"])
    convert_ops(module, table, "acme")
    return [op.name for op in main.regions[0].block]


def test_rewrites_of_one_run_share_zero_points() -> None:
    table = RewriteTable()

    @table("acme.op")
    def negated(op: Op, rw: Rewriter) -> Value:
        return build.negate(rw, op.operands[0], 3, 5)

    names = lowered(3, table)
    assert names.count("tosa.const") == 2
    assert names.count("tosa.negate") == 3


def test_constant_that_lost_its_users_is_not_shared() -> None:
    table, seen = RewriteTable(), []

    @table("acme.op")
    def leaves_a_constant(op: Op, rw: Rewriter) -> Value:
        seen.append(build.zero_point(rw, 3, I8))
        return rw.emit("tosa.identity", op.operands[0])

    lowered(2, table)
    assert seen[0] is not seen[1]


def test_constant_of_a_rewrite_that_gave_up_is_not_shared() -> None:
    table = RewriteTable()

    @table("acme.op")
    def gives_up(op: Op, rw: Rewriter) -> None:
        build.negate(rw, op.operands[0], 3, 5)

    @table("acme.op")
    def negated(op: Op, rw: Rewriter) -> Value:
        return build.negate(rw, op.operands[0], 3, 5)

    assert lowered(1, table) == ["tosa.const", "tosa.const", "tosa.negate", "func.return"]


def test_outside_of_a_run_nothing_is_shared() -> None:
    builder = Builder(new_module().add_function("main", []).regions[0].block)
    assert build.scalar(builder, 1, I8) is not build.scalar(builder, 1, I8)
    assert build.scalar(builder, 1.0, F32) is not build.scalar(builder, 1.0, F32)


def test_a_constant_is_moved_at_once_where_folding_is_wanted() -> None:
    """Without the op for it being made. Scales go with their channels, as that op says, and away where no type has them."""
    element = QuantType(I8, F32, (0.5, 0.25, 0.125), (0,), 0)
    for fold in (True, False):
        block = new_module().add_function("main", []).regions[0].block
        builder = Builder(block, fold=fold)
        held = builder.constant(np.arange(6, dtype=np.int8).reshape(3, 2), element, dialect="tosa")
        turned = build.transpose(builder, held, (1, 0))
        row = build.reshape(builder, turned, (6,))
        assert turned.tensor_type == TensorType((2, 3), element.replace(axis=1)) and row.tensor_type == TensorType((6,), I8)
        made = [op.name for op in block]
        if fold:
            assert made == ["tosa.const"] * 3
            assert row.owner.attributes["values"].numpy().tolist() == [0, 2, 4, 1, 3, 5]
        else:
            assert made == ["tosa.const", "tosa.transpose", "tosa.const_shape", "tosa.reshape"]


def test_a_constant_is_not_moved_beyond_the_budget() -> None:
    block = new_module().add_function("main", []).regions[0].block
    with allowed(folded=8), new_run():
        builder = Builder(block, fold=True)
        held = builder.constant(np.zeros((3, 2), np.int8), dialect="tosa")
        build.transpose(builder, held, (1, 0))
    assert [op.name for op in block] == ["tosa.const", "tosa.transpose"]


def test_a_constant_that_would_grow_is_not_moved() -> None:
    block = new_module().add_function("main", []).regions[0].block
    builder = Builder(block, fold=True)
    held = builder.constant(SplatData(np.float32(0.5), (1 << 10, 1 << 10)), dialect="tosa")
    build.reshape(builder, held, (1 << 20,))
    assert [op.name for op in block if op.name != "tosa.const_shape"] == ["tosa.const", "tosa.reshape"]
