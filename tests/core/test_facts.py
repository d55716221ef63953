"""Facts about ops: registered by any plugin for any op, loaded when asked for, with blame where something is wrong."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from transload import hookimpl
from transload.analysis.movement import Moves, moves_of
from transload.api import run
from transload.errors import PluginError, UsageError
from transload.facts import FactKind, Facts, FactTable
from transload.ir import F32, TensorType
from transload.ir.declare import Dialect, operand, result
from transload.passes.canonicalize import canonicalize
from transload.passes.shapes import infer_shapes
from transload.plugin import DialectSpec, KernelTable
from transload.plugin_host import Host, host, use_host
from transload.rewrite import RewriteTable
from transload.testing.models import build_module

THREE = TensorType((3,), F32)


def plugin(name: str, *items: Any, dialects: tuple[DialectSpec, ...] = ()) -> EntryPoint:
    """An entry point whose plugin registers facts and kinds of facts."""
    module = ModuleType(f"facts_plugin_{name}")

    @hookimpl
    def register_facts(register: Any) -> None:
        for item in items:
            register(item)

    @hookimpl
    def register_dialects(register: Any) -> None:
        for item in dialects:
            register(item)

    module.register_facts, module.register_dialects = register_facts, register_dialects  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    return EntryPoint(name, module.__name__, "transload")


def host_with(*points: EntryPoint) -> Host:
    return Host(points=[*entry_points(group="transload"), *points], only="")


@contextmanager
def using(*points: EntryPoint) -> Iterator[Host]:
    before, mine = host(), host_with(*points)
    use_host(mine)
    try:
        yield mine
    finally:
        use_host(before)


def said_of(there: Host, name: str) -> str:
    there.everything()
    return next(info.error or "" for info in there.plugins if info.name == name)


def a_dialect() -> Dialect:
    dialect = Dialect("odd")

    @dialect.op("Twice")
    class Twice:
        """No inference of its own."""

        input = operand()
        output = result()

    return dialect


MINE = DialectSpec("odd", a_dialect())


# --- what a plugin can say

def test_a_plugin_says_something_of_its_own_op_and_of_the_hubs():
    mine = plugin("mine", Facts("moves", "odd", {"odd.Twice": Moves()}), Facts("moves", "top", {"top.Sin": Moves()}),
                  dialects=(MINE,))
    there = host_with(mine)
    assert there.fact("moves", "odd.Twice") == Moves() and there.fact("moves", "top.Sin") == Moves()
    assert there.fact("moves", "odd.Other") is None and there.fact("moves", "nobody.Op") is None
    assert said_of(there, "mine") == ""
    assert {"moves of odd", "moves of top"} <= {text for info in there.plugins for text in info.registered.get("facts", ())}


def test_a_table_of_functions_completes_its_names():
    table = FactTable("odd")

    @table("Twice", "odd.Thrice")
    def rule(op: Any) -> None:
        """Says nothing."""

    assert table == {"odd.Twice": rule, "odd.Thrice": rule}


def test_a_kind_of_ones_own():
    cost = FactKind("cost", "how many cycles it takes", "the scheduler", int)
    there = host_with(plugin("mine", cost, Facts("cost", "top", {"top.Add": 3})))
    assert there.fact("cost", "top.Add") == 3
    assert there.fact_kinds["cost"].asked_by == "the scheduler"


def test_every_kind_says_what_it_is():
    kinds = host().fact_kinds
    assert {"kernel", "canonicalization", "shape", "layout", "error-bound", "moves", "indices", "cast",
            "integer-width"} <= set(kinds)
    assert all(kind.says and kind.asked_by for kind in kinds.values())


def test_a_kernel_for_another_dialects_op():
    kernels = KernelTable()

    @kernels("odd.Twice")
    def twice(op: Any, x: np.ndarray) -> np.ndarray:
        return 2 * x

    with using(plugin("owner", dialects=(MINE,)), plugin("other", Facts("kernel", "odd", kernels))):
        module = build_module([THREE], lambda b, x: b.create("odd.Twice", [x], [x.type]).result)
        assert run(module, {"x0": np.ones(3, np.float32)})["y"].tolist() == [2, 2, 2]


def test_a_shape_rule_for_an_op_that_has_none():
    rule = Facts("shape", "odd", {"odd.Twice": lambda op: op.input.type})
    with using(plugin("owner", dialects=(MINE,)), plugin("other", rule)):
        module = build_module([THREE], lambda b, x: b.emit("odd.Twice", b.emit("odd.Twice", x)))
        assert [str(op.results[0].type) for op in module.body_of_main if op.results] == ["tensor<3xf32>"] * 2
        module.body_of_main.arguments[0].type = TensorType((5,), F32)
        assert infer_shapes(module)
        assert module.body_of_main.terminator.operands[0].type == TensorType((5,), F32)


def test_a_simplification_of_another_dialects_op_joins_its_owners():
    table = RewriteTable()

    @table("top.Sin")
    def sin_of_sin(op: Any, rw: Any) -> Any:
        return op.operands[0]

    with using(plugin("other", Facts("canonicalization", "top", table))):
        module = build_module([THREE], lambda b, x: b.emit("top.Reshape", b.emit("top.Sin", x), shape=(3,)))
        assert canonicalize(module)
        assert [op.name for op in module.body_of_main] == ["func.return"]  # the hub's own removed the Reshape


# --- what is wrong, and whose fault it is

def test_two_plugins_that_say_the_same_are_named():
    there = host_with(plugin("one", Facts("moves", "top", {"top.Sin": Moves()})),
                      plugin("other", Facts("moves", "top", {"top.Sin": Moves(None)})))
    with pytest.raises(PluginError, match=r"plugins one .* and other .* both give the fact 'moves' of top.Sin") as caught:
        there.fact("moves", "top.Sin")
    assert "overrides=True" in caught.value.hint and "TRANSLOAD_PLUGINS=-other" in caught.value.hint
    there = host_with(plugin("one", Facts("moves", "top", {"top.Sin": Moves()})))
    there.register(plugin("other", Facts("moves", "top", {"top.Sin": Moves(None)})).load(), "my own")
    with pytest.raises(PluginError, match=r"both give the fact 'moves' of top\.Sin") as caught:
        there.fact("moves", "top.Sin")
    assert "host().unregister('my own')" in caught.value.hint


@pytest.mark.parametrize("first", [False, True])
def test_one_of_two_may_override(first: bool):
    pair = [Facts("moves", "top", {"top.Reshape": Moves(None)}, overrides=True), Facts("moves", "top", {"top.Sin": Moves()})]
    there = host_with(*(plugin(f"p{index}", facts) for index, facts in enumerate(pair if first else pair[::-1])))
    assert there.fact("moves", "top.Reshape") == Moves(None)  # the hub's own is overridden
    assert there.fact("moves", "top.Sin") == Moves()
    assert there.fact("moves", "top.Squeeze") == host().fact("moves", "top.Squeeze")


def test_two_that_both_override_are_named():
    there = host_with(*(plugin(name, Facts("moves", "top", {"top.Sin": Moves()}, overrides=True)) for name in ("one", "other")))
    with pytest.raises(PluginError, match="both give"):
        there.fact("moves", "top.Sin")


def test_a_misspelt_kind_is_its_plugins_error_with_the_nearest():
    there = host_with(plugin("mine", Facts("layuot", "top", {})))
    assert "no kind of fact is called 'layuot' (did you mean 'layout'?" in said_of(there, "mine")
    with pytest.raises(UsageError, match="no kind of fact is called 'indexes'") as caught:
        there.facts("indexes")
    assert "'indices'" in caught.value.hint


@pytest.mark.parametrize(("table", "words"), [
    ({"top.Rehsape": Moves()}, "of top.Rehsape, which dialect 'top' does not have"),
    ({"tosa.reshape": Moves()}, "about ops of another dialect: 'tosa.reshape'"),
    ({"top.Sin": 3}, "gives as fact 'moves' of top.Sin a int"),
    ("transload.facts:__all__", "are no table: list"),
    ("facts_plugin_mine:NOTHING", "cannot be loaded: .*NOTHING"),
    ("no_such_module:TABLE", "cannot be loaded: ModuleNotFoundError"),
])
def test_a_table_that_is_wrong_is_its_plugins_error(table: Any, words: str):
    there = host_with(plugin("mine", Facts("moves", "top", table)))
    with pytest.raises(PluginError, match=words) as caught:
        there.fact("moves", "top.Reshape")
    assert "plugin mine" in str(caught.value)
    assert there.fact("moves", "tosa.reshape") is not None  # other dialects are none the worse


def test_a_kind_declared_twice_keeps_the_first():
    there = host_with(plugin("mine", FactKind("moves", "something else", "nobody")))
    assert "the kind 'moves' is declared twice" in said_of(there, "mine")
    assert there.fact_kinds["moves"].says != "something else"


# --- what is loaded

def test_tables_load_with_their_dialect_and_help_loads_none():
    code = """
