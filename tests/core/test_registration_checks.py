"""What a plugin registers is looked at as it is registered: what cannot be is told with the plugin's name, and the rest stays."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import click
import pytest

import transload
from transload import hookspecs
from transload.cli.app import app
from transload.context import Context
from transload.errors import PluginError, PluginFailure, ReadError, UsageError
from transload.facts import FactKind, Facts
from transload.hookspecs import hookimpl
from transload.ir import new_module
from transload.ir.declare import Dialect
from transload.plugin import (
    Calibrator,
    Conversion,
    DialectSpec,
    Engine,
    ForeignFormat,
    Metric,
    Pass,
    Quantizer,
    Reader,
    Runtime,
    Score,
    Target,
    Writer,
)
from transload.plugin_host import Host
from transload.registration import OUR_COMMANDS
from transload.rewrite import RewriteTable
from transload.roles import default_target

from tests.support.plugins import Distribution, acme, beside_ours, info_of, module_of, point, registering

if TYPE_CHECKING:
    from pathlib import PurePath as Unseen

pytestmark = pytest.mark.plugin_fails


def made_of(**members: Any) -> Target:
    """A target of these members, beside a name, a dialect and what writes."""
    made: Target = type("T", (Target,), {"name": "t", "accepts": ("a",), "emit": lambda *given: None, **members})()
    return made


@pytest.mark.parametrize(("kind", "item", "why"), [
    ("metrics", "cos", "gives a str, where a Metric is wanted"),
    ("metrics", Metric("", abs), "name must be letters"),
    ("metrics", Metric("two words", abs), "name must be letters"),
    ("metrics", Metric(3, abs), "name must be letters"),  # type: ignore[arg-type]
    ("scores", Score("s", 3), "measure must be a function"),
    ("scores", Score("s", abs, better="more"), "better must be 'lower' or 'higher'"),
    ("scores", Score("s", abs, needs=("time",)), "needs may hold 'label' and 'reference'"),
    ("scores", Score("s", abs, needs=None), "needs must be a tuple of texts"),  # type: ignore[arg-type]
    ("scores", Score("s", abs, needs=([],)), "needs must be a tuple of texts"),  # type: ignore[arg-type]
    ("metrics", Metric("m", 3), "measure must be a function"),
    ("metrics", Metric("m", "module.without_name"), 'measure must be "package.module:name"'),
    ("metrics", Metric("m", abs, better="more"), "better must be 'lower' or 'higher'"),
    ("metrics", Metric("m", abs, bounds=(1.0, 0.0)), "bounds must be the least and the greatest number"),
    ("readers", Reader("r", "d", ".one", abs), "suffixes must be a tuple of texts"),  # type: ignore[arg-type]
    ("readers", Reader("r", "d", ("one",), abs), "that start with '.'"),
    ("readers", Reader("r", "d", (".R2",), abs), "suffixes are written in lower case, whatever a file's is, and one is '.R2'"),
    ("writers", Writer("w", "d", (".R2",), abs), "suffixes are written in lower case"),
    ("writers", Writer("w", "d", (".tar.gz", "."), abs), "suffixes are a point and what comes after it, and one is '.'"),
    ("readers", Reader("r", "d", ("..",), abs), "suffixes are a point and what comes after it, and one is '..'"),
    ("readers", Reader("r", "d", (".one",), abs, 5), "detect must be a function"),
    ("writers", Writer("w", "a b", (".one",), abs), "dialect must be letters"),
    ("dialects", DialectSpec("d", None), "load must be a Dialect"),
    ("dialects", DialectSpec("d", Dialect("d"), 5), "kernels must be a KernelTable"),
    ("conversions", Conversion("c", "a", "b"), "neither a table nor passes"),
    ("conversions", Conversion("c", "a", "b", extends="d"), "has no table"),
    ("conversions", Conversion("c", "a", "b", table="a.b:C", cost=float("nan")), "cost must be a number"),
    ("conversions", Conversion("c", "a", "b", table="a.b:C", options={"o": 5}), r"option 'o' must be \(type"),  # type: ignore[dict-item]
    ("conversions", Conversion("c", "a", "b", table="a.b:C", options={"": (int, 1, "one")}), "an option's name must be letters"),
    ("passes", Pass("p", abs, requires="top"), "requires must be a tuple"),  # type: ignore[arg-type]
    ("passes", Pass("p", lambda module, must: None, at="hub"), "'p': with at='hub' it runs as it is, and must has no default"),
    ("readers", Reader("r", "d", (".one",), abs, folder="m.one"), "folder must be a tuple of texts, and is 'm.one'"),  # type: ignore[arg-type]
    ("readers", Reader("r", "d", (".one",), abs, folder=None), "folder must be a tuple of texts, and is None"),  # type: ignore[arg-type]
    ("quantizers", Quantizer("q", abs, refusal=True), "refusal must be a tuple of 2 texts, or None, and is True"),  # type: ignore[arg-type]
    ("quantizers", Quantizer("q", abs, refusal=("why",)), "refusal must be a tuple of 2 texts, or None"),  # type: ignore[arg-type]
    ("conversions", Conversion("c", "a", "b", table="a.b:C", evidence=Path("f.json")), "evidence must be text, or None"),  # type: ignore[arg-type]
    ("conversions", Conversion("c", "a", "b", table="a.b:C", evidence="f.json"), 'evidence must be "package:file.json"'),
    ("conversions", Conversion("c", "a", "b", table="a.b:C", rough="yes"), "rough must be True or False, and is 'yes'"),  # type: ignore[arg-type]
    ("conversions", Conversion("c", "a", "b", table="a.b:C", before_quantizing={5: 6}), "must be a dictionary by texts"),  # type: ignore[dict-item]
    ("engines", Engine("e", None), "prepare must be a function"),
    ("runtimes", Runtime("r", "f", abs, None), "available must be a function"),
    ("quantizers", Quantizer("q", None), "run must be a function"),
    ("calibrators", Calibrator("c", None), "run must be a function"),
    ("targets", Target, "gives the class Target"),
    ("targets", object(), "is no Target: it has no name"),
    ("targets", type("T", (Target,), {"name": "t", "accepts": "tosa"})(), "accepts must be a tuple"),
    ("targets", type("T", (Target,), {"name": "t", "accepts": ()})(), "accepts must name at least one"),
    ("targets", type("T", (Target,), {"name": "t", "accepts": ("a",), "run": 5})(), "run must be a method, or None"),
    ("targets", type("T", (Target,), {"name": "t", "accepts": ("a",)})(), r"emit is missing: define emit\(module"),
    ("targets", made_of(doc=property(lambda self: {}["doc"])), "cannot be looked at: KeyError: 'doc'"),
    ("targets", made_of(near_enough=5), "near_enough must be a method"),
    ("targets", made_of(quantizing=5), "quantizing must be a dictionary of options by name, and is 5"),
    ("targets", made_of(converting={5: 6}), "converting must be a dictionary of options by name"),
    ("targets", made_of(hosting=5), "hosting must be a dictionary"),
    ("targets", made_of(rounds_alone=5), "rounds_alone must be True or False, and is 5"),
    ("targets", made_of(compiled="_acme.tflite"), "compiled must be a tuple"),
    ("targets", made_of(default="yes"), "default must be True or False, and is 'yes'"),
    ("commands", ("convert", click.Command("convert")), "'convert' is a command of Transload's"),
    ("commands", "hello", r"where \(name, click.Command\) is wanted"),
    ("commands", ("hello", print), "must be a click.Command"),
])
def test_what_cannot_be_registered_is_told_at_once(kind: str, item: Any, why: str) -> None:
    there = acme(**{kind: [item]})
    getattr(there, kind)
    info = info_of(there, "acme")
    assert re.search(why, str(info.error)), info.error
    assert f"register_{kind}" in str(info.error) and not info.registered


class Speechless:
    """What no field may be, and what cannot even be told."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")


