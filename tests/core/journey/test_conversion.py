"""Conversions of third parties: passes before and after as text, options, extensions, findings, entries, joins, routes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

import pytest

import transload
from transload.conversion import apply_conversion, options_of, route_from
from transload.errors import ConversionError, Finding, PluginError, Unsupported, UsageError
from transload.findings import refuse
from transload.ir import Module
from transload.journey import Observer, Stage, convert_to
from transload.plugin import Conversion, Pass
from transload.rewrite import RewriteTable


def renaming(**names: str) -> RewriteTable:
    """A table that makes one op of another: `a__x="b.x"`."""
    table = RewriteTable()
    for name, made in names.items():
        table(name.replace("__", "."))(lambda op, rw, made=made: rw.create(made).results)
    return table


def append(name: str) -> Any:
    """A pass that writes an op of this name at the front of the main function."""
    def run(module: Module, *, times: int = 1) -> bool:
        from transload.ir import Op

        block = module.body_of_main
        for _ in range(times):
            block.insert(Op(name), block.first)
        return times > 0

    return run


class Stages(Observer):
    """Notes down the stages' names."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def enters(self, stage: Stage) -> None:
        self.names.append(stage.name)


def test_passes_before_and_after_run_around_the_rewrites(kit):
    kit.add(
        Pass("first", append("a.first")), Pass("last", append("b.last")),
        Conversion("a-to-b", "a", "b", renaming(a__x="b.x", a__first="b.first"), before="first{times=2}", after="last"))
    module = kit.module("a.x")
    convert_to(module, ("b",))
    assert kit.names(module) == ["b.last", "b.first", "b.first", "b.x"]


def test_options_reach_the_passes_by_name_and_the_rewrites(kit):
    table, seen = RewriteTable(), []
    table("a.x")(lambda op, rw: seen.append(dict(rw.options)) or rw.create("b.x").results)
    kit.add(
        Pass("first", append("b.first")),
        Conversion("a-to-b", "a", "b", table, before="first{times=$count}", options={"count": (int, 1, "How many.")}))
    module = kit.module("a.x")
    convert_to(module, ("b",), count="3")
    assert kit.names(module) == ["b.first"] * 3 + ["b.x"] and seen == [{"count": 3}]
    with pytest.raises(UsageError, match="takes no option cuont"):
        apply_conversion(kit.host.conversions["a-to-b"], module, cuont=1)


def test_a_pipeline_that_names_an_option_that_is_none_says_so(kit):
    kit.add(Pass("first", append("b.first")), Conversion("a-to-b", "a", "b", before="first{times=$count}"))
    with pytest.raises(PluginError, match=r"'a-to-b': option times of pass 'first' is \$count, and there is no option count"):
        convert_to(kit.module("a.x"), ("b",))


def test_an_extension_has_options_of_its_own(kit):
    """What ended in a TypeError: the conversion's driver had a fixed signature."""
    more, seen = RewriteTable(), []
    more("mine.x")(lambda op, rw: seen.append(rw.options["width"]) or rw.create("b.x").results)
    kit.add(
        Conversion("a-to-b", "a", "b", renaming(a__x="b.x"), options={"count": (int, 1, "How many.")}),
        Conversion("mine", "mine", "b", more, extends="a-to-b", options={"width": (("8", "16"), "8", "How wide.")}))
    assert list(options_of(kit.host.conversions["a-to-b"])) == ["count", "width"]
    module = kit.module("a.x", "mine.x")
    convert_to(module, ("b",), width="16")
    assert kit.names(module) == ["b.x", "b.x"] and seen == ["16"]


def test_an_extension_of_top_to_tosa_has_options_of_its_own():
    """The same with our own conversions, as `docs/plugins.md` has it."""
    import transload
    from transload.context import Context
    from transload.plugin_host import Host
    from transload.text import parse_module

    more, seen = RewriteTable(), []

    @more("top.Relu")
    def relu(op: Any, rw: Any) -> Any:
        seen.append(rw.options["limit"])
        return rw.emit("tosa.sigmoid", op.operands[0])

    new = Host()
    new.conversions["mine"] = Conversion("mine", "top", "tosa", more, extends="top-to-tosa", options={"limit": (int, 6, "Most.")})
    with Context(new).bind():
        module = parse_module('''"func.func"() <{sym_name = "main", function_type = (tensor<4xf32>) -> tensor<4xf32>}> ({
        ^bb0(%x: tensor<4xf32>):
          %y = "top.Relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
          "func.return"(%y) : (tensor<4xf32>) -> ()
        }) : () -> ()''')
        transload.lower(module, "tosa", limit=3)
    assert seen == [3]


