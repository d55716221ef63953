"""A notebook's plugins: tables that grow after they were used, plugins that take another's place, and threads beside them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import transload
from transload.context import Context
from transload.errors import PluginError, UsageError
from transload.facts import FactKind, Facts, FactTable
from transload.ir import F32, Module, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.ir.declare import FLOAT_TENSOR, Dialect, operand, result
from transload.plugin import Conversion, DialectSpec, KernelTable, Metric
from transload.plugin_host import Host
from transload.rewrite import RewriteTable

from tests.support.plugins import registering

X = np.arange(4, dtype=np.float32)


class Toy:
    """A plugin of a dialect, its kernels, and rules to the hub; what it names is filled by the test, as a notebook does."""

    def __init__(self, name: str = "toy") -> None:
        self.name, self.dialect, self.kernels, self.rules = name, Dialect(name), KernelTable(), RewriteTable()
        conversion = Conversion(f"{name}-to-top", name, "top", self.rules)
        hooks = registering(dialects=[DialectSpec(name, self.dialect, kernels=self.kernels)], conversions=[conversion])
        vars(self).update(hooks)

    def op(self, name: str, factor: float) -> None:
        self.dialect.op(name)(type(name, (), {
            "__doc__": "One.", "input": operand("x", FLOAT_TENSOR), "output": result("y", FLOAT_TENSOR),
            "infer": lambda op: op.input.type}))
        self.kernel(name, factor)

    def kernel(self, name: str, factor: float) -> None:
        self.kernels(f"{self.name}.{name}")(lambda op, x: x * np.float32(factor))

    def rule(self, name: str, factor: float) -> None:
        def lowered(op: Any, rw: Any) -> Any:
            return rw.emit("top.MulConst", op.input, const_val=factor)

        lowered.__qualname__ = "lowered"  # as one of a notebook
        self.rules(f"{self.name}.{name}")(lowered)


def computed(name: str, lowered: bool = False) -> list[float]:
    """What an op gives of `X`, over itself: its factor."""
    module: Module = new_module()
    main = module.add_function("main", [TensorType((4,), F32)], ["x"])
    block = main.regions[0].block
    set_results(main, [Builder(block).emit(name, block.arguments[0])], ["y"])
    found = transload.run(transload.lower(module, "top") if lowered else module, {"x": X})["y"]
    factors: list[float] = (found[1:] / X[1:]).tolist()
    return factors


@pytest.fixture
def there() -> Iterator[Host]:
    made = Host()
    with Context(made).bind():
        yield made


def test_what_is_added_to_tables_after_they_were_used_counts(there: Host) -> None:
    """It had no effect, and nobody said so."""
    toy = Toy()
    toy.op("One", 2)
    toy.rule("One", 2)
    there.register(toy, "toy")
    assert computed("toy.One") == computed("toy.One", lowered=True) == [2, 2, 2]
    toy.op("Two", 3)
    toy.rule("Two", 3)
    assert computed("toy.Two") == computed("toy.Two", lowered=True) == [3, 3, 3]
    toy.kernel("One", 5)
    toy.rule("One", 5)
    assert computed("toy.One") == computed("toy.One", lowered=True) == [5, 5, 5]


def test_facts_that_are_added_later_count(there: Host) -> None:
    table = FactTable("top")
    there.register(type("P", (), registering(facts=[FactKind("cost", "cycles", "tests", int), Facts("cost", "top", table)])), "p")
    assert there.fact("cost", "top.Relu") is None
    table["top.Relu"] = 3
    assert there.fact("cost", "top.Relu") == 3
    table.add(4, "Relu", "Add")
    assert there.fact("cost", "top.Relu") == there.fact("cost", "top.Add") == 4


def test_facts_that_are_given_as_to_a_dictionary_count(there: Host) -> None:
    """`update` and what takes facts out told nobody; a new reason of a refusal was never heard behind the old one."""
    table = FactTable("top")
    there.register(type("P", (), registering(facts=[FactKind("cost", "cycles", "tests", int), Facts("cost", "top", table)])), "p")
    assert there.fact("cost", "top.Relu") is None
    table.update({"top.Relu": 3})
    assert there.fact("cost", "top.Relu") == 3
    table |= {"top.Relu": 4}
    assert there.fact("cost", "top.Relu") == 4
    assert table.pop("top.Relu") == 4 and there.fact("cost", "top.Relu") is None
    assert table.setdefault("top.Relu", 5) == there.fact("cost", "top.Relu") == 5
    del table["top.Relu"]
    assert there.fact("cost", "top.Relu") is None
    rules = RewriteTable()
    for why in ("first", "second"):
        rules.refuse({"top.Relu": (why, "hint")})
    assert rules.refusal("top.Relu") == ("second", "hint")


def test_rules_of_one_name_are_all_kept_where_they_are_no_notebooks() -> None:
    table = RewriteTable()

    def made(number: int) -> Any:
        return lambda op, rw: number

    @table("toy.One")
    def _(op: Any, rw: Any) -> Any:
        return None

    for number in range(2):
        table("toy.One")(made(number))
    assert len(table.functions["toy.One"]) == 3


def test_a_plugin_takes_the_place_of_that_of_its_name(there: Host) -> None:
    first, second = Toy(), Toy()
    first.op("One", 2)
    second.op("One", 7)
    there.register(first, "toy", replace=True)  # there is none to replace: the cell is run for the first time
    assert computed("toy.One") == [2, 2, 2]
    with pytest.raises(PluginError, match="a plugin is called 'toy' already") as told:
        there.register(second, "toy")
    assert "replace=True" in told.value.hint
    there.register(second, "toy", replace=True)
    assert computed("toy.One") == [7, 7, 7]
    assert [info.name for info in there.plugins].count("toy") == 1
    there.register(second, "toy", replace=True)  # the same object again
    assert computed("toy.One") == [7, 7, 7]


def test_a_plugin_that_is_wrong_replaces_nothing(there: Host) -> None:
    toy = Toy()
    toy.op("One", 2)
    there.register(toy, "toy")
    for wrong in (type("P", (), registering(metrics=[Metric("", max)])), object()):
        with pytest.raises(PluginError, match="cannot be registered"):
            there.register(wrong, "toy", replace=True)
    assert computed("toy.One") == [2, 2, 2]
    there.unregister("toy")
    there.register(toy, "toy")


def test_a_plugin_is_taken_out(there: Host) -> None:
    toy = Toy()
    toy.op("One", 2)
    there.register(toy, "toy")
    there.unregister("toy")
    assert "toy" not in there.dialects and there.dialect("toy") is None and there.owner("dialects", "toy") is None
    with pytest.raises(UsageError, match="no plugin is called 'toy'"):
        there.unregister("toy")


def test_a_package_s_plugin_is_not_taken_out(there: Host) -> None:
    for change in (there.unregister, lambda name: there.register(Toy(), name, replace=True)):
        with pytest.raises(UsageError, match=r"plugin 'onnx' \(transload .*\) is of a package") as told:
            change("onnx")
        assert "TRANSLOAD_PLUGINS=-onnx" in told.value.hint
        for name in ("core", "hub"):  # which the environment does not leave out either
            with pytest.raises(UsageError, match="is of a package") as told:
                change(name)
            assert "nothing leaves out what others stand on" in told.value.hint


def test_what_others_extend_stays(there: Host) -> None:
    there.register(Toy(), "toy")
    more = Conversion("more", "toy", "top", RewriteTable(), extends="toy-to-top")
    there.register(type("P", (), registering(conversions=[more])), "more")
    with pytest.raises(PluginError, match=r"others extend what it registered(.|\n)*'more'"):
        there.unregister("toy")
    assert "toy" in there.dialects
    there.register(Toy(), "toy", replace=True)
    there.unregister("more")
    there.unregister("toy")


def test_plugins_that_are_registered_while_others_look_on(there: Host) -> None:
    """RuntimeError: dictionary changed size during iteration."""
    seen = there.metrics
    walk = iter(seen.items())
    next(walk)
    late = type("P", (), registering(metrics=[Metric("late", lambda a, b: 0.0)]))
    thread = threading.Thread(target=there.register, args=(late, "late"))
    thread.start()
    thread.join()
    assert len(list(walk)) == len(seen) - 1 and "late" in there.metrics


@pytest.mark.plugin_fails
@pytest.mark.parametrize("act", [
    lambda there: there.register(Toy("inner"), "inner"), lambda there: there.unregister("before"),
], ids=["register", "unregister"])
def test_within_a_hook_no_other_plugin_is_registered(act: Any) -> None:
    """It was told as done, and lost as soon as the hook had ended."""
    there = Host()
    there.register(Toy("before"), "before")

    def outer(register: Any) -> None:
        register(Metric("outer", lambda a, b: 1.0))
        act(there)

    outer.__name__ = "register_metrics"
    hooks = type("Outer", (), {"register_metrics": staticmethod(transload.hookimpl(outer))})()
    with pytest.raises(PluginError, match=r"register_metrics of plugin 'outer' .*cannot (register 'inner'|leave out)"):
        there.register(hooks, "outer")
    assert {"before"} == {"outer", "inner", "before"} & {info.name for info in there.plugins} and "outer" not in there.metrics
    there.register(Toy("inner"), "inner")
    assert there.dialect("inner") is not None