FIELDS = [
    (kind, item, member.name)
    for kind, item in [
        ("dialects", DialectSpec("d", "a.b:C")), ("readers", Reader("r", "d", (".one",), abs)),
        ("formats", ForeignFormat("f", "a model", "convert it", (".one",))), ("writers", Writer("w", "d", (".one",), abs)),
        ("conversions", Conversion("c", "a", "b", "a.b:C")), ("passes", Pass("p", abs)), ("engines", Engine("e", abs)),
        ("runtimes", Runtime("r", "f", abs, abs)), ("quantizers", Quantizer("q", abs)), ("calibrators", Calibrator("c", abs)),
        ("metrics", Metric("m", abs)), ("scores", Score("s", abs)), ("facts", Facts("exact", "d", "a.b:C")),
        ("facts", FactKind("k", "says", "asked"))]
    for member in fields(item)]


@pytest.mark.parametrize("junk", [object(), Speechless()], ids=["object", "speechless"])
@pytest.mark.parametrize(("kind", "item", "member"), FIELDS, ids=[f"{type(item).__name__}.{name}" for _, item, name in FIELDS])
def test_every_field_is_looked_at(kind: str, item: Any, member: str, junk: Any) -> None:
    """Of every class that is registered, new fields among them: what nobody looked at failed later, for everybody."""
    there = acme(**{kind: [replace(item, **{member: junk})]})
    there.everything()
    error = str(info_of(there, "acme").error)
    assert f"register_{kind}: " in error and (member in error or "cannot be looked at" in error), error
    assert not info_of(there, "acme").registered