def test_two_plugins_that_declare_an_option_differently_are_named(kit):
    kit.add(
        Conversion("a-to-b", "a", "b", renaming(a__x="b.x")),
        Conversion("one", "a", "b", extends="a-to-b", options={"width": (int, 1, "")}),
        Conversion("other", "a", "b", extends="a-to-b", options={"width": (int, 2, "")}))
    with pytest.raises(PluginError, match="option width of conversion 'a-to-b' is declared by 'one' and, differently, by 'other"):
        convert_to(kit.module("a.x"), ("b",))


def test_findings_of_passes_and_of_rewrites_come_in_one_error(kit):
    def find(module: Module) -> bool:
        refuse([Finding("a.wide", "is too wide", ("w",))])
        return False

    table = renaming(a__x="b.x")
    table.refuse({"a.y": ("cannot be said", "say it otherwise")})

    @table("a.z")
    def depends(op: Any, rw: Any) -> None:
        raise Unsupported("uses what a.y gives", follows=True)

    kit.add(Pass("find", find), Conversion("a-to-b", "a", "b", table, before="find", after="find"))
    with pytest.raises(ConversionError, match=r"2 op\(s\) of 2 kind\(s\) cannot be converted from 'a'") as caught:
        convert_to(kit.module("a.x", "a.y", "a.z"), ("b",))
    assert [finding.what for finding in caught.value.findings] == ["a.wide", "a.y"]
    with pytest.raises(ConversionError, match="the module cannot be converted"):
        find(kit.module())


def test_a_table_that_is_joined_takes_on_what_comes_up(kit):
    kit.add(
        Conversion("a-to-b", "a", "b", renaming(a__x="b.x", a__y="c.x"), joins=("c-to-b",)),
        Conversion("c-to-b", "c", "b", renaming(c__x="b.x")))
    module = kit.module("a.x", "a.y")
    convert_to(module, ("b",))
    assert kit.names(module) == ["b.x", "b.x"]


def test_a_route_ends_when_only_accepted_dialects_remain(kit):
    """Whatever the mix: the one that has farthest to go is converted first and meets the others on its way."""
    stages: list[str] = []
    kit.add(
        Conversion("a-to-b", "a", "b", renaming(a__x="b.x")), Conversion("b-to-c", "b", "c", renaming(b__x="c.x")),
        Conversion("d-to-c", "d", "c", renaming(d__x="c.x")))
    module = kit.module("b.x", "d.x", "b.x", "a.x", "c.x", "b.x")
    assert convert_to(module, ("c",), observers=[Stages(stages)]) == "c"
    assert kit.names(module) == ["c.x"] * 6 and sorted(stages) == ["a-to-b", "b-to-c", "d-to-c"]
    assert stages.index("a-to-b") < stages.index("b-to-c")
    with pytest.raises(ConversionError, match="no conversions lead from 'nobodys' to 'c'"):
        convert_to(kit.module("a.x", "a.x", "nobodys.x"), ("c",))


def test_a_conversion_that_is_not_for_a_module_is_passed_by(kit):
    def why_not(module: Module) -> str | None:
        return "it has b.wide" if any(op.name == "b.wide" for op in module.walk()) else None

    stages: list[str] = []
    kit.add(
        Conversion("a-to-b", "a", "b", renaming(a__x="b.x", a__wide="b.wide")),
        Conversion("b-to-d", "b", "d", renaming(b__x="d.x"), unfit=why_not),
        Conversion("b-to-c", "b", "c", renaming(b__x="c.x", b__wide="c.x")), Conversion("c-to-d", "c", "d", renaming(c__x="d.x")))
    for ops, way in ((["a.x"], ["a-to-b", "b-to-d"]), (["a.x", "a.wide"], ["a-to-b", "b-to-c", "c-to-d"])):
        stages.clear()
        module = kit.module(*ops)
        convert_to(module, ("d",), observers=[Stages(stages)])
        assert stages == way and set(kit.names(module)) == {"d.x"}
    with pytest.raises(ConversionError, match=r"conversion 'b-to-d' is not for this module: it has b\.wide"):
        apply_conversion(kit.host.conversions["b-to-d"], kit.module("b.wide"))