import sys
from transload.plugin_host import host
host().fact_kinds
tables = [m for m in sys.modules if m.startswith(("transload_hub.", "transload_plugins.tosa.", "transload_plugins.stablehlo."))
          and m != "transload_hub.choices"]  # options of conversions, which are said when these are registered
assert not tables, tables
assert "numpy" not in sys.modules
host().fact("moves", "tosa.reshape")
assert "transload_plugins.tosa.facts" in sys.modules
assert "transload_plugins.stablehlo.facts" not in sys.modules and "transload_hub.analysis.movement" not in sys.modules
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr


def test_moves_may_depend_on_the_op():
    made: list[Any] = []
    build_module([THREE], lambda b, x: made.append(b.emit("top.Pad", x, paddings=(1, 1), val=2.0)) or made[0])
    assert moves_of(made[0].op) == Moves(constants=(2.0,))


def test_kinds_are_in_the_documentation_and_listed(root: Any):
    page = (root / "docs" / "plugins.md").read_text(encoding="utf-8")
    there = host()
    there.everything()
    listed = {name for info in there.plugins for name in info.registered.get("kinds of facts", ())}
    assert listed == set(there.fact_kinds)
    for name in listed:
        assert f"| `{name}` |" in page, f"docs/plugins.md does not name the kind {name}"
