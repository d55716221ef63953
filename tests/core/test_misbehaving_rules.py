"""Rules, shape rules and kernels that misbehave: what they give, and what they take away around their op."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
import transload.cli
from transload.context import Context
from transload.conversion import apply_conversion
from transload.engine.fold import fold_op
from transload.errors import (
    ConversionError,
    PluginFailure,
    Unsupported,
)
from transload.facts import Facts, FactTable
from transload.ir import F32, Op, Region, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.ir.declare import Dialect, operand, result
from transload.passes.manager import Pipeline
from transload.plugin import Conversion, DialectSpec, KernelTable
from transload.plugin_host import host
from transload.rewrite import CHANGED, MOST_IN_A_ROW, RewriteTable, apply_greedily, convert_ops

from tests.support.plugins import acme, beside_ours, module_of, raising

pytestmark = pytest.mark.plugin_fails

VECTOR = TensorType((2,), F32)


# --- what rules give


@pytest.mark.parametrize(("given", "said"), [
    ([], "gives 0 values, where the op has 1 results"), ({}, "gives a dict"), ("value", "gives a str"),
    (["value"], "gives a list with a str in it"), (3, "gives a int")])
def test_rules_that_give_no_values(given: Any, said: str) -> None:
    """A finding as any other, that names the rule; nothing of the module is replaced."""
    table = RewriteTable()
    table("acme.op")(lambda op, rw: given)
    module = module_of("acme.op")
    there = acme(conversions=[Conversion("acme", "acme", "top", table=table)])
    with Context(there).bind(), pytest.raises(ConversionError, match=f"the rule .* failed: TypeError: {said}") as raised:
        apply_conversion(there.conversions["acme"], module)
    assert raised.value.findings[0].names == ("here",)
    with pytest.raises(PluginFailure, match=said):
        apply_greedily(module_of("acme.op"), table)


@pytest.mark.parametrize("width", [1, 2])
def test_rules_that_never_end(width: int) -> None:
    """Known by what comes out of itself again and again, with the rule's name, and not by what a large model may need."""
    table, made = RewriteTable(), 0

    @table("acme.op", "acme.back")
    def there_and_back(op: Op, rw: Any) -> Any:
        nonlocal made
        made += 1
        for _ in range(width):
            value = rw.create("acme.back" if op.name == "acme.op" else "acme.op", op.operands, [VECTOR]).result
        return value

    there, module = acme(conversions=[Conversion("acme", "acme", "top", table=table)]), module_of("acme.op")
    with Context(there).bind(), pytest.raises(ConversionError) as raised:
        apply_conversion(there.conversions["acme"], module)
    finding = raised.value.findings[0]
    assert set(finding.names) == {"here"}
    assert finding.why.startswith("rewriting does not come to an end: the rule tests.core.test_misbehaving_rules:")
    assert "of plugin 'acme' (acme-chips 1.2)" in finding.why
    assert finding.hint == "report it to who wrote acme-chips; TRANSLOAD_PLUGINS=-acme leaves it out"
    assert made < 3000


def test_rules_that_never_end_in_regions() -> None:
    table = RewriteTable()

    @table("acme.op")
    def deeper(op: Op, rw: Any) -> Any:
        around = rw.create("other.region", op.operands, [VECTOR], regions=[Region()])
        Builder(around.regions[0].add_block()).create("acme.op", op.operands, [VECTOR])
        return around.result

    there, module = acme(conversions=[Conversion("acme", "acme", "top", table=table)]), module_of("acme.op")
    with Context(there).bind(), pytest.raises(ConversionError, match=r"does not come to an end: .*deeper of plugin 'acme'"):
        apply_conversion(there.conversions["acme"], module)


@pytest.mark.parametrize(("steps", "counts"), [(900, False), (3 * MOST_IN_A_ROW, True)])
def test_rules_that_make_much_in_a_row_come_to_their_end(steps: int, counts: bool) -> None:
    """As one does that counts the rounds of a loop, and says so."""
    table = RewriteTable()

    @table("acme.op")
    def one_less(op: Op, rw: Any) -> Any:
        left = op.attributes.get("left", steps)
        if counts:
            rw.counts_itself()
        return rw.create("acme.op", op.operands, [VECTOR], {"left": left - 1}).result if left else op.operands[0]

    there, module = acme(conversions=[Conversion("acme", "acme", "top", table=table)]), module_of("acme.op")
    with Context(there).bind():
        apply_conversion(there.conversions["acme"], module)
    assert [op.name for op in module.body_of_main] == ["func.return"]