def test_companions_of_an_accepted_dialect_stay(kit):
    """Ops that a plugin adds beside those of a dialect, by extending what leads on from it, are accepted where that is."""
    kit.add(
        Conversion("a-to-b", "a", "b", renaming(a__x="mine.x", a__y="b.y")),
        Conversion("b-to-c", "b", "c", renaming(b__y="c.y")),
        Conversion("mine-to-c", "mine", "c", renaming(mine__x="c.x"), extends="b-to-c"))
    module = kit.module("a.x", "a.y")
    convert_to(module, ("b",))
    assert kit.names(module) == ["mine.x", "b.y"]
    convert_to(module, ("c",))
    assert kit.names(module) == ["c.x", "c.y"]


def test_an_op_that_nothing_on_its_way_rewrites_is_named_and_not_tried_for_ever(kit):
    kit.add(
        Conversion("b-to-c", "b", "c", renaming(b__y="c.y")),
        Conversion("mine-to-c", "mine", "c", renaming(mine__x="c.x"), extends="b-to-c"))
    with pytest.raises(ConversionError) as caught:
        convert_to(kit.module("mine.x", "mine.other", "b.y"), ("c",))
    (finding,) = caught.value.findings
    assert finding.what == "mine.other" and "has no rewrite for it" in finding.why and "extends='b-to-c'" in finding.hint


def test_functions_that_are_no_entries_are_copied_from_and_erased(kit):
    from transload.text import parse_module

    table = renaming(a__x="b.x")

    @table("a.run")
    def run(op: Any, rw: Any) -> Any:
        for inner in rw.function("part").regions[0].block:
            if inner.name != "func.return":
                rw.block.insert(inner.clone({}), rw.before)
        return []

    def entries(module: Module) -> list[Any]:
        return [function for function in module.functions.values() if function.attributes.get("sym_visibility") != "private"]

    kit.add(Conversion("a-to-b", "a", "b", table, entries=entries))
    module = parse_module('''
        "func.func"() <{sym_name = "main", function_type = () -> ()}> ({
          "a.run"() : () -> ()
          "a.run"() : () -> ()
          "func.return"() : () -> ()
        }) : () -> ()
        "func.func"() <{sym_name = "part", function_type = () -> (), sym_visibility = "private"}> ({
          "a.x"() : () -> ()
          "func.return"() : () -> ()
        }) : () -> ()''')
    convert_to(module, ("b",))
    assert list(module.functions) == ["main"] and kit.names(module) == ["b.x", "b.x"]


def test_options_of_a_literal_are_its_words(kit):
    def choose(module: Module, *, way: Literal["near", "far"] = "near") -> bool:
        return way == "far"

    kit.add(Pass("choose", choose), Conversion(
        "a-to-b", "a", "b", renaming(a__x="b.x"), before="choose{way=$way}",
        options={"way": (("near", "far", "away"), "near", "")}))
    convert_to(kit.module("a.x"), ("b",), way="far")
    with pytest.raises(UsageError, match="way of pass 'choose' must be near or far, not 'away'"):
        convert_to(kit.module("a.x"), ("b",), way="away")


def test_conversions_that_are_not_on_the_way_are_not_asked_about() -> None:
    asked: list[str] = []

    def why_unfit(conversion: Conversion) -> None:
        asked.append(conversion.name)

    route = route_from(Counter({"tfl": 3}), ["tosa"], why_unfit)
    assert [conversion.name for conversion in route] == asked == ["tfl-to-top", "top-to-tosa"]


def test_the_way_leads_round_a_conversion_that_is_not_fit() -> None:
    route = route_from(Counter({"tfl": 3}), ["stablehlo"], lambda conversion: (
        "it is tried" if conversion.name == "top-to-stablehlo" else None))
    assert [conversion.name for conversion in route] == ["tfl-to-top", "top-to-tosa", "tosa-to-stablehlo"]


@pytest.mark.parametrize("act", [
    lambda module: convert_to(module, ("c",)), lambda module: transload.lower(module, "c")], ids=["journey", "lower"])
def test_why_no_conversion_is_fit_is_told_where_there_is_no_other_way(kit, act: Callable[[Module], Any]) -> None:
    """The user read that there are no conversions."""
    kit.add(
        Conversion("a-to-b", "a", "b", renaming(a__x="b.x"), unfit=lambda module: "it takes no keys"),
        Conversion("a-to-c", "a", "c", renaming(a__x="c.x"), unfit=lambda module: "it takes no locks"),
        Conversion("b-to-c", "b", "c", renaming(b__x="c.x")))
    with pytest.raises(ConversionError, match="no conversions lead from 'a' to 'c' that are meant for this module") as caught:
        act(kit.module("a.x"))
    assert {finding.what: finding.why for finding in caught.value.findings} == {
        "conversion 'a-to-c'": "it takes no locks", "conversion 'a-to-b'": "it takes no keys"}