def test_lists_are_tuples_for_who_reads_them(tmp_path: Path) -> None:
    """They registered, and then nobody could read any file by its path, nor save one."""
    def write(module: Any, path: Path) -> None:
        path.write_text("mine")

    (tmp_path / "model.mine").write_text("mine")
    reader = Reader("mine", "top", [".mine"], lambda *given: module_of("top.Relu"), folder=["model.mine"])  # type: ignore[arg-type]
    with beside_ours(readers=[reader], writers=[Writer("mine", "top", [".mine"], write)]).bind():  # type: ignore[arg-type]
        transload.save(transload.load(tmp_path / "model.mine"), tmp_path / "copy.mine")
        assert transload.load(tmp_path).inputs
        (tmp_path / "copy.mine").rename(tmp_path / "copy.other")
        with pytest.raises(ReadError, match="no reader knows this format"):
            transload.load(tmp_path / "copy.other")


@dataclass(frozen=True)
class MyReader(Reader):
    """A reader with fields of its plugin's own, whose annotations are nobody's but that plugin's."""

    turned: Callable[[int], str] | None = None
    mode: Literal["fast", "exact"] = "fast"
    names: list[str] = field(default_factory=lambda: ["a"])
    cache: list[int] = field(default_factory=list, init=False)
    model: Unseen | None = None


def test_a_subclass_may_have_fields_of_its_own() -> None:
    there = acme(readers=[MyReader("mine", "top", (".mine",), abs), MyReader("other", "top", (3,), abs)])  # type: ignore[arg-type]
    mine: Any = there.readers["mine"]
    assert (mine.names, mine.cache) == (["a"], [])
    error = str(info_of(there, "acme").error)
    assert "suffixes must be a tuple of texts" in error and "mine" not in error, error


def test_all_that_is_wrong_is_told_and_the_rest_registers() -> None:
    there = acme(metrics=[Metric("", abs), Metric("good", abs), Metric("good", abs), Metric("cos", abs), 5])
    assert "good" in there.metrics
    error = str(info_of(there, "acme").error)
    assert "name must be" in error and "gives a int" in error
    assert "'good' is registered twice" in error
    assert "'cos' is registered twice by plugin 'core' (transload), too" in error
    assert info_of(there, "acme").registered == {"metrics": ["good"]}


def test_system_exit_at_import_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made_for_test_leaves.py").write_text("import sys\nsys.exit(3)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    other = point("zacme", **registering(passes=[Pass("p", abs)]))
    there = Host([EntryPoint("leaves", "made_for_test_leaves", "transload"), other], only="")
    assert "p" in there.passes
    assert "SystemExit: 3" in str(info_of(there, "leaves").error)
    assert "sys.exit(3)" in info_of(there, "leaves").trace


def test_system_exit_in_a_hook_is_reported() -> None:
    there = Host([point("acme", register_passes=hookimpl(lambda register: sys.exit(1)))], only="")
    assert "canonicalize" in there.passes
    assert "register_passes: SystemExit: 1" in str(info_of(there, "acme").error)


def test_a_second_distribution_with_the_same_entry_point_is_reported() -> None:
    first = point("acme", "acme-chips", **registering(passes=[Pass("first", abs)]))
    second = point("acme", "other-chips", **registering(passes=[Pass("second", abs)]))
    same = EntryPoint("acme", first.value, "transload")
    vars(same).update(dist=Distribution("third-chips", "3"))
    for points in ([first, second, same], [same, second, first]):
        there = Host(points, only="")
        assert "first" in there.passes and "second" not in there.passes
        infos = {info.distribution: info for info in there.plugins if info.name == "acme"}
        assert infos["acme-chips"].error is None
        for other in ("other-chips", "third-chips"):
            assert "plugin 'acme' (acme-chips 1.2) has this name already" in str(infos[other].error)


def test_nobody_takes_the_place_of_one_of_ours() -> None:
    ours = point("tflite", "transload", **registering(passes=[Pass("ours", abs)]))
    theirs = point("tflite", "a-first", **registering(passes=[Pass("theirs", abs)]))
    assert "ours" in Host([theirs, ours], only="").passes