def later(op: Op, rw: Any) -> Any:
    """A value that is made behind what uses the op's result."""
    return Builder(op.parent, before=op.parent.terminator).emit("top.Relu", op.operands[0])  # type: ignore[arg-type, union-attr]


def in_a_circle(op: Op, rw: Any) -> Any:
    first = rw.emit("top.Relu", op.operands[0])
    second = rw.emit("top.Relu", first)
    first.owner.set_operand(0, second)
    return second


def within(op: Op, rw: Any) -> Any:
    """A region that uses what is of another module."""
    around = rw.create("acme.region", [op.operands[0]], [VECTOR], regions=[Region()])
    inner = Builder(around.regions[0].add_block())
    inner.create("top.Relu", [module_of("top.Relu").body_of_main.arguments[0]], [VECTOR])
    return around.result


@pytest.mark.parametrize(("given", "said"), [
    (lambda op, rw: module_of("top.Relu").body_of_main.arguments[0], "gives <value x.* which is of another module"),
    (lambda op, rw: rw.emit("top.Relu", module_of("top.Relu").body_of_main.first.result),
     "makes a top.Relu that uses <value here.* which is of another module"),
    (later, "gives <value .* which is made behind the acme.op"),
    (lambda op, rw: rw.emit("top.Relu", later(op, rw)), "makes a top.Relu that uses <value .* which is made behind it"),
    (in_a_circle, "makes a top.Relu that uses <value .* which is made behind it"),
    (within, "makes a top.Relu that uses <value .* which is of another module"),
])
def test_rules_that_give_values_of_elsewhere(given: Any, said: str) -> None:
    """The module was told to be wrong, and not which rule made it so."""
    table = RewriteTable()
    table("acme.op")(given)
    module = module_of("acme.op")
    block = module.body_of_main
    after = Builder(block, before=block.terminator).create("top.Relu", [block.first.result], [VECTOR])  # type: ignore[union-attr]
    set_results(module.main, [after.result], ["y"])
    with beside_ours(conversions=[Conversion("acme", "acme", "top", table=table)]).bind():
        with pytest.raises(ConversionError, match=rf"the rule .* of plugin 'acme' .* failed: ValueError: {said}"):
            apply_conversion(host().conversions["acme"], module.clone())
        with pytest.raises(PluginFailure, match=said):
            apply_greedily(module.clone(), table)


@pytest.mark.parametrize(("given", "said"), [
    (lambda op, rw: module_of("top.Relu").body_of_main.arguments[0], "gives <value x.* which is of another module"),
    (lambda op, rw: rw.emit("top.Relu", module_of("top.Relu").body_of_main.first.result), "makes a top.Relu that uses <value"),
    (later, "gives <value .* which is made behind the acme.op"),
    (lambda op, rw: op.result, "gives the acme.op its own result to use"),
])
def test_rules_that_put_values_of_elsewhere_into_their_op(given: Any, said: str) -> None:
    """Those of their place are right."""
    def rule(op: Op, rw: Any) -> Any:
        op.set_operand(0, given(op, rw))
        return CHANGED

    def around(op: Op, rw: Any) -> Any:
        if op.operands[0].owner is op.parent:
            op.set_operand(0, rw.emit("top.Relu", op.operands[0]))
            return CHANGED
        return None

    wrong, right = RewriteTable(), RewriteTable()
    wrong("acme.op")(rule)
    right("acme.op")(around)
    with beside_ours(conversions=[Conversion("acme", "acme", "top", table=wrong)]).bind():
        with pytest.raises(ConversionError, match=rf"the rule .* of plugin 'acme' .* failed: ValueError: {said}"):
            apply_conversion(host().conversions["acme"], module_of("acme.op"))
        with pytest.raises(PluginFailure, match=said):
            apply_greedily(module_of("acme.op"), wrong)
    with beside_ours(conversions=[Conversion("acme", "acme", "top", table=right)]).bind():
        assert apply_greedily(module_of("acme.op"), right)


def test_rules_that_give_what_is_far_before() -> None:
    """In the same block, or around the op's, which is right."""
    table = RewriteTable()
    table("acme.op")(lambda op, rw: op.operands[0].owner.operands[0].owner.operands[0])
    module = module_of("top.Relu")
    block = module.body_of_main
    value, build = block.first.result, Builder(block, before=block.terminator)  # type: ignore[union-attr]
    for name in ("top.Relu", "top.Relu", "top.Relu", "acme.op"):
        value = build.create(name, [value], [VECTOR]).result
    block.terminator.erase()
    set_results(module.main, [value], ["y"])
    with beside_ours(conversions=[Conversion("acme", "acme", "top", table=table)]).bind():
        apply_conversion(host().conversions["acme"], module)
        assert transload.run(module, {"x": np.float32([-1, 2])})["y"].tolist() == [0, 2]


@pytest.mark.parametrize(("given", "kind"), [("text", "str"), ([None], "list"), ((each for each in ()), "generator")])
def test_shape_rules_that_give_no_types(given: Any, kind: str) -> None:
    dialect = Dialect("acme")

    @dialect.op("op")
    class Op:
        x = operand("x")
        y = result("y")

        def infer(op: Any) -> Any:
            return given

    with Context(acme(dialects=[DialectSpec("acme", dialect)])).bind():
        module = module_of("acme.op")
        said = f"the shape rule .*infer of acme.op: TypeError: gives {kind}, where a type"
        with pytest.raises(PluginFailure, match=said):
            Builder(module.body_of_main).emit("acme.op", module.body_of_main.arguments[0])
        with pytest.raises(PluginFailure, match=said):
            Pipeline.parse("infer-shapes").run(module)


@pytest.mark.parametrize("given", [[], [VECTOR, VECTOR]])
@pytest.mark.parametrize("declared", [False, True])
def test_shape_rules_that_give_another_number_of_types(given: Any, declared: bool) -> None:
    """Said of the rule where it is asked: else the next op has an operand that is no value, and its builder the blame."""
    dialect, shapes = Dialect("acme"), FactTable("acme")

    def rule(op: Any) -> Any:
        return given

    class Op:
        x = operand("x")
        y = result("y")
        infer = rule if declared else None

    dialect.op("op")(Op)
    if not declared:
        shapes.add(rule, "op")
    there = acme(dialects=[DialectSpec("acme", dialect)], facts=[Facts("shape", "acme", shapes)])
    with Context(there).bind():
        module = module_of("acme.op")
        with pytest.raises(PluginFailure, match=f"plugin 'acme' .*gives {len(given)} types, where the op has 1 result"):
            Builder(module.body_of_main).emit("acme.op", module.body_of_main.arguments[0])


# --- what kernels give


@pytest.mark.parametrize("constant", [False, True])
def test_kernels_that_give_masked_arrays(constant: bool) -> None:
    """They were told as core's failure, and folded to the numbers behind the mask."""
    dialect, kernels = Dialect("acme"), KernelTable()

    @dialect.op("half")
    class Half:
        x = operand()
        y = result()

    kernels("acme.half")(lambda op, x: np.ma.masked_array(x, mask))
    module = module_of("acme.half")
    half = module.body_of_main.first
    assert half is not None
    if constant:
        half.set_operand(0, Builder(half.parent, before=half).constant(np.ones(2, np.float32)))  # type: ignore[arg-type]
    with beside_ours(dialects=[DialectSpec("acme", dialect, kernels=kernels)]).bind():
        mask = [False, True]
        with pytest.raises(PluginFailure, match=r"plugin 'acme'.*the kernel .* of acme\.half: TypeError: gives a masked array"):
            if constant:
                fold_op(half, host().kernel, host().facts)
            transload.run(module, {"x": np.ones(2, np.float32)})
        mask = [False, False]  # of no effect
        found = transload.run(module, {"x": np.ones(2, np.float32)}, engine="reference")["y"]
        assert type(found) is np.ndarray and found.tolist() == [1, 1]


def test_kernels_that_give_matrices() -> None:
    """The next kernel's products were products of matrices."""
    dialect, kernels = Dialect("acme"), KernelTable()

    @dialect.op("matrix")
    class Matrix:
        x = operand()
        y = result()

    @dialect.op("square")
    class Square:
        x = operand()
        y = result()

    kernels("acme.matrix")(lambda op, x: np.asmatrix(x))
    kernels("acme.square")(lambda op, x: x * x)
    square = TensorType((2, 2), F32)
    module = new_module()
    function = module.add_function("main", [square], ["x"])
    build = Builder(function.regions[0].block)
    made = build.create("acme.matrix", function.regions[0].block.arguments, [square]).result
    set_results(function, [build.create("acme.square", [made], [square]).result], ["y"])
    x = np.array([[1, 2], [3, 4]], np.float32)
    with beside_ours(dialects=[DialectSpec("acme", dialect, kernels=kernels)]).bind():
        assert np.array_equal(transload.run(module, {"x": x}, engine="reference")["y"], x * x)