def test_the_hub_and_the_default_target_stay_ours() -> None:
    """Whichever plugin is asked first: a second one is refused, and what there was goes on."""
    first = point("a-first", **registering(
        dialects=[DialectSpec("other", Dialect("other"), role="hub")], targets=[made_of(default=True)], passes=[Pass("p", abs)]))
    there = Host([first, *entry_points(group="transload")], only="")
    there.everything()
    error = str(info_of(there, "a-first").error)
    assert "dialect 'other': role='hub' is for one dialect, which dialect 'top' is" in error
    assert "target 't': default=True is for one target, which target 'tosa' is" in error
    assert "p" in there.passes and "t" not in there.targets and there.in_role("hub").name == "top"
    with Context(there).bind():
        assert default_target().name == "tosa"


@pytest.mark.parametrize(("kind", "item"), [
    ("dialects", DialectSpec("other", Dialect("other"), role="hub")), ("targets", made_of(default=True))])
def test_a_second_one_of_a_part_is_not_added(kind: str, item: Any) -> None:
    there, own = Host(), registering(**{kind: [item]})
    with pytest.raises(PluginError, match=r"cannot be registered(.|\n)* is for one "):
        there.register(type("Acme", (), {name: staticmethod(hook) for name, hook in own.items()}), "acme")


def test_what_extends_a_conversion_leads_where_it_does() -> None:
    more = Conversion("more", "acme", "tflite", RewriteTable(), extends="top-to-tosa")
    there = Host([point("acme", **registering(conversions=[more])), *entry_points(group="transload")], only="")
    assert "more" not in there.conversions
    there.everything()
    assert "conversion 'more' is to 'tflite', and extends 'top-to-tosa', which is to 'tosa'" in str(info_of(there, "acme").error)


def test_commands_of_ours_are_known() -> None:
    assert frozenset(app.commands) == OUR_COMMANDS


def test_the_same_distribution_found_twice_is_one_plugin() -> None:
    once = point("acme", **registering(passes=[Pass("p", abs)]))
    there = Host([once, once], only="")
    assert len([info for info in there.plugins if info.name == "acme"]) == 1 and "p" in there.passes


def test_a_plugin_without_hooks_and_one_that_registers_nothing_are_reported() -> None:
    there = Host([point("bare"), point("silent", **registering(passes=[]))], only="")
    there.everything()
    assert "has no hooks" in str(info_of(there, "bare").error)
    assert info_of(there, "silent").error == "it registers nothing"


@pytest.mark.parametrize(("asked", "why"), [
    (hookspecs.API_VERSION, None), ("0.9", "a newer version of the plugin is needed"), ("99.0", "a newer Transload is needed"),
    ("1.999", "a newer Transload is needed"), (1, "must be text"), ("one", "must be text")])
def test_the_version_that_a_plugin_asks_for_is_checked(asked: Any, why: str | None) -> None:
    there = Host([point("acme", transload_api=asked, **registering(passes=[Pass("p", abs)]))], only="")
    assert ("p" in there.passes) == (why is None)
    assert (why in str(info_of(there, "acme").error)) if why else info_of(there, "acme").error is None


def test_a_name_that_nobody_has_is_answered_with_the_plugins_that_failed() -> None:
    broken = EntryPoint("broken", "transload_no_such_module", "transload")
    there = Host([broken, point("left", **registering(passes=[]))], only="-left")
    with pytest.raises(UsageError) as caught:
        there.get("targets", "acme-x7")
    assert "plugin 'broken' (no distribution): ModuleNotFoundError: No module named" in caught.value.hint
    assert "left out by TRANSLOAD_PLUGINS: left" in caught.value.hint
    with Context(there).bind(), pytest.raises(UsageError, match="broken"):
        transload.save(new_module(), "model.acme")


def test_entry_points_of_the_package_importlib_metadata_are_some() -> None:
    """Once that is imported, Python's own way to find them gives objects of its class, which were refused."""
    ours = next(each for each in entry_points(group="transload") if each.name == "images")
    theirs = SimpleNamespace(name=ours.name, value=ours.value, group=ours.group, load=ours.load, dist=ours.dist)
    there = Host([theirs], only="")  # type: ignore[list-item]
    assert info_of(there, "images").error is None and "add-postprocess" in there.passes
    with pytest.raises(UsageError, match="takes a list of importlib"):
        Host([SimpleNamespace(name="images")], only="")  # type: ignore[list-item]


@pytest.mark.parametrize("name", ["", "a=b", "a.b", "two words"])
def test_an_option_that_nobody_could_give_is_told(name: str) -> None:
    made = made_of(options=lambda self: {name: (int, 1, "one")})
    with Context(acme(targets=[made])).bind(), pytest.raises(PluginFailure, match="an option's name must be letters"):
        transload.host().targets["t"].options()