def test_kernels_that_raise_what_rules_do() -> None:
    """They were the core's failure, of no op."""
    dialect, kernels = Dialect("acme"), KernelTable()

    @dialect.op("half")
    class Half:
        x = operand()
        y = result()

    kernels("acme.half")(raising(Unsupported("never")))
    with beside_ours(dialects=[DialectSpec("acme", dialect, kernels=kernels)]).bind():
        for engine in ("reference", "auto"):
            with pytest.raises(PluginFailure, match=r"'acme'.* the kernel .* of acme\.half") as raised:
                transload.run(module_of("acme.half"), {"x": np.zeros(2, np.float32)}, engine=engine)
            assert "never" in raised.value.message and raised.value.findings[0].names == ("here",)


# --- rules that take away what is around their op


def _take_function(op: Any) -> None:
    op.parent_op.erase()


def _take_block(op: Any) -> None:
    for each in reversed(list(op.parent)):
        each.erase()


def _take_end(op: Any) -> None:
    op.parent.terminator.erase()


def _use_what_is_given_up(op: Any) -> None:
    made = Builder(op.parent, before=op).create("acme.half", op.operands, [VECTOR])
    op.parent.terminator.operands = (made.result,)


@pytest.mark.parametrize("outcome", [None, CHANGED], ids=["kept", "changed"])
@pytest.mark.parametrize(("act", "why"), [
    (_take_function, "it erases the func.func around the op that it is for"),
    (_take_block, "it erases the func.return at the end of the block that its op is in"),
    (_take_end, "it erases the func.return at the end of the block that its op is in"),
    (_use_what_is_given_up, "cannot erase acme.half: its result"),
])
def test_rules_that_take_away_what_is_around_their_op(act: Callable[[Any], None], why: str, outcome: Any) -> None:
    """It was a `ValueError` of whatever came across the module next, or none at all."""
    if act is _use_what_is_given_up and outcome is CHANGED:
        return  # what was made stays, and may be used
    table = RewriteTable()

    @table("acme.twice")
    def rule(op: Any, rewriter: Any) -> Any:
        act(op)
        return outcome

    with pytest.raises(PluginFailure, match=r"rule .*:test_rules_that_take.*rule of acme\.twice") as failed:
        apply_greedily(module_of("acme.twice"), table)
    assert why in str(failed.value)
    with pytest.raises(ConversionError) as refused:
        convert_ops(module_of("acme.twice"), table, "acme")
    assert why in str(refused.value) and "rule" in str(refused.value)


@pytest.mark.parametrize("outcome", [None, CHANGED], ids=["kept", "changed"])
@pytest.mark.parametrize(("act", "why"), [
    (lambda op: op.parent.remove(op), "it takes away the acme.twice that it is for, whose results are used"),
    (lambda op: op.parent.remove(op.prev), "it takes away the acme.half before the op that it is for, whose results are used"),
])
def test_rules_that_take_away_what_is_used(act: Callable[[Any], None], why: str, outcome: Any) -> None:
    """The verifier found it after the pass, and named no rule."""
    def module() -> Any:
        made = module_of("acme.twice")
        (op, _) = made.body_of_main
        op.operands = (Builder(op.parent, before=op).create("acme.half", op.operands, [VECTOR]).result,)
        return made

    table = RewriteTable()

    @table("acme.twice")
    def rule(op: Any, rewriter: Any) -> Any:
        act(op)
        return outcome

    @table("acme.half")
    def keep(op: Any, rewriter: Any) -> Any:
        return None

    with pytest.raises(PluginFailure, match=r"rule .*:test_rules_that_take.*rule of acme\.twice") as failed:
        apply_greedily(module(), table)
    assert why in str(failed.value)


def test_rules_and_kernels_that_go_elsewhere_leave_us_where_we_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths of what comes after are from the folder that the user stands in."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    table, kernels = RewriteTable(), KernelTable()

    @table("acme.twice")
    def rule(op: Any, rewriter: Any) -> Any:
        os.chdir(tmp_path / "elsewhere")

    @kernels("acme.twice")
    def kernel(op: Any, x: Any) -> Any:
        os.chdir(tmp_path / "elsewhere")
        return x

    apply_greedily(module_of("acme.twice"), table)
    assert Path.cwd() == tmp_path
    with pytest.raises(ConversionError):
        convert_ops(module_of("acme.twice"), table, "acme")
    assert Path.cwd() == tmp_path
    dialect = DialectSpec("acme", Dialect("acme"), kernels)
    with beside_ours(dialects=[dialect]).bind():
        transload.run(module_of("acme.twice"), {"x": np.ones(2, np.float32)}, engine="reference")
    assert Path.cwd() == tmp_path
